"""`dot_general` and the operations that it replaces, against sums of products in Python."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nimblehlo.errors import UnsupportedError, VerifyError
from nimblehlo.kernels.matmul import gemv, matmul
from nimblehlo.program.ops.contraction import dot_general as contraction
from nimblehlo.program.ops.contraction.dot_general import DotGeneral
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES, INTEGER
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import tensor
from tests.support.running import run_every_way

Array = np.ndarray[Any, Any]

INTEGER_NAMES = [name for name, element_type in ELEMENT_TYPES.items() if element_type.category & INTEGER]
FIELDS = ("lhs_batching", "rhs_batching", "lhs_contracting", "rhs_contracting")


def dot_general(lhs: str, rhs: str, result: str, *dimensions: Sequence[int], more: str = "") -> str:
    """`dimensions` are batching ones of lhs and rhs, then contracting ones."""
    fields = [
        f"{name}_dimensions = [{', '.join(map(str, values))}]"
        for name, values in zip(FIELDS, dimensions, strict=True)
    ]
    attributes = f"dot_dimension_numbers = #stablehlo.dot<{', '.join(fields)}>"
    return program("stablehlo.dot_general", [lhs, rhs], [result], attributes + (f", {more}" if more else ""))


def algorithm(precision: str, accumulation: str, operations: int = 1, **changed: Any) -> str:
    fields = {
        "lhs_precision_type": precision,
        "rhs_precision_type": precision,
        "accumulation_type": accumulation,
        "lhs_component_count": 1,
        "rhs_component_count": 1,
        "num_primitive_operations": operations,
        "allow_imprecise_accumulation": "false",
        **changed,
    }
    return f"algorithm = #stablehlo.dot_algorithm<{', '.join(f'{k} = {v}' for k, v in fields.items())}>"


def expected(lhs: Array, rhs: Array, dimensions: Sequence[Sequence[int]]) -> Array:
    """The specification's formula on Python numbers."""
    lhs_batching, rhs_batching, lhs_contracting, rhs_contracting = dimensions
    lhs_result = [d for d in range(lhs.ndim) if d not in (*lhs_batching, *lhs_contracting)]
    rhs_result = [d for d in range(rhs.ndim) if d not in (*rhs_batching, *rhs_contracting)]
    batching = [lhs.shape[d] for d in lhs_batching]
    shape = [*batching, *(lhs.shape[d] for d in lhs_result), *(rhs.shape[d] for d in rhs_result)]
    result = np.zeros(shape, object)
    for index in np.ndindex(*shape):
        batch, rest = index[: len(batching)], index[len(batching) :]
        for inner in itertools.product(*[range(lhs.shape[d]) for d in lhs_contracting]):
            left = dict(
                zip(
                    (*lhs_batching, *lhs_result, *lhs_contracting),
                    (*batch, *rest[: len(lhs_result)], *inner),
                    strict=True,
                )
            )
            right = dict(
                zip(
                    (*rhs_batching, *rhs_result, *rhs_contracting),
                    (*batch, *rest[len(lhs_result) :], *inner),
                    strict=True,
                )
            )
            a = lhs[tuple(left[d] for d in range(lhs.ndim))]
            b = rhs[tuple(right[d] for d in range(rhs.ndim))]
            result[index] += a.item() * b.item() if hasattr(a, "item") else a * b
    return result


@st.composite
def cases(draw: st.DrawFn) -> tuple[tuple[int, ...], tuple[int, ...], list[list[int]]]:
    """Shapes of lhs and rhs, and the dimensions of a contraction of them."""
    sizes = st.integers(0, 3)
    batching, contracting = draw(st.lists(sizes, max_size=2)), draw(st.lists(sizes, max_size=2))
    shapes, dimensions = [], []
    for own in (draw(st.lists(sizes, max_size=2)), draw(st.lists(sizes, max_size=2))):
        places = draw(st.permutations(range(len(batching) + len(contracting) + len(own))))
        shape = [0] * len(places)
        for place, size in zip(places, [*batching, *contracting, *own], strict=True):
            shape[place] = size
        shapes.append(tuple(shape))
        dimensions.append((places[: len(batching)], places[len(batching) : len(batching) + len(contracting)]))
    (lb, lc), (rb, rc) = dimensions
    return shapes[0], shapes[1], [lb, rb, lc, rc]


def integers(shape: Sequence[int], seed: int = 0, low: int = -3, high: int = 4) -> Array:
    return np.random.default_rng(seed).integers(low, high, shape)


@given(cases(), st.sampled_from(["f32", "i8", "i64", "bf16", "complex<f64>", "f8E4M3FN"]))
def test_dimensions(case: Any, name: str) -> None:
    lhs_shape, rhs_shape, dimensions = case
    dtype = ELEMENT_TYPES[name].dtype
    lhs, rhs = integers(lhs_shape, 1), integers(rhs_shape, 2)
    wanted = expected(lhs, rhs, dimensions)
    text = dot_general(
        tensor(lhs_shape, name), tensor(rhs_shape, name), tensor(wanted.shape, name), *dimensions
    )
    (result,) = evaluate(text, lhs.astype(dtype), rhs.astype(dtype))
    exact = wanted.astype(complex if dtype.kind == "c" else float)
    np.testing.assert_array_equal(result, exact.astype(dtype))


MATRICES: list[list[int]] = [[], [], [1], [0]]


def test_small_complex_matrices_are_summed_from_the_first_product() -> None:
    random = np.random.default_rng(3)
    lhs, rhs = (
        random.standard_normal(shape) + 1j * random.standard_normal(shape) for shape in ((4, 3), (3, 6))
    )
    lhs[0], rhs[:, 0] = -0.0, -0.0
    types = [tensor(shape, "complex<f64>") for shape in ((4, 3), (3, 6), (4, 6))]
    (result,) = evaluate(dot_general(*types, *MATRICES), lhs, rhs)
    for i, j in np.ndindex(4, 6):
        total = complex(0, 0)
        for k in range(3):
            a, b = lhs[i, k], rhs[k, j]
            total += complex(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)
        assert np.complex128(total).tobytes() == result[i, j].tobytes()


@pytest.mark.parametrize("size", [3, 40])
@pytest.mark.parametrize("name", INTEGER_NAMES)
def test_integers_wrap(name: str, size: int) -> None:
    element_type = ELEMENT_TYPES[name]
    signed = name.startswith("i")
    low = -(1 << (element_type.width - 1)) if signed else 0
    span = 1 << element_type.width
    wide = np.int64 if signed else np.uint64
    numbers = [
        [low + (index * 0x9E3779B97F4A7C15 >> 3) % span for index in range(size * size)] for _ in range(2)
    ]
    lhs, rhs = (np.array(values, wide).reshape(size, size).astype(element_type.dtype) for values in numbers)
    type = tensor((size, size), name)
    (result,) = evaluate(dot_general(type, type, type, *MATRICES), lhs, rhs)
    exact = np.array(lhs.astype(wide).tolist(), object) @ np.array(rhs.astype(wide).tolist(), object)
    np.testing.assert_array_equal(result.astype(wide).astype(object), (exact - low) % span + low)


@pytest.mark.parametrize(
    ("lhs_name", "rhs_name", "result_name"),
    [
        ("i8", "i8", "i32"),
        ("i4", "i4", "i32"),
        ("ui8", "i8", "i32"),
        ("i16", "i16", "i64"),
        ("bf16", "bf16", "f32"),
        ("f16", "f16", "f64"),
        ("f8E4M3FN", "f8E5M2", "f32"),
        ("f32", "f32", "bf16"),
        ("f32", "f32", "f64"),
    ],
)
def test_types_of_one_kind(lhs_name: str, rhs_name: str, result_name: str) -> None:
    lhs = integers((20, 300), 3, 0, 4).astype(ELEMENT_TYPES[lhs_name].dtype)
    rhs = integers((300, 30), 4, 0, 4).astype(ELEMENT_TYPES[rhs_name].dtype)
    text = dot_general(
        tensor(lhs.shape, lhs_name), tensor(rhs.shape, rhs_name), tensor((20, 30), result_name), *MATRICES
    )
    (result,) = evaluate(text, lhs, rhs)
    wanted = (lhs.astype(np.int64) @ rhs.astype(np.int64)).astype(np.float64)
    np.testing.assert_array_equal(result, wanted.astype(ELEMENT_TYPES[result_name].dtype))


def test_booleans() -> None:
    lhs, rhs = integers((3, 4), 5, 0, 2).astype(bool), integers((4, 2), 6, 0, 2).astype(bool)
    text = dot_general("tensor<3x4xi1>", "tensor<4x2xi1>", "tensor<3x2xi1>", *MATRICES)
    np.testing.assert_array_equal(evaluate(text, lhs, rhs)[0], (lhs[:, :, None] & rhs).any(1))


def test_narrow_floats_are_rounded_once() -> None:
    lhs = np.array([[256, 1, 1, 1]]).astype(ELEMENT_TYPES["bf16"].dtype)
    text = dot_general("tensor<1x4xbf16>", "tensor<4x1xbf16>", "tensor<1x1xbf16>", *MATRICES)
    (result,) = evaluate(text, lhs, np.ones((4, 1), lhs.dtype))
    assert float(result[0, 0]) == 260


def matrix(shape: tuple[int, ...], seed: int) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype("f")


@pytest.mark.parametrize(
    ("precision", "accumulation", "operations", "error"),
    [
        ("f16", "f16", 1, 2e-3),
        ("f16", "f32", 1, 1e-3),
        ("bf16", "bf16", 1, 1e-2),
        ("bf16", "f32", 1, 1e-2),
        ("bf16", "f32", 3, 1e-4),
        ("bf16", "f32", 6, 1e-6),
        ("bf16", "f32", 9, 1e-6),
        ("tf32", "f32", 1, 1e-3),
        ("tf32", "f32", 3, 1e-6),
        ("f32", "f32", 1, 1e-6),
        ("f64", "f64", 1, 1e-7),
        ("f8E5M2", "f32", 1, 0.2),
    ],
)
def test_algorithms(precision: str, accumulation: str, operations: int, error: float) -> None:
    lhs, rhs = matrix((8, 64), 7), matrix((64, 9), 8)
    exact = lhs.astype(np.float64) @ rhs.astype(np.float64)
    text = dot_general(
        "tensor<8x64xf32>",
        "tensor<64x9xf32>",
        "tensor<8x9xf32>",
        *MATRICES,
        more=algorithm(precision, accumulation, operations),
    )
    (result,) = evaluate(text, lhs, rhs)
    scale = np.abs(lhs).astype(np.float64) @ np.abs(rhs)
    found = float((np.abs(result - exact) / scale).max())
    assert found <= error
    if error > 1e-6:
        assert found > error / 1000, "the operands must have been rounded"


def test_an_algorithm_rounds_the_operands() -> None:
    one = np.float32(1 + 2**-9)
    for precision, rounded in (("bf16", 1.0), ("tf32", float(one)), ("f16", float(one))):
        text = dot_general(
            "tensor<1xf32>",
            "tensor<1xf32>",
            "tensor<f32>",
            [],
            [],
            [0],
            [0],
            more=algorithm(precision, "f32"),
        )
        assert float(evaluate(text, np.array([one]), np.ones(1, "f"))[0]) == rounded


def test_components_keep_infinities() -> None:
    text = dot_general(
        "tensor<1xf32>", "tensor<1xf32>", "tensor<f32>", [], [], [0], [0], more=algorithm("bf16", "f32", 3)
    )
    assert float(evaluate(text, np.array([np.inf], "f"), np.ones(1, "f"))[0]) == np.inf


@pytest.mark.parametrize(
    "more",
    [
        algorithm("f16", "f64"),
        algorithm("bf16", "f32", 2),
        algorithm("f32", "f32", 3),
        algorithm("bf16", "f32", 3, lhs_component_count=7),
        algorithm("f32", "f32", rhs_precision_type="bf16"),
        algorithm("f32", "f32", allow_imprecise_accumulation="true"),
    ],
)
def test_unknown_algorithms_are_not_supported(more: str) -> None:
    text = dot_general("tensor<2xf32>", "tensor<2xf32>", "tensor<f32>", [], [], [0], [0], more=more)
    with pytest.raises(UnsupportedError, match="dot algorithm") as caught:
        parse_and_verify(text)
    assert caught.value.operation == "stablehlo.dot_general"


@pytest.mark.parametrize(
    ("lhs", "rhs"), [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((0, 3), (3, 4))]
)
def test_dot(lhs: tuple[int, ...], rhs: tuple[int, ...]) -> None:
    left, right = integers(lhs, 9), integers(rhs, 10)
    wanted = left @ right
    types = [tensor(lhs, "i64"), tensor(rhs, "i64")]
    (result,) = evaluate(program("stablehlo.dot", types, [tensor(wanted.shape, "i64")]), left, right)
    np.testing.assert_array_equal(result, wanted)


@pytest.mark.parametrize(
    ("lhs", "rhs", "result"),
    [
        ("2x3x4xf32", "4x5xf32", "2x3x5xf32"),
        ("2x3xf32", "2x5xf32", "2x5xf32"),
        ("f32", "2xf32", "2xf32"),
        ("2x3xf32", "3x2xf32", "2xf32"),
    ],
)
def test_dot_rejects(lhs: str, rhs: str, result: str) -> None:
    text = program("stablehlo.dot", [f"tensor<{lhs}>", f"tensor<{rhs}>"], [f"tensor<{result}>"])
    with pytest.raises(VerifyError) as caught:
        parse_and_verify(text)
    assert caught.value.operation == "stablehlo.dot"


def einsum(config: str, operands: Sequence[str], result: str) -> str:
    name = "stablehlo.einsum" if len(operands) == 2 else "stablehlo.unary_einsum"
    return program(name, operands, [result], f'einsum_config = "{config}"')


@pytest.mark.parametrize("name", ["i32", "f32", "bf16", "i4", "i1"])
@pytest.mark.parametrize(
    ("config", "shapes"),
    [
        ("ab,bc->ac", [(2, 3), (3, 4)]),
        ("ab, bc -> ca", [(2, 3), (3, 4)]),
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
        ("ab,cd->", [(2, 3), (2, 2)]),
        ("...ab,...bc->...ac", [(5, 2, 3), (1, 3, 4)]),
        ("ab->a", [(2, 3)]),
        ("aa->a", [(3, 3)]),
        ("a...->...", [(2, 3, 4)]),
    ],
)
def test_einsum(name: str, config: str, shapes: list[tuple[int, ...]]) -> None:
    dtype = ELEMENT_TYPES[name].dtype
    operands = [integers(shape, 11 + index, 0, 2) for index, shape in enumerate(shapes)]
    wanted = np.einsum(config.replace(" ", ""), *operands)
    types = [tensor(shape, name) for shape in shapes]
    text = einsum(config, types, tensor(wanted.shape, name))
    (result,) = evaluate(text, *[operand.astype(dtype) for operand in operands])
    np.testing.assert_array_equal(result, wanted.astype(dtype) if name != "i1" else wanted > 0)


@pytest.mark.parametrize(
    ("config", "result"),
    [
        ("ab,bc", "2x4xf32"),
        ("ab,cb->ac", "2x4xf32"),
        ("abc,bc->ac", "2x4xf32"),
        ("ab,bc->ad", "2x4xf32"),
        ("ab,bc->aa", "2x2xf32"),
        ("ab,bc->ac", "2x3xf32"),
        ("ab,bc->ac", "2x4xi32"),
        ("ab,bc,cd->ac", "2x4xf32"),
        ("a_,_c->ac", "2x4xf32"),
        ("", "2x4xf32"),
    ],
)
def test_einsum_rejects(config: str, result: str) -> None:
    with pytest.raises(VerifyError) as caught:
        parse_and_verify(einsum(config, ["tensor<2x3xf32>", "tensor<3x4xf32>"], f"tensor<{result}>"))
    assert caught.value.operation == "stablehlo.einsum"


def quantized(storage: str = "i8", zero_point: int = 0, expressed: str = "f32") -> str:
    return f"tensor<2x2x!quant.uniform<{storage}:{expressed}, 0.5:{zero_point}>>"


def along(axis: int) -> str:
    return f"tensor<2x2x!quant.uniform<i8:f32:{axis}, {{0.5:0, 0.25:0}}>>"


def square(lhs: str, rhs: str, result: str) -> str:
    return dot_general(lhs, rhs, result, *MATRICES)


PLAIN = "tensor<2x2xf32>"
VECTORS = ("tensor<2xf32>", "tensor<2xf32>", "tensor<f32>", [], [], [0], [0])
HIGHEST = "#stablehlo<precision HIGHEST>"

REJECTED: dict[type[Op], dict[str, str]] = {
    DotGeneral: {
        "C1": dot_general(PLAIN, PLAIN, PLAIN, [0], [], [], []),
        "C2": dot_general(PLAIN, PLAIN, PLAIN, [], [], [1], []),
        "C3": dot_general(PLAIN, PLAIN, PLAIN, [0], [0], [0], [1]),
        "C4": dot_general(PLAIN, PLAIN, PLAIN, [0], [1], [1], [1]),
        "C5": dot_general(PLAIN, PLAIN, PLAIN, [2], [0], [], []),
        "C6": dot_general(PLAIN, PLAIN, PLAIN, [], [], [-1], [0]),
        "C7": dot_general(PLAIN, PLAIN, PLAIN, [0], [2], [], []),
        "C8": dot_general(PLAIN, PLAIN, PLAIN, [], [], [1], [7]),
        "C9": dot_general("tensor<2x3xf32>", PLAIN, "tensor<2x2xf32>", [1], [1], [], []),
        "C10": dot_general("tensor<2x3xf32>", PLAIN, PLAIN, *MATRICES),
        "C11": dot_general(*VECTORS, more=f"precision_config = [{HIGHEST}]"),
        "C12": square(PLAIN, PLAIN, "tensor<2x3xf32>"),
        "C14": square(quantized(), quantized(), PLAIN),
        "C15": square(quantized(), quantized(zero_point=1), quantized()),
        "C16": square(quantized(), along(0), quantized()),
        "C17": square(quantized("i16"), quantized(), quantized()),
        "C18": square(quantized(expressed="f16"), quantized(), quantized()),
        "C19": square(quantized(), quantized(), along(1)),
        "C20": square("tensor<2x2xf64>", quantized(), PLAIN),
        "C21": dot_general(
            *VECTORS, more=f"precision_config = [{HIGHEST}, {HIGHEST}], " + algorithm("f32", "f32")
        ),
        "C22": dot_general(*VECTORS, more=algorithm("f32", "f32", lhs_component_count=0)),
        "C23": dot_general(*VECTORS, more=algorithm("f32", "f32", rhs_component_count=-1)),
        "C24": dot_general(*VECTORS, more=algorithm("f32", "f32", 0)),
    }
}

ACCEPTED = [
    square(PLAIN, PLAIN, PLAIN),
    dot_general(*VECTORS, more=f"precision_config = [{HIGHEST}, {HIGHEST}]"),
    square("tensor<?x2xf32>", "tensor<?x?xf32>", "tensor<?x2xf32>"),
    square(quantized(), quantized(), quantized("i32")),
    square(quantized(), along(1), along(1)),
    square(PLAIN, along(1), PLAIN),
    einsum("ab,bc->ac", [PLAIN, PLAIN], PLAIN),
    einsum("ab->ba", [PLAIN], PLAIN),
    program("stablehlo.dot", [PLAIN, PLAIN], [PLAIN]),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, contraction)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


@pytest.mark.parametrize("change", [("= [1]", "= 1"), ("= f32", "= i32"), ("= false", "= 0")])
def test_fields_of_other_kinds_are_rejected(change: tuple[str, str]) -> None:
    text = dot_general(PLAIN, PLAIN, PLAIN, *MATRICES, more=algorithm("f32", "f32"))
    assert change[0] in text
    with pytest.raises((VerifyError, UnsupportedError)) as caught:
        parse_and_verify(text.replace(*change))
    assert caught.value.location is not None


@pytest.mark.parametrize(
    ("lhs", "rhs", "result", "expected"),
    [
        ("4x5xf32", "5x6xf32", "4x6xf32", matmul),
        ("1x900xf64", "900x6xf64", "1x6xf64", gemv),
        ("4x900xf64", "900x6xf64", "4x6xf64", matmul),
        ("4x5xi32", "5x6xi32", "4x6xi32", None),
    ],
)
def test_plain_products_are_called_at_once(lhs: str, rhs: str, result: str, expected: Any) -> None:
    module = parse_and_verify(dot_general(*(f"tensor<{t}>" for t in (lhs, rhs, result)), *MATRICES))
    (view,) = [Op.of(operation) for operation in module.walk() if operation.name == DotGeneral.name]
    if matmul.is_available() and expected is not None:
        assert view.bind() is expected.multiply_on_one_thread
        assert view.on_threads(None) is expected.multiply
    generator = np.random.default_rng(0)
    operands = [generator.integers(-9, 9, type.shape).astype(type.dtype) for type in (view.lhs, view.rhs)]
    assert np.array_equal(view.bind()(*operands), view.reference(*operands))


@pytest.mark.parametrize("rows", [16, 128])
def test_stacks_of_operands_in_order_need_one_frame_of_python(rows: int) -> None:
    """Steps of large programs find their code outside of the caches, and each frame costs microseconds."""
    types = (f"tensor<{size}xf64>" for size in (f"1x{rows}x64", "64x300", f"1x{rows}x300"))
    module = parse_and_verify(dot_general(*types, [], [], [2], [0]))
    (view,) = [Op.of(operation) for operation in module.walk() if operation.name == DotGeneral.name]
    multiply, frames = view.on_threads(None), []
    lhs, rhs = np.ones(view.lhs.shape), np.ones(view.rhs.shape)
    multiply(lhs, rhs)
    sys.setprofile(lambda frame, event, argument: frames.append(frame.f_code) if event == "call" else None)
    try:
        product = multiply(lhs, rhs)
    finally:
        sys.setprofile(None)
    assert product.shape == (1, rows, 300) and (product == 64).all()
    assert len({code for code in frames if code.co_filename.endswith(("base.py", "reshapers.py"))}) == 1


@pytest.mark.parametrize(
    ("lhs", "rhs", "numbers"),
    [
        ((2, 3, 4, 5), (4, 2, 6, 7), ([0, 2], [1, 0], [], [])),
        ((2, 3, 4, 5), (5, 2, 6, 3), ([0], [1], [3, 1], [0, 3])),
        ((2, 3, 4, 5), (6, 5), ([], [], [3], [1])),
        ((4,), (4,), ([], [], [0], [0])),
        ((2, 3), (4,), ([], [], [], [])),
        ((3, 5, 2), (3, 5, 2), ([0, 1, 2], [0, 1, 2], [], [])),
    ],
)
@pytest.mark.parametrize("type", ["f32", "f64", "bf16", "i32", "complex<f32>"])
def test_what_is_bound_does_what_the_reference_does(
    lhs: tuple[int, ...], rhs: tuple[int, ...], numbers: tuple[list[int], ...], type: str
) -> None:
    batching, terms = numbers[:2], numbers[2:]
    kept = [
        [size for d, size in enumerate(shape) if d not in (*batch, *term)]
        for shape, batch, term in zip((lhs, rhs), batching, terms, strict=True)
    ]
    result = [*(lhs[d] for d in batching[0]), *kept[0], *kept[1]]
    a, b, c = (tensor(tuple(shape), type) for shape in (lhs, rhs, result))
    text = f"""func.func @main(%lhs: {a}, %rhs: {b}) -> {c} {{
  %result = stablehlo.dot_general %lhs, %rhs, batching_dims = {batching[0]} x {batching[1]},
    contracting_dims = {terms[0]} x {terms[1]} : ({a}, {b}) -> {c}
  return %result : {c}
}}
"""
    (view,) = [Op.of(op) for op in parse_and_verify(text).walk() if op.name == DotGeneral.name]
    generator = np.random.default_rng(0)
    operands = [generator.integers(-9, 9, one.shape).astype(one.dtype) for one in (view.lhs, view.rhs)]
    got, expected = np.asarray(view.bind()(*operands)), np.asarray(view.reference(*operands))
    assert got.shape == expected.shape == tuple(result)
    assert got.tobytes() == expected.tobytes()


@pytest.mark.parametrize("rhs", [quantized(), along(1), PLAIN])
def test_products_of_quantized_arguments(rhs: str) -> None:
    lhs = PLAIN if rhs == PLAIN else quantized(zero_point=1)
    rhs = along(1) if rhs == PLAIN else rhs
    result = PLAIN if lhs == PLAIN else along(1) if rhs == along(1) else quantized("i32")
    a = np.array([[3, -2], [0, 127]], np.float32 if lhs == PLAIN else np.int8)
    b = np.array([[1, -128], [5, 7]], np.int8)
    text = (
        f"func.func @main(%a: {lhs}, %b: {rhs}) -> {result} {{\n"
        f"%0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : ({lhs}, {rhs}) -> {result}\n"
        f"return %0 : {result}\n}}"
    )
    (got,) = run_every_way(text, a, b)
    values = (b * (np.array([0.5, 0.25]) if rhs == along(1) else 0.5)).astype(np.float64)
    exact = (a if lhs == PLAIN else (a.astype(np.float64) - 1) * 0.5) @ values
    if result == PLAIN:
        assert got.tolist() == exact.tolist()
        return
    scales, storage = (np.array([0.5, 0.25]), np.int8) if result == along(1) else (0.5, np.int32)
    limits = np.iinfo(storage)
    assert got.tolist() == np.clip(np.rint(exact / scales), limits.min, limits.max).tolist()
