"""Constraints that many operations share, each made from the names of operands, results and attributes.

A declaration states them under their labels::

    C2 = constraints.unique("dimensions")
    C3 = constraints.dimensions_of("dimensions", "result")

The name of a variadic operand stands for all of its types, ``inputs[0]`` for the first one. An attribute and
an operand that holds sizes are read alike (`Op.integers`), so that a static operation and its dynamic twin
share constraints. A constraint holds as long as the sizes are unknown.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from ....types import TensorType
from . import rules
from .declaration import Constraint, Op

Compare = Callable[[str, Any, str, Any], str | None]
"""Compares two types: the name and the type of one, then of the other."""


def named_types(view: Op, names: Sequence[str]) -> list[tuple[str, Any]]:
    """The types of operands and results with their names; those of a variadic one are numbered."""
    named: list[tuple[str, Any]] = []
    for name in names:
        value = _declared_value(view, name)
        if isinstance(value, list):
            named += [(f"{name}[{index}]", type) for index, type in enumerate(value)]
        else:
            named.append((name, value))
    return named


def _declared_value(view: Op, name: str) -> Any:
    variadic, first, _ = name.partition("[0]")
    return getattr(view, variadic)[0] if first else getattr(view, name)


def _agreement(quality: str, compare: Compare) -> Callable[..., Constraint]:
    """The constraints that types agree in a quality for which the specification has a function."""

    def constraint_of(*names: str) -> Constraint:
        def check(view: Op) -> str | None:
            named = named_types(view, names)
            return rules.first(*(compare(*other, *named[0]) for other in named[1:]))

        rule = " = ".join(f"{quality}({name})" for name in names)
        return Constraint(check, rule if len(names) > 1 else f"same({quality}({names[0]}...))")

    return constraint_of


def _pairwise_agreement(quality: str, compare: Compare) -> Callable[[str, str], Constraint]:
    """The constraints that two variadic operands or results agree in a quality, type by type."""

    def constraint_of(name: str, other: str) -> Constraint:
        def check(view: Op) -> str | None:
            pairs = zip(named_types(view, [name]), named_types(view, [other]), strict=False)
            return rules.first(*(compare(*named, *of_other) for named, of_other in pairs))

        return Constraint(check, f"{quality}({name}...) = {quality}({other}...)")

    return constraint_of


def _same_shape(name: str, type: TensorType, other: str, other_type: TensorType) -> str | None:
    return rules.same_shape(name, type, f"shape({other})", other_type.shape)


same_type: Final = _agreement("type", rules.same_type)
same_shape: Final = _agreement("shape", _same_shape)
same_element_type: Final = _agreement("element_type", rules.same_element_type)
same_baseline_element_type: Final = _agreement("baseline_element_type", rules.same_baseline_element_type)
same_baseline_type: Final = _agreement("baseline_type", rules.same_baseline_type)
same_shape_each: Final = _pairwise_agreement("shape", _same_shape)
same_element_type_each: Final = _pairwise_agreement("element_type", rules.same_element_type)


def all_of(*constraints: Constraint, rule: str | None = None) -> Constraint:
    """Several constraints under one label; `rule` describes them; None: the rules of all."""

    def check(view: Op) -> str | None:
        return next(filter(None, (constraint.check(view) for constraint in constraints)), None)

    return Constraint(check, rule or " and ".join(constraint.rule for constraint in constraints))


def same_element_type_up_to_axis(name: str, other: str, *, ignoring_parameters: bool = False) -> Constraint:
    """Element types must be the same; per-axis quantized ones may differ in their axis.

    Args:
        ignoring_parameters: whether the scales and zero points of per-axis quantized types may differ too.
    """

    def check(view: Op) -> str | None:
        (pair, of_other) = named_types(view, [name, other])
        return rules.same_element_type_up_to_axis(*pair, *of_other, ignoring_parameters=ignoring_parameters)

    differ = "axis, scales and zero points" if ignoring_parameters else "axis"
    return Constraint(
        check, f"element_type({name}) = element_type({other}), except for a quantization {differ}"
    )


def unique(*lists: str) -> Constraint:
    """No value may occur twice in the lists taken together."""
    name = lists[0] if len(lists) == 1 else f"concatenate({', '.join(lists)})"

    def check(view: Op) -> str | None:
        return rules.unique(name, [value for each in lists for value in getattr(view, each)])

    return Constraint(check, f"is_unique({name})")


def is_sorted(name: str) -> Constraint:
    """Values must ascend."""
    return Constraint(lambda view: rules.is_sorted(name, getattr(view, name)), f"is_sorted({name})")


def unique_and_sorted(name: str) -> Constraint:
    """Values must ascend, and none may occur twice."""
    return all_of(unique(name), is_sorted(name))


def dimensions_of(name: str, operand: str) -> Constraint:
    """The values of an attribute must be dimensions of an operand or result, or of each variadic one."""

    def check(view: Op) -> str | None:
        values = view.integers(name) or ()
        return rules.first(
            *(
                rules.in_range(name, values, 0, type.rank, f"the rank of {each}")
                for each, type in named_types(view, [operand])
            )
        )

    return Constraint(check, f"0 <= {name} < rank({operand})")


def absent(name: str, other: str) -> Constraint:
    """A value must not be in a list."""
    return Constraint(
        lambda view: rules.absent(name, getattr(view, name), other, getattr(view, other)),
        f"{name} not in {other}",
    )


def size_is_rank(*names: str, of: str) -> Constraint:
    """Lists, or operands of sizes, must have a value for each dimension of an operand."""

    def check(view: Op) -> str | None:
        rank = _declared_value(view, of).rank
        lengths = [(name, _length(getattr(view, name))) for name in names]
        return rules.first(*(rules.length_is(*named, rank, f"the rank of {of}") for named in lengths))

    return Constraint(check, f"{' = '.join(f'size({name})' for name in names)} = rank({of})")


def _length(value: TensorType | Sequence[object]) -> int:
    """The size of a list or of a tensor of one dimension."""
    return value.shape[0] if isinstance(value, TensorType) else len(value)


def same_size(name: str, other: str) -> Constraint:
    """Two lists must have the same size."""

    def check(view: Op) -> str | None:
        return rules.length_is(name, len(getattr(view, name)), len(getattr(view, other)), f"size({other})")

    return Constraint(check, f"size({name}) = size({other})")


def not_empty(name: str) -> Constraint:
    """There must be at least one of a variadic operand or region."""
    return Constraint(lambda view: None if getattr(view, name) else f"{name} is empty", f"0 < size({name})")


def positive(name: str) -> Constraint:
    """Each value of an attribute must be positive, if it is present."""
    return at_least(1, name, f"0 < {name}")


def not_negative(name: str) -> Constraint:
    """No value of an attribute may be negative, if it is present."""
    return at_least(0, name, f"0 <= {name}")


def at_least(minimum: int, name: str, rule: str | None = None) -> Constraint:
    """Each value of an attribute must be at least `minimum`, if it is present."""
    return Constraint(
        lambda view: rules.at_least(minimum, name, view.integers(name) or ()), rule or f"{minimum} <= {name}"
    )


def within_shape(name: str, operand: str) -> Constraint:
    """Values must lie between 0 and the sizes of an operand."""

    def check(view: Op) -> str | None:
        values = view.integers(name) or ()
        shape = _declared_value(view, operand).shape
        return rules.first(rules.at_least(0, name, values), rules.at_most(name, values, operand, shape))

    return Constraint(check, f"0 <= {name} <= shape({operand})")


def same_sizes_along(operand: str, dimensions: str, other: str, other_dimensions: str) -> Constraint:
    """Two operands must have the same sizes along dimensions that two attributes list."""

    def check(view: Op) -> str | None:
        shape, other_shape = _declared_value(view, operand).shape, _declared_value(view, other).shape
        for d, d_other in zip(getattr(view, dimensions), getattr(view, other_dimensions), strict=False):
            if 0 <= d < len(shape) and 0 <= d_other < len(other_shape):
                size, other_size = shape[d], other_shape[d_other]
                if not rules.sizes_agree(size, other_size):
                    return f"{operand} has size {size} at {d}, but {other} has size {other_size} at {d_other}"
        return None

    return Constraint(check, f"dim({operand}, {dimensions}...) = dim({other}, {other_dimensions}...)")


def shape_is(name: str, what: str, shape: str) -> Constraint:
    """An operand or a result must have a computed shape.

    Args:
        name: the operand or result.
        what: what the shape is, in words or by the specification's functions.
        shape: the method or attribute of the declaration that gives it; None: it is unknown.
    """

    def check(view: Op) -> str | None:
        expected = getattr(view, shape)
        if callable(expected):
            expected = expected()
        if expected is None:
            return None
        return rules.first(*(rules.same_shape(*pair, what, expected) for pair in named_types(view, [name])))

    return Constraint(check, f"shape({name}) = {what}")


def combines(body: str, operands: str, results: str | None = None) -> Constraint:
    """A region must combine pairs of scalars to whose types the operands are promotable.

    Args:
        body, operands: the names of the region and of the operands.
        results: those results which may have the operands' type again where the region has elements of
            another kind; None: conversions to another kind are not implied.
    """

    def check(view: Op) -> str | None:
        named, of_results = named_types(view, [operands]), named_types(view, [results] if results else ())
        return rules.body_type_is(
            body, getattr(view, body), [type for _, type in named], [type for _, type in of_results]
        )

    return Constraint(check, f"{body} combines pairs of types Ei to which {operands} are promotable")


def results_of(body: str, operands: str | None, results: str) -> Constraint:
    """Results must have the element types that a region returns, or those of the operands if these are named.
    """

    def check(view: Op) -> str | None:
        named, of_results = named_types(view, [operands] if operands else ()), named_types(view, [results])
        return rules.results_have_types_of(of_results, getattr(view, body), [type for _, type in named])

    rule = f"element_type({results}) = Ei"
    return Constraint(check, f"{rule}, or that of {operands}" if operands else rule)
