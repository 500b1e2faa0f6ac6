"""Operations with regions as native loops around the regions' native functions.

`RegionCode` is what all of them share; `region_kernels` has a class for each operation.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...ir import Value, captured_values
from ...ops.framework.verify import views_under
from ...ops.reduction.bodies import is_elementwise
from ...types import TensorType
from ..tiering.cost_model import Estimate, compiler_load_seconds, seconds_of_operations
from ..tiering.tiers import Generated, NoCode
from .reduction_fusion import LoweredKernel

if TYPE_CHECKING:
    from ...kernels.launch.threads import Division

BYTES_PER_SECOND = 1e10
"""What computing is worth in bytes moved, where work is divided."""
_CALL = 1e-5
"""Seconds that one call of a region takes by its plan."""
_PASS = 2e-6
"""Seconds that a pass of a reference costs beside its elements, for each operation of the region."""
MAX_SMALL_ELEMENTS = 1 << 15
"""Elements of an operand that native loops read in less time than it takes to call a hand-written kernel."""
_SMALL_SECONDS = 1e-4
"""Seconds that the reference takes for up to _SMALL_CALLS applications of a region, and for as many more."""
_SMALL_CALLS = 1 << 13
_COMPILING, _COMPILING_INSTRUCTION = 0.035, 0.0015
"""Seconds to compile loops around a region; more for each of its operations."""
_NATIVE_SHARE = 0.15
"""Native code's share of NumPy's time, on one thread."""


class RegionCode:
    """The native code of an operation with regions: what it takes to make it, and the function.

    Args:
        view: the operation.
        threads: most threads that it may use; None: all.
    """

    may_overwrite: tuple[tuple[int, int], ...] = ()
    most_small_calls = 1 << 16
    """How often native loops apply regions in less time than it takes to call a hand-written kernel."""
    applies_per_element = False
    """Whether the reference applies even elementwise regions to one element after the other."""

    def __init__(self, view: Any, threads: int | None) -> None:
        self.view = view
        self.threads = threads

    def problem(self) -> str | None:
        """Why there are no native loops, as far as that is found without loading what generates them."""
        raise NotImplementedError

    def loop_problem(self) -> str | None:
        """Why there are none otherwise; None where there are."""
        from ...codegen.regions.region_function import region_problem

        for region in self.view.operation.regions:
            reason = region_problem(region, views_under(self.view.ordering))
            if reason is not None:
                return reason
        return None

    def checked(self) -> RegionCode:
        """This code.

        Raises:
            NoCode: there can be none.
        """
        reason = self.loop_problem()
        if reason is not None:
            raise NoCode(reason)
        return self

    def lower(self) -> LoweredKernel:
        """The code before it is compiled."""
        raise NotImplementedError

    def operations_on_elements(self) -> float:
        """How many times the reference applies the regions to an element, about."""
        raise NotImplementedError

    def passes(self) -> float:
        """In how many passes over arrays it does so."""
        raise NotImplementedError

    def gather_seconds(self) -> float:
        """How long the reference takes to bring elements together, beside applying the regions."""
        return 0.0

    def native_calls(self) -> float:
        """How many times native code applies the regions."""
        raise NotImplementedError

    @property
    def operands(self) -> list[TensorType]:
        """The types of what the native code takes, values from outside apart."""
        return [value.type for value in self.view.operation.operands]

    @property
    def results(self) -> list[TensorType]:
        """The types of what it gives."""
        return [value.type for value in self.view.operation.results]

    @property
    def is_small(self) -> bool:
        """Whether a hand-written kernel, made for many elements, would spend its time on being called."""
        operation = self.view.operation
        sizes = [tensor(value.type).size for value in (*operation.operands, *operation.results)]
        return max(sizes) <= MAX_SMALL_ELEMENTS and self.native_calls() <= self.most_small_calls

    def wrap_native(self, native: Callable[..., Any]) -> Callable[..., Any]:
        """A function of the operation's operands and values from outside, by one of the code's."""
        return native

    def reference(self, reference: Callable[..., Any]) -> Callable[..., Any]:
        """The reference, called as the native code is: with values from outside behind the operands."""
        if not self.captured or not self.captured_operands:
            return reference
        count = len(self.view.operation.operands)
        return lambda *operands, **regions: reference(*operands[:count], **regions)

    def step(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """What a plan's step calls, by a function that takes values from outside behind the operands."""
        if not self.captured or not self.captured_operands:
            return function
        return WithCapturedOperands(
            function, [self.captured.index(value) for value in self.captured_operands]
        )

    @functools.cached_property
    def captured_operands(self) -> list[Value]:
        """The values from outside that regions are handed: operands that follow the operation's own."""
        from ...codegen.regions.region_function import passed_values

        return passed_values(self.view.operation.regions)

    @functools.cached_property
    def lowered(self) -> LoweredKernel:
        """What `lower` made, once."""
        return self.lower()

    @functools.cached_property
    def key(self) -> str:
        """Of the code: operations of equal keys share it."""
        from ...codegen.description import (
            attributes_description,
            constants_description,
            operation_description,
        )
        from ...codegen.llvm.machine import key_of

        operation = self.view.operation
        return key_of(
            f"{type(self).__name__} by {self.lowered.size}\n"
            f"{attributes_description(operation)}\n"
            f"{operation_description(operation, self.captured)}\n"
            f"{constants_description(self.captured)}"
        )

    @property
    def captured(self) -> list[Value]:
        """All values that regions use from outside."""
        return captured_values(self.view.operation.regions)

    def is_quick(self) -> bool:
        """Whether it does not have to be compiled."""
        from ...codegen.llvm.machine import is_quick

        return is_quick(self.key)

    def function(self) -> Callable[..., Any]:
        """A function from operands and values from outside to the result or results."""
        from ...kernels.launch.native import Launch, NativeFunction

        lowered = self.lowered
        types = [*self.operands, *(tensor(value.type) for value in self.captured_operands)]
        results = [(type.shape, type.dtype) for type in self.results]
        accesses = tuple([(number, 0) for number in range(len(types) + len(results) + len(lowered.scratch))])
        launches = [
            Launch(
                self.address(name), tasks, accesses, (), seconds
            ) for name, tasks, seconds in lowered.launches
        ]
        sizes = [type.size * type.dtype.itemsize for type in types]
        function = NativeFunction(sizes, results, launches, self.threads, scratch=lowered.scratch)
        return self.wrap_native(function)

    def address(self, name: str) -> int:
        """Where one of its functions is, compiled by now."""
        from ...codegen.llvm.machine import function_address

        return function_address(self.key, name, lambda: str(self.lowered.module()))

    def estimate(self) -> Estimate:
        """How long the reference and the compilation take, about."""
        regions = self.view.operation.regions
        seconds = sum(seconds_of_operations(region.block) for region in regions)
        work = self.operations_on_elements()
        if not self.applies_per_element and all(map(is_elementwise, regions)):
            count = sum(len(region.block.operations) for region in regions)
            reference = work * seconds + self.gather_seconds() + self.passes() * count * _PASS
            if self.is_small:
                reference = min(reference, _SMALL_SECONDS * max(1.0, self.native_calls() / _SMALL_CALLS))
        else:
            reference = work * _CALL
        compiling = _COMPILING + _COMPILING_INSTRUCTION * self.instructions() + compiler_load_seconds()
        return Estimate(reference, seconds * _NATIVE_SHARE, compiling)

    def division(self, items: int, seconds: float) -> Division:
        """How many tasks do so many parts, which take so long on one thread, and how many each."""
        from ...kernels.launch.threads import division

        return division(items, seconds / items * BYTES_PER_SECOND)

    def instructions(self) -> int:
        """About how many the regions have."""
        return sum(len(region.block.operations) for region in self.view.operation.regions)

    def seconds(self) -> float:
        """About how long one thread takes."""
        bytes_moved = sum(type.size * type.dtype.itemsize for type in (*self.operands, *self.results))
        return max(
            self.native_calls() * self.estimate().native_seconds_per_element, bytes_moved / BYTES_PER_SECOND
        )


class WithCapturedOperands:
    """A step whose function takes, behind the operands, what the regions use from outside.

    Args:
        function: takes these values and, by name, the regions.
        positions: which of the captured values they are.
    """

    def __init__(self, function: Callable[..., Any], positions: Sequence[int]) -> None:
        self.function = function
        self.positions = tuple(positions)
        self.accepts_out = getattr(function, "accepts_out", False)
        self.may_overwrite = getattr(function, "may_overwrite", ())

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        captured = next(iter(regions.values())).captures
        values = [captured[k] for k in self.positions]
        if isinstance(self.function, Generated):
            return self.function(*operands, *values, out=out, **regions)
        keywords = {} if out is None else {"out": out}
        return self.function(*operands, *values, **keywords)


def tensor(type: Any) -> TensorType:
    """A type that is one of tensors."""
    assert isinstance(type, TensorType)
    return type


def reduce_problem(analysis: Any, accumulate: str, results: Sequence[TensorType]) -> str | None:
    """Why a body is not folded in its own types, or None where it is."""
    monoid = analysis.monoid_reducer(accumulate)
    if monoid is not None and list(monoid.dtypes) != [result.dtype for result in results]:
        return "its body accumulates in a wider type"
    return None


def converters(types: Sequence[TensorType], targets: Sequence[Any]) -> Callable[..., list[Any]]:
    """What converts arrays of some types to a region's own element types."""
    from ...ops.numerics.element_types import converter

    functions = [
        None if type.element_type == target else converter(type.element_type, target)  # type: ignore[arg-type]
        for type, target in zip(types, targets, strict=True)
    ]
    return lambda arrays: [
        array if function is None else np.asarray(function(array))  # scalars come out of 0-dimensional ones
        for function, array in zip(functions, arrays, strict=True)
    ]


def of_types(given: Sequence[TensorType], results: Sequence[TensorType]) -> list[TensorType]:
    """The given types with the results' element types, in turn."""
    return [type.with_element_type(results[k % len(results)].element_type) for k, type in enumerate(given)]


def with_converted(
    native: Callable[..., Any], types: Sequence[TensorType], targets: Sequence[TensorType]
) -> Callable[..., Any]:
    """A function whose first operands are converted to other element types."""
    if list(types) == list(targets):
        return native
    count = len(types)
    convert = converters(types, [target.element_type for target in targets])
    return lambda *operands: native(*convert(operands[:count]), *operands[count:])
