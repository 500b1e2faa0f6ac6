"""The loops of `scan` along columns that lie side by side; its text gives the order."""

import functools
from typing import Any

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
from .scan_loops import in_order
from .scan_panels import either, get_value, in_scan_order, put_value


@intrinsic(prefer_literal=True)
def scan_group(
    typing_context: Any, element: Any, monoid: Any, reverse: Any, operand: Any, first: Any, apart: Any,
    rows: Any, width: Any, ahead: Any, at: Any, groups: Any, blocks: Any, pads: Any, pad: Any, step: Any,
    result: Any,
) -> Any:  # fmt: skip
    """Scan a group of `rows` values in each of `width` columns: from `first` on, `apart` from row to row.

    From `at` on, `ahead` has what the columns are folded to in the groups before of the block, where `groups`
    is not 0, and SCAN_CHUNK further on in the blocks before, where `blocks` is not 0. This group is added to
    the former. Pads begin at `pad`, and are `step` apart from row to row.
    """
    kind, is_reverse = Combination(literal(element), literal(monoid)), literal(reverse)
    computed = computing_dtype(kind.element).name

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        first, apart, rows, width = arguments[4:8]
        data = data_of(context, builder, operand, arguments[3], kind.element)
        ahead_data = data_of(context, builder, ahead, arguments[8], computed)
        pads_data = data_of(context, builder, pads, arguments[12], computed)
        result_data = data_of(context, builder, result, arguments[15], kind.element)
        ahead_of = [
            (builder.icmp_signed("!=", known, I64(0)), builder.add(arguments[9], I64(number * SCAN_CHUNK)))
            for number, known in enumerate(arguments[10:12])
        ]

        def scan(column: Any, lanes: int) -> None:
            places = [builder.add(at, column) for _, at in ahead_of]
            before = [load_lanes(builder, computed, ahead_data, place, lanes) for place in places]
            start = builder.add(first, column)

            def write(local: Value, row: Any) -> None:
                slots = [cgutils.alloca_once_value(builder, part) for part in local]
                for (known, _), values in zip(ahead_of, before, strict=True):
                    with builder.if_then(known):
                        joined = in_scan_order(builder, kind, is_reverse, values, get_value(builder, slots))
                        put_value(builder, slots, joined)
                place = builder.add(arguments[13], builder.mul(row, arguments[14]))
                lead = load_lanes(builder, computed, pads_data, place, 1)
                lead = tuple(splat(builder, part, lanes) for part in lead)
                value = in_scan_order(builder, kind, is_reverse, lead, get_value(builder, slots))
                place = builder.add(start, builder.mul(row, apart))
                store_lanes(builder, kind.element, result_data, place, value, lanes)

            value = load_lanes(builder, kind.element, data, start, lanes)
            local = [cgutils.alloca_once_value(builder, part) for part in value]
            write(value, I64(0))
            with cgutils.for_range_slice(builder, I64(1), rows, I64(1), intp=I64, inc=True) as (row, _):
                place = builder.add(start, builder.mul(row, apart))
                value = load_lanes(builder, kind.element, data, place, lanes)
                value = in_scan_order(builder, kind, is_reverse, get_value(builder, local), value)
                put_value(builder, local, value)
                write(value, row)
            total = get_value(builder, local)
            joined = in_scan_order(builder, kind, is_reverse, before[0], total)
            total = either(builder, ahead_of[0][0], joined, total)
            store_lanes(builder, computed, ahead_data, places[0], total, lanes)

        for_columns(builder, kind.element, width, scan)
        return context.get_dummy_value()

    names = (element, monoid, reverse)
    numbers = (types.intp,) * 4
    lists = (ahead, types.intp, types.intp, types.intp, pads, types.intp, types.intp)
    return types.void(*names, operand, *numbers, *lists, result), generate


@functools.cache
def columns(element: str, monoid: str, reverse: bool) -> Kernel:
    """The results of all columns of operands [outer, length, inner]."""
    joined = in_order(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int, size: int, outer: int, length: int, inner: int, operand: Any, pads: Any, ahead: Any,
        result: Any,
    ) -> None:  # fmt: skip
        chunks = (inner + SCAN_CHUNK - 1) // SCAN_CHUNK
        own = 2 * task * SCAN_CHUNK
        for unit in range(task * size, min((task + 1) * size, outer * chunks)):
            group = unit // chunks
            column = (unit - group * chunks) * SCAN_CHUNK
            width = min(SCAN_CHUNK, inner - column)
            for start in range(0, length, SCAN_GROUP):
                row = length - 1 - start if reverse else start
                first, within = (group * length + row) * inner + column, start % SCAN_BLOCK
                if within == 0 and start:
                    for place in range(own, own + width):
                        total = get(ahead, place)
                        total = joined(get(ahead, place + SCAN_CHUNK), total) if start > SCAN_BLOCK else total
                        put(ahead, place + SCAN_CHUNK, total)
                pad, pad_step = (row, step) if pads.size > SCAN_LANES else (0, 0)
                scan_group(
                    element, monoid, reverse, operand, first, step * inner, min(SCAN_GROUP, length - start),
                    width, ahead, own, within, start - within, pads, pad, pad_step, result,
                )  # fmt: skip

    return body
