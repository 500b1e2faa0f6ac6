"""Steps that start with one implementation, the baseline, and change to native code once that pays.

Once a step has taken a small part of its compile time, a background thread compiles it. Once it has taken
longer than its compile time, a call waits for the code (`THRESHOLDS`). Code from the background is tried in
the next calls. It stays if one of these calls is faster than every call of the baseline, which is not
certain for few elements. Since other processes may have slowed these calls down, the code is tried again a
few times later, each time against new calls of the baseline.
"""

from __future__ import annotations

import functools
import math
import mmap
import os
import sys
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any

import numpy as np

from ....kernels.launch.spans import span
from ...cost_model import (
    CACHE_LOAD_SECONDS,
    GENERATED_WAIT_SECONDS,
    MAX_ATTEMPTS,
    MAX_COPIED_BYTES,
    MAX_KERNEL_WAIT_SECONDS,
    MAX_RESULT_BYTES,
    MIN_AWAITED_GENERATED_SECONDS,
    MIN_AWAITED_KERNEL_SECONDS,
    MIN_NUMBA_BASELINE_SECONDS,
    MIN_SHARED_SECONDS,
    PAUSE_CALLS,
    QUICK_FRACTION,
    THRESHOLDS,
    Thresholds,
    compiler_load_seconds,
    loader_seconds,
)
from ...implementation import Implementation, ImplementationKind, NoCode, Replaceable, Runnable
from .background import BACKGROUND, Job, compiling_job
from .profiles import ProfiledLoop, ProgramProfile, StepProfile

_waiting_for_numba = StepProfile()
"""The time of the steps in all programs that a kernel of Numba could replace."""


def tierings(implementations: Iterable[Implementation]) -> list[Tiering]:
    """The implementations, or their constituents, that native code may replace, in order."""
    constituents = [constituent for one in implementations for constituent in one.constituents()]
    return [constituent for constituent in constituents if isinstance(constituent, Tiering)]


def share_profiles(steps: Iterable[Tiering], loops: Sequence[ProfiledLoop] = ()) -> None:
    """Make the steps of a program that share native code share one profile, and all steps the program's.

    Args:
        steps: the steps of the program.
        loops: its native loops, some of whose regions' steps are among `steps`.
    """
    counts = Counter(steps)
    program = ProgramProfile([*[step for step in counts if not step.code.compiles_when_called], *loops])
    for loop in loops:
        loop.program = loop.profile.program = program
    similar = Counter([step.code_summary for step in counts])
    shared: dict[Hashable, StepProfile] = {}
    for step, count in counts.items():
        step.program = program
        # The key may need the code generator, which takes long to load in a first call.
        key = step.key if similar[step.code_summary] > 1 else step.code_summary
        if key is not None:
            profile = shared.setdefault(key, StepProfile())
            profile.expected += count * step.profile.expected
            step.profile = profile
        step.profile.program = program


def start_expected_compilations(steps: Iterable[Tiering]) -> None:
    """Begin to compile the code for which the first calls of steps would wait, while earlier steps run.

    Args:
        steps: the steps of a program, in order, after `share_profiles`.
    """
    started: set[StepProfile] = set()
    for step in steps:
        is_due = step.wait_threshold == 0.0 and not step.code.compiles_when_called
        if is_due and step.profile not in started:
            started.add(step.profile)
            step.begin()


class Tiering(Replaceable):
    """Calls one implementation until native code pays and proves to be faster.

    Both implementations give the same bits. Several threads may call it at the same time; at worst each
    prepares the code.

    A call waits for the code in four cases:

    - The baselines of all steps that share the code are expected to take longer than compiling it.
    - The code is cached on the disk, and the step has taken longer than loading it.
    - The steps have taken as long as `THRESHOLDS` says, unless another process compiles a kernel for short
      ones: calls go on meanwhile.
    - All steps of the program together have taken long enough (`profiles`).

    A step of a loop that native code will replace is not compiled by itself, but uses code that is there.

    The baseline of a kernel that Numba compiles may be generated code, or such a step itself that soon has
    generated code. A call waits for that kernel only after half a second in code whose calls are long.

    Args:
        baseline: runs until native code does; takes the operands, and the regions if its `takes_regions` is
            true.
        code: takes the operands only.
        reason: see `Implementation`.
        key: steps with equal keys share code; None: steps share code if the keys of their codes are equal.

    Attributes:
        candidate: the native code that is being tried.
        set_aside: the native code that will be tried again after `pause` more calls of the baseline.
        is_code_timed: whether the step's time with native code is part of the profile.
        is_overdue: whether a call has waited in vain for another process to compile the code.
        interim: the baseline, if it is such a step itself.
        has_generated_baseline: whether the baseline is generated code from the start.
    """

    kind = ImplementationKind.TIERED

    def __init__(
        self, baseline: Implementation, code: Implementation, reason: str = "", key: Hashable = None
    ) -> None:
        super().__init__()
        self.reason = reason
        self.takes_regions = baseline.takes_regions
        self.may_overwrite = code.may_overwrite
        self.baseline, self.code, self._key = baseline.function, code, key
        self.interim = baseline if isinstance(baseline, Tiering) else None
        self.has_generated_baseline = baseline.kind is ImplementationKind.GENERATED
        self.baseline_overwrites = frozenset(baseline.may_overwrite)
        is_ufunc_program = baseline.kind is ImplementationKind.UFUNC_PROGRAM
        is_replaced_by_code = is_ufunc_program and code.threshold_class == "code"
        self._threshold_class = "ufunc program" if is_replaced_by_code else code.threshold_class
        cost = code.cost()
        self.optimized_seconds, self.baseline_seconds = cost.compile_seconds, cost.baseline_seconds
        # A ufunc program is quick, so it is timed before anything is compiled.
        self.profile = StepProfile(0.0 if is_replaced_by_code else self.baseline_seconds)
        self.candidate: Runnable | None = None
        self.set_aside: Runnable | None = None
        self.attempts = self.trials = self.pause = 0
        self.fastest = math.inf
        self.lookup_seconds = CACHE_LOAD_SECONDS
        self.job: Job | None = None
        self.is_abandoned = self.is_nested = self.is_code_timed = self.is_overdue = False
        self.enclosing: list[Implementation] = []
        self.program: ProgramProfile | None = None
        self.runs = 0

    def set_enclosing(self, enclosing: Implementation) -> None:
        """Wait longer for small steps within regions: all of their calls may belong to one call of a loop."""
        self.is_nested = True
        self.enclosing.append(enclosing)
        if self._threshold_class == "steps":
            self._threshold_class = "steps in regions"
        if self.interim is not None:
            self.interim.set_enclosing(enclosing)

    def constituents(self) -> tuple[Implementation, ...]:
        return (self,) if self.interim is None else (self.interim, self)

    @property
    def scratch_bytes(self) -> int:
        return self.code.scratch_bytes

    @property
    def is_shared_by_code(self) -> bool:
        """Whether steps share the code by the key of the code."""
        return self._key is None and self.profile.expected >= MIN_SHARED_SECONDS

    @property
    def code_summary(self) -> Hashable:
        """A cheap key: steps with equal keys have equal summaries."""
        return (type(self.code), self.code.reason) if self.is_shared_by_code else self._key

    @property
    def key(self) -> Hashable:
        """The key of the shared code; None if there is no code, or too little work to share."""
        if not self.is_shared_by_code:
            return self._key
        with suppress(NoCode):
            return self.code.key
        return None

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds at which the code is compiled."""
        return THRESHOLDS[self._threshold_class]

    @property
    def wait_threshold(self) -> float:
        """The time in baselines after which a call waits for the code."""
        if self._has_code_before:
            is_awaited = self.fastest >= MIN_AWAITED_GENERATED_SECONDS and not self.is_overdue
            return GENERATED_WAIT_SECONDS if is_awaited else math.inf
        may_not_wait = self.is_overdue or self.fastest < MIN_AWAITED_KERNEL_SECONDS
        if self.code.compiles_when_called and may_not_wait and _compiles_beside():
            return math.inf
        return 0.0 if self.is_expected_to_pay else self.thresholds.blocking_wait * self._seconds_until_code

    @property
    def _has_code_before(self) -> bool:
        """Whether generated code runs, or soon runs, until there is a kernel."""
        if self.interim is not None:
            return not self.interim.is_abandoned
        return self.has_generated_baseline

    @property
    def is_quick_at_first(self) -> bool:
        """Whether native code runs before LLVM has optimized it.

        Not where the first calls wait for the code, which then pays at once, and not scalar loops in the
        place of a ufunc program, which has vectors.
        """
        has_vectors = self.code.has_vectors or self._threshold_class != "ufunc program"
        return self.code.has_quick_code and has_vectors and not self.is_expected_to_pay

    @property
    def is_expected_to_pay(self) -> bool:
        """Whether one call of the baselines is expected to take longer than compiling the code."""
        return self.profile.expected > self.optimized_seconds + self._load_seconds

    @property
    def compile_seconds(self) -> float:
        """See `ProfiledStep`."""
        return (QUICK_FRACTION if self.is_quick_at_first else 1.0) * self.optimized_seconds

    @property
    def _seconds_until_code(self) -> float:
        """Expected until the code is there, if nothing else is compiled."""
        return self.compile_seconds + self._load_seconds

    @property
    def _load_seconds(self) -> float:
        """Expected until the compiler of the code is loaded; Numba's time is part of the kernel's."""
        return 0.0 if self.code.compiles_when_called else compiler_load_seconds()

    @property
    def is_superseded(self) -> bool:
        """Whether the code of a loop around the step will replace it, before its own code would pay."""
        if self.code.compiles_when_called or self.wait_threshold == 0.0:
            return False
        return any(one.replaces_regions for one in self.enclosing)

    @property
    def is_undecided(self) -> bool:
        """Whether native code has neither been tried nor been given up."""
        has_code = self.native is not None or self.candidate is not None or self.set_aside is not None
        return not has_code and not self.is_abandoned

    @property
    def is_timed_but_undecided(self) -> bool:
        """Whether the baseline has been timed, but no native code."""
        return self.is_undecided and self.fastest < math.inf

    @property
    def is_due(self) -> bool:
        """See `ProfiledStep`."""
        spent, due = self.profile.seconds, self.thresholds.background_start * self._seconds_until_code
        return spent >= due and self.is_timed_but_undecided and not self.is_superseded

    def run(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        if self.is_undecided:
            self.consider(operands)
            # In this order, as a job stores its result before it ends.
            if self.job is not None and self.job.ended and self.candidate is None:
                self.give_up()
        function = self.native or self.candidate
        start = perf_counter()
        if function is not None:
            called, regions = function, {}
            out = out if self.may_overwrite else None
        else:
            called, out = self.baseline, None if out is None else self._out_of_baseline(operands, out)
        result = called(*operands, **regions) if out is None else called(*operands, out=out, **regions)
        if self.native is None:
            self.record(perf_counter() - start, function)
        return result

    def _out_of_baseline(self, operands: tuple[Any, ...], out: tuple[Any, ...]) -> tuple[Any, ...] | None:
        """The arrays of `out` that the baseline may write to; None if it may write to none."""
        allowed = [
            array
            if all(
                (number, index) in self.baseline_overwrites
                for number, operand in enumerate(operands)
                if operand is array
            )
            else None
            for index, array in enumerate(out)
        ]
        return None if all(array is None for array in allowed) else tuple(allowed)

    def record(self, seconds: float, candidate: Runnable | None) -> None:
        """Record the time of a call of the baseline (None) or of a candidate."""
        if candidate is None:
            self.profile.seconds += seconds
            self.runs += 1
            if self.program is not None and self.interim is None:
                self.program.seconds += seconds
                if not self.is_nested:
                    self.program.calls = max(self.program.calls, self.runs)
            if self.code.compiles_when_called:
                _waiting_for_numba.seconds += seconds
            self.fastest = min(self.fastest, seconds)
            if self.set_aside is not None:
                self.count_pause(self.set_aside)
            return
        if not self.is_code_timed:
            self.is_code_timed = True
            runs_per_call = self.runs / self.program.calls if self.program is not None else 1.0
            self.profile.seconds_of_calls += min(seconds, self.fastest) * max(1.0, runs_per_call)
        if seconds < self.fastest:
            self.use(candidate)
        else:
            self.attempts += 1
            if self.attempts >= MAX_ATTEMPTS:
                self.postpone(candidate)

    def postpone(self, candidate: Runnable) -> None:
        """Return to the baseline, for a pause or for good.

        The pauses count that begin while nothing is compiled, which slows calls down. The code may also be
        quick code, which becomes faster.
        """
        if BACKGROUND.is_busy:
            self.pause = PAUSE_CALLS[0]
        elif self.trials == len(PAUSE_CALLS):
            self.give_up()
            return
        else:
            self.pause = PAUSE_CALLS[self.trials]
            self.trials += 1
        self.set_aside = candidate
        self.candidate = None

    def count_pause(self, candidate: Runnable) -> None:
        """Count a call during a pause; the code is compared with the last calls of the pause."""
        self.pause -= 1
        if self.pause == MAX_ATTEMPTS:
            self.fastest = math.inf
        elif self.pause <= 0:
            self.attempts = 0
            self.candidate = candidate
            self.set_aside = None

    def give_up(self) -> None:
        """Discard the code, and stay with the baseline."""
        self.candidate = None
        self.is_abandoned = True
        if self.interim is not None:
            self.interim.on_native_code(self.use)
            if self.interim.native is not None:
                self.use(self.interim.native)

    def consider(self, operands: tuple[Any, ...]) -> None:
        """Begin to compile, or wait for the code, if a threshold is reached."""
        if self.program is not None:
            self.program.consider(self.runs)
        spent, job = self.profile.seconds, self.job or self.profile.job
        if job is not None and job.ended:
            # A candidate is judged by its time, so the baseline must have been timed.
            if self.fastest < math.inf or self.wait_threshold == 0.0:
                self.adopt(operands)
            return
        if spent + self.profile.expected > min(self.lookup_seconds, self.wait_threshold):
            self.use_cached_or_compile(operands)
        is_begun = self.job is not None or self.profile.job is not None
        if self.candidate is None and not is_begun and self.is_due:
            self.begin(operands)

    def begin(self, operands: tuple[Any, ...] = ()) -> None:
        """Compile in the background: generated code for all steps that share it, or a kernel on copies."""
        if not self.code.compiles_when_called:
            ahead = self.code.compile_texts_ahead if self.code.compiles_ahead else None
            compile = functools.partial(self.compile, ())
            job = compiling_job(compile, ahead, self.is_quick_at_first, self.optimized_seconds)
            self.job = self.profile.job = BACKGROUND.submit(job)
        elif _is_worth_numba():
            compile = functools.partial(self.compile, _copies(operands))
            self.job = Job(compile, has_priority=False, runs_beside=_compiles_beside())
            BACKGROUND.submit(self.job)

    def adopt(self, operands: tuple[Any, ...]) -> None:
        """Use the code that was compiled for this step or for another one that shares it."""
        with suppress(NoCode):
            # The code of another step may be quick still.
            is_quick, may_have_code = self.code.has_quick_code, not self.code.compiles_when_called
            if self.candidate is None and may_have_code and self.code.is_compiled(is_quick):
                self.candidate = self.code.prepare_soon() if is_quick else self.code.prepare()
                self.profile.optimize()
        if self.candidate is None:
            self.give_up()

    def use_cached_or_compile(self, operands: tuple[Any, ...]) -> None:
        """Use the code if it is cached on the disk; compile it if a call should wait for it."""
        spent, job = self.profile.seconds, self.job or self.profile.job
        if spent + self.profile.expected < min(self.wait_threshold, loader_seconds()):
            return
        if spent >= self.wait_threshold and not self.is_superseded:
            if job is not None:
                self.wait_for(job, operands)
                return
        elif self.code.compiles_when_called or not self.needs_no_compilation():
            # Look again later: another step may compile the code.
            self.lookup_seconds = 2 * (spent + self.profile.expected)
            if self.code.compiles_when_called and _has_kernels_code():
                self.load_kernel(operands)
            return
        if self.code.compiles_when_called and spent >= self.wait_threshold and _compiles_beside():
            self.begin(operands)
            if self.job is not None:
                self.wait_for(self.job, operands)
            return
        # If this fails, the baseline stays.
        job = self.job = Job(functools.partial(self.compile, operands), has_priority=True)
        if self.program is not None and spent >= self.wait_threshold:
            self.program.begin_due(self.profile)
        BACKGROUND.run(job)

    def wait_for(self, job: Job, operands: tuple[Any, ...]) -> None:
        """Wait for the code and use it; go on without it if another process takes too long."""
        with span("wait", "native code"):
            BACKGROUND.finish(job, MAX_KERNEL_WAIT_SECONDS if job.runs_beside else None)
        if job.ended:
            self.adopt(operands)
        else:
            self.is_overdue = True

    def load_kernel(self, operands: tuple[Any, ...]) -> None:
        """Use a kernel if all of its code is loaded or on the disk, which its first call shows."""
        from ....kernels.launch.compilation import NotCompiled, without_compiling

        with suppress(NoCode, NotCompiled), without_compiling():
            self.compile(operands)

    def needs_no_compilation(self) -> bool:
        """Whether the code is cached on the disk, or there can be none."""
        try:
            return _has_compiled_code() and self.code.is_compiled(self.is_quick_at_first)
        except NoCode:
            return True

    def compile(self, operands: tuple[Any, ...]) -> None:
        """Prepare the code, if there can be any, and call it once if the first call compiles it."""
        with suppress(NoCode):
            function = self.code.prepare_soon() if self.is_quick_at_first else self.code.prepare()
            self.profile.optimize()
            if self.code.compiles_when_called:
                self.call_once(function, operands)
            self.candidate = function

    def call_once(self, function: Runnable, operands: tuple[Any, ...]) -> None:
        """Call a kernel to have it compiled; for large operands on zeros, which take no memory, in place."""
        if not self.may_overwrite or _bytes(operands) <= MAX_RESULT_BYTES:
            function(*operands)
            return
        zeros = _zeros(operands)
        overwritten = {result: zeros[operand] for operand, result in self.may_overwrite}
        function(*zeros, out=tuple([overwritten[result] for result in sorted(overwritten)]))


def _is_worth_numba() -> bool:
    """Whether Numba is there, or need not be, or the steps that it could serve have taken long enough."""
    has_taken_long = _waiting_for_numba.seconds > MIN_NUMBA_BASELINE_SECONDS
    return has_taken_long or "numba" in sys.modules or _has_kernels_code()


def _has_kernels_code() -> bool:
    """Whether any code of kernels is on the disk."""
    from ....kernels.compiling.kernel_cache import has_code

    return has_code()


def _compiles_beside() -> bool:
    """Whether another process compiles kernels, while calls go on."""
    from ....kernels.compiling.kernel_process import KERNEL_PROCESS

    return KERNEL_PROCESS.may_run()


def _copies(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Copies of the operands for a kernel in the background, as callers may change theirs.

    Their memory does not count against the limits of a run.
    """
    copies = _zeros(operands)
    if _bytes(operands) <= MAX_COPIED_BYTES:
        for copy, operand in zip(copies, operands, strict=True):
            copy[...] = operand
    return copies


def _zeros(operands: tuple[Any, ...]) -> tuple[np.ndarray[Any, Any], ...]:
    """Zeros in the place of operands. The system maps their pages once something writes to them."""
    # Python maps shared memory by default, which is in the memory of all pages that are read.
    private: dict[str, Any] = {}
    if os.name == "posix":
        private["flags"] = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    return tuple(
        [
            np.ndarray(operand.shape, operand.dtype, mmap.mmap(-1, max(operand.nbytes, 1), **private))
            for operand in operands
        ]
    )


def _bytes(operands: tuple[Any, ...]) -> int:
    return sum([operand.nbytes for operand in operands])


def _has_compiled_code() -> bool:
    """Whether any generated code is loaded or on disk."""
    from ...loops.llvm.expected_code import has_compiled_code

    return has_compiled_code()
