"""Steps that become kernels once they are hot."""

from __future__ import annotations

import time
from typing import Any

import pytest

from nimblehlo.plan import tiering


def test_a_hot_step_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "HOT_SECONDS", 0.02)
    calls: list[str] = []

    def reference(value: int, **regions: Any) -> int:
        calls.append("reference")
        time.sleep(0.015)
        return value

    def prepare() -> Any:
        calls.append("prepare")

        def kernel(value: int) -> int:
            calls.append("kernel")
            return value

        return kernel

    step = tiering.Tiered(reference, prepare)
    assert [step(value, body=None) for value in range(4)] == [0, 1, 2, 3]
    assert calls == ["reference", "reference", "prepare", "kernel", "kernel"]


def test_a_cold_step_is_not_compiled() -> None:
    def prepare() -> Any:
        raise AssertionError("compiled")

    step = tiering.Tiered(lambda value: value, prepare)
    assert [step(value) for value in range(100)] == list(range(100))
