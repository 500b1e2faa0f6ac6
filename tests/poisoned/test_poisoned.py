"""A sample of programs with poisoned memory, and tests of the poison and of the guards.

``python -m tests.poisoned`` runs many programs.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.poisoned.campaign import ROOT, compare, environment, is_available, record
from tests.poisoned.cases import Selection

needs_glibc = pytest.mark.skipif(not is_available(), reason="needs glibc and a C compiler")
BY_A_PAGE = {-11, -7}
"""How a process ends that touches a page which it may not: by SIGSEGV or SIGBUS."""


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few random programs with their results."""
    path = tmp_path_factory.mktemp("poisoned") / "cases.pickle"
    record(Selection(("random", "large"), count=10, eager_share=0), path)
    return path


@needs_glibc
@pytest.mark.parametrize("guard", [False, True])
def test_results_do_not_depend_on_what_memory_holds(recorded: Path, guard: bool) -> None:
    tally = compare(recorded, recorded.parent, guard)
    assert tally.differences == []
    assert tally.programs == {"random": 10, "large": 10} and tally.runs == 120


def run(source: str, variables: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python source in a process of its own."""
    command = [sys.executable, "-c", source]
    return subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True)


POISONED = {**os.environ, "NIMBLEHLO_POISON_MEMORY": "1"}
IN_A_RUN = """
import ctypes
import numpy as np
from nimblehlo.execution import memory
def within(function):
    return memory.run_with(memory.RECYCLING, lambda _: function(), None, memory.Retention(1 << 24))
retention = memory.Retention(1 << 24)
"""


def test_new_and_freed_blocks_hold_nans() -> None:
    source = f"""{IN_A_RUN}
import ml_dtypes
for dtype in (np.float16, ml_dtypes.bfloat16, np.float32, np.float64):
    for size in (10, 1 << 17, 1 << 20):
        array = within(lambda: np.empty(size, dtype))
        words = array.view(np.uint16)
        assert np.isnan(array.astype(np.float64)).all() and (words == 0x7ff5).all()
        array[:] = 1
        address, nbytes = array.ctypes.data, array.nbytes
        del array, words
        if nbytes >= memory.MIN_POOLED_BYTES:
            assert ctypes.string_at(address, nbytes) == b"\\xf7\\xff" * (nbytes // 2)
"""
    finished = run(source, POISONED)
    assert finished.returncode == 0, finished.stderr


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ("ctypes.memset(address + nbytes, 0, 1)", "written behind"),
        ("ctypes.memset(address - 1, 1, 1)", "written before"),
        ("del array; ctypes.memset(address + 5, 0, 1); within(lambda: np.empty(nbytes, np.uint8))", "freed"),
    ],
)
def test_wrong_writes_end_the_process(change: str, reason: str) -> None:
    source = f"""{IN_A_RUN}
array = within(lambda: np.empty(1 << 18, np.uint8))
address, nbytes = array.ctypes.data, array.nbytes
{change}
del array
"""
    finished = run(source, POISONED)
    assert finished.returncode and reason in finished.stderr


def test_the_variable_is_checked() -> None:
    finished = run("import nimblehlo.execution.memory", {**os.environ, "NIMBLEHLO_POISON_MEMORY": "2"})
    assert "NIMBLEHLO_POISON_MEMORY must be one of 0, 1, exact, but is 2" in finished.stderr


def test_nothing_is_filled_as_a_rule() -> None:
    source = f"{IN_A_RUN}\nassert not np.isnan(within(lambda: np.zeros(1 << 20, np.float32))).any()"
    finished = run(source, {**os.environ, "NIMBLEHLO_POISON_MEMORY": ""})
    assert finished.returncode == 0, finished.stderr


@needs_glibc
def test_what_malloc_and_numba_give_holds_nans(tmp_path: Path) -> None:
    source = """
import numba
import numpy as np
@numba.njit
def made(size):
    return np.empty(size, np.float32)
assert np.isnan(np.empty(5000, np.float64)).all() and np.isnan(made(100)).all()
"""
    finished = run(source, environment(tmp_path, guard=False))
    assert finished.returncode == 0, finished.stderr


@needs_glibc
def test_what_compiled_code_puts_on_the_stack_holds_nans(tmp_path: Path) -> None:
    source = """
import ctypes
import llvmlite.binding
import numpy as np
from llvmlite import ir
from nimblehlo.compiler.loops.llvm.machine import function_address, key_of
from tests.poisoned.scratch import poison_scratch
llvmlite.binding.initialize_native_target()
poison_scratch()
module = ir.Module("stack")
pointer = ir.FloatType().as_pointer()
function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer]), "read")
builder = ir.IRBuilder(function.append_basic_block("entry"))
scratch = builder.alloca(ir.ArrayType(ir.FloatType(), 100))
element = builder.gep(scratch, [ir.IntType(32)(0), ir.IntType(32)(99)])
builder.store(builder.load(element), function.args[0])
builder.ret_void()
address = function_address(key_of("stack"), "read", lambda: str(module))
read = np.zeros(1, np.float32)
ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address)(read.ctypes.data)
assert np.isnan(read).all()
"""
    finished = run(source, environment(tmp_path, guard=False))
    assert finished.returncode == 0, finished.stderr


@needs_glibc
@pytest.mark.parametrize("guard", [False, True])
@pytest.mark.parametrize("size", [100, 5000])
@pytest.mark.parametrize("place", [-1, 0])
def test_writes_beside_what_malloc_gives_end_the_process(
    guard: bool, size: int, place: int, tmp_path: Path
) -> None:
    source = f"""
import ctypes
import numpy as np
array = np.zeros({size}, np.uint8)
ctypes.memset(array.ctypes.data + {place if place < 0 else size}, 1, 1)
del array
np.zeros({size}, np.uint8)
"""
    # NumPy keeps small blocks of its own for the next array.
    source = source.replace("np.zeros(100", "np.zeros(1100").replace("+ 100,", "+ 1100,")
    finished = run(source, environment(tmp_path, guard))
    assert finished.returncode in {-6, *BY_A_PAGE}, finished.stderr


@needs_glibc
def test_reads_of_freed_memory_end_the_process_where_pages_guard(tmp_path: Path) -> None:
    source = """
import ctypes
import numpy as np
array = np.zeros(5000, np.uint8)
address = array.ctypes.data
del array
ctypes.string_at(address, 1)
"""
    finished = run(source, environment(tmp_path, guard=True))
    assert finished.returncode in BY_A_PAGE
