"""Parse StableHLO text and MLIR bytecode, and convert JAX's and PyTorch's programs (`torch`), into ir.

Writers of bytecode stand beside its readers, in `bytecode`. The parser of text is a chain of classes, each of
which extends the next:

- `Parser` (`parser`): modules and functions;
- `OperationParser`: operations in pretty form, by the assembly formats of their declarations;
- `StatementParser`: operations in generic form, regions and blocks;
- `AttributeParser`: attributes;
- `DenseParser` (`dense`): constants;
- `LocationParser`: locations and aliases;
- `TypeParser`: types;
- `Cursor` (`lexer`): the position in the text, literals, names and errors.
"""

from .lexer import split
from .parser import parse, parse_attributes, parse_type

__all__ = ["parse", "parse_attributes", "parse_type", "split"]
