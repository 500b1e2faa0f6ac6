"""Conditions of constraints: each returns None, or the reason why the condition is violated with the values.

Sizes that are not known yet (DYNAMIC) agree with every size: the constraint is checked again once they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final, TypeVar

import numpy as np

from ....errors import counted
from ....types import (
    BOOLEAN,
    COMPLEX,
    DYNAMIC,
    FLOAT,
    INTEGER,
    QUANTIZED_PER_AXIS,
    AnyElementType,
    Array,
    ElementType,
    FunctionType,
    QuantizedType,
    TensorType,
    Type,
)
from ...ir import Operation, Region, StringAttribute

if TYPE_CHECKING:
    from .declaration import Op

AnyOp = TypeVar("AnyOp", bound="Op")


def sizes_agree(a: int, b: int) -> bool:
    """Whether two dimension sizes are equal, or one is unknown."""
    return a == b or DYNAMIC in (a, b)


def shapes_agree(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes have the same rank and sizes that agree."""
    return a == b or (len(a) == len(b) and all(map(sizes_agree, a, b)))


def as_tensor(type: Type) -> Type:
    """The type of a tensor of rank 0 for a scalar's type; any other type itself."""
    return TensorType((), type) if isinstance(type, ElementType) else type


def types_agree(a: Type, b: Type) -> bool:
    """Whether two types are equal, except for sizes that are unknown in one of them."""
    if a is b or a == b:
        return True
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.element_type == b.element_type and shapes_agree(a.shape, b.shape)
    return False


def all_types_agree(a: Sequence[Type], b: Sequence[Type]) -> bool:
    """Whether two sequences have types that agree pairwise."""
    return len(a) == len(b) and all(map(types_agree, a, b))


def accepts(declared: Type, actual: Type) -> bool:
    """Whether each value of a type is one of the declared type, whatever its unknown sizes are."""
    if not types_agree(declared, actual):
        return False
    if not isinstance(declared, TensorType) or not isinstance(actual, TensorType):
        return True
    return all(
        known == DYNAMIC or size != DYNAMIC for known, size in zip(declared.shape, actual.shape, strict=True)
    )


def all_accept(declared: Sequence[Type], actual: Sequence[Type]) -> bool:
    """Whether `accepts` holds pairwise for two sequences of types."""
    return len(declared) == len(actual) and all(map(accepts, declared, actual))


def same_type(name: str, type: Type, other: str, other_type: Type) -> str | None:
    """Both types must agree, where a scalar's type counts as that of a tensor of rank 0."""
    if types_agree(as_tensor(type), as_tensor(other_type)):
        return None
    return f"{name} is {type}, but {other} is {other_type}"


def type_is(name: str, type: Type, expected: Type) -> str | None:
    """The type must agree with `expected`."""
    return None if types_agree(type, expected) else f"{name} is {type}, but must be {expected}"


def shape_is(name: str, type: TensorType, shape: Sequence[int]) -> str | None:
    """The type's shape must agree with `shape`."""
    if shapes_agree(type.shape, tuple(shape)):
        return None
    return f"{name} has shape {shape_text(type.shape)}, but must have {shape_text(shape)}"


def same_shape(name: str, type: TensorType, other: str, shape: Sequence[int]) -> str | None:
    """The type's shape must agree with `shape`."""
    if shapes_agree(type.shape, tuple(shape)):
        return None
    return f"{name} has shape {shape_text(type.shape)}, but {other} is {shape_text(shape)}"


def expressed_type(element_type: AnyElementType) -> ElementType:
    """The expressed type of a quantized type, any other type itself (``baseline_element_type``)."""
    return element_type.expressed if isinstance(element_type, QuantizedType) else element_type


def same_element_type(name: str, type: TensorType, other: str, other_type: TensorType) -> str | None:
    """Both must have the same element type."""
    if type.element_type == other_type.element_type:
        return None
    return f"{name} has elements {type.element_type}, but {other} has {other_type.element_type}"


def length_is(name: str, length: int, expected: int, what: str) -> str | None:
    """A list of `length` values must have `expected` ones; `what` describes that number."""
    if sizes_agree(length, expected):
        return None
    return f"{name} has {counted(length, 'element')}, but {what} is {expected}"


def unique(name: str, values: Sequence[int]) -> str | None:
    """No value may occur twice."""
    if len(set(values)) == len(values):
        return None
    return f"{name} = {list(values)} has duplicates"


def absent(name: str, value: int, other: str, values: Sequence[int]) -> str | None:
    """A value must not be in a list."""
    if value not in values:
        return None
    return f"{name} is {value}, which is in {other} = {list(values)}"


def is_sorted(name: str, values: Sequence[int]) -> str | None:
    """Values must ascend."""
    if list(values) == sorted(values):
        return None
    return f"{name} = {list(values)} is not sorted"


def in_range(name: str, values: Iterable[int], low: int, high: int, bound: str) -> str | None:
    """Each value must be at least `low` and less than `high`; `bound` describes `high`."""
    values = list(values)
    for index, value in enumerate(values):
        if not low <= value < high:
            where = f"{name}[{index}]" if len(values) > 1 else name
            return f"{where} is {value}, but must be in [{low}, {high}), where {high} is {bound}"
    return None


def first(*reasons: str | None) -> str | None:
    """The first reason, or None."""
    return next((reason for reason in reasons if reason is not None), None)


def types_text(types: Sequence[Type]) -> str:
    """Types as a signature shows them: ``(tensor<f32>, tensor<i1>)``."""
    return f"({', '.join(map(str, types))})"


def shape_text(shape: Sequence[int]) -> str:
    """A shape as users write it: ``[2, ?]``."""
    return "[" + ", ".join("?" if size == DYNAMIC else str(size) for size in shape) + "]"


def at_least(minimum: int, name: str, values: Sequence[int]) -> str | None:
    """No value may be less than `minimum`."""
    for index, value in enumerate(values):
        if value < minimum:
            where = f"{name}[{index}]" if len(values) > 1 else name
            needed = {0: "not be negative", 1: "be positive"}.get(minimum, f"be at least {minimum}")
            return f"{where} is {value}, but must {needed}"
    return None


def at_most(name: str, values: Sequence[int], other: str, sizes: Sequence[int]) -> str | None:
    """Each value must be at most the size at its position in `other`."""
    for index, (value, size) in enumerate(zip(values, sizes, strict=False)):
        if DYNAMIC not in (value, size) and value > size:
            return f"{name}[{index}] is {value}, but {other} has size {size} there"
    return None


def _baseline(element_type: AnyElementType) -> object:
    """The part of an element type that excludes scales and zero points."""
    if not isinstance(element_type, QuantizedType):
        return element_type
    t = element_type
    return (t.storage, t.storage_min, t.storage_max, t.expressed, t.quantization_dimension)


def same_baseline_element_type(name: str, type: TensorType, other: str, other_type: TensorType) -> str | None:
    """Both must have the same element type except for scales and zero points."""
    if _baseline(type.element_type) == _baseline(other_type.element_type):
        return None
    return f"{name} has elements {type.element_type}, but {other} has {other_type.element_type}"


def same_baseline_type(name: str, type: TensorType, other: str, other_type: TensorType) -> str | None:
    """Both must have the same type except for scales and zero points."""
    reason = same_baseline_element_type(name, type, other, other_type)
    if reason is None and not shapes_agree(type.shape, other_type.shape):
        return f"{name} is {type}, but {other} is {other_type}"
    return reason


def same_element_type_up_to_axis(
    name: str, type: TensorType, other: str, other_type: TensorType, *, ignoring_parameters: bool = False
) -> str | None:
    """Both must have the same element type; per-axis quantized ones may differ in their axis.

    Args:
        ignoring_parameters: whether the scales and zero points of per-axis quantized types may differ too.
    """
    a, b = type.element_type, other_type.element_type
    if isinstance(a, QuantizedType) and isinstance(b, QuantizedType):
        per_axis = a.category == b.category == QUANTIZED_PER_AXIS
        same_parameters = (a.scales, a.zero_points) == (b.scales, b.zero_points)
        same_range = (a.storage, a.storage_min, a.storage_max) == (b.storage, b.storage_min, b.storage_max)
        if (
            per_axis
            and same_range
            and a.expressed == b.expressed
            and (same_parameters or ignoring_parameters)
        ):
            return None
    return same_element_type(name, type, other, other_type)


def quantization_dimension(type: TensorType) -> int | None:
    """The axis of a per-axis quantized tensor type, None for any other."""
    element_type = type.element_type
    return element_type.quantization_dimension if isinstance(element_type, QuantizedType) else None


def is_promotable(x: AnyElementType, y: AnyElementType) -> bool:
    """Whether elements of type `x` may be promoted to `y`. Source: specification, `is_promotable`."""
    if isinstance(x, QuantizedType) or isinstance(y, QuantizedType):
        if not (isinstance(x, QuantizedType) and isinstance(y, QuantizedType)):
            return False
        return x.expressed == y.expressed and x.width <= y.width
    kinds = (BOOLEAN, INTEGER, FLOAT, COMPLEX)
    return any(x.category & kind and y.category & kind for kind in kinds) and x.width <= y.width


def changes_kind(x: AnyElementType, y: AnyElementType) -> bool:
    """Whether a reduction implicitly converts elements of type `x` to a type `y` of another kind.

    Source: the RFC on quantization of reductions, the table of implicit type conversions, cases B to E.
    """
    return (_kind(x), _kind(y)) in _CHANGES


def _kind(type: AnyElementType) -> str:
    if isinstance(type, QuantizedType):
        return "quantized"
    return "float" if type.category == FLOAT else "integer" if type.category & INTEGER else ""


_CHANGES: Final = frozenset(
    {("float", "quantized"), ("quantized", "float"), ("float", "integer"), ("integer", "float")}
)


def body_element_types(body: Region) -> list[AnyElementType]:
    """The element types E0, ..., EN-1 of the results of a reducing or updating region."""
    return [type.element_type for type in body.type.results if isinstance(type, TensorType)]


def body_type_is(
    name: str, body: Region, operands: Sequence[TensorType], results: Sequence[TensorType]
) -> str | None:
    """A region must combine N pairs: it has type (tensor<E0>, ..., tensor<E0>, ...) -> (tensor<E0>, ...).

    The element type of each of the N operands that it combines must be promotable to its Ei, or be of another
    kind, where the result is to have the operand's type again.
    """
    actual = body.type
    count = len(operands)
    if len(actual.results) != count or len(actual.inputs) != 2 * count:
        return f"{name} is {actual}, but must have {2 * count} inputs and {counted(count, 'output')}"
    for index, (operand, result) in enumerate(zip(operands, actual.results, strict=True)):
        if not isinstance(result, TensorType) or result.rank != 0:
            return f"output {index} of {name} is {result}, but must be a 0-dimensional tensor"
        for position in (index, count + index):
            reason = same_type(
                f"input {position} of {name}", actual.inputs[position], f"output {index}", result
            )
            if reason is not None:
                return reason
        element_type = operand.element_type
        converts_back = index < len(results) and _same_baseline(results[index], operand)
        converts = converts_back and changes_kind(element_type, result.element_type)
        if not converts and not is_promotable(element_type, result.element_type):
            return f"output {index} of {name} is {result}, to which {element_type} is not promotable"
    return None


def results_have_types_of(
    named_results: Sequence[tuple[str, TensorType]], body: Region, operands: Sequence[TensorType]
) -> str | None:
    """Each result must have the element type that the body returns for it, or the operand's own again."""
    for index, ((name, result), expected) in enumerate(zip(named_results, body.type.results, strict=False)):
        if not isinstance(expected, TensorType) or result.element_type == expected.element_type:
            continue
        if index >= len(operands) or not _same_baseline(result, operands[index]):
            return f"{name} is {result}, but the body returns {expected}"
    return None


def _same_baseline(a: TensorType, b: TensorType) -> bool:
    """Whether two types have one `baseline_element_type`: scales and zero points do not count."""
    x, y = a.element_type, b.element_type
    if isinstance(x, QuantizedType) and isinstance(y, QuantizedType):
        return (x.storage, x.expressed) == (y.storage, y.expressed)
    return x == y


def constant_operand(operation: Operation, position: int) -> Array | None:
    """The value of an operand that a constant defines, None for any other."""
    value = operation.operands[position].constant_value
    return None if value is None else value.array


def call_target(operation: Operation) -> str | None:
    """The target of a custom call; None for other operations."""
    if operation.name != "stablehlo.custom_call":
        return None
    target = operation.attributes.get("call_target_name")
    return target.value if isinstance(target, StringAttribute) else None


def fail_if(op: Op, reason: str | None, label: str | None = None) -> None:
    """Raise an ExecutionError with the reason why a rule does not hold at run time, if there is one."""
    if reason is not None:
        raise op.execution_error(reason, label)


def with_actual_shapes(op: AnyOp, operands: Sequence[Array]) -> AnyOp:
    """A view of the same operation whose operands have the shapes of these arrays."""
    view = object.__new__(type(op))
    view.__dict__.update(op.__dict__)
    remaining = iter(operands)
    for field in op.declared_operands:
        declared = op.__dict__[field.name]
        types = declared if field.variadic else [] if declared is None else [declared]
        actual = [
            TensorType(np.shape(next(remaining)), type.element_type) if isinstance(type, TensorType) else type
            for type in types
        ]
        if field.variadic:
            view.__dict__[field.name] = actual
        elif actual:
            view.__dict__[field.name] = actual[0]
    return view


def check_constraints(op: Op) -> None:
    """Check all constraints of a view at run time.

    Raises:
        ExecutionError: one does not hold; the specification leaves the behaviour undefined.
    """
    for label, _, reason in op.constraints():
        fail_if(op, reason, label)


def check_actual_sizes(op: Op, *operands: Array) -> None:
    """Check all constraints with the operands' actual sizes where verification did not know them all.

    Raises:
        ExecutionError: one does not hold.
    """
    if "sizes_are_known" not in op.__dict__:
        types = [value.type for value in (*op.operation.operands, *op.operation.results)]
        all_static = all(type.is_static for type in types if isinstance(type, TensorType))
        op.__dict__["sizes_are_known"] = all_static
    if not op.__dict__["sizes_are_known"]:
        check_constraints(with_actual_shapes(op, operands))


def function_type_is(
    name: str, region: Region, inputs: Sequence[Type], results: Sequence[Type]
) -> str | None:
    """A region must have these types of inputs and results."""
    expected = FunctionType(inputs, results)
    actual = region.type
    if all_types_agree(actual.inputs, inputs) and all_types_agree(actual.results, results):
        return None
    return f"{name} is {actual}, but must be {expected}"
