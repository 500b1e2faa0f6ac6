"""``eval_module``, compared with jaxlib's, and the options of ``stablehlo-translate --interpret``."""

from __future__ import annotations

import io
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.cli import main
from nimblehlo.jax.interpreter import eval_module, result_text
from nimblehlo.program.ir import DenseElementsAttribute

PROGRAM = """
func.func @main(%a: tensor<2xf32>, %b: tensor<2x2xi32>)
    -> (tensor<2xf32>, tensor<2x2xi32>, tensor<complex<f32>>, tensor<2xi1>) {
  %0 = stablehlo.add %a, %a : tensor<2xf32>
  %c = stablehlo.complex %a, %0 : tensor<2xcomplex<f32>>
  %s = stablehlo.slice %c [0:1] : (tensor<2xcomplex<f32>>) -> tensor<1xcomplex<f32>>
  %r = stablehlo.reshape %s : (tensor<1xcomplex<f32>>) -> tensor<complex<f32>>
  %p = stablehlo.compare LT, %a, %0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xi1>
  return %0, %b, %r, %p : tensor<2xf32>, tensor<2x2xi32>, tensor<complex<f32>>, tensor<2xi1>
}
"""
INPUTS = ["dense<[1.5, -2.0]> : tensor<2xf32>", "dense<[[1, 2], [3, 4]]> : tensor<2x2xi32>"]


def test_results_of_jaxlib_modules_are_those_of_jaxlib() -> None:
    ir = pytest.importorskip("jaxlib.mlir.ir")
    from jax._src.interpreters import mlir
    from jaxlib.mlir.dialects import stablehlo

    with mlir.make_ir_context() as context:
        stablehlo.register_interpreter_dialect(context)
        # A complex result ends the process of jaxlib's interpreter.
        real = PROGRAM.replace(" tensor<complex<f32>>, tensor<2xi1>", " tensor<2xi1>").replace("%r, %p", "%p")
        module = ir.Module.parse(real)
        args = [ir.Attribute.parse(text) for text in INPUTS]
        expected: list[Any] = stablehlo.eval_module(module, args)
        actual = eval_module(module, args)
        assert [str(one) for one in actual] == [str(one) for one in expected]
        assert all(type(one) is type(other) for one, other in zip(actual, expected, strict=True))
        with pytest.raises(nimblehlo.UnsupportedError, match="complex<f32>"):
            eval_module(ir.Module.parse(PROGRAM), args)


def test_texts_and_arrays_as_inputs() -> None:
    results = eval_module(PROGRAM, [INPUTS[0], np.zeros((2, 2), np.int32)])
    assert all(isinstance(one, DenseElementsAttribute) for one in results)
    assert results[0].array.tolist() == [3, -4]


def test_probes(tmp_path: Path) -> None:
    text = """
    func.func @main() -> tensor<i32> {
      %0 = stablehlo.constant dense<7> : tensor<i32>
      %1 = interpreter.probe %0, probe_id = "seven" : tensor<i32>
      return %1 : tensor<i32>
    }
    """
    eval_module(text, [], str(tmp_path))
    assert any("seven" in path.read_text() for path in tmp_path.glob("*.csv"))


def test_inputs_that_are_not_dense() -> None:
    with pytest.raises(nimblehlo.ExecutionError, match="must be a dense attribute"):
        eval_module(PROGRAM, ["unit", INPUTS[1]])
    with pytest.raises(nimblehlo.ParseError):
        eval_module(PROGRAM, ["dense<1", INPUTS[1]])


def test_command_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file, output = tmp_path / "program.mlir", tmp_path / "out.txt"
    file.write_text(PROGRAM)
    assert main(["run", "--interpret", str(file), "--args", ", ".join(INPUTS)]) == 0
    expected = (
        "tensor<2xf32> {\n  [3.000000e+00, -4.000000e+00]\n}\n"
        "tensor<2x2xi32> {\n  [\n    [1, 2],\n    [3, 4]\n  ]\n}\n"
        "tensor<complex<f32>> {[1.500000e+00, 3.000000e+00]}\n"
        "tensor<2xi1> {\n  [true, false]\n}\n"
    )
    assert capsys.readouterr().out == expected
    assert main(["run", str(file), "--interpret", f"--args=[{', '.join(INPUTS)}]"]) == 0
    assert capsys.readouterr().out == expected
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(PROGRAM.encode())))
    assert main(["run", "-", "--interpret", f"--args={', '.join(INPUTS)}", "-o", str(output)]) == 0
    assert output.read_text() == expected and not capsys.readouterr().out


def test_numbers_are_told_from_their_neighbours() -> None:
    type = nimblehlo.load(PROGRAM).functions["main"].type.inputs[0]
    third, infinite = np.float32(1) / np.float32(3), np.float32(np.inf)
    text = result_text(np.array([third, infinite]), type)
    assert np.float32(float(text.partition("[")[2].partition(",")[0])) == third and "inf" in text
