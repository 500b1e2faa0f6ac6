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


class _Code:
    """Stands for generated code; notes what is asked of it."""

    def __init__(self, kept: bool, possible: bool = True) -> None:
        self.kept = kept
        self.possible = possible
        self.made = 0

    def __call__(self) -> _Code:
        if not self.possible:
            raise ValueError("no code")
        return self

    def is_quick(self) -> bool:
        return self.kept

    def function(self) -> Any:
        self.made += 1
        return lambda value, out=None: ("native", value, out)


def _generated(code: _Code, expected: float, compiling: float, pause: float = 0.0) -> tiering.Generated:
    def reference(value: int) -> Any:
        time.sleep(pause)
        return ("reference", value, None)

    return tiering.Generated(reference, code, expected, compiling, ((0, 0),))


def test_a_call_that_takes_longer_than_compiling_waits_for_the_compiler() -> None:
    code = _Code(kept=False)
    step = _generated(code, expected=0.5, compiling=0.1)
    assert [step(value)[0] for value in range(3)] == ["native"] * 3
    assert code.made == 1


def test_code_is_generated_once_the_reference_has_cost_more() -> None:
    code = _Code(kept=False)
    step = _generated(code, expected=0.001, compiling=0.01, pause=0.006)
    ways = [step(value)[0] for value in range(8)]
    assert ways[:3] == ["reference"] * 3 and ways[5:] == ["native"] * 3
    assert code.made == 1


def test_kept_code_is_used_as_soon_as_loading_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "loading_seconds", lambda: 0.0)
    code = _Code(kept=True)
    assert _generated(code, expected=0.01, compiling=10.0)(0)[0] == "native"
    short = _generated(code, expected=1e-6, compiling=10.0, pause=0.0015)
    assert [short(value)[0] for value in range(4)] == ["reference", "reference", "native", "native"]


def test_the_compiler_is_not_loaded_for_a_look_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiering, "loading_seconds", lambda: 0.02)
    step = _generated(_Code(kept=True), expected=0.005, compiling=10.0, pause=0.006)
    ways = [step(value)[0] for value in range(6)]
    assert ways[:2] == ["reference"] * 2 and ways[4:] == ["native"] * 2


def test_where_there_can_be_no_code_the_reference_stays() -> None:
    step = _generated(_Code(kept=False, possible=False), expected=0.5, compiling=0.1)
    assert [step(value)[0] for value in range(3)] == ["reference"] * 3


def test_arrays_to_write_to_are_handed_on() -> None:
    step = _generated(_Code(kept=False), expected=0.5, compiling=0.1)
    assert step.accepts_out and step.may_overwrite == ((0, 0),)
    step(0)
    assert step(1, out=(None,)) == ("native", 1, (None,))


def test_steps_that_share_their_code_are_compiled_by_what_all_of_them_cost() -> None:
    class Code:
        key = "same"

        def is_quick(self) -> bool:
            return False

        def function(self) -> Any:
            return lambda *operands, out=None: "native"

    steps = [tiering.Generated(lambda: "reference", Code, 0.4, 1.0, ()) for _ in range(3)]
    assert steps[0]() == "reference"
    shared = [tiering.Generated(lambda: "reference", Code, 0.4, 1.0, ()) for _ in range(3)]
    tiering.share_heat([*shared, None])
    assert [step() for step in shared] == ["native"] * 3
    assert len({id(step.heat) for step in shared}) == 1
