"""Results that backends returned: which of them are allowed, and which operation is wrong."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks import judging
from nimblehlo.checks.backends import CallableBackend
from nimblehlo.checks.conformance.verdicts import Verdict
from nimblehlo.checks.error_bounds import Accuracy
from nimblehlo.checks.judging import judge_results, read_results
from nimblehlo.cli import main
from nimblehlo.errors import ExecutionError
from nimblehlo.program.ir import Module
from tests.checks.differences.faults import faults_of, faulty, faulty_backend

PROGRAM = """
func.func @main(%x: tensor<4xf32>, %y: tensor<3xf32>) -> (tensor<4xf32>, tensor<3xf32>) {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  %1 = stablehlo.tanh %0 : tensor<4xf32>
  %2 = stablehlo.negate %1 : tensor<4xf32>
  %3 = stablehlo.sine %y : tensor<3xf32>
  return %2, %3 : tensor<4xf32>, tensor<3xf32>
}
"""
INPUTS = [np.linspace(0.3, 0.9, 4, dtype=np.float32), np.linspace(-1, 1, 3, dtype=np.float32)]


def wrong(module: Module) -> tuple[CallableBackend, list[Any]]:
    """A backend that computes `tanh` through bf16, and its results."""
    operation = next(one for one in module.walk() if one.name == "stablehlo.tanh")
    fault = dict(faults_of(operation))["through bf16"]
    backend = faulty_backend(operation.location, fault)
    return backend, nimblehlo.execute(faulty(module, operation.location, fault), INPUTS)


def test_the_wrong_operation_is_found_by_running_again() -> None:
    module = nimblehlo.load(PROGRAM)
    backend, results = wrong(module)
    right = nimblehlo.execute(module, INPUTS)
    within, outside = judge_results(module, INPUTS, {"A": right, "B": results}, ["nimblehlo", backend])
    assert (within.verdict, within.first, within.program) == (Verdict.WITHIN, None, None)
    assert (outside.verdict, outside.is_reproduced) == (Verdict.OUTSIDE, True)
    assert outside.first is not None and outside.first.operation == "stablehlo.tanh"
    assert outside.program is not None
    names = [one.name for one in outside.program.walk()]
    assert "stablehlo.tanh" in names and "stablehlo.add" not in names


@pytest.mark.parametrize(("excess", "confirms"), [(judging.SURE_EXCESS, False), (np.inf, True)])
def test_few_runs_decide_where_an_operation_is_wrong(
    excess: float, confirms: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More random runs of the program, which has two results, confirm only what is near a bound."""
    compared: list[int] = []
    right = Accuracy.violations

    def noted(self: Accuracy, actual: Sequence[object]) -> Any:
        compared.append(len(self.results))
        return right(self, actual)

    monkeypatch.setattr(Accuracy, "violations", noted)
    monkeypatch.setattr(judging, "SURE_EXCESS", excess)
    backend, results = wrong(nimblehlo.load(PROGRAM))
    (judged,) = judge_results(PROGRAM, INPUTS, {"B": results}, [backend])
    assert judged.verdict == Verdict.OUTSIDE and judged.first is not None
    assert (2 in compared) == confirms


@pytest.mark.parametrize("limit", [15, 16])
def test_large_inputs_stay_inputs(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """`tanh` has 16 bytes of inputs."""
    monkeypatch.setattr(judging, "MAX_CONSTANT_BYTES", limit)
    backend, results = wrong(nimblehlo.load(PROGRAM))
    (judged,) = judge_results(PROGRAM, INPUTS, {"B": results}, [backend])
    assert [one.nbytes for one in judged.inputs] == ([] if limit == 16 else [16])


def test_few_suspects_are_named() -> None:
    names = [f"operation {index}" for index in range(judging.MAX_SUSPECTS + 2)]
    text = str(judging.JudgedResults("B", Verdict.OUTSIDE, suspects=names))
    assert text.endswith("operation 9 and 2 more")
    assert str(judging.JudgedResults("B", Verdict.OUTSIDE, suspects=names[:-2])).endswith("operation 9")


def test_results_that_the_backend_does_not_give_again() -> None:
    module = nimblehlo.load(PROGRAM)
    results = wrong(module)[1]
    (judged,) = judge_results(module, INPUTS, {"B": results}, ["nimblehlo"])
    assert (judged.verdict, judged.is_reproduced, judged.first) == (Verdict.OUTSIDE, False, None)


def test_an_altered_operation_of_a_whole_model_is_named() -> None:
    """A transformer in JAX, of which one exponential is computed through bf16."""
    pytest.importorskip("jax")
    from tests.models import MODELS

    model = MODELS["transformer_forward"]
    module, inputs = nimblehlo.load(str(nimblehlo.load(model.lowered()))), model.inputs()
    assert sum(1 for _ in module.walk()) > 150
    operation = next(one for one in module.walk() if one.name == "stablehlo.exponential")
    fault = dict(faults_of(operation))["through bf16"]
    results = nimblehlo.execute(faulty(module, operation.location, fault), inputs)
    backend = faulty_backend(operation.location, fault)
    (judged,) = judge_results(module, inputs, {"B": results}, [backend])
    assert judged.first is not None
    assert (judged.first.operation, judged.first.location) == (operation.name, str(operation.location))
    assert judged.program is not None and sum(1 for _ in judged.program.walk()) < 5


def test_without_a_backend_operations_are_suspected() -> None:
    module = nimblehlo.load(PROGRAM)
    (judged,) = judge_results(module, INPUTS, {"B": wrong(module)[1]})
    names = [one.partition(" ")[0] for one in judged.suspects]
    assert names == ["stablehlo.add", "stablehlo.tanh", "stablehlo.negate"]
    assert judged.program is not None
    assert not any(one.name == "stablehlo.sine" for one in judged.program.walk())
    (result,) = nimblehlo.execute(judged.program, INPUTS)
    assert np.array_equal(result, nimblehlo.execute(module, INPUTS)[0])


def test_results_of_another_number_or_type_are_outside() -> None:
    right = nimblehlo.execute(PROGRAM, INPUTS)
    fewer, other = judge_results(
        PROGRAM, INPUTS, {"A": right[:1], "B": [right[0].astype(np.float64), right[1]]}
    )
    assert fewer.verdict == other.verdict == Verdict.OUTSIDE
    assert "1 results instead of 2" in str(fewer)


def test_each_result_needs_its_backend() -> None:
    right = nimblehlo.execute(PROGRAM, INPUTS)
    with pytest.raises(ValueError, match="1 backends for 2 results"):
        judge_results(PROGRAM, INPUTS, {"A": right, "B": right}, ["nimblehlo"])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "program.mlir"
    program.write_text(PROGRAM)
    files = [str(tmp_path / name) for name in ("inputs.npz", "a.npz", "b.npz")]
    np.savez(files[0], *INPUTS)
    right = nimblehlo.execute(PROGRAM, INPUTS)
    np.savez(files[1], result_0=right[0], result_1=right[1])
    np.savez(files[2], right[0] * np.float32(1.01), right[1])
    command = ["judge", str(program), "--inputs", files[0], "--results"]
    assert main([*command, files[1]]) == 0
    assert capsys.readouterr().out == f"{files[1]}: within\n"
    folder = tmp_path / "out"
    assert main([*command, *files[1:], "--output", str(folder)]) == 1
    shown = capsys.readouterr().out
    assert f"{files[2]}: outside\n  result 0: " in shown and "4 of 4 elements" in shown
    assert "stablehlo.tanh" in (folder / "1" / "program.mlir").read_text()
    assert np.array_equal(np.load(folder / "1" / "input_0.npy"), INPUTS[0])
    assert main([*command, *files[1:], "--against", "nimblehlo"]) == 1
    assert "a backend for each file" in capsys.readouterr().err
    assert main([*command, files[1], files[1], "--against", "nimblehlo", "nimblehlo"]) == 1
    assert "a.npz twice" in capsys.readouterr().err


def test_a_file_that_lacks_results(tmp_path: Path) -> None:
    np.savez(tmp_path / "a.npz", result_0=INPUTS[0])
    types = nimblehlo.compile(PROGRAM).output_types
    with pytest.raises(ExecutionError, match="must have 2 arrays"):
        read_results(str(tmp_path / "a.npz"), types)
