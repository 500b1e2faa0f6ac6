"""How far a result may be from the reference interpreter's, operation by operation.

Bits must be the same, those of NaNs aside, except for what the specification leaves open:

- the accuracy of functions that are not exactly rounded (`error_bounds.function_accuracy`); for complex
  numbers any value where a part is not finite;
- the order in which floats are summed or multiplied: at most the errors of any order, in the accumulator's
  precision, and one rounding; any value where a partial result may overflow;
- infinities and NaNs in the types that have neither (f4E2M1FN, f6E2M3FN, f6E3M2FN): the greatest values or a
  zero stand for them;
- `next_after` of f8E8M0FNU, the top bit of whose codes the interpreter takes for a sign: next powers of two;
  and of the FNUZ types, whose NaN it takes for the -0 that follows the greatest negative number: 0;
- zeros, negative numbers and NaNs in f8E8M0FNU, which has no zero and no sign: LLVM's numbers, on which the
  interpreter rests, give some value, ml_dtypes NaN; and sums of such numbers, each step of which the
  interpreter rounds to a power of two;
- `reduce_precision` of types without infinities, whose bits the interpreter reads as if they were IEEE-754's;
- `sort` by LT or GT where there are NaNs, or numbers of f8E8M0FNU are negated, which is no weak order: any
  permutation; and the place in TOTALORDER of the one NaN of types without negative zero.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.error_bounds.function_accuracy import function_error
from nimblehlo.checks.error_bounds.ulps import ulp
from nimblehlo.program.ir import Block, Builder, Function, Module, Operation, Region
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.elementwise.base import Elementwise
from nimblehlo.program.ops.framework.accuracy import Accuracy
from nimblehlo.program.ops.framework.declaration import declaration_of
from nimblehlo.types import COMPLEX, FLOAT, FunctionType, element_type_of

from .equivalents import CONTRACTIONS, FOLDS, attribute, in_f64, real, widened

Array = np.ndarray[Any, Any]

FINITE_ONLY = frozenset({"float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn"})
_SCALES = "float8_e8m0fnu"

BRANCH_CUTS: dict[str, Callable[[Array], Array]] = {
    "chlo.acos": lambda real: np.abs(real) > 1,
    "chlo.acosh": lambda real: real < 1,
    "chlo.asin": lambda real: np.abs(real) > 1,
    "stablehlo.log_plus_one": lambda real: real < -1,
}
"""Which real numbers are on a cut, below which the interpreter gives what is above: it adds 1 + 0i, and the
pass asks for an imaginary part less than zero, which -0 is not."""


def difference(
    operation: Operation,
    operands: Sequence[Array | None],
    wanted: Sequence[Array],
    got: Sequence[Array],
) -> str | None:
    """Why results of an operation differ more than they may, or None."""
    for index, (want, have) in enumerate(zip(wanted, got, strict=True)):
        if have.shape != want.shape or have.dtype != want.dtype:
            return f"result {index} is {have.dtype}{have.shape}, not {want.dtype}{want.shape}"
        right = agreeing(have, want)
        if not right.all():
            with np.errstate(all="ignore"):
                right = right | _allowed(operation, operands, index, want, have)
        if not right.all():
            return f"result {index}: {first_difference(want, have, operands, right)}"
    return None


def _allowed(
    operation: Operation, operands: Sequence[Array | None], index: int, want: Array, got: Array
) -> Array:
    """Where a result may differ as it does."""
    name = operation.name
    arrays = [operand for operand in operands if operand is not None]
    allowed = _missing_values(operation, arrays, want, got)
    category = element_type_of(want.dtype).category
    if name in ("chlo.zeta", "chlo.broadcast_zeta"):
        allowed |= _is_first_term(*np.broadcast_arrays(*arrays), want, got)
        allowed |= _is_integral(*np.broadcast_arrays(*arrays), got)
    if name == "stablehlo.compare" and "fnuz" in arrays[0].dtype.name and _has_type(operation, "TOTALORDER"):
        return allowed | np.isnan(arrays[0]) | np.isnan(arrays[1])
    if name == "stablehlo.map" and _negates_scales(operation):
        return np.ones(want.shape, np.bool_)
    if name == "stablehlo.reduce_precision":
        return allowed | (not np.isinf(np.array(np.inf).astype(want.dtype).astype(np.float64)))
    if name == "stablehlo.sort":
        return allowed | _is_permutation(operation, arrays, index, got)
    if name.endswith("next_after") and want.dtype.name == _SCALES:
        return allowed | _is_next_power(*np.broadcast_arrays(*arrays), got)
    if name.endswith("next_after") and "fnuz" in want.dtype.name:
        return allowed | (np.isnan(want) & (got == 0))
    if category not in (FLOAT, COMPLEX):
        return allowed
    if name in FOLDS or name in CONTRACTIONS:
        return allowed | _within_sums(operation, arrays, index, want, got)
    if name == "stablehlo.fft":
        return allowed | _within_transform(operation, arrays[0], want, got)
    if name == "stablehlo.triangular_solve":
        largest = float(np.abs(want.astype(_wide(want))).max(initial=0))
        return allowed | (_distance(want, got) <= ulp(want) + 64 * _accumulated(want) * largest)
    if issubclass(lookup(name) or object, Elementwise) or name.startswith("chlo.broadcast_"):
        return allowed | _within_accuracy(name, operation, arrays, want, got)
    return allowed


def _is_next_power(x: Array, y: Array, got: Array) -> Array:
    """Whether `got` is the power of two that follows `x` on the way to `y`."""
    start, end = x.astype(np.float64), y.astype(np.float64)
    following: Array = np.where(end > start, 2 * start, np.where(end < start, start / 2, start))
    return got.astype(np.float64) == following


def _is_first_term(x: Array, q: Array, want: Array, got: Array) -> Array:
    """Where zeta is its first term: for great exponents the pass multiplies infinities by zeros."""
    exponent, base = x.astype(np.float64), q.astype(np.float64)
    term = np.power(np.abs(base), -exponent)
    return np.isnan(want) & (exponent > 1e9) & (base > 0) & (got.astype(np.float64) == term)


def _is_integral(x: Array, q: Array, got: Array) -> Array:
    """Where zeta is the integral of its terms, to which their difference adds less than half an ulp.

    The pass adds terms, which are subnormal for large bases.
    """
    exponent, base = x.astype(np.float64), q.astype(np.float64)
    integral = np.power(base, 1 - exponent) / (exponent - 1)
    close = np.abs(got.astype(np.float64) - integral) <= 8 * ulp(got)
    return (exponent > 1) & (base > 2.0**56 * exponent) & close


def _missing_values(operation: Operation, operands: Sequence[Array], want: Array, got: Array) -> Array:
    """Where a value is wanted that the element type lacks."""
    allowed = np.zeros(want.shape, np.bool_)
    if want.dtype.name in FINITE_ONLY:
        extremes = (0.0, float(ml_dtypes.finfo(want.dtype).max))
        allowed |= np.isin(np.abs(got.astype(np.float64)), extremes) & np.isin(
            np.abs(want.astype(np.float64)), extremes
        )
    if want.dtype.name == _SCALES:
        allowed |= np.isnan(want) | np.isnan(got)
        allowed |= operation.name in FOLDS or operation.name in CONTRACTIONS
    for operand in operands:
        if operand.dtype.name in FINITE_ONLY and want.dtype == np.bool_:
            # An infinity of such a type, with which they are compared, is a zero there.
            allowed |= (operand == 0) if operand.shape == want.shape else False
        if operand.dtype.name == _SCALES:
            unclear = np.isnan(operand)
            elementwise = operand.shape == want.shape and not operation.regions
            allowed |= unclear if elementwise else bool(unclear.any())
            # A product within the body may be too small for f32.
            allowed |= np.isnan(got) if operation.name == "stablehlo.map" else False
    return allowed


def _wide(array: Array) -> Any:
    return np.complex128 if array.dtype.kind == "c" else np.float64


def _accumulated(array: Array) -> float:
    """The unit roundoff of sums whose results have the type of `array`."""
    return 2.0**-53 if array.dtype in (np.float64, np.complex128) else 2.0**-24


def _distance(want: Array, got: Array) -> Array:
    """|got - want|; infinite where either is not finite."""
    distance: Array = np.abs(got.astype(_wide(got)) - want.astype(_wide(want)))
    return np.where(np.isfinite(distance), distance, np.inf)


def _within_accuracy(
    name: str, operation: Operation, operands: Sequence[Array], want: Array, got: Array
) -> Array:
    """Elementwise functions."""
    distance, accuracy = _distance(want, got), declaration_of(operation).accuracy or Accuracy()
    if want.dtype.kind == "c" or any(operand.dtype.kind == "c" for operand in operands):
        bound = function_error(accuracy, operands, want, np.dtype(np.float64))
        not_finite = ~np.isfinite(want) | ~np.isfinite(got)
        if name == "stablehlo.cbrt":
            # The interpreter squares both parts, which loses digits where the squares are subnormal.
            not_finite |= np.abs(operands[0].astype(np.complex128)) ** 2 < np.finfo(np.float64).tiny
        if name in BRANCH_CUTS:
            real, imaginary = operands[0].real, operands[0].imag
            is_below = BRANCH_CUTS[name](real) & (imaginary == 0) & np.signbit(imaginary)
            distance = np.where(is_below, _distance(want, got.conj()), distance)
        if name == "chlo.asinh":
            # The sign of a real part of zero tells the side of the cut; the pass drops it.
            real, imaginary = operands[0].real, operands[0].imag
            is_left = (real == 0) & np.signbit(real) & (np.abs(imaginary) > 1)
            distance = np.where(is_left, _distance(want, -got.conj()), distance)
        if name in ("stablehlo.atan2", "chlo.broadcast_atan2"):
            # Where the quotient is rounded to -1, it is lost on which side of the cut the angle lies.
            lhs, rhs = [np.abs(operand.astype(np.complex128)) for operand in np.broadcast_arrays(*operands)]
            turned = want - 2 * np.pi * np.sign(want.real)
            distance = np.where(lhs <= 2.0**-52 * rhs, np.minimum(distance, _distance(turned, got)), distance)
        return not_finite | (distance <= bound)
    is_chlo = name.startswith("chlo.")
    if accuracy.ulps is None and not (is_chlo and widened(operation)):
        return np.zeros(want.shape, np.bool_)
    bound = function_error(accuracy, operands, want, np.dtype(np.float64))
    both_zero = (want == 0) & (got == 0)
    allowed: Array = (distance <= bound) & ~both_zero
    if name == "chlo.lgamma":
        # The pass's reflection loses digits where its argument is subnormal.
        allowed = allowed | (np.abs(operands[0].astype(np.float64)) < np.finfo(np.float64).tiny)
    if "zeta" in name:
        # The pass's series begins after ten terms, too early where q is negative; large terms overflow.
        large = np.finfo(np.float64).max / 16
        inside = (operands[0] >= 1) & (operands[0] < large) & (operands[1] >= 0) & (operands[1] < large)
        allowed = allowed | ~inside
    if name.endswith(("digamma", "polygamma")):
        # At 0 the pass gives NaN before jaxlib 0.12, and -infinity since then.
        allowed = allowed | (np.isnan(want) & np.isneginf(got) & (operands[-1] == 0))
    if "polygamma" in name:
        allowed = allowed | ~((operands[1] >= 0) & np.isfinite(operands[0]) & np.isfinite(operands[1]))
    return allowed


def _within_sums(
    operation: Operation, operands: Sequence[Array], index: int, want: Array, got: Array
) -> Array:
    """Sums and products in any order."""
    magnitudes = [
        np.abs(operand.astype(_wide(operand))) if operand.dtype.kind not in "biu" else operand
        for operand in operands
    ]
    count = _count(operation, operands)
    kind = _folding_operation(operation, index)
    if kind not in ("stablehlo.add", "stablehlo.multiply"):
        return np.zeros(want.shape, np.bool_)
    largest = float(ml_dtypes.finfo(want.real.dtype).max)
    if operation.name == "stablehlo.select_and_scatter":
        # What is not finite is in no finite sum.
        terms = np.append(magnitudes[1], magnitudes[2])
        sums = np.full(want.shape, terms[np.isfinite(terms)].sum())
    else:
        sums = _run_in_f64(operation, magnitudes)[index]
    if kind == "stablehlo.multiply":
        inits = np.repeat(magnitudes[index + len(magnitudes) // 2], _most_inits(operation))
        part = np.append(magnitudes[index], inits)
        finite = part[np.isfinite(part) & (part > 0)]
        if np.abs(np.log2(finite)).sum() > np.log2(largest) - 4:
            return np.ones(want.shape, np.bool_)
        sums = np.abs(want.astype(_wide(want)))
    overflow = ~(sums < largest / 4)
    open_ = overflow & ((~np.isfinite(want) & ~np.isfinite(got)) | np.isfinite(sums))
    roundoff = _accumulated(want)
    if operation.name == "stablehlo.reduce_window" and _is_cumulative(operation, operands[0].shape):
        # A scan rounds each step.
        roundoff = max(roundoff, float(ml_dtypes.finfo(want.real.dtype).eps) / 2)
    bound = ulp(want) + 4 * count * roundoff * sums
    allowed: Array = open_ | (_distance(want, got) <= bound)
    return allowed


def _folding_operation(operation: Operation, index: int) -> str:
    """The operation that gives a result of the body."""
    if operation.name in CONTRACTIONS:
        return "stablehlo.add"
    owner = operation.regions[-1].block.terminator.operands[index].owner
    return owner.name if isinstance(owner, Operation) else ""


def _most_inits(operation: Operation) -> int:
    """How often the init value may be folded into one element: padding consists of it, too."""
    if operation.name != "stablehlo.reduce_window":
        return 1
    return 1 + int(np.prod(attribute(operation, "window_dimensions")))


def _is_cumulative(operation: Operation, shape: Sequence[int]) -> bool:
    """Whether windows along one dimension, all others being of one element, begin or end with the operand."""
    windows = attribute(operation, "window_dimensions")
    sizes = [(size, extent) for size, extent in zip(windows, shape, strict=True) if size != 1]
    return len(sizes) == 1 and sizes[0][0] == sizes[0][1]


def _count(operation: Operation, operands: Sequence[Array]) -> int:
    """Most elements that are folded into one."""
    return max(operand.size for operand in operands) + 1


def _run_in_f64(operation: Operation, operands: Sequence[Array]) -> list[Array]:
    """The results of an operation on magnitudes."""
    arguments = [real(operand.type) for operand in operation.operands]
    block = Block(arguments)
    builder = Builder(block)
    values = dict(zip(operation.operands, block.arguments, strict=True))
    made = in_f64(operation, list(block.arguments), values, builder)
    builder.create("func.return", made.results)
    type = FunctionType(arguments, [result.type for result in made.results])
    module = Module([Function("main", type, Region([block]))])
    inputs = [np.asarray(array, argument.dtype) for array, argument in zip(operands, arguments, strict=True)]
    return nimblehlo.execute(nimblehlo.load(str(module)), inputs, options=Options(compile="never"))


def _within_transform(operation: Operation, operand: Array, want: Array, got: Array) -> Array:
    """Fourier transforms; what is not finite may spread."""
    lengths = attribute(operation, "fft_length")
    count = int(np.prod(lengths))
    axes = tuple(range(-len(lengths), 0))
    sums = np.abs(operand.astype(_wide(operand))).sum(axis=axes, keepdims=True)
    # Sums of inverse transforms may overflow before they are divided by the count.
    overflow = ~(2 * sums < float(ml_dtypes.finfo(want.real.dtype).max) / 4)
    if str(attribute(operation, "fft_type")).startswith("I"):
        sums = 2 * sums / count
    bound = 4 * (1 + np.log2(count)) * _accumulated(want) * 2 * sums
    allowed: Array = (_distance(want, got) <= bound) | overflow
    if not allowed.all():
        # The interpreter's roots are of rounded angles, up to 2 pi count: the definition decides.
        exact = _transform(operation, operand)[..., : want.shape[-1]].astype(_wide(want))
        allowed |= _distance(exact if want.dtype.kind == "c" else exact.real, got) <= bound
    return np.broadcast_to(allowed, want.shape)


def _has_type(operation: Operation, compare_type: str) -> bool:
    return getattr(operation.attributes.get("compare_type"), "value", "") == compare_type


def _negates_scales(operation: Operation) -> bool:
    """Whether a region negates f8E8M0FNU: NaN here, the number itself in the interpreter."""
    inner = [one for region in operation.regions for one in region.walk()]
    return any(one.name == "stablehlo.negate" and "f8E8M0FNU" in str(one.result.type) for one in inner)


def _is_permutation(operation: Operation, inputs: Sequence[Array], index: int, got: Array) -> Array:
    """Whether a sort of an input with NaNs gave its elements in some order."""
    key = inputs[0]
    is_float = element_type_of(key.dtype).category == FLOAT
    total = any(_has_type(inner, "TOTALORDER") for inner in operation.regions[0].block.operations)
    compares_nans = np.isnan(key).any() or _negates_scales(operation) if is_float else False
    if (total and "fnuz" not in key.dtype.name) or not compares_nans:
        return np.zeros(got.shape, np.bool_)
    axis = attribute(operation, "dimension")
    bits = np.dtype(f"V{got.dtype.itemsize}")

    def ordered(array: Array) -> list[list[bytes]]:
        rows = np.moveaxis(np.ascontiguousarray(array), axis, -1).reshape(-1, array.shape[axis])
        return [sorted(bytes(one) for one in np.ascontiguousarray(row).view(bits)) for row in rows]

    return np.full(got.shape, ordered(inputs[index]) == ordered(got))


def tells_nans_apart(operation: Operation) -> bool:
    """Whether a result may hang on which NaN an operand is, which the specification leaves open."""
    if operation.name in ("stablehlo.bitcast_convert", "chlo.top_k"):
        return True
    return any(_has_type(inner, "TOTALORDER") for inner in operation.walk())


def same_but_for_nan(a: Array, b: Array) -> bool:
    """Whether all bits are the same except for those of NaNs."""
    return bool(np.all(agreeing(a, b)))


def agreeing(a: Array, b: Array) -> Array:
    """Where two arrays have the same bits, or both NaN."""
    if a.dtype.kind == "c":
        return agreeing(a.real, b.real) & agreeing(a.imag, b.imag)
    bits = np.dtype(f"u{a.dtype.itemsize}")
    same: Array = np.ascontiguousarray(a).view(bits) == np.ascontiguousarray(b).view(bits)
    same = same.reshape(a.shape)
    if element_type_of(a.dtype).category == FLOAT:
        same = same | (np.isnan(a) & np.isnan(b))
    return same


def first_difference(
    want: Array, got: Array, operands: Sequence[Array | None] = (), right: Array | None = None
) -> str:
    """Where two arrays differ first, with the operands' elements there."""
    if want.shape != got.shape or want.dtype != got.dtype:
        return f"{got.dtype}{got.shape}, not {want.dtype}{want.shape}"
    places = np.argwhere(~(agreeing(want, got) if right is None else right))
    place = tuple(map(int, places[0]))
    beside = [
        f"{operand[place if operand.shape == want.shape else ()]!r}"
        for operand in operands
        if operand is not None and operand.shape in (want.shape, ())
    ]
    found = f"{len(places)} differ, at {list(place)} {got[place]!r}, not {want[place]!r}"
    return f"{found}; {want.dtype}, operands {', '.join(beside)}"


def _transform(operation: Operation, operand: Array) -> Array:
    """The Fourier transform by its definition, in extended precision."""
    lengths, kind = attribute(operation, "fft_length"), str(attribute(operation, "fft_type"))
    values = operand.astype(np.clongdouble)
    rank = operand.ndim
    if kind == "IRFFT" and lengths[-1]:
        # The other half of a real signal's transform mirrors this half along all axes.
        axes = [rank - len(lengths) + i for i in range(len(lengths))]
        half = values
        missing = np.arange(half.shape[-1], lengths[-1])
        mirrored = half[..., lengths[-1] - missing].conj()
        for axis in axes[:-1]:
            mirrored = np.take(mirrored, -np.arange(half.shape[axis]) % half.shape[axis], axis=axis)
        real_ends = [0] + ([lengths[-1] // 2] if lengths[-1] % 2 == 0 else [])
        values = np.concatenate([half, mirrored], axis=-1)
        if len(lengths) == 1:
            values[..., real_ends] = values[..., real_ends].real
    sign = -2j if kind in ("FFT", "RFFT") else 2j
    for axis in range(rank - len(lengths), rank):
        size = values.shape[axis]
        angles = np.outer(np.arange(size), np.arange(size)) % max(size, 1) / np.longdouble(max(size, 1))
        matrix = np.exp(sign * np.longdouble(np.pi) * angles.astype(np.clongdouble))
        values = np.moveaxis(np.tensordot(values, matrix, axes=([axis], [0])), -1, axis)
        if kind.startswith("I"):
            values = values / size
    return values


def independent(operation: Operation, operands: Sequence[Array], got: Sequence[Array]) -> str | None:
    """Why results of an operation that the interpreter cannot run are wrong; None too where nobody knows."""
    check = _INDEPENDENT.get(operation.name)
    if check is None:
        return None
    with np.errstate(all="ignore"):
        try:
            wanted = check(operation, *operands)
        except np.linalg.LinAlgError:
            # A singular system: what its solution is, nobody says.
            return None
    converted = [
        (array.real if have.dtype.kind != "c" else array).astype(have.dtype)
        for array, have in zip(wanted, got, strict=True)
    ]
    return difference(operation, operands, converted, got)


def _top_k(operation: Operation, operand: Array) -> list[Array]:
    """The greatest elements by totalOrder, the first of equal ones first."""
    count = attribute(operation, "k")
    has_infinities = np.isinf(np.array(np.inf).astype(operand.dtype).astype(np.float64))
    # Types without infinities have, as f32, one NaN of each sign; others would lose their NaNs' digits.
    values = np.ascontiguousarray(operand if has_infinities else operand.astype(np.float32))
    bits = 8 * values.dtype.itemsize
    keys = values.view(f"i{values.dtype.itemsize}").astype(np.int64)
    keys = np.where(keys < 0, ~(keys & ((1 << bits - 1) - 1)), keys)
    order = np.argsort(~keys, axis=-1, kind="stable")[..., :count]
    return [np.take_along_axis(operand, order, axis=-1), order]


def _solution(operation: Operation, a: Array, b: Array) -> list[Array]:
    """The solution of a system with triangular coefficients."""
    a, b = a.astype(np.complex128), b.astype(np.complex128)
    a = np.tril(a) if attribute(operation, "lower") else np.triu(a)
    if attribute(operation, "unit_diagonal"):
        diagonal = np.arange(a.shape[-1])
        a[..., diagonal, diagonal] = 1
    transpose_a = attribute(operation, "transpose_a")
    if transpose_a != "NO_TRANSPOSE":
        a = a.swapaxes(-1, -2)
    if transpose_a == "ADJOINT":
        a = a.conj()
    if attribute(operation, "left_side"):
        return [np.linalg.solve(a, b)]
    return [np.linalg.solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)]


_INDEPENDENT: dict[str, Callable[..., list[Array]]] = {
    "stablehlo.fft": lambda operation, operand: [_transform(operation, operand).astype(np.complex128)],
    "stablehlo.dot_general": lambda operation, *_: [np.zeros(operation.result.type.shape)],
    "stablehlo.triangular_solve": _solution,
    "chlo.top_k": _top_k,
}
"""What operations that the interpreter cannot run give, by their definition."""
