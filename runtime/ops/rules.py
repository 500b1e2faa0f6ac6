"""Rules that many constraints share: each returns None where it holds, or the reason with the values.

Sizes that are not known yet (DYNAMIC) agree with every size: the constraint is judged again when they are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..types import DYNAMIC, AnyElementType, QuantizedType, TensorType, Type


def sizes_agree(a: int, b: int) -> bool:
    """Whether two dimension sizes are equal, or one is unknown."""
    return a == b or DYNAMIC in (a, b)


def shapes_agree(a: Sequence[int], b: Sequence[int]) -> bool:
    """Whether two shapes have the same rank and sizes that agree."""
    return a == b or (len(a) == len(b) and all(map(sizes_agree, a, b)))


def types_agree(a: Type, b: Type) -> bool:
    """Whether two types are equal but for sizes unknown in one of them."""
    if a is b or a == b:
        return True
    if isinstance(a, TensorType) and isinstance(b, TensorType):
        return a.element_type == b.element_type and shapes_agree(a.shape, b.shape)
    return False


def all_types_agree(a: Sequence[Type], b: Sequence[Type]) -> bool:
    """Whether two sequences have types that agree pairwise."""
    return len(a) == len(b) and all(map(types_agree, a, b))


def same_type(name: str, type: Type, other: str, other_type: Type) -> str | None:
    """Both types must agree."""
    if types_agree(type, other_type):
        return None
    return f"{name} is {type}, but {other} is {other_type}"


def same_shape(name: str, type: TensorType, other: str, shape: Sequence[int]) -> str | None:
    """The type's shape must agree with `shape`."""
    if shapes_agree(type.shape, tuple(shape)):
        return None
    return f"{name} has shape {shape_text(type.shape)}, but {other} is {shape_text(shape)}"


def expressed_type(element_type: AnyElementType) -> AnyElementType:
    """The expressed type of a quantized type, any other type itself (``baseline_element_type``)."""
    return element_type.expressed if isinstance(element_type, QuantizedType) else element_type


def same_element_type(name: str, type: TensorType, other: str, other_type: TensorType) -> str | None:
    """Both must have the same element type."""
    if type.element_type == other_type.element_type:
        return None
    return f"{name} has elements {type.element_type}, but {other} has {other_type.element_type}"


def length_is(name: str, values: Sequence[object], expected: int, what: str) -> str | None:
    """`values` must have `expected` items; `what` says whose number that is."""
    if len(values) == expected:
        return None
    return f"{name} has {len(values)} elements, but {what} is {expected}"


def unique(name: str, values: Sequence[int]) -> str | None:
    """No value may occur twice."""
    if len(set(values)) == len(values):
        return None
    return f"{name} = {list(values)} has duplicates"


def is_sorted(name: str, values: Sequence[int]) -> str | None:
    """Values must ascend."""
    if list(values) == sorted(values):
        return None
    return f"{name} = {list(values)} is not sorted"


def in_range(name: str, values: Iterable[int], low: int, high: int, bound: str) -> str | None:
    """Each value must be at least `low` and less than `high`; `bound` says what `high` is."""
    values = list(values)
    for index, value in enumerate(values):
        if not low <= value < high:
            where = f"{name}[{index}]" if len(values) > 1 else name
            return f"{where} is {value}, but must be in [{low}, {high}), where {high} is {bound}"
    return None


def first(*reasons: str | None) -> str | None:
    """The first reason, or None."""
    return next((reason for reason in reasons if reason is not None), None)


def shape_text(shape: Sequence[int]) -> str:
    """A shape as users write it: ``[2, ?]``."""
    return "[" + ", ".join("?" if size == DYNAMIC else str(size) for size in shape) + "]"
