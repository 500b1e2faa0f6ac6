"""Which edges of an operation the suite covers: ranks, sizes, special values, and values of attributes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np

from ...types import BOOLEAN, COMPLEX, INTEGER, Array, QuantizedType, TensorType, storage_range
from ..error_bounds.ulps import is_subnormal, layout_of
from .special_values import variants_of
from .suite import legal_templates
from .template import ELEMENT_TYPE_CHOICES, PER_TENSOR, Template, name_of, view_of
from .values import inputs_of


@dataclass(frozen=True)
class Edges:
    """The edges of an operation that programs of the suite have.

    Attributes:
        operation: its name.
        ranks: of operands and results.
        sizes: the kinds of sizes of dimensions: ``"0"``, ``"1"``, ``"odd"`` and ``"even"``.
        values: the kinds of special values in operands.
        attributes: by the name of each attribute how many values it has.
    """

    operation: str
    ranks: tuple[int, ...]
    sizes: tuple[str, ...]
    values: tuple[str, ...]
    attributes: dict[str, int]


def edges(operation: str) -> Edges:
    """The edges of an operation, in the programs of the level ``full``."""
    ranks: set[int] = set()
    sizes: set[str] = set()
    values: set[str] = set()
    attributes: dict[str, set[str]] = {}
    for template in _running(operation):
        for type in _types(template):
            ranks.add(type.rank)
            sizes.update(str(size) if size < 2 else "odd" if size % 2 else "even" for size in type.shape)
        for type, array in zip(template.argument_types(), inputs_of(template), strict=False):
            values.update(_kinds(type, array))
        view = view_of(template)
        for one in view.declared_attributes:
            attributes.setdefault(one.name, set()).add(repr(getattr(view, one.name)))
    return Edges(
        operation,
        tuple(sorted(ranks)),
        tuple(one for one in ("0", "1", "odd", "even") if one in sizes),
        tuple(one for one in _ORDER if one in values),
        {name: len(different) for name, different in attributes.items()},
    )


def _running(operation: str) -> Iterator[Template]:
    """The templates of an operation in the element types in which all are tried."""
    by_type = {name_of(one): legal_templates(operation, name_of(one)) for one in ELEMENT_TYPE_CHOICES}
    first = next((name for name, made in by_type.items() if made), None)
    for name in dict.fromkeys([first, "f32", "i32", "complex<f32>", name_of(PER_TENSOR)]):
        if name is not None:
            legal = by_type[name]
            yield from (one for one in chain(legal, variants_of(legal)) if one.runs)


def _types(template: Template) -> Iterator[TensorType]:
    yield from template.argument_types()
    for index in range(len(template.operands)):
        type = template.operand_type(index)
        if isinstance(type, TensorType):
            yield type
    yield from (one for one in template.results if isinstance(one, TensorType))


_ORDER: Final = (
    *("NaN", "infinity", "zero", "negative zero", "subnormal", "largest float", "halfway"),
    *("smallest integer", "largest integer", "smallest stored value", "largest stored value"),
)


def _kinds(type: TensorType, array: Array) -> Iterator[str]:
    """The kinds of special values in an array."""
    element_type = type.element_type
    if isinstance(element_type, QuantizedType):
        yield from _extremes(array, element_type.storage_min, element_type.storage_max, "stored value")
    elif element_type.category & INTEGER:
        yield from _extremes(array, *storage_range(element_type), "integer")
    elif element_type.category != BOOLEAN:
        components = (array.real, array.imag) if element_type.category & COMPLEX else (array,)
        for one in components:
            yield from _float_kinds(one)


def _extremes(array: Array, low: int, high: int, noun: str) -> Iterator[str]:
    numbers = np.asarray(array).astype(object)
    if (numbers == low).any():
        yield f"smallest {noun}"
    if (numbers == high).any():
        yield f"largest {noun}"


def _float_kinds(array: Array) -> Iterator[str]:
    with np.errstate(all="ignore"):
        wide = array.astype(np.float64)
        is_halfway = np.abs(wide) % 1 == 0.5
    found = {
        "NaN": np.isnan(wide),
        "infinity": np.isinf(wide),
        "zero": (wide == 0) & ~np.signbit(wide),
        "negative zero": (wide == 0) & np.signbit(wide),
        "subnormal": is_subnormal(array),
        "largest float": np.abs(wide) == float(layout_of(array.dtype).max),
        "halfway": is_halfway,
    }
    yield from (kind for kind, mask in found.items() if mask.any())


def table(names: Iterable[str]) -> str:
    """The edges of operations as a table in Markdown."""
    lines = ["| operation | ranks | sizes | values | attributes, by the number of their values |"]
    lines.append("|---|---|---|---|---|")
    for name in names:
        one = edges(name)
        ranks = " ".join(map(str, one.ranks))
        attributes = ", ".join(f"{attribute} {count}" for attribute, count in one.attributes.items())
        cells = (f"`{name}`", ranks, " ".join(one.sizes), ", ".join(one.values), attributes)
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"
