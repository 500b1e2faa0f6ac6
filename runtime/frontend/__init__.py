"""Text and bytecode to ir."""

from .lexer import split
from .parser import parse, parse_type

__all__ = ["parse", "parse_type", "split"]
