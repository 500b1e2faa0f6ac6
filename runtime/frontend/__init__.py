"""Text and bytecode to ir."""

from .lexer import split
from .parser import parse

__all__ = ["parse", "split"]
