"""The custom calls ``lapack_*_ffi`` that JAX emits on a CPU, through the LAPACK that NumPy or SciPy brings.

A target is named after a routine and the type of its elements: ``lapack_sgetrf_ffi`` is GETRF of f32.
Operands and results are batches of matrices and vectors. LAPACK takes the last two dimensions as rows and
columns of a buffer stored column by column, whatever the layout that the custom call asks for.

Routines that iterate, and one that selects columns by their norms (geqp3), take finite matrices alone: other
problems of a batch give NaN, and information that is not zero (see `numerics/fortran.pyx`).

Source: LAPACK Users' Guide; the custom calls' operands, results and parameters are those of JAX 0.10.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ....errors import ExecutionError, NimbleError, counted
from ....types import ELEMENT_TYPES, Array, DType, TensorType, Type
from ...ir.record import Record
from ..framework.rules import first, same_element_type, same_shape, shape_text, shapes_agree
from ..numerics.decompositions import PreparedCall, native_call_by_kernel, uses_kernels
from ..numerics.fortran import Call, Procedure
from ..numerics.lapack_library import (
    ELEMENTS,
    LIBRARIES,
    Argument,
    Buffer,
    Library,
    Workspace,
    information,
    native_call_of,
    potrf_arguments,
    trsm_arguments,
)
from .view import CustomCallView

Parameters = dict[str, Any]
Sizes = tuple[int, ...]
Problem = tuple[str, list[Argument]]
"""A routine's name without the letter of its element type, and its arguments.

Results that the parameters do not ask for have unspecified values, and are no arguments."""
Describe = Callable[..., Problem]
"""A function of a Library, the parameters, and the sizes of a problem for each operand."""
ConvertLayout = Callable[[Array], Array]
Prepare = Callable[..., PreparedCall]
"""Called with the element type, the parameters, the maximum number of threads to use (None: all), and the
shape of each operand."""


class Shape(Record):
    """An operand or a result in a signature: its element type and the letters of its last dimensions."""

    elements: str
    letters: str


class Routine(Record):
    """A LAPACK routine for one element type.

    Attributes:
        library: where it is.
        describe: tells what it is called with.
        operands, results: their signature.
        parameters: for each parameter the characters allowed, None if it is a number.
        check: called with the operands before; None: their elements do not matter.
        prepare: gives the kernel that serves in place of the routine; None: there is none.
    """

    library: Library
    describe: Describe
    operands: tuple[Shape, ...]
    results: tuple[Shape, ...]
    parameters: Mapping[str, str | None] = MappingProxyType({})
    check: Callable[..., None] | None = None
    prepare: Prepare | None = None

    def verify(self, view: CustomCallView) -> None:
        """Check operands, results and parameters of a custom call.

        Raises:
            VerifyError: they are not the routine's.
        """
        name = view.call_target_name
        for what, expected, actual in (
            ("inputs", self.operands, view.inputs),
            ("results", self.results, view.results),
        ):
            if len(expected) != len(actual):
                has = counted(len(actual), what[:-1])
                raise view.verify_error(f"@{name} has {has}, but must have {len(expected)}")
        reason = first(self._shapes_violation(view), self._parameters_violation(view))
        if reason is not None:
            raise view.verify_error(f"@{name}: {reason}")

    def _shapes_violation(self, view: CustomCallView) -> str | None:
        sizes: dict[str, int] = {}
        first_batch: Sequence[int] | None = None
        for what, shapes, types in (
            ("inputs", self.operands, view.inputs),
            ("results", self.results, view.results),
        ):
            for position, (shape, type) in enumerate(zip(shapes, types, strict=True)):
                where = f"{what}[{position}]"
                reason = self._violation(where, shape, type, sizes)
                if reason is not None:
                    return reason
                batch = type.shape[: type.rank - len(shape.letters)]
                first_batch = batch if first_batch is None else first_batch
                if not shapes_agree(batch, first_batch):
                    return f"{where} has batch sizes {list(batch)}, but inputs[0] has {list(first_batch)}"
            if {"m", "n"} <= sizes.keys():
                sizes.setdefault("k", min(sizes["m"], sizes["n"]))
            sizes.setdefault("p", max(sizes.get("n", 0) - 1, 0))
        return None

    def _violation(self, where: str, shape: Shape, type: Type, sizes: dict[str, int]) -> str | None:
        """The reason why a type does not match the signature; the first size for a letter is recorded."""
        name = ELEMENTS[self.library.prefix][shape.elements]
        if not isinstance(type, TensorType) or type.rank < len(shape.letters):
            return f"{where} is {type}, but must be a tensor of rank {len(shape.letters)} or more"
        expected = type.with_element_type(ELEMENT_TYPES[name])
        last = type.shape[type.rank - len(shape.letters) :]
        for letter, size in zip(shape.letters, last, strict=True):
            sizes.setdefault(letter, size)
        expected_shape = [sizes[letter] for letter in shape.letters]
        return first(
            same_element_type(where, type, "the routine", expected),
            same_shape(
                f"the trailing dimensions of {where}",
                type.with_shape(last),
                "the shape of the problem",
                expected_shape,
            ),
        )

    def _parameters_violation(self, view: CustomCallView) -> str | None:
        parameters = view.configuration
        for name, allowed in self.parameters.items():
            value = parameters.get(name) if isinstance(parameters, dict) else None
            if not isinstance(value, int):
                return f"the parameter {name} is missing in backend_config"
            if allowed is not None and not (0 <= value < 128 and chr(value) in allowed):
                return f"the parameter {name} is {value}, but must be the code of one of {', '.join(allowed)}"
        return None

    def run(self, view: CustomCallView, *operands: Array) -> tuple[Any, ...]:
        """Solve all problems of a batch."""
        return self.bind(view)(*operands)

    def bind(self, view: CustomCallView, threads: int | None = 1) -> Callable[..., tuple[Any, ...]]:
        """The function that solves all problems of a batch, with the maximum number of threads that it may
        use (None: all); everything that the elements do not affect is done here.
        """
        declared = self._declared(view)
        if any(type.size == 0 for type in view.inputs):
            return lambda *operands: tuple([np.zeros(shape, dtype) for shape, dtype in declared])
        kernel = self._kernel(view, threads)
        procedure = kernel() if kernel else Procedure(lambda: self._call(view, declared, threads))
        enter, leave = self._layout_conversions(view)
        if self.check is None and not any([*enter, *leave]):
            return procedure

        def run(*operands: Array) -> tuple[Any, ...]:
            if self.check is not None:
                with _located(view):
                    self.check(*operands)
            solved = procedure(*map(_convert_layout, enter, operands))
            return tuple(map(_convert_layout, leave, solved))

        return run

    def _kernel(self, view: CustomCallView, threads: int | None = None) -> Callable[[], PreparedCall] | None:
        """The function that prepares the kernel which replaces the routine; None without one."""
        prepare = self.prepare
        if prepare is None or not uses_kernels(view.operation):
            return None
        shapes, parameters = [type.shape for type in view.inputs], self._parameters(view)
        return lambda: prepare(view.inputs[0].dtype, parameters, threads, *shapes)

    def native_call(self, view: CustomCallView) -> Callable[[], PreparedCall | Call] | None:
        """A function that prepares the native call which replaces `run`; None without one."""
        if self.check is not None or any(type.size == 0 for type in view.inputs):
            return None
        _, arguments = self._problem(view)
        item = max(type.dtype.itemsize for type in view.inputs)
        enter, leave = self._layout_conversions(view)
        if any([*enter, *leave]):
            return None
        kernel = self._kernel(view)
        if kernel is not None:
            return native_call_by_kernel(kernel)
        results = len(self.results)
        return native_call_of(lambda: self._call(view, self._declared(view)), arguments, results, item)

    def _declared(self, view: CustomCallView) -> list[tuple[tuple[int, ...], Any]]:
        """Shape and element type of each result."""
        names = ELEMENTS[self.library.prefix]
        dtypes = [ELEMENT_TYPES[names[shape.elements]].dtype for shape in self.results]
        return list(zip([type.shape for type in view.results], dtypes, strict=True))

    def _layout_conversions(
        self, view: CustomCallView
    ) -> tuple[list[ConvertLayout | None], list[ConvertLayout | None]]:
        """The functions that convert the layouts of the operands and of the results."""
        enter = [
            _layout_conversion(
                _layout(view.operand_layouts, position, type.rank), column_major_layout(type.rank, shape)
            )
            for position, (type, shape) in enumerate(zip(view.inputs, self.operands, strict=True))
        ]
        leave = [
            _layout_conversion(
                column_major_layout(type.rank, shape), _layout(view.result_layouts, position, type.rank)
            )
            for position, (type, shape) in enumerate(zip(view.results, self.results, strict=True))
        ]
        return enter, leave

    def _parameters(self, view: CustomCallView) -> Parameters:
        configuration: Any = view.configuration
        return {
            name: configuration[name] if allowed is None else chr(configuration[name])
            for name, allowed in self.parameters.items()
        }

    def _problem(self, view: CustomCallView) -> Problem:
        problem = [
            type.shape[type.rank - len(shape.letters) :]
            for type, shape in zip(view.inputs, self.operands, strict=True)
        ]
        with _located(view):
            return self.describe(self.library, self._parameters(view), *problem)

    def _call(
        self, view: CustomCallView, declared: list[tuple[tuple[int, ...], Any]], threads: int | None = None
    ) -> Call:
        batch = view.inputs[0].shape[: view.inputs[0].rank - len(self.operands[0].letters)]
        name, arguments = self._problem(view)
        for argument in arguments:
            if isinstance(argument, Buffer) and argument.result is not None:
                shape = declared[argument.result][0][len(batch) :]
                if argument.shape != shape:
                    where = f"results[{argument.result}]"
                    actual, declares = shape_text(argument.shape), shape_text(shape)
                    reason = f"@{view.call_target_name}: {where} must have shape {actual}, but has {declares}"
                    raise view.execution_error(reason)
        return self.library.call(name, arguments, math.prod(batch), declared, threads)


@contextlib.contextmanager
def _located(view: CustomCallView) -> Iterator[None]:
    """Name the operation in errors about its matrices."""
    try:
        yield
    except NimbleError as error:
        raise type(error)(
            f"@{view.call_target_name}: {error.reason}", operation=view.name, location=view.operation.location
        ) from None


def _layout(layouts: Sequence[Sequence[int]] | None, position: int, rank: int) -> Sequence[int]:
    """An array's dimensions in minor-to-major order; by default row-major order."""
    return range(rank)[::-1] if layouts is None else layouts[position]


def column_major_layout(rank: int, shape: Shape) -> Sequence[int]:
    """The layout of a batch of matrices or vectors in LAPACK."""
    order = list(range(rank))[::-1]
    if len(shape.letters) == 2:
        order[:2] = order[1::-1]
    return order


def _layout_conversion(written: Sequence[int], read: Sequence[int]) -> ConvertLayout | None:
    """A function to reinterpret an array's buffer from layout `written` to layout `read`; None if equal."""
    if list(written) == list(read):
        return None
    order, read_order = written[::-1], np.argsort(read[::-1])

    def convert(array: Array) -> Array:
        buffer = array.transpose(order).ravel()
        return buffer.reshape([array.shape[dimension] for dimension in read[::-1]]).transpose(read_order)

    return convert


def _convert_layout(convert: ConvertLayout | None, array: Array) -> Array:
    return array if convert is None else convert(array)


def _potrf(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    return "potrf", potrf_arguments(x[0], parameters["uplo"] == "L")


def _geqrf(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    tau = Buffer((min(x),), None, 1)
    return "geqrf", [*x, Buffer(x, 0, 0), x[0], tau, Workspace(), information()]


def _orgqr(library: Library, parameters: Parameters, x: Sizes, tau: Sizes) -> Problem:
    (m, n), (k,) = x, tau
    if not m >= n >= k:
        raise ExecutionError(f"no {m}x{n} matrix is the product of {k} reflectors")
    name = "orgqr" if library.is_real else "ungqr"
    return name, [m, n, k, Buffer(x, 0, 0), m, Buffer(tau, 1, is_read_only=True), Workspace(), information()]


def _ormqr(library: Library, parameters: Parameters, x: Sizes, tau: Sizes, c: Sizes) -> Problem:
    (m, n), (k,) = c, tau
    rows = m if parameters["left"] else n
    if x[0] != rows or not k <= min(rows, x[1]):
        raise ExecutionError(f"{k} reflectors in a {x[0]}x{x[1]} matrix do not fit the product")
    side = "L" if parameters["left"] else "R"
    transpose = ("T" if library.is_real else "C") if parameters["transpose"] else "N"
    name = "ormqr" if library.is_real else "unmqr"
    reflectors: list[Argument] = [Buffer(x, 0), rows, Buffer(tau, 1, is_read_only=True)]
    return name, [side, transpose, m, n, k, *reflectors, Buffer(c, 2, 0), m, Workspace(), information()]


def _geqp3(library: Library, parameters: Parameters, x: Sizes, pivots: Sizes) -> Problem:
    m, n = x
    order = Buffer(pivots, None, 1, "I", is_zero=True)
    results: list[Argument] = [Buffer(x, 0, 0, finite="all"), m, order, Buffer((min(x),), None, 2)]
    real_work = [] if library.is_real else [Buffer((2 * n,), kind="R")]
    return "geqp3", [m, n, *results, Workspace(), *real_work, information()]


def _require_free_columns(x: Array, pivots: Array) -> None:
    if pivots.any():
        raise ExecutionError("leading columns (nonzero pivots) are not supported")


def _syevd(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    n = x[0]
    name, kinds = ("syevd", "TI") if library.is_real else ("heevd", "TRI")
    results = [Buffer(x, 0, 0, finite=parameters["uplo"]), n, Buffer((n,), None, 1, "R")]
    flags = parameters["mode"], parameters["uplo"]
    return name, [*flags, n, *results, *[Workspace(kind) for kind in kinds], information(2)]


def _singular_values(name: str) -> Describe:
    """GESDD, which divides and conquers, or GESVD, which iterates."""

    def describe(library: Library, parameters: Parameters, x: Sizes) -> Problem:
        (m, n), mode = x, parameters["mode"]
        min_size, max_size = min(x), max(x)
        rows, columns = {"A": (m, n), "S": (min_size, min_size), "N": (1, 1)}[mode]
        u, vt = (None, None) if mode == "N" else (2, 3)
        rest = [information(4)]
        if name == "gesdd":
            rest.insert(0, Buffer((8 * min_size,), kind="I"))
        if not library.is_real:
            # Sufficient for both routines, with and without vectors.
            rest.insert(0, Buffer((min_size * (5 * min_size + 2 * max_size + 7),), kind="R"))
        flags = [mode] if name == "gesdd" else [mode, mode]
        results = [
            Buffer((min_size,), None, 1, "R"),
            Buffer((m, rows), None, u),
            m,
            Buffer((columns, n), None, vt),
        ]
        return name, [*flags, m, n, Buffer(x, 0, 0, finite="all"), m, *results, columns, Workspace(), *rest]

    return describe


def _getrf(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    return "getrf", [*x, Buffer(x, 0, 0), x[0], Buffer((min(x),), None, 1, "I"), information(2)]


def _trsm(library: Library, parameters: Parameters, x: Sizes, y: Sizes) -> Problem:
    return "trsm", trsm_arguments(
        library,
        (y[0], y[1]),
        left_side=parameters["side"] == "L",
        lower=parameters["uplo"] == "L",
        transpose=parameters["trans_x"],
        unit_diagonal=parameters["diag"] == "U",
    )


def _geev(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    n, modes = x[0], (parameters["compute_left"], parameters["compute_right"])
    eigenvalues = [Buffer((n,), None, result) for result in range(2 if library.is_real else 1)]
    # LAPACK stores the vectors of a conjugate pair in two real columns; the seventh argument says which.
    pairs = 6 if library.is_real else None
    vectors = [
        Buffer(x, None, result, pairs=pairs) if mode == "V" else Buffer(x)
        for result, mode in enumerate(modes, len(eigenvalues))
    ]
    real_work = [] if library.is_real else [Buffer((2 * n,), kind="R")]
    results = [Buffer(x, 0, finite="all"), n, *eigenvalues, vectors[0], n, vectors[1], n]
    rest = [*real_work, information(len(eigenvalues) + 2)]
    return "geev", [*modes, n, *results, Workspace(), *rest]


def _gees(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    n, mode = x[0], parameters["mode"]
    eigenvalues = [Buffer((n,), None, result) for result in range(2, 4 if library.is_real else 3)]
    selected = 2 + len(eigenvalues)
    real_work = [] if library.is_real else [Buffer((n,), kind="R")]
    # Without sorting, LAPACK uses neither the selecting function nor its workspace.
    unused = np.zeros(1)
    vectors = Buffer(x, None, 1 if mode == "V" else None)
    results = [Buffer(x, 0, 0, finite="all"), n, Buffer((), None, selected, "I"), *eigenvalues, vectors, n]
    rest = [*real_work, unused, information(selected + 1)]
    return "gees", [mode, "N", unused, n, *results, Workspace(), *rest]


def _gehrd(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    n, low, high = x[0], parameters["low"], parameters["high"]
    if not 1 <= low <= high <= n:
        raise ExecutionError(f"low {low} and high {high} do not bound a block of a matrix of order {n}")
    results = [Buffer(x, 0, 0), n, Buffer((n - 1,), None, 1)]
    return "gehrd", [n, low, high, *results, Workspace(), information(2)]


def _sytrd(library: Library, parameters: Parameters, x: Sizes) -> Problem:
    n = x[0]
    diagonals = [Buffer((n,), None, 1, "R"), Buffer((n - 1,), None, 2, "R")]
    results = [Buffer(x, 0, 0), n, *diagonals, Buffer((n - 1,), None, 3)]
    name = "sytrd" if library.is_real else "hetrd"
    return name, [parameters["uplo"], n, *results, Workspace(), information(4)]


def _gtsv(library: Library, parameters: Parameters, dl: Sizes, d: Sizes, du: Sizes, b: Sizes) -> Problem:
    """LAPACK leaves out the first element of `dl` and the last of `du`, which are outside of the matrix."""
    diagonals = [Buffer(dl, 0, 0, skipped=1), Buffer(d, 1, 1), Buffer(du, 2, 2)]
    return "gtsv", [*b, *diagonals, Buffer(b, 3, 3), b[0], information(4)]


def _cholesky_kernel(dtype: DType, parameters: Parameters, threads: int | None, x: Sizes) -> PreparedCall:
    from ....kernels.linalg import linalg

    return linalg.cholesky(dtype, x, parameters["uplo"] == "L", False, threads)


def _triangular_solve_kernel(
    dtype: DType, parameters: Parameters, threads: int | None, x: Sizes, y: Sizes
) -> PreparedCall:
    from ....kernels.linalg import linalg

    flags = parameters["side"] == "L", parameters["uplo"] == "L"
    return linalg.triangular_solve(
        dtype, y, *flags, parameters["trans_x"], parameters["diag"] == "U", threads
    )


def _lu_kernel(dtype: DType, parameters: Parameters, threads: int | None, x: Sizes) -> PreparedCall:
    from ....kernels.linalg import linalg

    return linalg.lu(dtype, x, threads)


_KERNELS: Final[dict[str, Prepare]] = {
    "getrf": _lu_kernel,
    "potrf": _cholesky_kernel,
    "trsm": _triangular_solve_kernel,
}
"""The kernels that replace routines, by routine."""

_UPLO: Final[dict[str, str | None]] = {"uplo": "LU"}
_SIGNATURES: Final[dict[str, tuple[Describe, str, dict[str, str | None]]]] = {
    "potrf": (_potrf, "T:nn -> T:nn I:", _UPLO),
    "geqrf": (_geqrf, "T:mn -> T:mn T:k", {}),
    "orgqr": (_orgqr, "T:mn T:k -> T:mn", {}),
    "syevd": (_syevd, "T:nn -> T:nn R:n I:", {"mode": "NV", **_UPLO}),
    "ormqr": (_ormqr, "T:au T:v T:mn -> T:mn", {"left": None, "transpose": None}),
    "geqp3": (_geqp3, "T:mn I:n -> T:mn I:n T:k", {}),
    "gesdd": (_singular_values("gesdd"), "T:mn -> T:mn R:k T:mu T:vn I:", {"mode": "ASN"}),
    "gesvd": (_singular_values("gesvd"), "T:mn -> T:mn R:k T:mu T:vn I:", {"mode": "ASN"}),
    "getrf": (_getrf, "T:mn -> T:mn I:k I:", {}),
    "trsm": (_trsm, "T:aa T:mn -> T:mn", {"side": "LR", "trans_x": "NTC", "diag": "NU", **_UPLO}),
    "geev": (_geev, "T:nn -> T:n C:nn C:nn I:", {"compute_left": "NV", "compute_right": "NV"}),
    "gees": (_gees, "T:nn -> T:nn T:nn T:n I: I:", {"mode": "NV", "sort": "N"}),
    "gehrd": (_gehrd, "T:nn -> T:nn T:p I:", {"low": None, "high": None}),
    "sytrd": (_sytrd, "T:nn -> T:nn R:n R:p T:p I:", _UPLO),
    "gtsv": (_gtsv, "T:n T:n T:n T:nr -> T:n T:n T:n T:nr I:", {}),
}
"""For each routine how to run it, the elements and last dimensions of operands and results, its parameters.

Dimension k is min(m, n), p is n - 1; u, v, a and r are what the program says.
"""

_COMPLEX_NAMES: Final = {"orgqr": "ungqr", "ormqr": "unmqr", "syevd": "heevd", "sytrd": "hetrd"}
"""Routines that have another name for complex elements."""


def routine_name(prefix: str, name: str) -> str:
    """The custom call target of a routine for the element type with this letter."""
    return f"lapack_{prefix}{_COMPLEX_NAMES.get(name, name) if prefix in 'cz' else name}_ffi"


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple([Shape(*item.split(":")) for item in text.split()])


def _routines() -> Iterator[tuple[str, Routine]]:
    for prefix, library in LIBRARIES.items():
        for name, (describe, signature, parameters) in _SIGNATURES.items():
            if prefix in "sd" and name in ("geev", "gees"):
                # For real matrices two results hold the real and imaginary parts of eigenvalues.
                signature = signature.replace(" T:n ", " T:n T:n ")
            operands, results = map(_shapes, signature.split("->"))
            check = _require_free_columns if name == "geqp3" else None
            prepare = _KERNELS.get(name)
            target = routine_name(prefix, name)
            yield target, Routine(library, describe, operands, results, parameters, check, prepare)


ROUTINES: Final = dict(_routines())
"""The routines by the name of their custom call."""
