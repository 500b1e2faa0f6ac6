"""Conversions of operations of ``prims``, called without PyTorch."""

from __future__ import annotations

import numpy as np

from tests.program.frontend.torch.calling import converted


def test_gcd() -> None:
    x, y = (each.reshape(-1) for each in np.meshgrid([0, 1, -12, 18, 7, -128, 127], [0, -8, 27, -128, 5]))
    for type in (np.int8, np.int64):
        expected = np.gcd(x.astype(type), y.astype(type))
        (result,) = converted("prims.gcd.default", [x.astype(type), y.astype(type)], [expected])
        np.testing.assert_array_equal(result, expected)
