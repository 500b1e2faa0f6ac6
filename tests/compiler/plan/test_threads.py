"""How many threads the functions of operations ask for: references one, others as many as the options say."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels.launch import threads as launch_threads
from nimblehlo.kernels.matmul import matmul
from nimblehlo.program.frontend import parse_type
from nimblehlo.types import DYNAMIC, TensorType

CONTRACTING = ", contracting_dims = [1] x [0]"
ALGORITHM = (
    ", algorithm = <lhs_precision_type = bf16, rhs_precision_type = bf16, accumulation_type = f32,"
    " lhs_component_count = 1, rhs_component_count = 1, num_primitive_operations = 3,"
    " allow_imprecise_accumulation = false>"
)
CONVOLUTION = (
    " dim_numbers = [b, 0, f]x[0, i, o]->[b, 0, f], window = {}"
    " {batch_group_count = 1 : i64, feature_group_count = 1 : i64}"
)


class Case(NamedTuple):
    """An operation: its name, the types of the operands and of the result, and what follows the operands."""

    name: str
    operands: tuple[str, ...]
    result: str
    attributes: str = CONTRACTING

    @property
    def text(self) -> str:
        """A program of the operation."""
        types = [f"tensor<{type}>" for type in self.operands]
        parameters = ", ".join([f"%{number}: {type}" for number, type in enumerate(types)])
        names = ", ".join([f"%{number}" for number in range(len(types))])
        names = f"({names})" if self.name == "convolution" else names
        result = f"tensor<{self.result}>"
        signature = result if self.name == "cholesky" else f"({', '.join(types)}) -> {result}"
        return (
            f"func.func @main({parameters}) -> {result} {{\n"
            f"  %r = stablehlo.{self.name} {names}{self.attributes} : {signature}\n"
            f"  return %r : {result}\n}}"
        )


CASES = {
    "matrices": Case("dot_general", ("256x256xf32", "256x512xf32"), "256x512xf32"),
    "vector": Case("dot_general", ("300x512xf32", "512x1xf32"), "300x1xf32"),
    "vector of bf16": Case("dot_general", ("600x512xbf16", "512x1xbf16"), "600x1xbf16"),
    "complex": Case("dot_general", ("256x256xcomplex<f32>", "256x99xcomplex<f32>"), "256x99xcomplex<f32>"),
    "kinds": Case("dot_general", ("256x256xi8", "256x512xf32"), "256x512xf32"),
    "quantized": Case("dot_general", ("256x256xf32", "256x512x!quant.uniform<i8:f32, 0.5>"), "256x512xf32"),
    "algorithm": Case("dot_general", ("256x256xf32", "256x512xf32"), "256x512xf32", CONTRACTING + ALGORITHM),
    "unknown sizes": Case("dot_general", ("?x256xf32", "256x?xf32"), "?x?xf32"),
    "cholesky": Case("cholesky", ("600x600xf32",), "600x600xf32", ""),
    "convolution": Case(
        "convolution",
        ("4x64x64xcomplex<f32>", "3x64x64xcomplex<f32>"),
        "4x62x64xcomplex<f32>",
        CONVOLUTION,
    ),
}


def operand_of(text: str) -> np.ndarray[Any, Any]:
    """An identity matrix, or ones; 300 of them along dimensions of unknown size."""
    type = parse_type(f"tensor<{text}>")
    assert isinstance(type, TensorType)
    shape = [300 if size == DYNAMIC else size for size in type.shape]
    is_square = len(shape) == 2 and shape[0] == shape[1]
    return np.eye(shape[0], dtype=type.dtype) if is_square else np.ones(shape, type.dtype)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (Options(reference=True), 1),
        (Options(compile="never"), 1),
        (Options(compile="eager", threads=1), 1),
        (Options(threads=1), 1),
        (Options(threads=2), 2),
        (Options(), None),
    ],
    ids=["reference", "never", "eager, 1", "auto, 1", "auto, 2", "auto, all"],
)
@pytest.mark.parametrize("name", CASES)
def test_functions_ask_for_the_threads_of_the_options(
    monkeypatch: pytest.MonkeyPatch, name: str, options: Options, expected: int | None
) -> None:
    if not matmul.is_available():
        pytest.skip("BLAS multiplies")
    if name == "cholesky" and launch_threads.available_threads() == 1:
        pytest.skip("factorizations have as many tasks as there are processors")
    case = CASES[name]
    executable = nimblehlo.compile(case.text, options=options)
    operands = [operand_of(type) for type in case.operands]
    asked: set[int | None] = set()

    def chosen_threads(threads: int | None) -> int:
        asked.add(threads)
        return 1

    monkeypatch.setattr(launch_threads, "chosen_threads", chosen_threads)
    executable(*operands)
    assert asked == {expected}
