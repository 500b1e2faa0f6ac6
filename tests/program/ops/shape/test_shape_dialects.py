"""Operations of tensor, arith and shape: as MLIR has them, folded where sizes are known, run where not."""

from __future__ import annotations

import itertools
import operator
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.shape import shape_dialects
from nimblehlo.types import ELEMENT_TYPES, INDEX
from tests.program.ops.rejections import assert_complete, assert_rejected, program, rows
from tests.support.running import run_every_way


def declared(name: str) -> type[Op]:
    found = lookup(name)
    assert found is not None
    return found


def binary(name: str) -> str:
    return program(name, ["tensor<2xindex>", "tensor<3xindex>"], ["tensor<2xindex>"])


REJECTED: dict[type[Op], dict[str, str]] = {
    **{
        declared(f"arith.{name}"): {"C1": binary(f"arith.{name}")}
        for name in ("addi", "subi", "muli", "maxsi", "minsi", "divsi", "remsi")
    },
    declared("arith.constant"): {},
    declared("arith.cmpi"): {
        "C1": program("arith.cmpi", ["tensor<index>", "tensor<i64>"], ["tensor<i1>"], "predicate = 2 : i64")
    },
    declared("arith.select"): {
        "C1": program("arith.select", ["tensor<i1>", "tensor<i64>", "tensor<i32>"], ["tensor<i64>"])
    },
    declared("arith.index_cast"): {"C1": program("arith.index_cast", ["tensor<2xindex>"], ["tensor<3xi64>"])},
    declared("tensor.dim"): {},
    declared("tensor.from_elements"): {
        "C1": program("tensor.from_elements", ["tensor<i64>"], ["tensor<2xi64>"]),
        "C2": program("tensor.from_elements", ["tensor<i64>"], ["tensor<1xi32>"]),
    },
    declared("tensor.extract"): {
        "C1": program("tensor.extract", ["tensor<2xi64>"], ["tensor<i64>"]),
        "C2": program("tensor.extract", ["tensor<2xi64>", "tensor<index>"], ["tensor<i32>"]),
    },
    declared("tensor.cast"): {"C1": program("tensor.cast", ["tensor<2x?xf32>"], ["tensor<3x?xf32>"])},
    declared("shape.shape_of"): {"C1": program("shape.shape_of", ["tensor<2x?xf32>"], ["tensor<3xindex>"])},
    declared("shape.const_shape"): {
        "C1": program("shape.const_shape", [], ["tensor<3xindex>"], "shape = dense<[2, 4]> : tensor<2xindex>")
    },
    declared("shape.broadcast"): {
        "C1": program("shape.broadcast", ["tensor<2xindex>", "tensor<1xindex>"], ["tensor<1xindex>"])
    },
    declared("shape.num_elements"): {},
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, shape_dialects)


BROADCAST = """
func.func @main(%a: tensor<?x4xf32>, %b: tensor<?xf32>) -> tensor<?x?xf32> {
  %sa = shape.shape_of %a : tensor<?x4xf32> -> tensor<2xindex>
  %sb = shape.shape_of %b : tensor<?xf32> -> tensor<1xindex>
  %s = shape.broadcast %sa, %sb : tensor<2xindex>, tensor<1xindex> -> tensor<2xindex>
  %x = stablehlo.dynamic_broadcast_in_dim %a, %s, dims = [0, 1]
    : (tensor<?x4xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %y = stablehlo.dynamic_broadcast_in_dim %b, %s, dims = [1]
    : (tensor<?xf32>, tensor<2xindex>) -> tensor<?x?xf32>
  %r = stablehlo.add %x, %y : tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}
"""


@pytest.mark.parametrize(("rows_", "columns"), [(3, 4), (1, 4), (3, 1), (0, 4)])
def test_shapes_broadcast(rows_: int, columns: int) -> None:
    a = np.arange(rows_ * 4, dtype=np.float32).reshape(rows_, 4)
    b = np.arange(columns, dtype=np.float32)
    (result,) = run_every_way(BROADCAST, a, b)
    assert result.tolist() == (a + b).tolist()


def test_shapes_that_do_not_broadcast_are_an_error() -> None:
    with pytest.raises(ExecutionError, match=r"sizes \[2, 4\] at dimension 1"):
        nimblehlo.execute(BROADCAST, [np.zeros((3, 4), np.float32), np.zeros(2, np.float32)])


ARITHMETIC = """
func.func @main(%a: tensor<?x4xf32>, %n: tensor<i64>) -> (tensor<4xindex>, tensor<6xi64>, tensor<2xi64>) {
  %c0 = arith.constant 0 : index
  %c3 = arith.constant 3 : index
  %d = tensor.dim %a, %c0 : tensor<?x4xf32>
  %s = shape.shape_of %a : tensor<?x4xf32> -> tensor<2xindex>
  %c1 = arith.constant 1 : index
  %e = tensor.extract %s[%c1] : tensor<2xindex>
  %k = shape.num_elements %s : tensor<2xindex> -> index
  %less = arith.cmpi slt, %d, %e : index
  %chosen = arith.select %less, %d, %e : index
  %sizes = tensor.from_elements %d, %e, %k, %chosen : tensor<4xindex>
  %m = tensor.extract %n[] : tensor<i64>
  %d64 = arith.index_cast %d : index to i64
  %sum = arith.addi %m, %d64 : i64
  %difference = arith.subi %m, %d64 : i64
  %product = arith.muli %m, %d64 : i64
  %quotient = arith.divsi %m, %d64 : i64
  %rest = arith.remsi %m, %d64 : i64
  %most = arith.maxsi %m, %d64 : i64
  %numbers = tensor.from_elements %sum, %difference, %product, %quotient, %rest, %most : tensor<6xi64>
  %least = arith.minsi %m, %d64 : i64
  %cs = shape.const_shape [4, 32] : tensor<2xindex>
  %csum = arith.addi %cs, %cs : tensor<2xindex>
  %c64 = arith.index_cast %csum : tensor<2xindex> to tensor<2xi64>
  return %sizes, %numbers, %c64 : tensor<4xindex>, tensor<6xi64>, tensor<2xi64>
}
"""


@pytest.mark.parametrize("number", [7, -7])
def test_arithmetic(number: int) -> None:
    sizes, numbers, constants = run_every_way(
        ARITHMETIC, np.zeros((2, 4), np.float32), np.array(number, np.int64)
    )
    assert sizes.tolist() == [2, 4, 8, 2]
    quotient = int(number / 2)
    rest = number - 2 * quotient
    assert numbers.tolist() == [number + 2, number - 2, 2 * number, quotient, rest, max(number, 2)]
    assert constants.tolist() == [8, 64]


def test_computations_of_known_sizes_are_folded() -> None:
    executable = nimblehlo.compile(BROADCAST)
    executable(np.zeros((3, 4), np.float32), np.zeros(4, np.float32))
    plan = executable.explain("plan")
    assert "shape." not in plan
    assert "dynamic" not in plan
    assert "?" not in plan


@pytest.mark.parametrize(
    ("text", "inputs", "reason"),
    [
        (
            program("arith.divsi", ["tensor<i64>", "tensor<i64>"], ["tensor<i64>"]),
            (np.int64(1), np.int64(0)),
            "rhs is 0",
        ),
        (
            program("tensor.dim", ["tensor<?xf32>", "tensor<index>"], ["tensor<index>"]),
            (np.zeros(2, np.float32), np.int64(1)),
            r"index is 1, but must be in \[0, 1\)",
        ),
        (
            program("tensor.extract", ["tensor<?xf32>", "tensor<index>"], ["tensor<f32>"]),
            (np.zeros(2, np.float32), np.int64(2)),
            r"indices\[0\] is 2",
        ),
    ],
)
def test_what_is_undefined_is_an_error(text: str, inputs: Any, reason: str) -> None:
    text = text.replace("%result:1 = ", "%result = ").replace("  return\n", "  RETURN\n")
    type = text.split("-> (")[1].split(")")[0]
    text = text.replace(") {\n", f") -> {type} {{\n", 1).replace("RETURN", f"return %result : {type}")
    with pytest.raises(ExecutionError, match=reason) as caught:
        nimblehlo.execute(text, inputs)
    assert caught.value.location


def test_witnesses_are_rejected() -> None:
    text = "func.func @main() { %s = shape.const_witness true return }"
    with pytest.raises(nimblehlo.NimbleError):
        nimblehlo.load(text)


PREDICATES = {
    "eq": operator.eq,
    "ne": operator.ne,
    **{f"{sign}{name}": getattr(operator, name) for sign in "su" for name in ("lt", "le", "gt", "ge")},
}


@pytest.mark.parametrize("element_type", ["i1", "i4", "i32", "index"])
@pytest.mark.parametrize("predicate", PREDICATES)
def test_comparisons(predicate: str, element_type: str) -> None:
    scalar, tensor = element_type, f"tensor<{element_type}>"
    text = f"""func.func @main(%a: {tensor}, %b: {tensor}) -> (tensor<1xi1>, tensor<i1>) {{
      %x = tensor.extract %a[] : {tensor}
      %y = tensor.extract %b[] : {tensor}
      %0 = arith.cmpi {predicate}, %x, %y : {scalar}
      %1 = tensor.from_elements %0 : tensor<1xi1>
      %2 = arith.cmpi {predicate}, %a, %b : {tensor}
      return %1, %2 : tensor<1xi1>, tensor<i1>
    }}"""
    dtype = INDEX.dtype if element_type == "index" else ELEMENT_TYPES[element_type].dtype
    width = {"i1": 1, "index": 64}.get(element_type) or int(element_type[1:])
    values = [0, -1] if width == 1 else [0, 1, -1, 2 ** (width - 1) - 1, -(2 ** (width - 1))]
    for lhs, rhs in itertools.product(values, repeat=2):
        operands = [np.array(value).astype(dtype) for value in (lhs, rhs)]
        is_unsigned = predicate.startswith("u")
        expected = PREDICATES[predicate](*[v % 2**width if is_unsigned else v for v in (lhs, rhs)])
        scalar_result, tensor_result = nimblehlo.execute(text, operands, options=Options(compile="never"))
        assert scalar_result.tolist() == [expected] and tensor_result == expected, (lhs, rhs)


def test_types_of_the_shape_dialect() -> None:
    text = """
    func.func @main(%a: tensor<?x4xf32>, %b: tensor<4xf32>)
        -> (!shape.shape, tensor<1xindex>, tensor<?x4xf32>) {
      %s = shape.shape_of %a : tensor<?x4xf32> -> !shape.shape
      %t = shape.shape_of %b : tensor<4xf32> -> !shape.shape
      %u = shape.broadcast %s, %t : !shape.shape, !shape.shape -> !shape.shape
      %n = shape.num_elements %u : !shape.shape -> !shape.size
      %m = tensor.from_elements %n : tensor<1xindex>
      %c = tensor.cast %u : tensor<?xindex> to tensor<2xindex>
      %r = stablehlo.dynamic_broadcast_in_dim %b, %c, dims = [1]
        : (tensor<4xf32>, tensor<2xindex>) -> tensor<?x4xf32>
      return %u, %m, %r : !shape.shape, tensor<1xindex>, tensor<?x4xf32>
    }"""
    sizes, count, result = run_every_way(text, np.zeros((3, 4), np.float32), np.arange(4, dtype=np.float32))
    assert sizes.tolist() == [3, 4] and count.tolist() == [12] and result.shape == (3, 4)


def _truncated_remainder(lhs: int, rhs: int) -> int:
    return abs(lhs) % abs(rhs) * (-1 if lhs < 0 else 1)


INTEGER_FUNCTIONS: dict[str, Any] = {
    "addi": operator.add,
    "subi": operator.sub,
    "muli": operator.mul,
    "maxsi": max,
    "minsi": min,
    "divsi": lambda lhs, rhs: (abs(lhs) // abs(rhs)) * (-1 if (lhs < 0) != (rhs < 0) else 1),
    "remsi": _truncated_remainder,
}


@pytest.mark.parametrize("element", ["i1", "i2", "i4", "i8", "i16", "i32", "i64", "index"])
@pytest.mark.parametrize("name", INTEGER_FUNCTIONS)
def test_integers_of_every_width_wrap_around(name: str, element: str) -> None:
    """An integer of one bit is 0 or -1, whatever NumPy makes of sums of booleans."""
    element_type = INDEX if element == "index" else ELEMENT_TYPES[element]
    width, dtype = element_type.width, element_type.dtype
    values = sorted({-(1 << (width - 1)), -1, 0, (1 << (width - 1)) - 1, *([1, 3] if width > 2 else [])})
    pairs = [
        (lhs, rhs)
        for lhs, rhs in itertools.product(values, values)
        if rhs != 0 or name not in ("divsi", "remsi")
    ]
    columns = [np.array(column).astype(dtype) for column in zip(*pairs, strict=True)]
    type = f"tensor<{len(pairs)}x{element}>"
    text = f"""func.func @main(%a: {type}, %b: {type}) -> {type} {{
      %r = arith.{name} %a, %b : {type}
      return %r : {type}
    }}"""
    (result,) = run_every_way(text, *columns)
    wanted = [INTEGER_FUNCTIONS[name](lhs, rhs) for lhs, rhs in pairs]
    modulus = 1 << width
    assert [int(value) % modulus for value in result] == [value % modulus for value in wanted]
