"""Estimates how long steps and their compilation take, to decide which steps to compile.

These figures decide when steps are compiled; native loops (`implementations/native_loops.py`) and epilogues
(`implementations/epilogues.py`) have a few of their own. They hold for a server processor of the 2020s, such
as Zen 4, and need to be right within a factor of about three for steps that take long.
"""

from __future__ import annotations

import sys
from typing import Any

from ..program.ir import Block, Operation
from ..program.ir.record import Record
from ..program.ops.elementwise.base import Elementwise
from ..program.ops.framework.costs import NumPyWork
from ..program.ops.framework.declaration import Op, declaration_of
from ..types import COMPLEX, FLOAT, TensorType, Type
from .implementation import Cost


class Thresholds(Record):
    """The times after which a step is compiled, as multiples of its compile time.

    Attributes:
        background_start: the code is compiled in the background after this time.
        blocking_wait: a call waits for the code after this time.
    """

    background_start: float
    blocking_wait: float


THRESHOLDS = {
    "code": Thresholds(0.02, 2.0),
    "kernel": Thresholds(1 / 30, 2.0),
    "loop": Thresholds(0.05, 1.0),
    "ufunc program": Thresholds(0.5, 2.0),
    "steps": Thresholds(0.01, 0.05),
    "steps in regions": Thresholds(0.05, 1.0),
}
"""The thresholds by the kind of native code and what it replaces.

- ``code``: generated code, which replaces a baseline.
- ``kernel``: a kernel that Numba compiles. If its code is not cached, that takes ten times as long as
  expected, but a call that waited so much longer would leave a program of one scatter at its baseline for
  seconds, at 3 to 30 times the time of a call.
- ``loop``: a `while`, which continues in native code once that is ready.
- ``ufunc program``: generated code, which replaces a ufunc program. That uses all threads, so compiling in
  the background slows it down.
- ``steps``: small steps of a function. Their calls hold the GIL, so calls and the background thread
  slow each other down; a call that waits has the code in half the time. A function's steps run once a call,
  so these have run in many calls, and more calls are likely.
- ``steps in regions``: small steps of the body of a loop or a branch. A first call with few iterations would
  wait longer than it runs, so it waits only for steps that have taken as long as compiling them.
"""

PROGRAM_WAIT, PROGRAM_WAIT_IN_REGIONS = 0.15, 0.35
"""The time in the baselines of all steps of a program after which a call waits for the code of all, as a
multiple of the expected compile time; and where some of the steps run within regions, such as a loop's. The
expected time is two to three times what one processor takes, and several compile."""
PROGRAM_SHARE = 0.97
"""The share of the time in the baselines of a program whose code such a call waits for."""
MIN_SAVED_SECONDS = 5e-6
"""Seconds that native code must save to be worth its call: about 500 transcendental functions of f32."""
MIN_PROGRAM_SECONDS = 2e-4
"""Seconds that baselines must take for a ufunc program to pay; recording one takes 0.5 ms."""
CACHE_LOAD_SECONDS = 2e-3
"""Seconds to load generated code from the disk. A step that has taken this long uses cached code."""
MIN_SHARED_SECONDS = 2e-4
"""Expected seconds a call below which a step does not look for other steps that share its code."""
KERNEL_COMPILE_SECONDS = 0.15
"""Expected seconds to compile a kernel with Numba: 1 to 2 s the first time, 0.1 s from the cache."""
MIN_AWAITED_KERNEL_SECONDS = 4e-3
"""Seconds that NumPy takes in place of a kernel from which a call waits for the kernel while another process
compiles it. Numba takes up to 5 s with its start. Shorter calls go on: a graph network completes 2557 calls
in 3 s, and 875 where one of them waits. Who calls a program a few times before timing it has the kernel where
a call takes long."""
GENERATED_WAIT_SECONDS = 0.5
"""The time in generated code after which a call waits for the kernel that it precedes. Such code takes 1.1 to
8 times as long as the kernel, which has all threads: in 4 s a program of one scatter or scan completes as
many calls with the wait as without, and more in longer times. In programs of libraries a step takes half a
second only once the kernel is there, or its calls are short."""
MIN_AWAITED_GENERATED_SECONDS = 1e-3
"""The time of a call of generated code from which a call waits for the kernel."""
MAX_KERNEL_WAIT_SECONDS = 3.0
"""Seconds for which a call waits for a kernel that another process compiles. With the start of Numba a kernel
takes 1 to 2 s there on an idle machine. That process yields the processors to all others: on a busy machine
it may take minutes, and the baseline only seconds."""
MIN_NUMBA_BASELINE_SECONDS = 0.1
"""Seconds that the baselines of all steps with a kernel must have taken before Numba is imported. The import
takes 0.7 s."""
MAX_ATTEMPTS = 5
"""Calls for which compiled code is tried."""
PAUSE_CALLS = (20, 100, 500)
"""Calls before compiled code that was slower is tried again; after the last pause it is discarded."""
MAX_COPIED_BYTES = 1 << 26
"""Bytes of operands that are copied to compile a kernel in the background; larger operands are zeros."""
MAX_RESULT_BYTES = 1 << 28
"""Bytes of operands up to which a kernel that is called to be compiled allocates results; it writes to its
operands, which are zeros, where these are larger and that is possible."""
LOOP_COMPILE_SECONDS, LOOP_COMPILE_SECONDS_PER_ARRAY = 0.02, 0.003
"""Seconds to compile a loop, and to add for each array that an iteration computes."""
LOOP_COMPILE_SECONDS_PER_LAUNCH = 0.025
"""Seconds to add for each operation that a loop launches: the code of one loop nest."""
LAUNCHING_LOOP_WAIT_FACTOR = 10.0
"""How many times as long a loop runs by its plan before it is compiled, while that launches the same code as
the loop would: it takes 1 to 5 times as long."""
INNER_LOOP_WAIT_FACTOR = 5.0
"""Factor on the time for which a loop within a loop waits, since compiling the outer loop compiles it too."""
MIN_EAGER_ITERATIONS = 2000
"""Iterations of a loop that is compiled before it runs, if they take at least half of its blocking wait."""
LOOP_OPERATION_SECONDS = 1e-6
"""Seconds that an operation takes in the plan of a loop."""
BASELINE_SECONDS_PER_STEP, STEPS_COMPILE_SECONDS, STEPS_COMPILE_SECONDS_PER_STEP = 1e-6, 0.02, 0.003
"""Seconds that the baseline of a small step takes; to compile a group of them; to add for each step."""
MIN_QUICK_OPERATIONS = 100
"""Minimum operations of a loop whose code LLVM optimizes while it is used. For 100 LLVM takes some 0.1 s, a
tenth of that without optimization (Zen 4)."""
MIN_QUICK_ARRAYS = 10
"""Minimum arrays that an iteration of such a loop computes. The operations on an array are a loop each, which
LLVM unrolls and vectorizes: for the 50 of a CTC loss it takes 0.47 s, without optimization 0.06 s (Sapphire
Rapids); for the 12 of time warping 0.13 and 0.01 s (Zen 4)."""
QUICK_FRACTION = 0.25
"""The time to generate LLVM IR, and code without optimization, as a fraction of the compile time. By
processor time on Zen 5 it is 0.22 (40 fusions of a spline flow, a chess engine's loop), 0.27 (a loop of Hex)
and 0.36 (24 fusions of a network of e3nn)."""
OPTIMIZING_SECONDS = 0.02
"""Seconds to optimize the code of any text."""
OPTIMIZING_SECONDS_PER_BYTE, OPTIMIZING_SECONDS_PER_BYTE_OF_STEPS = 5e-6, 2e-6
"""Seconds to add for each byte of the text; and where LLVM unrolls no loop of it. By processor time on Zen 5
it takes 1.3e-6 for small steps, 1.6e-6 to 2.5e-6 for loops, 3.6e-6 for fusions over rows, 7e-6 for loop
nests, whose texts are short; on Sapphire Rapids 1.3e-6 to 2.4e-6 for large steps, 2.8e-6 to 5.7e-6 for
fusions over rows, 5e-6 to 1e-5 for loop nests."""
UNROLLING_SHARE = 0.1
"""The share of the time of a loop in quick code that unrolling saves, once the loop is optimized without. On
Sapphire Rapids a call of a recurrent network takes 9.3, 1.9 and 1.3 ms, time warping with its gradient 5.8,
1.0 and 0.6. LLVM takes 0.25 instead of 0.08 s for the loop of the one, 0.24 instead of 0.15 s for each of the
other, and 1.1 instead of 0.1 s for one of a memory network."""
REGION_COMPILE_SECONDS, REGION_COMPILE_SECONDS_PER_OPERATION = 0.035, 0.0015
"""Seconds to compile the loops around a region, and to add for each operation of the region."""
REGION_CALL_SECONDS, REGION_PASS_SECONDS = 1e-5, 2e-6
"""Seconds that a call of a region takes by its plan; and the constant cost of a baseline's pass over arrays,
for each operation of the region."""
SMALL_REGION_SECONDS, SMALL_REGION_CALLS = 1e-4, 1 << 13
"""Seconds that a baseline takes for SMALL_REGION_CALLS applications of a region."""

_CALL_SECONDS = 6e-7
"""Seconds of a call of NumPy, without the work on its elements: 0.3 to 0.6 us on Zen 4."""
_ARITHMETIC_SECONDS, _SELECTION_SECONDS, _LOW_PRECISION_SECONDS = 1e-9, 3e-9, 6e-9
_GATHERED_SECONDS, _TRANSCENDENTAL_SECONDS, _SCIPY_SECONDS = 10e-9, 15e-9, 60e-9
"""Seconds an element in NumPy: arithmetic; selections between operands, which take branches or several
passes; floats narrower than f32, which are converted; gathered elements; transcendental functions; functions
of SciPy. Zen 4 takes, for 100,000 elements, 0.15 ns for arithmetic, 11 for `numpy.where`, 19 for a sum of
f16, 2.4 for gathered elements, 2.4 (exponential) to 34 (power) for functions of f64 and 60 for lgamma; for
ten million elements, which do not fit its caches, 1.8 for a sum and 49 for gathered elements."""
_SLOW_ARITHMETIC = ((NumPyWork.CHOICE, FLOAT), (NumPyWork.COMPLEX_PASSES, COMPLEX))
"""What takes _SELECTION_SECONDS. A product of complex numbers takes seven calls, of 2.1 to 2.8 ns an element
on Zen 4 together, and `numpy.negative` 1.95 ns, a sum 0.25 to 0.5."""
_BFLOAT16_SECONDS = 1.4e-9
"""Seconds an element of bf16 in NumPy, for arithmetic and unary functions: 0.4 to 2.8 on Zen 4."""
NATIVE_FRACTION = 0.15
"""The time of native code on one thread, as a fraction of NumPy's."""

BYTES_PER_SECOND = 1e10
"""Bytes that move in the time of a second of computation, when work is divided into tasks."""

_LLVMLITE_IMPORT_SECONDS = 0.045
"""Seconds to import llvmlite."""
_NEST_COMPILE_SECONDS, _PLAIN_COMPILE_SECONDS = 0.025, 0.0005
_TRANSCENDENTAL_COMPILE_SECONDS, _SCIPY_COMPILE_SECONDS = 0.012, 0.06
"""Seconds to compile a loop nest; to add for a plain operation, a transcendental one, and one of SciPy."""


def estimate(block: Block) -> Cost:
    """Estimates for a block of elementwise operations, moves and reductions."""
    call_seconds = work = baseline_work = 0.0
    total_compile_seconds = _NEST_COMPILE_SECONDS
    for operation in block.operations[:-1]:
        declaration = declaration_of(operation)
        size, numpy_work = _size(operation), declaration.cost.numpy_work
        call_seconds += _CALL_SECONDS * declaration.cost.numpy_calls
        if issubclass(declaration, Elementwise):
            seconds = _seconds_an_element(operation, declaration)
            work += size * seconds
            baseline_work += size * _baseline_seconds_an_element(operation, seconds)
            total_compile_seconds += _compile_seconds(seconds)
        elif numpy_work is NumPyWork.GATHER:
            gather: Any = Op.of(operation)
            work += size * _GATHERED_SECONDS
            baseline_work += size * max(_ARITHMETIC_SECONDS, _GATHERED_SECONDS / gather.row_elements)
        elif numpy_work is NumPyWork.COPY:
            work += size * _ARITHMETIC_SECONDS
            baseline_work += size * _ARITHMETIC_SECONDS
        elif numpy_work is NumPyWork.REDUCTION:
            work += _size_of(operation.operands[0].type) * _ARITHMETIC_SECONDS
            baseline_work += _size_of(operation.operands[0].type) * _ARITHMETIC_SECONDS
    result_type = block.terminator.operands[0].type
    elements = result_type.size if isinstance(result_type, TensorType) else 1
    native = max(work, elements * _ARITHMETIC_SECONDS) * NATIVE_FRACTION / max(elements, 1)
    return Cost(call_seconds + baseline_work, native, total_compile_seconds)


def _baseline_seconds_an_element(operation: Operation, seconds: float) -> float:
    """The baseline's time for an element, in seconds, from the time of NumPy's function.

    Baselines of narrow floats convert blocks to f32, and call vector functions of f32.
    """
    type = operation.results[0].type
    if not isinstance(type, TensorType) or type.category != FLOAT or type.element_type.width >= 32:
        return seconds
    # Functions of two operands, and SciPy's, are called in wider types.
    if seconds >= (_TRANSCENDENTAL_SECONDS if len(operation.operands) > 1 else _SCIPY_SECONDS):
        return seconds
    return _BFLOAT16_SECONDS if str(type.element_type) == "bf16" else _LOW_PRECISION_SECONDS


def _compile_seconds(seconds: float) -> float:
    """The compile time that an operation adds, in seconds, from its time for an element."""
    if seconds < _TRANSCENDENTAL_SECONDS:
        return _PLAIN_COMPILE_SECONDS
    return _TRANSCENDENTAL_COMPILE_SECONDS if seconds < _SCIPY_SECONDS else _SCIPY_COMPILE_SECONDS


def seconds_of_operations(block: Block) -> float:
    """NumPy's time for one element in all operations of a region, in seconds."""
    seconds = 0.0
    for operation in block.operations[:-1]:
        declaration = declaration_of(operation)
        if issubclass(declaration, Elementwise):
            seconds += _seconds_an_element(operation, declaration)
        else:
            seconds += _ARITHMETIC_SECONDS
        seconds += sum(seconds_of_operations(region.block) for region in operation.regions)
    return max(seconds, _ARITHMETIC_SECONDS)


def native_seconds(operation: Operation) -> float:
    """Seconds of native code for an operation on one thread; of a fusion, for the operations in it."""
    declaration = declaration_of(operation)
    if declaration.region_role.runs_once:
        return sum(map(native_seconds, operation.regions[0].block.operations[:-1]))
    seconds = _ARITHMETIC_SECONDS
    if issubclass(declaration, Elementwise):
        seconds = _seconds_an_element(operation, declaration)
    elif declaration.cost.numpy_work is NumPyWork.GATHER:
        seconds = _GATHERED_SECONDS
    values = operation.operands if declaration.reduces else operation.results
    elements = max([_size_of(value.type) for value in values], default=0)
    return NATIVE_FRACTION * seconds * elements


def is_quick_at_first(operations: int, arrays: int) -> bool:
    """Whether LLVM optimizes the code of a loop while it is used.

    Args:
        operations: of the loop.
        arrays: that an iteration computes.
    """
    return operations >= MIN_QUICK_OPERATIONS or arrays >= MIN_QUICK_ARRAYS


def compiler_load_seconds() -> float:
    """Time to load the compiler, in seconds; 0 if it is loaded, or another process has compiled with it.

    One that has only begun to load it does not count: a first call that waited for code from there, and not
    for NumPy, had its results 0.1 s later.
    """
    # Another thread may be importing the module.
    processes = getattr(sys.modules.get(f"{__package__}.loops.llvm.compiler_processes"), "PROCESSES", None)
    have_compiled = processes is not None and processes.have_compiled
    return 0.0 if have_compiled or "llvmlite.binding" in sys.modules else _LLVMLITE_IMPORT_SECONDS


def loader_seconds() -> float:
    """Time until this process can load code from the disk, in seconds: only Linux's needs no compiler."""
    return 0.0 if sys.platform == "linux" else compiler_load_seconds()


def native_saving_seconds(operation: Operation) -> float:
    """Seconds that native code saves on an operation for which NumPy has no fast loop or needs many calls."""
    declaration = declaration_of(operation)
    if not issubclass(declaration, Elementwise):
        return 0.0
    calls = _CALL_SECONDS * (declaration.cost.numpy_calls - 1)
    return calls + _size(operation) * (_seconds_an_element(operation, declaration) - _ARITHMETIC_SECONDS)


def _size(operation: Operation) -> int:
    return _size_of(operation.results[0].type)


def _size_of(type: Type) -> int:
    return type.size if isinstance(type, TensorType) else 1


def _takes_root(operation: Operation, declaration: type[Op]) -> bool:
    """Whether an operation takes the modulus of complex numbers: each is a square root."""
    type = operation.operands[0].type
    return declaration.takes_modulus and isinstance(type, TensorType) and bool(type.category & COMPLEX)


def _seconds_an_element(operation: Operation, declaration: type[Elementwise]) -> float:
    """NumPy's time for one element of an elementwise operation, in seconds."""
    type = operation.results[0].type
    if not isinstance(type, TensorType):
        return _ARITHMETIC_SECONDS
    category, width = type.element_type.category, type.element_type.width
    work = declaration.cost.numpy_work
    if declaration.wide & category or _takes_root(operation, declaration):
        return _SCIPY_SECONDS if work is NumPyWork.SCIPY else _TRANSCENDENTAL_SECONDS
    if category & (FLOAT | COMPLEX) and width < 32:
        return _LOW_PRECISION_SECONDS
    is_slow = work is NumPyWork.SELECTION or (work, category) in _SLOW_ARITHMETIC
    return _SELECTION_SECONDS if is_slow else _ARITHMETIC_SECONDS
