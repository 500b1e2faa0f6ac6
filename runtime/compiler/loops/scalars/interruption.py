"""Inner loops of native code that may run long: the caller counts their iterations, and can stop them."""

from __future__ import annotations

from collections.abc import Sequence

from llvmlite import ir

from ....program.ir import Block, Operation
from ....program.ops.framework.traits import RegionRole
from ..llvm.values import I64, POINTER
from .counting import count_limit
from .elements import element_count, is_plain
from .emitter import emit_rule_of
from .in_place_updates import role_of

MAX_UNCHECKED_ITERATIONS = 1 << 12
"""A loop within another one that may take more iterations is checked."""
MAX_UNCHECKED_ELEMENTS = 1 << 22
"""Elements (`_computed_elements`) between two checks: some milliseconds."""
STOPPED = 2
"""Return value of native code that its caller has stopped."""

_CHECK = ir.FunctionType(I64, [POINTER, I64])


def is_checked(loop: Operation) -> bool:
    """Whether the iterations of a `while` within other native code are counted: it may run long."""
    limit = count_limit(loop)
    return limit is None or limit > MAX_UNCHECKED_ITERATIONS


def check_interruption(operations: Sequence[Operation]) -> str | None:
    """Why operations cannot be generated where nothing interrupts them, or None if they can."""
    inner_operations = [inner for operation in operations for inner in operation.walk()]
    loops = [inner for inner in inner_operations if role_of(inner) is RegionRole.LOOP]
    return "an inner loop may run long" if any(map(is_checked, loops)) else None


class Interruption:
    """Generates the checks of a function that returns an i64.

    Args:
        builder: of the function.
        monitor: the address of a monitor, which begins with the address of its function
            `int64 check(void *monitor, int64 iterations)`, which returns 0 if the loop may continue.
    """

    def __init__(self, builder: ir.IRBuilder, monitor: ir.Value) -> None:
        self.builder = builder
        self.monitor = monitor
        self.stopped = builder.append_basic_block("stopped")
        ir.IRBuilder(self.stopped).ret(I64(STOPPED))

    def emit_check(self, body: Block) -> None:
        """Generate, in a loop with that body, a check once every so many iterations."""
        builder = self.builder
        elements = _computed_elements(body)
        interval = I64(max(1, min(MAX_UNCHECKED_ITERATIONS, MAX_UNCHECKED_ELEMENTS // elements)))
        with builder.goto_entry_block():
            count = builder.alloca(I64)
            builder.store(interval, count)
        left = builder.sub(builder.load(count), I64(1))
        builder.store(left, count)
        with builder.if_then(builder.icmp_signed("==", left, I64(0)), likely=False):
            builder.store(interval, count)
            check = builder.load(self.monitor, typ=_CHECK.as_pointer())
            outcome = builder.call(check, [self.monitor, interval])
            self.emit_stop(builder.icmp_signed("!=", outcome, I64(0)))

    def emit_stop(self, condition: ir.Value) -> None:
        """Generate a return of `STOPPED` where a condition holds."""
        continues = self.builder.append_basic_block("continues")
        self.builder.cbranch(condition, self.stopped, continues)
        self.builder.position_at_end(continues)


def _computed_elements(block: Block) -> int:
    """About how many elements a block computes; multiplications of products count as elements."""
    total = 1
    for operation in block.operations:
        total += emit_rule_of(operation).multiplications(operation)
        total += sum(element_count(value.type) for value in operation.results if is_plain(value.type))
        inner = sum(_computed_elements(region.block) for region in operation.regions)
        total += inner * (count_limit(operation) or 1 if role_of(operation) is RegionRole.LOOP else 1)
    return total
