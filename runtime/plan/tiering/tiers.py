"""Steps that start as reference steps and are compiled once their cost says so.

Compiling begins beside the calls (`background`) as soon as a step has cost a small part of what compiling
does, and a call waits for it only where the step has cost more than that. What was compiled beside calls is
tried on the next ones, and stays if one of them is quicker than the reference ever was: on few elements it
need not be. As those calls may have met a moment in which others kept the processor busy, it is tried again
later, a few times, beside calls of the reference from that time.
"""

from __future__ import annotations

import math
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from time import perf_counter
from typing import Any, Protocol, TypeVar

import numpy as np

from .background import BACKGROUND, Job
from .cost_model import compiler_load_seconds

HOT_SECONDS = 0.3
"""Time in a step's reference after which a call waits for its kernel.

Compiling a kernel costs 1 to 2 s once and 0.1 s when it lies in the cache, importing Numba 0.7 s a process.
"""

WARM_SECONDS = 5e-3
"""Time in a step's reference after which its kernel is compiled beside the calls."""

NUMBA_SECONDS = 0.1
"""Time in the references of all such steps after which Numba is imported for the first of them."""

PATIENCE = 2.0
"""A step's reference may take so many times as long as its compilation before a call waits for the code."""

EARLY_FRACTION = 0.02
"""The part of that compilation's time after which it is begun beside the calls."""

LATE_FRACTION = 0.5
"""The same where the reference is a program on rows: as it takes all threads, compiling slows calls down."""

CACHE_LOAD_SECONDS = 2e-3
"""Time that loading generated code from the disk takes: after so much, kept code is used."""

MIN_SHARED_SECONDS = 2e-4
"""Steps that are expected to take less a call do not look for others that share their code."""

MAX_ATTEMPTS = 5
"""Calls on which compiled code is tried."""

PAUSES = (20, 100, 500)
"""Calls of the reference until compiled code that was not quicker is tried again; then it is given up."""

MAX_COPIED_BYTES = 1 << 26
"""Bytes of operands of which kernels get copies to run on beside the calls; of more they get zeros."""


Prepare = TypeVar("Prepare", bound=Callable[[], Callable[..., Any]])


def compiled_ahead(prepare: Prepare) -> Prepare:
    """Declare that a kernel waits for no compiler, so that it can serve from the first call on."""
    prepare.is_compiled_ahead = True  # type: ignore[attr-defined]
    return prepare


class StepProfile:
    """What the steps of a program that share their native code have cost, and are expected to cost a call.

    Attributes:
        seconds: spent in references.
        expected: in the references of all these steps, one call of each.
        job: compiles the code of one of them beside the calls.
    """

    __slots__ = ("expected", "job", "seconds")

    def __init__(self, expected: float = 0.0) -> None:
        self.seconds = 0.0
        self.expected = expected
        self.job: Job | None = None


_waiting_for_numba = StepProfile()
"""What steps have cost that a kernel of Numba's could serve, in all programs."""


def share_profiles(functions: Iterable[object]) -> None:
    """Let the steps of a program that share their native code be compiled by what all of them cost.

    Args:
        functions: of the program's steps; those that are not tiered are passed over.
    """
    shared: dict[Hashable, StepProfile] = {}
    for function, count in Counter(one for one in functions if isinstance(one, Tiering)).items():
        key = function.key()
        if key is not None:
            profile = shared.setdefault(key, StepProfile())
            profile.expected += count * function.profile.expected
            function.profile = profile


def start_expected_compilations(functions: Iterable[object]) -> None:
    """Begin to compile, beside what comes before, the code that first calls of steps would wait for.

    Args:
        functions: of a program's steps in their order, after `share_profiles`.
    """
    started: set[StepProfile] = set()
    for function in functions:
        if (
            isinstance(function, Generated) and function.wait_threshold == 0.0
            and function.profile not in started
        ):
            started.add(function.profile)
            function.begin()


class Tiering:
    """Calls the reference, and native code once that is there and proves to be quicker.

    Both give the same result, so that a caller cannot tell which one ran. Threads may call it at the same
    time: at worst several of them prepare the code.

    Attributes:
        native: the native code in use.
        candidate: the native code that is being tried.
        set_aside: the native code that is to be tried again after `pause` more calls of the reference.
        accepts_out, may_overwrite: see `nimblehlo.ops.framework.in_place`.
        followers: each is called with the native code when that is found to be good.
    """

    __slots__ = (
        "accepts_out",
        "attempts",
        "candidate",
        "fastest",
        "followers",
        "is_given_up",
        "job",
        "may_overwrite",
        "native",
        "pause",
        "profile",
        "reference",
        "set_aside",
        "trials",
    )  # fmt: skip

    def __init__(self, reference: Callable[..., Any], expected: float = 0.0) -> None:
        self.reference = reference
        self.profile = StepProfile(expected)
        self.native: Callable[..., Any] | None = None
        self.candidate: Callable[..., Any] | None = None
        self.set_aside: Callable[..., Any] | None = None
        self.attempts = self.trials = self.pause = 0
        self.fastest = math.inf
        self.job: Job | None = None
        self.is_given_up = False
        self.accepts_out = False
        self.may_overwrite: Sequence[tuple[int, int]] = ()
        self.followers: list[Callable[[Callable[..., Any]], None]] = []

    def key(self) -> Hashable:
        """What tells the native code from others; None where it is not looked at."""
        raise NotImplementedError

    def consider(self, operands: tuple[Any, ...]) -> None:
        """Begin to compile, or wait for it, if the time has come."""
        raise NotImplementedError

    def __call__(self, *operands: Any, out: Any = None, **regions: Any) -> Any:
        if self.native is None and self.candidate is None and self.set_aside is None and not self.is_given_up:
            self.consider(operands)
            # In this order: a job has its result before it has ended.
            if self.job is not None and self.job.ended and self.candidate is None:
                self.give_up()
        function = self.native or self.candidate
        start = perf_counter()
        if function is None:
            result = self.reference(*operands, **regions)
        else:
            result = function(*operands) if out is None else function(*operands, out=out)
        if self.native is None:
            self.record(perf_counter() - start, function)
        return result

    def record(self, seconds: float, candidate: Callable[..., Any] | None) -> None:
        """Note what a call of the reference, or of a candidate, took."""
        if candidate is None:
            self.profile.seconds += seconds
            self.fastest = min(self.fastest, seconds)
            if self.set_aside is not None:
                self.count_reference_call(self.set_aside)
        elif seconds < self.fastest:
            self.use(candidate)
        elif not BACKGROUND.is_busy:
            self.attempts += 1
            if self.attempts >= MAX_ATTEMPTS:
                self.postpone(candidate)

    def postpone(self, candidate: Callable[..., Any]) -> None:
        """Let the reference serve for a while, or for good."""
        if self.trials == len(PAUSES):
            self.give_up()
            return
        self.pause = PAUSES[self.trials]
        self.trials += 1
        self.set_aside = candidate
        self.candidate = None

    def count_reference_call(self, candidate: Callable[..., Any]) -> None:
        """Note a call of the reference during a pause: the last ones are what the code is compared with."""
        self.pause -= 1
        if self.pause == MAX_ATTEMPTS:
            self.fastest = math.inf
        elif self.pause <= 0:
            self.attempts = 0
            self.candidate = candidate
            self.set_aside = None

    def use(self, native: Callable[..., Any]) -> None:
        """Call that from now on."""
        self.native = native
        for follower in self.followers:
            follower(native)

    def give_up(self) -> None:
        """Let the reference stay."""
        self.candidate = None
        self.is_given_up = True


class Tiered(Tiering):
    """Calls the reference until a kernel is prepared.

    Args:
        reference: called with the operands and, by name, the regions.
        prepare: returns the kernel, called with the operands alone; where it can write into operands
            (`nimblehlo.ops.framework.in_place`), `prepare` declares it as well.
        kind: steps of one kind share their kernel's code.
    """

    __slots__ = ("kind", "prepare")

    def __init__(
        self,
        reference: Callable[..., Any],
        prepare: Callable[[], Callable[..., Any]],
        kind: str | None = None,
    ) -> None:
        super().__init__(reference)
        self.prepare = prepare
        self.kind = kind
        self.accepts_out = getattr(prepare, "accepts_out", False)
        self.may_overwrite = getattr(prepare, "may_overwrite", ())

    def key(self) -> Hashable:
        """What tells the kernel's code from others."""
        return self.kind

    def record(self, seconds: float, candidate: Callable[..., Any] | None) -> None:
        super().record(seconds, candidate)
        if candidate is None:
            _waiting_for_numba.seconds += seconds

    def consider(self, operands: tuple[Any, ...]) -> None:
        seconds = self.profile.seconds
        if seconds < WARM_SECONDS:
            return
        if seconds > HOT_SECONDS:
            if self.job is None:
                self.job = Job(lambda: self.compile(operands), is_quick=False)
                self.job.run()
            BACKGROUND.finish(self.job)
        elif self.job is None and self.fastest < math.inf and _is_worth_numba():
            copies = _copies(operands)
            self.job = BACKGROUND.submit(Job(lambda: self.compile(copies), is_quick=False))

    def compile(self, operands: tuple[Any, ...]) -> None:
        """Prepare the kernel and run it, for it is compiled when it runs."""
        kernel = self.prepare()
        kernel(*operands)
        self.candidate = kernel


def _is_worth_numba() -> bool:
    """Whether Numba is there, or what it could serve has cost enough to import it."""
    return "numba" in sys.modules or _waiting_for_numba.seconds > NUMBA_SECONDS


def _copies(operands: tuple[Any, ...]) -> tuple[Any, ...]:
    """Arrays that a kernel can run on beside the calls: callers may change theirs meanwhile.

    Their memory is none that the limits of a run count.
    """
    copies = [
        np.ndarray(operand.shape, operand.dtype, bytearray(max(operand.nbytes, 1))) for operand in operands
    ]
    if sum([copy.nbytes for copy in copies]) <= MAX_COPIED_BYTES:
        for copy, operand in zip(copies, operands, strict=True):
            copy[...] = operand
    return tuple(copies)


class NoCode(Exception):
    """There can be no native code; says why."""


class _Code(Protocol):
    """See `nimblehlo.plan.implementations.elementwise_fusion.Code`."""

    @property
    def key(self) -> str: ...
    def is_quick(self) -> bool: ...
    def function(self) -> Callable[..., Any]: ...


class Generated(Tiering):
    """Calls the reference until generating native code pays.

    A call waits for it at once, where the references of all steps that share it are expected to take longer
    than the compilation; as soon as loading it pays, where it is kept on the disk; and otherwise once the
    references have taken `PATIENCE` times as long as the compilation.

    Args:
        reference: called with the operands and, by name, the regions.
        code: makes the code, or raises NoCode.
        reference_seconds: what one call of the reference is expected to take.
        compile_seconds: what the compilation is expected to take.
        may_overwrite: pairs of an operand and a result that may be the same memory.
        kind: where the reference is a program on rows, steps of one kind share their code; otherwise those
            do whose codes have equal keys.
    """

    __slots__ = ("code", "compile_seconds", "kind", "lookup_seconds")

    def __init__(
        self,
        reference: Callable[..., Any],
        code: Callable[[], _Code],
        reference_seconds: float,
        compile_seconds: float,
        may_overwrite: tuple[tuple[int, int], ...],
        kind: Hashable = None,
    ) -> None:
        super().__init__(reference, reference_seconds)
        self.code = code
        self.accepts_out = True
        self.may_overwrite = may_overwrite
        self.lookup_seconds = CACHE_LOAD_SECONDS
        self.compile_seconds = compile_seconds
        self.kind = kind

    def key(self) -> Hashable:
        """What tells the code from others; None where there is none, or too little work to look."""
        if self.kind is not None:
            return self.kind
        if self.profile.expected < MIN_SHARED_SECONDS:
            return None
        try:
            return self.code().key
        except NoCode:
            return None

    @property
    def wait_threshold(self) -> float:
        """The time in references after which a call waits for the code."""
        return 0.0 if self.profile.expected > self.compile_seconds else PATIENCE * self.compile_seconds

    def consider(self, operands: tuple[Any, ...]) -> None:
        spent, job = self.profile.seconds, self.profile.job
        if job is not None and job.ended:
            # What is judged by its time needs the reference's.
            if self.fastest < math.inf or self.wait_threshold == 0.0:
                self.adopt()
            return
        if spent + self.profile.expected > min(self.lookup_seconds, self.wait_threshold):
            self.use_cached_or_compile()
        fraction = EARLY_FRACTION if self.kind is None else LATE_FRACTION
        is_due = self.fastest < math.inf and spent > fraction * self.compile_seconds
        if is_due and self.candidate is None and self.profile.job is None:
            self.begin()

    def begin(self) -> None:
        """Compile beside the calls."""
        self.job = self.profile.job = BACKGROUND.submit(Job(self.compile_if_possible, is_quick=True))

    def adopt(self) -> None:
        """Have the code that was compiled for this step, or for another one that shares it."""
        try:
            if self.code().is_quick():
                self.compile()
            else:
                self.give_up()
        except NoCode:
            self.give_up()

    def use_cached_or_compile(self) -> None:
        """Have the code, if it lies on the disk or its time has come."""
        spent = self.profile.seconds
        if spent + self.profile.expected < min(self.wait_threshold, compiler_load_seconds()):
            self.lookup_seconds = compiler_load_seconds()
            return
        is_hot = spent >= self.wait_threshold
        try:
            if is_hot and self.profile.job is not None:
                BACKGROUND.finish(self.profile.job)
                if self.candidate is None:
                    self.adopt()
            elif is_hot or (_may_be_quick() and self.code().is_quick()):
                self.compile()
            else:
                self.lookup_seconds = self.wait_threshold
        except NoCode:
            self.give_up()

    def compile_if_possible(self) -> None:
        """Compile, if there can be code."""
        with suppress(NoCode):
            self.compile()

    def compile(self) -> None:
        """Compile."""
        self.candidate = self.code().function()


def _may_be_quick() -> bool:
    """Whether any code might be had without compiling it."""
    from ...codegen.llvm.machine import may_be_quick

    return may_be_quick()
