"""Faults in references, and a backend that runs references with one of them.

Which faults an operation may have follows from its declaration: `faults` lists them and runs no program.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from nimblehlo import Options
from nimblehlo.api import execute, load
from nimblehlo.checks.backends import Backend, BackendError
from nimblehlo.checks.conformance.suite import operations
from nimblehlo.checks.error_bounds.ulps import is_inexact
from nimblehlo.program.ir import Module
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.collectives.base import CommunicatingOp
from nimblehlo.program.ops.control.composite import Composite
from nimblehlo.program.ops.framework.accuracy import Rounding
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.traits import Memory
from nimblehlo.program.ops.shape.run_time_sizes import RunTimeShaped
from nimblehlo.types import COMPLEX, FLOAT, INTEGER, TENSOR

Array = np.ndarray[Any, Any]
Call = Callable[..., Any]
"""A reference: takes the view, operands and regions."""
Wrap = Callable[[Call], Call]

_TIMEOUT = 20.0
"""Seconds of a program: a fault may make a loop endless."""


class Fault(NamedTuple):
    """A fault in the reference of an operation.

    Attributes:
        operation: its name.
        kind: what is wrong.
        wrap: the wrong reference, from the right one.
    """

    operation: str
    kind: str
    wrap: Wrap


class FaultyReferences(Backend):
    """NimbleHLO's references, of which one has a fault."""

    def __init__(self, fault: Fault) -> None:
        self.name = f"{fault.operation} with {fault.kind}"
        self.calls = 0
        self._fault = Fault(fault.operation, fault.kind, lambda right: self._counted(fault.wrap(right)))

    def _counted(self, wrong: Call) -> Call:
        """The wrong reference, whose calls are counted: an operation may be replaced before it runs."""

        def counted(view: Op, *operands: Any, **regions: Any) -> Any:
            self.calls += 1
            return wrong(view, *operands, **regions)

        return counted

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        options = Options(reference=True, timeout=_TIMEOUT)
        with installed(self._fault):
            try:
                return [np.asarray(one) for one in execute(module, inputs, options=options)]
            except Exception as error:
                # A wrong result may have a shape with which the following operations fail.
                raise BackendError(f"{type(error).__name__}: {error}") from error

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        return self.run(load(text), inputs)


@contextmanager
def installed(fault: Fault) -> Iterator[None]:
    """Put a fault into a declaration, and take it out again."""
    declaration = lookup(fault.operation)
    assert declaration is not None
    right, is_own = declaration.reference, "reference" in vars(declaration)
    setattr(declaration, "reference", fault.wrap(right))  # noqa: B010
    try:
        yield
    finally:
        if is_own:
            setattr(declaration, "reference", right)  # noqa: B010
        else:
            del declaration.reference


def faults() -> Iterator[Fault]:
    """The faults of all operations of the suite whose references are called."""
    for declaration in filter(_has_called_reference, operations()):
        for kind, wrap in _faults_of(declaration):
            yield Fault(declaration.name, kind, wrap)


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
    yield from _RESULT_FAULTS.items()
    categories = 0
    for one in results:
        categories |= one.categories
    if categories & (FLOAT | COMPLEX):
        yield from _FLOAT_FAULTS.items()
        if _has_signed_zeros(declaration):
            yield "sign of zero lost", _on_results(_sign_of_zero_lost)
        if declaration.rounding in (Rounding.CORRECT, Rounding.CORRECT_IF_REAL):
            yield "the neighbour nearer to zero", _on_results(_neighbour)
        if declaration.rounding is not Rounding.LIBRARY or declaration.accuracy is not None:
            yield "lost digits", _on_results(_truncated)
    if categories & INTEGER:
        yield from _INTEGER_FAULTS.items()
    yield from _operand_faults(declaration)
    for attribute in declaration.declared_attributes:
        for kind, change in _ATTRIBUTE_FAULTS.items():
            if attribute.name in _MATTERING.get(kind, ()):
                yield f"{kind} {attribute.name}", _with_attribute(attribute.name, change)
    for one in declaration.declared_regions:
        yield f"swapped arguments of {one.name}", _with_region(one.name, _swapped_halves)


def _has_signed_zeros(declaration: type[Op]) -> bool:
    """Whether the specification says which sign results have that are zero (`suite.has_signed_zeros`)."""
    dialect, _, name = declaration.name.partition(".")
    specified = lookup(f"stablehlo.{name.removeprefix('broadcast_') if dialect == 'chlo' else name}")
    correct = (Rounding.EXACT, Rounding.CORRECT, Rounding.CORRECT_IF_REAL, Rounding.BODY)
    return specified is not None and specified.is_specified and specified.rounding in correct


def _operand_faults(declaration: type[Op]) -> Iterator[tuple[str, Wrap]]:
    operands = [one for one in declaration.declared_operands if one.categories & TENSOR]
    if not operands:
        return
    for index, operand in enumerate(operands):
        if operand.variadic:
            break
        yield f"{operand.name} without its last element", _on_operand(index, _last_repeated)
        if operand.categories & FLOAT:
            yield f"NaN of {operand.name} lost", _on_operand(index, _nan_lost)
            yield f"{operand.name} in fewer digits", _on_operand(index, _truncated)
        if operand.categories & INTEGER:
            yield f"{operand.name} one too large", _on_operand(index, _one_larger)
    if len(operands) > 1 and not any(one.variadic for one in operands):
        yield "swapped operands", _swapped


def _on_results(change: Callable[[Array], Array]) -> Wrap:
    def wrap(right: Call) -> Call:
        def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
            returned = right(self, *operands, **regions)
            if type(returned) is tuple:
                return tuple([_changed(change, one) for one in returned])
            return _changed(change, returned)

        return wrong

    return wrap


def _on_operand(index: int, change: Callable[[Array], Array]) -> Wrap:
    def wrap(right: Call) -> Call:
        def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
            changed = list(operands)
            if index < len(changed):
                changed[index] = _changed(change, changed[index])
            return right(self, *changed, **regions)

        return wrong

    return wrap


def _swapped(right: Call) -> Call:
    def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
        first, second, *rest = operands
        same = getattr(first, "shape", 0) == getattr(second, "shape", 1) and first.dtype == second.dtype
        return right(self, *((second, first) if same else (first, second)), *rest, **regions)

    return wrong


def _with_attribute(name: str, change: Callable[[Any], Any]) -> Wrap:
    def wrap(right: Call) -> Call:
        def wrong(self: Op, *operands: Any, **regions: Any) -> Any:
            view = copy.copy(self)
            view.__dict__[name] = change(self.__dict__[name])
            return right(view, *operands, **regions)

        return wrong

    return wrap


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


def _changed(change: Callable[[Array], Array], value: Any) -> Any:
    """A changed array; what is none, such as a token, stays."""
    if not isinstance(value, (np.ndarray, np.generic)) or not np.size(value):
        return value
    array = np.asarray(value)
    with np.errstate(all="ignore"):
        return np.asarray(change(array.copy())).astype(array.dtype, copy=False).reshape(array.shape)


def _first_negated(array: Array) -> Array:
    """One element is wrong."""
    flat = array.reshape(-1)
    flat[0] = ~flat[0] if array.dtype == np.bool_ else np.ones((), array.dtype) - flat[0]
    return array


def _last_repeated(array: Array) -> Array:
    flat = array.reshape(-1)
    if flat.size > 1:
        flat[-1] = flat[-2]
    return array


def _first_row_lost(array: Array) -> Array:
    if array.ndim:
        array[0] = np.zeros((), array.dtype)
    return array


def _rolled(array: Array) -> Array:
    return np.roll(array, 1, -1) if array.ndim else array


def _reversed(array: Array) -> Array:
    return array[::-1] if array.ndim else array


def _nan_lost(array: Array) -> Array:
    return np.where(array != array, np.zeros((), array.dtype), array)


def _infinity_lost(array: Array) -> Array:
    """Infinities become the largest number."""
    if array.dtype.kind == "c" or not is_inexact(array.dtype):
        return array
    largest = np.array(ml_dtypes.finfo(array.dtype).max).astype(array.dtype)
    wide = array.astype(np.float64)
    return np.where(np.isinf(wide), np.where(wide > 0, largest, -largest), array)


def _sign_lost(array: Array) -> Array:
    return np.abs(array) if is_inexact(array.dtype) and array.dtype.kind != "c" else array


def _sign_of_zero_lost(array: Array) -> Array:
    return np.where(array == 0, np.zeros((), array.dtype), array)


def _neighbour(array: Array) -> Array:
    """The number that wrong rounding gives: the next one nearer to zero."""
    if not is_inexact(array.dtype) or array.dtype.kind == "c":
        return array
    bits = array.view(f"u{array.dtype.itemsize}")
    wide = array.astype(np.float64)
    return np.where(np.isfinite(wide) & (wide != 0), bits - 1, bits).astype(bits.dtype).view(array.dtype)


def _truncated(array: Array) -> Array:
    """Half of the digits are lost."""
    if not is_inexact(array.dtype):
        return array
    if array.dtype.kind == "c":
        components = np.stack([_truncated(array.real.copy()), _truncated(array.imag.copy())])
        return (components[0] + 1j * components[1]).astype(array.dtype)
    digits = max(int(ml_dtypes.finfo(array.dtype).nmant) // 2, 1)
    mantissa, exponent = np.frexp(array.astype(np.float64))
    return np.ldexp(np.trunc(np.ldexp(mantissa, digits)), exponent - digits).astype(array.dtype)


def _one_larger(array: Array) -> Array:
    return array + np.ones((), array.dtype) if array.dtype.kind in "iu" else array


def _saturated(array: Array) -> Array:
    """The extreme integers are missing."""
    if array.dtype.kind not in "iu":
        return array
    limits = np.iinfo(array.dtype)
    return np.clip(array, limits.min + 1 if limits.min else 0, limits.max - 1)


_RESULT_FAULTS = {
    "one wrong element": _on_results(_first_negated),
    "the last element repeated": _on_results(_last_repeated),
    "the first row lost": _on_results(_first_row_lost),
    "elements shifted by one": _on_results(_rolled),
    "rows reversed": _on_results(_reversed),
}
_FLOAT_FAULTS = {
    "NaN lost": _on_results(_nan_lost),
    "infinity clamped": _on_results(_infinity_lost),
    "sign lost": _on_results(_sign_lost),
}
_INTEGER_FAULTS = {
    "off by one": _on_results(_one_larger),
    "extreme integers clamped": _on_results(_saturated),
}


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
