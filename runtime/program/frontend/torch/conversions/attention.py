"""PyTorch's attention on the CPU, and its gradient.

Source: PyTorch, ``scaled_dot_product_attention``; Dao et al., "FlashAttention", algorithm 4.
"""

from __future__ import annotations

import math

from ....ir import Value
from ..emitter import I64, element_type, shape_of, wider
from ..table import NodeEmitter, converts, unsupported
from .reductions import total

_BATCH = ([0, 1], [0, 1])


def _stacked(e: NodeEmitter, x: Value, key: Value) -> Value:
    """The rows of heads of queries that share a head of keys and values, one below the other.

    Args:
        e: appends operations.
        x: [batch, heads of queries, rows, columns].
        key: the keys or values; consecutive heads of queries share one of its heads.
    """
    batch, heads, rows, columns = shape_of(x)
    shared = shape_of(key)[1]
    return e.reshape(x, (batch, shared, heads // shared * rows if shared else rows, columns))


def _scores(
    e: NodeEmitter, query: Value, key: Value, is_causal: bool, mask: Value | None, scale: float | None
) -> Value:
    """The scaled products of queries and keys; negative infinity where a query does not see a key."""
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    products = _products(e, query, key, 3)
    scores = e.multiply(products, e.like(products, factor))
    lowest = e.like(scores, -math.inf)
    if is_causal:
        row, column = (e.iota(shape_of(scores), dim, I64) for dim in (2, 3))
        scores = e.select(e.compare("LE", column, row), scores, lowest)
    if mask is None:
        return scores
    if element_type(mask).name == "i1":
        return e.select(e.broadcast(mask, shape_of(scores)), scores, lowest)
    return e.add(scores, e.broadcast(e.convert(mask, element_type(scores)), shape_of(scores)))


def _products(e: NodeEmitter, x: Value, shared: Value, contracting: int) -> Value:
    """The products of each head of x with the head of keys or values that it shares."""
    product = e.dot(_stacked(e, x, shared), shared, ([3], [contracting]), _BATCH)
    return e.reshape(product, (*shape_of(x)[:3], shape_of(product)[3]))


@converts("aten._scaled_dot_product_flash_attention_for_cpu.default")
def attention(
    e: NodeEmitter,
    query: Value,
    key: Value,
    value: Value,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> list[Value]:
    """The attention, and the logarithm of the sum of exponentials for each query.

    A query that sees no key has the result 0. Keys and values may have fewer heads, each of which consecutive
    heads of queries share.
    """
    if dropout_p:
        raise unsupported("attention with dropout is not supported in this form")
    own = element_type(query)
    query, key, value = (e.convert(each, wider(own)) for each in (query, key, value))
    scores = _scores(e, query, key, is_causal, attn_mask, scale)
    shape = shape_of(scores)
    largest = e.reduce("stablehlo.maximum", scores, [3])
    if attn_mask is not None:
        sees = e.compare("NE", largest, e.like(largest, -math.inf))
        largest = e.select(sees, largest, e.like(largest, 0))
    shifted = e.subtract(scores, e.broadcast_in_dim(largest, shape, [0, 1, 2]))
    exponentials = e.unary("stablehlo.exponential", shifted)
    summed = total(e, exponentials, [3])
    divisor = summed
    if attn_mask is not None:
        divisor = e.select(sees, summed, e.like(summed, 1))
    weights = e.divide(exponentials, e.broadcast_in_dim(divisor, shape, [0, 1, 2]))
    attended = e.convert(_products(e, weights, value, 2), own)
    if 1 not in e.used:
        return [attended, e.full(0, shape[:3], e.element_of(1))]
    logarithm = e.add(e.unary("stablehlo.log", summed), largest)
    return [attended, e.convert(logarithm, e.element_of(1))]


@converts("aten._scaled_dot_product_flash_attention_for_cpu_backward.default")
def attention_backward(
    e: NodeEmitter,
    gradient: Value,
    query: Value,
    key: Value,
    value: Value,
    attended: Value,
    logarithm: Value,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Value | None = None,
    scale: float | None = None,
) -> list[Value]:
    """The gradients of queries, keys and values; weights are computed again."""
    own = element_type(query)
    gradient, query, key, value, attended, logarithm = (
        e.convert(each, wider(own)) for each in (gradient, query, key, value, attended, logarithm)
    )
    scores = _scores(e, query, key, is_causal, attn_mask, scale)
    shape = shape_of(scores)
    weights = e.unary(
        "stablehlo.exponential", e.subtract(scores, e.broadcast_in_dim(logarithm, shape, [0, 1, 2]))
    )
    if attn_mask is not None:
        sees = e.compare("NE", logarithm, e.like(logarithm, -math.inf))
        weights = e.select(e.broadcast_in_dim(sees, shape, [0, 1, 2]), weights, e.like(weights, 0))
    of_values = e.dot(_stacked(e, weights, value), _stacked(e, gradient, value), ([2], [2]), _BATCH)
    of_weights = _products(e, gradient, value, 3)
    mean = total(e, e.multiply(gradient, attended), [3])
    centred = e.subtract(of_weights, e.broadcast_in_dim(mean, shape, [0, 1, 2]))
    factor = 1 / math.sqrt(shape_of(query)[-1]) if scale is None else scale
    of_scores = e.multiply(e.multiply(weights, centred), e.like(weights, factor))
    results = (
        _products(e, of_scores, key, 2),
        e.dot(_stacked(e, of_scores, key), _stacked(e, query, key), ([2], [2]), _BATCH),
        of_values,
    )
    return [e.convert(each, own) for each in results]
