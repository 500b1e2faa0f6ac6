"""Programs of every conversion and operation, run in every mode, and their results beside the exact ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.types import ELEMENT_TYPES

from . import operations
from .formats import BOOLEAN, FLOATS, FORMATS, INTEGERS, FloatFormat, IntegerFormat, Number, numbers

Array = np.ndarray[Any, Any]
Codes = Sequence[int]

MODES = {"references": Options(compile="never"), "compiled": Options(compile="eager", threads=1)}


@dataclass
class Line:
    """An operation of a program, and what it must give.

    Attributes:
        name: the operation's name and what tells it from others.
        text: the operation, its operands ``%a`` and ``%b``, or what `before` defines.
        result: the result's format.
        expected: the results' codes; None if any NaN is right.
        before: an operation before that one.
    """

    name: str
    text: str
    result: FloatFormat | IntegerFormat
    expected: list[int | None]
    before: str = ""


def array_of(name: str, codes: Codes) -> Array:
    """An array of an element type from codes."""
    dtype = ELEMENT_TYPES[name].dtype
    if name == "i1":
        return np.array(codes, np.uint8).astype(np.bool_)
    if ELEMENT_TYPES[name].width < 8 and name in INTEGERS:
        return np.array([FORMATS[name].decode(code) for code in codes], np.int8).astype(dtype)
    return np.array(codes, f"u{dtype.itemsize}").view(dtype)


def codes_of(name: str, array: Array) -> list[int]:
    """The codes of an array's elements."""
    bits: list[int] = np.ascontiguousarray(array).view(f"u{array.dtype.itemsize}").tolist()
    mask = (1 << FORMATS[name].width) - 1
    return [code & mask for code in bits]


def differences(operands: Sequence[tuple[str, Codes]], lines: Sequence[Line]) -> list[str]:
    """Where results differ from the expected ones, in words; one line for each operation and mode."""
    count = len(operands[0][1])
    names = [f"%{letter}" for letter, _ in zip("ab", operands, strict=False)]
    types = [f"tensor<{count}x{name}>" for name, _ in operands]
    results = ", ".join(f"tensor<{count}x{line.result.name}>" for line in lines)
    arguments = ", ".join(f"{name}: {type}" for name, type in zip(names, types, strict=True))
    body = "".join(f"  {line.before}\n  %r{index} = {line.text}\n" for index, line in enumerate(lines))
    returned = ", ".join(f"%r{index}" for index in range(len(lines)))
    text = f"func.func @main({arguments}) -> ({results}) {{\n{body}  return {returned} : {results}\n}}"
    inputs = [array_of(name, codes) for name, codes in operands]
    module = nimblehlo.load(text)
    found = []
    for mode, options in MODES.items():
        for line, array in zip(lines, nimblehlo.execute(module, inputs, options=options), strict=True):
            got = codes_of(line.result.name, array)
            wrong = [k for k in range(count) if not _agree(line.result, got[k], line.expected[k])]
            if wrong:
                first = wrong[0]
                given = ", ".join(f"{FORMATS[name].decode(codes[first])}" for name, codes in operands)
                wanted = line.expected[first]
                found.append(
                    f"{line.name} ({mode}): {len(wrong)} of {count} differ; of {given}: {got[first]:#x}, not "
                    f"{'NaN' if wanted is None else hex(wanted)}"
                )
    return found


def _agree(format: FloatFormat | IntegerFormat, got: int, wanted: int | None) -> bool:
    if got == wanted:
        return True
    if not isinstance(format, FloatFormat):
        return False
    number = format.decode(got)
    return number != number and (wanted is None or format.decode(wanted) != format.decode(wanted))


def conversions(source: str, codes: Codes) -> list[Line]:
    """A conversion to every other type."""
    type = f"tensor<{len(codes)}x{source}>"
    return [
        Line(
            f"convert {source} to {target}",
            f"stablehlo.convert %a : ({type}) -> tensor<{len(codes)}x{target}>",
            format,
            [operations.converted(FORMATS[source], format, code) for code in codes],
        )
        for target, format in FORMATS.items()
        if target != source
    ]


def unary_operations(name: str, codes: Codes) -> list[Line]:
    """The operations on one operand."""
    format, type = FORMATS[name], f"tensor<{len(codes)}x{name}>"
    lines = []
    for kind, expected in _unary(format, codes):
        lines.append(Line(f"{kind} of {name}", f"stablehlo.{kind} %a : {type}", format, expected))
    if isinstance(format, FloatFormat):
        finite: list[int | None] = [int(abs(number) < float("inf")) for number in map(format.decode, codes)]
        signature = f"({type}) -> tensor<{len(codes)}xi1>"
        lines.append(Line(f"is_finite of {name}", f"stablehlo.is_finite %a : {signature}", BOOLEAN, finite))
    return lines


def _unary(format: FloatFormat | IntegerFormat, codes: Codes) -> Iterator[tuple[str, list[int | None]]]:
    if isinstance(format, FloatFormat):
        for kind, on_numbers in operations.FLOAT_UNARY.items():
            yield kind, [format.encode(on_numbers(format.decode(code))) for code in codes]
        return
    for kind, on_integers in operations.INTEGER_UNARY.items():
        if format.signed or kind not in ("abs", "sign"):
            yield kind, [format.encode(on_integers(format, format.decode(code))) for code in codes]


def binary_operations(name: str, lhs: Codes, rhs: Codes) -> list[Line]:
    """The operations on two operands, comparisons and `next_after` among them."""
    format, type = FORMATS[name], f"tensor<{len(lhs)}x{name}>"
    decoded = numbers(name) if format.width <= 8 else None
    read: Callable[[int], Any] = decoded.__getitem__ if decoded is not None else format.decode
    pairs = [(read(a), read(b)) for a, b in zip(lhs, rhs, strict=True)]
    lines = []
    if isinstance(format, FloatFormat):
        for kind, on_numbers in operations.FLOAT_BINARY.items():
            expected: list[int | None] = [_rounded(format, on_numbers(a, b)) for a, b in pairs]
            lines.append(Line(f"{kind} of {name}", f"stablehlo.{kind} %a, %b : {type}", format, expected))
        neighbours = [operations.next_after(format, a, b) for a, b in zip(lhs, rhs, strict=True)]
        text = f"chlo.next_after %a, %b : {type}, {type} -> {type}"
        lines.append(Line(f"next_after of {name}", text, format, neighbours))
    else:
        for kind, on_integers in operations.INTEGER_BINARY.items():
            expected = [format.encode(on_integers(format, a, b)) for a, b in pairs]
            lines.append(Line(f"{kind} of {name}", f"stablehlo.{kind} %a, %b : {type}", format, expected))
    return lines + _comparisons(format, type, lhs, rhs, pairs)


def _rounded(format: FloatFormat, exact: Number) -> int:
    """The code of a result."""
    if format.kind == "scale":
        # A product or quotient that is a zero in f32 counts as zero, of which there is none.
        exact = FLOATS["f32"].decode(FLOATS["f32"].encode(exact))
    return format.encode(exact)


def _comparisons(
    format: FloatFormat | IntegerFormat, type: str, lhs: Codes, rhs: Codes, pairs: Sequence[tuple[Any, Any]]
) -> list[Line]:
    kinds: dict[str, Sequence[tuple[Any, Any]]]
    if isinstance(format, FloatFormat):
        keys = {code: operations.total_order_key(format, code) for code in {*lhs, *rhs}}
        kinds = {"FLOAT": pairs, "TOTALORDER": [(keys[a], keys[b]) for a, b in zip(lhs, rhs, strict=True)]}
    else:
        kinds = {"SIGNED" if format.signed else "UNSIGNED": pairs}
    signature = f"({type}, {type}) -> {type.rpartition('x')[0]}xi1>"
    return [
        Line(
            f"compare {direction}, {kind} of {format.name}",
            f"stablehlo.compare {direction}, %a, %b, {kind} : {signature}",
            BOOLEAN,
            [int(holds(a, b)) for a, b in values],
        )
        for kind, values in kinds.items()
        for direction, holds in operations.DIRECTIONS.items()
    ]


def quantizations(name: str, codes: Codes) -> list[Line]:
    """Quantizations of floats, their stored values read as integers."""
    source, count = FLOATS[name], len(codes)
    lines = []
    for index, (storage, low, high, scale, zero_point) in enumerate(_QUANTIZED):
        stored = INTEGERS[storage]
        quantized = f"tensor<{count}x{_quantized_type(name, storage, low, high, scale, zero_point)}>"
        expected: list[int | None] = [
            stored.encode(operations.quantized(source, source.decode(code), low, high, scale, zero_point))
            for code in codes
        ]
        before = f"%q{index} = stablehlo.uniform_quantize %a : (tensor<{count}x{name}>) -> {quantized}"
        text = f"stablehlo.bitcast_convert %q{index} : ({quantized}) -> tensor<{count}x{storage}>"
        lines.append(Line(f"quantize {name} to {quantized}", text, stored, expected, before))
    return lines


def dequantizations(storage: str, codes: Codes) -> list[Line]:
    """Dequantizations of stored values, which come as integers."""
    stored, count = INTEGERS[storage], len(codes)
    lines = []
    for expressed in _EXPRESSED:
        for kind, low, high, scale, zero_point in _QUANTIZED:
            if kind != storage:
                continue
            quantized = f"tensor<{count}x{_quantized_type(expressed, storage, low, high, scale, zero_point)}>"
            format, index = FLOATS[expressed], len(lines)
            expected: list[int | None] = [
                format.encode(operations.dequantized(format, stored.decode(code), scale, zero_point))
                for code in codes
            ]
            before = f"%q{index} = stablehlo.bitcast_convert %a : (tensor<{count}x{storage}>) -> {quantized}"
            text = f"stablehlo.uniform_dequantize %q{index} : ({quantized}) -> tensor<{count}x{expressed}>"
            lines.append(Line(f"dequantize {quantized}", text, format, expected, before))
    return lines


_EXPRESSED = ("f16", "bf16", "f32", "f64")
_QUANTIZED = (
    ("i8", -128, 127, 0.5, 0),
    ("i8", -127, 127, 0.0375, 5),
    ("i8", -128, 127, 3.0, -128),
    ("ui8", 0, 255, 0.1, 128),
    ("i4", -8, 7, 0.7, 1),
    ("ui4", 0, 15, 2.0, 15),
    ("i16", -32768, 32767, 0.01, -7),
    ("ui16", 0, 65535, 0.25, 1000),
    ("i32", -(2**31), 2**31 - 1, 0.001, 0),
)
"""Storage, its least and greatest value, scale and zero point."""


def _quantized_type(expressed: str, storage: str, low: int, high: int, scale: float, zero_point: int) -> str:
    kind = storage.replace("ui", "u")
    return f"!quant.uniform<{kind}<{low}:{high}>:{expressed}, {scale}:{zero_point}>"


def all_codes(name: str) -> range:
    """Every code of a type of at most 16 bits."""
    return range(1 << FORMATS[name].width)


def edge_codes(name: str, count: int = 200, seed: int = 0) -> list[int]:
    """Codes of a wide type: about powers of two, at limits and ties of narrower types, and random ones."""
    format = FORMATS[name]
    generator = np.random.default_rng(seed)
    random = [int(bits) for bits in generator.integers(0, 1 << 63, count, np.uint64) * 2]
    codes = {bits >> (64 - format.width) for bits in random}
    if isinstance(format, FloatFormat):
        codes |= set(_near_ties(format))
    else:
        powers = [1 << bit for bit in range(format.width)]
        codes |= {format.encode(p + d) for p in powers for d in (-1, 0, 1)}
        codes |= {format.encode(p + (p >> k) + d) for p in powers for k in range(1, 12) for d in (-1, 0, 1)}
        codes |= {format.encode(-format.decode(code)) for code in codes}
    return sorted(codes)


def few_codes(name: str, count: int, seed: int = 0) -> list[int]:
    """Some of `edge_codes`, with those of specials, extremes and ones."""
    format = FORMATS[name]
    ones = (1 << format.width) - 1
    codes = {0, 1, 2, ones, ones - 1, ones >> 1, (ones >> 1) + 1, (ones >> 1) + 2}
    if isinstance(format, FloatFormat):
        sizes = {format.greatest, format.greatest + 1, format.bias << format.mantissa_bits}
        codes |= sizes | {size | format.sign_bit for size in sizes}
    pool = edge_codes(name, count, seed)
    chosen = np.random.default_rng(seed).choice(len(pool), min(count, len(pool)), replace=False)
    return sorted(codes | {pool[index] for index in chosen})


def _near_ties(format: FloatFormat) -> Iterator[int]:
    """Codes that lie halfway between numbers of narrower formats, and beside these."""
    for narrow in FLOATS.values():
        if narrow.mantissa_bits >= format.mantissa_bits or narrow.width > 16:
            continue
        step = 1 << (format.mantissa_bits - narrow.mantissa_bits - 1)
        for exponent in range(0, 1 << format.exponent_bits, 1 if format.width == 32 else 3):
            base = exponent << format.mantissa_bits
            for digits in (0, 1, 2, 3, (2 << narrow.mantissa_bits) - 1):
                for nudge in (-1, 0, 1):
                    code = base + digits * step + nudge
                    if 0 <= code < format.sign_bit:
                        yield code
                        yield code | format.sign_bit


def every_comparison() -> Iterator[tuple[list[tuple[str, Codes]], list[Line]]]:
    """Operands and what is computed of them.

    Conversions and unary operations are on all codes of types of at most 16 bits, binary operations on all
    pairs of codes of at most 8 bits; else on edge values.
    """
    for name, format in FORMATS.items():
        codes: Codes = all_codes(name) if format.width <= 16 else edge_codes(name, 3000)
        yield [(name, codes)], conversions(name, codes)
        if name == "i1":
            continue
        yield [(name, codes)], unary_operations(name, codes)
        if name in _EXPRESSED:
            yield [(name, codes)], quantizations(name, codes)
        elif name in {storage for storage, *_ in _QUANTIZED}:
            yield [(name, codes)], dequantizations(name, codes)
        lhs, rhs = paired(all_codes(name) if format.width <= 8 else few_codes(name, 200))
        yield [(name, lhs), (name, rhs)], binary_operations(name, lhs, rhs)


def paired(codes: Codes) -> tuple[list[int], list[int]]:
    """All pairs of codes, as two lists."""
    return [a for a in codes for _ in codes], [b for _ in codes for b in codes]
