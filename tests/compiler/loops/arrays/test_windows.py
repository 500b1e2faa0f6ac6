"""Windows inside native loops: the same bits as by their kernels, whatever their geometry and bodies."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.loops.arrays import windows
from nimblehlo.compiler.loops.scalars import Mode
from nimblehlo.compiler.specialize import specialize
from nimblehlo.kernels.named_tuples import NamedTuple
from nimblehlo.program.ops.reduction.window_geometry import Window
from tests.compiler.loops.test_arrays import type_of
from tests.compiler.loops.test_while_function import check, counted, reason_of
from tests.support.running import run_every_way

RNG = np.random.default_rng(13)
SAME = Window(3, low=1, high=1)
ONE = Window(1)


class Case(NamedTuple):
    """The shape of an operand, and the windows along each dimension."""

    shape: tuple[int, ...]
    windows: tuple[Window, ...]

    @property
    def result(self) -> tuple[int, ...]:
        return tuple([window.count(size) for window, size in zip(self.windows, self.shape, strict=True)])

    def attributes(self, *names: str) -> str:
        values = {
            "window_dimensions": [window.size for window in self.windows],
            "window_strides": [window.stride for window in self.windows],
            "base_dilations": [window.base_dilation for window in self.windows],
            "window_dilations": [window.window_dilation for window in self.windows],
        }
        pads = [[window.low, window.high] for window in self.windows]
        texts = [f"{name} = array<i64: {str(values[name])[1:-1]}>" for name in names or values]
        return ", ".join([*texts, f"padding = dense<{pads}> : tensor<{len(pads)}x2xi64>"])


CASES = {
    "row": Case((40,), (SAME,)),
    "plane": Case((20, 37), (SAME, SAME)),
    "pooling": Case((2, 12, 12, 8), (ONE, Window(2, 2), Window(2, 2), ONE)),
    "channels": Case((2, 9, 10, 5), (ONE, SAME, Window(3, 2, 0, 1), ONE)),
    # More than _MAX_UNROLLED_POSITIONS are combined in memory.
    "16 positions": Case((9, 30), (Window(4, low=1, high=2),) * 2),
    "17 positions": Case((2, 40), (ONE, Window(17, 2, 8, 8))),
    "cube": Case((6, 7, 8), (SAME, SAME, SAME)),
    "holes": Case((5, 6), (Window(3, 1, 2, 1, 2), Window(2, 2, 1, 1, 3, 2))),
    "cropped": Case((3, 16), (ONE, Window(3, 1, -2, -3))),
    "everything": Case((7, 9), (Window(7), Window(9))),
    "padding alone": Case((4, 5), (Window(2, 4, 4, 0), Window(2, low=1))),
}


def loop_text(case: Case, body: str, operands: list[Any]) -> str:
    """A loop that reduces windows of arrays, which change."""
    element = type_of(operands[0][..., 0].reshape(-1)[0].reshape(()))
    count = len(operands)
    types = ", ".join([type_of(operand) for operand in operands] + [element] * count)
    results = [np.zeros(case.result, operand.dtype) for operand in operands]
    result_types = ", ".join(map(type_of, results))
    names = "abcd"[:count]
    arguments = ", ".join([*[f"%x{name}" for name in names], *[f"%y{name}" for name in names]])
    scalars = ", ".join([f"{one} : {element}" for one in arguments.split(", ")])
    read = ", ".join([*[f"%{name}" for name in names], *["%init"] * count])
    text = f"""%r:{count} = "stablehlo.reduce_window"({read}) ({{
        ^bb0({scalars}):
          {body.replace("TYPE", element)}
        }}) {{{case.attributes()}}} : ({types}) -> ({result_types})"""
    carried, handed_on = {}, []
    for number, (name, operand, result) in enumerate(zip(names, operands, results, strict=True)):
        text += f"\n      %n{name} = stablehlo.negate %{name} : {type_of(operand)}"
        text += f"\n      %s{name} = stablehlo.maximum %r#{number}, %t{name} : {type_of(result)}"
        carried |= {name: (f"{name}0", type_of(operand)), f"t{name}": (f"t{name}0", type_of(result))}
        handed_on += [f"%n{name}", f"%s{name}"]
    initial = "3" if operands[0].dtype.kind in "iu" else "3.0"
    before = f"%init = stablehlo.constant dense<{initial}> : {element}"
    return counted(20, text, carried, ", ".join(handed_on), before)


def windows_reason(text: str) -> str | None:
    """Why the windows of a program are not inline."""
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    operations = [inner for operation in function.body.block.operations for inner in operation.walk()]
    (reduction,) = [one for one in operations if one.name == "stablehlo.reduce_window"]
    return windows.REDUCE_WINDOW.check(reduction, Mode.ARRAYS)


def values(shape: tuple[int, ...], dtype: Any) -> Any:
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(-100, 100, shape).astype(dtype)
    array = RNG.standard_normal(shape).astype(dtype)
    array.reshape(-1)[:2] = np.nan, -0.0
    return array


def arguments_of(case: Case, operands: list[Any]) -> list[Any]:
    return [one for operand in operands for one in (operand, np.zeros(case.result, operand.dtype))]


SUM = """%s = stablehlo.add %xa, %ya : TYPE
          stablehlo.return %s : TYPE"""
MAXIMUM = SUM.replace("add", "maximum")
OTHER = """%m = stablehlo.multiply %xa, %ya : TYPE
          %s = stablehlo.subtract %m, %xa : TYPE
          stablehlo.return %s : TYPE"""
PAIR = """%l = stablehlo.compare LT, %xa, %ya : (TYPE, TYPE) -> tensor<i1>
          %s = stablehlo.select %l, %ya, %xa : tensor<i1>, TYPE
          %u = stablehlo.select %l, %yb, %xb : tensor<i1>, TYPE
          stablehlo.return %s, %u : TYPE, TYPE"""


@pytest.mark.sampled(("name", "body", "dtype"))
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
@pytest.mark.parametrize("body", [SUM, MAXIMUM, OTHER, PAIR], ids=["sum", "maximum", "other", "pair"])
@pytest.mark.parametrize("name", CASES)
def test_windows(name: str, body: str, dtype: Any) -> None:
    case = CASES[name]
    operands = [values(case.shape, dtype) for _ in range(2 if body is PAIR else 1)]
    check(loop_text(case, body, operands), *arguments_of(case, operands))


@pytest.mark.parametrize("body", [SUM, MAXIMUM], ids=["sum", "maximum"])
@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_sums_of_narrow_floats_are_not_inline(dtype: Any, body: str) -> None:
    """They are accumulated in f32."""
    case = CASES["channels"]
    operands = [values(case.shape, dtype)]
    text = loop_text(case, body, operands)
    assert (reason_of(text) is None) == (body is MAXIMUM)
    run_every_way(text, *arguments_of(case, operands))


@pytest.mark.parametrize("count", [1 << 12, (1 << 12) + 1])
def test_padded_operands(count: int) -> None:
    """Padded operands have MAX_PADDED_ELEMENTS at most: here 8 elements for each window."""
    case = Case((8 * count - 1,), (Window(8, 8, 1),))
    operands = [values(case.shape, np.int32)]
    text = loop_text(case, SUM, operands)
    assert ("pad operands" in str(windows_reason(text))) == (8 * count > 1 << 15)


SELECTIONS = {
    "pooling": Case((2, 12, 12, 8), (ONE, Window(2, 2), Window(2, 2), ONE)),
    "overlapping": Case((1, 3, 9, 10), (ONE, ONE, Window(3, 2, 1, 1), Window(3, 2, 1, 0))),
    "row": Case((30,), (Window(4, 3, 1, 2),)),
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32])
def test_selections(name: str, dtype: Any) -> None:
    case = SELECTIONS[name]
    operand, source = values(case.shape, dtype), values(case.result, dtype)
    element = type_of(operand.reshape(-1)[0].reshape(()))
    body = f"""%r = "stablehlo.select_and_scatter"(%a, %b, %init) ({{
        ^bb0(%x : {element}, %y : {element}):
          %g = stablehlo.compare GE, %x, %y : ({element}, {element}) -> tensor<i1>
          stablehlo.return %g : tensor<i1>
        }}, {{
        ^bb0(%x : {element}, %y : {element}):
          %s = stablehlo.add %x, %y : {element}
          stablehlo.return %s : {element}
        }}) {{{case.attributes("window_dimensions", "window_strides")}}}
        : ({type_of(operand)}, {type_of(source)}, {element}) -> {type_of(operand)}
      %m = stablehlo.subtract %r, %a : {type_of(operand)}"""
    carried = {"a": ("a0", type_of(operand)), "b": ("b0", type_of(source))}
    zero = f"%init = stablehlo.constant dense<0{'' if operand.dtype.kind == 'i' else '.0'}> : {element}"
    check(counted(20, body, carried, "%m, %b", zero), operand, source)
