"""The least time of a call of a program on this machine, whatever the implementation.

WHAT MUST BE DONE. The bound counts, of the program after the compiler's optional simplifications:

- *bytes*: each element of an argument that a result depends on is read once, and each element of a result is
  written once. What a call needs not read, such as the rest of a sliced argument, does not count
  (`demand.py`), nor do results that are arguments or constants. Caches may still hold what earlier calls have
  left there, as much as fits (`Machine.moving_seconds`). Of gathers and scatters, the operand counts as
  unread, for all indices may be equal.
- *temporaries*: only those that a reduction of all elements separates from their use, as far as caches do not
  hold them (`temporaries.py`). Every other value can be consumed block by block, and so need not leave the
  caches.
- *arithmetic*: multiply-adds of products by their definition, functions by the fewest multiply-adds that are
  known (`costs.FunctionClass`), other operations by one instruction on vectors, each on the elements that
  differ from each other and that results depend on; sorts, Fourier transforms and factorizations by their
  least operations. Of loops, all iterations if their number is a constant, otherwise none; of branches none.
- *calls*: one call of native code, and where several threads share the work a launch on threads that are
  awake.

Bytes move while the processor computes, so that the greater of both times counts, on the number of threads
for which the sum with the launch is least. A program's time may thus be well above its bound; below it, by
more than the noise of the measurement, it is never, or the bound is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Final

from ...compiler.plan import Step
from ...options import Options
from ...program.ir import Function
from ...program.ir.record import Record
from ...program.ops.framework.memory_limit import bytes_of
from .machine import Machine
from .stored_machine import measured
from .work import ProgramWork, multiplications, multiplied_type, program_work

WON: Final = 0.95
"""The share of the bound from which no implementation can be much faster."""


class Bound(Record):
    """The least time of a call.

    Attributes:
        seconds: that time.
        moving_seconds: to read arguments and write results.
        computing_seconds: of the arithmetic.
        launch_seconds: of the call and its launch.
        threads: the number of threads of all these figures.
        is_partial: whether the program has loops of unknown length, which do not count.
    """

    seconds: float
    moving_seconds: float
    computing_seconds: float
    launch_seconds: float
    threads: int
    is_partial: bool

    @property
    def limit(self) -> str:
        """What takes most of that time: ``"memory"``, ``"arithmetic"`` or ``"call"``."""
        times = {
            "memory": self.moving_seconds,
            "arithmetic": self.computing_seconds,
            "call": self.launch_seconds,
        }
        return max(times, key=lambda name: times[name])

    def share(self, seconds: float) -> float:
        """The share of the bound that a time reaches: 1.0 if nothing can be faster."""
        return self.seconds / seconds if seconds > 0 else math.nan

    def as_dict(self) -> Mapping[str, Any]:
        """The fields by name, and the limit."""
        return {**{name: getattr(self, name) for name in Bound._fields}, "limit": self.limit}


def bound_of(work: ProgramWork, machine: Machine) -> Bound:
    """The bound of some work on a machine, on the number of threads that makes it least."""
    return min(
        [_bound(work, machine, count) for count in machine.measured_threads], key=lambda one: one.seconds
    )


def least_time(function: Function, options: Options) -> Bound:
    """The bound of a specialized function without calls, on the threads that the options allow.

    Donated inputs may become results that need not be written.
    """
    assert function.body is not None
    block = function.body.block
    work = program_work(block)
    if options.donate:
        donated = sum([bytes_of(argument.type) for argument in block.arguments])
        work = work._replace(written_bytes=max(0, work.written_bytes - donated))
    return bound_of(work, measured(options.threads))


def _bound(work: ProgramWork, machine: Machine, threads: int) -> Bound:
    moving = machine.moving_seconds(work.read_bytes, work.written_bytes, threads, work.held_bytes)
    computing = machine.computing_seconds(work, threads)
    launch = machine.rate("seconds call", 1)
    if threads > 1:
        launch += machine.rate("seconds launch", threads)
    return Bound(launch + max(moving, computing), moving, computing, launch, threads, work.has_unknown_loops)


def step_seconds(step: Step, machine: Machine) -> float:
    """The least time of a call of a step: of its bytes, or of its multiply-adds.

    Operands of nearly all steps differ in size, so that each number of threads is tried.
    """
    if step.control is not None:
        return 0.0
    read, written = [sum(map(bytes_of, types)) for types in step.types]
    operands = step.types[0]
    kind = multiplied_type(operands[0]) if operands else "f32"
    products = multiplications(step)
    return min(
        [
            max(
                machine.moving_seconds(read, written, threads),
                products / machine.rate(f"multiply-adds {kind}", threads),
            )
            for threads in machine.measured_threads
        ]
    )
