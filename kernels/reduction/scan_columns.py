"""The kernels of `scan` along contiguous columns; `scan` documents the order."""

import functools
from typing import Any

import numpy as np
from numba import types

from ..launch.compilation import Kernel, kernel
from ..simd.arithmetic import get, put
from ..simd.block_sizes import SCAN_BLOCK, SCAN_CHUNK, SCAN_GROUP, SCAN_LANES
from ..simd.monoids import Combination, computing_dtype
from ..simd.vectors import (
    I64,
    Value,
    cgutils,
    data_of,
    for_columns,
    intrinsic,
    literal,
    load_lanes,
    splat,
    store_lanes,
)
from .scan_loops import scan_order_combiner
from .scan_panels import apply_in_scan_order, get_value, put_value, select_value


@intrinsic(prefer_literal=True)
def scan_group(
    typing_context: Any, element: Any, monoid: Any, reverse: Any, operand: Any, first: Any, row_stride: Any,
    rows: Any, width: Any, prefixes: Any, prefix_start: Any, has_group_prefix: Any, has_block_prefix: Any,
    pads: Any, pad_start: Any, pad_stride: Any, result: Any,
) -> Any:  # fmt: skip
    """Scan a group of rows in each of some contiguous columns.

    Offsets and strides are intp and count elements.

    Args:
        element, monoid, reverse: literals: the element type, the combining function, whether rows descend.
        operand: the values, flat, of the storage type of `element`.
        first: the offset of the first row's first value.
        row_stride: between rows, in the order of the scan.
        rows, width: the number of rows, at most SCAN_GROUP, and of columns, at most SCAN_CHUNK.
        prefixes: the columns' totals, of the computing type of `element`: from `prefix_start` on, of the
            groups before this one in its block, to which this group is added; SCAN_CHUNK further on, of the
            blocks before.
        has_group_prefix, has_block_prefix: 0 if there are no such groups, or blocks; their totals are not
            read then.
        pads: the combined initial values of each row, of the computing type.
        pad_start, pad_stride: the offset of the first row's pad, and the stride between rows.
        result: flat, of the storage type of `element`, with the layout of the operand.
    """
    kind, is_reverse = Combination(literal(element), literal(monoid)), literal(reverse)
    computed = computing_dtype(kind.element).name

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        operand_arg, first, row_stride, rows, width, prefixes_arg, prefix_start, *flags = arguments[3:12]
        pads_arg, pad_start, pad_stride, result_arg = arguments[12:]
        data = data_of(context, builder, operand, operand_arg, kind.element)
        prefix_data = data_of(context, builder, prefixes, prefixes_arg, computed)
        pads_data = data_of(context, builder, pads, pads_arg, computed)
        result_data = data_of(context, builder, result, result_arg, kind.element)
        prefix_offsets = [
            (
                builder.icmp_signed("!=", has_prefix, I64(0)),
                builder.add(prefix_start, I64(number * SCAN_CHUNK)),
            )
            for number, has_prefix in enumerate(flags)
        ]

        def scan(column: Any, lanes: int) -> None:
            offsets = [builder.add(chunk_start, column) for _, chunk_start in prefix_offsets]
            prefix_values = [load_lanes(builder, computed, prefix_data, offset, lanes) for offset in offsets]
            start = builder.add(first, column)

            def write(local: Value, row: Any) -> None:
                accumulators = [cgutils.alloca_once_value(builder, component) for component in local]
                for (has_prefix, _), values in zip(prefix_offsets, prefix_values, strict=True):
                    with builder.if_then(has_prefix):
                        combined = apply_in_scan_order(
                            builder, kind, is_reverse, values, get_value(builder, accumulators)
                        )
                        put_value(builder, accumulators, combined)
                offset = builder.add(pad_start, builder.mul(row, pad_stride))
                pad_values = load_lanes(builder, computed, pads_data, offset, 1)
                pad_values = tuple(splat(builder, component, lanes) for component in pad_values)
                local_value = get_value(builder, accumulators)
                value = apply_in_scan_order(builder, kind, is_reverse, pad_values, local_value)
                offset = builder.add(start, builder.mul(row, row_stride))
                store_lanes(builder, kind.element, result_data, offset, value, lanes)

            value = load_lanes(builder, kind.element, data, start, lanes)
            local = [cgutils.alloca_once_value(builder, component) for component in value]
            write(value, I64(0))
            with cgutils.for_range_slice(builder, I64(1), rows, I64(1), intp=I64, inc=True) as (row, _):
                offset = builder.add(start, builder.mul(row, row_stride))
                value = load_lanes(builder, kind.element, data, offset, lanes)
                value = apply_in_scan_order(builder, kind, is_reverse, get_value(builder, local), value)
                put_value(builder, local, value)
                write(value, row)
            total = get_value(builder, local)
            combined = apply_in_scan_order(builder, kind, is_reverse, prefix_values[0], total)
            total = select_value(builder, prefix_offsets[0][0], combined, total)
            store_lanes(builder, computed, prefix_data, offsets[0], total, lanes)

        for_columns(builder, kind.element, width, scan)
        return context.get_dummy_value()

    names = (element, monoid, reverse)
    numbers = (types.intp,) * 4
    lists = (prefixes, types.intp, types.intp, types.intp, pads, types.intp, types.intp)
    return types.void(*names, operand, *numbers, *lists, result), generate


@functools.cache
def columns(element: str, monoid: str, reverse: bool) -> Kernel:
    """Scan all columns of operands [outer, length, inner]."""
    combine_in_scan_order = scan_order_combiner(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int, size: int, outer: int, length: int, inner: int, operand: np.ndarray, pads: np.ndarray,
        prefixes: Any, result: np.ndarray,
    ) -> None:  # fmt: skip
        chunks = (inner + SCAN_CHUNK - 1) // SCAN_CHUNK
        scratch_start = 2 * task * SCAN_CHUNK
        for work_item in range(task * size, min((task + 1) * size, outer * chunks)):
            group = work_item // chunks
            column = (work_item - group * chunks) * SCAN_CHUNK
            width = min(SCAN_CHUNK, inner - column)
            for start in range(0, length, SCAN_GROUP):
                row = length - 1 - start if reverse else start
                first, block_offset = (group * length + row) * inner + column, start % SCAN_BLOCK
                if block_offset == 0 and start:
                    for column_prefix in range(scratch_start, scratch_start + width):
                        total = get(prefixes, column_prefix)
                        total = combine_in_scan_order(
                            get(prefixes, column_prefix + SCAN_CHUNK), total
                        ) if start > SCAN_BLOCK else total
                        put(prefixes, column_prefix + SCAN_CHUNK, total)
                pad_offset, pad_stride = (row, step) if pads.size > SCAN_LANES else (0, 0)
                scan_group(
                    element, monoid, reverse, operand, first, step * inner, min(SCAN_GROUP, length - start),
                    width, prefixes, scratch_start, block_offset, start - block_offset, pads, pad_offset,
                    pad_stride, result,
                )  # fmt: skip

    return body
