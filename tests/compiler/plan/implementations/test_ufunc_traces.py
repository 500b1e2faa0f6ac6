"""Functions on arrays as loops over elements."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nimblehlo.compiler.plan.implementations.ufunc_traces import Traced, Untraceable, trace

F32, F64, I32, BOOL = (np.dtype(name) for name in ("f4", "f8", "i4", "?"))


class _Recorder:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.constants: list[Any] = []
        self.results: list[np.dtype[Any]] = []

    def constant(self, value: Any) -> int:
        self.constants.append(value)
        return -len(self.constants)

    def apply(self, loop: tuple[int, int], operands: tuple[int, ...], result: np.dtype[Any]) -> int:
        assert all(isinstance(one, int) for one in (*loop, *operands))
        self.results.append(result)
        return len(self.results)


def _trace(function: Any, *dtypes: np.dtype[Any]) -> tuple[Traced, _Recorder]:
    recorder = _Recorder()
    operands = tuple([Traced(recorder, 100 + place, dtype) for place, dtype in enumerate(dtypes)])
    return trace(function, operands), recorder


def test_a_ufunc_is_one_loop() -> None:
    result, recorder = _trace(np.add, F32, F32)
    assert result.dtype == F32 and recorder.results == [F32]


def test_operands_are_converted_to_the_loop_s_types() -> None:
    result, recorder = _trace(lambda x: 1 / np.sqrt(x.astype(F64)), F32)
    assert result.dtype == F64 and recorder.results == [F64, F64, F64] and recorder.constants == [1.0]


def test_a_ufunc_may_be_told_its_type() -> None:
    def function(x: Any) -> Any:
        return np.exp(x, np.empty(x.shape, F32), dtype=F64, casting="unsafe")

    result, recorder = _trace(function, F32)
    assert result.dtype == F32 and recorder.results == [F64, F64, F32]


def test_bits_are_viewed_without_a_loop() -> None:
    result, recorder = _trace(lambda x: x.view(I32) & I32.type(7), F32)
    assert result.dtype == I32 and recorder.results == [I32]


def test_a_choice_is_one_loop() -> None:
    result, recorder = _trace(np.where, BOOL, F32, F32)
    assert result.dtype == F32 and recorder.results == [F32]


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x if x.view(I32) else -x,
        lambda x: np.asarray(x),
        lambda x: list(x),
        lambda x: x[0],
        lambda x: np.add.reduce(x),
        lambda x: np.concatenate([x, x]),
        lambda x: np.add(x, np.ones(3, F32)),
        lambda x: x.astype(np.float16),
        lambda x: x.view(F64),
        lambda x: np.frexp(x),
        lambda x: np.where(x > 0, x, x.astype(F64)),
        lambda x: 1.0,
        lambda x: np.bitwise_and(x, x),
    ],
)
def test_other_functions_cannot_be_traced(function: Any) -> None:
    with pytest.raises(Untraceable):
        _trace(function, F32)
