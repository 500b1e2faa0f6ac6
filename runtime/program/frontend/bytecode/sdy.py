"""Decode the attributes of the sdy dialect: meshes, shardings and sharding rules.

Source: Shardy, ``bytecode.td``, whose order of attributes gives their codes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NoReturn, TypeVar

from ....types import element_type
from ...ir import Attribute, DenseArrayAttribute, SymbolAttribute
from ...ir.sharding import (
    AllToAllParameter,
    AllToAllParameters,
    AxisList,
    AxisLists,
    AxisRef,
    DimensionSharding,
    ManualAxes,
    Mesh,
    MeshAxis,
    ShardingPerValue,
    SubAxis,
    TensorSharding,
    mesh_of,
)
from ...ir.sharding_rules import ShardingRule, TensorMapping
from .program_reader import EntryReader
from .vhlo import string

T = TypeVar("T")

_I64: Final = element_type("i64")
_REDUCTIONS: Final = ("sum", "max", "min")


class Sdy:
    """The sdy dialect."""

    @staticmethod
    def attribute(reader: EntryReader) -> Attribute:
        """Consume an attribute."""
        code = reader.varint()
        if code >= len(_ATTRIBUTES):
            reader.fail(f"attribute {code} of the sdy dialect is not known")
        return _ATTRIBUTES[code](reader)

    @staticmethod
    def type(reader: EntryReader) -> NoReturn:
        """The sdy dialect has no types."""
        reader.fail("the sdy dialect has no types")


def _expect(reader: EntryReader, value: object, kind: type[T]) -> T:
    if not isinstance(value, kind):
        reader.fail(f"expected an attribute {kind.__name__}")
    return value


def _list(reader: EntryReader, kind: type[T]) -> tuple[T, ...]:
    """Consume a list of references to attributes of a kind."""
    return reader.list(lambda: _expect(reader, reader.attribute(), kind))


def _axis_ref(reader: EntryReader) -> AxisRef:
    name, sub_axis = reader.string(), reader.optional_attribute()
    return AxisRef(name, None if sub_axis is None else _expect(reader, sub_axis, SubAxis))


def _dimension(reader: EntryReader) -> DimensionSharding:
    axes, is_closed = _list(reader, AxisRef), reader.boolean()
    priority, has_priority = reader.varint_with_flag()
    return DimensionSharding(axes, is_closed, priority if has_priority else None)


def _sharding(
    reader: EntryReader, *, has_unreduced: bool = False, has_reduction: bool = False
) -> TensorSharding:
    mesh = reader.attribute()
    dimensions, replicated = _list(reader, DimensionSharding), _list(reader, AxisRef)
    unreduced = _list(reader, AxisRef) if has_unreduced else ()
    reduction = reader.signed() if has_reduction else 0
    if not 0 <= reduction < len(_REDUCTIONS):
        reader.fail(f"reduction {reduction} is not known")
    name = mesh.root if isinstance(mesh, SymbolAttribute) else _expect(reader, mesh, Mesh)
    return TensorSharding(name, dimensions, replicated, unreduced, _REDUCTIONS[reduction])


def _tensor_mapping(reader: EntryReader) -> TensorMapping:
    """Consume the mapping of a tensor, each dimension of which refers to a list of factors."""
    dimensions = _list(reader, DenseArrayAttribute)
    return TensorMapping(tuple([tuple(map(int, each.values)) for each in dimensions]))


def _rule(reader: EntryReader) -> ShardingRule:
    sizes = reader.signed_list()
    operands, results = _list(reader, TensorMapping), _list(reader, TensorMapping)
    reduction, need_replication, permutation, blocked = [reader.signed_list() for _ in range(4)]
    return ShardingRule(
        sizes, operands, results, reduction, need_replication, permutation, blocked, reader.boolean()
    )


def _per_value(reader: EntryReader) -> ShardingPerValue:
    return ShardingPerValue(_list(reader, TensorSharding))


_ATTRIBUTES: Final[tuple[Callable[[EntryReader], Attribute], ...]] = (
    lambda reader: ManualAxes(reader.list(lambda: string(reader, reader.attribute()))),
    lambda reader: MeshAxis(reader.string(), reader.signed()),
    lambda reader: mesh_of(_list(reader, MeshAxis), reader.signed_list()),
    lambda reader: SubAxis(reader.signed(), reader.signed()),
    _axis_ref,
    _dimension,
    _sharding,
    _per_value,
    lambda reader: DenseArrayAttribute(_I64, reader.signed_list()),
    _tensor_mapping,
    _rule,
    lambda reader: AxisList(_list(reader, AxisRef)),
    lambda reader: AxisLists(_list(reader, AxisList)),
    lambda reader: AllToAllParameter(_list(reader, AxisRef), reader.signed(), reader.signed()),
    lambda reader: AllToAllParameters(_list(reader, AllToAllParameter)),
    lambda reader: _sharding(reader, has_unreduced=True),
    _per_value,
    lambda reader: _sharding(reader, has_unreduced=True, has_reduction=True),
)
