"""The loops of `scan`, whose text gives the order."""

import functools
from typing import Any

from numba import types

from .arithmetic import combine, get, load, put, store
from .blocks import SCAN_BLOCK, SCAN_CHUNK, SCAN_SEGMENT
from .compilation import Kernel, kernel
from .monoids import Combination, computing_dtype
from .vectors import I64, apply, cgutils, data_of, intrinsic, literal, load_lanes, store_lanes

MANY, FEW = 8, 4  # blocks at a time


@functools.cache
def powers(element: str, monoid: str) -> Kernel:
    """One to `pads.size` initial values, folded."""

    @kernel
    def fold(initial: Any, pads: Any) -> None:
        start = load(element, initial, 0)
        total = start
        for count in range(pads.size):
            put(pads, count, total)
            total = combine(element, monoid, total, start)

    return fold


@functools.cache
def in_order(element: str, monoid: str, reverse: bool) -> Kernel:
    """Combines what is folded so far with what follows in the scan: in a reverse scan, with what lies before
    it in the operand."""
    if reverse:

        @kernel(inline=True)
        def backward(folded: Any, value: Any) -> Any:
            return combine(element, monoid, value, folded)

        return backward

    @kernel(inline=True)
    def forward(folded: Any, value: Any) -> Any:
        return combine(element, monoid, folded, value)

    return forward


@intrinsic(prefer_literal=True)
def fold_blocks(
    typing_context: Any, element: Any, monoid: Any, reverse: Any, scans: Any, together: Any, operand: Any,
    first: Any, target: Any, to: Any,
) -> Any:  # fmt: skip
    """So many blocks together, each folded by itself: to keep several sums at a time hides the latency.

    Value i lies at `first + i`, or at `first - i` in reverse. A scan writes what each block is folded to up
    to there to `target[to + i]`; otherwise only the totals of the blocks are written.
    """
    kind = Combination(literal(element), literal(monoid))
    computed, step = computing_dtype(kind.element).name, -1 if literal(reverse) else 1
    blocks = [block * SCAN_BLOCK for block in range(int(literal(together)))]
    is_scan = literal(scans)

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        begin, target_begin = arguments[6], arguments[8]
        data = data_of(context, builder, operand, arguments[5], kind.element)
        target_data = data_of(context, builder, target, arguments[7], computed)

        def item(place: Any, block: int) -> Any:
            distance = builder.mul(builder.add(place, I64(block)), I64(step))
            return load_lanes(builder, kind.element, data, builder.add(begin, distance), 1)

        def write(value: Any, place: Any) -> None:
            store_lanes(builder, computed, target_data, builder.add(target_begin, place), value, 1)

        sums = []
        for block in blocks:
            value = item(I64(0), block)
            sums.append([cgutils.alloca_once_value(builder, part) for part in value])
            if is_scan:
                write(value, I64(block))
        others = cgutils.for_range_slice(builder, I64(1), I64(SCAN_BLOCK), I64(1), intp=I64, inc=True)
        with others as (place, _):
            for block, slots in zip(blocks, sums, strict=True):
                pair = [tuple(builder.load(slot) for slot in slots), item(place, block)]
                total = apply(builder, kind, *pair[::step])
                for slot, part in zip(slots, total, strict=True):
                    builder.store(part, slot)
                if is_scan:
                    write(total, builder.add(place, I64(block)))
        for number, slots in enumerate(() if is_scan else sums):
            write(tuple(builder.load(slot) for slot in slots), I64(number))
        return context.get_dummy_value()

    names = (element, monoid, reverse, scans, together)
    return types.void(*names, operand, types.intp, target, types.intp), generate


@functools.cache
def local_scan(element: str, monoid: str, reverse: bool) -> Kernel:
    """Scan each block of `count` values by itself, into `local[to:]`.

    Value i lies at `first + i`, or at `first - i` for a reverse scan.
    """
    joined = in_order(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel
    def scan(operand: Any, first: int, count: int, local: Any, to: int) -> None:
        done = 0
        while done + MANY * SCAN_BLOCK <= count:
            base = first + step * done
            fold_blocks(element, monoid, reverse, True, MANY, operand, base, local, to + done)
            done += MANY * SCAN_BLOCK
        while done + FEW * SCAN_BLOCK <= count:
            base = first + step * done
            fold_blocks(element, monoid, reverse, True, FEW, operand, base, local, to + done)
            done += FEW * SCAN_BLOCK
        while done < count:
            total = load(element, operand, first + step * done)
            put(local, to + done, total)
            for place in range(done + 1, min(done + SCAN_BLOCK, count)):
                total = joined(total, load(element, operand, first + step * place))
                put(local, to + place, total)
            done += SCAN_BLOCK

    return scan


@functools.cache
def totals(element: str, monoid: str, reverse: bool) -> Kernel:
    """The total of each block of each row."""
    joined = in_order(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(task: int, size: int, outer: int, length: int, operand: Any, totals: Any) -> None:
        segments, blocks = (
            (length + SCAN_SEGMENT - 1) // SCAN_SEGMENT,
            (length + SCAN_BLOCK - 1) // SCAN_BLOCK,
        )
        for unit in range(task * size, min((task + 1) * size, outer * segments)):
            row = unit // segments
            start = (unit - row * segments) * SCAN_SEGMENT
            first = row * length + (length - 1 - start if reverse else start)
            whole = min(SCAN_SEGMENT, length - start) // SCAN_BLOCK
            to, block = row * blocks + start // SCAN_BLOCK, 0
            while block + MANY <= whole:
                base = first + step * block * SCAN_BLOCK
                fold_blocks(element, monoid, reverse, False, MANY, operand, base, totals, to + block)
                block += MANY
            for single in range(block, whole):
                base = first + step * single * SCAN_BLOCK
                total = load(element, operand, base)
                for place in range(1, SCAN_BLOCK):
                    total = joined(total, load(element, operand, base + step * place))
                put(totals, to + single, total)

    return body


@functools.cache
def carries(element: str, monoid: str, reverse: bool) -> Kernel:
    """What each segment of a row but the first starts from: the totals of all blocks before it."""
    joined = in_order(element, monoid, reverse)

    @kernel
    def fold(outer: int, blocks: int, totals: Any, carries: Any) -> None:
        in_segment = SCAN_SEGMENT // SCAN_BLOCK
        segments = (blocks + in_segment - 1) // in_segment
        for row in range(outer):
            carry = get(totals, row * blocks)
            for block in range(1, blocks):
                if block % in_segment == 0:
                    put(carries, row * segments + block // in_segment, carry)
                carry = joined(carry, get(totals, row * blocks + block))

    return fold


@functools.cache
def rows(element: str, monoid: str, reverse: bool) -> Kernel:
    """The results of all segments of all rows."""
    scan, joined = local_scan(element, monoid, reverse), in_order(element, monoid, reverse)
    step = -1 if reverse else 1

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        length: int,
        operand: Any,
        pads: Any,
        carries: Any,
        local: Any,
        result: Any,
    ) -> None:
        segments = (length + SCAN_SEGMENT - 1) // SCAN_SEGMENT
        own = task * SCAN_SEGMENT
        same = pads.size == 1
        for unit in range(task * size, min((task + 1) * size, outer * segments)):
            row = unit // segments
            start = (unit - row * segments) * SCAN_SEGMENT
            count = min(SCAN_SEGMENT, length - start)
            first = row * length + (length - 1 - start if reverse else start)
            scan(operand, first, count, local, own)
            carry = get(carries, unit) if start else get(pads, 0)
            for block in range(0, count, SCAN_BLOCK):
                carried = start + block > 0
                prefix = joined(get(pads, 0), carry) if carried else get(pads, 0)
                for place in range(block, min(block + SCAN_BLOCK, count)):
                    if not same:
                        prefix = get(pads, length - 1 - start - place)
                        prefix = joined(prefix, carry) if carried else prefix
                    value = joined(prefix, get(local, own + place))
                    store(element, result, first + step * place, value)
                total = get(local, own + min(block + SCAN_BLOCK, count) - 1)
                carry = joined(carry, total) if carried else total

    return body


@functools.cache
def columns(element: str, monoid: str, reverse: bool) -> Kernel:
    """The results of all columns of operands [outer, length, inner]."""
    joined = in_order(element, monoid, reverse)

    @kernel(parallel=True)
    def body(
        task: int,
        size: int,
        outer: int,
        length: int,
        inner: int,
        operand: Any,
        pads: Any,
        local: Any,
        carry: Any,
        result: Any,
    ) -> None:
        chunks = (inner + SCAN_CHUNK - 1) // SCAN_CHUNK
        own = task * min(inner, SCAN_CHUNK)
        for unit in range(task * size, min((task + 1) * size, outer * chunks)):
            group = unit // chunks
            column = (unit - group * chunks) * SCAN_CHUNK
            width = min(SCAN_CHUNK, inner - column)
            for place in range(length):
                row = length - 1 - place if reverse else place
                at = (group * length + row) * inner + column
                pad = get(pads, 0 if pads.size == 1 else length - 1 - place)
                if place % SCAN_BLOCK == 0:
                    for position in range(width):
                        total = get(local, own + position)
                        if place > SCAN_BLOCK:
                            total = joined(get(carry, own + position), total)
                        put(carry, own + position, total)
                        put(local, own + position, load(element, operand, at + position))
                else:
                    for position in range(width):
                        value = load(element, operand, at + position)
                        put(local, own + position, joined(get(local, own + position), value))
                for position in range(width):
                    prefix = joined(pad, get(carry, own + position)) if place >= SCAN_BLOCK else pad
                    store(
                        element,
                        result,
                        at + position,
                        joined(prefix, get(local, own + position)),
                    )

    return body
