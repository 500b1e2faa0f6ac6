"""Steps whose generated code runs until Numba has compiled a kernel."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from nimblehlo.compiler import cost_model
from nimblehlo.compiler.implementation import Cost, Implementation, ImplementationKind, NoCode, Prepared
from nimblehlo.compiler.plan.implementations import kernel
from nimblehlo.compiler.plan.tiering import tiers
from nimblehlo.compiler.plan.tiering.background import BACKGROUND
from tests.compiler.plan.tiering.test_tiers import CLOCK, ONE


@pytest.fixture(autouse=True)
def _kernels_take_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """Time passes where steps say so. Another process compiles kernels, which calls would soon wait for."""
    monkeypatch.setattr(tiers, "perf_counter", CLOCK)
    monkeypatch.setattr(tiers, "compiler_load_seconds", lambda: 0.0)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    monkeypatch.setattr(tiers, "_compiles_beside", lambda: True)
    monkeypatch.setattr(tiers, "_has_compiled_code", lambda: False)
    monkeypatch.setattr(tiers, "_has_kernels_code", lambda: False)
    monkeypatch.setitem(cost_model.THRESHOLDS, "kernel", cost_model.Thresholds(0.0, 0.01))
    monkeypatch.setattr(kernel, "KERNEL_COMPILE_SECONDS", 1.0)
    monkeypatch.setattr(tiers, "MIN_AWAITED_GENERATED_SECONDS", 0.05)


class _Code(Implementation):
    """Stands for generated code, which is compiled at once."""

    kind = ImplementationKind.GENERATED
    takes_regions = False

    def __init__(self, step: _Step) -> None:
        self.step = step

    def cost(self) -> Cost:
        return Cost(compile_seconds=0.02)

    def is_compiled(self, quickly: bool = False) -> bool:
        return False

    def prepare(self) -> Any:
        if "code" not in self.step.seconds:
            raise NoCode("there is none")
        return lambda value: self.step.run("code")


class _Step:
    """A step with NumPy, generated code and a kernel, which take some time and say which of them ran."""

    def __init__(self, **seconds: float) -> None:
        self.seconds = seconds
        self.has_kernel = threading.Event()
        self.interim = tiers.Tiering(Prepared(lambda value, **_: self.run("numpy")), _Code(self))
        self.kernel = kernel.KernelImplementation(self.kernel_prepare, "a kernel")
        self.step = tiers.Tiering(self.interim, self.kernel)

    def run(self, name: str) -> str:
        CLOCK.sleep(self.seconds[name])
        return name

    def kernel_prepare(self) -> Any:
        # Not for ever, so that a test fails where a call waits for it.
        self.has_kernel.wait(10)
        return lambda value: self.run("kernel")

    def calls(self, count: int) -> list[str]:
        return [self.step.run(ONE) for _ in range(count)]


@pytest.fixture(autouse=True)
def _no_check_of_numba(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel, "_require_numba", lambda: None)


def test_generated_code_runs_until_there_is_the_kernel() -> None:
    step = _Step(numpy=0.1, code=0.03, kernel=0.001)
    calls = step.calls(20)
    was_native = step.step.native is not None
    step.has_kernel.set()
    assert calls == ["numpy", *["code"] * 19] and not was_native
    BACKGROUND.wait()
    assert step.calls(2) == ["kernel"] * 2 and step.step.native is not None


def test_a_call_waits_for_the_kernel_where_no_code_can_be_generated() -> None:
    step = _Step(numpy=0.1, kernel=0.001)
    step.has_kernel.set()
    assert step.calls(3)[-1] == "kernel" and step.interim.is_abandoned


def test_generated_code_stays_where_the_kernel_is_slower(monkeypatch: pytest.MonkeyPatch) -> None:
    """The step then calls the code itself."""
    monkeypatch.setattr(tiers, "PAUSE_CALLS", ())
    step = _Step(numpy=0.1, code=0.001, kernel=0.03)
    used: list[Any] = []
    step.step.on_native_code(used.append)
    step.calls(3)
    step.has_kernel.set()
    BACKGROUND.wait()
    calls = step.calls(2 * tiers.MAX_ATTEMPTS)
    assert calls == [*["kernel"] * tiers.MAX_ATTEMPTS, *["code"] * tiers.MAX_ATTEMPTS]
    assert used == [step.interim.native] and step.step.native is step.interim.native


def test_the_time_of_both_counts_once_for_the_program() -> None:
    step = _Step(numpy=0.1, code=0.03, kernel=0.001)
    assert tiers.tierings([step.step]) == [step.interim, step.step]
    tiers.share_profiles(tiers.tierings([step.step]))
    program = step.step.program
    assert program is not None and step.interim.program is program
    before = CLOCK.seconds
    step.interim.is_abandoned = True
    step.calls(1)
    step.has_kernel.set()
    assert program.seconds == pytest.approx(CLOCK.seconds - before)


def test_both_note_the_loops_around_them() -> None:
    step = _Step(numpy=0.1, code=0.03, kernel=0.001)
    loop = Prepared(lambda: None)
    step.step.set_enclosing(loop)
    assert step.step.enclosing == step.interim.enclosing == [loop]


def test_no_call_waits_for_a_kernel_in_place_of_generated_code() -> None:
    """As in a native loop that launches it."""
    step = _Step(numpy=0.1, code=0.03, kernel=0.001)
    generated = Prepared(lambda value: step.run("code"), ImplementationKind.GENERATED, takes_regions=False)
    step.step = tiers.Tiering(generated, step.kernel)
    calls = step.calls(20)
    step.has_kernel.set()
    assert calls == ["code"] * 20
    BACKGROUND.wait()
    assert step.calls(2) == ["kernel"] * 2


def test_a_call_waits_for_a_kernel_after_long_calls_of_generated_code() -> None:
    """Once these have taken `GENERATED_WAIT_SECONDS`."""
    step = _Step(numpy=0.1, code=0.06, kernel=0.001)
    before = step.calls(7)
    threading.Timer(0.1, step.has_kernel.set).start()
    assert before == ["numpy", *["code"] * 6] and step.calls(2) == ["code", "kernel"]


def test_a_call_goes_on_with_generated_code_where_the_kernel_is_overdue() -> None:
    step = _Step(numpy=0.1, code=0.06, kernel=0.001)
    step.step.is_overdue = True
    assert step.calls(20) == ["numpy", *["code"] * 19]
    step.has_kernel.set()
