"""The first operation that a backend computes differently is found."""

from collections.abc import Sequence
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.differences import find_faulty_operation
from nimblehlo.cli import main
from nimblehlo.program.ir import Module, Operation
from tests.checks.differences.faults import Fault, faults_of, faulty_backend

PROGRAM = """
func.func @main(%a: tensor<6x6xf32>, %b: tensor<6x6xf32>, %n: tensor<i32>)
    -> (tensor<6xf32>, tensor<6x6xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = stablehlo.subtract %a, %b : tensor<6x6xf32>
  %1 = stablehlo.tanh %0 : tensor<6x6xf32>
  %2 = stablehlo.dot_general %1, %b, contracting_dims = [1] x [0]
    : (tensor<6x6xf32>, tensor<6x6xf32>) -> tensor<6x6xf32>
  %3 = stablehlo.transpose %2, dims = [1, 0] : (tensor<6x6xf32>) -> tensor<6x6xf32>
  %i = stablehlo.constant dense<0> : tensor<i32>
  %one = stablehlo.constant dense<1> : tensor<i32>
  %4:2 = stablehlo.while(%k = %i, %v = %3) : tensor<i32>, tensor<6x6xf32>
   cond {
    %c = stablehlo.compare LT, %k, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %j = stablehlo.add %k, %one : tensor<i32>
    %s = stablehlo.sine %v : tensor<6x6xf32>
    %d = stablehlo.divide %s, %a : tensor<6x6xf32>
    stablehlo.return %j, %d : tensor<i32>, tensor<6x6xf32>
  }
  %5 = stablehlo.reduce(%4#1 init: %zero) applies stablehlo.add across dimensions = [1]
    : (tensor<6x6xf32>, tensor<f32>) -> tensor<6xf32>
  return %5, %3 : tensor<6xf32>, tensor<6x6xf32>
}
"""


def inputs() -> list[np.ndarray]:
    """Matrices of numbers around 1, and a number of iterations."""
    generator = np.random.default_rng(0)
    matrices = [generator.uniform(0.5, 2, (6, 6)).astype(np.float32) for _ in range(2)]
    return [*matrices, np.array(3, np.int32)]


def fault_in(module: Module, name: str, kind: str) -> tuple[Operation, Fault]:
    """The first operation of a name, and its fault of a kind."""
    operation = next(one for one in module.walk() if one.name == name)
    return operation, dict(faults_of(operation))[kind]


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("stablehlo.subtract", "flipped operand"),
        ("stablehlo.tanh", "through bf16"),
        ("stablehlo.dot_general", "dropped term"),
        ("stablehlo.transpose", "wrong axis"),
        ("stablehlo.reduce", "wrong axis"),
        ("stablehlo.reduce", "dropped term"),
    ],
)
def test_the_wrong_operation_is_named(name: str, kind: str) -> None:
    module = nimblehlo.load(PROGRAM)
    operation, fault = fault_in(module, name, kind)
    report = find_faulty_operation(module, inputs(), faulty_backend(operation.location, fault))
    assert report.violations and report.first is not None
    assert (report.first.operation, report.first.location) == (name, str(operation.location))
    assert report.first.within == ()


def test_the_iteration_of_a_loop_is_named() -> None:
    module = nimblehlo.load(PROGRAM)
    operation, fault = fault_in(module, "stablehlo.divide", "flipped operand")
    report = find_faulty_operation(module, inputs(), faulty_backend(operation.location, fault))
    assert report.first is not None
    assert report.first.operation == "stablehlo.divide"
    (place,) = report.first.within
    assert place.startswith("iteration 0 of stablehlo.while at ")


def test_a_rounding_mode_is_found_operation_by_operation() -> None:
    module = nimblehlo.load(PROGRAM)
    operation, fault = fault_in(module, "stablehlo.subtract", "wrong rounding")
    wrong = faulty_backend(operation.location, fault)
    assert not find_faulty_operation(module, inputs(), wrong).differs
    report = find_faulty_operation(module, inputs(), wrong, every_operation=True)
    assert report.first is not None and report.first.operation == "stablehlo.subtract"
    assert report.first.fails_alone


BODIES = """
func.func @main(%a: tensor<8xf32>, %i: tensor<i32>) -> (tensor<f32>, tensor<8xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0 = "stablehlo.reduce"(%a, %zero) <{dimensions = array<i64: 0>}> ({
  ^bb0(%x: tensor<f32>, %y: tensor<f32>):
    %s = stablehlo.add %x, %y : tensor<f32>
    stablehlo.return %s : tensor<f32>
  }) : (tensor<8xf32>, tensor<f32>) -> tensor<f32>
  %1 = "stablehlo.case"(%i) ({
    %2 = stablehlo.multiply %a, %a : tensor<8xf32>
    stablehlo.return %2 : tensor<8xf32>
  }) : (tensor<i32>) -> tensor<8xf32>
  return %0, %1 : tensor<f32>, tensor<8xf32>
}
"""


@pytest.mark.parametrize("name", ["stablehlo.add", "stablehlo.multiply"])
def test_a_rounding_mode_is_found_within_regions(name: str) -> None:
    module = nimblehlo.load(BODIES)
    operation, fault = fault_in(module, name, "wrong rounding")
    values = [np.random.default_rng(0).uniform(0.5, 2, 8).astype(np.float32), np.array(0, np.int32)]
    report = find_faulty_operation(
        module, values, faulty_backend(operation.location, fault), every_operation=True
    )
    assert report.first is not None
    assert report.first.location == str(operation.location)
    assert len(report.first.within) == 1


def used_names(module: Module) -> set[str]:
    """The names of the operations that @main's results depend on."""
    body = module.functions["main"].body
    assert body is not None
    waiting = [operand.owner for operand in body.block.terminator.operands]
    used: set[Operation] = set()
    while waiting:
        owner = waiting.pop()
        if isinstance(owner, Operation) and owner not in used:
            used.add(owner)
            waiting += [operand.owner for operand in owner.operands]
    return {operation.name for operation in used}


def test_a_fault_of_fused_operations_is_found_by_bisection() -> None:
    """The backend is wrong where a transpose follows a tanh and no intermediate result is an output."""

    def fusing(module: Module, arguments: list[np.ndarray]) -> list[np.ndarray]:
        results = nimblehlo.execute(module, arguments)
        if len(results) <= 2 and {"stablehlo.tanh", "stablehlo.transpose"} <= used_names(module):
            return [result * np.float32(1.01) for result in results]
        return results

    report = find_faulty_operation(PROGRAM, inputs(), fusing)
    assert report.first is not None
    assert report.first.operation == "stablehlo.transpose"
    assert not report.first.fails_alone


FUSED = """
func.func @main(%x: tensor<4096xf32>, %y: tensor<4096xf32>, %z: tensor<4096xf32>) -> tensor<4096xf32> {
  %0 = stablehlo.multiply %x, %y : tensor<4096xf32>
  %1 = stablehlo.add %0, %z : tensor<4096xf32>
  %2 = stablehlo.tanh %1 : tensor<4096xf32>
  return %2 : tensor<4096xf32>
}
"""


@pytest.mark.parametrize("ulps", [0, 64])
def test_an_operation_wrong_alone_goes_before_one_that_is_fused(ulps: int) -> None:
    """The sum is that of the unrounded product, and up to 64 ulps off, only where all values are returned."""

    def run(module: Module, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        names = [one.name for one in module.walk()]
        results = [np.asarray(one) for one in nimblehlo.execute(module, inputs)]
        if len(results) == 3:
            x, y, z = (one.astype(np.float64) for one in inputs)
            results[1] = ((x * y + z) * (1 + ulps * 2.0**-23)).astype(np.float32)
            results[2] = np.tanh(results[1])
        if "stablehlo.tanh" in names:
            results[-1] = results[-1].astype(ml_dtypes.bfloat16).astype(np.float32)
        return results

    generator = np.random.default_rng(0)
    operands = [generator.uniform(0.5, 2, 4096).astype(np.float32) for _ in range(3)]
    report = find_faulty_operation(FUSED, operands, run)
    assert report.first is not None and report.first.fails_alone
    assert report.first.operation == "stablehlo.tanh"


def test_right_results_are_no_difference() -> None:
    report = find_faulty_operation(PROGRAM, inputs(), "nimblehlo", every_operation=True)
    assert not report.differs
    assert "within their bounds" in str(report)


def test_the_command_stores_the_operation(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    assert main(["diff", str(file), "--random", "0", "--against", "nimblehlo"]) == 0
    assert "within their bounds" in capsys.readouterr().out
    module = nimblehlo.load(PROGRAM)
    operation, fault = fault_in(module, "stablehlo.tanh", "through bf16")
    report = find_faulty_operation(module, inputs(), faulty_backend(operation.location, fault))
    assert report.first is not None
    report.first.save(tmp_path / "out")
    stored = nimblehlo.load(tmp_path / "out" / "operation.mlir")
    operand = np.load(tmp_path / "out" / "operand_0.npy")
    results = np.load(tmp_path / "out" / "results.npz")
    np.testing.assert_array_equal(nimblehlo.execute(stored, [operand])[0], results["ours_0"])
    assert (results["theirs_0"] != results["ours_0"]).any()


def test_an_unknown_backend_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "program.mlir"
    file.write_text(PROGRAM)
    assert main(["diff", str(file), "--random", "0", "--against", "onnx"]) == 1
    assert "there is no backend" in capsys.readouterr().err
