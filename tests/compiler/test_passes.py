"""Every pass keeps the results and their bits, and leaves a program that can run."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler import passes
from nimblehlo.compiler.explanation import function_text
from nimblehlo.compiler.plan.fusion_passes import fuse_operations
from nimblehlo.compiler.specialize import specialize
from tests.support.running import same_bits

OPTIONAL = [each.name for each in passes.PASSES if not each.is_required]

CHAIN = """
func.func @main(%a: tensor<64x512xf32>, %b: tensor<512x512xf32>) -> (tensor<64xf32>, tensor<64x512xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %zeros = stablehlo.broadcast_in_dim %zero, dims = [] : (tensor<f32>) -> tensor<64x512xf32>
  %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0]
      : (tensor<64x512xf32>, tensor<512x512xf32>) -> tensor<64x512xf32>
  %1 = stablehlo.add %0, %zeros : tensor<64x512xf32>
  %2 = stablehlo.exponential %1 : tensor<64x512xf32>
  %3 = stablehlo.reduce(%2 init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<64x512xf32>, tensor<f32>) -> tensor<64xf32>
  return %3, %2 : tensor<64xf32>, tensor<64x512xf32>
}
"""


def programs() -> list[Any]:
    """Programs on which passes have something to do, with their inputs."""
    found = []
    folder = Path(__file__).resolve().parents[2] / "examples"
    for path in sorted(folder.glob("*.mlir")):
        inputs = [np.load(file) for file in sorted(folder.glob(f"{path.stem}.input*.npy"))]
        found.append(pytest.param(path.read_text(), inputs, id=path.stem))
    random = np.random.default_rng(0)
    inputs = [random.random((64, 512), np.float32) - 1, random.random((512, 512), np.float32) / 512]
    return [*found, pytest.param(CHAIN, inputs, id="chain")]


def changing_passes(module: nimblehlo.Module) -> list[str]:
    """The optional passes that change a program."""
    names, texts = [], [""]

    def observe(each: passes.Pass, function: Any) -> None:
        text = function_text(function)
        if text != texts[-1] and not each.is_required:
            names.append(each.name)
        texts.append(text)

    fuse_operations(specialize(module, "main", observe=observe), Options(), observe)
    return names


def test_every_pass_is_named_once_and_can_be_found() -> None:
    assert len(set(passes.NAMES)) == len(passes.PASSES)
    stages = [each.stage for each in passes.PASSES]
    assert stages == sorted(stages, key=["bind", "simplify", "fuse", "join"].index)
    for each in passes.PASSES:
        if each.module:
            module = importlib.import_module(f"nimblehlo.compiler.{each.module}")
            assert callable(getattr(module, each.name.replace("-", "_")))
        else:
            assert each.stage == "join"


@pytest.mark.parametrize(("text", "inputs"), programs())
def test_every_pass_keeps_the_bits(text: str, inputs: list[Any]) -> None:
    module = nimblehlo.load(text)
    expected = nimblehlo.execute(module, inputs, options=Options(compile="never"))
    changing = changing_passes(module)
    assert changing, "the program shows nothing"
    for name in [*changing, "join-epilogues", "join-attention"]:
        options = Options(compile="eager", last_pass=name)
        for result, want in zip(nimblehlo.execute(module, inputs, options=options), expected, strict=True):
            assert same_bits(result, want), name


def test_what_follows_the_last_pass_does_not_run() -> None:
    plans = {}
    for name in OPTIONAL:
        executable = nimblehlo.compile(CHAIN, options=Options(last_pass=name))
        plans[name] = executable.explain("plan")
    assert "fusion" not in plans["split-scatter-indices"]
    assert "nimblehlo.row_fusion" in plans["fuse-rows"]
    assert nimblehlo.compile(CHAIN).explain("plan") == plans[passes.NAMES[-1]]


def test_explain_tells_every_pass_up_to_the_last_one() -> None:
    executable = nimblehlo.compile(CHAIN, options=Options(last_pass="simplify"))
    text = executable.explain("passes")
    told = [line.split(":")[0].split(" ")[0] for line in text.splitlines() if line.startswith(passes.NAMES)]
    enabled = [each.name for each in passes.PASSES if passes.is_enabled(each.name, "simplify")]
    assert told == enabled
    assert "changes nothing" in text


def test_explain_tells_that_nothing_is_fused_without_compilation() -> None:
    text = nimblehlo.compile(CHAIN, options=Options(compile="never")).explain("passes")
    lines = [line for line in text.splitlines() if line.startswith((*passes.NAMES, "fuse:", "join:"))]
    assert lines[-2:] == ["fuse: off, compile is 'never'", "join: off, compile is 'never'"]
    told = [line.split(":")[0].split(" ")[0] for line in lines[:-2]]
    assert told == [each.name for each in passes.PASSES if each.stage in ("bind", "simplify")]


def test_an_unknown_pass_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"last_pass is 'magic', but must be None or one of \("):
        nimblehlo.compile(CHAIN, options=Options(last_pass="magic"))
