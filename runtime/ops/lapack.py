"""The custom calls ``lapack_*_ffi`` that JAX emits on a CPU, through the LAPACK that SciPy brings.

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
from .rules import first, same_element_type, same_shape, shapes_agree

if TYPE_CHECKING:
    from .custom_call import CustomCall

_ELEMENTS: Final = {
    "s": {"T": "f32", "R": "f32", "C": "complex<f32>"},
    "d": {"T": "f64", "R": "f64", "C": "complex<f64>"},
    "c": {"T": "complex<f32>", "R": "f32", "C": "complex<f32>"},
    "z": {"T": "complex<f64>", "R": "f64", "C": "complex<f64>"},
}
"""For each prefix of a routine's name the types that signatures call T (element), R (real), C (complex)."""


Parameters = dict[str, Any]


class Library:
    """SciPy's routines for one element type, found when they are first used."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def __getattr__(self, name: str) -> Any:
        from scipy.linalg import blas, lapack

        routine = getattr(lapack if hasattr(lapack, self.prefix + name) else blas, self.prefix + name)
        setattr(self, name, routine)
        return routine

    def workspace(self, parameters: Parameters, query: Callable[[], Any]) -> int:
        """The workspace that `query` asks for, found for the first problem of a batch and kept with it."""
        if "lwork" not in parameters:
            size = np.real(query())
            # The size comes as a float, which has been rounded where it has 32 bits.
            parameters["lwork"] = int(np.nextafter(np.float32(size), np.float32(np.inf)))
        lwork: int = parameters["lwork"]
        return lwork


Compute = Callable[..., tuple[Any, ...]]
"""Called with a Library, the parameters, and the matrices of one problem; returns its results.

A result that the parameters do not ask for, whose values are open, is 0."""


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
        compute: runs it on one problem.
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
        name = "i32" if shape.elements == "I" else _ELEMENTS[self.library.prefix][shape.elements]
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
        """Solve all problems of a batch, one after the other."""
        given: Any = view.configuration
        parameters = {
            name: given[name] if allowed is None else chr(given[name])
            for name, allowed in self.parameters.items()
        }
        matrices = [
            _reread(operand, _layout(view.operand_layouts, position, operand), _columns(operand, shape))
            for position, (operand, shape) in enumerate(zip(operands, self.operands, strict=True))
        ]
        results = self._solve(parameters, matrices, [type.shape for type in view.results])
        return tuple(
            [
                _reread(result, _columns(result, shape), _layout(view.result_layouts, position, result))
                for position, (result, shape) in enumerate(zip(results, self.results, strict=True))
            ]
        )

    def _solve(
        self, parameters: Parameters, matrices: Sequence[Array], shapes: Sequence[tuple[int, ...]]
    ) -> list[Array]:
        names = _ELEMENTS[self.library.prefix] | {"I": "i32"}
        dtypes = [ELEMENT_TYPES[names[shape.elements]].dtype for shape in self.results]
        if any(matrix.size == 0 for matrix in matrices):
            return [np.zeros(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
        results = [np.empty(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
        problems = zip(*map(_as_list, matrices, self.operands), strict=True)
        targets = list(map(_as_list, results, self.results))
        for position, problem in enumerate(problems):
            solved = self.compute(self.library, parameters, *problem)
            for target, value in zip(targets, solved, strict=True):
                if np.ndim(value) and target.shape[1:] != np.shape(value):
                    raise ValueError(f"gives {np.shape(value)} where {target.shape[1:]} is declared")
                target[position] = value
        return results


def _as_list(batch: Array, shape: Shape) -> Array:
    """A batch of any dimensions as one of one dimension."""
    rank = batch.ndim - len(shape.letters)
    return batch.reshape(math.prod(batch.shape[:rank]), *batch.shape[rank:])


def _layout(layouts: Sequence[Sequence[int]] | None, position: int, array: Array) -> Sequence[int]:
    """An array's dimensions, the one whose elements are neighbours first; by default the last dimension."""
    return range(array.ndim)[::-1] if layouts is None else layouts[position]


def _columns(array: Array, shape: Shape) -> Sequence[int]:
    """The layout in which LAPACK has a batch of matrices or vectors."""
    order = list(range(array.ndim))[::-1]
    if len(shape.letters) == 2:
        order[:2] = order[1::-1]
    return order


def _reread(array: Array, written: Sequence[int], read: Sequence[int]) -> Array:
    """An array of the same shape whose buffer in layout `read` is that of `array` in layout `written`."""
    if list(written) == list(read):
        return array
    buffer = array.transpose(written[::-1]).ravel()
    stored = buffer.reshape([array.shape[dimension] for dimension in read[::-1]])
    return stored.transpose(np.argsort(read[::-1]))


def _potrf(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    factor, info = library.potrf(x, lower=parameters["uplo"] == "L", clean=False)
    return factor, info


def _geqrf(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    size = library.workspace(parameters, lambda: library.geqrf_lwork(*x.shape)[0])
    factors, tau, *_ = library.geqrf(x, lwork=size)
    return factors, tau


def _orgqr(library: Library, parameters: Parameters, x: Array, tau: Array) -> tuple[Any, ...]:
    generate = library.orgqr if library.prefix in "sd" else library.ungqr
    size = library.workspace(parameters, lambda: generate(x, tau, lwork=-1)[1][0])
    matrix, _, info = generate(x, tau, lwork=size)
    if info:
        raise ValueError(f"no {x.shape[0]}x{x.shape[1]} matrix is the product of {len(tau)} reflectors")
    return (matrix,)


def _ormqr(library: Library, parameters: Parameters, x: Array, tau: Array, c: Array) -> tuple[Any, ...]:
    real = library.prefix in "sd"
    rows = c.shape[0 if parameters["left"] else 1]
    if x.shape[0] != rows or not len(tau) <= min(rows, x.shape[1]):
        raise ValueError(
            f"{len(tau)} reflectors in a {x.shape[0]}x{x.shape[1]} matrix do not fit the product"
        )
    side = "L" if parameters["left"] else "R"
    transpose = ("T" if real else "C") if parameters["transpose"] else "N"
    multiply = library.ormqr if real else library.unmqr
    reflectors = x[:, : len(tau)]
    size = library.workspace(parameters, lambda: multiply(side, transpose, reflectors, tau, c, -1)[1][0])
    return (multiply(side, transpose, reflectors, tau, c, size)[0],)


def _geqp3(library: Library, parameters: Parameters, x: Array, pivots: Array) -> tuple[Any, ...]:
    if pivots.any():
        raise ValueError("columns that are to come first are not offered")
    size = library.workspace(parameters, lambda: library.geqp3(x, lwork=-1)[3][0])
    factors, order, tau, *_ = library.geqp3(x, lwork=size)
    return factors, order, tau


def _syevd(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    solve = library.syevd if library.prefix in "sd" else library.heevd
    eigenvalues, vectors, info = solve(
        x, compute_v=parameters["mode"] == "V", lower=parameters["uplo"] == "L"
    )
    return vectors, eigenvalues, info


def _singular_values(name: str) -> Compute:
    """GESDD, which divides and conquers, or GESVD, which iterates."""

    def compute(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
        options = {"compute_uv": parameters["mode"] != "N", "full_matrices": parameters["mode"] != "S"}
        query, solve = getattr(library, f"{name}_lwork"), getattr(library, name)
        size = library.workspace(parameters, lambda: query(*x.shape, **options)[0])
        u, singular_values, vt, info = solve(x, lwork=size, **options)
        if parameters["mode"] == "N":
            u = vt = 0
        return x, singular_values, u, vt, info

    return compute


def _getrf(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    factors, pivots, info = library.getrf(x)
    return factors, pivots + 1, info


def _trsm(library: Library, parameters: Parameters, x: Array, y: Array) -> tuple[Any, ...]:
    solved = library.trsm(
        1,
        x,
        y,
        side=parameters["side"] == "R",
        lower=parameters["uplo"] == "L",
        trans_a="NTC".index(parameters["trans_x"]),
        diag=parameters["diag"] == "U",
    )
    return (solved,)


def _geev(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    wanted = {
        "compute_vl": parameters["compute_left"] == "V",
        "compute_vr": parameters["compute_right"] == "V",
    }
    size = library.workspace(parameters, lambda: library.geev_lwork(len(x), **wanted)[0])
    *eigenvalues, left, right, info = library.geev(x, lwork=size, **wanted)
    vectors = [
        _unpack(packed, *eigenvalues) if compute else 0
        for packed, compute in zip((left, right), wanted.values(), strict=True)
    ]
    return *eigenvalues, *vectors, info


def _unpack(packed: Array, *eigenvalues: Array) -> Array:
    """Complex eigenvectors; LAPACK packs those of a conjugate pair into two real columns."""
    if len(eigenvalues) == 1:
        return packed
    imaginary = eigenvalues[1]
    vectors = packed.astype(np.result_type(packed.dtype, np.complex64))
    (firsts,) = np.nonzero(imaginary > 0)
    vectors[:, firsts] = packed[:, firsts] + 1j * packed[:, firsts + 1]
    vectors[:, firsts + 1] = vectors[:, firsts].conj()
    return vectors


def _gees(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    def select(*eigenvalue: float) -> int:
        """Not called: nothing is sorted."""
        return 0

    wanted = {"compute_v": parameters["mode"] == "V", "sort_t": 0}
    size = library.workspace(parameters, lambda: library.gees(select, x, lwork=-1, **wanted)[-2][0])
    form, selected, *eigenvalues, vectors, _, info = library.gees(select, x, lwork=size, **wanted)
    return form, vectors if wanted["compute_v"] else 0, *eigenvalues, selected, info


def _gehrd(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    bounds = {"lo": parameters["low"] - 1, "hi": parameters["high"] - 1}
    size = library.workspace(parameters, lambda: library.gehrd_lwork(len(x), **bounds)[0])
    form, tau, info = library.gehrd(x, lwork=size, **bounds)
    return form, tau, info


def _sytrd(library: Library, parameters: Parameters, x: Array) -> tuple[Any, ...]:
    lower = parameters["uplo"] == "L"
    name = "sytrd" if library.prefix in "sd" else "hetrd"
    query = getattr(library, f"{name}_lwork")
    size = library.workspace(parameters, lambda: query(len(x), lower=lower)[0])
    form, diagonal, off_diagonal, tau, info = getattr(library, name)(x, lower=lower, lwork=size)
    return form, diagonal, off_diagonal, tau, info


def _gtsv(
    library: Library, parameters: Parameters, dl: Array, d: Array, du: Array, b: Array
) -> tuple[Any, ...]:
    """LAPACK leaves out the first element of `dl` and the last of `du`, which are outside of the matrix."""
    dl_out, du_out = dl.copy(), du.copy()
    dl_out[1:], d_out, du_out[:-1], solved, info = library.gtsv(dl[1:], d, du[:-1], b)
    return dl_out, d_out, du_out, solved, info


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
    for prefix in _ELEMENTS:
        library = Library(prefix)
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
