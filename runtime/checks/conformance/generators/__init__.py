"""The templates of all operations, one module for each kind of operation."""

from __future__ import annotations

from collections.abc import Iterator

from ....program.ops import lookup
from ....types import AnyElementType
from ..template import Generate, Template, registered
from . import (  # noqa: F401
    collectives_on_grids,
    communication,
    contractions,
    control,
    elementwise,
    indexing,
    movement,
    reductions,
    sizes,
)


def generators(operation: str) -> list[Generate]:
    """The functions that make an operation's templates."""
    found = list(registered(operation))
    if found:
        return found
    declaration = lookup(operation)
    generic = None if declaration is None else elementwise.generic(declaration)
    return [] if generic is None else [generic]


def templates(operation: str, element_type: AnyElementType) -> Iterator[Template]:
    """The templates of an operation for an element type, of which some may not be legal."""
    for generate in generators(operation):
        yield from generate(element_type)
