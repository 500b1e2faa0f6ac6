"""Batch normalization against its definition in f64, and against XLA:CPU."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from nimblehlo.program.ops.batch_norm import batch_norm
from nimblehlo.program.ops.framework.declaration import Op
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import PER_TENSOR, declaration, tensor
from tests.support.running import assert_close, run_xla

Array = np.ndarray[Any, Any]

EPSILON = 0.125
GRAD = "stablehlo.batch_norm_grad"
TYPES = {
    "f64": (np.float64, 1e-13),
    "f32": (np.float32, 2e-6),
    "bf16": (ml_dtypes.bfloat16, 2e-2),
    "f16": (np.float16, 2e-3),
}
SHAPES = [
    ((4, 5, 3), 2),
    ((4, 5, 3), 0),
    ((2, 7, 3, 3), 1),
    ((5,), 0),
    ((300, 2), 1),
    ((3, 1), 1),
    ((0, 3), 1),
]


def attributes(feature_index: int) -> str:
    return f"epsilon = {EPSILON} : f32, feature_index = {feature_index} : i64"


def inference(operand: str, features: list[str], feature_index: int, result: str | None = None) -> str:
    name = "stablehlo.batch_norm_inference"
    return program(name, [operand, *features], [result or operand], attributes(feature_index))


def training(
    operand: str, features: list[str], feature_index: int, results: list[str], output: str | None = None
) -> str:
    name = "stablehlo.batch_norm_training"
    return program(name, [operand, *features], [output or operand, *results], attributes(feature_index))


def grad(
    operand: str,
    features: list[str],
    feature_index: int,
    results: list[str],
    grad_output: str | None = None,
) -> str:
    operands = [operand, *features, grad_output or operand]
    name = "stablehlo.batch_norm_grad"
    return program(name, operands, [operand, *results], attributes(feature_index))


def values(shape: tuple[int, ...], feature_index: int, element_type: str) -> list[Array]:
    """operand, grad_output, scale, offset, mean, variance."""
    generator = np.random.default_rng(len(shape))
    dtype = TYPES[element_type][0]
    arrays = [generator.normal(size=size) for size in (shape, shape, *[(shape[feature_index],)] * 4)]
    arrays[-1] = np.abs(arrays[-1])
    return [array.astype(dtype) for array in arrays]


@pytest.mark.parametrize("element_type", TYPES)
@pytest.mark.parametrize(("shape", "feature_index"), SHAPES)
def test_against_the_definition(shape: tuple[int, ...], feature_index: int, element_type: str) -> None:
    given = values(shape, feature_index, element_type)
    text, feature = tensor(shape, element_type), tensor((shape[feature_index],), element_type)
    operand, gradient, scale, offset, mean, variance = given
    got = evaluate(inference(text, [feature] * 4, feature_index), operand, scale, offset, mean, variance)
    got += evaluate(training(text, [feature] * 2, feature_index, [feature] * 2), operand, scale, offset)
    got += evaluate(
        grad(text, [feature] * 3, feature_index, [feature] * 2), operand, scale, mean, variance, gradient
    )

    batch = tuple(d for d in range(len(shape)) if d != feature_index)
    column = [-1 if d == feature_index else 1 for d in range(len(shape))]
    x, g, a, b, m, v = (
        array.astype(np.float64).reshape(array.shape if index < 2 else column)
        for index, array in enumerate(given)
    )
    count = np.float64(x.size / shape[feature_index])
    with np.errstate(all="ignore"):
        batch_mean = x.sum(batch, keepdims=True) / count
        batch_var = ((x - batch_mean) ** 2).sum(batch, keepdims=True) / count
        deviation = np.sqrt(v + EPSILON)
        normal = (x - m) / deviation
        want = [
            a * normal + b,
            a * (x - batch_mean) / np.sqrt(batch_var + EPSILON) + b,
            batch_mean.reshape(-1),
            batch_var.reshape(-1),
            a
            / deviation
            * (
                g
                - g.sum(batch, keepdims=True) / count
                - normal * (g * normal).sum(batch, keepdims=True) / count
            ),
            (g * normal).sum(batch).reshape(-1),
            g.sum(batch).reshape(-1),
        ]
    assert_close(got, [array.astype(TYPES[element_type][0]) for array in want], TYPES[element_type][1])


def test_against_xla() -> None:
    shape, feature_index = (3, 4, 5), 1
    text, feature = tensor(shape), tensor((4,))
    operand, gradient, scale, _, mean, variance = values(shape, feature_index, "f32")
    given = (operand, scale, mean, variance, gradient)
    results = f"{text}, {feature}, {feature}"
    got = evaluate(grad(text, [feature] * 3, feature_index, [feature] * 2), *given)
    source = grad(text, [feature] * 3, feature_index, [feature] * 2)
    source = source.replace(") {\n", f") -> ({results}) {{\n", 1)
    source = source.replace("  return", f"  return %result#0, %result#1, %result#2 : {results}")
    assert_close(got, run_xla(source, *given), 2e-6)


def test_quantized_types_are_accepted() -> None:
    operand, feature = tensor((2, 3), PER_TENSOR), tensor((3,), PER_TENSOR)
    parse_and_verify(inference(operand, [feature] * 4, 1))
    parse_and_verify(training(operand, [feature] * 2, 1, [feature] * 2))
    parse_and_verify(grad(operand, [feature] * 3, 1, [feature] * 2))


X, F, LONG, WIDE = tensor((2, 3)), tensor((3,)), tensor((4,)), tensor((3,), "f64")
REJECTED: dict[type[Op], dict[str, str]] = {
    declaration("batch_norm_inference"): {
        "C1": inference(X, [F] * 4, 2),
        "C2": inference(X, [WIDE, F, F, F], 1),
        "C3": inference(X, [LONG, F, F, F], 1),
        "C4": inference(X, [F, LONG, F, F], 1),
        "C5": inference(X, [F, F, LONG, F], 1),
        "C6": inference(X, [F, F, F, LONG], 1),
        "C7": inference(X, [F] * 4, 1, result=tensor((3, 3))),
    },
    declaration("batch_norm_training"): {
        "C1": training(X, [F] * 2, -1, [F] * 2),
        "C2": training(X, [F, WIDE], 1, [F] * 2),
        "C3": training(X, [LONG, F], 1, [F] * 2),
        "C4": training(X, [F, LONG], 1, [F] * 2),
        "C5": training(X, [F] * 2, 1, [LONG, F]),
        "C6": training(X, [F] * 2, 1, [F, LONG]),
        "C7": training(X, [F] * 2, 1, [F] * 2, output=tensor((3, 3))),
    },
    declaration("batch_norm_grad"): {
        "C1": grad(X, [F] * 3, 2, [F] * 2),
        "C2": grad(X, [F] * 3, 1, [F, WIDE]),
        "C3": grad(X, [F] * 3, 1, [F] * 2, grad_output=tensor((3, 3))),
        "C4": grad(X, [F, LONG, F], 1, [F] * 2),
        "C5": grad(X, [LONG] * 3, 1, [LONG] * 2),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, batch_norm)


def test_inputs() -> None:
    assert_inputs_rejected(inference(X, [F] * 4, 1))
    assert_inputs_rejected(grad(X, [F] * 3, 1, [F] * 2))


@pytest.mark.parametrize("element_type", ["f64", "f32", "bf16"])
def test_sums_do_not_hang_on_the_order_in_which_operands_lie(element_type: str) -> None:
    dtype = TYPES[element_type][0]
    random = np.random.default_rng(3)
    x, gradient = ((random.standard_normal((60, 7, 50)) * 1e4).astype(dtype) for _ in range(2))
    features = [np.ones(7, dtype)] * 3
    type, vector = tensor(x.shape, element_type), tensor([7], element_type)
    for text, operands in (
        (training(type, [vector] * 2, 1, [vector] * 2), [x, *features[:2]]),
        (
            program(GRAD, [type, *[vector] * 3, type], [type, vector, vector], attributes(1)),
            [x, *features, gradient],
        ),
    ):
        turned = [np.asfortranarray(operand) for operand in operands]
        for a, b in zip(evaluate(text, *operands), evaluate(text, *turned), strict=True):
            assert a.tobytes() == b.tobytes()
