"""Traces a NumPy function as a list of ufunc loops, by calling it on stand-ins for arrays.

This works for functions of ufuncs, `numpy.where`, `astype` and `view` that do not branch on values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from ....errors import raised_by_signal_handler
from ....types import DType


class Untraceable(Exception):
    """A function does something other than loops over elements."""


class Recorder(Protocol):
    """Records the loops of a function; values have numbers."""

    def constant(self, value: object) -> int:
        """The number of a scalar of NumPy."""

    def apply(self, loop: tuple[int, int], operands: tuple[int, ...], result: DType) -> int:
        """The number of the result of a loop, which its address and that of its data identify."""


class Traced(NDArrayOperatorsMixin):
    """Stands in for an array.

    Attributes:
        recorder: records the loop that computes it.
        number: its number in the recorder.
        dtype: its NumPy type.
    """

    shape: tuple[int, ...] = ()
    ndim = 0
    size = 1

    def __init__(self, recorder: Recorder, number: int, dtype: DType) -> None:
        self.recorder = recorder
        self.number = number
        self.dtype = dtype

    def __bool__(self) -> bool:
        raise Untraceable("depends on values")

    __iter__ = __len__ = __array__ = __bool__

    def view(self, dtype: Any) -> Traced:
        """Reinterpret the bits as elements of another type."""
        target = np.dtype(dtype)
        if target.itemsize != self.dtype.itemsize:
            raise Untraceable("views elements of another size")
        return Traced(self.recorder, self.number, target)

    def astype(self, dtype: Any, **_: object) -> Traced:
        """The elements converted."""
        from ....kernels.launch.ufunc_program import cast_loop_of

        target = np.dtype(dtype)
        if target == self.dtype:
            return self
        address = cast_loop_of(self.dtype, target)
        if address is None:
            raise Untraceable(f"converts {self.dtype} to {target}")
        return Traced(self.recorder, self.recorder.apply((address, 0), (self.number,), target), target)

    def __array_ufunc__(self, function: np.ufunc, method: str, *inputs: object, **kwargs: Any) -> Any:
        target: Any = kwargs.pop("out", (None,))[0]
        kwargs.pop("casting", None)
        computed_dtype = kwargs.pop("dtype", None)
        if method != "__call__" or kwargs or function.nout != 1:
            raise Untraceable(f"calls {function.__name__}.{method}")
        result = _trace_ufunc(self.recorder, function, inputs, computed_dtype)
        return result if target is None else result.astype(target.dtype)

    def __array_function__(
        self, function: Callable[..., object], types: Any, inputs: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Traced:
        if function is not np.where or kwargs or len(inputs) != 3:
            raise Untraceable(f"calls {function.__name__}")
        return _trace_where(self.recorder, *inputs)


def _trace_ufunc(
    recorder: Recorder, function: np.ufunc, inputs: tuple[Any, ...], computed_dtype: Any
) -> Traced:
    """A ufunc by its loop; `computed_dtype` is the type that its argument `dtype` requests, or None."""
    from ....kernels.launch.ufunc_loops import loop_of

    input_types: list[Any] = [
        type(operand) if type(operand) in (int, float) else operand.dtype for operand in inputs
    ]
    kwargs: dict[str, Any] = (
        {} if computed_dtype is None else {"signature": (None,) * function.nin + (np.dtype(computed_dtype),)}
    )
    dtypes = function.resolve_dtypes((*input_types, None), casting="unsafe", **kwargs)
    loop, (*input_types, result) = loop_of(function, dtypes), dtypes
    if loop is None:
        raise Untraceable(f"{function.__name__} has no loop for {dtypes}")
    operands = [
        _as_traced(recorder, operand, dtype).number
        for operand, dtype in zip(inputs, input_types, strict=True)
    ]
    return Traced(recorder, recorder.apply(loop, tuple(operands), result), result)


def _trace_where(recorder: Recorder, condition: Any, on_true: Any, on_false: Any) -> Traced:
    """`numpy.where`."""
    from ....kernels.launch.ufunc_program import select_loop_of

    dtypes = {operand.dtype for operand in (on_true, on_false) if not isinstance(operand, (int, float))}
    if len(dtypes) != 1 or isinstance(condition, (int, float)) or condition.dtype != np.bool_:
        raise Untraceable("chooses between different types")
    (dtype,) = dtypes
    address = select_loop_of(dtype)
    if address is None:
        raise Untraceable(f"chooses between {dtype}")
    operands = [_as_traced(recorder, operand, dtype).number for operand in (on_true, on_false)]
    condition = _as_traced(recorder, condition, np.dtype(np.bool_))
    return Traced(recorder, recorder.apply((address, 0), (condition.number, *operands), dtype), dtype)


def _as_traced(recorder: Recorder, value: Any, dtype: DType) -> Traced:
    """An operand as elements of that type."""
    if isinstance(value, Traced):
        return value.astype(dtype)
    if np.ndim(value):
        raise Untraceable("has an array of its own")
    return Traced(recorder, recorder.constant(dtype.type(value)), dtype)


def trace(function: Callable[..., object], operands: tuple[Traced, ...]) -> Traced:
    """Record the loops of a function of these operands.

    Raises:
        Untraceable: it does something other than loops over elements.
    """
    try:
        result = function(*operands)
    except Untraceable:
        raise
    except Exception as error:
        if raised_by_signal_handler(error):
            raise
        # The function may only fail on stand-ins. The baseline then runs on arrays, and raises real errors.
        raise Untraceable(str(error)) from error
    if not isinstance(result, Traced):
        raise Untraceable("has no such result")
    return result
