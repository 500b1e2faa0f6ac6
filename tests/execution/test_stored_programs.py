"""Programs that another process, or another executable, has left on the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options, api
from nimblehlo.compiler import cost_model
from nimblehlo.compiler.plan.implementations import native_loops
from nimblehlo.execution import stored_programs
from nimblehlo.kernels.launch import cache_limit
from nimblehlo.kernels.launch.cache_files import read_entry, write_entry
from nimblehlo.program import loading
from nimblehlo.program.ir import FunctionAttribute
from nimblehlo.program.ops.custom_calls.user_functions import Registry
from tests.support.running import same_bits

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

SUMS = """
func.func @main(%a: tensor<64x512xf32> {jax.arg_info = "rows"}) -> tensor<64xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.exponential %a : tensor<64x512xf32>
  %1 = stablehlo.reduce(%0 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  return %1 : tensor<64xf32>
}
func.func @other(%a: tensor<2xf32>) -> tensor<2xf32> {
  return %a : tensor<2xf32>
}
"""

ROWS = np.random.default_rng(0).random((64, 512), np.float32)

# Each row of the batch is on its own, so that the loop is sharded.
LOOP = """
func.func @main(%x: tensor<8x32xf32>, %w: tensor<32x32xf32>) -> tensor<8x32xf32> {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %n = stablehlo.constant dense<40> : tensor<i32>
  %0:2 = stablehlo.while(%i = %zero, %y = %x) : tensor<i32>, tensor<8x32xf32>
    cond {
      %go = stablehlo.compare LT, %i, %n, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %go : tensor<i1>
    } do {
      %next = stablehlo.add %i, %one : tensor<i32>
      %p = stablehlo.dot_general %y, %w, contracting_dims = [1] x [0]
          : (tensor<8x32xf32>, tensor<32x32xf32>) -> tensor<8x32xf32>
      %t = stablehlo.tanh %p : tensor<8x32xf32>
      stablehlo.return %next, %t : tensor<i32>, tensor<8x32xf32>
    }
  return %0#1 : tensor<8x32xf32>
}
"""


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which programs of any size are stored."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv(stored_programs.ENVIRONMENT_VARIABLE, raising=False)
    for name in ("MIN_TEXT_BYTES", "MIN_BYTECODE_BYTES", "MIN_OPERATIONS"):
        monkeypatch.setattr(stored_programs, name, 0)
    monkeypatch.setattr(stored_programs, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(cache_limit, "_limits", [])
    monkeypatch.setattr(Registry, "changes", 0)
    return tmp_path


def files(store: Path) -> list[Path]:
    return sorted(store.glob("programs-*/*.program"))


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the texts that are parsed from now on."""
    names: list[str] = []
    load_text: Callable[..., Any] = loading.load_text

    def noted(text: Any) -> Any:
        names.append(text.name)
        return load_text(text)

    monkeypatch.setattr(loading, "load_text", noted)
    return names


def examples() -> list[Any]:
    """Programs with their inputs."""
    found: list[Any] = [pytest.param(SUMS, [ROWS], id="sums")]
    weights = np.random.default_rng(1).random((32, 32), np.float32) / 32
    found.append(pytest.param(LOOP, [ROWS[:8, :32].copy(), weights], id="loop"))
    for path in sorted(EXAMPLES.glob("*.mlir")):
        inputs = [np.load(file) for file in sorted(EXAMPLES.glob(f"{path.stem}.input*.npy"))]
        found.append(pytest.param(path.read_text(), inputs, id=path.stem))
    return found


@pytest.mark.parametrize(("text", "inputs"), examples())
def test_a_stored_program_is_the_same(
    text: str, inputs: list[Any], store: Path, parsed: list[str]
) -> None:
    first = nimblehlo.compile(text)
    assert len(files(store)) == len(parsed) == 1
    second = nimblehlo.compile(text)
    assert len(parsed) == 1
    for one, other in zip(first(*inputs), second(*inputs), strict=True):
        assert same_bits(one, other)
    assert first.input_names == second.input_names
    assert (first.input_types, first.output_types) == (second.input_types, second.output_types)
    assert len(parsed) == 1 and len(files(store)) == 1
    # The source is parsed once it is asked for.
    assert first.explain("source") == second.explain("source")
    assert len(parsed) == 2
    assert first.explain("passes") == second.explain("passes")
    assert first.explain("program") == second.explain("program")


def test_the_decisions_on_loops_are_stored(store: Path) -> None:
    nimblehlo.compile(LOOP, options=Options(threads=2))
    (path,) = files(store)
    stored = stored_programs.ProgramFile(path).stored
    assert stored is not None
    ((operation, decided),) = stored.native_loops.items()
    loop = decided.loop_of(operation)
    assert isinstance(loop, native_loops.LoopToCompile) and loop.operation.name == "stablehlo.while"
    assert loop.was_stored
    assert stored.function.body is not None and operation in stored.function.body.walk()


def test_why_loops_are_not_compiled_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    # A product of this size is on threads.
    text = LOOP.replace("32x", "512x").replace("8x512x", "512x512x")
    first = nimblehlo.compile(text)
    decided: list[object] = []
    decide = native_loops.loop_to_compile

    def noted(*arguments: Any) -> Any:
        decided.append(arguments)
        return decide(*arguments)

    monkeypatch.setattr(native_loops, "loop_to_compile", noted)
    second = nimblehlo.compile(text)
    assert not decided
    assert "no native loop: " in first.explain("plan")
    assert first.explain("plan") == second.explain("plan")


def test_a_stored_loop_uses_code_on_the_disk_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost_model, "LOOP_COMPILE_SECONDS", 1e3)
    monkeypatch.setattr(cost_model, "CACHE_LOAD_SECONDS", 1e3)
    monkeypatch.setattr(cost_model, "loader_seconds", lambda: 0.0)
    inputs = ROWS[:8, :32].copy(), ROWS[:32, :32].copy()
    nimblehlo.compile(LOOP, options=Options(compile="eager"))(*inputs)
    replaced = []
    for _ in range(2):
        executable = nimblehlo.compile(LOOP)
        executable(*inputs)
        assert executable._static_program is not None
        steps = executable._static_program.plan.steps
        (loop,) = [step.implementation for step in steps if step.operation == "stablehlo.while"]
        replaced.append(loop.is_replaced)
    assert replaced == [False, True]


@pytest.mark.parametrize("source", ["path", "str path", "bytes", "artifact"])
def test_files_and_bytes_are_stored(source: str, store: Path, parsed: list[str]) -> None:
    path = store / "sums.mlir"
    path.write_text(SUMS)
    artifact = nimblehlo.load(SUMS).serialize()
    parsed.clear()
    module = {"path": path, "str path": str(path), "bytes": SUMS.encode(), "artifact": artifact}[source]
    results = [nimblehlo.compile(module)(ROWS)[0] for _ in range(2)]
    assert len(parsed) == len(files(store)) == 1
    assert same_bits(*results)
    assert parsed == [str(path) if "path" in source else "<bytes>"]


@pytest.fixture
def specialized(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The entries of the programs that are specialized from now on."""
    entries: list[str] = []
    specialize: Callable[..., Any] = api.specialize

    def noted(module: Any, entry: str, *arguments: Any, **settings: Any) -> Any:
        entries.append(entry)
        return specialize(module, entry, *arguments, **settings)

    monkeypatch.setattr(api, "specialize", noted)
    return entries


def test_modules_are_known_by_their_operations(store: Path, specialized: list[str]) -> None:
    results = [nimblehlo.compile(nimblehlo.load(SUMS))(ROWS)[0] for _ in range(2)]
    assert len(specialized) == len(files(store)) == 1
    assert same_bits(*results)
    module = nimblehlo.load(SUMS)
    body = module.functions["main"].body
    assert body is not None
    body.block.operations[1].name = "stablehlo.negate"
    (negated,) = nimblehlo.compile(module)(ROWS)
    assert not same_bits(negated, results[0])
    assert len(specialized) == len(files(store)) == 2
    module.producer = "JAX"
    nimblehlo.compile(module)
    assert len(files(store)) == 3


def test_modules_that_are_small_or_call_python_are_not_stored(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = nimblehlo.load(SUMS)
    for operation in module.functions["other"].body.walk():  # type: ignore[union-attr]
        operation.attributes = {"function": FunctionAttribute(print)}
    nimblehlo.compile(module)
    monkeypatch.setattr(stored_programs, "MIN_OPERATIONS", 100)
    nimblehlo.compile(nimblehlo.load(SUMS))
    assert not files(store)


def test_other_options_entries_and_texts_are_other_programs(store: Path, parsed: list[str]) -> None:
    nimblehlo.compile(SUMS)
    nimblehlo.compile(SUMS, options=Options(cache_bytes=1 << 29, donate=(0,)))
    assert len(parsed) == 1
    others: list[dict[str, Any]] = [
        {"entry": "other"},
        {"options": Options(last_pass="outline")},
        {"options": Options(functions="correctly_rounded")},
        {"options": Options(threads=1)},
        {"options": Options(compile="never")},
    ]
    for settings in others:
        nimblehlo.compile(SUMS, **settings)
    nimblehlo.compile(SUMS.encode())
    nimblehlo.compile(SUMS.replace("<64x", "<32x").replace("<64xf32>", "<32xf32>"))
    assert len(parsed) == len(files(store)) == len(others) + 3


def test_other_sources_are_another_version(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nimblehlo.compile(SUMS)
    sources = stored_programs._sources
    monkeypatch.setattr(
        stored_programs, "_sources", lambda path: [(*one[:2], one[2] + 1) for one in sources(path)]
    )
    stored_programs._version.cache_clear()
    try:
        nimblehlo.compile(SUMS)
    finally:
        stored_programs._version.cache_clear()
    assert len({path.parent for path in files(store)}) == 2


def damage_content(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[-20] ^= 1
    path.write_bytes(content)


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-10])


def empty(path: Path) -> None:
    path.write_bytes(b"")


def write_other_bytes(path: Path) -> None:
    """Bytes that the digest fits, as of another version."""
    write_entry(path, b"a program")


def write_less(path: Path) -> None:
    content = read_entry(path)
    assert content is not None
    write_entry(path, content[: len(content) // 2])


@pytest.mark.parametrize("damage", [damage_content, truncate, empty, write_other_bytes, write_less])
def test_a_damaged_file_is_replaced(damage: Callable[[Path], None], store: Path, parsed: list[str]) -> None:
    (expected,) = nimblehlo.compile(SUMS)(ROWS)
    (path,) = files(store)
    content = path.read_bytes()
    damage(path)
    (result,) = nimblehlo.compile(SUMS)(ROWS)
    assert same_bits(result, expected)
    assert len(parsed) == 2
    assert read_entry(path) is not None and len(path.read_bytes()) == len(content)
    nimblehlo.compile(SUMS)
    assert len(parsed) == 2


def test_only_programs_that_compile_are_stored(store: Path) -> None:
    invalid = SUMS.replace("dimensions = [1]", "dimensions = [2]")
    for text, error in ((invalid, nimblehlo.VerifyError), ("func.func @main(", nimblehlo.ParseError)):
        messages = set()
        for _ in range(2):
            with pytest.raises(error) as raised:
                nimblehlo.compile(text)
            messages.add(str(raised.value))
        assert len(messages) == 1
    assert not files(store)


def test_programs_that_depend_on_the_process_are_not_stored(
    store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nimblehlo.compile(SUMS, options=Options(sanitize=True))
    nimblehlo.compile(SUMS, options=Options(cache_bytes=0))
    cache_limit.set_limit(1 << 30)
    nimblehlo.compile(SUMS.replace("64x512", "?x512").replace("tensor<64xf32>", "tensor<?xf32>"))
    monkeypatch.setattr(Registry, "changes", 1)
    nimblehlo.compile(SUMS)
    monkeypatch.setattr(Registry, "changes", 0)
    monkeypatch.setenv(stored_programs.ENVIRONMENT_VARIABLE, "0")
    nimblehlo.compile(SUMS)
    assert not files(store)


def test_texts_of_some_sizes_are_stored(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    size = len(SUMS)
    for smallest, largest, count in ((size + 1, 1 << 20, 0), (0, size - 1, 0), (size, size, 1)):
        monkeypatch.setattr(stored_programs, "MIN_TEXT_BYTES", smallest)
        monkeypatch.setattr(stored_programs, "MAX_TEXT_BYTES", largest)
        nimblehlo.compile(SUMS)
        assert len(files(store)) == count
    artifact = nimblehlo.load(SUMS).serialize()
    monkeypatch.setattr(stored_programs, "MIN_TEXT_BYTES", 1 << 20)
    monkeypatch.setattr(stored_programs, "MAX_TEXT_BYTES", 1 << 20)
    for smallest, count in ((len(artifact) + 1, 1), (len(artifact), 2)):
        monkeypatch.setattr(stored_programs, "MIN_BYTECODE_BYTES", smallest)
        nimblehlo.compile(artifact)
        assert len(files(store)) == count


def test_only_what_takes_long_is_stored(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stored_programs, "MIN_SECONDS", 1e9)
    nimblehlo.compile(SUMS)
    monkeypatch.setattr(stored_programs, "MIN_SECONDS", 0.0)
    monkeypatch.setattr(stored_programs, "MAX_LIMIT_SHARE", 1e-9)
    nimblehlo.compile(SUMS)
    assert not files(store)


def test_another_process_reads_the_program(store: Path) -> None:
    nimblehlo.compile(SUMS, options=Options(threads=1))
    (path,) = files(store)
    os.utime(path, (0, 0))
    code = (
        "import sys, nimblehlo\n"
        "from nimblehlo.execution import stored_programs\n"
        "stored_programs.MIN_TEXT_BYTES = 0\n"
        "text = sys.stdin.read()\n"
        "executable = nimblehlo.compile(text, options=nimblehlo.Options(threads=1))\n"
        "print('nimblehlo.program.frontend.statement_parser' in sys.modules, executable.input_names)"
    )
    environment = {**os.environ, "NIMBLEHLO_CACHE_DIR": str(store), "PYTHONHASHSEED": "7"}
    result = subprocess.run(
        [sys.executable, "-c", code], input=SUMS, env=environment, capture_output=True, text=True, check=True
    )
    assert "rows" in result.stdout
    assert files(store) == [path] and path.stat().st_mtime > 1  # it was used
