"""Convolutions inside native loops: the same bits as by their kernels, whatever their windows and layouts."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.loops.arrays import convolution_layouts, convolutions
from nimblehlo.compiler.loops.scalars import Mode
from nimblehlo.compiler.specialize import specialize
from nimblehlo.kernels.named_tuples import NamedTuple
from nimblehlo.program.ir import Operation
from nimblehlo.program.ops.reduction.window_geometry import Window
from tests.compiler.loops.arrays.test_launches import launches_of
from tests.compiler.loops.test_arrays import type_of
from tests.compiler.loops.test_while_function import check, counted, reason_of
from tests.support.running import run_every_way

RNG = np.random.default_rng(11)
Array = Any


class Case(NamedTuple):
    """A convolution: shapes, dimension numbers, windows and groups (of features, of batches).

    Attributes:
        numbers: as in the text, such as ``b0f_0io->b0f``.
        windows: along each spatial dimension; their sizes are those of rhs.
    """

    lhs: tuple[int, ...]
    rhs: tuple[int, ...]
    numbers: str
    windows: tuple[Window, ...]
    groups: tuple[int, int] = (1, 1)
    reverse: tuple[bool, ...] = ()

    @property
    def dimensions(self) -> list[str]:
        lhs, rest = self.numbers.split("_")
        return [lhs, *rest.split("->")]

    @property
    def result(self) -> tuple[int, ...]:
        lhs, rhs, result = self.dimensions
        sizes = {"b": self.lhs[lhs.index("b")] // self.groups[1], "f": self.rhs[rhs.index("o")]}
        for number, window in enumerate(self.windows):
            sizes[str(number)] = window.count(self.lhs[lhs.index(str(number))])
        return tuple([sizes[name] for name in result])

    def text(self, lhs: Array, rhs: Array, result: Array) -> str:
        numbers = "{}x{}->{}".format(*[f"[{', '.join(names)}]" for names in self.dimensions])
        pads = [[window.low, window.high] for window in self.windows]
        fields = {
            "stride": [window.stride for window in self.windows],
            "pad": pads,
            "lhs_dilate": [window.base_dilation for window in self.windows],
            "rhs_dilate": [window.window_dilation for window in self.windows],
            "reverse": [str(flag).lower() for flag in self.reverse or [False] * len(self.windows)],
        }
        window = ", ".join(f"{name} = {value}" for name, value in fields.items()).replace("'", "")
        groups = f"feature_group_count = {self.groups[0]} : i64, batch_group_count = {self.groups[1]} : i64"
        types = f"({type_of(lhs)}, {type_of(rhs)}) -> {type_of(result)}"
        return (
            f"stablehlo.convolution(%a, %b) dim_numbers = {numbers}, "
            f"window = {{{window}}} {{{groups}}} : {types}"
        )


SAME = Window(3, low=1, high=1)

CASES = {
    # One feature: products are rounded and added where the factors are finite.
    "stencil": Case((1, 1, 90), (1, 1, 3), "bf0_oi0->bf0", (SAME,)),
    "plane": Case((1, 1, 20, 37), (1, 1, 3, 3), "bf01_oi01->bf01", (SAME, SAME)),
    "depthwise": Case((2, 9, 8, 12), (3, 3, 1, 12), "b01f_01io->b01f", (SAME, SAME), (12, 1)),
    "depthwise of planes": Case(
        (2, 5, 9, 8), (5, 1, 3, 2), "bf01_oi01->bf01", (Window(3, 2, 1), Window(2, low=1)), (5, 1)
    ),
    "depthwise with holes": Case(
        (1, 3, 11), (3, 1, 4), "bf0_oi0->bf0", (Window(4, 1, 2, 3, 2, 3),), (3, 1)
    ),
    # Several features.
    "point": Case((2, 5), (5, 7), "bf_io->bf", ()),
    "features last": Case((2, 9, 9, 5), (3, 3, 5, 17), "b01f_01io->b01f", (SAME, SAME)),
    "features first": Case((2, 5, 9, 9), (3, 5, 3, 3), "bf01_oi01->bf01", (SAME, SAME)),
    "inside": Case((3, 12, 4), (5, 4, 6), "b0f_0io->b0f", (Window(5),)),
    "steps": Case((2, 4, 23), (3, 4, 5), "bf0_oi0->bf0", (Window(5, 3, 2, 1),)),
    "steps of planes": Case(
        (1, 3, 15, 14), (4, 3, 4, 3), "bf01_oi01->bf01", (Window(4, 2, 1, 1), Window(3, 2, 0, 1))
    ),
    "cropped": Case((1, 2, 16), (2, 2, 3), "bf0_oi0->bf0", (Window(3, 1, -2, -3),)),
    "dilated": Case((2, 20, 3), (3, 3, 9), "b0f_0io->b0f", (Window(3, 1, 4, 0, 1, 4),)),
    "causal": Case((4, 1, 8, 3), (2, 1, 3, 16), "b01f_01io->b01f", (Window(2, 1, 1), Window(1))),
    "cube": Case(
        (1, 2, 5, 6, 7), (3, 2, 3, 2, 3), "bf012_oi012->bf012", (SAME, Window(2, low=1), Window(3, 2, 1, 1))
    ),
    "reversed": Case(
        (1, 3, 9, 10), (2, 3, 3, 2), "bf01_oi01->bf01", (SAME, Window(2)), (1, 1), (True, True)
    ),
    # Gradients: holes, exchanged dimensions, sums of several blocks.
    "gradient of lhs": Case(
        (2, 5, 5, 6), (3, 3, 4, 6), "b01f_01oi->b01f", (Window(3, 1, 1, 2, 2), Window(3, 1, 2, 1, 2)),
        (1, 1), (True, True),
    ),
    "gradient of rhs": Case(
        (7, 9, 9, 3), (7, 4, 4, 5), "f01b_i01o->01bf", (Window(4, 1, 1, 0, 1, 2), Window(4, 1, 0, 1, 1, 2))
    ),
    "gradient of a causal window": Case((5, 40, 3), (5, 40, 6), "f0b_i0o->0bf", (Window(40, 1, 4),)),
    "holes and steps": Case(
        (1, 2, 7), (3, 2, 5), "bf0_oi0->bf0", (Window(5, 3, 3, 4, 2, 3),), (1, 1), (True,)
    ),
    "wide holes": Case((1, 2, 6), (3, 2, 2), "bf0_oi0->bf0", (Window(2, 1, 1, 3, 4),)),
    "groups of features": Case((2, 8, 6, 6), (3, 3, 2, 12), "bf01_01io->b01f", (SAME, SAME), (4, 1)),
    "groups of batches": Case((6, 7, 7, 2), (3, 3, 2, 9), "b01f_01io->b01f", (Window(3, low=1),) * 2, (1, 3)),
    "depthwise gradient of rhs": Case(
        (6, 8, 9, 2), (8, 9, 2, 6), "b01f_01io->01bf", (Window(8, 1, 1, 1), Window(9, 1, 1, 1)), (1, 6)
    ),
    "long sums": Case((1, 6, 3, 90), (3, 3, 90, 4), "b01f_01io->b01f", (SAME, SAME)),
}  # fmt: skip


def loop_text(case: Case, lhs: Array, rhs: Array, dtype: Any = None) -> tuple[str, tuple[Array, ...]]:
    """A loop that convolves lhs, whose sign changes, with rhs, and adds the results; and its arguments.

    The number of iterations is odd: the results of an even one would cancel each other.
    """
    result = np.zeros(case.result, dtype or lhs.dtype)
    body = f"""%r = {case.text(lhs, rhs, result)}
      %new = stablehlo.add %r, %c : {type_of(result)}
      %na = stablehlo.negate %a : {type_of(lhs)}"""
    arrays = {"a": lhs, "b": rhs, "c": result}
    carried = {name: (f"{name}0", type_of(array)) for name, array in arrays.items()}
    return counted(21, body, carried, "%na, %b, %new"), (lhs, rhs, result)


def values(shape: tuple[int, ...], dtype: Any) -> Array:
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(-100, 100, shape).astype(dtype)
    return RNG.standard_normal(shape).astype(dtype)


def is_inline(text: str) -> bool:
    """Whether the loop of a program is native without launches."""
    return reason_of(text) is None


@pytest.mark.sampled(("name", "dtype"))
@pytest.mark.parametrize(
    "dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int32, np.uint8]
)
@pytest.mark.parametrize("name", CASES)
def test_convolutions(name: str, dtype: Any) -> None:
    case = CASES[name]
    text, arguments = loop_text(case, values(case.lhs, dtype), values(case.rhs, dtype))
    check(text, *arguments)


@pytest.mark.sampled(("name", "special"))
@pytest.mark.parametrize("special", [np.inf, np.nan])
@pytest.mark.parametrize("name", ["stencil", "depthwise with holes", "gradient of lhs", "wide holes"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.float16])
def test_factors_that_are_not_finite(name: str, special: float, dtype: Any) -> None:
    """Padding and holes are multiplied with these."""
    case = CASES[name]
    lhs, rhs = values(case.lhs, dtype), values(case.rhs, dtype)
    rhs.reshape(-1)[1], lhs.reshape(-1)[0] = special, -0.0
    text, arguments = loop_text(case, lhs, rhs)
    _, _, result = check(text, *arguments)
    assert np.isnan(result.astype(np.float32)).any()


@pytest.mark.parametrize(
    ("lhs", "rhs", "result"),
    [
        (np.int8, np.int8, np.int32), (np.uint8, np.int8, np.int32), (np.int32, np.uint8, np.uint8),
        (np.float16, np.float16, np.float32), (ml_dtypes.bfloat16, np.float32, np.float32),
    ],
)  # fmt: skip
def test_operands_of_other_types_than_the_result(lhs: Any, rhs: Any, result: Any) -> None:
    case = CASES["features last"]
    text, arguments = loop_text(case, values(case.lhs, lhs), values(case.rhs, rhs), result)
    check(text, *arguments)


@pytest.mark.parametrize("rows", [1, 7, 8, 9, 17])
def test_rows_of_tiles(rows: int) -> None:
    """Tiles of _MAX_ROWS rows and fewer, the last of which overlap others; lanes of windows or features."""
    for case in (
        Case((1, 3, 5, 40), (rows, 3, 3, 3), "bf01_oi01->bf01", (SAME, SAME)),
        Case((1, 5, rows, 3), (3, 3, 3, 16), "b01f_01io->b01f", (SAME, SAME)),
    ):
        text, arguments = loop_text(case, values(case.lhs, np.float32), values(case.rhs, np.float32))
        check(text, *arguments)


def convolution_of(case: Case) -> Operation:
    """A convolution of f32 in a loop."""
    text, _ = loop_text(case, values(case.lhs, np.float32), values(case.rhs, np.float32))
    function = specialize(nimblehlo.load(text), "main")
    assert function.body is not None
    operations = [inner for operation in function.body.block.operations for inner in operation.walk()]
    (convolution,) = [one for one in operations if one.name == "stablehlo.convolution"]
    return convolution


def layout(case: Case) -> convolution_layouts.Layout:
    """The layout of a convolution of f32 in a loop."""
    view = convolutions._convolution(convolution_of(case))
    return convolution_layouts.layout_of(convolutions._problem(view))


def test_lanes_run_along_what_is_contiguous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of planes, output features, or groups; _COPIED_ELEMENT weighs copies."""
    planes = layout(Case((1, 4, 32, 32), (4, 4, 3, 3), "bf01_oi01->bf01", (SAME, SAME)))
    assert (planes.lane.size, planes.lane.result, planes.row.size) == (32, 1, 4)
    features = layout(Case((1, 12, 12, 4), (3, 3, 4, 32), "b01f_01io->b01f", (SAME, SAME)))
    assert (features.lane.size, features.lane.result, features.rhs.copy) == (32, 1, None)
    groups = layout(Case((1, 12, 12, 32), (3, 3, 1, 32), "b01f_01io->b01f", (SAME, SAME), (32, 1)))
    assert (groups.lane.size, groups.lane.result) == (32, 1)
    inside = layout(Case((1, 4, 32, 32), (4, 4, 3, 3), "bf01_oi01->bf01", (Window(3), Window(3))))
    assert inside.copies == []
    few = Case((1, 3, 20, 5), (2, 3, 3, 3), "bf01_oi01->bf01", (SAME, SAME))
    assert layout(few).lane.size == 20
    monkeypatch.setattr(convolution_layouts, "_COPIED_ELEMENT", 100)
    convolution_layouts.layout_of.cache_clear()
    assert layout(few).lane.size == 5
    convolution_layouts.layout_of.cache_clear()


@pytest.mark.parametrize("size", [4, 5, 160, 161, 1 << 12, (1 << 12) + 1])
def test_terms_of_a_sum(size: int) -> None:
    """Loops of _MAX_UNROLLED_TERMS terms have no loop over terms, those of MAX_TERMS are inline."""
    case = Case((1, 2, size), (1, size, 3), "b0f_0io->b0f", (Window(1, low=1),))
    text, arguments = loop_text(case, values(case.lhs, np.float32), values(case.rhs, np.float32))
    assert is_inline(text) == (size <= 1 << 12)
    run_every_way(text, *arguments)


@pytest.mark.parametrize("dilation", [15, 16])
def test_subproblems(dilation: int) -> None:
    """A convolution and MAX_SUBPROBLEMS of its windows are inline at most."""
    case = Case((1, 2, 6), (3, 2, 2), "bf0_oi0->bf0", (Window(2, 1, 1, 3, dilation),))
    text, arguments = loop_text(case, values(case.lhs, np.float32), values(case.rhs, np.float32))
    assert is_inline(text) == (dilation < 16)
    run_every_way(text, *arguments)


@pytest.mark.parametrize("windows", [1 << 12, (1 << 12) + 1])
def test_copies(windows: int) -> None:
    """Copies have MAX_COPIED_ELEMENTS at most: here 8 elements for each window."""
    case = Case((1, 1, 8 * (windows - 1) + 1), (1, 1, 3), "bf0_oi0->bf0", (Window(3, 8, 1, 1),))
    reason = convolutions._check(convolution_of(case), Mode.ARRAYS)
    assert (reason is None) == (8 * windows <= 1 << 15)


@pytest.mark.parametrize("dtype", [ml_dtypes.int4, np.complex64, ml_dtypes.float8_e4m3fn])
def test_other_types_are_not_inline(dtype: Any) -> None:
    case = CASES["inside"]
    lhs, rhs = [RNG.integers(-4, 4, shape).astype(np.float32) for shape in (case.lhs, case.rhs)]
    names = {"int4": "i4", "complex64": "complex<f32>", "float8_e4m3fn": "f8E4M3FN"}
    text, arguments = loop_text(case, lhs, rhs)
    text = text.replace("f32>", f"{names[np.dtype(dtype).name]}>")
    assert not is_inline(text)
    run_every_way(text, *[array.astype(dtype) for array in arguments])


LAUNCHED = {
    "products": Case((2, 20, 20, 12), (3, 3, 12, 40), "b01f_01io->b01f", (SAME, SAME)),
    "Winograd's algorithm": Case((2, 20, 20, 16), (3, 3, 16, 24), "b01f_01io->b01f", (SAME, SAME)),
    "Winograd's algorithm on planes": Case((2, 16, 20, 20), (24, 16, 3, 3), "bf01_oi01->bf01", (SAME, SAME)),
    "copies of planes": Case((8, 32, 6, 6), (32, 32, 4, 4), "bf01_oi01->bf01", (Window(4, 1, 1, 2),) * 2),
    "sliding windows": Case((1, 1, 150, 150), (2, 1, 5, 5), "bf01_oi01->bf01", (Window(5, 1, 2, 2),) * 2),
    "scaling": Case((1, 40, 40, 32), (3, 3, 1, 32), "b01f_01io->b01f", (SAME, SAME), (32, 1)),
    "planes": Case((1, 32, 40, 40), (32, 1, 3, 3), "bf01_oi01->bf01", (SAME, SAME), (32, 1)),
    "gradient of lhs": Case(
        (2, 10, 10, 40), (3, 3, 12, 40), "b01f_01oi->b01f", (Window(3, 1, 1, 2, 2),) * 2, (1, 1), (True, True)
    ),
    "gradient of rhs": Case((4, 20, 20, 12), (4, 20, 20, 40), "f01b_i01o->01bf", (Window(20, 1, 1, 1),) * 2),
    "groups of batches": Case(
        (32, 2, 20, 20), (2, 32, 20, 20), "bf01_io01->bf01", (Window(20, 1, 1, 1),) * 2, (1, 32)
    ),
    "windows between elements": Case((1, 64, 60), (64, 64, 2), "bf0_oi0->bf0", (Window(2, 1, 1, 3, 4),)),
    "groups": Case((2, 20, 20, 32), (3, 3, 8, 64), "b01f_01io->b01f", (SAME, SAME), (4, 1)),
    "scaling with holes": Case(
        (1, 30, 30, 32), (3, 3, 1, 32), "b01f_01io->b01f", (Window(3, 1, 2, 2, 2),) * 2, (32, 1)
    ),
}


@pytest.mark.sampled(("name", "dtype", "special"))
@pytest.mark.parametrize("special", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, ml_dtypes.bfloat16, np.float16, np.int32])
@pytest.mark.parametrize("name", LAUNCHED)
def test_launches(name: str, dtype: Any, special: int) -> None:
    """Large convolutions, also where lhs or rhs has an infinity."""
    case = LAUNCHED[name]
    lhs, rhs = values(case.lhs, dtype), values(case.rhs, dtype)
    if special and np.dtype(dtype).kind not in "iu":
        array = (lhs, rhs)[special - 1].reshape(-1)
        array[array.size // 2] = np.inf
    text, arguments = loop_text(case, lhs, rhs)
    assert launches_of(text) != 0
    run_every_way(text, *arguments)
