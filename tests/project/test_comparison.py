"""A result that could not show a wrong program is told from one that could."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tools.comparison import MIN_SPREAD, no_telling_result, weakness

RAMP = np.linspace(1, 2, 5, dtype=np.float32)


@pytest.mark.parametrize(
    ("result", "bound", "reason"),
    [
        (RAMP, 1e-3, None),
        (RAMP, 0.49 / MIN_SPREAD, None),
        (RAMP, 0.51 / MIN_SPREAD, "spreads by"),
        (0 * RAMP, 0.0, "is constant"),
        (0 * RAMP + 3, 1e-3, "is constant"),
        (np.float32(0), 0.0, "is zero"),
        (np.float32(2), 1e-3, None),
        (np.full(3, np.nan, np.float32), 0.0, "has no finite value"),
        (np.array([np.nan, 1, 2], np.float32), 1e-3, None),
        (np.array([1j, -1j], np.complex64), 1e-3, None),
        (np.zeros((0, 3), np.float32), 0.0, "has no elements"),
        (np.array([4, 4]), 0.0, "is constant"),
        (np.array([4, 5]), 0.0, None),
        (np.array(0), 0.0, None),
        (np.array([True, True]), 0.0, "is constant"),
    ],
)
def test_weakness(result: Any, bound: float, reason: str | None) -> None:
    found = weakness(np.asarray(result), bound)
    assert found is None if reason is None else reason in (found or "")


def test_one_telling_result_is_enough() -> None:
    assert no_telling_result([0 * RAMP, RAMP], 1e-3) is None
    assert "result 1 is zero" in (no_telling_result([0 * RAMP, np.zeros((), np.float32)], 1e-3) or "")
    assert "there are none" in (no_telling_result([], 0.0) or "")
