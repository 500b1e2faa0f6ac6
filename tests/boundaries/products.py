"""Products of matrices over a grid of sizes, element types, contracting positions and layouts.

One program has all sizes of an element type and a layout, so that little time goes into loading. Results are
held to exact integers, and floats to what rounding may do to sums in the precision in which they are made.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, ElementType

Array = np.ndarray[Any, Any]

SIZES = (0, 1, 2, 3, 4, 7, 8, 16, 31, 48, 64, 129)
BATCHES = (0, 1, 3)
LAYOUTS = ("plain", "transposed", "sliced", "reversed", "broadcast")
"""How operands come: as they are, or by an operation of the program, whose result may be a view."""
MIXED = {"i8": "i32", "ui8": "i32", "i4": "i32", "bf16": "f32", "f16": "f32"}
"""Results of another type than the operands', tried beside results of the same."""
MODES = {"never": Options(compile="never"), "eager": Options(compile="eager")}


class Setting(NamedTuple):
    """What the products of one program have in common.

    Attributes:
        operand, result: names of element types.
        lhs_position, rhs_position: which dimension is contracted, counted after the batching one.
        batch: the batching size, None if there is no batching dimension.
        layouts: those of lhs and of rhs.
    """

    operand: str
    result: str
    lhs_position: int
    rhs_position: int
    batch: int | None
    layouts: tuple[str, str]

    def shape(self, side: int, outer: int, inner: int) -> tuple[int, ...]:
        """An operand's shape; `outer`: of rows or of columns, `inner`: of what is contracted."""
        position = (self.lhs_position, self.rhs_position)[side]
        matrix = (inner, outer) if position == 0 else (outer, inner)
        return matrix if self.batch is None else (self.batch, *matrix)


def element_types() -> list[str]:
    """The element types that products have."""
    return list(ELEMENT_TYPES)


def settings(layouts: Sequence[tuple[str, str]], types: Sequence[str] | None = None) -> Iterator[Setting]:
    """Every setting of these layouts."""
    for operand in element_types() if types is None else types:
        results = [operand, MIXED[operand]] if operand in MIXED else [operand]
        for result, batch, both in itertools.product(results, (None, *BATCHES), layouts):
            for lhs_position, rhs_position in itertools.product((0, 1), (0, 1)):
                yield Setting(operand, result, lhs_position, rhs_position, batch, both)


def values(generator: np.random.Generator, name: str, shape: Sequence[int]) -> Array:
    """Numbers of an element type, of which sums neither overflow nor vanish; integers also from its ends."""
    type = ELEMENT_TYPES[name]
    if type.category == BOOLEAN:
        return generator.random(shape) < 0.3
    if type.category == COMPLEX:
        numbers = generator.standard_normal((2, *shape))
        return (numbers[0] + 1j * numbers[1]).astype(type.dtype)
    if type.category == FLOAT:
        return generator.choice(np.array([-1.5, -1, -0.5, 0.25, 0.5, 1, 1, 2]), shape).astype(type.dtype) if (
            type.width < 16
        ) else generator.standard_normal(shape).astype(type.dtype)  # fmt: skip
    low, high = _ends(type)
    return generator.integers(low, high, shape, dtype=np.int64 if low else np.uint64, endpoint=True).astype(
        type.dtype
    )


def _ends(type: ElementType) -> tuple[int, int]:
    width = type.width
    return (0, (1 << width) - 1) if type.name.startswith("ui") else (-(1 << width - 1), (1 << width - 1) - 1)


def laid_out(layout: str, shape: Sequence[int]) -> tuple[tuple[int, ...], str]:
    """The shape of what an operand is made from, and the operation that makes it, with %X, TYPE and FROM."""
    rank, last = len(shape), len(shape) - 1
    if layout == "transposed":
        order = [*range(rank - 2), last, last - 1]
        source = tuple(shape[d] for d in order)
        return source, f"stablehlo.transpose %X, dims = {order} : (FROM) -> TYPE"
    if layout == "sliced":
        source = tuple([2 * size + 3 for size in shape])
        ranges = ", ".join(f"1:{1 + 2 * size}:2" for size in shape)
        return source, f"stablehlo.slice %X [{ranges}] : (FROM) -> TYPE"
    if layout == "reversed":
        return tuple(shape), f"stablehlo.reverse %X, dims = {list(range(rank))} : TYPE"
    if layout == "broadcast":
        source = tuple(shape[last:])
        return source, f"stablehlo.broadcast_in_dim %X, dims = [{last}] : (FROM) -> TYPE"
    return tuple(shape), ""


class Products(NamedTuple):
    """A program of products and its inputs.

    Attributes:
        text: the program.
        inputs: its arguments.
        operands: for each result the two operands, as numbers of arrays of `arrays`.
        arrays: the operands as NumPy makes them from the inputs.
    """

    text: str
    inputs: list[Array]
    operands: list[tuple[int, int]]
    arrays: list[Array]


def products(setting: Setting, sizes: Sequence[tuple[int, int, int]], seed: int = 0) -> Products:
    """A program of all products of these rows, terms and columns."""
    generator = np.random.default_rng(seed)
    given: dict[tuple[int, int, int], int] = {}
    arguments: list[str] = []
    lines: list[str] = []
    inputs: list[Array] = []
    arrays: list[Array] = []
    names: list[str] = []

    def operand(side: int, outer: int, inner: int) -> int:
        known = given.setdefault((side, outer, inner), len(arrays))
        if known < len(arrays):
            return known
        shape = setting.shape(side, outer, inner)
        source, operation = laid_out(setting.layouts[side], shape)
        array = values(generator, setting.operand, source)
        inputs.append(array)
        arguments.append(f"%a{known}: {tensor(source, setting.operand)}")
        names.append(f"%a{known}")
        if operation:
            operation = operation.replace("%X", f"%a{known}").replace("FROM", tensor(source, setting.operand))
            lines.append(f"%o{known} = {operation.replace('TYPE', tensor(shape, setting.operand))}")
            names[-1] = f"%o{known}"
        arrays.append(viewed(setting.layouts[side], array, shape))
        return known

    pairs, results = [], []
    for rows, terms, columns in sizes:
        left, right = operand(0, rows, terms), operand(1, columns, terms)
        pairs.append((left, right))
        first = [] if setting.batch is None else [setting.batch]
        result = tensor([*first, rows, columns], setting.result)
        shift = len(first)
        batching = "batching_dims = [0] x [0], " if first else ""
        types = [tensor(arrays[side].shape, setting.operand) for side in (left, right)]
        lines.append(
            f"%r{len(results)} = stablehlo.dot_general {names[left]}, {names[right]}, {batching}"
            f"contracting_dims = [{setting.lhs_position + shift}] x [{setting.rhs_position + shift}] "
            f": ({', '.join(types)}) -> {result}"
        )
        results.append(result)
    returned = ", ".join(f"%r{number}" for number in range(len(results)))
    body = "\n  ".join([*lines, f"return {returned} : {', '.join(results)}"])
    text = f"func.func @main({', '.join(arguments)}) -> ({', '.join(results)}) {{\n  {body}\n}}\n"
    return Products(text, inputs, pairs, arrays)


def tensor(shape: Sequence[int], element_type: str) -> str:
    """A tensor type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element_type}>"


def viewed(layout: str, array: Array, shape: Sequence[int]) -> Array:
    """What NumPy makes of an input."""
    if layout == "transposed":
        return array.swapaxes(-1, -2)
    if layout == "sliced":
        return array[tuple(slice(1, 1 + 2 * size, 2) for size in shape)]
    if layout == "reversed":
        return array[(slice(None, None, -1),) * array.ndim]
    return np.broadcast_to(array, shape)


def differs(setting: Setting, lhs: Array, rhs: Array, got: Array) -> str | None:
    """Why a product is not right, None if it is."""
    left = lhs.swapaxes(-1, -2) if setting.lhs_position == 0 else lhs
    right = rhs if setting.rhs_position == 0 else rhs.swapaxes(-1, -2)
    type = ELEMENT_TYPES[setting.result]
    if got.dtype != type.dtype:
        return f"is of {got.dtype}"
    if type.category == BOOLEAN:
        wanted = np.matmul(left.astype(np.int64), right.astype(np.int64)) > 0
        return _first(got, wanted, got != wanted)
    if type.category not in (FLOAT, COMPLEX):
        carrier = np.int64 if setting.operand[0] == "i" else np.uint64
        wanted = _narrowed(np.matmul(left.astype(carrier), right.astype(carrier)), type)
        return _first(got, wanted, got.astype(np.int64) != wanted.astype(np.int64))
    return _float_differs(setting, left, right, got)


def _narrowed(exact: Array, type: ElementType) -> Array:
    """Integers modulo two to the width."""
    shift = 64 - type.width
    return exact.astype(np.uint64 if type.name.startswith("ui") else np.int64) << shift >> shift


def _float_differs(setting: Setting, left: Array, right: Array, got: Array) -> str | None:
    type = ELEMENT_TYPES[setting.result]
    is_complex = type.category == COMPLEX
    double = setting.result in ("f64", "complex<f64>")
    wide: Any = (
        (np.clongdouble if is_complex else np.longdouble)
        if double
        else (np.complex128 if is_complex else np.float64)
    )
    left, right = left.astype(wide), right.astype(wide)
    wanted, total = np.matmul(left, right), np.matmul(np.abs(left), np.abs(right)).astype(float)
    terms = left.shape[-1]
    error = (
        total * (terms + 2) * np.finfo(np.float64 if double else np.float32).eps * (2 if is_complex else 1)
    )
    if not np.isfinite(got.astype(wide)).all() and is_complex:
        return "is not finite"
    for name, part, exact in ((("real", got.real, wanted.real), ("imag", got.imag, wanted.imag)) if is_complex
                              else (("", got, wanted),)):  # fmt: skip
        low, high = ((exact + sign * error).astype(part.dtype).astype(wanted.real.dtype) for sign in (-1, 1))
        value = part.astype(wanted.real.dtype)
        wrong = ~((low <= value) & (value <= high)) & ~(np.isnan(value) & (np.isnan(low) | np.isnan(high)))
        reason = _first(value, exact, wrong)
        if reason is not None:
            return f"{name} {reason}"
    return None


def _first(got: Array, wanted: Array, wrong: Array) -> str | None:
    if not wrong.any():
        return None
    place = tuple(int(index) for index in np.argwhere(wrong)[0])
    return f"{int(wrong.sum())} of {wrong.size} elements differ; at {place} {got[place]}, not {wanted[place]}"


def failures(
    setting: Setting,
    sizes: Sequence[tuple[int, int, int]],
    seed: int = 0,
    modes: Sequence[str] = tuple(MODES),
) -> list[str]:
    """What is wrong with the products of these sizes, and where ways of running differ."""
    program = products(setting, sizes, seed)
    module = nimblehlo.load(program.text)
    found: list[str] = []
    first: list[Array] = []
    for mode in modes:
        results = nimblehlo.execute(module, program.inputs, options=MODES[mode])
        for number, (size, pair, got) in enumerate(zip(sizes, program.operands, results, strict=True)):
            if first:
                reason = None if first[number].tobytes() == got.tobytes() else f"differs from {modes[0]}"
            else:
                reason = differs(setting, program.arrays[pair[0]], program.arrays[pair[1]], got)
            if reason is not None:
                found.append(f"{setting}, rows, terms, columns {size}, {mode}: {reason}")
        first = first or results
    return found


def grid(sizes: Sequence[int] = SIZES) -> list[tuple[int, int, int]]:
    """All rows, terms and columns of these sizes."""
    return list(itertools.product(sizes, sizes, sizes))
