"""`load`, `compile` and `execute`: inputs, results and errors."""

from __future__ import annotations

import enum
import gc
import pickle
import threading
import tracemalloc
from pathlib import Path
from typing import Literal

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, NimbleError, Options, ParseError, UnsupportedError, VerifyError, api
from nimblehlo.compiler.lru_cache import LRUCache
from nimblehlo.execution import program
from nimblehlo.types import element_type_of
from tests.support.threads import on_threads

ADD = """
func.func @main(%a: tensor<4xf32>, %b: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %a, %b : tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def scalar_program(type: str) -> str:
    return f"func.func @main(%a: tensor<{type}>) -> tensor<{type}> {{ return %a : tensor<{type}> }}"


def test_execute_adds() -> None:
    a = np.arange(4, dtype=np.float32)
    (result,) = nimblehlo.execute(ADD, [a, a])
    assert result.dtype == np.float32
    assert result.tolist() == [0, 2, 4, 6]


def test_compile_once_call_often() -> None:
    executable = nimblehlo.compile(ADD)
    for factor in range(5):
        a = np.full(4, factor, np.float32)
        assert executable(a, a)[0].tolist() == [2 * factor] * 4


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The options of each Executable that is made; `execute` knows no program from before."""
    made: list[object] = []
    original = api.Executable.__init__

    def counting(self: object, module: object, entry: str, options: Options, **rest: object) -> None:
        made.append(options)
        original(self, module, entry, options, **rest)

    monkeypatch.setattr(api.Executable, "__init__", counting)
    monkeypatch.setattr(api, "_executed", LRUCache(2))
    return made


def test_execute_keeps_small_programs_that_are_text(compiled: list[object]) -> None:
    a = np.ones(4, np.float32)
    for factor in range(3):
        assert nimblehlo.execute("".join(list(ADD)), [a * factor, a])[0].tolist() == [factor + 1] * 4
    assert len(compiled) == 1
    nimblehlo.execute(ADD, [a, a], options=Options(compile="never"))
    assert len(compiled) == 2
    nimblehlo.execute(ADD.replace("add", "multiply"), [a, a])
    nimblehlo.execute(ADD, [a, a], options=Options(compile="never"))
    assert len(compiled) == 3
    assert nimblehlo.execute(ADD, [a, a])[0].tolist() == [2] * 4
    assert len(compiled) == 4


def test_execute_reads_files_and_builds_large_programs_again(compiled: list[object], tmp_path: Path) -> None:
    a, path = np.ones(4, np.float32), tmp_path / "program.mlir"
    for text, wanted in ((ADD, 2), (ADD.replace("add", "subtract"), 0)):
        path.write_text(text)
        assert nimblehlo.execute(str(path), [a, a])[0].tolist() == [wanted] * 4
    large = api.MAX_CACHED_EXECUTABLE_BYTES // 4 + 1
    for _ in range(2):
        nimblehlo.execute(ADD.replace("<4x", f"<{large}x"), [np.ones(large, np.float32)] * 2)
    assert len(compiled) == 4


def test_load_accepts_what_it_returned() -> None:
    module = nimblehlo.load(ADD)
    assert nimblehlo.load(module) is module
    assert nimblehlo.execute(module, [np.ones(4, np.float32)] * 2)[0].tolist() == [2] * 4


def test_entry_names_another_function() -> None:
    text = """
    func.func @f() -> tensor<i32> {
      %0 = stablehlo.constant dense<7> : tensor<i32>
      return %0 : tensor<i32>
    }
    """
    assert nimblehlo.execute(text, entry="f")[0] == 7
    with pytest.raises(NimbleError, match=r"@main.*@f"):
        nimblehlo.compile(text)


@pytest.mark.parametrize("options", [Options(), Options(max_steps=10), Options(donate=[0])])
def test_a_call_of_arrays_ignores_numpys_errors_and_takes_any_strides(options: Options) -> None:
    call = nimblehlo.compile(ADD, options=options)
    a = np.float32([1, -1, np.inf, 3e38])
    with np.errstate(all="raise"):
        (result,) = call(a.copy(), np.float32([1, 2, -np.inf, 3e38]))
        assert np.geterr()["over"] == "raise"
    np.testing.assert_array_equal(result, np.float32([2, 1, np.nan, np.inf]))
    assert call(a[::-1], np.ones((4, 2), np.float32)[:, 0])[0].tolist() == (a[::-1] + 1).tolist()
    for wrong in [(a,), (a, a[:2])]:
        with pytest.raises(ExecutionError):
            call(*wrong)


@pytest.mark.parametrize("dtype", [np.float32, np.int64, bool, np.complex64, ml_dtypes.bfloat16])
def test_unpickled_arrays_fit_as_they_are(dtype: type) -> None:
    type_ = f"tensor<3x{element_type_of(np.dtype(dtype)).name}>"
    executable = nimblehlo.compile(f"func.func @main(%a: {type_}) -> {type_} {{ return %a : {type_} }}")
    a = np.zeros(3, dtype)
    unpickled = pickle.loads(pickle.dumps(a))
    assert executable.fits((a,)) and executable.fits((unpickled,))
    assert not executable.fits((a.view(np.int8),))
    swapped = a.astype(a.dtype.newbyteorder())
    assert executable.fits((swapped,)) == (a.itemsize == 1)


def test_calls_of_large_programs_run_within_their_memory() -> None:
    text = "func.func @main(%a: tensor<1048576xf32>) -> tensor<1048576xf32> " + (
        "{ %0 = stablehlo.sine %a : tensor<1048576xf32> return %0 : tensor<1048576xf32> }"
    )
    executable = nimblehlo.compile(text)
    a = np.linspace(-9, 9, 1 << 20, dtype=np.float32)
    for (result,) in [executable(a), executable.call_converted(a)]:
        assert "nimblehlo" in np._core.multiarray.get_handler_name(result)
        np.testing.assert_array_equal(result, executable(a.astype(np.float32))[0])
        np.testing.assert_allclose(result, np.sin(a), atol=1e-6)


def test_a_call_gives_away_no_argument_and_no_constant() -> None:
    text = """
    func.func @main(%a: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xi32>) {
      %c = stablehlo.constant dense<[1, 2]> : tensor<2xi32>
      return %a, %c : tensor<2xf32>, tensor<2xi32>
    }
    """
    call = nimblehlo.compile(text)
    a = np.ones(2, np.float32)
    for result in call(a):
        result[...] = 9
    assert a.tolist() == [1, 1]
    assert call(a)[1].tolist() == [1, 2]


def test_results_belong_to_the_caller() -> None:
    text = """
    func.func @main(%a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<3xi32>) {
      %c = stablehlo.constant dense<[1, 2, 3]> : tensor<3xi32>
      %0 = stablehlo.reshape %a : (tensor<4xf32>) -> tensor<2x2xf32>
      return %a, %a, %0, %c : tensor<4xf32>, tensor<4xf32>, tensor<2x2xf32>, tensor<3xi32>
    }
    """
    executable = nimblehlo.compile(text)
    a = np.ones(4, np.float32)
    first = executable(a)
    for index, result in enumerate(first):
        result[...] = index + 5
    assert a.tolist() == [1] * 4
    assert [result.flat[0] for result in first] == [5, 6, 7, 8]
    assert executable(a)[3].tolist() == [1, 2, 3]


def test_results_are_contiguous() -> None:
    text = """
    func.func @main(%a: tensor<3x2xf32>) -> tensor<2x3xf32> {
      %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<3x2xf32>) -> tensor<2x3xf32>
      return %0 : tensor<2x3xf32>
    }
    """
    (result,) = nimblehlo.execute(text, [np.arange(6, dtype=np.float32).reshape(3, 2)])
    assert result.flags.c_contiguous and result.tolist() == [[0, 2, 4], [1, 3, 5]]


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("f32", 1.5),
        ("f32", 2),
        ("i32", -3),
        ("i1", True),
        ("complex<f32>", 1 + 2j),
        ("bf16", 1.5),
        ("ui8", 255),
        ("i4", -8),
    ],
)
def test_python_scalars(type: str, value: complex) -> None:
    (result,) = nimblehlo.execute(scalar_program(type), [value])
    assert result.shape == () and result == np.array(value, result.dtype)


@pytest.mark.parametrize(
    ("type", "value"),
    [
        ("i32", 1.5),
        ("i1", 1),
        ("f32", 1j),
        ("ui8", 256),
        ("i4", 8),
        ("ui8", -1),
        ("i64", 1 << 63),
        ("2xf32", 1.0),
    ],
)
def test_python_scalars_that_do_not_fit(type: str, value: complex) -> None:
    with pytest.raises(ExecutionError, match="input 0"):
        nimblehlo.execute(scalar_program(type), [value])


@pytest.mark.parametrize(
    "inputs",
    [
        [],
        [np.ones(4, np.float32)],
        [np.ones(4, np.float32)] * 3,
        [np.ones(4, np.float64), np.ones(4, np.float32)],
        [np.ones(3, np.float32), np.ones(4, np.float32)],
        [np.ones((4, 1), np.float32), np.ones(4, np.float32)],
        ["text", np.ones(4, np.float32)],
        [None, np.ones(4, np.float32)],
        [object(), np.ones(4, np.float32)],
        [[1, [2]], np.ones(4, np.float32)],
    ],
)
def test_inputs_that_do_not_fit(inputs: list[object]) -> None:
    executable = nimblehlo.compile(ADD)
    with pytest.raises(ExecutionError):
        executable(*inputs)
    assert executable(np.ones(4, np.float32), np.ones(4, np.float32))[0].tolist() == [2] * 4


@pytest.mark.parametrize("value", [np.float64(1.5), np.complex128(2), np.int64(3), np.True_])
def test_numpy_scalars(value: np.generic) -> None:
    types = {"f": "f64", "c": "complex<f64>", "i": "i64", "b": "i1"}
    (result,) = nimblehlo.execute(scalar_program(types[value.dtype.kind]), [value])
    assert result.shape == () and result == value
    with pytest.raises(ExecutionError, match="has elements of"):
        nimblehlo.execute(scalar_program("i8"), [value])


class Number(enum.IntEnum):
    """A subclass of one of Python's scalar types."""

    TWO = 2


def test_subclasses_of_python_scalars() -> None:
    assert nimblehlo.execute(scalar_program("i32"), [Number.TWO])[0] == 2


class Wrapped:
    """An array behind ``__array__``."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __array__(self, dtype: object = None, copy: object = None) -> np.ndarray:
        return self.array


class Exported:
    """An array behind ``__dlpack__``."""

    def __init__(self, array: np.ndarray) -> None:
        self.array = array

    def __dlpack__(self, **options: object) -> object:
        return self.array.__dlpack__(**options)

    def __dlpack_device__(self) -> object:
        return self.array.__dlpack_device__()


@pytest.mark.parametrize("wrap", [Wrapped, Exported, np.ndarray.tolist])
def test_array_protocols(wrap: object) -> None:
    a = np.arange(4, dtype=np.float64)
    text = ADD.replace("f32", "f64")
    (result,) = nimblehlo.execute(text, [wrap(a), a])  # type: ignore[operator]
    assert result.tolist() == [0, 2, 4, 6]


def test_inputs_of_other_layouts() -> None:
    base = np.arange(8, dtype=np.float32)
    swapped = base[:4].astype(">f4")
    assert nimblehlo.execute(ADD, [base[::2], swapped])[0].tolist() == [0, 3, 6, 9]
    frozen = base[:4].copy()
    frozen.flags.writeable = False
    assert nimblehlo.execute(ADD, [frozen, frozen])[0].tolist() == [0, 2, 4, 6]


def test_ml_dtypes_inputs() -> None:
    text = ADD.replace("f32", "bf16")
    a = np.arange(4).astype(ml_dtypes.bfloat16)
    (result,) = nimblehlo.execute(text, [a, a])
    assert result.dtype == ml_dtypes.bfloat16 and result.astype(np.float32).tolist() == [0, 2, 4, 6]


def test_tuples_go_in_and_out() -> None:
    text = """
    func.func @main(%a: tuple<tensor<2xi32>, tensor<f32>>) -> tuple<tensor<f32>, tensor<2xi32>> {
      %0 = stablehlo.get_tuple_element %a[0] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<2xi32>
      %1 = stablehlo.get_tuple_element %a[1] : (tuple<tensor<2xi32>, tensor<f32>>) -> tensor<f32>
      %2 = stablehlo.tuple %1, %0 : tuple<tensor<f32>, tensor<2xi32>>
      return %2 : tuple<tensor<f32>, tensor<2xi32>>
    }
    """
    (result,) = nimblehlo.execute(text, [(np.array([1, 2], np.int32), 2.5)])
    assert isinstance(result, tuple) and result[0] == 2.5 and result[1].tolist() == [1, 2]


def test_many_threads_share_an_executable() -> None:
    text = """
    func.func @main(%n: tensor<i32>, %x: tensor<64xf32>) -> tensor<64xf32> {
      %c = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %r:2 = stablehlo.while(%i = %c, %v = %x) : tensor<i32>, tensor<64xf32>
      cond {
        %p = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %p : tensor<i1>
      } do {
        %j = stablehlo.add %i, %one : tensor<i32>
        %w = stablehlo.add %v, %x : tensor<64xf32>
        stablehlo.return %j, %w : tensor<i32>, tensor<64xf32>
      }
      return %r#1 : tensor<64xf32>
    }
    """
    executable = nimblehlo.compile(text)

    def call(factor: int) -> None:
        for _ in range(20):
            (result,) = executable(np.int32(10), np.full(64, factor, np.float32))
            assert (result == 11 * factor).all()

    on_threads(8, call)


@pytest.mark.parametrize("compile", ["never", "eager"])
def test_a_failed_call_leaves_nothing_behind(compile: Literal["never", "eager"]) -> None:
    text = """
    func.func @main(%a: tensor<250000xf32>, %b: tensor<250000xf32>) -> tensor<250000xf32> {
      %0 = stablehlo.add %a, %a : tensor<250000xf32>
      check.expect_eq %0, %b : tensor<250000xf32>
      return %0 : tensor<250000xf32>
    }
    """
    executable = nimblehlo.compile(text, options=Options(compile=compile))
    a = np.ones(250_000, np.float32)
    with pytest.raises(ExecutionError):
        executable(a, a)
    # The scan of the disk cache allocates memory meanwhile.
    for thread in threading.enumerate():
        if thread.name == "nimblehlo-cache":
            thread.join()
    gc.collect()
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    for _ in range(3):
        with pytest.raises(ExecutionError):
            executable(a, a)
    gc.collect()
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert after - before < 100_000
    assert executable(a, a + a)[0][0] == 2


def test_errors_are_of_the_right_kind() -> None:
    with pytest.raises(ParseError):
        nimblehlo.load("func.func @main(")
    with pytest.raises(VerifyError) as caught:
        nimblehlo.load(
            "func.func @main(%a: tensor<4xf32>) -> tensor<5xf32> {\n"
            "  %0 = stablehlo.abs %a : (tensor<4xf32>) -> tensor<5xf32>\n"
            "  return %0 : tensor<5xf32>\n}"
        )
    assert caught.value.operation == "stablehlo.abs"
    assert caught.value.location is not None and ":2:" in caught.value.location
    with pytest.raises(UnsupportedError, match=r"stablehlo\.trace"):
        nimblehlo.load(
            'func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> { %0 = "stablehlo.trace"(%a) '
            ": (tensor<4xf32>) -> tensor<4xf32> return %0 : tensor<4xf32> }"
        )


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="compile"):
        Options(compile="sometimes")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="threads"):
        Options(threads=0)


def test_explain_names_each_step() -> None:
    text = nimblehlo.compile(ADD, options=Options(compile="never")).explain("plan")
    assert "stablehlo.add" in text and "numpy: compilation is off" in text
    assert "arguments 32, results 16, temporaries 0, constants 0" in text


def test_explain_shows_the_program_before_and_after() -> None:
    text = """
    func.func @main(%a: tensor<4xf32>) -> tensor<4xf32> {
      %c = stablehlo.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
      %large = stablehlo.iota dim = 0 : tensor<4xf32>
      %0 = func.call @f(%a) : (tensor<4xf32>) -> tensor<4xf32>
      %1 = stablehlo.subtract %0, %c : tensor<4xf32>
      return %1 : tensor<4xf32>
    }
    func.func private @f(%a: tensor<4xf32>) -> tensor<4xf32> {
      %0 = stablehlo.cosine %a : tensor<4xf32>
      return %0 : tensor<4xf32>
    }
    """
    executable = nimblehlo.compile(text)
    before, after, plan = (executable.explain(what) for what in ("source", "program", "plan"))
    assert "func.call" in before and "stablehlo.iota" in before
    assert "func.call" not in after and "stablehlo.iota" not in after and "func.func @main" in after
    assert plan.startswith("Plan of @main : (tensor<4xf32>) -> tensor<4xf32>")
    assert executable.explain() == "\n\n".join([before, after, plan])
    with pytest.raises(ValueError, match="what is 'steps'"):
        executable.explain("steps")  # type: ignore[arg-type]


def test_explain_leaves_out_the_elements_of_large_constants() -> None:
    values = ", ".join(str(float(number)) for number in range(1000))
    text = f"""
    func.func @main() -> tensor<1000xf32> {{
      %c = stablehlo.constant dense<[{values}]> : tensor<1000xf32>
      return %c : tensor<1000xf32>
    }}
    """
    assert nimblehlo.compile(text).explain("source").count("dense<1000 elements> : tensor<1000xf32>") == 1


def test_a_program_of_unknown_sizes_explains_those_it_met() -> None:
    executable = nimblehlo.compile(ADD.replace("4x", "?x"))
    assert executable.explain("plan") == ""
    for size in (3, 5):
        executable(np.ones(size, np.float32), np.ones(size, np.float32))
    assert executable.explain("plan").count("Plan of @main") == 2


@pytest.mark.parametrize(
    ("count", "options", "wakes"),
    [(1 << 20, Options(), 1), (1 << 20, Options(threads=1), 0), (100, Options(), 0)],
)
def test_threads_are_woken_for_programs_on_large_arrays(
    monkeypatch: pytest.MonkeyPatch, count: int, options: Options, wakes: int
) -> None:
    calls: list[int] = []
    monkeypatch.setattr(program, "wake_workers", lambda: calls.append(1))
    type = f"tensor<{count}xf32>"
    text = f"func.func @main(%x: {type}) -> {type} {{\n  return %x : {type}\n}}"
    nimblehlo.compile(text, options=options)(np.zeros(count, np.float32))
    assert len(calls) == wakes
