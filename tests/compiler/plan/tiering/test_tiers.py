"""Steps that become kernels once they are hot."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import numpy as np
import pytest

from nimblehlo.compiler import cost_model
from nimblehlo.compiler.implementation import (
    Cost,
    Implementation,
    ImplementationKind,
    NoCode,
    OverwritePairs,
    Prepared,
)
from nimblehlo.compiler.plan.implementations import kernel
from nimblehlo.compiler.plan.tiering import tiers
from nimblehlo.compiler.plan.tiering.background import BACKGROUND, Job
from nimblehlo.kernels.launch.compilation import NotCompiled

ONE = np.ones(())


class _Clock:
    """Time as steps see it: it passes where they are said to take some, whatever else the machine does."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def sleep(self, seconds: float) -> None:
        """Let so much time pass, a little at least."""
        self.seconds += max(seconds, 1e-6)


CLOCK = _Clock()


@pytest.fixture(autouse=True)
def _time_is_the_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "perf_counter", CLOCK)
    monkeypatch.setattr(tiers, "compiler_load_seconds", lambda: 0.0)


def _set_thresholds(
    monkeypatch: pytest.MonkeyPatch, threshold_class: str, early: float, patience: float = 0.3
) -> None:
    """Set when native code is made; a kernel is expected to take a second."""
    monkeypatch.setitem(cost_model.THRESHOLDS, threshold_class, cost_model.Thresholds(early, patience))
    monkeypatch.setattr(kernel, "KERNEL_COMPILE_SECONDS", 1.0)


def _tiered(baseline: Any, prepare: Any) -> tiers.Tiering:
    return tiers.Tiering(Prepared(baseline), kernel.KernelImplementation(prepare, "a kernel"))


class _Step:
    """A baseline and a kernel that take some time and say which of them ran."""

    def __init__(self, baseline_seconds: float, kernel_seconds: float) -> None:
        self.seconds = {"baseline": baseline_seconds, "kernel": kernel_seconds}
        self.calls: list[str] = []
        self.step = _tiered(lambda value, **_: self.run("baseline"), self.prepare)

    def run(self, way: str) -> str:
        self.calls.append(way)
        CLOCK.sleep(self.seconds[way])
        return way

    def prepare(self) -> Any:
        self.calls.append("prepare")
        return lambda value: self.run("kernel")


def test_a_call_waits_for_the_kernel_of_a_hot_step(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=0.0, patience=0.02)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: False)
    monkeypatch.setattr(tiers, "_compiles_beside", lambda: False)
    step = _Step(0.03, 0.001)
    chosen = [step.step.run(ONE, body=None) for _ in range(10)]
    assert chosen[:2] == ["baseline", "kernel"] and chosen[-1] == "kernel"
    assert step.calls.count("prepare") == 1 and step.step.native is not None


def _compile_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have kernels compiled by another process, from which there is no code yet."""
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    monkeypatch.setattr(tiers, "_compiles_beside", lambda: True)
    monkeypatch.setattr(tiers, "_has_kernels_code", lambda: False)


def test_no_short_call_waits_for_a_kernel_that_another_process_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _set_thresholds(monkeypatch, "kernel", early=0.0, patience=0.02)
    monkeypatch.setattr(tiers, "MIN_AWAITED_KERNEL_SECONDS", 60.0)
    _compile_beside(monkeypatch)
    step, answer = _Step(0.03, 0.001), threading.Event()
    monkeypatch.setattr(step.step.code, "prepare", lambda: answer.wait(60) and step.prepare())
    chosen = [step.step.run(ONE) for _ in range(10)]
    job = step.step.job
    has_own_thread = job is not None and job.runs_beside and job not in BACKGROUND.waiting
    answer.set()
    assert chosen == ["baseline"] * 10 and has_own_thread
    BACKGROUND.wait()
    assert step.step.run(ONE) == "kernel" and step.step.native is not None


def test_a_long_call_waits_for_a_kernel_that_another_process_compiles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _set_thresholds(monkeypatch, "kernel", early=0.0, patience=0.05)
    _compile_beside(monkeypatch)
    step, answer = _Step(0.03, 0.001), threading.Event()
    assert cost_model.MIN_AWAITED_KERNEL_SECONDS < 0.03
    monkeypatch.setattr(step.step.code, "prepare", lambda: answer.wait(60) and step.prepare())
    chosen = [step.step.run(ONE) for _ in range(2)]
    assert step.step.job is not None and step.step.job.runs_beside
    threading.Timer(0.05, answer.set).start()
    assert [*chosen, step.step.run(ONE)] == ["baseline", "baseline", "kernel"]


def test_a_long_call_goes_on_without_a_kernel_that_takes_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As on a busy machine, whose processors the other process gets last."""
    _set_thresholds(monkeypatch, "kernel", early=0.0, patience=1.0)
    monkeypatch.setattr(kernel, "KERNEL_COMPILE_SECONDS", 0.05)
    monkeypatch.setattr(tiers, "MAX_KERNEL_WAIT_SECONDS", 0.05)
    _compile_beside(monkeypatch)
    step, answer = _Step(0.03, 0.001), threading.Event()
    monkeypatch.setattr(step.step.code, "prepare", lambda: answer.wait(60) and step.prepare())
    chosen = [step.step.run(ONE) for _ in range(10)]
    has_ended, is_overdue = answer.is_set(), step.step.is_overdue
    answer.set()
    assert chosen == ["baseline"] * 10 and is_overdue and not has_ended
    BACKGROUND.wait()
    assert step.step.run(ONE) == "kernel" and step.step.native is not None


def test_a_long_call_goes_on_without_a_kernel_that_it_has_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """No earlier call has begun to compile it: Numba may take seconds to start."""
    _set_thresholds(monkeypatch, "kernel", early=1e9, patience=1.0)
    monkeypatch.setattr(kernel, "KERNEL_COMPILE_SECONDS", 0.05)
    monkeypatch.setattr(tiers, "MAX_KERNEL_WAIT_SECONDS", 0.05)
    _compile_beside(monkeypatch)
    step, answer = _Step(0.06, 0.001), threading.Event()
    # Not for ever, so that the test fails where a call waits for it.
    monkeypatch.setattr(step.step.code, "prepare", lambda: answer.wait(5) and step.prepare())
    chosen = [step.step.run(ONE) for _ in range(3)]
    job = step.step.job
    answer.set()
    assert chosen == ["baseline"] * 3 and job is not None and job.runs_beside
    BACKGROUND.wait()
    assert step.step.run(ONE) == "kernel" and step.step.native is not None


def test_a_kernel_on_the_disk_is_used_once_loading_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=1e9, patience=1e9)
    monkeypatch.setattr(tiers, "loader_seconds", lambda: 0.0)
    monkeypatch.setattr(tiers, "_has_kernels_code", lambda: True)
    step = _Step(cost_model.CACHE_LOAD_SECONDS * 0.4, 1e-6)
    assert [step.step.run(ONE) for _ in range(3)] == ["baseline"] * 3
    assert step.step.run(ONE) == "kernel" and step.step.job is None


def test_a_kernel_that_is_not_on_the_disk_is_looked_for_ever_later(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=1e9, patience=1e9)
    monkeypatch.setattr(tiers, "loader_seconds", lambda: 0.0)
    monkeypatch.setattr(tiers, "_has_kernels_code", lambda: True)
    step = _Step(cost_model.CACHE_LOAD_SECONDS, 1e-6)

    def compile() -> Any:
        step.calls.append("looked")
        raise NotCompiled("the kernel")

    monkeypatch.setattr(step.step.code, "prepare", compile)
    for _ in range(33):
        step.step.run(ONE)
    # Once so many baselines have run.
    looks = [n - i for i, n in enumerate(n for n, call in enumerate(step.calls) if call == "looked")]
    assert 4 <= len(looks) <= 6 and all(after >= 2 * before for before, after in itertools.pairwise(looks))
    assert not step.step.is_abandoned


def test_a_warm_step_is_compiled_beside_the_calls(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=0.01, patience=1e9)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    step = _Step(0.03, 0.001)
    followed: list[object] = []
    step.step.callbacks.append(followed.append)
    assert step.step.run(ONE) == "baseline" and "prepare" not in step.calls
    step.step.run(ONE)
    BACKGROUND.wait()
    assert [step.step.run(ONE) for _ in range(6)][-1] == "kernel"
    assert followed == [step.step.native]


def test_a_kernel_that_is_slower_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=1e-3)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    monkeypatch.setattr(tiers, "PAUSE_CALLS", (7, 8))
    step = _Step(0.001, 0.03)
    chosen = []
    for _ in range(3 * tiers.MAX_ATTEMPTS + 7 + 8 + 12):
        chosen.append(step.step.run(ONE))
        BACKGROUND.wait()
    assert chosen.count("kernel") == 3 * tiers.MAX_ATTEMPTS and chosen[-1] == "baseline"
    assert step.step.is_abandoned and step.step.native is None


def test_a_kernel_that_was_slow_at_first_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=1e-3)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    step = _Step(0.001, 0.02)
    chosen = []
    while chosen.count("kernel") < tiers.MAX_ATTEMPTS:
        chosen.append(step.step.run(ONE))
        BACKGROUND.wait()
    # The baseline becomes slower than it ever was, and the kernel as quick as the baseline had been.
    step.seconds = {"baseline": 0.01, "kernel": 0.004}
    pause = [step.step.run(ONE) for _ in range(tiers.PAUSE_CALLS[0])]
    assert pause == ["baseline"] * tiers.PAUSE_CALLS[0] and step.calls.count("prepare") == 1
    assert step.step.run(ONE) == "kernel" and step.step.native is not None


def test_code_is_not_given_up_while_other_code_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be quick code, which is optimized then."""
    _set_thresholds(monkeypatch, "kernel", early=1e-3)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    step = _Step(0.001, 0.03)
    while step.step.candidate is None:
        step.step.run(ONE)
        BACKGROUND.wait()
    with monkeypatch.context() as patch:
        patch.setattr(type(BACKGROUND), "is_busy", True)
        turns = tiers.MAX_ATTEMPTS + tiers.PAUSE_CALLS[0]
        chosen = [step.step.run(ONE) for _ in range(4 * turns)]
    assert chosen.count("kernel") == 4 * tiers.MAX_ATTEMPTS and not step.step.is_abandoned
    step.seconds["kernel"] = 1e-4
    chosen = [step.step.run(ONE) for _ in range(turns)]
    assert chosen[-1] == "kernel" and step.step.native is not None


@pytest.mark.parametrize("code_seconds", [0.002, 0.03])
def test_the_time_of_code_in_a_call_of_the_program_is_recorded(
    monkeypatch: pytest.MonkeyPatch, code_seconds: float
) -> None:
    """By it code is optimized first that takes long; where the baseline stays, that time counts."""
    _set_thresholds(monkeypatch, "kernel", early=1e-3)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    steps = [_Step(0.01, code_seconds) for _ in range(3)]
    tiers.share_profiles(step.step for step in steps)
    steps[1].step.profile = steps[0].step.profile
    steps[2].step.is_nested = True
    for _ in range(tiers.MAX_ATTEMPTS):
        for number in (0, 1, 2, 2, 2):
            steps[number].step.run(ONE)
            BACKGROUND.wait()
    one = min(code_seconds, 0.01)
    assert steps[0].step.profile.seconds_of_calls == pytest.approx(2 * one)
    # It runs the baseline twice in the first call.
    assert steps[2].step.profile.seconds_of_calls == pytest.approx(2 * one)


@pytest.mark.parametrize("has_vectors", [False, True])
@pytest.mark.parametrize("kind", [ImplementationKind.NUMPY, ImplementationKind.UFUNC_PROGRAM])
@pytest.mark.parametrize("expected", [0.0, 0.2])
def test_code_is_quick_at_first_where_that_is_faster(
    monkeypatch: pytest.MonkeyPatch, has_vectors: bool, kind: ImplementationKind, expected: float
) -> None:
    code = _Code(kept=False)
    code.has_quick_code, code.has_vectors = True, has_vectors
    code.costs = Cost(expected, compile_seconds=0.1)
    step = tiers.Tiering(Prepared(lambda value: value, kind), code)
    is_ufunc_program = kind is ImplementationKind.UFUNC_PROGRAM
    # A ufunc program is timed first, whatever is expected of it.
    is_quick = has_vectors if is_ufunc_program else expected == 0.0
    assert step.is_quick_at_first == is_quick
    # Quick code on the disk keeps nothing from being compiled where optimized code would run.
    monkeypatch.setattr(tiers, "_has_compiled_code", lambda: True)
    step.needs_no_compilation()
    assert code.asked_for_quick == [is_quick]
    assert (step.compile_seconds < 0.1) == is_quick
    # Processes that optimize quick code start with the job that makes it.
    jobs: list[Job] = []
    monkeypatch.setattr(BACKGROUND, "submit", lambda job: (jobs.append(job), job)[1])
    step.begin()
    assert [job.seconds for job in jobs] == [0.1]


def test_a_kernel_that_fails_beside_the_calls_is_given_up(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    _set_thresholds(monkeypatch, "kernel", early=0.0)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)

    def prepare() -> Any:
        raise RuntimeError("broken")

    step = _tiered(lambda value: value, prepare)
    for _ in range(3):
        assert step.run(ONE) is ONE
        BACKGROUND.wait()
    assert step.is_abandoned
    assert "RuntimeError: broken" in caplog.records[0].getMessage()
    caplog.clear()


def test_what_runs_beside_the_calls_has_operands_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "kernel", early=0.0)
    monkeypatch.setattr(tiers, "_is_worth_numba", lambda: True)
    seen: list[Any] = []
    step = _tiered(lambda value: value, lambda: seen.append)
    operands = np.arange(6, dtype=np.int32).reshape(2, 3).T
    step.run(operands)
    step.run(operands)
    BACKGROUND.wait()
    assert not np.shares_memory(seen[0], operands) and (seen[0] == operands).all()
    monkeypatch.setattr(tiers, "MAX_COPIED_BYTES", 4)
    (zeros,) = tiers._copies((operands,))
    assert zeros.shape == operands.shape and not zeros.any()


@pytest.mark.parametrize("pairs", [((1, 0),), ()])
def test_kernels_of_large_operands_are_compiled_in_place(pairs: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """On zeros, of which the system maps no pages; without pairs, on the operands of the call."""
    calls: list[Any] = []

    def function(*operands: Any, **out: Any) -> None:
        calls.append((operands, out))

    code = kernel.KernelImplementation(lambda: function, "a kernel", may_overwrite=pairs)
    step, operands = tiers.Tiering(Prepared(lambda *_: None), code), (np.ones(3), np.ones((2, 2), np.int8))
    step.compile(operands)
    monkeypatch.setattr(tiers, "MAX_RESULT_BYTES", 27)
    step.compile(operands)
    monkeypatch.setattr(tiers, "MAX_RESULT_BYTES", 28)
    step.compile(operands)
    large = calls.pop(1)
    assert all(not out and used[0] is operands[0] and used[1] is operands[1] for used, out in calls)
    if not pairs:
        assert large[0][0] is operands[0] and not large[1]
        return
    (first, second), out = large
    assert (first.shape, second.dtype) == ((3,), np.int8) and not first.any() and not second.any()
    assert len(out["out"]) == 1 and out["out"][0] is second


def test_a_cold_step_is_not_compiled() -> None:
    def prepare() -> Any:
        raise AssertionError("compiled")

    step = _tiered(lambda value: value, prepare)
    assert [step.run(value) for value in range(100)] == list(range(100))


@pytest.fixture(autouse=True)
def _code_may_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated code may be on the disk, but no kernel, whatever earlier tests have compiled."""
    monkeypatch.setattr(tiers, "_has_compiled_code", lambda: True)
    monkeypatch.setattr(tiers, "_has_kernels_code", lambda: False)


class _Code(Implementation):
    """Stands for generated code; notes what is asked of it."""

    may_overwrite = ((0, 0),)

    def __init__(self, kept: bool, possible: bool = True) -> None:
        self.costs = Cost()
        self.kept = kept
        self.possible = possible
        self.made = 0
        self.asked_for_quick: list[bool] = []

    def cost(self) -> Cost:
        return self.costs

    def is_compiled(self, quickly: bool = False) -> bool:
        self.check()
        self.asked_for_quick.append(quickly)
        return self.kept

    def check(self) -> None:
        if not self.possible:
            raise NoCode("there is none")

    def prepare(self) -> Any:
        self.check()
        self.made += 1
        return lambda value, out=None: ("native", value, out)


def _generated(code: _Code, expected: float, compiling: float, pause: float = 0.0) -> tiers.Tiering:
    def baseline(value: int) -> Any:
        CLOCK.sleep(pause)
        return ("baseline", value, None)

    code.costs = Cost(expected, compile_seconds=compiling)
    return tiers.Tiering(Prepared(baseline), code)


def test_the_first_implementation_is_given_what_it_may_overwrite() -> None:
    x, y = np.zeros(1), np.zeros(1)

    def given(pairs: OverwritePairs, *out: Any) -> Any:
        first = Prepared(lambda *operands, out=None: out, may_overwrite=pairs)
        return tiers.Tiering(first, _Code(kept=False)).run(x, y, out=out)

    assert given((), x, y) is None
    assert given(((0, 0),), x, y) == (x, None)
    assert given(((1, 0), (0, 1)), y, x) == (y, x)
    assert given(((1, 0), (0, 1)), x, y) is None


def test_a_call_that_takes_longer_than_compiling_waits_for_the_compiler() -> None:
    code = _Code(kept=False)
    step = _generated(code, expected=0.5, compiling=0.1)
    assert [step.run(value)[0] for value in range(3)] == ["native"] * 3
    assert code.made == 1


def test_code_is_generated_beside_the_calls_of_a_cheap_step() -> None:
    code = _Code(kept=False)
    step = _generated(code, expected=1e-6, compiling=0.02, pause=0.006)
    with BACKGROUND.held():
        chosen = [step.run(0)[0] for _ in range(2)]
    for _ in range(2):
        BACKGROUND.wait()
        chosen.append(step.run(0)[0])
    assert chosen[:2] == ["baseline"] * 2 and chosen[3:] == ["native"] and code.made == 1


def test_code_is_generated_once_the_baseline_has_cost_more(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "code", early=1e9, patience=2.0)
    code = _Code(kept=False)
    step = _generated(code, expected=0.001, compiling=0.05, pause=0.03)
    chosen = [step.run(value)[0] for value in range(8)]
    assert chosen[:3] == ["baseline"] * 3 and chosen[5:] == ["native"] * 3
    assert code.made == 1


def test_the_time_to_load_the_compiler_counts_until_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    load_seconds = [0.15]
    monkeypatch.setattr(tiers, "compiler_load_seconds", lambda: load_seconds[0])
    step = _generated(_Code(kept=False), expected=0.2, compiling=0.1)
    assert not step.is_expected_to_pay and step.wait_threshold == pytest.approx(2.0 * 0.25)
    load_seconds[0] = 0.0
    assert step.is_expected_to_pay and step.wait_threshold == 0.0
    with_kernel = _Step(0.03, 0.001).step
    load_seconds[0] = 60.0
    assert with_kernel._seconds_until_code == with_kernel.compile_seconds


@pytest.mark.parametrize(("in_region", "baselines"), [(False, 1), (True, 4)])
def test_calls_wait_longer_for_small_steps_within_regions(in_region: bool, baselines: int) -> None:
    code = _Code(kept=False)
    code.threshold_class = "steps"
    step = _generated(code, expected=0.0, compiling=0.1, pause=0.03)
    if in_region:
        step.set_enclosing(code)
    with BACKGROUND.held():
        chosen = [step.run(value)[0] for value in range(6)]
    assert step.job is not None and chosen == ["baseline"] * baselines + ["native"] * (6 - baselines)
    assert code.made == 1


def test_cached_code_is_used_once_loading_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "loader_seconds", lambda: 0.0)
    code = _Code(kept=True)
    assert _generated(code, expected=0.01, compiling=10.0).run(0)[0] == "native"
    _set_thresholds(monkeypatch, "code", early=1e9, patience=2.0)
    short = _generated(code, expected=1e-6, compiling=10.0, pause=0.0015)
    assert [short.run(value)[0] for value in range(4)] == ["baseline", "baseline", "native", "native"]


def test_an_empty_cache_is_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "loader_seconds", lambda: 0.0)
    monkeypatch.setattr(tiers, "_has_compiled_code", lambda: False)
    step = _generated(_Code(kept=True), expected=0.01, compiling=10.0)
    assert step.run(0)[0] == "baseline"


def test_the_compiler_is_not_loaded_for_a_look_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "loader_seconds", lambda: 0.06)
    step = _generated(_Code(kept=True), expected=0.005, compiling=10.0, pause=0.02)
    chosen = [step.run(value)[0] for value in range(8)]
    assert chosen[0] == "baseline" and chosen[-1] == "native"


def test_code_that_another_step_has_compiled_meanwhile_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    _set_thresholds(monkeypatch, "code", early=1e9, patience=2.0)
    load_seconds = [1.0]
    monkeypatch.setattr(tiers, "loader_seconds", lambda: load_seconds[0])
    code = _Code(kept=False)
    step = _generated(code, expected=0.0, compiling=10.0, pause=0.001)
    assert [step.run(value)[0] for value in range(20)] == ["baseline"] * 20
    load_seconds[0] = 0.0
    assert [step.run(value)[0] for value in range(5)] == ["baseline"] * 5
    code.kept = True
    chosen = [step.run(value)[0] for value in range(100)]
    assert chosen[0] == "baseline" and chosen[-1] == "native" and chosen.count("baseline") < 40


def test_where_there_can_be_no_code_the_baseline_stays() -> None:
    step = _generated(_Code(kept=False, possible=False), expected=0.5, compiling=0.1)
    assert [step.run(value)[0] for value in range(3)] == ["baseline"] * 3


def test_arrays_to_write_to_are_handed_on() -> None:
    step = _generated(_Code(kept=False), expected=0.5, compiling=0.1)
    assert step.may_overwrite == ((0, 0),)
    step.run(0)
    assert step.run(1, out=(None,)) == ("native", 1, (None,))


def test_steps_that_share_their_code_are_compiled_by_what_all_of_them_cost() -> None:
    class Code(_Code):
        key = "same"

    steps = [_generated(Code(kept=False), 0.4, 1.0) for _ in range(3)]
    assert steps[0].run(0)[0] == "baseline"
    shared = [_generated(Code(kept=False), 0.4, 1.0) for _ in range(3)]
    tiers.share_profiles(tiers.tierings([*shared, Prepared(max)]))
    assert [step.run(0)[0] for step in shared] == ["native"] * 3
    assert len({id(step.profile) for step in shared}) == 1


def test_no_key_is_made_of_code_that_differs_from_all_others() -> None:
    class Code(_Code):
        @property
        def key(self) -> str:
            raise AssertionError("the key is made")

    code = Code(kept=False)
    code.reason = "one of a kind"
    step, other = _generated(code, 0.4, 1.0), _generated(_Code(kept=False), 0.4, 1.0)
    tiers.share_profiles([step, other, step, step])
    assert step.profile.expected == pytest.approx(1.2) and step.profile is not other.profile


def _sharing(code: _Code, count: int) -> list[tiers.Tiering]:
    """Steps that share their code; all of their baselines are expected to take longer than compiling."""
    steps = [_generated(code, expected=0.05, compiling=0.1) for _ in range(count)]
    for step in steps:
        step.profile = steps[0].profile
    steps[0].profile.expected = 0.05 * count
    return steps


def test_steps_that_share_code_wait_for_one_job() -> None:
    code = _Code(kept=True)
    steps = _sharing(code, 3)
    tiers.start_expected_compilations(steps)
    assert [step.run(0)[0] for step in steps] == ["native"] * 3


def test_code_that_was_compiled_for_another_step_is_judged_by_each() -> None:
    code = _Code(kept=True)
    steps = [_generated(code, expected=1e-6, compiling=0.05, pause=0.001) for _ in range(2)]
    steps[1].profile = steps[0].profile
    steps[0].begin()
    BACKGROUND.wait()
    assert [steps[1].run(0)[0] for _ in range(3)] == ["baseline", "native", "native"]


def test_quick_code_of_another_step_is_used_before_it_is_optimized() -> None:
    class Code(_Code):
        has_quick_code = True

        def is_compiled(self, quickly: bool = False) -> bool:
            return quickly and self.made > 0

    steps = [_generated(Code(kept=False), expected=1e-6, compiling=0.05, pause=0.001) for _ in range(2)]
    steps[1].code = steps[0].code
    steps[1].profile = steps[0].profile
    steps[0].begin()
    BACKGROUND.wait()
    assert [steps[1].run(0)[0] for _ in range(3)] == ["baseline", "native", "native"]


def test_steps_that_share_code_that_cannot_be_made_keep_their_baselines() -> None:
    steps = _sharing(_Code(kept=False, possible=False), 3)
    tiers.start_expected_compilations(steps)
    BACKGROUND.wait()
    assert [step.run(0)[0] for step in steps] == ["baseline"] * 3
    assert all(step.is_abandoned for step in steps)


def test_code_that_a_first_call_would_wait_for_is_begun_before() -> None:
    codes = [_Code(kept=False) for _ in range(3)]
    expected = (0.5, 0.01, 0.5)
    steps = [_generated(code, seconds, compiling=0.1) for code, seconds in zip(codes, expected, strict=True)]
    steps[2].profile = steps[0].profile
    tiers.start_expected_compilations(steps)
    BACKGROUND.wait()
    assert [code.made for code in codes] == [1, 0, 0]
    assert steps[0].run(0)[0] == "native" and codes[0].made == 1
    hopeless = _generated(_Code(kept=False, possible=False), 0.5, compiling=0.1)
    tiers.start_expected_compilations([hopeless])
    BACKGROUND.wait()
    assert hopeless.run(0)[0] == "baseline" and hopeless.is_abandoned


class _Enclosing(Implementation):
    """A loop around a step, for which there will be code."""

    replaces_regions = True


class _LoopStepCode(Implementation):
    """Generated code that takes a second to compile."""

    prepared = compiled = False

    def cost(self) -> Cost:
        return Cost(compile_seconds=1.0)

    def is_compiled(self, quickly: bool = False) -> bool:
        return self.compiled

    def prepare(self) -> Any:
        self.prepared = True
        return lambda value: "code"


def _nested_step() -> tuple[tiers.Tiering, _LoopStepCode, _Enclosing]:
    def baseline(value: object) -> str:
        CLOCK.sleep(3.0)
        return "baseline"

    code, enclosing = _LoopStepCode(), _Enclosing()
    step = tiers.Tiering(Prepared(baseline, takes_regions=False), code)
    step.set_enclosing(enclosing)
    return step, code, enclosing


def test_a_step_of_a_loop_that_code_will_replace_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tiers, "_has_compiled_code", lambda: True)
    step, code, enclosing = _nested_step()
    assert [step.run(ONE) for _ in range(5)] == ["baseline"] * 5
    BACKGROUND.wait()
    assert step.is_superseded and not code.prepared
    # There is no code of the loop after all.
    enclosing.replaces_regions = False
    assert step.run(ONE) == "code"


def test_a_step_of_a_loop_that_code_will_replace_uses_code_that_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tiers, "_has_compiled_code", lambda: True)
    step, code, _ = _nested_step()
    assert step.run(ONE) == "baseline"
    code.compiled = True
    assert "code" in [step.run(ONE) for _ in range(3)]
