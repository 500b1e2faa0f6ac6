"""Random operations that the interpreter lacks or implements differently: only modes are compared."""

from __future__ import annotations

from typing import Any

import numpy as np

from nimblehlo.checks.fuzzing.elementwise import scalar_expression
from nimblehlo.checks.fuzzing.generator import CannotGenerate, Generator, Producers
from nimblehlo.checks.fuzzing.movement import index_constant
from nimblehlo.checks.fuzzing.tensor_values import TensorValue as Value
from nimblehlo.program.ops.random.random import RngAlgorithm
from nimblehlo.types import BOOLEAN, ELEMENT_TYPES, FLOAT, INTEGER, PLAIN, TensorType


def batch_norm(g: Generator) -> None:
    """One of the three normalisations, by any dimension."""
    operand = g.value(FLOAT)
    type = operand.type
    if not type.rank or not type.size:
        raise CannotGenerate("no features")
    feature_index = g.random.randrange(type.rank)
    vector = type.with_shape((type.shape[feature_index],))
    attributes: dict[str, Any] = {
        "epsilon": g.random.choice((0.0, 1e-5, 0.001)),
        "feature_index": feature_index,
    }
    kind = g.random.choice(("inference", "training", "grad"))
    if kind == "grad":
        operands = [operand, *[g.operand(vector) for _ in range(3)], g.operand(type)]
        results = [type, vector, vector]
    else:
        operands = [operand, *[g.operand(vector) for _ in range(4 if kind == "inference" else 2)]]
        results = [type] if kind == "inference" else [type, vector, vector]
    g.add(f"stablehlo.batch_norm_{kind}", operands, results, **attributes)


def rng_bit_generator(g: Generator) -> None:
    """Random bits from a state that is known or computed."""
    algorithm = RngAlgorithm(g.random.choice(("DEFAULT", "THREE_FRY", "PHILOX")))
    count = g.random.choice((2, 3)) if algorithm.value == "PHILOX" else 2
    state = g.operand(TensorType((count,), ELEMENT_TYPES["ui64"]))
    output = TensorType(g.shape(), g.element_type(INTEGER | FLOAT))
    g.add("stablehlo.rng_bit_generator", [state], [state.type, output], rng_algorithm=algorithm)


def cholesky(g: Generator) -> None:
    """A factor of a positive definite matrix, or of any."""
    type = TensorType((*g.shape(g.random.randrange(2), 4), 0, 0), g.element_type(FLOAT))
    order = g.random.choice((1, 2, 5, 17))
    type = type.with_shape((*type.shape[:-2], order, order))
    values = g.np_random.standard_normal(type.shape)
    values = values @ values.swapaxes(-1, -2) + g.random.choice((0, 1)) * np.eye(order)
    g.add("stablehlo.cholesky", [g.constant(type, values.astype(np.float32))], [type], lower=g.chance(0.5))


def scan(g: Generator) -> None:
    """Values handed on from slice to slice."""
    first = g.value()
    if not first.type.rank:
        raise CannotGenerate("rank 0")
    dimension = g.random.randrange(first.type.rank)
    slice_shape = [size for d, size in enumerate(first.type.shape) if d != dimension]
    slice_type = first.type.with_shape(slice_shape)
    carried = TensorType(slice_shape, g.element_type()) if g.chance(0.5) else slice_type

    def body(element: Value, carry: Value) -> list[Value]:
        if not slice_shape:
            values = [element, carry]
            return [scalar_expression(g, values, type, 2) for type in (slice_type, carried)]
        next_carry = element if carried == slice_type else g.adapted(element, carried)
        name = "xor" if carried.category == BOOLEAN else "add"
        return [element, *g.add(f"stablehlo.{name}", [next_carry, carry], [carried])]

    region = g.region([slice_type, carried], body)
    operands = [first, g.operand(carried)]
    g.add(
        "chlo.scan", operands, [first.type, carried], [region], dimension=dimension, is_reverse=g.chance(0.5)
    )


def dot(g: Generator) -> None:
    """A product of two tensors of rank 1 or 2, or by subscripts."""
    element_type = g.element_type(PLAIN)
    m, k, n = (g.random.choice((1, 2, 5, 16, 33)) for _ in range(3))
    if g.chance(0.5):
        lhs_shape, rhs_shape = g.random.choice(((m, k), (k,))), g.random.choice(((k, n), (k,)))
        operands = [g.operand(TensorType(shape, element_type)) for shape in (lhs_shape, rhs_shape)]
        result = TensorType((*lhs_shape[:-1], *rhs_shape[1:]), element_type)
        g.add("stablehlo.dot", operands, [result])
        return
    config, shapes = g.random.choice(
        (
            ("ij,jk->ik", ((m, k), (k, n), (m, n))),
            ("bij,bkj->bik", ((2, m, k), (2, n, k), (2, m, n))),
            ("i,j->ji", ((m,), (n,), (n, m))),
            ("ij,ij->i", ((m, k), (m, k), (m,))),
        )
    )
    types = [TensorType(shape, element_type) for shape in shapes]
    g.add("stablehlo.einsum", [g.operand(type) for type in types[:2]], types[2:], einsum_config=config)


def broadcast(g: Generator) -> None:
    """New leading dimensions."""
    operand = g.value()
    sizes = g.shape(g.random.randrange(3), max(1, g.largest // max(operand.type.size, 1)))
    result = operand.type.with_shape((*sizes, *operand.type.shape))
    g.add("stablehlo.broadcast", [operand], [result], broadcast_sizes=tuple(sizes))


def real_dynamic_slice(g: Generator) -> None:
    """A slice with strides whose ranges are operands."""
    operand = g.value()
    if not operand.type.rank:
        raise CannotGenerate("rank 0")
    ranges = []
    for size in operand.type.shape:
        start = g.random.randrange(size + 1)
        ranges.append((start, g.random.randrange(start, size + 1), g.random.choice((1, 1, 2, 3))))
    shape = [-((start - limit) // stride) for start, limit, stride in ranges]
    # All of one type.
    columns = index_constant(g, np.array(ranges)).type.element_type
    operands = [
        g.constant(
            TensorType((len(ranges),), columns), np.array([slice_range[index] for slice_range in ranges])
        )
        for index in range(3)
    ]
    g.add("stablehlo.real_dynamic_slice", [operand, *operands], [operand.type.with_shape(shape)])


def torch_index_select(g: Generator) -> None:
    """Slices by their numbers."""
    operand = g.value()
    if not operand.type.rank or not operand.type.size:
        raise CannotGenerate("nothing to select")
    dimension = g.random.randrange(operand.type.rank)
    count = g.random.choice((1, 3, 40))
    if operand.type.size // operand.type.shape[dimension] * count > g.largest:
        raise CannotGenerate("large")
    index_type = TensorType((count,), ELEMENT_TYPES[g.random.choice(("i32", "i64", "ui8"))])
    index = g.constant(index_type, g.np_random.integers(0, operand.type.shape[dimension], count))
    shape = [*operand.type.shape[:dimension], count, *operand.type.shape[dimension + 1 :]]
    results = [operand.type.with_shape(shape)]
    g.add("stablehlo.torch_index_select", [operand, index], results, dim=dimension, batch_dims=0)


PRODUCERS: Producers = [
    (0.7, batch_norm),
    (0.4, rng_bit_generator),
    (0.3, cholesky),
    (0.7, scan),
    (0.4, dot),
    (0.3, broadcast),
    (0.3, real_dynamic_slice),
    (0.3, torch_index_select),
]
"""The operation producers of this module, with their relative frequencies."""
