"""Compares results of operators with PyTorch's, and with those in double precision where these differ."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import torch

TOLERANCES: Final = {
    torch.float64: (1e-9, 1e-9),
    torch.float32: (1e-4, 2e-5),
    torch.bfloat16: (2e-2, 2e-2),
    torch.float16: (2e-3, 2e-3),
    torch.complex64: (1e-4, 2e-5),
    torch.complex128: (1e-9, 1e-9),
}
"""Relative and absolute tolerance by the type of a result; integers and booleans must be equal."""

NEARER: Final = "nearer to the result in double precision"
"""What `difference` says of a result that is accepted though it is not within the tolerance of PyTorch's."""


def difference(
    actual: Any, expected: Any, exact: Callable[[], Any] = lambda: None, *, values: bool = True
) -> str | None:
    """How a result differs from PyTorch's; None where it does not.

    Args:
        actual: the result.
        expected: PyTorch's.
        exact: gives PyTorch's result in double precision, or None; called where the two differ.
        values: whether elements are compared, or types and shapes alone.

    Returns:
        `NEARER` if `is_as_near` accepts the result.
    """
    if not isinstance(expected, torch.Tensor):
        return None if actual == expected or not values else f"{actual} instead of {expected}"
    if (actual.dtype, actual.shape) != (expected.dtype, expected.shape):
        return f"{actual.dtype} {tuple(actual.shape)} instead of {expected.dtype} {tuple(expected.shape)}"
    if not values:
        return None
    relative, absolute = TOLERANCES.get(expected.dtype, (0, 0))
    expected = expected.resolve_conj()
    try:
        torch.testing.assert_close(actual, expected, rtol=relative, atol=absolute, equal_nan=True)
    except AssertionError as error:
        wide = exact()
        if wide is not None and is_as_near(actual, expected, wide, relative, absolute):
            return NEARER
        return " ".join(str(error).split())
    return None


def is_as_near(actual: Any, expected: Any, exact: Any, relative: float, absolute: float) -> bool:
    """Whether each element is within the tolerance of the exact one, or as near to it as PyTorch's is.

    Elements within the tolerance of PyTorch's need no exact one: infinities and NaN have none.
    """
    close = torch.isclose(actual, expected, rtol=relative, atol=absolute, equal_nan=True)
    allowed = torch.maximum(absolute + relative * exact.abs(), (expected.to(exact.dtype) - exact).abs())
    return bool((close | ((actual.to(exact.dtype) - exact).abs() <= allowed)).all())


def widened(tensors: Iterable[Any]) -> list[Any]:
    """Tensors in double precision; integers and booleans as they are."""
    wide = {True: torch.complex128, False: torch.float64}
    return [
        each.to(wide[each.is_complex()]) if each.is_complex() or each.is_floating_point() else each
        for each in tensors
    ]


def in_double_precision(
    run: Callable[[Sequence[Any]], Sequence[Any]], inputs: Sequence[Any]
) -> dict[int, Any]:
    """PyTorch's results in double precision by their number, without those that it has in other types alone.

    Args:
        run: a function of tensors.
        inputs: its arguments; where PyTorch does not take them in double precision, there are no results.
    """
    try:
        results = run(widened(inputs))
    except (RuntimeError, TypeError):
        return {}
    return {number: result for number, result in enumerate(results) if _is_wide(result)}


def _is_wide(result: Any) -> bool:
    return isinstance(result, torch.Tensor) and result.dtype in (torch.float64, torch.complex128)
