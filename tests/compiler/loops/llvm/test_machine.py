"""How generated code is compiled, kept on disk and loaded: each in a process of its own where it matters."""

import ctypes
import importlib.util
import os
import pathlib
import platform
import subprocess
import sys
import textwrap

import pytest

import nimblehlo
from nimblehlo.compiler.loops.llvm import codegen, machine
from tests.project.import_graph import module_graph

PRELUDE = """
import ctypes, os, sys, threading
from nimblehlo.compiler.loops.llvm import codegen, machine

built = []
def text(name="f", value=7):
    built.append(name)
    return f"define i64 @{name}(i64 %x) {{\\n  %y = add i64 %x, {value}\\n  ret i64 %y\\n}}\\n"

def call(key="k", name="f", value=7):
    address = machine.function_address(machine.key_of(key), name, lambda: text(name, value))
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1)
"""


def run(folder, code):
    """What a child process prints that runs the code. It fails if the child fails, crashes or hangs."""
    child = subprocess.run(
        [sys.executable, "-c", PRELUDE + textwrap.dedent(code)],
        env={**os.environ, "NIMBLEHLO_CACHE_DIR": str(folder)}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert child.returncode == 0, child.stderr
    return child.stdout.strip()


def entries(folder):
    """The files of compiled code below a folder."""
    return sorted(path for path in folder.rglob("*") if path.is_file())


def test_code_is_compiled_once_and_used_again(tmp_path):
    assert run(tmp_path, "print(call(), call(), built)") == "8 8 ['f']"
    assert len(entries(tmp_path)) == 1
    is_compiled = "machine.is_compiled(machine.key_of({!r}))"
    assert run(tmp_path, f"print({is_compiled.format('k')}, call(), built)") == "True 8 []"
    assert run(tmp_path, f"print({is_compiled.format('l')}, call('l'), built)") == "False 8 ['f']"


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM tells other processors' features"
)
def test_code_on_the_disk_is_used_without_llvm(tmp_path):
    run(tmp_path, "call()")
    asked = "print(call(), 'llvmlite.binding' in sys.modules)"
    assert run(tmp_path, asked) == "8 False"
    assert run(tmp_path, "os.environ['NIMBLEHLO_CPU'] = 'x86-64-v2'; call()") == ""
    assert run(tmp_path, f"os.environ['NIMBLEHLO_CPU'] = 'x86-64-v2'; {asked}") == "8 False"
    assert len({entry.parent for entry in entries(tmp_path)}) == 2


@pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() != "x86_64", reason="LLVM tells other processors' features"
)
def test_code_is_compiled_without_llvm_in_this_process(tmp_path):
    code = """
        from nimblehlo.compiler.loops.llvm import compiler_processes
        from nimblehlo.kernels.compiling import child_process
        child_process.available_threads = compiler_processes.available_threads = lambda: 2
        compiler_processes.shortage_of = lambda needed: None
        print(call(), "llvmlite.binding" in sys.modules)
        address = machine.function_address(machine.key_of("q"), "f", text, quickly=True)
        print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1), list(machine.quick_codes()))
        machine.optimize(machine.key_of("q"))
        print(ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(address)(1), "llvmlite.binding" in sys.modules)
        machine.compile_here()
        print(call("here"), "llvmlite.binding" in sys.modules)
    """
    first, quick, optimized, here = run(tmp_path, code).splitlines()
    assert (first, optimized, here) == ("8 False", "8 False", "8 True")
    assert quick == f"8 ['{machine.key_of('q')}']"


@pytest.mark.parametrize("damage", ["one byte", "cut off", "empty"])
def test_a_damaged_entry_is_compiled_again(tmp_path, damage):
    run(tmp_path, "call()")
    (entry,) = entries(tmp_path)
    content = bytearray(entry.read_bytes())
    content[len(content) // 2] ^= 255
    entry.write_bytes({"one byte": bytes(content), "cut off": content[:40], "empty": b""}[damage])
    assert run(tmp_path, "print(call(), built)") == "8 ['f']"
    assert run(tmp_path, "print(call(), built)") == "8 []"


def test_an_entry_under_another_name_is_not_trusted(tmp_path):
    run(tmp_path, "call('k', value=7); call('l', value=9)")
    first, second = entries(tmp_path)
    first_content, second_content = first.read_bytes(), second.read_bytes()
    first.write_bytes(second_content)
    second.write_bytes(first_content)
    assert run(tmp_path, "print(call('k', value=7), call('l', value=9), built)") == "8 10 ['f', 'f']"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    assert run(blocked / "below", "print(call(), built)") == "8 ['f']"


def test_whether_there_may_be_code_is_seen_without_a_compiler(tmp_path):
    asked = "print(machine.has_compiled_code(), any('llvmlite' in name for name in sys.modules))"
    assert run(tmp_path, asked) == "False False"
    assert run(tmp_path, "call(); print(machine.has_compiled_code())") == "True"
    assert run(tmp_path, asked) == "True False"


_NO_GENERATORS = (
    "nimblehlo.compiler.cost_model",
    "nimblehlo.compiler.fusion",
    "nimblehlo.compiler.implementation",
    "nimblehlo.compiler.lru_cache",
    "nimblehlo.compiler.specialize.framework",
    "nimblehlo.errors",
    "nimblehlo.kernels.compiling.address_space",
    "nimblehlo.kernels.compiling.child_process",
    "nimblehlo.kernels.compiling.worker",
    "nimblehlo.kernels.launch.block_code",
    "nimblehlo.kernels.launch.cache_files",
    "nimblehlo.kernels.launch.cache_limit",
    "nimblehlo.kernels.launch.free_memory",
    "nimblehlo.kernels.launch.garbage",
    "nimblehlo.kernels.launch.library_pages",
    "nimblehlo.kernels.launch.native",
    "nimblehlo.kernels.launch.spans",
    "nimblehlo.kernels.launch.threads",
    "nimblehlo.kernels.math.real_functions",
    "nimblehlo.kernels.named_tuples",
)
"""What the loops import although no code depends on it beyond its key: keys contain a description of the
nest that is built from index maps, and the work items of a task. The addresses of functions of
`real_functions` are bound when code is loaded. `block_code` describes code that is there."""


def test_the_name_of_the_code_cache_covers_all_sources_that_decide_the_ir(monkeypatch, project_root):
    digested = []
    monkeypatch.setattr(machine, "digest_of_sources", lambda *paths: digested.extend(paths) or b"")
    machine._folder("a processor")
    package = pathlib.Path(nimblehlo.__file__).parent
    assert all(path.exists() for path in digested)
    # Views of operations come from `ops`, whose modules the callers of the generators pass in.
    assert {package / "compiler" / "loops", package / "program" / "ops"} <= set(digested)
    imported = imported_by("nimblehlo.compiler.loops", project_root)
    assert {name for name in _NO_GENERATORS if not any(map(is_below(name), imported))} == set()
    generators = {module for module in imported if not any(is_below(name)(module) for name in _NO_GENERATORS)}
    assert "nimblehlo.program.ir" in generators
    for module in generators:
        source = pathlib.Path(importlib.util.find_spec(module).origin)
        assert any(source.is_relative_to(path) for path in digested), module


def imported_by(package, root):
    """The modules that the modules of a package import from elsewhere in the project."""
    graph = module_graph(root)
    imported = set().union(*(graph[module] for module in graph if is_below(package)(module)))
    return {module for module in imported if not is_below(package)(module)}


def is_below(package):
    """Whether a module is a package, or lies in it."""
    return lambda module: module == package or module.startswith(f"{package}.")


def test_a_changed_source_changes_the_name_of_the_code_cache(tmp_path, monkeypatch):
    sources = tmp_path / "simd", tmp_path / "types.py"
    sources[0].mkdir()
    (sources[0] / "narrow_floats.py").write_text("bits = 16")
    sources[1].write_text("")
    monkeypatch.setattr(machine, "_generator_sources", lambda: list(sources))
    names = {machine._folder("a processor")}
    (sources[0] / "narrow_floats.py").write_text("bits = 15")
    names.add(machine._folder("a processor"))
    sources[1].write_text("width = 8")
    names.add(machine._folder("a processor"))
    assert len(names) == 3


def test_many_threads_and_a_fork(tmp_path):
    code = """
        import gc
        failures = []
        def work():
            try:
                for number in range(20):
                    assert call(str(number), value=number) == number + 1
            except BaseException as error:
                failures.append(error)
        workers = [threading.Thread(target=work) for _ in range(6)]
        [worker.start() for worker in workers]
        child = os.fork()
        if child == 0:
            os._exit(0 if call("other", value=1) == 2 else 1)
        assert os.waitpid(child, 0)[1] == 0
        [worker.join() for worker in workers]
        gc.collect()
        work()
        assert not failures, failures
        print(len(built))
    """
    assert run(tmp_path, code) == "20"


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for address space")
def test_code_is_loaded_where_free_memory_lies_gigabytes_apart(tmp_path):
    run_here = "scattered_memory.run(count=6, gigabytes=8, operations=0)"
    command = f"from tests.support import scattered_memory; {run_here}"
    assert run(tmp_path, command) == "compiled 6 programs with 24 GB of arrays alive"


@pytest.mark.skipif(sys.platform != "linux", reason="asks Linux for mappings")
def test_a_process_with_as_many_mappings_as_it_may_have_compiles_no_code(tmp_path):
    """LLVM would end it."""
    code = """
        from tests.support.scattered_memory import PAGE, library, reserve
        most = int(open("/proc/sys/vm/max_map_count").read())
        machine.compile_here()
        call()
        if most < 200_000:
            address, mapped = reserve(library(), 2 * most * PAGE), 0
            while library().mprotect(address + mapped * PAGE, PAGE, 1) == 0:
                mapped += 2
            try:
                call("l")
            except MemoryError as error:
                print(error)
            library().munmap(address, 2 * most * PAGE)
        print(call("m"))
    """
    printed = run(tmp_path, code).splitlines()
    most = int(pathlib.Path("/proc/sys/vm/max_map_count").read_text())
    assert len(printed) == 2 or most >= 200_000
    assert printed[-1] == "8" and all("mapping" in line or "address space" in line for line in printed[:-1])


def test_neither_numba_nor_its_driver_is_needed(tmp_path):
    assert run(tmp_path, "call(); print('numba' in sys.modules)") == "False"


def test_no_garbage_is_collected_while_a_text_is_made(tmp_path):
    code = """
        import gc
        states = []
        def noted():
            states.append(gc.isenabled())
            return text()
        machine.function_address(machine.key_of("k"), "f", noted)
        from nimblehlo.compiler.loops.llvm import compiler_processes
        class Processes(list):
            def submit(self, text, fast_compile): pass
        compiler_processes.PROCESSES = Processes([1])
        machine.compile_ahead(machine.key_of("l"), noted)
        print(states, gc.isenabled())
    """
    assert run(tmp_path, code) == "[False, False] True"


def test_text_that_is_no_ir_is_refused():
    with pytest.raises(RuntimeError):
        machine.function_address(machine.key_of("not ir"), "f", lambda: "define f(")


def test_arithmetic_is_not_contracted():
    """a * b + c rounds twice, whatever the CPU offers."""
    text = """
        define double @f(double %a, double %b, double %c) {
          %p = fmul double %a, %b
          %s = fadd double %p, %c
          ret double %s
        }
    """
    address = machine.function_address(machine.key_of("product and sum"), "f", lambda: text)
    function = ctypes.CFUNCTYPE(ctypes.c_double, *[ctypes.c_double] * 3)(address)
    third = 1 / 3
    assert function(third, third, -third * third) == 0.0


@pytest.mark.parametrize(
    ("is_wide", "prefers_scalar_gather", "tuned"),
    [
        (False, False, ""),
        (True, False, "-prefer-256-bit"),
        (True, True, "-prefer-256-bit,+prefer-no-gather"),
    ],
)
def test_instructions_are_those_that_are_quick(monkeypatch, is_wide, prefers_scalar_gather, tuned):
    monkeypatch.setattr(codegen, "has_full_speed_avx512", lambda: is_wide)
    monkeypatch.setattr(codegen, "prefers_scalar_gather", lambda: prefers_scalar_gather)
    assert codegen.tuning() == tuned
