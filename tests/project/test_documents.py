"""The generated tables of the documents are up to date, and each row of docs/numerics.md holds."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

from nimblehlo.program.ops.numerics.result_accuracy import MAX_ERROR, max_error
from nimblehlo.types import ELEMENT_TYPES
from tests.support.running import run_every_way
from tools.kernel_probes import PROBES, operations_with_kernels, served_element_types
from tools.operations_table import DOCUMENT as OPERATIONS
from tools.operations_table import document

ROOT = Path(__file__).resolve().parents[2]
NUMERICS = ROOT / "docs" / "numerics.md"
NAN, INFINITY = math.nan, math.inf


class Case(NamedTuple):
    """An elementwise operation on operands of one element type, and its results."""

    name: str
    element: str
    operands: Sequence[Sequence[float]]
    expected: Sequence[float]
    result: str | None = None
    attributes: str = ""


def _overflows(element: str, expected: Sequence[float]) -> Case:
    """From f32: a number that is too great, -infinity, and NaN."""
    greatest = float(np.finfo(np.float32).max) if element == "bf16" else 1e6
    return Case("convert", "f32", [[greatest, -INFINITY, NAN]], expected, element)


def _compares(direction: str, kind: str, expected: Sequence[bool]) -> Case:
    return Case(
        "compare",
        "f32",
        [[-NAN, -0.0, NAN, INFINITY], [-INFINITY, 0.0, NAN, NAN]],
        expected,
        "i1",
        f"<{{comparison_direction = #stablehlo<comparison_direction {direction}>,"
        f" compare_type = #stablehlo<comparison_type {kind}>}}>",
    )


INFINITE = [INFINITY, -INFINITY, NAN]
CASES = {
    "integer overflow": [
        Case("add", "i8", [[127], [1]], [-128]),
        Case("add", "i4", [[7], [1]], [-8]),
        Case("multiply", "ui8", [[200], [2]], [144]),
        Case("abs", "i8", [[-128]], [-128]),
        Case("negate", "i64", [[-(2**63)]], [-(2**63)]),
    ],
    "integer division by zero": [
        Case("divide", "i8", [[5, -7], [0, 0]], [-1, -1]),
        Case("divide", "ui8", [[5], [0]], [255]),
        Case("remainder", "i32", [[5, -7], [0, 0]], [5, -7]),
    ],
    "minimum integer divided by -1": [
        Case("divide", "i8", [[-128], [-1]], [-128]),
        Case("divide", "i64", [[-(2**63)], [-1]], [-(2**63)]),
        Case("remainder", "i32", [[-(2**31)], [-1]], [0]),
    ],
    "integer power with a negative exponent": [
        Case("power", "i8", [[2, 1, -1, -1, 0], [-1, -5, -3, -2, -1]], [0, 1, -1, 1, 0]),
    ],
    "shifts by the width or more": [
        Case("shift_left", "i8", [[-5, -5, -5], [8, 100, -1]], [0, 0, 0]),
        Case("shift_right_logical", "i8", [[-5, -5, -5], [8, 100, -1]], [0, 0, 0]),
        Case("shift_right_arithmetic", "i8", [[-5, 5, -5], [8, 100, -1]], [-1, 0, -1]),
    ],
    "integer to narrower integer": [Case("convert", "i32", [[300, -1, 130]], [44, -1, -126], "i8")],
    "float to integer": [
        Case("convert", "f32", [[300.0, -INFINITY, 1.9, -1.9, NAN]], [127, -128, 1, -1, 0], "i8"),
        Case("convert", "f32", [[-1.0, INFINITY, NAN]], [0, 2**64 - 1, 0], "ui64"),
    ],
    "to i1": [Case("convert", "f32", [[NAN, -0.0, 0.5]], [True, False, True], "i1")],
    "overflow of f8E3M4, f8E4M3, f8E5M2, bf16, f16": [
        _overflows(element, INFINITE) for element in ("f8E3M4", "f8E4M3", "f8E5M2", "bf16", "f16")
    ],
    "overflow of f8E4M3FN and the FNUZ types, infinities too": [
        _overflows(element, [NAN, NAN, NAN])
        for element in ("f8E4M3FN", "f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2FNUZ")
    ],
    "overflow of f4 and f6": [
        _overflows("f4E2M1FN", [6.0, -6.0, -0.0]),
        _overflows("f6E2M3FN", [7.5, -7.5, -0.0]),
        _overflows("f6E3M2FN", [28.0, -28.0, -0.0]),
        Case("convert", "f32", [[-NAN]], [-0.0], "f6E3M2FN"),
    ],
    "f8E8M0FNU": [
        Case("convert", "f32", [[0.0, -1.0, INFINITY, 3e38, 1.0]], [NAN, NAN, NAN, NAN, 1.0], "f8E8M0FNU"),
        Case("convert", "f32", [[2.0**-149, 1.25 * 2.0**-127]], [2.0**-127, 2.0**-127], "f8E8M0FNU"),
        Case("multiply", "f8E8M0FNU", [[2.0**-75, 2.0**-74], [2.0**-75, 2.0**-75]], [NAN, 2.0**-127]),
    ],
    "zero of the FNUZ types": [
        Case("convert", "f32", [[-0.0]], [0.0], element)
        for element in ("f8E4M3FNUZ", "f8E4M3B11FNUZ", "f8E5M2FNUZ")
    ],
    "subnormal numbers": [
        Case("add", "f32", [[2.0**-149], [0.0]], [2.0**-149]),
        Case("multiply", "f32", [[2.0**-126], [0.5]], [2.0**-127]),
        Case("multiply", "f64", [[2.0**-1022], [0.5]], [2.0**-1023]),
        Case("multiply", "f16", [[2.0**-14], [0.5]], [2.0**-15]),
        Case("exponential", "f32", [[-100.0]], [float(np.float32(math.exp(-100.0)))]),
    ],
    "`maximum`, `minimum`": [
        Case("maximum", "f32", [[NAN, -0.0, 0.0], [1.0, 0.0, -0.0]], [NAN, 0.0, 0.0]),
        Case("minimum", "f32", [[NAN, -0.0, 0.0], [1.0, 0.0, -0.0]], [NAN, -0.0, -0.0]),
    ],
    "`clamp`": [
        Case(
            "clamp",
            "f32",
            [[5.0, NAN, 0.0, 0.0], [1.0, 1.0, NAN, 1.0], [2.0, 2.0, 2.0, NAN]],
            [2.0, *[NAN] * 3],
        )
    ],
    "`sign`": [Case("sign", "f32", [[-0.0, 0.0, NAN, -2.0]], [-0.0, 0.0, NAN, -1.0])],
    "`compare` of floats": [
        _compares("LT", "FLOAT", [False, False, False, False]),
        _compares("EQ", "FLOAT", [False, True, False, False]),
        _compares("LT", "TOTALORDER", [True, True, False, True]),
        _compares("EQ", "TOTALORDER", [False, False, True, False]),
    ],
}


def _computed(case: Case) -> Any:
    operand = f"tensor<{len(case.operands[0])}x{case.element}>"
    result = f"tensor<{len(case.operands[0])}x{case.result or case.element}>"
    names = [f"%{position}" for position in range(len(case.operands))]
    text = (
        f"func.func @main({', '.join(f'{name}: {operand}' for name in names)}) -> {result} {{\n"
        f'  %r = "stablehlo.{case.name}"({", ".join(names)}) {case.attributes}'
        f" : ({', '.join([operand] * len(names))}) -> {result}\n"
        f"  return %r : {result}\n}}"
    )
    dtype = ELEMENT_TYPES[case.element].dtype
    return run_every_way(text, *[np.array(values).astype(dtype) for values in case.operands])[0]


@pytest.mark.parametrize("matter", CASES)
def test_values(matter: str) -> None:
    for case in CASES[matter]:
        result = _computed(case)
        if ELEMENT_TYPES[case.result or case.element].name.startswith(("f", "bf")):
            got = result.astype(np.float64)
            expected = np.array(case.expected, np.float64)
            np.testing.assert_array_equal(got, expected, str(case))
            number = ~np.isnan(expected)
            np.testing.assert_array_equal(np.signbit(got)[number], np.signbit(expected)[number], str(case))
        else:
            assert result.tolist() == list(case.expected), case


def _rows() -> list[tuple[str, str]]:
    """Each row of docs/numerics.md that says what shows it: the matter and that."""
    rows = re.findall(r"^\| (.*?) \| .* \| (a case|tests/\S+) \|$", NUMERICS.read_text(), re.MULTILINE)
    return [(matter, shown) for matter, shown in rows]


def test_each_row_on_numerics_is_shown() -> None:
    rows = _rows()
    assert {matter for matter, shown in rows if shown == "a case"} == set(CASES)
    for _, shown in rows:
        if shown != "a case":
            path, _, name = shown.partition("::")
            tree = ast.parse((ROOT / path).read_text())
            assert name in {item.name for item in tree.body if isinstance(item, ast.FunctionDef)}, shown


def test_files_that_documents_name_exist() -> None:
    folders = ("benchmarks", "docs", "examples", "kernels", "runtime", "tests", "tools")
    files = [*ROOT.glob("*.*"), *(path for folder in folders for path in (ROOT / folder).rglob("*.*"))]
    names = ["/" + path.relative_to(ROOT).as_posix() for path in files]
    documents = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    missing = [
        f"{document.name}: {name}"
        for document in documents
        for name in re.findall(r"`([\w./]+\.(?:py|pyx|pxi|h|toml))(?:::\w+)?`", document.read_text())
        if not any(path.endswith(f"/{name}") for path in names)
    ]
    assert len(documents) > 20 and not missing


def test_products_are_not_fused() -> None:
    text = """func.func @main(%x: tensor<64xf32>, %y: tensor<64xf32>) -> tensor<64xf32> {
  %0 = stablehlo.multiply %x, %x : tensor<64xf32>
  %1 = stablehlo.subtract %0, %y : tensor<64xf32>
  return %1 : tensor<64xf32>
}"""
    # x * x is y + 2^-24, and y once rounded.
    x, y = np.full(64, 1 + 2.0**-12, np.float32), np.full(64, 1 + 2.0**-11, np.float32)
    assert run_every_way(text, x, y)[0].tolist() == [0.0] * 64


def test_moved_values_keep_their_bits() -> None:
    text = """func.func @main(%x: tensor<4xf32>, %i: tensor<2x1xi32>) -> (tensor<4xf32>, tensor<2xf32>) {
  %0 = stablehlo.reverse %x, dims = [0] : tensor<4xf32>
  %c = stablehlo.constant dense<true> : tensor<4xi1>
  %1 = stablehlo.select %c, %0, %x : tensor<4xi1>, tensor<4xf32>
  %2 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<collapsed_slice_dims = [0],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1>}>
    : (tensor<4xf32>, tensor<2x1xi32>) -> tensor<2xf32>
  return %1, %2 : tensor<4xf32>, tensor<2xf32>
}"""
    bits = np.array([0x7FA00001, 0xFFC12345, 0x80000000, 1], np.uint32)
    moved, gathered = run_every_way(text, bits.view(np.float32), np.array([[1], [0]], np.int32))
    assert moved.view(np.uint32).tolist() == bits[::-1].tolist()
    assert gathered.view(np.uint32).tolist() == [0xFFC12345, 0x7FA00001]


def test_indices_out_of_bounds() -> None:
    text = """func.func @main(%x: tensor<5xf32>, %i: tensor<3x1xi32>, %u: tensor<3x2xf32>)
    -> (tensor<3x2xf32>, tensor<5xf32>) {
  %0 = "stablehlo.gather"(%x, %i) <{dimension_numbers = #stablehlo.gather<offset_dims = [1],
    start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 2>}>
    : (tensor<5xf32>, tensor<3x1xi32>) -> tensor<3x2xf32>
  %1 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    update_window_dims = [1], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
  }) : (tensor<5xf32>, tensor<3x1xi32>, tensor<3x2xf32>) -> tensor<5xf32>
  return %0, %1 : tensor<3x2xf32>, tensor<5xf32>
}"""
    x, updates = np.arange(5, dtype=np.float32), np.arange(10, 16, dtype=np.float32).reshape(3, 2)
    gathered, scattered = run_every_way(text, x, np.array([[4], [-1], [100]], np.int32), updates)
    assert gathered.tolist() == [[3, 4], [0, 1], [3, 4]]
    assert scattered.tolist() == [13, 1, 2, 3, 10]


def test_the_table_of_operations_is_up_to_date() -> None:
    assert OPERATIONS.read_text(encoding="utf-8") == document(), "run python tools/operations_table.py"


def test_each_operation_with_a_kernel_is_probed() -> None:
    assert operations_with_kernels() == set(PROBES)
    for name in PROBES:
        # Integers have no Fourier transform.
        of_floats = ("stablehlo.cholesky", "stablehlo.fft", "stablehlo.triangular_solve")
        expected = {"f32"} if name in of_floats else {"i32", "f32"}
        assert expected <= set(served_element_types(name)), name


def _measured() -> str:
    """The table that tools/accuracy.py writes."""
    _, _, rest = NUMERICS.read_text(encoding="utf-8").partition("<!-- begin: tools/accuracy.py -->")
    return rest.partition("<!-- end: tools/accuracy.py -->")[0]


def test_stated_accuracy() -> None:
    pytest.importorskip("mpmath")
    from tools.accuracy import FUNCTIONS, TYPES, measure

    rows = dict(re.findall(r"^\| `(\w+\.\w+)` \| (.*) \|$", _measured(), re.MULTILINE))
    assert set(rows) == {function.name for function in FUNCTIONS}
    for function in FUNCTIONS:
        if function.name in ("stablehlo.tanh", "stablehlo.power", "chlo.erf_inv"):
            stated = dict(zip(TYPES, rows[function.name].split(" | "), strict=False))
            for element in ("f32", "f64"):
                # Where NumPy has other instructions, f64 may differ by about an ulp.
                assert measure(function, element) <= float(stated[element]) + (element == "f64"), (
                    function.name
                )


def test_promised_accuracy_is_kept() -> None:
    """What `result_accuracy` is compared with must not be better than what was measured."""
    header, *_ = re.findall(r"^\| function \| (.*) \|$", _measured(), re.MULTILINE)
    rows = dict(re.findall(r"^\| `(\w+\.\w+)` \| (.*) \|$", _measured(), re.MULTILINE))
    for function in MAX_ERROR:
        for name, stated in zip(header.split(" | "), rows[function].split(" | "), strict=True):
            assert float(stated) <= max_error(function, ELEMENT_TYPES[name]), (function, name)
