"""The values that lambdas see in place of arrays, which record the operations applied to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from ..types import DType
from . import functions, movement
from .failures import unsupported_error
from .tape import Value
from .torch_functions import apply_torch
from .ufuncs import FUNCTIONS, IMAGINARY_PART, REAL_PART, apply, apply_ufunc

_OPERAND_TYPES: Final = (int, float, complex, list, tuple)


def _binary(ufunc: np.ufunc) -> tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any]]:
    """An operator, and the same with its operands exchanged."""
    function = FUNCTIONS[ufunc]

    def operator(self: Any, other: object) -> Any:
        return apply(function, self, other) if _is_operand(other) else NotImplemented

    def exchanged(self: Any, other: object) -> Any:
        return apply(function, other, self) if _is_operand(other) else NotImplemented

    return operator, exchanged


def _unary(ufunc: np.ufunc) -> Callable[[Any], Any]:
    function = FUNCTIONS[ufunc]
    return lambda self: apply(function, self)


def _is_operand(other: object) -> bool:
    return isinstance(other, (Value, *_OPERAND_TYPES)) or hasattr(other, "dtype")


class Traced(Value):
    """A value of a program that is being traced.

    It supports Python's operators, NumPy's and torch's functions, and basic indexing. Code that needs its
    elements, such as ``if`` or ``float()``, raises an UnsupportedError.

    Attributes:
        shape: a tuple of sizes.
        dtype: the element type as a dtype of NumPy or ml_dtypes.
    """

    __slots__ = ()
    __array_priority__ = 1000

    __add__, __radd__ = _binary(np.add)
    __sub__, __rsub__ = _binary(np.subtract)
    __mul__, __rmul__ = _binary(np.multiply)
    __truediv__, __rtruediv__ = _binary(np.true_divide)
    __floordiv__, __rfloordiv__ = _binary(np.floor_divide)
    __mod__, __rmod__ = _binary(np.remainder)
    __pow__, __rpow__ = _binary(np.power)
    __and__, __rand__ = _binary(np.bitwise_and)
    __or__, __ror__ = _binary(np.bitwise_or)
    __xor__, __rxor__ = _binary(np.bitwise_xor)
    __lshift__, __rlshift__ = _binary(np.left_shift)
    __rshift__, __rrshift__ = _binary(np.right_shift)
    __eq__, _ = _binary(np.equal)
    __ne__, _ = _binary(np.not_equal)
    __lt__, _ = _binary(np.less)
    __le__, _ = _binary(np.less_equal)
    __gt__, _ = _binary(np.greater)
    __ge__, _ = _binary(np.greater_equal)
    del _
    __neg__ = _unary(np.negative)
    __pos__ = _unary(np.positive)
    __abs__ = _unary(np.absolute)
    __invert__ = _unary(np.invert)

    def __divmod__(self, other: object) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: object) -> Any:
        return other // self, other % self

    def __getitem__(self, key: object) -> Any:
        return movement.index(self, key)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: object, **settings: object) -> Any:
        return apply_ufunc(ufunc, method, inputs, settings)

    def __array_function__(
        self, function: object, types: Any, args: Sequence[object], settings: Mapping[str, object]
    ) -> Any:
        return functions.apply_numpy(function, args, settings)

    @classmethod
    def __torch_function__(
        cls,
        function: object,
        types: Any,
        args: Sequence[object] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        return apply_torch(function, args, kwargs or {})

    @property
    def dtype(self) -> DType:
        """NumPy's form of the element type."""
        return self.element_type.dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def T(self) -> Any:
        """With dimensions reversed."""
        return movement.transpose(self)

    @property
    def real(self) -> Any:
        """The real parts."""
        return apply(REAL_PART, self)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return apply(IMAGINARY_PART, self)

    def astype(self, dtype: Any) -> Any:
        """The elements converted to another element type."""
        return functions.astype(self, dtype)

    def to(self, dtype: Any) -> Any:
        """torch's name for `astype`."""
        return functions.astype(self, dtype, name="torch.to")

    def reshape(self, *shape: Any) -> Any:
        """The same elements in another shape, given as separate sizes or as one list."""
        return movement.reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *axes: Any) -> Any:
        """Dimensions in another order; without `axes` reversed."""
        return movement.transpose(self, axes[0] if len(axes) == 1 else axes or None)

    def _reduced(self, function: object, axis: Any, keepdims: bool) -> Any:
        return functions.NUMPY[function](self, axis, keepdims=keepdims)

    def sum(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.sum`."""
        return self._reduced(np.sum, axis, keepdims)

    def prod(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.prod`."""
        return self._reduced(np.prod, axis, keepdims)

    def min(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.min`."""
        return self._reduced(np.min, axis, keepdims)

    def max(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.max`."""
        return self._reduced(np.max, axis, keepdims)

    def mean(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.mean`."""
        return self._reduced(np.mean, axis, keepdims)

    def any(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.any`."""
        return self._reduced(np.any, axis, keepdims)

    def all(self, axis: Any = None, *, keepdims: bool = False) -> Any:
        """See `numpy.all`."""
        return self._reduced(np.all, axis, keepdims)

    def __len__(self) -> int:
        if not self.shape:
            raise unsupported_error("len", "a traced value of rank 0 has no length")
        return self.shape[0]

    def __repr__(self) -> str:
        return f"Traced({self.element_type}, shape={self.shape})"

    def _has_no_elements(self, *args: object, **settings: object) -> NoReturn:
        raise unsupported_error(
            "a traced value",
            "has no elements yet, which this needs: choose with sn_select, and compute with its operators",
        )

    __bool__ = __int__ = __float__ = __complex__ = __index__ = __array__ = _has_no_elements
    __iter__ = __contains__ = __setitem__ = item = tolist = _has_no_elements
