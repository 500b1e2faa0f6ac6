"""What `interpreter.print` shows, what `interpreter.probe` writes and what reads it again."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from nimblehlo.cli import main
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.test_dialects import interpreter
from nimblehlo.program.ops.test_dialects.interpreter import INDEX_FILE, Probe, tensor_text
from nimblehlo.types import ELEMENT_TYPES, TensorType
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    program,
    rows,
)
from tests.support.running import same_bits

Array = np.ndarray[Any, Any]

COMPILE = ("never", "eager", "auto")


def probing(type: str, check: str = "") -> str:
    return f"""func.func @main(%x: {type}) -> {type} {{
      %0 = interpreter.probe %x, probe_id = "a, \\"b\\"" : {type}
      {check}
      return %0 : {type}
    }}"""


def index_rows(folder: Path) -> list[list[str]]:
    with (folder / INDEX_FILE).open(encoding="utf-8", newline="") as stream:
        return list(csv.reader(stream))


@pytest.mark.parametrize("element_type", sorted(ELEMENT_TYPES))
@pytest.mark.parametrize("shape", [(), (0, 2), (2, 3)], ids=str)
def test_a_probe_is_written_and_read(element_type: str, shape: tuple[int, ...], tmp_path: Path) -> None:
    type = str(TensorType(shape, ELEMENT_TYPES[element_type]))
    values = np.ones(shape).astype(ELEMENT_TYPES[element_type].dtype)
    check = f'check.expect_serialized_eq %0, probe_id = "a, \\"b\\"" : {type}'
    options = Options(compile="never", probe_directory=tmp_path / "new" / "folder")
    (result,) = nimblehlo.execute(probing(type, check), [values], options=options)
    assert same_bits(result, values)
    file = tmp_path / "new" / "folder" / "probe1.npy"
    assert index_rows(file.parent) == [['a, "b"', type, str(file)]]
    assert np.load(file).tobytes() == values.tobytes()


@pytest.mark.parametrize("compile", COMPILE)
def test_nothing_about_a_value_is_lost(compile: Any, tmp_path: Path) -> None:
    values = np.array([np.nan, -0.0, np.inf, 5e-324], np.float64)
    options = Options(compile=compile, probe_directory=tmp_path)
    nimblehlo.execute(probing("tensor<4xf64>"), [values], options=options)
    assert np.load(tmp_path / "probe1.npy").tobytes() == values.tobytes()


LOOP = """func.func @main(%n: tensor<i64>) -> tensor<i64> {
  %zero = stablehlo.constant dense<0> : tensor<i64>
  %one = stablehlo.constant dense<1> : tensor<i64>
  %two = stablehlo.constant dense<2> : tensor<i64>
  %end = stablehlo.while(%i = %zero) : tensor<i64>
  cond {
    %more = stablehlo.compare LT, %i, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
    stablehlo.return %more : tensor<i1>
  } do {
    %next = stablehlo.add %i, %one : tensor<i64>
    %unused = interpreter.probe %next, probe_id = "next" : tensor<i64>
    stablehlo.return %next : tensor<i64>
  }
  check.expect_serialized_eq %one, probe_id = "next" : tensor<i64>
  check.expect_serialized_eq %two, probe_id = "next", iter = 1 : tensor<i64>
  return %end : tensor<i64>
}"""


@pytest.mark.parametrize("compile", COMPILE)
def test_each_run_of_a_loop_is_probed(compile: Any, tmp_path: Path) -> None:
    executable = nimblehlo.compile(LOOP, options=Options(compile=compile, probe_directory=tmp_path))
    for _ in range(3):
        assert executable(np.array(4)) == [4]
        written = [int(np.load(file)) for _, _, file in index_rows(tmp_path)]
        assert written == [1, 2, 3, 4]


@pytest.mark.parametrize("compile", COMPILE)
def test_a_check_of_a_run_that_never_was_fails(compile: Any, tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"'next' has 1 value, but iteration 1 needs one"):
        nimblehlo.execute(LOOP, [np.array(1)], options=Options(compile=compile, probe_directory=tmp_path))


def test_a_check_fails_where_values_differ(tmp_path: Path) -> None:
    text = """func.func @main(%x: tensor<2xf32>, %y: tensor<2xf32>) {
      %0 = interpreter.probe %x, probe_id = "x" : tensor<2xf32>
      check.expect_serialized_eq %y, probe_id = "x" : tensor<2xf32>
      return
    }"""
    one, two = np.array([1, 1], np.float32), np.array([1, 2], np.float32)
    options = Options(probe_directory=tmp_path)
    nimblehlo.execute(text, [one, one], options=options)
    with pytest.raises(ExecutionError, match="equal to the probe's"):
        nimblehlo.execute(text, [one, two], options=options)


def test_a_check_reads_an_earlier_call_from_the_index(tmp_path: Path) -> None:
    options = Options(probe_directory=tmp_path)
    values = np.array([1, 2], np.float32)
    nimblehlo.execute(probing("tensor<2xf32>"), [values], options=options)
    text = """func.func @main(%x: tensor<2xf32>) {
      check.expect_serialized_eq %x, probe_id = "a, \\"b\\"" : tensor<2xf32>
      return
    }"""
    nimblehlo.execute(text, [values], options=options)
    with pytest.raises(ExecutionError, match="equal"):
        nimblehlo.execute(text, [values + 1], options=options)
    (tmp_path / "probe1.npy").write_bytes(b"no array")
    with pytest.raises(ExecutionError, match="cannot be read"):
        nimblehlo.execute(text, [values], options=options)


def test_a_probe_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match=r"interpreter.probe: Options has no probe_directory"):
        nimblehlo.execute(probing("tensor<2xf32>"), [np.zeros(2, np.float32)])
    (tmp_path / "file").write_text("")
    with pytest.raises(ExecutionError, match="file"):
        nimblehlo.execute(
            probing("tensor<f32>"), [np.float32(0)], options=Options(probe_directory=tmp_path / "file")
        )


def test_probes_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, folder = tmp_path / "program.mlir", tmp_path / "probes"
    file.write_text(probing("tensor<2xf32>"))
    assert main(["run", str(file), "--random", "1", "--probe", str(folder)]) == 0
    assert len(index_rows(folder)) == 1
    file.write_text(LOOP.replace("%n: tensor<i64>", "").replace("%n", "%two"))
    assert main(["check", str(file)]) == 0
    assert "1 passed, 0 failed" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array(1, np.uint8), "tensor<ui8> {1}"),
        (np.array(True), "tensor<i1> {true}"),
        (np.array([1, -2], np.int8), "tensor<2xi8> {\n  [1, -2]\n}"),
        (np.zeros((0, 2), np.int8), "tensor<0x2xi8> {\n  []\n}"),
        (np.zeros((2, 0), np.int8), "tensor<2x0xi8> {\n  [\n    [],\n    []\n  ]\n}"),
        (np.array([1.5, 0.1], np.float64), "tensor<2xf64> {\n  [1.500000e+00, 1.000000e-01]\n}"),
        (np.array(1 / 3), "tensor<f64> {3.333333333333333e-01}"),
        (np.array(np.nan), "tensor<f64> {nan}"),
        (np.array(-0.0, np.float32), "tensor<f32> {-0.000000e+00}"),
        (np.array(1 - 2j, np.complex64), "tensor<complex<f32>> {[1.000000e+00, -2.000000e+00]}"),
    ],
    ids=lambda value: str(value.dtype) if isinstance(value, np.ndarray) else "",
)
def test_printed_text(values: Array, expected: str) -> None:
    element_type = next(type for type in ELEMENT_TYPES.values() if type.dtype == values.dtype)
    assert tensor_text(TensorType(values.shape, element_type), values) == expected


@pytest.mark.parametrize("compile", COMPILE)
def test_print_shows_a_tensor_in_its_place(compile: Any, capsys: pytest.CaptureFixture[str]) -> None:
    text = """func.func @main(%x: tensor<2xi32>) -> tensor<2xi32> {
      interpreter.print %x : tensor<2xi32>
      %0 = stablehlo.add %x, %x : tensor<2xi32>
      interpreter.print %0 : tensor<2xi32>
      return %0 : tensor<2xi32>
    }"""
    nimblehlo.execute(text, [np.array([1, 2], np.int32)], options=Options(compile=compile))
    assert capsys.readouterr().out == "tensor<2xi32> {\n  [1, 2]\n}\ntensor<2xi32> {\n  [2, 4]\n}\n"


REJECTED: dict[type[Op], dict[str, str]] = {
    Probe: {"C1": program("interpreter.probe", ["tensor<2xf32>"], ["tensor<3xf32>"], 'probe_id = "a"')},
    interpreter.Print: {},
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert lookup("interpreter.probe") is Probe
    assert_complete(REJECTED, interpreter)


@pytest.mark.parametrize(
    "text",
    [
        program("interpreter.probe", ["tensor<2xf32>"], ["tensor<2xf32>"], 'probe_id = "a"'),
        program("interpreter.print", ["tensor<2xf32>"], []),
    ],
)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)
