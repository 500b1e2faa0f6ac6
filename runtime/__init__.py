"""NimbleHLO: runs StableHLO programs on a CPU, exactly as the specification says, and fast.

`load` parses and verifies a program, `compile` returns an `Executable`, `execute` runs a program once. All
errors are `NimbleError`. The command line is ``nimblehlo --help``.

Importing the package loads what `load`, `compile` and `execute` need. Other names, and compilers such as
Numba, are imported at their first use.
"""

import importlib
import sys
from typing import TYPE_CHECKING, Any

from .errors import (
    ExecutionError,
    NimbleError,
    ParseError,
    UndefinedBehaviorError,
    UnsupportedError,
    VerifyError,
)
from .kernels.launch.garbage import gc_paused, mark_long_lived
from .kernels.launch.module_bundle import ModuleBundle
from .options import Options
from .public_names import DEFINED_IN, PublicModules

if TYPE_CHECKING:
    from . import mpi, patterns
    from .api import Executable, GridExecutable, compile, execute, load
    from .checks import backends, testing
    from .checks.error_bounds import Accuracy, accuracy
    from .checks.explorer import Exploration, explore
    from .compiler.transforms import Refinability, decompose_batching_dims, is_refinable, refine
    from .execution.dlpack import to_dlpack
    from .execution.grid.host import HostQueues
    from .execution.torch_calls import ModelExecutable
    from .inspection.sanitizer import Finding, Findings, SanitizerWarning
    from .jax import interpreter
    from .kernels.launch.cache_trust import CacheWarning
    from .program.ir import Module
    from .program.ops.collectives.process_grid import Grid
    from .program.ops.control.composite import register_composite
    from .program.ops.custom_calls.custom_call import register_custom_call

__version__ = "0.1.0"

__all__ = [
    "Accuracy",
    "CacheWarning",
    "Executable",
    "ExecutionError",
    "Exploration",
    "Finding",
    "Findings",
    "Grid",
    "GridExecutable",
    "HostQueues",
    "ModelExecutable",
    "Module",
    "NimbleError",
    "Options",
    "ParseError",
    "Refinability",
    "SanitizerWarning",
    "UndefinedBehaviorError",
    "UnsupportedError",
    "VerifyError",
    "accuracy",
    "backends",
    "compile",
    "decompose_batching_dims",
    "execute",
    "explore",
    "interpreter",
    "is_refinable",
    "load",
    "mpi",
    "patterns",
    "refine",
    "register_composite",
    "register_custom_call",
    "testing",
    "to_dlpack",
]


def __getattr__(name: str) -> Any:
    """Import a public name at its first use."""
    if name not in DEFINED_IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = gc_paused(importlib.import_module)(f".{DEFINED_IN[name]}", __name__)
    value = module if DEFINED_IN[name].rpartition(".")[2] == name else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *DEFINED_IN})


def load_ipython_extension(shell: Any) -> None:
    """Add the cell magic ``%%stablehlo`` to a notebook: what ``%load_ext nimblehlo`` calls."""
    importlib.import_module(".cli.notebook", __name__).load(shell)


def _require_gil() -> None:
    """Raise UnsupportedError where Python runs without its global lock.

    The lock orders the accesses of threads to shared values. A free-threaded Python enables it when it
    imports an extension of this package, unless it is told not to.
    """
    is_enabled = getattr(sys, "_is_gil_enabled", None)
    if is_enabled is not None and not is_enabled():
        raise UnsupportedError(
            "nimblehlo needs Python's global lock, which PYTHON_GIL=0 or -X gil=0 disables: without these, a"
            " free-threaded Python enables it when it imports nimblehlo"
        )


@gc_paused
def _preload() -> None:
    """Import what every program needs; operations import what they need beyond that."""
    ModuleBundle(__name__, __path__[0]).serve(lambda: importlib.import_module(".api", __name__))
    _require_gil()
    # While collection is paused: resuming it would collect all that was imported.
    mark_long_lived()


sys.meta_path.insert(0, PublicModules(__name__))
_preload()
