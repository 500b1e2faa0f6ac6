"""The options of compilation and execution."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal, NamedTuple  # noqa: TID251 (the layer below that of the other one)

import numpy as np

REDUCTION_TREES: Final = ("blocked", "balanced", "left", "right")
SCATTER_SCHEDULES: Final = ("lexicographic", "reverse")
ACCUMULATIONS: Final = ("wide", "declared", "float64")
OUT_OF_BOUNDS: Final = ("auto", "element", "window")
FUNCTIONS: Final = ("fast", "correctly_rounded")
LINEAR_ALGEBRA: Final = ("reproducible", "library")
CHECKS: Final = (
    "unique_indices",
    "indices_are_sorted",
    "clamped_indices",
    "dropped_updates",
    "shape_mismatch",
    "division_by_zero",
    "division_overflow",
    "shift_amount",
    "float_to_integer",
    "quantized_saturation",
    "non_finite",
    "uninitialized_memory",
)
"""The checks of the sanitizer, which docs/sanitizer.md explains."""
SANITIZE_ACTIONS: Final = ("raise", "warn", "collect")

Tree = Literal["blocked", "balanced", "left", "right"] | tuple[Literal["random"], int]
Schedule = Literal["lexicographic", "reverse"] | tuple[Literal["random", "shuffled"], int] | Iterable[int]
Accumulation = Literal["wide", "declared", "float64"]


class Ordering(NamedTuple):
    """The evaluation orders and precisions chosen where the specification leaves them open. See `Options`."""

    scatter_schedule: Any = "lexicographic"
    reduction_tree: Any = "blocked"
    accumulate: str = "wide"


@dataclass(frozen=True)
class Options:
    """The options with which a program is compiled and run.

    Results depend on `seed`; where the specification leaves an order open, on `scatter_schedule`,
    `reduction_tree` and `accumulate`; and where it leaves the accuracy open, on `functions`: results that
    differ between two of these settings are equally valid.
    docs/numerics.md says for each operation what they decide.

    Attributes:
        compile: when steps are compiled to native code. ``"auto"``: in the background once a step has taken a
            part of the estimated time to compile it, and a call waits for the code once it has taken about as
            long; ``"eager"``: with the program, but for kernels, which Numba compiles at their first call;
            ``"never"``: steps run NumPy and functions that need no compilation.
        threads: maximum number of threads that a kernel may use; None: one for each processor that
            the process may use, by its affinity and its quota of processor time. References, and steps with
            ``compile="never"``, take one, except where NumPy multiplies integers by BLAS.
        seed: of the random numbers that ``stablehlo.rng`` draws, from 0 to 2^64 - 1. A draw depends on the
            seed and on the number of earlier draws in the same call.
        probe_directory: the folder into which ``interpreter.probe`` writes; None: probes fail. Each call that
            probes writes a new index, so that calls must not overlap.
        scatter_schedule: the order in which `scatter` applies its updates: ``"lexicographic"`` in the index
            space of `updates`; ``"reverse"``, from its end; ``("random", seed)``, a random permutation of
            that space; ``("shuffled", seed)``, the updates of each element of the result in a separate random
            order, which is faster to generate; or a permutation of range(size of `updates`), as anything that
            NumPy converts to an array. It is stored as a tuple, and a scatter with another number of updates
            is rejected.
        reduction_tree: the tree by which `reduce`, `reduce_window` and `select_and_scatter` reduce values:
            ``"blocked"``: adjacent pairs, level by level, unless docs/numerics.md says otherwise for the
            operation; ``"balanced"``: the left subtree of each node has the first half of its values, rounded
            up; ``"left"`` and ``"right"``: one value after another, from that side; ``("random", seed)``: a
            random tree over the values in their order. The initial value is combined with the total as its
            left operand; in ``"left"`` it is the first leaf, in ``"right"`` the last one, and in a random
            tree one to three random leaves.
        accumulate: the type in which sums and products are accumulated: ``"wide"``: floats narrower than f32
            in f32, rounded once, except for scatters and cumulative windows, which round each step;
            ``"declared"``: in the body's own type at every node; ``"float64"``: all floats and complex
            numbers in f64 and complex<f64>, rounded once. It applies to bodies that are one addition or
            multiplication; other bodies, and integers, use the declared type.
        scatter_out_of_bounds: what `scatter` drops if an update is out of bounds: ``"element"``: that element
            alone, as the specification says; ``"window"``: all updates of its window, as XLA does;
            ``"auto"``: as XLA for programs written for XLA, which are objects of JAX or jaxlib or have
            attributes of the dialects `jax`, `mhlo` or `tf` on the module, a function, an argument or a
            result; as the specification for all others. `Executable.explain` shows which rule applies, and
            why.
        functions: how operations whose `result_accuracy` is DEFAULT, or that have none, compute functions of
            f32: ``"fast"``: those that docs/numerics.md lists in f32, with errors of at most 1 ulp;
            ``"correctly_rounded"``: as HIGHEST. The bits of each are the same on every processor.
        linear_algebra: what computes decompositions and solves triangular systems: ``"reproducible"``:
            kernels whose bits are the same on every processor, where there are some; ``"library"``: LAPACK
            and BLAS, whose bits depend on the processor, and which are faster for some sizes;
            docs/numerics.md lists them. Constants are always folded reproducibly.
        sanitize: the checks to make while running: True: all of `CHECKS`; or names from `CHECKS`, stored as a
            frozenset; False or empty: none. docs/sanitizer.md describes the checks.
        sanitize_action: the action on a finding: ``"raise"``: the call ends with an UndefinedBehaviorError;
            ``"warn"``: a SanitizerWarning, once for each operation and check; ``"collect"``: none.
            `Executable.findings` has the finding in each case.
        max_steps: maximum number of steps of a call, including those of regions in each iteration of a loop;
            None: no limit.
        max_bytes: maximum number of bytes that temporaries and results of a call may occupy at the same time;
            None: no limit. Inputs and constants do not count.
        timeout: seconds after which a call is stopped; None: never. Steps, loops and launches of tasks notice
            it. A native function that goes on, such as a decomposition, is abandoned, and ends in the
            background. So a program with a value of more than 8192 elements, or with kernels that a call
            compiles, runs on another thread, with copies of writeable inputs, and so do the functions of the
            user that it calls.
        donate: numbers of the inputs that a call may consume, or ``"all"``: it may overwrite them, and
            results may use their memory. Their contents are undefined after the call. Inputs that share
            memory with another one, or are not C-contiguous and writeable, are not overwritten.
        last_pass: the name of the last optional pass of the compiler that runs; None: all run.
            ``Executable.explain("passes")`` lists them. Results and their bits are the same; a program that
            fails with fewer passes and not with all, or the other way round, shows which one is at fault.
        cache_bytes: maximum number of bytes of compiled code on disk, of all programs and versions; the least
            recently used code is removed. 0: no code is stored or loaded. The limit applies to the whole
            process as soon as a program is compiled with it. None: the last limit of the process, otherwise
            ``NIMBLEHLO_CACHE_BYTES``, otherwise 1 GiB.
        reference: True: the program runs as it is written, each operation by the text of the specification in
            Python, element by element: slow, to compare other modes with. `compile` is ``"never"`` then.

    A call that exceeds a limit ends with an ExecutionError; the Executable can be called again.

    Raises:
        ValueError: a value is not allowed.
    """

    compile: Literal["auto", "eager", "never"] = "auto"
    threads: int | None = None
    seed: int = 0
    probe_directory: str | os.PathLike[str] | None = None
    max_steps: int | None = None
    max_bytes: int | None = None
    timeout: float | None = None
    donate: tuple[int, ...] | Literal["all"] = ()
    scatter_schedule: Schedule = "lexicographic"
    reduction_tree: Tree = "blocked"
    accumulate: Accumulation = "wide"
    scatter_out_of_bounds: Literal["auto", "element", "window"] = "auto"
    functions: Literal["fast", "correctly_rounded"] = "fast"
    linear_algebra: Literal["reproducible", "library"] = "reproducible"
    sanitize: bool | str | Collection[str] = False
    sanitize_action: Literal["raise", "warn", "collect"] = "raise"
    last_pass: str | None = None
    cache_bytes: int | None = None
    reference: bool = False

    def __post_init__(self) -> None:
        if self.compile not in ("auto", "eager", "never"):
            raise ValueError(f"compile is {self.compile!r}, but must be 'auto', 'eager' or 'never'")
        if not isinstance(self.reference, bool):
            raise ValueError(f"reference is {self.reference!r}, but must be True or False")
        if self.reference:
            object.__setattr__(self, "compile", "never")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ValueError(f"threads is {self.threads!r}, but must be None or a positive integer")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**64:
            raise ValueError(f"seed is {self.seed!r}, but must be an integer from 0 to 2^64 - 1")
        if not isinstance(self.probe_directory, (str, os.PathLike, type(None))):
            raise ValueError(f"probe_directory is {self.probe_directory!r}, but must be None or a path")
        for name in ("max_steps", "max_bytes", "cache_bytes"):
            limit = getattr(self, name)
            if limit is not None and (not isinstance(limit, int) or limit < 0):
                raise ValueError(f"{name} is {limit!r}, but must be None or an integer that is not negative")
        if self.timeout is not None and not (isinstance(self.timeout, (int, float)) and self.timeout >= 0):
            raise ValueError(
                f"timeout is {self.timeout!r}, but must be None or seconds that are not negative"
            )
        self._check_donate()
        self._check_ordering()
        self._check_names()
        object.__setattr__(self, "sanitize", _checks(self.sanitize))

    def _check_donate(self) -> None:
        if self.donate == "all":
            return
        numbers = tuple(self.donate) if isinstance(self.donate, (tuple, list, set, range)) else None
        if numbers is None or not all(isinstance(number, int) and number >= 0 for number in numbers):
            raise ValueError(f"donate is {self.donate!r}, but must be 'all' or indices of inputs")
        object.__setattr__(self, "donate", numbers)

    def _check_ordering(self) -> None:
        object.__setattr__(self, "scatter_schedule", _schedule(self.scatter_schedule))
        if not _is_one_of(self.reduction_tree, REDUCTION_TREES) and not _is_random(self.reduction_tree):
            raise ValueError(
                f"reduction_tree is {self.reduction_tree!r}, but must be one of {REDUCTION_TREES} or "
                f"('random', seed)"
            )
        if not _is_one_of(self.accumulate, ACCUMULATIONS):
            raise ValueError(f"accumulate is {self.accumulate!r}, but must be one of {ACCUMULATIONS}")

    def _check_names(self) -> None:
        for name, names in (
            ("scatter_out_of_bounds", OUT_OF_BOUNDS),
            ("functions", FUNCTIONS),
            ("linear_algebra", LINEAR_ALGEBRA),
            ("sanitize_action", SANITIZE_ACTIONS),
        ):
            value = getattr(self, name)
            if not _is_one_of(value, names):
                raise ValueError(f"{name} is {value!r}, but must be one of {names}")

    @property
    def ordering(self) -> Ordering:
        """The settings that decide what the specification leaves open."""
        return Ordering(self.scatter_schedule, self.reduction_tree, self.accumulate)


def _checks(value: Any) -> frozenset[str]:
    """The names of the checks that a value of `sanitize` selects.

    Raises:
        ValueError: the value selects no checks.
    """
    if isinstance(value, bool):
        return frozenset(CHECKS if value else ())
    names = (value,) if isinstance(value, str) else value
    try:
        if all(name in CHECKS for name in names):
            return frozenset(names)
    except TypeError:
        pass
    raise ValueError(f"sanitize is {value!r}, but must be True, False or names out of {CHECKS}")


def _is_one_of(value: object, names: tuple[str, ...]) -> bool:
    return isinstance(value, str) and value in names


def _is_random(value: object, kinds: tuple[str, ...] = ("random",)) -> bool:
    """Whether a value is ("random", seed), or another of the kinds with its seed."""
    return (
        isinstance(value, tuple)
        and len(value) == 2
        and value[0] in kinds
        and isinstance(value[1], int)
        and value[1] >= 0
    )


def _schedule(value: object) -> Any:
    """A scatter_schedule as `Options` stores it.

    Raises:
        ValueError: the value is no schedule.
    """
    if _is_one_of(value, SCATTER_SCHEDULES) or _is_random(value, ("random", "shuffled")):
        return value
    try:
        numbers = tuple(np.asarray(value).reshape(-1).tolist())
        if sorted(numbers) == list(range(len(numbers))) and all(type(number) is int for number in numbers):
            return numbers
    except (TypeError, ValueError):
        pass
    raise ValueError(
        f"scatter_schedule must be one of {SCATTER_SCHEDULES}, ('random', seed) or ('shuffled', seed) with a "
        f"seed from 0 on, or a permutation of the numbers below its size"
    )
