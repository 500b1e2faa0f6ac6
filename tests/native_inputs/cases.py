"""Programs of one operation that reaches native code, for every element type and some shapes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nimblehlo.program.ops.custom_calls.lapack import ROUTINES
from nimblehlo.types import BOOLEAN, COMPLEX, ELEMENT_TYPES, FLOAT, ElementType
from tests.program.ops.bodies import combining, comparing
from tests.program.ops.texts import tensor

Shape = tuple[int, ...]
Typed = tuple[Shape, str]

NUMBERS = [name for name, type in ELEMENT_TYPES.items() if type.width <= 128 and type.category != BOOLEAN]
FLOATS = [name for name in NUMBERS if ELEMENT_TYPES[name].category == FLOAT]
COMPLEX_TYPES = [name for name in NUMBERS if ELEMENT_TYPES[name].category == COMPLEX]
LARGE_FLOATS = ["f32", "f64", *COMPLEX_TYPES]
ORDERED = [name for name in NUMBERS if ELEMENT_TYPES[name].category != COMPLEX]


@dataclass(frozen=True)
class Case:
    """A program of one operation.

    Attributes:
        name: says what it is.
        text: the program.
        operands: shape and element type of each input.
        options: settings besides the mode and the time limit.
        is_long: whether a call takes longer than `worker.LONG_LIMIT`; it is called with usual operands alone.
    """

    name: str
    text: str
    operands: tuple[Typed, ...]
    options: tuple[tuple[str, Any], ...] = ()
    is_long: bool = False


def one_operation(
    name: str, operands: Sequence[Typed], results: Sequence[Typed], attributes: str = "", region: str = "",
    **options: Any,
) -> Case:  # fmt: skip
    """A program whose inputs are the operands and whose results are the operation's."""
    inputs, outputs = ([tensor(*each) for each in types] for types in (operands, results))
    arguments = ", ".join(f"%{index}: {type}" for index, type in enumerate(inputs))
    used = ", ".join(f"%{index}" for index in range(len(inputs)))
    returned = ", ".join(f"%r#{index}" for index in range(len(outputs)))
    body = f"({{{region}}}) " if region else ""
    text = (
        f"func.func @main({arguments}) -> ({', '.join(outputs)}) {{\n"
        f'  %r:{len(outputs)} = "{name}"({used}) {body}{{{attributes}}}'
        f" : ({', '.join(inputs)}) -> ({', '.join(outputs)})\n"
        f"  return {returned} : {', '.join(outputs)}\n}}\n"
    )
    label = f"{name} {', '.join(inputs)} {attributes[:60]} {options or ''}".strip()
    return Case(label, text, tuple(operands), tuple(sorted(options.items())))


_SIZES = {"m": 5, "n": 5, "a": 5, "u": 5, "v": 5, "k": 5, "p": 4, "r": 2}
_TALL = {**_SIZES, "m": 7, "u": 7, "a": 7, "v": 5}
_ONE = dict.fromkeys(_SIZES, 1) | {"p": 0}


def _parameters(target: str) -> Iterator[dict[str, int]]:
    """The parameters of a routine, with each value of each."""
    allowed = ROUTINES[target].parameters
    numbers = {"left": 1, "transpose": 0, "low": 1, "high": 5}
    plain = {name: numbers[name] if values is None else ord(values[0]) for name, values in allowed.items()}
    yield plain
    for name, values in allowed.items():
        for value in (values or "")[1:]:
            yield {**plain, name: ord(value)}


def lapack() -> Iterator[Case]:
    """Every routine, with every value of each parameter, of batches of square, tall and 1x1 matrices."""
    for target, routine in ROUTINES.items():
        letters = {letter for shape in routine.operands for letter in shape.letters}
        for sizes in (_SIZES, _TALL, _ONE):
            if sizes is _TALL and "m" not in letters:
                continue
            for parameters in _parameters(target):
                if "high" in parameters:
                    parameters["high"] = sizes["n"]
                yield _lapack_case(target, sizes, parameters)
        yield _lapack_case(target, {**_SIZES, "batch": 0}, next(_parameters(target)))


def _lapack_case(target: str, sizes: dict[str, int], parameters: dict[str, int]) -> Case:
    from nimblehlo.program.ops.numerics.lapack_library import ELEMENTS

    routine, batch = ROUTINES[target], (sizes.get("batch", 2),)
    thin = parameters.get("mode") == ord("S")
    sizes = {**sizes, "k": min(sizes["m"], sizes["n"])}
    if "gesdd" in target or "gesvd" in target:
        sizes |= {"u": sizes["k"] if thin else sizes["m"], "v": sizes["k"] if thin else sizes["n"]}
    if "trsm" in target:
        sizes |= {"a": sizes["m"] if parameters["side"] == ord("L") else sizes["n"]}
    names = ELEMENTS[routine.library.prefix]
    operands, results = (
        [((*batch, *[sizes[letter] for letter in shape.letters]), names[shape.elements]) for shape in shapes]
        for shapes in (routine.operands, routine.results)
    )
    config = ", ".join(
        f"{name} = {_attribute(routine.parameters[name], name, value)}" for name, value in parameters.items()
    )
    attributes = f'call_target_name = "{target}", api_version = 4 : i32, mhlo.backend_config = {{{config}}}'
    case = one_operation("stablehlo.custom_call", operands, results, attributes)
    return Case(f"{target} {sizes} {config}", case.text, case.operands)


def _attribute(allowed: str | None, name: str, value: int) -> str:
    if allowed is not None:
        return f"{value} : ui8"
    return str(bool(value)).lower() if name in ("left", "transpose") else f"{value} : i64"


def linear_algebra() -> Iterator[Case]:
    """Cholesky factors and triangular systems, by the project's kernels and by the library."""
    for element in ["f16", "bf16", *LARGE_FLOATS]:
        for order in (1, 6, 40):
            for library in ("reproducible", "library"):
                square, right = ((2, order, order), element), ((2, order, 3), element)
                yield one_operation(
                    "stablehlo.cholesky", [square], [square], "lower = true", linear_algebra=library
                )
                attributes = (
                    "left_side = true, lower = true, unit_diagonal = false, "
                    "transpose_a = #stablehlo<transpose NO_TRANSPOSE>"
                )
                yield one_operation(
                    "stablehlo.triangular_solve", [square, right], [right], attributes, linear_algebra=library
                )
    for element in LARGE_FLOATS:
        diagonal, right = ((2, 7), element), ((2, 7, 2), element)
        target = 'call_target_name = "tridiagonal_solve_perturbed_ffi", api_version = 4 : i32'
        yield one_operation("stablehlo.custom_call", [diagonal] * 3 + [right], [right], target)
    for element in LARGE_FLOATS:
        for index in ("i32", "i64"):
            operands = [((3,), element), ((4,), index), ((3,), index), ((4,), element)]
            target = 'call_target_name = "cpu_csr_sparse_dense_ffi", api_version = 4 : i32'
            yield one_operation("stablehlo.custom_call", operands, [((3,), element)], target)


def transforms() -> Iterator[Case]:
    """Fourier transforms of sizes with small factors, of a prime size, and of one that SciPy computes."""
    for width in ("f32", "f64"):
        for size in (1, 8, 37, 10007):
            number, half = ((2, size), f"complex<{width}>"), ((2, size // 2 + 1), f"complex<{width}>")
            kinds = {"FFT": (number, number), "IFFT": (number, number), "RFFT": ((number[0], width), half)}
            for kind, (operand, result) in {**kinds, "IRFFT": (half, (number[0], width))}.items():
                attributes = f"fft_type = #stablehlo<fft_type {kind}>, fft_length = array<i64: {size}>"
                yield one_operation("stablehlo.fft", [operand], [result], attributes)


_DOT = (
    "dot_dimension_numbers = #stablehlo.dot<lhs_batching_dimensions = [0], rhs_batching_dimensions = [0], "
    "lhs_contracting_dimensions = [2], rhs_contracting_dimensions = [1]>"
)
_CONV = (
    "dimension_numbers = #stablehlo.conv<[b, 0, f]x[0, i, o]->[b, 0, f]>, batch_group_count = 1 : i64, "
    "feature_group_count = 1 : i64"
)


def products() -> Iterator[Case]:
    """Products of matrices and with vectors, and convolutions."""
    for element in NUMBERS:
        for m, k, n in ((1, 1, 1), (5, 300, 7), (1, 70, 1), (3, 0, 2)):
            lhs, rhs, result = ((2, m, k), element), ((2, k, n), element), ((2, m, n), element)
            yield one_operation("stablehlo.dot_general", [lhs, rhs], [result], _DOT)
        image, window = ((2, 9, 3), element), ((3, 3, 4), element)
        yield one_operation("stablehlo.convolution", [image, window], [((2, 7, 4), element)], _CONV)


def orders() -> Iterator[Case]:
    """Sorts, top-k, scans, reductions and windows."""
    for element in ORDERED:
        is_float = ELEMENT_TYPES[element].category == FLOAT
        for size in (1, 300):
            vector, scalar = ((2, size), element), ((), element)
            for direction in ("LT", "GT"):
                body = comparing(direction, element, [], "TOTALORDER" if is_float else "")
                yield one_operation("stablehlo.sort", [vector], [vector], "dimension = 1 : i64", body)
            if size > 1:
                yield one_operation(
                    "chlo.top_k", [vector], [((2, 5), element), ((2, 5), "i32")], "k = 5 : i64"
                )
            for operation in ("add", "maximum"):
                body = combining(operation, element)
                reduced = [((2,), element)]
                yield one_operation(
                    "stablehlo.reduce", [vector, scalar], reduced, "dimensions = array<i64: 1>", body
                )
                padding = f"padding = dense<[[0, 0], [{size - 1}, 0]]> : tensor<2x2xi64>"
                window = f"window_dimensions = array<i64: 1, {size}>, {padding}"
                yield one_operation("stablehlo.reduce_window", [vector, scalar], [vector], window, body)


_INDICES = (
    "dimension_numbers = #stablehlo.gather<offset_dims = [1], collapsed_slice_dims = [0], "
    "start_index_map = [0], index_vector_dim = 1>, slice_sizes = array<i64: 1, 4>"
)
_SCATTERED = (
    "scatter_dimension_numbers = #stablehlo.scatter<update_window_dims = [1], inserted_window_dims = [0], "
    "scatter_dims_to_operand_dims = [0], index_vector_dim = 1>"
)


def indices() -> Iterator[Case]:
    """Operations whose integers are indices of memory."""
    for index in ("i8", "ui8", "i32", "ui32", "i64", "ui64"):
        operand, places = ((9, 4), "f32"), ((20,), index)
        yield one_operation("stablehlo.gather", [operand, places], [((20, 4), "f32")], _INDICES)
        updates = ((20, 4), "f32")
        body = combining("add")
        yield one_operation("stablehlo.scatter", [operand, places, updates], [operand], _SCATTERED, body)
        start = ((), index)
        sizes = "slice_sizes = array<i64: 3, 2>"
        yield one_operation("stablehlo.dynamic_slice", [operand, start, start], [((3, 2), "f32")], sizes)
        update = ((3, 2), "f32")
        yield one_operation("stablehlo.dynamic_update_slice", [operand, update, start, start], [operand])


_UNARY = [
    "abs", "cbrt", "ceil", "cosine", "exponential", "exponential_minus_one", "floor", "log",
    "log_plus_one", "logistic", "negate", "rsqrt", "sign", "sine", "sqrt", "tan", "tanh",
]  # fmt: skip
_CHLO_UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "bessel_i1e", "cosh", "digamma", "erf", "erf_inv",
    "erfc", "lgamma", "sinh", "square",
]  # fmt: skip
_BINARY = ["add", "atan2", "divide", "maximum", "minimum", "multiply", "power", "remainder", "subtract"]
_CHLO_BINARY = ["next_after", "polygamma", "zeta"]


def functions() -> Iterator[Case]:
    """Elementwise functions; SciPy, the C library and generated code compute them."""
    for element in NUMBERS:
        value = ((133,), element)
        names = [*[f"stablehlo.{name}" for name in _UNARY], *[f"chlo.{name}" for name in _CHLO_UNARY]]
        for name in names:
            result = (value[0], _real(ELEMENT_TYPES[element])) if name == "stablehlo.abs" else value
            yield one_operation(name, [value], [result])
        for name in [*[f"stablehlo.{name}" for name in _BINARY], *[f"chlo.{name}" for name in _CHLO_BINARY]]:
            yield one_operation(name, [value, value], [value])


def _real(type: ElementType) -> str:
    return type.name[len("complex<") : -1] if type.category == COMPLEX else type.name


def huge() -> Iterator[Case]:
    """Operations whose native code takes seconds, so that a time limit has to stop or to abandon it."""
    for case in _huge():
        yield replace(case, is_long=True)


def _huge() -> Iterator[Case]:
    for element in ("f32", "bf16", "complex<f64>"):
        square = ((1, 2000, 2000), element)
        yield one_operation("stablehlo.dot_general", [square, square], [square], _DOT)
    for element in ("f32", "complex<f64>"):
        square = ((2000, 2000), element)
        for library in ("reproducible", "library"):
            yield one_operation(
                "stablehlo.cholesky", [square], [square], "lower = true", linear_algebra=library
            )
    vectors = {name: ord("V") for name in ("mode", "compute_left", "compute_right")}
    for target in ("lapack_dsyevd_ffi", "lapack_zgeev_ffi", "lapack_sgees_ffi", "lapack_dgesdd_ffi"):
        sizes = dict.fromkeys(_SIZES, 700) | {"p": 699, "batch": 1}
        allowed = ROUTINES[target].parameters
        wanted = {name: value for name, value in vectors.items() if chr(value) in (allowed.get(name) or "")}
        yield _lapack_case(target, sizes, {**next(_parameters(target)), **wanted})
    for size in (1 << 22, 4194301):
        number = ((1, size), "complex<f64>")
        attributes = f"fft_type = #stablehlo<fft_type FFT>, fft_length = array<i64: {size}>"
        yield one_operation("stablehlo.fft", [number], [number], attributes)
    for element in ("f32", "i64", "bf16"):
        vector, scalar = ((1 << 22,), element), ((), element)
        body = comparing("LT", element)
        yield one_operation("stablehlo.sort", [vector], [vector], "dimension = 0 : i64", body)
        window = f"window_dimensions = array<i64: {1 << 20}>"
        result = (((1 << 22) - (1 << 20) + 1,), element)
        yield one_operation(
            "stablehlo.reduce_window", [vector, scalar], [result], window, combining("add", element)
        )
    for name in ("chlo.lgamma", "chlo.digamma", "stablehlo.tanh"):
        vector = ((1 << 22,), "f64")
        yield one_operation(name, [vector], [vector])
    image, kernel = ((4, 512, 64), "f32"), ((255, 64, 256), "f32")
    yield one_operation("stablehlo.convolution", [image, kernel], [((4, 258, 256), "f32")], _CONV)


FAMILIES = {
    "lapack": lapack,
    "linear_algebra": linear_algebra,
    "transforms": transforms,
    "products": products,
    "orders": orders,
    "indices": indices,
    "functions": functions,
    "huge": huge,
}


def cases(families: Sequence[str], share: int = 1) -> list[Case]:
    """Every `share`-th case of some families."""
    return [case for family in families for case in list(FAMILIES[family]())[::share]]
