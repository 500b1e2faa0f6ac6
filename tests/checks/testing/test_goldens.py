"""Goldens: files of results, and how differences are told."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo.checks.testing import goldens
from nimblehlo.checks.testing.goldens import GoldenMismatch
from nimblehlo.program.ir import Module


def module_of(type: str) -> Module:
    text = f"func.func @main(%x: {type}) -> {type} {{ return %x : {type} }}"
    return nimblehlo.load(f"\n{text}\n")


@pytest.mark.parametrize("name", ["f32", "bf16", "i4", "i1", "complex<f64>"])
def test_every_kind_of_element_is_read_as_it_was_written(tmp_path: Path, name: str) -> None:
    module = module_of(f"tensor<3x{name}>")
    types = module.functions["main"].type.results
    value = np.array([1, 0, 1]).astype(types[0].dtype)  # type: ignore[attr-defined]
    goldens.write(tmp_path / "x" / "y.npz", module, [value], [value])
    goldens.check(tmp_path / "x" / "y.npz", module, [value], types)
    assert [path.name for path in (tmp_path / "x").iterdir()] == ["y.npz"]
    changed = value.copy()
    changed[1] = value[0]
    with pytest.raises(GoldenMismatch, match="1 of 3 elements differ"):
        goldens.check(tmp_path / "x" / "y.npz", module, [changed], types)


def test_differences_are_told(tmp_path: Path) -> None:
    module, path = module_of("tensor<10xf32>"), tmp_path / "golden.npz"
    types = module.functions["main"].type.results
    right = np.ones(10, np.float32)
    goldens.write(path, module, [right], [right])
    wrong = np.full(10, 1 + 2**-22, np.float32)
    with pytest.raises(GoldenMismatch, match="10 of 10 elements differ, by at most 2 ulps") as error:
        goldens.check(path, module, [wrong], types, ulps=1)
    assert "at [0]: " in str(error.value) and "and 5 more" in str(error.value)
    goldens.check(path, module, [wrong], types, ulps=2)
    wrong[3] = np.nan
    with pytest.raises(GoldenMismatch, match="by at most NaN"):
        goldens.check(path, module, [wrong], types, ulps=2**31)
    with pytest.raises(GoldenMismatch, match=r"bfloat16\[10\], but the golden is float32\[10\]"):
        goldens.check(path, module, [right.astype(ml_dtypes.bfloat16)], types)


def test_the_golden_of_another_program(tmp_path: Path) -> None:
    one, other, path = module_of("tensor<2xf32>"), module_of("tensor<2xf64>"), tmp_path / "golden.npz"
    goldens.write(path, one, [np.ones(2)], [np.ones(2)])
    with pytest.raises(GoldenMismatch, match="another program"):
        goldens.inputs_of(path, other, other.functions["main"].type.inputs)
    with pytest.raises(GoldenMismatch, match="there is no golden"):
        goldens.inputs_of(tmp_path / "none.npz", one, one.functions["main"].type.inputs)
