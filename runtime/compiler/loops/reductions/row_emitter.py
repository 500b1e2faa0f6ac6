"""What the emitters of long and short rows share: the function of a group of rows, and their addresses."""

from __future__ import annotations

import math
from collections.abc import Sequence

from llvmlite import ir

from ....program.ir import Block, plain_element_type
from ....program.ir import Value as IrValue
from ..llvm.functions import outlined_function
from ..llvm.loops import address_of
from ..llvm.values import I64, stored_type
from .element_emitter import ElementEmitter
from .row_tiling import RowTilePlan


class RowEmitter(ElementEmitter):
    """Generates `void group(int64 first, int64 last, T* noalias...)`, which computes a group of rows.

    Attributes:
        group: the maximum number of rows.
        first, last: the rows [first, last) of a call.
        pointers: of the block's arguments.
        result_pointers: of the block's results.
    """

    def __init__(self, module: ir.Module, block: Block, plan: RowTilePlan, group: int) -> None:
        self.block = block
        self.plan = plan
        self.index_maps = plan.index_maps
        self.group = group
        count = len(block.arguments) + len(block.terminator.operands)
        self.function = outlined_function(module, "group", 2, count)
        self.builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        self.first, self.last, *pointers = self.function.args
        self.pointers = dict(zip(block.arguments, pointers, strict=False))
        self.result_pointers = pointers[len(block.arguments) :]

    def row_indices(self, row: ir.Value) -> list[ir.Value]:
        """A row's index along each of the dimensions that number the rows."""
        builder, plan = self.builder, self.plan
        rest, indices = row, []
        for size in reversed(plan.shape[1 : plan.row_rank]):
            indices.append(builder.urem(rest, I64(size)))
            rest = builder.udiv(rest, I64(size))
        return [rest, *reversed(indices)][: plan.row_rank]

    def column_index(self, column: ir.Value, axis: int) -> ir.Value:
        """A column's index along one of the dimensions that number the columns."""
        shape = self.plan.shape
        inner = math.prod(shape[axis + 1 :])
        return self.builder.urem(self.builder.udiv(column, I64(inner)), I64(shape[axis]))

    def row_address(self, pointer: ir.Value, value: IrValue, indices: Sequence[ir.Value]) -> ir.Value:
        """The address of the first element of the row at some indices."""
        builder, offset = self.builder, I64(0)
        for index, stride in zip(indices, self.plan.strides(value), strict=False):
            if stride:
                offset = builder.add(offset, builder.mul(index, I64(stride)))
        return address_of(builder, pointer, offset, stored_type(plain_element_type(value)))
