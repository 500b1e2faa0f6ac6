"""`reduce_window` and `select_and_scatter`, against the specification's formulas one window at a time."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo import Options, execute
from nimblehlo.errors import UnsupportedError
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.reduction import reduce_window as window
from nimblehlo.program.ops.reduction import select_and_scatter_numpy
from nimblehlo.program.ops.reduction.cumulative import SCAN_BLOCK, SCAN_GROUP
from nimblehlo.program.ops.reduction.reduce_window import ReduceWindow, SelectAndScatter
from nimblehlo.program.ops.reduction.window_geometry import Window, overlap
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.bodies import combining, comparing, region
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import array, elements, tensor

Array = np.ndarray[Any, Any]
Combine = Callable[[Any, Any], Any]


def padding_text(padding: Sequence[Sequence[int]]) -> str:
    pairs = "[" + ", ".join(f"[{low}, {high}]" for low, high in padding) + "]"
    return f"dense<{pairs if padding else ''}> : tensor<{len(padding)}x2xi64>"


def reduce_window(
    inputs: Sequence[str], init_values: Sequence[str], results: Sequence[str], body: str, **attributes: Any
) -> str:
    """The program; attributes are lists of int, `padding` a list of pairs."""
    return program("stablehlo.reduce_window", [*inputs, *init_values], results, listed(attributes), body)


def listed(attributes: dict[str, Any]) -> str:
    texts = [
        f"{name} = {padding_text(value) if name == 'padding' else array(*value)}"
        for name, value in attributes.items()
    ]
    return ", ".join(texts)


def select_and_scatter(
    operand: str,
    source: str,
    result: str,
    select: str,
    scatter: str,
    init_value: str = "tensor<f32>",
    **attributes: Any,
) -> str:
    regions = f"{select}}}, {{{scatter}"
    name = "stablehlo.select_and_scatter"
    return program(name, [operand, source, init_value], [result], listed(attributes), regions)


def window_values(operand: Array, windows: Sequence[Window], index: Sequence[int]) -> list[Any]:
    """The values of a window in row-major order, None for padding, and their places."""
    found = []
    for position in itertools.product(*[range(each.size) for each in windows]):
        place = []
        for axis, each in enumerate(windows):
            at = index[axis] * each.stride + position[axis] * each.window_dilation - each.low
            element, rest = divmod(at, each.base_dilation)
            place.append(None if rest or not 0 <= element < operand.shape[axis] else element)
        found.append(None if None in place else tuple(place))
    return found


def expected_windows(operand: Array, init_value: Any, windows: Sequence[Window], combine: Combine) -> Array:
    """`reduce_window` as a left fold, in the operand's type."""
    counts = [window.count(size) for window, size in zip(windows, operand.shape, strict=True)]
    result = np.empty(counts, operand.dtype)
    for index in np.ndindex(*counts):
        reduced = init_value
        for place in window_values(operand, windows, index):
            reduced = combine(reduced, init_value if place is None else operand[place])
        result[index] = reduced
    return result


def run(operand: Array, init_value: Any, windows: Sequence[Window], body: str, name: str) -> Array:
    counts = [window.count(size) for window, size in zip(windows, operand.shape, strict=True)]
    text = reduce_window(
        [tensor(operand.shape, name)],
        [tensor((), name)],
        [tensor(counts, name)],
        body,
        window_dimensions=[w.size for w in windows],
        window_strides=[w.stride for w in windows],
        base_dilations=[w.base_dilation for w in windows],
        window_dilations=[w.window_dilation for w in windows],
        padding=[(w.low, w.high) for w in windows],
    )
    (result,) = evaluate(text, operand, np.asarray(init_value, operand.dtype))
    return result


WINDOWS = st.builds(
    Window,
    size=st.integers(1, 4),
    stride=st.integers(1, 3),
    low=st.integers(-2, 3),
    high=st.integers(-2, 3),
    base_dilation=st.integers(1, 3),
    window_dilation=st.integers(1, 3),
)
LAYOUTS = st.lists(st.tuples(st.integers(0, 4), WINDOWS), max_size=3)


@given(LAYOUTS, st.sampled_from(["add", "maximum", "multiply", "subtract"]), st.sampled_from([0.0, 1.0, 0.3]))
def test_left_fold(layout: Any, operation: str, init_value: float) -> None:
    shape, windows = [size for size, _ in layout], [window for _, window in layout]
    if any(w.low == s - 1 or w.high == s - 1 for s, w in layout):
        operation = "maximum"  # Windows that may be cumulative: a body whose order does not show.
    operand = ((np.arange(np.prod(shape, dtype=int)) * 5 % 11 - 4) / 3).astype("f").reshape(shape)
    result = run(operand, init_value, windows, combining(operation), "f32")
    wanted = expected_windows(operand, np.float32(init_value), windows, getattr(np, operation))
    assert result.tobytes() == wanted.tobytes()


@given(LAYOUTS, st.sampled_from(["add", "multiply", "maximum", "minimum", "and", "or", "xor"]))
def test_integers(layout: Any, operation: str) -> None:
    shape, windows = [size for size, _ in layout], [window for _, window in layout]
    operand = elements(shape, "i8")
    function = getattr(
        np, operation if operation in ("add", "multiply", "maximum", "minimum") else f"bitwise_{operation}"
    )
    for init_value in (0, 1, -128, 3):
        result = run(operand, init_value, windows, combining(operation, "i8"), "i8")
        assert result.tolist() == expected_windows(operand, np.int8(init_value), windows, function).tolist()


@given(st.integers(0, 12), st.integers(1, 5), st.integers(-9, 9), st.integers(0, 7), st.integers(1, 5))
def test_overlap(count: int, stride: int, offset: int, size: int, dilation: int) -> None:
    pairs = [(o, i) for o in range(count) for i in range(size) if stride * o + offset == dilation * i]
    found = overlap(count, stride, offset, size, dilation)
    if found is None:
        assert not pairs
    else:
        outputs, inputs = found
        assert list(zip(range(count)[outputs], range(size)[inputs], strict=True)) == pairs


def expected_scan(values: list[Any], init_value: Any, combine: Combine) -> list[Any]:
    """The scan of nimblehlo.program.ops.reduction.cumulative on a list."""
    idempotent = np.asarray(combine(init_value, init_value)).tobytes() == np.asarray(init_value).tobytes()
    results = []
    blocks = groups = in_group = None
    for position, value in enumerate(values):
        if position % SCAN_BLOCK == 0 and position:
            total = combine(groups, in_group)
            blocks, groups, in_group = total if blocks is None else combine(blocks, total), None, None
        elif position % SCAN_GROUP == 0 and position:
            groups, in_group = in_group if groups is None else combine(groups, in_group), None
        in_group = value if in_group is None else combine(in_group, value)
        in_block = in_group if groups is None else combine(groups, in_group)
        in_row = in_block if blocks is None else combine(blocks, in_block)
        pads = init_value
        for _ in range(0 if idempotent else len(values) - position - 1):
            pads = combine(pads, init_value)
        results.append(combine(pads, in_row))
    return results


DECAY = region(
    ["tensor<f32>", "tensor<f32>"],
    """%half = stablehlo.constant dense<0.5> : tensor<f32>
    %h = stablehlo.multiply %a, %half : tensor<f32>
    %r = stablehlo.add %h, %b : tensor<f32>""",
    ["%r : tensor<f32>"],
)


def decay(a: Any, b: Any) -> Any:
    return a * np.float32(0.5) + b


@pytest.mark.parametrize(
    ("body", "combine"), [(combining("add"), np.add), (combining("maximum"), np.maximum), (DECAY, decay)]
)
@pytest.mark.parametrize("init_value", [0.0, 0.25])
@pytest.mark.parametrize("size", [1, 2, 7, 20, SCAN_BLOCK, 2 * SCAN_BLOCK + 30])
@pytest.mark.parametrize("reverse", [False, True])
def test_cumulative_windows(body: str, combine: Combine, init_value: float, size: int, reverse: bool) -> None:
    if size > SCAN_BLOCK and body is DECAY:
        size = SCAN_BLOCK + SCAN_GROUP + 3
    operand = (np.random.default_rng(size).random((2, size)) / 16).astype("f")
    along = Window(size, high=size - 1) if reverse else Window(size, low=size - 1)
    result = run(operand, init_value, [Window(1), along], body, "f32")
    swapped = (lambda a, b: combine(b, a)) if reverse else combine
    for row, found in zip(operand, result, strict=True):
        values = list(row[::-1] if reverse else row)
        wanted = expected_scan(values, np.float32(init_value), swapped)
        if size == 1:
            wanted = [combine(np.float32(init_value), row[0])]
        np.testing.assert_array_equal(found, wanted[::-1] if reverse else wanted)


def test_long_cumulative_windows_cost_no_square() -> None:
    operand = np.ones((3, 200_000), np.int32)
    along = Window(200_000, low=199_999)
    result = run(operand, 0, [Window(1), along], combining("add", "i32"), "i32")
    np.testing.assert_array_equal(result, np.broadcast_to(np.arange(1, 200_001), (3, 200_000)))


@pytest.mark.parametrize("name", ["bf16", "f16", "f8E5M2"])
def test_narrow_floats_are_summed_in_f32(name: str) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    operand = np.random.default_rng(5).random(50).astype(dtype)
    windows = [Window(9, 2, 3, 1)]
    wide = run(operand.astype("f"), 0.0, windows, combining("add"), "f32")
    found = run(operand, 0.0, windows, combining("add", name), name)
    assert found.tobytes() == wide.astype(dtype).tobytes()


@pytest.mark.parametrize("name", ["bf16", "f16", "f8E5M2"])
def test_cumulative_windows_round_each_step(name: str) -> None:
    operand = np.random.default_rng(5).random(50).astype(ELEMENT_TYPES[name].dtype)
    sums = expected_scan(list(operand), operand.dtype.type(0), operator.add)
    found = run(operand, 0.0, [Window(50, low=49)], combining("add", name), name)
    assert found.tobytes() == np.array(sums, operand.dtype).tobytes()


def test_several_inputs() -> None:
    body = region(
        ["tensor<f32>", "tensor<i32>", "tensor<f32>", "tensor<i32>"],
        """%p = stablehlo.compare GE, %a, %c : (tensor<f32>, tensor<f32>) -> tensor<i1>
        %v = stablehlo.select %p, %a, %c : tensor<i1>, tensor<f32>
        %i = stablehlo.select %p, %b, %d : tensor<i1>, tensor<i32>""",
        ["%v : tensor<f32>", "%i : tensor<i32>"],
    )
    text = reduce_window(
        ["tensor<6xf32>", "tensor<6xi32>"],
        ["tensor<f32>", "tensor<i32>"],
        ["tensor<5xf32>", "tensor<5xi32>"],
        body,
        window_dimensions=[2],
    )
    values = np.array([3, 1, 4, 1, 5, 9], "f")
    greatest, where = evaluate(text, values, np.arange(6, dtype="i"), np.float32(0), np.int32(-1))
    assert (greatest.tolist(), where.tolist()) == ([3, 4, 4, 5, 9], [0, 2, 2, 4, 5])


def test_operands_are_promoted_to_the_types_of_the_body() -> None:
    text = reduce_window(
        ["tensor<4xi8>"], ["tensor<i8>"], ["tensor<2xi32>"], combining("add", "i32"), window_dimensions=[3]
    )
    (result,) = evaluate(text, np.full(4, 100, np.int8), np.int8(0))
    assert (result.tolist(), result.dtype) == ([300, 300], np.int32)


def expected_scatter(
    operand: Array, source: Array, init_value: Any, windows: Sequence[Window], prefers: Any, combine: Combine
) -> Array:
    """`select_and_scatter` window by window."""
    result = np.full(operand.shape, init_value, operand.dtype)
    for index in np.ndindex(*source.shape):
        selected = None
        for place in window_values(operand, windows, index):
            if place is not None and (selected is None or not prefers(operand[selected], operand[place])):
                selected = place
        if selected is not None:
            result[selected] = combine(result[selected], source[index])
    return result


SCATTERED = st.lists(
    st.tuples(
        st.integers(0, 5),
        st.builds(
            Window,
            size=st.integers(1, 3),
            stride=st.integers(1, 3),
            low=st.integers(-1, 2),
            high=st.integers(-1, 2),
            base_dilation=st.just(1),
            window_dilation=st.just(1),
        ),
    ),
    max_size=3,
)


@given(
    SCATTERED, st.sampled_from(["GE", "LT"]), st.sampled_from(["add", "subtract", "maximum"]), st.booleans()
)
def test_select_and_scatter(layout: Any, direction: str, operation: str, ties: bool) -> None:
    shape, windows = [size for size, _ in layout], [window for _, window in layout]
    counts = [window.count(size) for size, window in layout]
    operand = elements(shape, "f32") if ties else elements(shape, "f32") * 3 % 5
    source = elements(counts, "f32") / 3
    text = select_and_scatter(
        tensor(shape),
        tensor(counts),
        tensor(shape),
        comparing(direction),
        combining(operation),
        window_dimensions=[w.size for w in windows],
        window_strides=[w.stride for w in windows],
        padding=[(w.low, w.high) for w in windows],
    )
    (result,) = evaluate(text, operand, source, np.float32(0.5))
    prefers = {"GE": np.greater_equal, "LT": np.less}[direction]
    wanted = expected_scatter(operand, source, np.float32(0.5), windows, prefers, getattr(np, operation))
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("rows", [1, 2, 7])
@pytest.mark.parametrize("name", ["i8", "bf16", "f32", "f64"])
def test_select_and_scatter_takes_some_rows_at_a_time(
    name: str, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    windows = [Window(1), Window(2, 2, -1, 2), Window(3, 1, 3, 0)]
    shape = (5, 4, 3)
    counts = [window.count(size) for size, window in zip(shape, windows, strict=True)]
    monkeypatch.setattr(select_and_scatter_numpy, "_ELEMENTS_PER_CHUNK", rows * 12)
    operand = (elements(shape, name) * 3 % 5).astype(ELEMENT_TYPES[name].dtype)
    source = elements(counts, name)
    text = select_and_scatter(
        tensor(shape, name),
        tensor(counts, name),
        tensor(shape, name),
        comparing("GE", name),
        combining("maximum", name),
        tensor((), name),
        window_dimensions=[w.size for w in windows],
        window_strides=[w.stride for w in windows],
        padding=[(w.low, w.high) for w in windows],
    )
    init_value = operand.dtype.type(0)
    (result,) = evaluate(text, operand, source, init_value)
    wanted = expected_scatter(operand, source, init_value, windows, np.greater_equal, max)
    assert result.tobytes() == wanted.tobytes()


@pytest.mark.parametrize("dtype", ["?", "i1", "f2", "f4", "i8", "c8", "c16"])
def test_elements_are_replaced_where_a_mask_says(dtype: str) -> None:
    target, values = np.arange(12).astype(dtype).reshape(3, 4), np.arange(24)[::-2].astype(dtype)
    where = np.arange(12).reshape(3, 4) % 3 == 1
    wanted = np.where(where, values.reshape(3, 4), target)
    select_and_scatter_numpy._replace(target, values.reshape(3, 4), where)
    assert target.tobytes() == wanted.tobytes()


def test_select_and_scatter_promotes() -> None:
    text = select_and_scatter(
        "tensor<4xf16>",
        "tensor<2xf16>",
        "tensor<4xf32>",
        comparing("GE", "f16"),
        combining("add"),
        "tensor<f16>",
        window_dimensions=[2],
        window_strides=[2],
    )
    operand, source = np.array([1, 2, 4, 3], np.float16), np.array([5, 7], np.float16)
    (result,) = evaluate(text, operand, source, np.float16(1))
    assert (result.tolist(), result.dtype) == ([1, 6, 8, 1], np.float32)


ADD = combining("add")
TWO = region(["tensor<f32>"] * 4, "", ["%a : tensor<f32>", "%b : tensor<f32>"])


def one(
    result: str = "tensor<2x3xf32>", body: str = ADD, init: str = "tensor<f32>", **attributes: Any
) -> str:
    """`reduce_window` of a tensor<2x3xf32>."""
    attributes = {"window_dimensions": [1, 1], **attributes}
    return reduce_window(["tensor<2x3xf32>"], [init], [result], body, **attributes)


def scattering(
    source: str = "tensor<1x3xf32>",
    result: str = "tensor<2x3xf32>",
    select: str = comparing("GE"),
    scatter: str = ADD,
    init_value: str = "tensor<f32>",
    **attributes: Any,
) -> str:
    """`select_and_scatter` of a tensor<2x3xf32>."""
    attributes = {"window_dimensions": [2, 1], **attributes}
    return select_and_scatter("tensor<2x3xf32>", source, result, select, scatter, init_value, **attributes)


REJECTED: dict[type[Op], dict[str, str]] = {
    ReduceWindow: {
        "C1": reduce_window(
            ["tensor<2xf32>"] * 2, ["tensor<f32>"] * 2, ["tensor<2xf32>"], TWO, window_dimensions=[1]
        ),
        "C2": reduce_window(
            ["tensor<2xf32>", "tensor<3xf32>"],
            ["tensor<f32>"] * 2,
            ["tensor<2xf32>"] * 2,
            TWO,
            window_dimensions=[1],
        ),
        "C3": one(init="tensor<f64>"),
        "C4": one(window_dimensions=[1]),
        "C5": one(window_dimensions=[1, 0]),
        "C6": one(window_strides=[1]),
        "C7": one(window_strides=[0, 1]),
        "C8": one(base_dilations=[1, 1, 1]),
        "C9": one(base_dilations=[1, -1]),
        "C10": one(window_dilations=[]),
        "C11": one(window_dilations=[0, 1]),
        "C12": one(padding=[(0, 0)]),
        "C13": one(body=combining("or", "i1")),
        "C14": reduce_window(
            ["tensor<2xf32>"] * 2,
            ["tensor<f32>"] * 2,
            ["tensor<2xf32>", "tensor<3xf32>"],
            TWO,
            window_dimensions=[1],
        ),
        "C15": one("tensor<2x4xf32>"),
        "C16": one("tensor<2x3xf64>"),
    },
    SelectAndScatter: {
        "C1": scattering("tensor<1x3xf64>"),
        "C2": scattering("tensor<2x3xf32>"),
        "C3": scattering(init_value="tensor<f64>"),
        "C4": scattering(window_dimensions=[2]),
        "C5": scattering(window_dimensions=[2, 0]),
        "C6": scattering(window_strides=[2]),
        "C7": scattering(window_strides=[1, 0]),
        "C8": scattering(padding=[(0, 0)] * 3),
        "C9": scattering(select=ADD),
        "C10": scattering(scatter=combining("add", "f16")),
        "C11": scattering(result="tensor<2x4xf32>"),
        "C12": scattering(result="tensor<2x3xf64>"),
    },
}

ACCEPTED = [
    one(window_strides=[1, 1], base_dilations=[1, 1], window_dilations=[1, 1], padding=[(0, 0), (0, 0)]),
    reduce_window(["tensor<?x3xf32>"], ["tensor<f32>"], ["tensor<?x2xf32>"], ADD, window_dimensions=[2, 2]),
    scattering(window_strides=[1, 1], padding=[(0, 0), (0, 0)]),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, window)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


def test_padding_of_three_columns_is_rejected() -> None:
    text = one(padding=[(0, 0), (0, 0)]).replace("[[0, 0], [0, 0]]", "0").replace("2x2xi64", "2x3xi64")
    assert_rejected(ReduceWindow, "C12", text)


def test_windows_that_would_take_forever_are_not_supported() -> None:
    text = one("tensor<2x1xf32>", window_dimensions=[1, 10**12], padding=[(0, 0), (0, 10**12 - 3)])
    with pytest.raises(UnsupportedError, match="1000000000000 elements"):
        parse_and_verify(text)


def test_saturating_sums_take_every_padding() -> None:
    """127 with itself is 127 where sums saturate, but -128 with 127 twice is not -128 with 127 once."""
    element = "!quant.uniform<i8:f32, 1.0:0>"
    text = f"""func.func @main() -> tensor<3x{element}> {{
      %x = stablehlo.constant() <{{value = dense<-128> : tensor<1xi8>}}> : () -> tensor<1x{element}>
      %c = stablehlo.constant() <{{value = dense<127> : tensor<i8>}}> : () -> tensor<{element}>
      %0 = "stablehlo.reduce_window"(%x, %c) ({{
      ^bb0(%a: tensor<{element}>, %b: tensor<{element}>):
        %1 = stablehlo.add %a, %b : tensor<{element}>
        stablehlo.return %1 : tensor<{element}>
      }}) {{window_dimensions = array<i64: 3>, padding = dense<2> : tensor<1x2xi64>}}
        : (tensor<1x{element}>, tensor<{element}>) -> tensor<3x{element}>
      return %0 : tensor<3x{element}>
    }}"""
    for options in (Options(reference=True), Options(compile="never"), Options(compile="eager")):
        (result,) = execute(text, [], options=options)
        assert np.asarray(result).tolist() == [-1, 126, 127], options
