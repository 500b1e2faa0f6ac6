"""torch's functions of traced values, by their names, so that torch need not be there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from . import movement
from .failures import unsupported_error
from .functions import NUMPY, astype, call_implementation, full_like, where
from .ufuncs import FUNCTIONS, RELU, RSQRT, SPECIAL, Function, apply

_ALIASES: Final = {
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.true_divide,
    "true_divide": np.true_divide,
    "truediv": np.true_divide,
    "floordiv": np.floor_divide,
    "mod": np.remainder,
    "pow": np.power,
    "neg": np.negative,
    "pos": np.positive,
    "abs": np.absolute,
    "conj": np.conjugate,
    "fix": np.trunc,
    "round": np.rint,
    "and": np.bitwise_and,
    "or": np.bitwise_or,
    "xor": np.bitwise_xor,
    "bitwise_not": np.invert,
    "bitwise_left_shift": np.left_shift,
    "lshift": np.left_shift,
    "bitwise_right_shift": np.right_shift,
    "rshift": np.right_shift,
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "atan2": np.arctan2,
}
"""Functions that NumPy has under another name."""
_ELEMENTWISE: Final[dict[str, Function]] = {
    **{ufunc.__name__: function for ufunc, function in FUNCTIONS.items()},
    **{name: FUNCTIONS[ufunc] for name, ufunc in _ALIASES.items()},
    "sigmoid": SPECIAL["expit"],
    "expit": SPECIAL["expit"],
    "erf": SPECIAL["erf"],
    "erfc": SPECIAL["erfc"],
    "erfinv": SPECIAL["erfinv"],
    "lgamma": SPECIAL["gammaln"],
    "digamma": SPECIAL["psi"],
    "rsqrt": RSQRT,
    "relu": RELU,
}


def _of(function: object) -> Callable[..., Any]:
    """A function of NumPy under torch's names for its arguments."""
    implementation = NUMPY[function]

    def renamed(input: object, dim: object = None, keepdim: bool = False) -> Any:
        return implementation(input, dim, keepdims=keepdim)

    return renamed


def _clamp(input: object, min: Any = None, max: Any = None) -> Any:
    return NUMPY[np.clip](input, min, max)


def _to(input: object, dtype: Any) -> Any:
    return astype(input, dtype, name="torch.to")


_OTHER: Final[dict[str, Callable[..., Any]]] = {
    "where": lambda condition, input, other: where(condition, input, other, name="torch.where"),
    "clamp": _clamp,
    "clip": _clamp,
    "to": _to,
    "type": _to,
    "sum": _of(np.sum),
    "prod": _of(np.prod),
    "amax": _of(np.amax),
    "amin": _of(np.amin),
    "any": _of(np.any),
    "all": _of(np.all),
    "mean": _of(np.mean),
    "full_like": full_like,
    "zeros_like": lambda input, dtype=None: full_like(input, 0, dtype),
    "ones_like": lambda input, dtype=None: full_like(input, 1, dtype),
    "reshape": lambda input, shape: movement.reshape(input, shape, "torch.reshape"),
    "permute": lambda input, dims: movement.transpose(input, dims, "torch.permute"),
    "transpose": lambda input, dim0, dim1: movement.swapaxes(input, dim0, dim1),
    "broadcast_to": lambda input, size: movement.broadcast_to(input, size),
    "unsqueeze": lambda input, dim: movement.expand_dims(input, dim),
    "squeeze": lambda input, dim=None: movement.squeeze(input, dim),
    "cat": lambda tensors, dim=0: movement.concatenate(tensors, dim, "torch.cat"),
    "concat": lambda tensors, dim=0: movement.concatenate(tensors, dim, "torch.concat"),
    "stack": lambda tensors, dim=0: movement.stack(tensors, dim),
    "roll": lambda input, shifts, dims: movement.roll(input, shifts, dims),
}

NAMES: Final = (*_ELEMENTWISE, *_OTHER)
"""torch's names for what traced values take."""


def apply_torch(function: object, args: Sequence[object], settings: Mapping[str, object]) -> Any:
    """Apply a torch function to traced values, for ``__torch_function__``.

    Common element types are NumPy's.

    Raises:
        UnsupportedError: the function, or these arguments of it, are not supported.
    """
    name = str(getattr(function, "__name__", function))
    label = f"torch.{name}"
    key = name[2:-2] if name.startswith("__") and name.endswith("__") else name
    set_arguments = {key: value for key, value in settings.items() if value is not None}
    if key in _ELEMENTWISE:
        return call_implementation(
            lambda *operands: apply(_ELEMENTWISE[key], *operands),
            [*args, *_others(set_arguments)],
            set_arguments,
            label,
        )
    if key in _OTHER:
        return call_implementation(_OTHER[key], args, set_arguments, label)
    if key[:1] == "r" and key[1:] in _ELEMENTWISE and len(args) == 2:
        return apply(_ELEMENTWISE[key[1:]], args[1], args[0])
    raise unsupported_error(label, "is not supported for traced values")


def _others(settings: dict[str, Any]) -> list[Any]:
    """Operands that were passed under torch's names for them."""
    return [settings.pop(name) for name in ("input", "self", "other", "exponent") if name in settings]
