"""NimbleHLO: runs StableHLO programs on a CPU, exactly as the specification says, and fast."""

from .api import Executable, compile, execute, load
from .errors import (
    ExecutionError,
    NimbleError,
    ParseError,
    UndefinedBehaviorError,
    UnsupportedError,
    VerifyError,
)
from .ir import Module
from .ops.composite import register_composite
from .ops.custom_call import register_custom_call
from .options import Options

__version__ = "0.1.0"

__all__ = [
    "Executable",
    "ExecutionError",
    "Module",
    "NimbleError",
    "Options",
    "ParseError",
    "UndefinedBehaviorError",
    "UnsupportedError",
    "VerifyError",
    "compile",
    "execute",
    "load",
    "register_composite",
    "register_custom_call",
]
