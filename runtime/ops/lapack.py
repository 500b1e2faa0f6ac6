"""The custom calls ``lapack_*_ffi`` that JAX emits on a CPU, through the LAPACK that NumPy or SciPy brings.

A target is named after a routine and the type of its elements: ``lapack_sgetrf_ffi`` is GETRF of f32.
Operands and results are batches of matrices and vectors. LAPACK takes the last two dimensions as rows and
columns of a buffer stored column by column, whatever the layout that the custom call asks for.

Source: LAPACK Users' Guide; the custom calls' operands, results and parameters are those of JAX 0.10.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from ..types import ELEMENT_TYPES, TensorType
from .declaration import Array
from .lapack_library import ELEMENTS, LIBRARIES, Argument, Library, by_columns, factors, solutions
from .rules import first, same_element_type, same_shape, shapes_agree

if TYPE_CHECKING:
    from .custom_call import CustomCall

Parameters = dict[str, Any]
Compute = Callable[..., tuple[Array | None, ...]]
"""Called with a Library, the parameters, and batches of matrices or vectors of one batch dimension; returns
results of the same kind.

A result that the parameters do not ask for, whose values are open, is None."""


@dataclass(frozen=True)
class Shape:
    """An operand or a result in a signature: its element type and the letters of its last dimensions."""

    elements: str
    letters: str


@dataclass(frozen=True)
class Routine:
    """A LAPACK routine for one element type.

    Attributes:
        library: where it is.
        compute: runs it on a batch of problems.
        operands, results: their signature.
        parameters: for each parameter the characters allowed, None where it is a number.
    """

    library: Library
    compute: Compute
    operands: tuple[Shape, ...]
    results: tuple[Shape, ...]
    parameters: dict[str, str | None] = field(default_factory=dict)

    def verify(self, view: CustomCall) -> None:
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
                raise view.error(f"@{name} has {len(actual)} {what}, but must have {len(expected)}")
        reason = first(self._shapes_violation(view), self._parameters_violation(view))
        if reason is not None:
            raise view.error(f"@{name}: {reason}")

    def _shapes_violation(self, view: CustomCall) -> str | None:
        sizes: dict[str, int] = {}
        reference: TensorType | None = None
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
                reference = reference or type.with_shape(batch)
                if not shapes_agree(batch, reference.shape):
                    return f"{where} has batch sizes {list(batch)}, but inputs[0] has {list(reference.shape)}"
            if {"m", "n"} <= sizes.keys():
                sizes.setdefault("k", min(sizes["m"], sizes["n"]))
            sizes.setdefault("p", max(sizes.get("n", 0) - 1, 0))
        return None

    def _violation(self, where: str, shape: Shape, type: Any, sizes: dict[str, int]) -> str | None:
        """Why a type does not fit into the signature; sizes that are met first are entered."""
        name = ELEMENTS[self.library.prefix][shape.elements]
        if not isinstance(type, TensorType) or type.rank < len(shape.letters):
            return f"{where} is {type}, but must be a tensor of rank {len(shape.letters)} or more"
        expected = type.with_element_type(ELEMENT_TYPES[name])
        last = type.shape[type.rank - len(shape.letters) :]
        for letter, size in zip(shape.letters, last, strict=True):
            sizes.setdefault(letter, size)
        wanted = [sizes[letter] for letter in shape.letters]
        return first(
            same_element_type(where, type, "the routine", expected),
            same_shape(
                f"the last part of {where}", type.with_shape(last), "the shape of the problem", wanted
            ),
        )

    def _parameters_violation(self, view: CustomCall) -> str | None:
        given = view.configuration
        for name, allowed in self.parameters.items():
            value = given.get(name) if isinstance(given, dict) else None
            if not isinstance(value, int):
                return f"the parameter {name} is missing in backend_config"
            if allowed is not None and not (0 <= value < 128 and chr(value) in allowed):
                return f"the parameter {name} is {value}, but must be the code of one of {', '.join(allowed)}"
        return None

    def run(self, view: CustomCall, *operands: Array) -> tuple[Any, ...]:
        """Solve all problems of a batch."""
        return self.bind(view)(*operands)

    def bind(self, view: CustomCall) -> Callable[..., tuple[Any, ...]]:
        """What solves all problems of a batch, with all found that does not depend on their elements."""
        given: Any = view.configuration
        parameters = {
            name: given[name] if allowed is None else chr(given[name])
            for name, allowed in self.parameters.items()
        }
        names = ELEMENTS[self.library.prefix]
        dtypes = [ELEMENT_TYPES[names[shape.elements]].dtype for shape in self.results]
        declared = list(zip([type.shape for type in view.results], dtypes, strict=True))
        if any(type.size == 0 for type in view.inputs):
            return lambda *operands: tuple([np.zeros(shape, dtype) for shape, dtype in declared])
        enter = [
            _rereading(_layout(view.operand_layouts, position, type.rank), _columns(type.rank, shape))
            for position, (type, shape) in enumerate(zip(view.inputs, self.operands, strict=True))
        ]
        leave = [
            _rereading(_columns(type.rank, shape), _layout(view.result_layouts, position, type.rank))
            for position, (type, shape) in enumerate(zip(view.results, self.results, strict=True))
        ]
        lists = [
            _as_list(type.shape, len(shape.letters))
            for type, shape in zip(view.inputs, self.operands, strict=True)
        ]

        def run(*operands: Array) -> tuple[Any, ...]:
            matrices = [
                reread(operand).reshape(shape)
                for reread, operand, shape in zip(enter, operands, lists, strict=True)
            ]
            solved = self.compute(self.library, parameters, *matrices)
            return tuple(
                [
                    reread(_as_declared(value, *type))
                    for reread, value, type in zip(leave, solved, declared, strict=True)
                ]
            )

        return run


def _as_declared(value: Array | None, shape: tuple[int, ...], dtype: Any) -> Array:
    """A result with all batch dimensions."""
    if value is None:
        return np.zeros(shape, dtype)
    last = shape[len(shape) - value.ndim + 1 :]
    if value.shape[1:] != last:
        raise ValueError(f"gives {value.shape[1:]} where {last} is declared")
    return value.reshape(shape).astype(dtype, copy=False)


def _as_list(shape: tuple[int, ...], last: int) -> tuple[int, ...]:
    """The shape of a batch as one of one dimension; the `last` dimensions are those of a problem."""
    rank = len(shape) - last
    return (math.prod(shape[:rank]), *shape[rank:])


def _layout(layouts: Sequence[Sequence[int]] | None, position: int, rank: int) -> Sequence[int]:
    """An array's dimensions, the one whose elements are neighbours first; by default the last dimension."""
    return range(rank)[::-1] if layouts is None else layouts[position]


def _columns(rank: int, shape: Shape) -> Sequence[int]:
    """The layout in which LAPACK has a batch of matrices or vectors."""
    order = list(range(rank))[::-1]
    if len(shape.letters) == 2:
        order[:2] = order[1::-1]
    return order


def _rereading(written: Sequence[int], read: Sequence[int]) -> Callable[[Array], Array]:
    """What gives an array of the same shape whose buffer in layout `read` is that of its argument in layout
    `written`."""
    if list(written) == list(read):
        return lambda array: array
    order, places = written[::-1], np.argsort(read[::-1])

    def reread(array: Array) -> Array:
        buffer = array.transpose(order).ravel()
        return buffer.reshape([array.shape[dimension] for dimension in read[::-1]]).transpose(places)

    return reread


def _potrf(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    return factors(library, x, parameters["uplo"] == "L")


def _geqrf(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    count, m, n = x.shape
    columns, tau = by_columns(x), library.empty("geqrf", "T", count, min(m, n))
    info = library.empty("geqrf", "I", 1)
    library.call_with_workspace("geqrf", count, m, n, columns, m, tau, rest=[info])
    return columns.swapaxes(-1, -2), tau


def _orgqr(library: Library, parameters: Parameters, x: Array, tau: Array) -> tuple[Array | None, ...]:
    (count, m, n), k = x.shape, tau.shape[-1]
    if not m >= n >= k:
        raise ValueError(f"no {m}x{n} matrix is the product of {k} reflectors")
    name = "orgqr" if library.is_real else "ungqr"
    columns, info = by_columns(x), library.empty(name, "I", 1)
    tau = np.ascontiguousarray(tau)
    library.call_with_workspace(name, count, m, n, k, columns, m, tau, rest=[info])
    return (columns.swapaxes(-1, -2),)


def _ormqr(
    library: Library, parameters: Parameters, x: Array, tau: Array, c: Array
) -> tuple[Array | None, ...]:
    (count, m, n), k = c.shape, tau.shape[-1]
    rows = m if parameters["left"] else n
    if x.shape[1] != rows or not k <= min(rows, x.shape[2]):
        raise ValueError(f"{k} reflectors in a {x.shape[1]}x{x.shape[2]} matrix do not fit the product")
    side = "L" if parameters["left"] else "R"
    transpose = ("T" if library.is_real else "C") if parameters["transpose"] else "N"
    name = "ormqr" if library.is_real else "unmqr"
    columns, info = by_columns(c), library.empty(name, "I", 1)
    reflectors: list[Argument] = [by_columns(x), rows, np.ascontiguousarray(tau)]
    library.call_with_workspace(name, count, side, transpose, m, n, k, *reflectors, columns, m, rest=[info])
    return (columns.swapaxes(-1, -2),)


def _geqp3(library: Library, parameters: Parameters, x: Array, pivots: Array) -> tuple[Array | None, ...]:
    if pivots.any():
        raise ValueError("columns that are to come first are not offered")
    count, m, n = x.shape
    columns, tau = by_columns(x), library.empty("geqp3", "T", count, min(m, n))
    order, info = library.empty("geqp3", "I", count, n), library.empty("geqp3", "I", 1)
    order[...] = 0
    real_work = [] if library.is_real else [library.empty("geqp3", "R", 1, 2 * n)]
    library.call_with_workspace("geqp3", count, m, n, columns, m, order, tau, rest=[*real_work, info])
    return columns.swapaxes(-1, -2), order, tau


def _syevd(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    count, n, _ = x.shape
    name, kinds = ("syevd", "TI") if library.is_real else ("heevd", "TRI")
    columns, info = by_columns(x), library.empty(name, "I", count)
    eigenvalues = library.empty(name, "R", count, n)
    flags = parameters["mode"], parameters["uplo"]
    library.call_with_workspace(name, count, *flags, n, columns, n, eigenvalues, kinds=kinds, rest=[info])
    return columns.swapaxes(-1, -2), eigenvalues, info


def _singular_values(name: str) -> Compute:
    """GESDD, which divides and conquers, or GESVD, which iterates."""

    def compute(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
        (count, m, n), mode = x.shape, parameters["mode"]
        least, most = min(m, n), max(m, n)
        rows, columns = {"A": (m, n), "S": (least, least), "N": (1, 1)}[mode]
        values, info = library.empty(name, "R", count, least), library.empty(name, "I", count)
        u, vt = library.empty(name, "T", count, rows, m), library.empty(name, "T", count, n, columns)
        rest = [info]
        if name == "gesdd":
            rest.insert(0, library.empty(name, "I", 1, 8 * least))
        if not library.is_real:
            # Enough for either routine, with or without vectors.
            rest.insert(0, library.empty(name, "R", 1, least * (5 * least + 2 * most + 7)))
        flags = [mode] if name == "gesdd" else [mode, mode]
        matrices = [by_columns(x), m, values, u, m, vt, columns]
        library.call_with_workspace(name, count, *flags, m, n, *matrices, rest=rest)
        if mode == "N":
            return x, values, None, None, info
        return x, values, u.swapaxes(-1, -2), vt.swapaxes(-1, -2), info

    return compute


def _getrf(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    count, m, n = x.shape
    columns, info = by_columns(x), library.empty("getrf", "I", count)
    pivots = library.empty("getrf", "I", count, min(m, n))
    library.call("getrf", count, m, n, columns, m, pivots, info)
    return columns.swapaxes(-1, -2), pivots, info


def _trsm(library: Library, parameters: Parameters, x: Array, y: Array) -> tuple[Array | None, ...]:
    solved = solutions(
        library,
        x,
        y,
        left_side=parameters["side"] == "L",
        lower=parameters["uplo"] == "L",
        transpose=parameters["trans_x"],
        unit_diagonal=parameters["diag"] == "U",
    )
    return (solved,)


def _geev(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    count, n, _ = x.shape
    modes = parameters["compute_left"], parameters["compute_right"]
    eigenvalues = [library.empty("geev", "T", count, n) for _ in range(2 if library.is_real else 1)]
    packed = [library.empty("geev", "T", count, n, n) for _ in modes]
    info = library.empty("geev", "I", count)
    real_work = [] if library.is_real else [library.empty("geev", "R", 1, 2 * n)]
    matrices = [by_columns(x), n, *eigenvalues, packed[0], n, packed[1], n]
    library.call_with_workspace("geev", count, *modes, n, *matrices, rest=[*real_work, info])
    vectors = [
        _unpack(columns.swapaxes(-1, -2), *eigenvalues) if mode == "V" else None
        for columns, mode in zip(packed, modes, strict=True)
    ]
    return *eigenvalues, *vectors, info


def _unpack(packed: Array, *eigenvalues: Array) -> Array:
    """Complex eigenvectors; LAPACK packs those of a conjugate pair into two real columns."""
    if len(eigenvalues) == 1:
        return packed
    sign = np.sign(eigenvalues[1])[:, None, :]
    real = np.where(sign < 0, np.roll(packed, 1, -1), packed)
    imaginary = np.where(sign > 0, np.roll(packed, -1, -1), packed)
    vectors = real.astype(np.result_type(packed.dtype, np.complex64))
    vectors.imag = np.where(sign == 0, 0, sign * imaginary)
    return vectors


def _gees(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    (count, n, _), mode = x.shape, parameters["mode"]
    eigenvalues = [library.empty("gees", "T", count, n) for _ in range(2 if library.is_real else 1)]
    columns, vectors = by_columns(x), library.empty("gees", "T", count, n, n)
    selected, info = library.empty("gees", "I", count), library.empty("gees", "I", count)
    real_work = [] if library.is_real else [library.empty("gees", "R", 1, n)]
    # Nothing is sorted: the function that selects and its workspace are not used.
    unused = np.zeros(1)
    matrices = [columns, n, selected, *eigenvalues, vectors, n]
    library.call_with_workspace(
        "gees", count, mode, "N", unused, n, *matrices, rest=[*real_work, unused, info]
    )
    found = vectors.swapaxes(-1, -2) if mode == "V" else None
    return columns.swapaxes(-1, -2), found, *eigenvalues, selected, info


def _gehrd(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    (count, n, _), low, high = x.shape, parameters["low"], parameters["high"]
    if not 1 <= low <= high <= n:
        raise ValueError(f"low {low} and high {high} bound no part of a matrix of order {n}")
    columns, tau = by_columns(x), library.empty("gehrd", "T", count, n - 1)
    info = library.empty("gehrd", "I", count)
    library.call_with_workspace("gehrd", count, n, low, high, columns, n, tau, rest=[info])
    return columns.swapaxes(-1, -2), tau, info


def _sytrd(library: Library, parameters: Parameters, x: Array) -> tuple[Array | None, ...]:
    count, n, _ = x.shape
    name = "sytrd" if library.is_real else "hetrd"
    columns, info = by_columns(x), library.empty(name, "I", count)
    diagonal, off_diagonal = library.empty(name, "R", count, n), library.empty(name, "R", count, n - 1)
    tau = library.empty(name, "T", count, n - 1)
    results = [diagonal, off_diagonal, tau]
    library.call_with_workspace(name, count, parameters["uplo"], n, columns, n, *results, rest=[info])
    return columns.swapaxes(-1, -2), diagonal, off_diagonal, tau, info


def _gtsv(
    library: Library, parameters: Parameters, dl: Array, d: Array, du: Array, b: Array
) -> tuple[Array | None, ...]:
    """LAPACK leaves out the first element of `dl` and the last of `du`, which are outside of the matrix."""
    count, n, columns = b.shape
    dl, d, du = (np.array(diagonal, order="C") for diagonal in (dl, d, du))
    solved, info = by_columns(b), library.empty("gtsv", "I", count)
    library.call("gtsv", count, n, columns, dl[:, 1:], d, du, solved, n, info)
    return dl, d, du, solved.swapaxes(-1, -2), info


_UPLO: Final[dict[str, str | None]] = {"uplo": "LU"}
_SIGNATURES: Final[dict[str, tuple[Compute, str, dict[str, str | None]]]] = {
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


def _shapes(text: str) -> tuple[Shape, ...]:
    return tuple([Shape(*item.split(":")) for item in text.split()])


def _routines() -> Iterator[tuple[str, Routine]]:
    for prefix, library in LIBRARIES.items():
        for name, (compute, signature, parameters) in _SIGNATURES.items():
            if prefix in "sd" and name in ("geev", "gees"):
                # Real matrices have real and imaginary parts of eigenvalues in two results.
                signature = signature.replace(" T:n ", " T:n T:n ")
            operands, results = map(_shapes, signature.split("->"))
            if prefix in "cz":
                name = _COMPLEX_NAMES.get(name, name)
            yield f"lapack_{prefix}{name}_ffi", Routine(library, compute, operands, results, parameters)


ROUTINES: Final = dict(_routines())
"""The routines by the name of their custom call."""
