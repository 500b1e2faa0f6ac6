"""Code that gives way to optimized code while it is in use."""

from __future__ import annotations

import ctypes
import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler import cost_model
from nimblehlo.compiler.loops.llvm import compiler_processes, machine
from nimblehlo.compiler.loops.llvm.compiler_processes import CompilerProcesses
from nimblehlo.compiler.plan.implementations import native_loops
from nimblehlo.compiler.plan.tiering.background import BACKGROUND
from nimblehlo.kernels.compiling import child_process
from nimblehlo.kernels.launch.spans import Span, observed
from nimblehlo.program.ops.control.control import While
from nimblehlo.program.ops.framework.declaration import Op
from tests.support.running import same_bits

pytestmark = pytest.mark.usefixtures("empty_cache")

NUMBERS = itertools.count()
"""Make each program another one, for which this process has loaded no code."""

ARGUMENTS = 9
"""More than registers take."""
TEXT = f"""
define i64 @f({", ".join(f"i64 %x{k}" for k in range(ARGUMENTS))}) {{
{chr(10).join(f"  %y{k} = sub i64 %{'x0' if k == 1 else f'y{k - 1}'}, %x{k}" for k in range(1, ARGUMENTS))}
  ret i64 %y{ARGUMENTS - 1}
}}
define void @g(ptr %p) {{
  store i64 7, ptr %p
  ret void
}}
"""
f = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * ARGUMENTS)
g = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def loaded() -> tuple[str, machine.QuickCode, list[int]]:
    """Quick code that is loaded: its key, the code, and the addresses of its two functions."""
    key = machine.key_of(f"quick code {next(NUMBERS)}")
    machine.quick_codes()
    addresses = machine.function_addresses(key, ("f", "g"), lambda: TEXT, fast_compile=True, quickly=True)
    return key, machine._machine().quick[key], list(addresses)


def forget(key: str) -> None:
    """Forget code that is loaded, as a new process does not have it."""
    own = machine._machine()
    machine.quick_codes()
    del own.quick[key]
    own.keys.remove(key)
    for name in ("f", "g"):
        del own.loaded[key, name]


def check(addresses: list[int]) -> None:
    """Check that the functions at two addresses compute what they should."""
    assert f(addresses[0])(*range(100, 100 + ARGUMENTS)) == 100 - sum(range(101, 100 + ARGUMENTS))
    memory = ctypes.c_int64(0)
    g(addresses[1])(ctypes.byref(memory))
    assert memory.value == 7


def targets(quick: machine.QuickCode) -> list[int | None]:
    """The addresses that functions jump to."""
    return [ctypes.c_void_p.from_address(target).value for target in quick.targets.values()]


def test_who_has_loaded_no_quick_code_does_not_wait_for_a_compilation() -> None:
    loaded()
    machine.quick_codes()
    listed: list[dict[str, machine.QuickCode]] = []
    with machine._lock:
        asking = threading.Thread(target=lambda: listed.append(machine.quick_codes()), daemon=True)
        asking.start()
        asking.join(60)
        assert listed == [{}]


def test_a_thread_is_told_of_the_quick_code_that_it_has_loaded() -> None:
    """It knows for which steps: how much that code takes decides when it is optimized."""
    machine.quick_codes()
    others = threading.Thread(target=loaded)
    others.start()
    others.join()
    key, quick, _ = loaded()
    assert machine.quick_codes() == {key: quick}


@pytest.mark.parametrize("has_processes", [False, True])
def test_optimized_code_takes_the_place_of_quick_code(
    monkeypatch: pytest.MonkeyPatch, has_processes: bool
) -> None:
    for module in (compiler_processes, child_process):
        monkeypatch.setattr(module, "available_threads", lambda: 2 if has_processes else 1)
    processes = CompilerProcesses()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    assert processes.start() == has_processes
    key, quick, addresses = loaded()
    first, path = targets(quick), machine._machine().path(key)
    check(addresses)
    assert quick.size == len(TEXT)
    assert machine.quick_codes() == {key: quick} and machine.quick_codes() == {}
    assert path is not None and not path.exists(), "code is cached that is not optimized"
    machine.optimize_ahead(key)
    assert (key in machine._machine().ahead) == has_processes
    machine.optimize(key)
    optimized = targets(quick)
    assert not set(first) & set(optimized) and path.exists() and key not in machine._machine().quick
    check(addresses)
    direct = machine.function_addresses(key, ("f", "g"), lambda: "", quickly=True)
    assert list(direct) == optimized, "new callers jump"
    check(list(direct))
    machine.optimize(key)
    processes.close()


def test_who_waits_for_optimized_code_gets_no_quick_code() -> None:
    key, quick, addresses = loaded()
    first = targets(quick)
    assert machine.is_compiled(key, quickly=True) and not machine.is_compiled(key)
    optimized = list(machine.function_addresses(key, ("f", "g"), lambda: ""))
    assert not {*first, *addresses} & set(optimized) and targets(quick) == optimized
    assert machine.is_compiled(key) and key not in machine.quick_codes()
    check(optimized)


@pytest.mark.parametrize("has_processes", [False, True])
def test_roughly_optimized_code_stays_until_there_is_better(
    monkeypatch: pytest.MonkeyPatch, has_processes: bool
) -> None:
    for module in (compiler_processes, child_process):
        monkeypatch.setattr(module, "available_threads", lambda: 2 if has_processes else 1)
    processes = CompilerProcesses()
    monkeypatch.setattr(compiler_processes, "PROCESSES", processes)
    assert processes.start() == has_processes
    key, quick, addresses = loaded()
    first, path = targets(quick), machine._machine().path(key)
    machine.optimize_ahead(key, roughly=True)
    machine.optimize_ahead(key)
    assert not has_processes or not machine.is_there(key, roughly=True)
    machine.optimize(key, roughly=True)
    rough = targets(quick)
    assert machine.is_there(key, roughly=True) and not set(first) & set(rough)
    with machine._machine().in_work[key]:
        assert machine.is_there(key, roughly=True)
        with ThreadPoolExecutor(1) as other:
            assert not other.submit(machine.is_there, key, roughly=True).result()
    assert path is not None and not path.exists(), "code is cached that is not fully optimized"
    assert list(machine.function_addresses(key, ("f", "g"), lambda: "", quickly=True)) == addresses
    check(addresses)
    machine.optimize(key)
    assert not {*first, *rough} & set(targets(quick)) and path.exists()
    check(addresses)
    machine.optimize(key, roughly=True)
    processes.close()


def test_quick_code_that_was_not_optimized_is_loaded_by_the_next_process() -> None:
    key, first, _ = loaded()
    forget(key)
    own = machine._machine()
    path, built = own.path(key, ".quick"), list[int]()
    assert path is not None and path.exists()
    assert machine.is_compiled(key, quickly=True) and not machine.is_compiled(key)

    def build() -> str:
        built.append(1)
        return TEXT

    addresses = list(machine.function_addresses(key, ("f", "g"), build, fast_compile=True, quickly=True))
    check(addresses)
    (quick,) = machine.quick_codes().values()
    assert not built and quick.size == path.stat().st_size - 32
    assert targets(own.quick[key]) != targets(first)
    machine.optimize(key)
    check(addresses)
    assert built == [1] and not path.exists() and machine.is_compiled(key)


def test_roughly_optimized_code_is_used_at_once_by_the_next_process() -> None:
    key, first, _ = loaded()
    machine.optimize(key, roughly=True)
    forget(key)
    own = machine._machine()
    path = own.path(key, ".rough")
    assert path is not None and path.exists() and not machine.is_compiled(key)
    addresses = list(
        machine.function_addresses(key, ("f", "g"), lambda: TEXT, quickly=True, unrolls_late=True)
    )
    check(addresses)
    (quick,) = machine.quick_codes().values()
    assert quick.is_rough
    assert not {*addresses, *targets(first)} & set(targets(quick))
    machine.optimize(key)
    check(addresses)
    assert not path.exists() and machine.is_compiled(key)


def test_code_is_loaded_while_another_thread_compiles() -> None:
    key, _, _ = loaded()
    forget(key)
    found: list[list[int]] = []
    with machine._lock:
        loading = threading.Thread(
            target=lambda: found.append(
                [*machine.function_addresses(key, ("f", "g"), lambda: TEXT, quickly=True)]
            ),
            daemon=True,
        )
        loading.start()
        loading.join(60)
        assert len(found) == 1, "code on the disk waits for the lock"
    check(found[0])


def test_quick_code_is_made_only_where_nothing_is_cached() -> None:
    key = machine.key_of(f"optimized code {next(NUMBERS)}")
    machine.function_addresses(key, ("f",), lambda: TEXT)
    check([*machine.function_addresses(key, ("f", "g"), lambda: TEXT, quickly=True)])
    assert key not in machine._machine().quick and not machine.quick_codes()


TYPE = "tensor<3x3xf32>"


def operations(count: int) -> str:
    """So many products of matrices, of which nothing is cached, from %x0 to %x{count}."""
    factor = f"    %factor = stablehlo.constant dense<{0.3 + next(NUMBERS) / 1024!r}> : {TYPE}\n"
    product = f"%factor, contracting_dims = [1] x [0] : ({TYPE}, {TYPE}) -> {TYPE}"
    return factor + "".join(
        f"    %x{k + 1} = stablehlo.dot_general %x{k}, {product}\n" for k in range(count)
    )


def steps(count: int) -> str:
    """A program of small steps."""
    body = operations(count)
    return f"func.func @main(%x0: {TYPE}) -> {TYPE} {{\n{body}    return %x{count} : {TYPE}\n}}\n"


def loop(count: int) -> str:
    """A program of a loop."""
    number = "tensor<i32>"
    return f"""
func.func @main(%x: {TYPE}) -> {TYPE} {{
  %zero = stablehlo.constant dense<0> : {number}
  %end = stablehlo.constant dense<300> : {number}
  %one = stablehlo.constant dense<1> : {number}
  %last:2 = stablehlo.while(%i = %zero, %x0 = %x) : {number}, {TYPE} cond {{
    %more = stablehlo.compare LT, %i, %end : ({number}, {number}) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  }} do {{
{operations(count)}    %next = stablehlo.add %i, %one : {number}
    stablehlo.return %next, %x{count} : {number}, {TYPE}
  }}
  return %last#1 : {TYPE}
}}
"""


def loop_on_arrays(count: int) -> str:
    """A program of a loop on matrices of 25 elements."""
    return loop(count).replace("3x3", "5x5")


def is_quick(text: str, size: int) -> bool:
    """Whether code of a program runs before LLVM has optimized it, which changes no bit."""
    x = np.arange(size * size, dtype=np.float32).reshape(size, size)
    executable, spans = nimblehlo.compile(text), list[Span]()
    with observed(spans.append):
        results = [executable(x)[0] for _ in range(300 if "while" not in text else 3)]
        BACKGROUND.wait()
        results.append(executable(x)[0])
    keys = [span.name.removeprefix("quick code ") for span in spans if span.name.startswith("quick code ")]
    for key in keys:
        path = machine._machine().path(key)
        assert path is not None and path.exists() and key not in machine._machine().quick
    (expected,) = nimblehlo.execute(text, [x], options=nimblehlo.Options(compile="never"))
    assert all(same_bits(result, expected) for result in results)
    assert len(keys) <= 1
    return len(keys) == 1


@pytest.mark.parametrize("program", [steps, loop])
@pytest.mark.parametrize("offset", [-10, 10])
def test_steps_and_loops_of_many_operations_are_quick_at_first(program: object, offset: int) -> None:
    text = program(cost_model.MIN_QUICK_OPERATIONS + offset)  # type: ignore[operator]
    assert is_quick(text, 3) == (offset > 0 or program is steps)


@pytest.mark.parametrize("offset", [-5, 5])
def test_loops_on_many_arrays_are_quick_at_first(offset: int) -> None:
    assert is_quick(loop_on_arrays(cost_model.MIN_QUICK_ARRAYS + offset), 5) == (offset > 0)


def test_code_that_is_quick_at_first_is_expected_sooner() -> None:
    def seconds(count: int, quickly: bool) -> float:
        (view,) = operations_of(loop_on_arrays(count), While)
        return native_loops._compile_seconds(native_loops.LoopToCompile(view.operation), quickly)

    few, many = cost_model.MIN_QUICK_ARRAYS - 5, cost_model.MIN_QUICK_ARRAYS + 5
    assert seconds(few, True) == seconds(few, False)
    rest, least = cost_model.LOOP_COMPILE_SECONDS, cost_model.QUICK_FRACTION
    assert seconds(many, True) - rest == pytest.approx(least * (seconds(many, False) - rest))


def operations_of(text: str, kind: type[Op]) -> list[Any]:
    """The operations of a kind in the function of a program."""
    (function,) = nimblehlo.load(text).functions.values()
    assert function.body is not None
    return [kind(one) for one in function.body.walk() if one.name == kind.name]
