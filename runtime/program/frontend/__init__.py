"""Parse StableHLO text, MLIR bytecode and JAX objects into ir."""

from .lexer import split
from .parser import parse, parse_attributes, parse_type

__all__ = ["parse", "parse_attributes", "parse_type", "split"]
