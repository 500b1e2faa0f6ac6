"""The faults that references may have, which the campaign puts into them one at a time.

Which faults an operation may have follows from its declaration: `faults` lists them and runs no program.
`communication_faults` has those of processes that communicate, `per_axis_faults` those of types that are
quantized along an axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from nimblehlo.checks.conformance.suite import operations
from nimblehlo.program.ops.collectives.base import CommunicatingOp
from nimblehlo.program.ops.control.composite import Composite
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.traits import Memory
from nimblehlo.program.ops.shape.run_time_sizes import RunTimeShaped
from nimblehlo.types import FLOAT, INTEGER, TENSOR
from tests.checks.conformance.communication_faults import communication_faults
from tests.checks.conformance.faulty_references import Call, Fault, Wrap, with_attribute
from tests.checks.conformance.per_axis_faults import per_axis_faults
from tests.checks.conformance.wrong_values import (
    Change,
    changed,
    last_repeated,
    nan_lost,
    one_larger,
    result_changes,
    truncated,
)


@functools.cache
def faults() -> Sequence[Fault]:
    """The faults of all operations of the suite that compute or communicate."""
    return list(_all_faults())


def _all_faults() -> Iterator[Fault]:
    for declaration in operations():
        if _has_called_reference(declaration):
            for kind, wrap in _faults_of(declaration):
                yield Fault(declaration.name, kind, wrap)
            yield from per_axis_faults(declaration)
        yield from communication_faults(declaration)


def _has_called_reference(declaration: type[Op]) -> bool:
    """Whether an operation runs by its own reference.

    Collectives run by their `combine`; operations of sizes that are operands, and composites, are replaced;
    constants and what forwards its operands compute nothing.
    """
    if issubclass(declaration, (CommunicatingOp, RunTimeShaped, Composite)):
        return False
    return declaration.memory is not Memory.FORWARDS and bool(declaration.declared_operands)


def _faults_of(declaration: type[Op]) -> Iterator[tuple[str, Wrap]]:
    results = declaration.declared_results
    if not any(one.categories & TENSOR for one in results) or declaration.region_role.is_control_flow:
        return
    for kind, change in result_changes(declaration):
        yield kind, _on_results(change)
    yield from _operand_faults(declaration)
    for attribute in declaration.declared_attributes:
        for kind, change in _ATTRIBUTE_FAULTS.items():
            if attribute.name in _MATTERING.get(kind, ()):
                yield f"{kind} {attribute.name}", with_attribute(attribute.name, change)
    for one in declaration.declared_regions:
        yield f"swapped arguments of {one.name}", _with_region(one.name, _swapped_halves)


def _operand_faults(declaration: type[Op]) -> Iterator[tuple[str, Wrap]]:
    operands = [one for one in declaration.declared_operands if one.categories & TENSOR]
    if not operands:
        return
    for index, operand in enumerate(operands):
        if operand.variadic:
            break
        yield f"{operand.name} without its last element", _on_operand(index, last_repeated)
        if operand.categories & FLOAT:
            yield f"NaN of {operand.name} lost", _on_operand(index, nan_lost)
            yield f"{operand.name} in fewer digits", _on_operand(index, truncated)
        if operand.categories & INTEGER:
            yield f"{operand.name} one too large", _on_operand(index, one_larger)
    if len(operands) > 1 and not any(one.variadic for one in operands):
        yield "swapped operands", _swapped


def _on_results(change: Change) -> Wrap:
    def wrap(right: Call) -> Call:
        def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
            returned = right(self, *operands, **regions)
            if type(returned) is tuple:
                return tuple([changed(change, one) for one in returned])
            return changed(change, returned)

        return wrong

    return wrap


def _on_operand(index: int, change: Change) -> Wrap:
    def wrap(right: Call) -> Call:
        def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
            others = list(operands)
            if index < len(others):
                others[index] = changed(change, others[index])
            return right(self, *others, **regions)

        return wrong

    return wrap


def _swapped(right: Call) -> Call:
    def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
        first, second, *rest = operands
        same = getattr(first, "shape", 0) == getattr(second, "shape", 1) and first.dtype == second.dtype
        return right(self, *((second, first) if same else (first, second)), *rest, **regions)

    return wrong


def _with_region(name: str, change: Callable[[Call], Call]) -> Wrap:
    def wrap(right: Call) -> Call:
        def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
            if callable(regions.get(name)):
                regions[name] = change(regions[name])
            return right(self, *operands, **regions)

        return wrong

    return wrap


def _swapped_halves(body: Call) -> Call:
    def wrong(*arguments: Any) -> Any:
        half = len(arguments) // 2
        return body(*arguments[half:], *arguments[:half])

    return wrong


def _not(value: Any) -> Any:
    return not value if isinstance(value, bool) else value


def _shifted_padding(value: Any) -> Any:
    """Each window begins one earlier: padding at the end is moved to the beginning."""
    if not value:
        return value
    if isinstance(value[0], tuple):
        return tuple([(low + 1, high - 1) for low, high in value])
    return value


def _rotated(value: Any) -> Any:
    return (*value[1:], *value[:1]) if value else value


_ATTRIBUTE_FAULTS: dict[str, Callable[[Any], Any]] = {
    "the contrary of": _not,
    "shifted": _shifted_padding,
    "rotated": _rotated,
}
_MATTERING = {
    "the contrary of": ("is_reverse", "lower", "left_side", "unit_diagonal"),
    "shifted": ("padding",),
    "rotated": ("dimensions", "permutation", "start_indices", "window_reversal", "start_index_map"),
}
"""The attributes in which each fault changes results."""
