"""Loops on scalars and small arrays: a `while` starts with its plan, and continues as native code."""

from __future__ import annotations

import functools
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from time import perf_counter
from typing import TYPE_CHECKING, Any

from ....options import Ordering
from ....program.ir import Operation, Value, captured_values
from ....program.ir.record import Record
from ....program.ops.control.control import While
from ....program.ops.framework.memory_limit import bytes_of
from ....types import TensorType, Type
from ... import cost_model
from ...implementation import Implementation, ImplementationKind, NoCode, Runnable
from ...loops.native_code import workspace_bytes
from ...specialize.framework.operation_classes import is_pure
from ...specialize.loop_sharding.ended_rows import row_flags
from ...specialize.loop_sharding.loop_shard import CarriedSharding, LoopShard, loop_shard
from ..tiering.background import BACKGROUND, compiling_job
from ..tiering.profiles import ProfiledLoop
from ..tiering.time_limit import within_time_limit
from .overwritten_values import overwritten_values

if TYPE_CHECKING:
    from ....kernels.launch.while_loop import LoopShards, NativeWhile
    from ...loops.arrays import ImplementationOf
    from .time_shares import MeasuredShares

_MAX_SCALAR_ELEMENTS = 16
"""Maximum elements of a value that is not an array."""

FIRST_CALL_ITERATIONS, FIRST_CALL_WORK = 1 << 12, 1 << 24
"""Maximum iterations of the first native call of a loop, and their maximum work (multiplications and bytes);
later calls do more, up to CALL_SECONDS."""
CALL_SECONDS = 0.02
"""Seconds of one native call, about; a signal can stop the loop between two calls."""

_MAX_OPTIMIZED_OPERATIONS = 400
"""Maximum operations of a loop whose short inner loops LLVM unrolls. Without unrolling, 1,000 operations
compile in 0.7 instead of 1.0 s on Sapphire Rapids, and run 5 % longer."""
_PLAN_SECONDS = 0.02
"""Seconds that a loop runs by its plan between two checks whether its native code is ready."""
_PATIENCE = 10.0
"""For how long a call waits for the native code of a loop, as a multiple of the expected time, before it runs
by the plan again. Beside four busy processes on two processors, the code takes up to ten times as long."""

_MAX_SERIAL_MULTIPLICATIONS = 1 << 23
"""Maximum multiplications of an iteration on one thread; blocked matrix products are faster for more."""
_MAX_LAUNCHED_WORK_PER_OPERATION = 1 << 22
"""Maximum work of the launches of an iteration, in multiplications and bytes, for each operation: more takes
0.1 ms and more for each, and a step 2 us."""
_MIN_SHARD_WORK = 1 << 15
"""Minimum work of an iteration of a shard, in multiplications."""
_MAX_ENDING_SHARDS = 1 << 8
"""Maximum number of shards that each end with their own rows: they may be more than threads."""
_MAX_REDUNDANT_WORK = 1.25
"""Maximum work of all shards together, as a multiple of the loop's: each shard repeats what all rows
share."""
_MULTIPLICATIONS_PER_BYTE = 2
"""Cost of writing a byte of an array, in multiplications."""
_MULTIPLICATION_SECONDS = 1e-11
"""Time of a multiplication in seconds."""


class LoopToCompile(Record):
    """A `while`, or one shard of it, to compile to native code.

    Attributes:
        operation: the loop to generate.
        shard: the shard that `operation` computes; None: all of the loop.
        launches: the number of operations that its code launches.
        was_stored: whether an earlier process has decided that, whose code may be on the disk.
    """

    operation: Operation
    shard: LoopShard | None = None
    launches: int = 0
    was_stored: bool = False

    @property
    def count(self) -> int:
        """The number of shards."""
        return 1 if self.shard is None else self.shard.count

    @property
    def captured(self) -> list[Value]:
        """The values that its regions capture; the number of a shard's first row is the last one."""
        first = None if self.shard is None else self.shard.first_row
        values = [value for value in captured_values(self.operation.regions) if value is not first]
        return values if first is None else [*values, first]


class RefusedLoop(Record):
    """A `while` of which nothing is compiled.

    Attributes:
        reason: why.
    """

    reason: str


class DecidedLoop:
    """What is compiled of a `while`, decided before the implementation is chosen.

    Args:
        operation: the `while`.
        loop: what is compiled of it.
    """

    def __init__(self, operation: Operation, loop: LoopToCompile | RefusedLoop) -> None:
        self._loop = loop
        self._operands = _operands_within(operation)

    def loop_of(self, operation: Operation) -> LoopToCompile | str | None:
        """What is compiled of the `while` as it is now, or why nothing is; None: to be decided again.

        A shard, or a loop with launches, is a copy. It follows where passes have replaced the values that the
        `while` reads.
        """
        if isinstance(self._loop, RefusedLoop):
            return self._loop.reason
        copied, operands = self._loop.operation, _operands_within(operation)
        if copied is operation:
            return self._loop
        if operands.keys() != self._operands.keys():
            return None
        replaced: dict[Value, Value] = {}
        for inner, values in operands.items():
            former = self._operands[inner]
            if len(former) != len(values):
                return None
            for old, new in zip(former, values, strict=True):
                if replaced.setdefault(old, new) is not new or old.type != new.type:
                    return None
        changed = {old: new for old, new in replaced.items() if old is not new}
        copied.replace_operands(changed)
        for region in copied.regions:
            region.block.replace_uses(changed)
        self._operands = operands
        return self._loop


def encodable_decisions(native_loops: Mapping[Operation, DecidedLoop]) -> list[tuple[Operation, Record]]:
    """The decisions for `nimblehlo.program.ir.encoding`, without those that must be made again."""
    decisions: list[tuple[Operation, Record]] = []
    for operation, decided in native_loops.items():
        loop = decided.loop_of(operation)
        if isinstance(loop, str):
            decisions.append((operation, RefusedLoop(loop)))
        elif loop is not None:
            stored = LoopToCompile(loop.operation, loop.shard, loop.launches, was_stored=True)
            decisions.append((operation, stored))
    return decisions


def _operands_within(operation: Operation) -> dict[Operation, Sequence[Value]]:
    """The operands of an operation and of those in its regions."""
    return {inner: inner.operands for inner in operation.walk()}


def loop_to_compile(
    view: While, threads: int | None, may_launch: Callable[[Operation], bool] | None = None
) -> LoopToCompile | str:
    """The loop to compile for a `while`, itself or one shard of it, or the reason why nothing is compiled.

    Args:
        threads: maximum number of threads; None: all.
        may_launch: whether there is code that the loop can call for an operation; None: the loop calls none.
    """
    from ....kernels.launch.threads import chosen_threads
    from ...loops import while_function
    from ...loops.scalars import check_ordering

    reason = check_ordering(view.operation.regions, view.ordering)
    if reason is not None:
        return reason
    unsharded = LoopToCompile(view.operation)
    count = chosen_threads(threads)
    loop = _sharded(unsharded, count, _MAX_SERIAL_MULTIPLICATIONS)
    if loop is not None:
        return loop
    max_multiplications = _MAX_SERIAL_MULTIPLICATIONS if count == 1 else None
    reason = while_function.check_while_function(unsharded.operation, unsharded.captured, max_multiplications)
    if reason is None:
        return unsharded
    return (_with_launches(view, threads, may_launch) if may_launch else None) or reason


def _with_launches(
    view: While, threads: int | None, may_launch: Callable[[Operation], bool]
) -> LoopToCompile | str | None:
    """The loop with launches, or why native code cannot compute what is not launched; None if launches would
    change what the loop does.

    Products that are not launched are so small that threads would not share them, however many there are.
    """
    from ...loops import while_function
    from ...loops.arrays import has_calls_as_effects, launched_operations, launched_work, with_launches

    # Code that goes on after an interruption evaluates the condition of an iteration again.
    if not has_calls_as_effects(view.operation) or not is_pure(view.cond.block):
        return None
    if view.ordering != Ordering():
        return None
    operation = with_launches(view.operation, may_launch, threads)
    loop = LoopToCompile(operation, launches=len(launched_operations([operation])))
    operations = while_function.operations_within(view.operation)
    if launched_work(operation) > _MAX_LAUNCHED_WORK_PER_OPERATION * operations:
        return f"its {operations} operations take so long that their steps cost little beside"
    reason = while_function.check_while_function(
        operation, loop.captured, _MAX_SERIAL_MULTIPLICATIONS, has_launches=True
    )
    return reason or loop


def _sharded(unsharded: LoopToCompile, max_shards: int, max_multiplications: int) -> LoopToCompile | None:
    """A shard of a `while`, whose work determines the number of shards; None if it is not sharded.

    Args:
        max_shards: the maximum number of shards that run the same iterations.
        max_multiplications: the maximum multiplications of matrix products in an iteration of a shard.
    """
    from ...loops import while_function

    ends_by_rows = row_flags(unsharded.operation) is not None
    if max_shards == 1 and not ends_by_rows:
        return None
    if not while_function.is_plain_loop(unsharded.operation):
        return None
    if not while_function.runs_uninterrupted(unsharded.operation):
        # Signals can only be handled on the thread of the call.
        return None
    work = _iteration_work(unsharded, includes_large=ends_by_rows)
    same, ending = [min(most, work // _MIN_SHARD_WORK) for most in (max_shards, _MAX_ENDING_SHARDS)]
    shard = loop_shard(unsharded.operation, same, ending)
    if shard is None or not _writes_only_own_windows(shard):
        return None
    loop = LoopToCompile(shard.operation, shard)
    shard_work = _iteration_work(loop) - _MULTIPLICATIONS_PER_BYTE * _bytes_in_place(loop, shard)
    is_worth_sharding = shard.count * shard_work <= _MAX_REDUNDANT_WORK * work
    reason = while_function.check_while_function(loop.operation, loop.captured, max_multiplications)
    return loop if is_worth_sharding and reason is None else None


def _bytes_in_place(loop: LoopToCompile, shard: LoopShard) -> int:
    """The bytes of the rows that a shard reads where the loop captures them, which count as computed."""
    captured = set(loop.captured)
    return sum(
        bytes_of(operation.result.type)
        for region in shard.operation.regions
        for operation in region.block.operations
        if shard.first_row in operation.operands
        and operation.operands[0] in captured
        and _are_outermost(operation.operands[0].type, operation.result.type)
    )


def _are_outermost(type: Type, window: Type) -> bool:
    """Whether a window consists of rows of an array, which lie side by side."""
    assert isinstance(type, TensorType) and isinstance(window, TensorType)
    d = next((d for d, size in enumerate(type.shape) if size > 1), 0)
    return type.shape[d + 1 :] == window.shape[d + 1 :]


def _writes_only_own_windows(shard: LoopShard) -> bool:
    """Whether a shard writes no window of another shard: it never copies an array of which others update
    windows.
    """
    from ...loops import while_function

    pairs = zip(shard.carried, shard.operation.operands, strict=True)
    shared = [operand.type for kind, operand in pairs if kind is CarriedSharding.WINDOWS]
    return all(while_function.updates_in_place_type(shard.operation, type) for type in shared)


def _iteration_work(loop: LoopToCompile, includes_large: bool = False) -> int:
    """Estimated work of an iteration, in multiplications.

    Args:
        includes_large: as for `while_function.iteration_work`.
    """
    from ...loops import while_function

    computed_bytes, multiplications = while_function.iteration_work(loop.operation, includes_large)
    return multiplications + _MULTIPLICATIONS_PER_BYTE * computed_bytes


def is_long(view: While, loop: LoopToCompile) -> bool:
    """Whether a loop is known to run long enough to be compiled first."""
    from ...loops.scalars import count_limit

    count = count_limit(view.operation) or 0
    if count < cost_model.MIN_EAGER_ITERATIONS:
        return False
    operations = sum(1 for region in view.operation.regions for _ in region.walk())
    wait = blocking_wait_seconds(loop)
    if loop.launches:
        wait *= cost_model.LAUNCHING_LOOP_WAIT_FACTOR
    return count * operations * cost_model.LOOP_OPERATION_SECONDS >= wait / 2


def blocking_wait_seconds(loop: LoopToCompile, quickly: bool = False) -> float:
    """Seconds that a loop may run by its plan before a call waits for its native code.

    Args:
        quickly: whether quick code will do.
    """
    return cost_model.THRESHOLDS["loop"].blocking_wait * _compile_seconds(loop, quickly)


def _compile_seconds(loop: LoopToCompile, quickly: bool = False) -> float:
    """The estimated time of compiling a loop and what it launches, in seconds.

    Args:
        quickly: whether quick code will do.
    """
    seconds = _own_compile_seconds(loop)
    launches = len(set(map(_outline, _launched_operations(loop))))
    seconds += cost_model.LOOP_COMPILE_SECONDS_PER_LAUNCH * launches
    if quickly and cost_model.is_quick_at_first(*_counts(loop.operation)):
        seconds *= cost_model.QUICK_FRACTION
    return cost_model.LOOP_COMPILE_SECONDS + seconds


def _own_compile_seconds(loop: LoopToCompile) -> float:
    """The estimated time of compiling a loop's own code, in seconds."""
    arrays = _counts(loop.operation)[1] - sum([_counts(one)[1] for one in _launched_operations(loop)])
    return cost_model.LOOP_COMPILE_SECONDS_PER_ARRAY * arrays


def _launched_operations(loop: LoopToCompile) -> Sequence[Operation]:
    """The operations that a loop launches."""
    from ...loops.arrays import launched_operations

    return launched_operations([loop.operation]) if loop.launches else ()


def _outline(launched: Operation) -> Hashable:
    """Operations whose code is the same have the same outline, and few others."""
    types = [value.type for value in (*launched.operands, *launched.results)]
    return tuple(types), tuple([inner.name for inner in launched.walk()])


def _counts(operation: Operation) -> tuple[int, int]:
    """The number of operations in the regions of an operation, and of the arrays that they compute."""
    operations = [inner for region in operation.regions for inner in region.walk()]
    result_types = [value.type for inner in operations for value in inner.results]
    arrays = sum(isinstance(type, TensorType) and type.size > _MAX_SCALAR_ELEMENTS for type in result_types)
    return len(operations), arrays


class NativeLoop(ProfiledLoop):
    """A `while` that `check_while_function` accepts.

    Its regions run by their plans until that has taken, over all calls, as long as compiling the loop. From
    that iteration on, it runs in native code. It changes earlier if the code is cached on the disk or was
    compiled in the background. Both give the same bits.

    Args:
        view: the operation.
        loop: what is compiled of it.
        threads: maximum number of threads; None: all.
        is_native_at_once: whether it runs in native code from the first iteration on, unless that is overdue.
        is_eager: whether its first call waits for its code however long that takes.
        implementation_of: the implementations of the operations that its code launches.

    Attributes:
        max_iterations: the limit to which it counts up; 0 for other loops.
        counted_seconds: the time by the plans, as it counts (`_count`).
        patience: seconds after which a call that waits for native code runs by the plans again.
        is_overdue: whether a call has waited in vain.
    """

    def __init__(
        self,
        view: While,
        loop: LoopToCompile,
        threads: int | None,
        is_native_at_once: bool,
        is_eager: bool,
        implementation_of: ImplementationOf,
    ) -> None:
        from ...loops.scalars import count_limit

        super().__init__(_compile_seconds(loop, quickly=not is_native_at_once))
        self.kind = ImplementationKind.GENERATED if is_native_at_once else ImplementationKind.TIERED
        reason = "a native loop" if loop.shard is None else f"a native loop in {loop.count} shards"
        if loop.launches:
            reason = f"a native loop that launches {loop.launches} operations"
        self.reason = reason if is_native_at_once else f"{reason}, after warm-up"
        self.view, self.loop, self.threads = view, loop, threads
        self.implementation_of = implementation_of
        self.capture_positions = _capture_positions(view, loop)
        self.unchanged = _unchanged(view)
        self.may_overwrite = tuple([(k, k) for k, unchanged in enumerate(self.unchanged) if not unchanged])
        self.blocking_wait = blocking_wait_seconds(loop, quickly=True)
        self.max_iterations = count_limit(view.operation) or 0
        self.background_start = cost_model.THRESHOLDS["loop"].background_start * self.compile_seconds
        self.counted_seconds = 0.0
        self.seconds_left = 0.0 if is_native_at_once else self.blocking_wait
        self.patience = _PATIENCE * (self.compile_seconds + cost_model.compiler_load_seconds())
        # To run an iteration by plans would take longer than to look: all of its steps are prepared.
        seconds = 0.0 if loop.was_stored else cost_model.CACHE_LOAD_SECONDS
        self.seconds_to_cache_lookup = seconds + cost_model.loader_seconds()
        self.is_inner = self.is_overdue = False
        self.is_native_at_once, self.is_eager = is_native_at_once, is_eager
        self._launched_implementations: dict[Operation, Implementation] = {}
        self._calls: Mapping[Operation, Any] = {}

    def set_enclosing(self, enclosing: Implementation) -> None:
        """Wait longer before compiling this loop: the loop around it is compiled with it when that is hot."""
        super().set_enclosing(enclosing)
        if isinstance(enclosing, NativeLoop) and not self.is_inner:
            self.is_inner = True
            self.seconds_left *= cost_model.INNER_LOOP_WAIT_FACTOR
            self.blocking_wait *= cost_model.INNER_LOOP_WAIT_FACTOR
            self.background_start = self.blocking_wait / 2

    @property
    def is_replaced(self) -> bool:
        return self.native is not None and not self.is_native_at_once

    def run(self, *operands: Any, cond: Any, body: Any, out: Any = None) -> Any:
        if self.native is not None:
            return self._run_native(self.native, operands, body, out)
        values, finished = self._run_plans(operands, cond, body)
        while not finished:
            native = self.native or self._awaited()
            if native is not None:
                return native(values, self._captures(body.captures), body.count_steps)
            values, finished = self._run_plans(values, cond, body)
        self.runs += 1
        # No iteration is slowed down now.
        self._compile_early(self.counted_seconds if self.is_inner else self.profile.seconds)
        return tuple(values)

    def _awaited(self) -> Runnable | None:
        """The native code, for which the call waits; None: the regions run by their plans for now.

        Other processes compile it, which share the processors with others, so it may take many times as long
        as expected. Where the call has waited in vain, it runs by the plans for as long, and waits twice as
        long the next time: it takes at most twice the time that it takes by the plans alone.
        """
        if self.job is None and not self.is_eager and not self.is_compiled(self._is_quick):
            self.begin()
        job = self.job
        if job is not None and not job.ended:
            BACKGROUND.finish(job, self.patience)
            if not job.ended:
                self.is_overdue = True
                self.seconds_left = self.patience
                self.patience *= 2
                return None
        return self.native or self._compile_or_give_up()

    def _compile_or_give_up(self) -> Runnable | None:
        """The native code; None if there can be none, and the regions run by their plans from now on."""
        try:
            return within_time_limit(self._compile)
        except (NoCode, MemoryError) as error:
            import logging

            self.seconds_left = float("inf")
            logging.getLogger(__name__).warning("a loop runs step by step: %s", error)
            return None

    def _run_native(self, native: Runnable, operands: Sequence[Any], body: Any, out: Any) -> Any:
        """Run all iterations in native code, which is timed once."""
        captured = self._captures(body.captures)
        if self.profile.seconds_of_calls:
            return native(operands, captured, body.count_steps, out)
        start = perf_counter()
        result = native(operands, captured, body.count_steps, out)
        self.profile.seconds_of_calls = (perf_counter() - start) * max(1, self.runs)
        return result

    def _captures(self, captures: Sequence[Any]) -> Sequence[Any]:
        """The captured values that the native code uses, in its order."""
        return (
            captures
            if self.capture_positions is None
            else [captures[index] for index in self.capture_positions]
        )

    def _compile_early(self, spent: float) -> None:
        """Begin to compile in the background, if the loop has run for long enough."""
        if self.job is None and spent > self.background_start:
            self.begin()
            if self.program is not None:
                self.program.begin_loops()

    @property
    def is_expected_to_begin(self) -> bool:
        """See `ProfiledLoop`."""
        operations = _counts(self.view.operation)[0]
        seconds = self.max_iterations * operations * cost_model.LOOP_OPERATION_SECONDS
        return self.native is None and seconds > self.background_start

    def begin(self) -> None:
        """Begin to compile in the background."""
        # A call waits for the code of a loop that begins with it; a thread of the job has that compiled.
        ahead = self.compile_texts_ahead if self.compiles_ahead else None
        seconds = _compile_seconds(self.loop)
        job = compiling_job(self._compile_if_possible, ahead, self._is_quick, seconds)
        self.job = self.profile.job = BACKGROUND.submit(job)

    def _compile_if_possible(self) -> None:
        """Compile in a job; a call that then finds no code says why there is none."""
        with suppress(NoCode):
            self._compile()

    def _compile(self) -> Runnable:
        if self._is_quick and self.compiles_ahead:
            # The texts of its launches are made while another process compiles its own, not between these.
            for _ in self.compile_texts_ahead(quickly=True):
                pass
        native = self.native = self.prepare(quickly=self._is_quick)
        self.profile.optimize(self._measured_shares().of)
        self._launched_implementations.clear()
        return native

    def _run_plans(self, operands: Sequence[Any], cond: Any, body: Any) -> tuple[list[Any], bool]:
        """Iterate by the regions' plans while `seconds_left`; the values, and whether the loop has ended."""
        values = list(operands)
        if self._is_expected_to_run_longer_than_compiling():
            return values, False
        iterations = 0
        while self.seconds_left > 0 and self.native is None:
            budget = min(self.seconds_left, self.seconds_to_cache_lookup, _PLAN_SECONDS)
            if self.job is None:
                budget = min(budget, self.background_start)
            start, begun, of_baselines = perf_counter(), iterations, self._seconds_of_baselines
            finished = False
            while not finished and perf_counter() - start < budget:
                finished = not cond(*values)[0]
                if not finished:
                    values = body.advance(values)
                    iterations += 1
            seconds = perf_counter() - start
            counted = self._count(seconds, self._seconds_of_baselines - of_baselines)
            self.seconds_to_cache_lookup -= seconds
            if finished:
                return values, True
            if self.seconds_to_cache_lookup <= 0:
                self.seconds_to_cache_lookup = float("inf")
                if self.is_compiled(self._is_quick):
                    break
            self._compile_early(self.counted_seconds)
            counted_each = counted / max(iterations - begun, 1)
            # The first iteration prepares the steps, which takes many times as long.
            is_representative = begun > 0 and self.job is not None
            if is_representative and self._runs_longer_than_compiling(iterations, counted_each):
                break
        return values, False

    def _is_expected_to_run_longer_than_compiling(self) -> bool:
        """Whether the baselines in the first run would take longer than compiling the loop."""
        is_first = self.job is None and self.runs == 0 and self.counted_seconds == 0.0
        if self.program is None or not is_first or self.is_inner or self.is_overdue:
            return False
        expected = self.max_iterations * self.program.expected_seconds_within(self)
        return expected > self.compile_seconds + cost_model.compiler_load_seconds()

    @property
    def _seconds_of_baselines(self) -> float:
        """The time so far in baselines of the program's steps, which native code may replace."""
        return 0.0 if self.program is None else self.program.seconds

    def _count(self, seconds: float, of_baselines: float) -> float:
        """Count the time of iterations by the plan: that of code which the loop would launch counts less.

        Such code is as quick in the plan, and compiling the loop slows it down.

        Args:
            seconds: of the iterations.
            of_baselines: of these, seconds in baselines.

        Returns:
            the seconds that count.
        """
        self.profile.seconds += seconds
        if self.loop.launches:
            of_baselines = min(of_baselines, seconds)
            seconds = of_baselines + (seconds - of_baselines) / cost_model.LAUNCHING_LOOP_WAIT_FACTOR
        self.counted_seconds += seconds
        self.seconds_left -= seconds
        return seconds

    def _runs_longer_than_compiling(self, iterations: int, counted_each: float) -> bool:
        """Whether the iterations that are left by the plan would take longer than compiling the loop.

        They and the thread that compiles would share the interpreter, and both take twice as long.

        Args:
            iterations: of this run so far.
            counted_each: the time of the last ones, as it counts.
        """
        if self.is_inner or self.is_overdue:
            return False
        left = (self.max_iterations - iterations) * counted_each
        return left > self.compile_seconds + cost_model.compiler_load_seconds()

    @functools.cached_property
    def scratch_bytes(self) -> int:
        from ....kernels.launch.while_loop import workspaces_of
        from ...loops import while_function

        loop = self.loop
        workspace = while_function.workspace_bytes(loop.operation, loop.captured)
        return workspaces_of(loop.count, self.threads) * workspace + (loop.count - 1) * self._copied_bytes()

    def _copied_bytes(self) -> int:
        """Bytes of the carried values of which each shard but the first has its own copy."""
        shard = self.loop.shard
        if shard is None:
            return 0
        triples = zip(shard.carried, shard.operation.operands, self.unchanged, strict=True)
        return sum(
            bytes_of(operand.type)
            for kind, operand, unchanged in triples
            if not unchanged and _shard_stride(kind, operand.type) is None
        )

    @functools.cached_property
    def key(self) -> str:
        """The key of the native code, which equal loops share."""
        from ...loops.description import operation_description
        from ...loops.llvm.machine import key_of

        return key_of("loop\n" + operation_description(self.loop.operation, self.loop.captured))

    def is_compiled(self, quickly: bool = False) -> bool:
        from ...loops.llvm import machine

        return machine.is_compiled(self.key, quickly)

    @property
    def fast_compile(self) -> bool:
        """See `machine.function_addresses`."""
        from ...loops.while_function import operations_within

        return operations_within(self.loop.operation) > _MAX_OPTIMIZED_OPERATIONS

    def _text(self) -> str:
        """The module in LLVM IR."""
        from ...loops import while_function
        from ...loops.llvm.module_text import text_of

        return text_of(while_function.while_module(self.loop.operation, self.loop.captured))

    @functools.cached_property
    def _is_quick(self) -> bool:
        """Whether LLVM optimizes the code while it is used: not where the first call needs all of it."""
        return not self.is_native_at_once and cost_model.is_quick_at_first(*_counts(self.loop.operation))

    @property
    def compiles_ahead(self) -> bool:  # type: ignore[override]
        """Whether other processes may compile the code: not for one thread, nor where calls begin with it."""
        return self.threads != 1 and not self.is_native_at_once

    def compile_texts_ahead(self, quickly: bool = False, is_hot: bool = True) -> Iterator[None]:
        from ...loops.llvm import machine

        rates = {
            implementation: share / implementation.cost().compile_seconds
            for implementation, share in self._launched_shares()
            if implementation.compiles_ahead and (implementation.has_quick_code or not quickly)
        }
        hottest_first = sorted(rates, key=lambda one: -rates[one])
        own_rate = self._time_shares[None] / (_own_compile_seconds(self.loop) or 1.0)
        # LLVM takes the longest for the loop's own code, but optimizes first what saves the most.
        is_hottest = own_rate >= max(rates.values(), default=0.0)
        names = self.function_names if quickly else ()
        unrolls_late = not self.fast_compile if is_hottest else None
        machine.compile_ahead(self.key, self._text, self.fast_compile, names, unrolls_late)
        yield
        for implementation in hottest_first:
            yield from implementation.compile_texts_ahead(quickly, is_hot=True)

    @functools.cached_property
    def _time_shares(self) -> Mapping[Operation | None, float]:
        from .time_shares import time_shares

        return time_shares(self.loop.operation)

    def _launched_shares(self) -> Iterator[tuple[Implementation, float]]:
        """The implementations that its code launches, and their shares in the time of its iterations."""
        for launched, share in self._time_shares.items():
            if launched is not None:
                yield self._implementation_of(launched.regions[0].block.operations[0]), share

    def _implementation_of(self, operation: Operation) -> Implementation:
        """The implementation of an operation that its code launches; the same one while that is compiled."""
        implementation = self._launched_implementations.get(operation)
        if implementation is None:
            implementation = self.implementation_of(operation)
            self._launched_implementations[operation] = implementation
        return implementation

    def _measured_shares(self) -> MeasuredShares:
        """The shares of its own code and of those that it launches in the time of its iterations."""
        from .time_shares import MeasuredShares

        shares = MeasuredShares(self.key, self._time_shares[None])
        for launched, call in self._calls.items():
            implementation = self._implementation_of(launched.regions[0].block.operations[0])
            shares.add(implementation.code_keys, self._time_shares[launched], call)
        return shares

    @property
    def function_names(self) -> tuple[str, str]:
        """The functions of the module that `prepare` loads."""
        from ...loops import while_function
        from ...loops.arrays import WORKSPACE_BYTES

        return while_function.NAME, WORKSPACE_BYTES

    def prepare(self, quickly: bool = False) -> NativeWhile:
        """See `Implementation.prepare`; `quickly` is an argument of `machine.function_addresses`."""
        from ....kernels.launch.while_loop import NativeWhile
        from ...loops import while_function
        from ...loops.arrays import library_symbols, prepared_launches
        from ...loops.llvm import machine
        from ...loops.scalars import count_limit

        loop = self.loop
        symbols = library_symbols([loop.operation])
        launches = prepared_launches(loop.operation, self._implementation_of, quickly)
        for launch in launches.values():
            symbols.update(launch.symbols)
        self._calls = {launched: launch.call for launched, launch in launches.items()}
        names, unrolls_late = self.function_names, not self.fast_compile
        address, size_address = machine.function_addresses(
            self.key, names, self._text, self.fast_compile, symbols, quickly, unrolls_late
        )
        work = sum(while_function.iteration_work(loop.operation))
        iterations = min(FIRST_CALL_ITERATIONS, FIRST_CALL_WORK // (work + 1) + 1)
        iterations = max(1, min(iterations, count_limit(self.view.operation) or iterations))
        size = workspace_bytes(size_address)
        overwritten = overwritten_values(self.view.operation)
        shards = self._shard_layout()
        return NativeWhile(address, self.unchanged, size, iterations, CALL_SECONDS, shards, overwritten)

    def _shard_layout(self) -> LoopShards | None:
        """The memory of the shards; None if the loop is not sharded."""
        from ....kernels.launch.while_loop import LoopShards

        loop, shard = self.loop, self.loop.shard
        if shard is None:
            return None
        seconds = loop.count * _iteration_work(loop) * _MULTIPLICATION_SECONDS
        shard_strides = [
            0 if unchanged else _shard_stride(kind, operand.type)
            for kind, operand, unchanged in zip(
                shard.carried, shard.operation.operands, self.unchanged, strict=True
            )
        ]
        return LoopShards(loop.count, shard.rows, tuple(shard_strides), seconds, self.threads)


def _shard_stride(kind: CarriedSharding, type: Any) -> int | None:
    """Bytes between the rows of a carried value of that type; 0: shards share it; None: each has a copy."""
    if kind is CarriedSharding.ROWS:
        return int(type.size * type.dtype.itemsize)
    return 0 if kind is CarriedSharding.WINDOWS else None


def _capture_positions(view: While, loop: LoopToCompile) -> list[int] | None:
    """The positions of the captured values that the native code uses; None for those of the loop itself."""
    if loop.operation is view.operation:
        return None
    captured = captured_values(view.operation.regions)
    used = loop.captured if loop.shard is None else loop.captured[:-1]
    return [captured.index(value) for value in used]


def _unchanged(view: While) -> tuple[bool, ...]:
    """For each carried value, whether the body returns it unchanged."""
    body = view.body.block
    carried_values: Sequence[Value] = body.terminator.operands
    return tuple([value is argument for value, argument in zip(carried_values, body.arguments, strict=True)])
