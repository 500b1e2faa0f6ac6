"""Templates with one part changed, from which the programs that break a constraint are chosen."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from ...errors import NimbleError
from ...program.ir import DenseElementsAttribute, Region, Value, copy_region
from ...program.ir.builder import set_types
from ...program.ops import lookup
from ...program.ops.collectives.replica_groups import ReplicaGroups
from ...program.ops.framework.attribute_kinds import ArrayOf, Dimensions, Enum, NumberedEnum
from ...program.ops.framework.encoding import encode_attributes
from ...types import (
    COMPLEX,
    DYNAMIC,
    ELEMENT_TYPES,
    AnyElementType,
    ElementType,
    FutureType,
    QuantizedType,
    TensorType,
    TokenType,
    TupleType,
    Type,
)
from .template import PER_TENSOR, OperandSpec, Template, with_inferred_results

_OTHER_TYPES: Final = ("f32", "f64", "i32", "i64", "ui8", "i1", "complex<f32>", "f16")
"""Element types that take the place of another."""
DEFECTS: Final = (
    LookupError,
    TypeError,
    ValueError,
    AssertionError,
    AttributeError,
    ArithmeticError,
    NotImplementedError,
)
"""What declarations may raise where a constraint that they rely on does not hold."""
_SUBSTITUTES: Final = {1: "stablehlo.negate", 2: "stablehlo.subtract"}
"""The operation that takes the place of another one in a region, by the number of its operands."""
_FAR: Final = 9
"""A dimension or an id that no template has."""


def mutations(template: Template) -> Iterator[Template]:
    """The template with one part changed: each with its results, and with those that it then infers."""
    for changed in _changes(template):
        yield changed
        inferred = _inferred(changed)
        if inferred is not None and inferred.results != changed.results:
            yield inferred


def retyped(template: Template) -> Iterator[Template]:
    """The template with its most frequent element type replaced everywhere, by plain and quantized types."""
    types = [template.operand_type(index) for index in range(len(template.operands))]
    tensors = [type for type in (*types, *template.results) if isinstance(type, TensorType)]
    for old in dict.fromkeys(str(type.element_type) for type in tensors):
        for axis in (None, 0, 1, 2):
            changed = _with_element_type(template, old, axis)
            if changed is not None:
                yield changed
    for old in dict.fromkeys(str(type.element_type) for type in tensors):
        for name in _OTHER_TYPES:
            yield _renamed_elements(template, old, ELEMENT_TYPES[name])


def with_dynamic_results(template: Template) -> Iterator[Template]:
    """The template with results of unknown sizes, which no constraint on known sizes rules out."""
    results = tuple(
        type.with_shape((DYNAMIC,) * type.rank) if isinstance(type, TensorType) else type
        for type in template.results
    )
    if results != template.results:
        yield replace(template, results=results)


def _inferred(template: Template) -> Template | None:
    try:
        return with_inferred_results(template)
    except (NimbleError, *DEFECTS):
        return None


def _changes(template: Template) -> Iterator[Template]:
    yield from _changed_attributes(template)
    for index, spec in enumerate(template.operands):
        for other in _other_specs(spec):
            operands = (*template.operands[:index], other, *template.operands[index + 1 :])
            yield replace(template, operands=operands)
    for index, type in enumerate(template.results):
        for changed in _other_types(type):
            results = (*template.results[:index], changed, *template.results[index + 1 :])
            yield replace(template, results=results)
    yield from _changed_together(template)
    yield from _changed_counts(template)
    for index, body in enumerate(template.regions):
        for other_body in _other_regions(body):
            regions = (*template.regions[:index], other_body, *template.regions[index + 1 :])
            yield replace(template, regions=regions)
    for regions in ((), template.regions[:-1], (*template.regions, *template.regions)):
        yield replace(template, regions=regions)
    yield replace(template, regions=(), results=())


def _changed_attributes(template: Template) -> Iterator[Template]:
    declaration = lookup(template.operation)
    assert declaration is not None
    operation = template.isolated()
    values = {one.name: one.read(operation) for one in declaration.declared_attributes}
    for attribute in declaration.declared_attributes:
        # A field of a struct is encoded with the others of the struct.
        fields = [one.name for one in declaration.declared_attributes if one.of is not None]
        kept = {name: values[name] for name in fields if attribute.of is not None}
        for changed in _other_values(values[attribute.name], attribute.kind):
            try:
                encoded = encode_attributes(template.operation, {**kept, attribute.name: changed})
            except DEFECTS:
                continue
            yield replace(template, attributes={**template.attributes, **encoded})


def _other_values(value: Any, kind: Any) -> Iterator[Any]:
    """Other values of an attribute."""
    if isinstance(kind, (Enum, NumberedEnum)):
        yield from (member for member in kind.members if member != value)
    elif isinstance(value, ReplicaGroups):
        for rows in _other_rows(value.rows or ()):
            if len({len(row) for row in rows}) <= 1:
                yield ReplicaGroups(rows)
    elif isinstance(value, bool):
        yield not value
    elif isinstance(value, enum.Enum):
        yield from (member for member in type(value) if member != value)
    elif isinstance(value, int):
        yield from (value + 1, value - 1, 0, -1, 2, _FAR)
    elif isinstance(value, float):
        yield from (-1.0, float("nan"))
    elif isinstance(value, str):
        yield value.replace(".", "_")
    elif isinstance(value, tuple) and value and isinstance(value[0], tuple):
        yield from _other_rows(value)
    elif isinstance(value, tuple):
        yield from _other_lists(value, kind)
    elif isinstance(value, ElementType):
        yield from (ELEMENT_TYPES[name] for name in ("f64", "f16", "f8E5M2", "bf16"))
    elif value is None:
        yield from _added_values(kind)


def _added_values(kind: Any) -> Iterator[Any]:
    """Values of an attribute that was absent."""
    if isinstance(kind, Dimensions):
        yield from ((0,), (1,), (0, 1), (-1,))
    elif isinstance(kind, ArrayOf):
        return
    else:
        yield from (True, 0, 1, -1, ELEMENT_TYPES["f32"])


def _other_lists(value: tuple[Any, ...], kind: Any) -> Iterator[tuple[Any, ...]]:
    if isinstance(kind, ArrayOf):
        yield from (value + value[-1:], value[:-1])
        for index, item in enumerate(value):
            if isinstance(item, enum.Enum):
                members = [member for member in type(item) if member != item]
                yield from ((*value[:index], other, *value[index + 1 :]) for other in members)
        return
    for index, item in enumerate(value):
        others = [not item] if isinstance(item, bool) else [item + 1, item - 1, -1, -2, 0, 2, _FAR, *value]
        for other in others:
            if other != item:
                yield (*value[:index], other, *value[index + 1 :])
    for index in range(len(value) - 1):
        yield (*value[:index], value[index + 1], value[index], *value[index + 2 :])
    yield value[:-1]
    yield from ((*value, item) for item in (*value[-1:], 0, 1, 2, _FAR))
    yield (*value, 0, 1)
    yield ()


def _other_rows(value: Sequence[tuple[int, ...]]) -> Iterator[tuple[tuple[int, ...], ...]]:
    rows = tuple(value)
    if not rows:
        yield ((0, 1),)
        return
    for index, row in enumerate(rows):
        for other in _other_lists(row, None):
            yield (*rows[:index], other, *rows[index + 1 :])
    yield rows[:-1]
    yield (*rows, *rows[-1:])
    yield (*rows, tuple(item + _FAR for item in rows[-1]))
    for longer in (0, 1, 2):
        yield tuple((*row, longer + index * 5) for index, row in enumerate(rows))


def _other_specs(spec: OperandSpec) -> Iterator[OperandSpec]:
    if isinstance(spec, DenseElementsAttribute):
        yield from _other_constants(spec)
    else:
        yield from _other_types(spec)


def _other_constants(value: DenseElementsAttribute) -> Iterator[DenseElementsAttribute]:
    """A constant with one element changed, added or removed, or of another type."""
    type, array = value.type, np.array(value.array)
    assert isinstance(type, TensorType)
    flat = array.reshape(-1)
    for index in range(flat.size):
        for other in (int(flat[index]) + 1, int(flat[index]) - 1, -1, 0, _FAR):
            changed = flat.copy()
            changed[index] = other
            yield DenseElementsAttribute(type, changed.reshape(type.shape))
    if type.rank == 1:
        for shape, numbers in (((flat.size + 1,), [*flat, 1]), ((1, flat.size), flat), ((), [2])):
            yield DenseElementsAttribute(type.with_shape(shape), np.array(numbers, type.dtype).reshape(shape))
        if flat.size:
            shorter = flat[:-1]
            yield DenseElementsAttribute(type.with_shape((shorter.size,)), shorter)
    else:
        yield DenseElementsAttribute(type.with_shape((1, *type.shape)), array[np.newaxis])
    if type.rank > 1:
        yield DenseElementsAttribute(type.with_shape((*type.shape[:-1], 1)), array[..., :1])
    for name in ("i32", "i64", "f32", "ui8"):
        element_type = ELEMENT_TYPES[name]
        yield DenseElementsAttribute(type.with_element_type(element_type), array.astype(element_type.dtype))


def _other_types(type: Type) -> Iterator[Type]:
    """Types with another element type, or another size in one dimension, or another rank."""
    if isinstance(type, (TupleType, FutureType)):
        for index, inner in enumerate(type.types):
            for other in _other_types(inner):
                yield type.__class__((*type.types[:index], other, *type.types[index + 1 :]))
        yield type.__class__(type.types[:-1])
        return
    if not isinstance(type, TensorType):
        yield TensorType((2,), ELEMENT_TYPES["f32"])
        return
    for element_type in _other_element_types(type):
        yield type.with_element_type(element_type)
    for shape in _other_shapes(type.shape):
        yield type.with_shape(shape)
    yield TokenType()


def _other_shapes(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    for index, size in enumerate(shape):
        for other in (size + 1, size - 1, 0, 1, size * 2):
            if other >= 0 and other != size:
                yield (*shape[:index], other, *shape[index + 1 :])
    yield (*shape, 1)
    yield (2, *shape)
    if shape:
        yield shape[1:]
        yield shape[:-1]
        yield shape[::-1]


def _other_element_types(type: TensorType) -> Iterator[AnyElementType]:
    element_type = type.element_type
    for name in _OTHER_TYPES:
        if ELEMENT_TYPES[name] != element_type:
            yield ELEMENT_TYPES[name]
    if isinstance(element_type, ElementType) and element_type.category == COMPLEX:
        yield ELEMENT_TYPES["complex<f64>"]
    if element_type != PER_TENSOR:
        yield PER_TENSOR
    yield _quantized(scales=(0.25,), zero_points=(-3,))
    for zero_point in (0, 1, -3):
        yield _quantized(scales=(0.5,), zero_points=(zero_point,))
        yield _quantized(scales=(0.5,), zero_points=(zero_point,), storage="i16")
        yield _quantized(scales=(0.5,), zero_points=(zero_point,), expressed="f64")
    for axis, size in enumerate(type.shape):
        if size > 0:
            yield per_axis(axis, size)
            yield per_axis(axis, size, zero_point=0)
            yield per_axis(axis, size, first=0.75)


def _quantized(
    scales: Sequence[float],
    zero_points: Sequence[int],
    axis: int | None = None,
    storage: str = "i8",
    expressed: str = "f32",
) -> QuantizedType:
    bits = ELEMENT_TYPES[storage].width - 1
    low, high = -(1 << bits), (1 << bits) - 1
    return QuantizedType(
        ELEMENT_TYPES[storage], low, high, ELEMENT_TYPES[expressed], scales, zero_points, axis
    )


def per_axis(axis: int, size: int, first: float = 0.5, zero_point: int = -3) -> QuantizedType:
    """An element type that is quantized along a dimension."""
    scales = tuple(first + index / 4 for index in range(size))
    return _quantized(scales, (zero_point,) * size, axis)


def _changed_together(template: Template) -> Iterator[Template]:
    """All operands and results of one type changed in the same way."""
    types = [template.operand_type(index) for index in range(len(template.operands))]
    for old in dict.fromkeys(type for type in (*types, *template.results) if isinstance(type, TensorType)):
        if [*types, *template.results].count(old) < 2:
            continue
        for changed in _other_types(old):
            operands = tuple(changed if spec == old else spec for spec in template.operands)
            yield replace(template, operands=operands)
            results = tuple(changed if type == old else type for type in template.results)
            yield replace(template, operands=operands, results=results)


def _changed_counts(template: Template) -> Iterator[Template]:
    """One operand or result more or less, or one of each."""
    operands, results = template.operands, template.results
    fewer = [operands[:index] + operands[index + 1 :] for index in range(len(operands))]
    more = [operands[: index + 1] + operands[index:] for index in range(len(operands))]
    more += [(*operands, *operands), (*operands, TensorType((), ELEMENT_TYPES["i32"]))]
    for changed in (*fewer, *more, ()):
        yield replace(template, operands=changed)
    for other in (results[:-1], (*results, *results[-1:]), (*results, *results), ()):
        yield replace(template, results=other)
        for changed in (*fewer, *more, *[(one,) for one in operands], ()):
            yield replace(template, operands=changed, results=other)


def _other_regions(body: Region) -> Iterator[Region]:
    """A region whose types are others, or that returns something else."""
    types = [argument.type for argument in body.block.arguments]
    inner = [result.type for operation in body.block.operations for result in operation.results]
    tensors = [type for type in (*types, *inner) if isinstance(type, TensorType)]
    for old in dict.fromkeys(tensors):
        for changed in _other_types(old):
            if not isinstance(changed, TensorType):
                continue
            copied = copy_region(body, {})
            set_types(copied, _replaced(old, changed))
            yield copied
    yield from _other_arguments(body)
    yield from _other_returns(body)
    yield from _other_operations(body)


def _other_operations(body: Region) -> Iterator[Region]:
    """The region with its first operation twice, or with another operation in its place."""
    first = body.block.operations[0]
    if len(first.results) != 1 or len(first.operands) not in _SUBSTITUTES:
        return
    mapping: dict[Any, Any] = {}
    copied = copy_region(body, mapping)
    copied.block.operations.insert(0, first.clone([mapping[value] for value in first.operands]))
    yield copied
    copied = copy_region(body, {})
    operation = copied.block.operations[0]
    operation.name, operation.attributes = _SUBSTITUTES[len(first.operands)], {}
    yield copied


def _replaced(old: Type, new: Type) -> Any:
    return lambda type: new if type == old else type


def _other_arguments(body: Region) -> Iterator[Region]:
    """The region with one argument of another type, or with another number of arguments."""
    for index, argument in enumerate(body.block.arguments):
        for changed in _other_types(argument.type):
            copied = copy_region(body, {})
            copied.block.arguments[index].type = changed
            yield copied
    used = {value for operation in body.walk() for value in operation.operands}
    copied = copy_region(body, {})
    block = copied.block
    extra = block.arguments[-1].type if block.arguments else TensorType((), ELEMENT_TYPES["i32"])
    block.arguments = (*block.arguments, Value(extra, block, len(block.arguments)))
    yield copied
    if body.block.arguments and body.block.arguments[-1] not in used:
        copied = copy_region(body, {})
        copied.block.arguments = copied.block.arguments[:-1]
        yield copied


def _other_returns(body: Region) -> Iterator[Region]:
    """The region returning fewer or more values, or others of its values."""
    returned = list(body.block.terminator.operands)
    for changed in (returned[:-1], [*returned, *returned[-1:]]):
        yield _returning(body, changed)
    values = [result for one in body.block.operations for result in one.results]
    for value in (*body.block.arguments, *values):
        for index in range(len(returned)):
            yield _returning(body, [*returned[:index], value, *returned[index + 1 :]])


def _returning(body: Region, values: Sequence[Any]) -> Region:
    mapping: dict[Any, Any] = {}
    copied = copy_region(body, mapping)
    copied.block.terminator.operands = tuple(mapping.get(value, value) for value in values)
    return copied


def _with_element_type(template: Template, old: str, axis: int | None) -> Template | None:
    """The template with a quantized type in place of an element type, along a dimension or per tensor."""

    def changed(type: Type) -> Type:
        if not isinstance(type, TensorType) or str(type.element_type) != old:
            return type
        if axis is None or axis >= type.rank or not type.shape[axis]:
            return type.with_element_type(PER_TENSOR)
        return type.with_element_type(per_axis(axis, type.shape[axis]))

    return _mapped(template, changed)


def _renamed_elements(template: Template, old: str, new: ElementType) -> Template:
    def changed(type: Type) -> Type:
        if isinstance(type, TensorType) and str(type.element_type) == old:
            return type.with_element_type(new)
        return type

    return _mapped(template, changed)


def _mapped(template: Template, type_of: Any) -> Template:
    """The template with other types everywhere, but for constants."""
    regions = []
    for body in template.regions:
        copied = copy_region(body, {})
        set_types(copied, type_of)
        regions.append(copied)
    operands = tuple(
        spec if isinstance(spec, DenseElementsAttribute) else type_of(spec) for spec in template.operands
    )
    results = tuple(map(type_of, template.results))
    return replace(template, operands=operands, results=results, regions=tuple(regions))
