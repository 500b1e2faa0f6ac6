"""Attention as one step: a matrix product, a fusion of its rows, and a product with what that computes.

A thread computes a block of rows of the first product, applies the fusion to it and multiplies the result,
so that the block stays in its L2 cache. Neither the first product, the scores, nor the fusion's result, the
weights, is ever a whole matrix in memory.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ....program.ir import Operation, Region, Value, tensor_type, use_counts
from ....program.ir.record import Record
from ....program.ops.intermediate.fusion import ROW_FUSION
from ....types import Array
from ...implementation import Implementation, Replaceable, Runnable
from ...loops.reductions.reduction_code import RowCode
from ...specialize.framework.operation_classes import contraction, is_matmul
from ..tiering.time_limit import within_time_limit

if TYPE_CHECKING:
    from ...loops.reductions.row_tiling import RowTilePlan

_MIN_SCORES_BYTES: Final = 1 << 20
"""Minimum bytes of the scores: smaller ones stay in the L2 cache between three steps too."""
_MIN_COLUMNS: Final = 96
"""Minimum columns of the scores. Matrices with fewer gain nothing, and code for short rows reads beyond
them."""
_DTYPES: Final = (np.float32, np.float64)


class Attention(Record):
    """The operations of one attention, in their order.

    Attributes:
        scores: the product whose rows the fusion reads.
        rows: the fusion.
        output: the product of the weights, which are the fusion's result, and the value.
    """

    scores: Operation
    rows: Operation
    output: Operation

    @property
    def absorbed(self) -> tuple[Operation, Operation]:
        """The operations whose results only the next one reads."""
        return self.scores, self.rows

    @property
    def operations(self) -> tuple[Operation, Operation, Operation]:
        return self.scores, self.rows, self.output

    @property
    def weights_are_rhs(self) -> bool:
        """Whether the weights are the right operand of the second product."""
        return self.output.operands[1] is self.rows.result

    @property
    def scores_operand(self) -> int:
        """The number of the scores among the operands of the fusion."""
        return self.rows.operands.index(self.scores.result)


def find_attentions(region: Region, epilogues: Collection[Operation]) -> dict[Operation, Attention]:
    """The attentions of a region's block, by their last operations.

    Args:
        epilogues: the products with an epilogue, which are part of no attention.
    """
    operations = region.block.operations
    fusions = [operation for operation in operations if operation.name == ROW_FUSION]
    if not fusions or not any(map(is_matmul, operations)):
        return {}
    from ....program.ops.contraction.float_matmul import has_native_matmul

    if not has_native_matmul():
        return {}
    uses = use_counts(region)
    users = {value: operation for operation in operations for value in operation.operands}
    attentions = {}
    for fusion in fusions:
        attention = _attention_around(fusion, uses, users)
        if attention is not None and not {attention.scores, attention.output} & set(epilogues):
            attentions[attention.output] = attention
    return attentions


def _attention_around(
    fusion: Operation, uses: Counter[Value], users: dict[Value, Operation]
) -> Attention | None:
    """The attention of a fusion that alone reads a product, and that only another product reads."""
    if len(fusion.results) != 1 or uses[fusion.result] != 1:
        return None
    output = users.get(fusion.result)
    if output is None or not _is_float_product(output) or fusion.result not in output.operands:
        return None
    for operand in fusion.operands:
        scores = operand.owner
        if not isinstance(scores, Operation) or uses[operand] != 1 or not _is_float_product(scores):
            continue
        attention = Attention(scores, fusion, output)
        if _is_by_rows(attention) and _multiplies_rows(attention):
            return attention
    return None


def _is_float_product(operation: Operation) -> bool:
    """Whether the kernel of `FusedAttention` computes a product: of f32 or f64, not by a vector."""
    if not is_matmul(operation):
        return False
    from ....program.ops.contraction.float_matmul import matmul

    view = contraction(operation)
    if view.multiply is not matmul or not all(type.is_static for type in (view.lhs, view.rhs)):
        return False
    # A matrix times its own transpose is symmetric, and takes half the time as a step of its own.
    is_symmetric = operation.operands[0] is operation.operands[1]
    rows, k, columns = view.matrix_sizes
    return view.result.dtype in _DTYPES and min(rows, columns) > 1 and k > 0 and not is_symmetric


def _is_by_rows(attention: Attention) -> bool:
    """Whether the fusion computes rows from the scores' rows, and the scores are worth a step."""
    from ....kernels.matmul.matmul import MAX_ATTENTION_OPERANDS
    from ...loops.reductions.row_tiling import plan_row_tiling

    view = contraction(attention.scores)
    _, _, columns = view.matrix_sizes
    type, block = tensor_type(attention.scores.result), attention.rows.regions[0].block
    if columns < _MIN_COLUMNS or type.size * type.dtype.itemsize < _MIN_SCORES_BYTES:
        return False
    if type != attention.rows.result.type or len(block.arguments) > MAX_ATTENTION_OPERANDS:
        return False
    plan = plan_row_tiling(block)
    if plan is None or plan.columns != columns or plan.shape != type.shape:
        return False
    # Each row of the result needs the row of the scores at the same index only.
    values = block.arguments[attention.scores_operand], block.terminator.operands[0]
    return all(_is_dense(plan, value) for value in values)


def _is_dense(plan: RowTilePlan, value: Value) -> bool:
    """Whether a value has the iteration space's order of elements."""
    sizes, strides = plan.shape, plan.strides(value)
    return all(
        size == 1 or strides[d] == math.prod(sizes[d + 1 :]) for d, size in enumerate(sizes)
    )


def _multiplies_rows(attention: Attention) -> bool:
    """Whether the second product contracts the columns of the scores, with the same batches and rows."""
    view, scores = contraction(attention.output), contraction(attention.scores)
    if attention.weights_are_rhs:
        used = view.rhs_batching_dimensions, view.rhs_result_dimensions, view.rhs_contracting_dimensions
    else:
        used = view.lhs_batching_dimensions, view.lhs_result_dimensions, view.lhs_contracting_dimensions
    order = [dimension for dimensions in used for dimension in dimensions]
    if order != list(range(len(order))):
        return False
    first, second = (one.sizes(one.lhs.shape, one.rhs.shape) for one in (scores, view))
    (rows, _, columns), (output_rows, k, output_columns) = first.matrix, second.matrix
    is_same_matrix = (rows, columns) == (output_columns if attention.weights_are_rhs else output_rows, k)
    return first.batch == second.batch and is_same_matrix


class AttentionFusion(Replaceable):
    """An attention: three calls, or one launch once the fusion has native code.

    Args:
        attention: the operations.
        implementations: those of the three operations; that of the fusion has native code or gets it.
        threads: maximum number of threads; None: all.
    """

    takes_regions = False

    def __init__(
        self, attention: Attention, implementations: tuple[Implementation, ...], threads: int | None
    ) -> None:
        super().__init__()
        rows = implementations[1]
        self.kind = rows.kind
        self.reason = f"{rows.reason}, between two products block by block"
        self.attention, self.implementations, self.threads = attention, implementations, threads
        self.absorbed = attention.absorbed
        self.functions = [one.function for one in implementations]

    def constituents(self) -> tuple[Implementation, ...]:
        return self.implementations

    @property
    def scratch_bytes(self) -> int:
        """Bytes of the scores and the weights until the fusion has native code."""
        type = tensor_type(self.attention.scores.result)
        return 0 if self.implementations[1].is_settled else 2 * type.size * type.dtype.itemsize

    def run(self, query: Array, key: Array, *others: Array) -> Any:
        if self.native is None and self.implementations[1].is_settled:
            self.use(within_time_limit(self.prepare))
        if self.native is not None:
            return self.native(query, key, *others)
        multiply, compute_rows, multiply_weights = self.functions
        *of_rows, value = others
        position = self.attention.scores_operand
        scores = multiply(query, key)
        # The scores, which nothing else reads, are the largest array of most programs with an attention.
        is_overwritten = (position, 0) in self.implementations[1].baseline_overwrites and scores.flags.carray
        keywords = {"out": (scores,)} if is_overwritten else {}
        weights = compute_rows(*of_rows[:position], scores, *of_rows[position:], **keywords)
        weights = weights[0] if isinstance(weights, tuple) else weights
        del scores
        return multiply_weights(*((value, weights) if self.attention.weights_are_rhs else (weights, value)))

    def prepare(self) -> Runnable:
        """The three operations as one launch."""
        from ....kernels.matmul.matmul import FusedAttention
        from ...loops.llvm.machine import function_address
        from ...loops.llvm.module_text import text_of
        from ...loops.reductions.row_tiling import NAME

        attention = self.attention
        code = RowCode(attention.rows.regions[0].block, self.threads)
        address = function_address(code.key, NAME, lambda: text_of(code.lowered.module()))
        weights_are_rhs = attention.weights_are_rhs
        launch = FusedAttention(
            address, code.seconds(), attention.scores_operand, weights_are_rhs, self.threads
        )
        scores, output = contraction(attention.scores), contraction(attention.output)
        query_stack, key_stack = scores.stackers(scores.lhs.shape, scores.rhs.shape, self.threads)
        output_stacks = output.stackers(output.lhs.shape, output.rhs.shape, self.threads)
        value_stack = output_stacks[0 if weights_are_rhs else 1]
        shape = tensor_type(attention.output.result).shape

        def run(query: Array, key: Array, *others: Array) -> Array:
            value = value_stack(others[-1])
            return launch(query_stack(query), key_stack(key), value, *others[:-1]).reshape(shape)

        return run
