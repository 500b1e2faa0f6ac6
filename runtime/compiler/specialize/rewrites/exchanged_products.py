"""Exchanges the operands of products in loops whose results are transposed.

A product of a matrix and a vector that `jax.vmap` makes a product of matrices has the rows of the batch
last, and what follows has them first. Products of exchanged operands have the same bits: the order of
additions depends on the number of terms alone, and factors commute.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Attribute, Operation, StructAttribute, Value, tensor_type, use_counts
from ....program.ops.contraction.dot_general import DotGeneral
from ....program.ops.shape.layout import Transpose
from ....program.ops.shape.slicing import Slice
from ..framework.rewriter import Rewriter, dimensions, has_static_unquantized_types

_OTHER_SIDE = {"lhs": "rhs", "rhs": "lhs"}


class _TransposedProduct(NamedTuple):
    """A product that only transposes, also of its slices, read.

    Attributes:
        order: the dimensions of the product in the order of the transposes' results.
        slices: of the product.
        transposes: of the product and of the slices.
    """

    order: tuple[int, ...]
    slices: Sequence[Operation]
    transposes: Sequence[Operation]


def exchange_factors_of_transposes(operation: Operation, rewriter: Rewriter) -> None:
    """Exchange the operands of the products in a loop that only transposes read, in place."""
    body = operation.regions[1]
    counts = use_counts(body)
    readers: defaultdict[Value, list[Operation]] = defaultdict(list)
    for inner in body.block.operations:
        for operand in inner.operands:
            readers[operand].append(inner)
    rebuilt: list[Operation] = []
    replaced: dict[Value, Value] = {}
    dropped: set[Operation] = set()
    for inner in body.block.operations:
        match = _match(inner, readers, counts) if inner.name == DotGeneral.name else None
        if match is not None:
            rebuilt += _exchanged(inner, match, replaced)
            dropped.update((*match.slices, *match.transposes))
            rewriter.rewrite_count += 1
        elif inner not in dropped:
            rebuilt.append(inner)
    if replaced:
        body.block.operations = rebuilt
        body.block.replace_uses(replaced)


def _match(
    product: Operation, readers: Mapping[Value, Sequence[Operation]], counts: Counter[Value]
) -> _TransposedProduct | None:
    """The transposes of a product; None if something else reads it, or the bits may change."""
    order = _exchanged_order(product)
    if order is None:
        return None
    slices: list[Operation] = []
    transposes: list[Operation] = []
    values = [product.result]
    for value in values:
        # Nested regions may read values too.
        if not counts[value] == len(readers[value]) > 0:
            return None
        for reader in readers[value]:
            if reader.name == Slice.name and value is product.result:
                slices.append(reader)
                values.append(reader.result)
            elif reader.name == Transpose.name and tuple(Transpose.of(reader).permutation) == order:
                transposes.append(reader)
            else:
                return None
    return _TransposedProduct(order, slices, transposes)


def _exchanged_order(product: Operation) -> tuple[int, ...] | None:
    """The dimensions of a product as exchanged operands order them; None if the bits may change."""
    if not has_static_unquantized_types(product):
        return None
    view = DotGeneral.of(product)
    types = {tensor_type(value).dtype for value in (*product.operands, product.result)}
    if types not in ({np.dtype(np.float32)}, {np.dtype(np.float64)}) or view.summation_order is None:
        return None
    if view.algorithm is not None or len(set(view.precision_config or ())) > 1:
        return None
    rows, _, columns = view.matrix_sizes
    if 1 in (rows, columns):
        return None
    batch, rank = len(view.lhs_batching_dimensions), view.result.rank
    first_column = batch + len(view.lhs_result_dimensions)
    return (*range(batch), *range(first_column, rank), *range(batch, first_column))


def _exchanged(
    product: Operation, match: _TransposedProduct, replaced: dict[Value, Value]
) -> list[Operation]:
    """The product of exchanged operands and its slices, which replace the transposes."""

    def reordered(values: Sequence[int]) -> tuple[int, ...]:
        return tuple([values[d] for d in match.order])

    def add(old: Operation, operands: Sequence[Value], attributes: dict[str, Attribute]) -> None:
        type = tensor_type(old.result)
        reordered_type = type.with_shape(reordered(type.shape))
        new = Operation(old.name, tuple(operands), [reordered_type], attributes, (), old.location)
        operations.append(new)
        results[old.result] = new.result

    operations: list[Operation] = []
    results: dict[Value, Value] = {}
    add(product, product.operands[::-1], _attributes_of_exchanged(product))
    for cut in match.slices:
        starts, limits, strides = map(reordered, Slice.of(cut).ranges())
        attributes = dimensions(start_indices=starts, limit_indices=limits, strides=strides)
        add(cut, [results[product.result]], attributes)
    replaced.update({transpose.result: results[transpose.operands[0]] for transpose in match.transposes})
    return operations


def _attributes_of_exchanged(product: Operation) -> dict[str, Attribute]:
    """The attributes of a product whose operands are exchanged."""
    numbers = product.attributes["dot_dimension_numbers"]
    assert isinstance(numbers, StructAttribute)
    fields = {_OTHER_SIDE[name[:3]] + name[3:]: value for name, value in numbers.fields.items()}
    exchanged = StructAttribute(numbers.dialect, numbers.mnemonic, fields)
    return {**product.attributes, "dot_dimension_numbers": exchanged}
