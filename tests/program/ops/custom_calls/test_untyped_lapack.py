"""LAPACK's custom calls of JAX 0.4, compared with those that JAX writes now."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, VerifyError
from nimblehlo.program.ops.custom_calls.lapack import routine_name
from nimblehlo.program.ops.custom_calls.untyped_lapack import SCALED_ROUTINES, UNTYPED_ROUTINES
from nimblehlo.program.ops.numerics.lapack_library import ELEMENTS
from tests.support.running import assert_same_bits, run_every_way

V, N, L, U = (ord(character) for character in "VNLU")


@dataclass(frozen=True)
class Case:
    """A problem of one routine.

    Attributes:
        scalars: the operands before the matrices, as JAX 0.4 passes them.
        parameters: what JAX writes now in their place.
        operands, results: shapes and elements as in ELEMENTS, of the matrices and of the routine's results.
        before, after: workspace among the results of JAX 0.4.
        order: where the routine's results lie between them; None: in their order.
    """

    scalars: tuple[int, ...]
    parameters: str
    operands: str
    results: str
    before: str = ""
    after: str = ""
    order: tuple[int, ...] | None = None


REAL = {
    "trsm": Case(
        (1, 1, 0, 0, 3, 2, 1), f"side = {L}, uplo = {L}, trans_x = {N}, diag = {N}", "3x3T 3x2T", "3x2T"
    ),
    "getrf": Case((2, 3, 3), "", "2x3x3T", "2x3x3T 2x3I 2xI"),
    "geqrf": Case((1, 3, 2, 64), "", "3x2T", "3x2T 2T", after="I 64T"),
    "orgqr": Case((1, 3, 2, 2, 64), "", "3x2T 2T", "3x2T", after="I 64T"),
    "potrf": Case((0, 1, 3), f"uplo = {U}", "3x3T", "3x3T I"),
    "gesdd": Case((0, 1, 1, 3, 2, 64), f"mode = {ord('S')}", "3x2T", "3x2T 2R 3x2T 2x2T I", after="16I 64T"),
    "syevd": Case((1, 2, 3), f"mode = {V}, uplo = {L}", "2x3x3T", "2x3x3T 2x3R 2xI", after="64T 16I"),
    "geev": Case(
        (1, 3, N, V),
        f"compute_left = {N}, compute_right = {V}",
        "3x3T",
        "3T 3T 3x3C 3x3C I",
        before="3x3T 3x3T 3x3T",
    ),
    "gees": Case(
        (1, 3, V, N),
        f"mode = {V}, sort = {N}",
        "3x3T",
        "3x3T 3x3T 3T 3T I I",
        order=(0, 2, 3, 1, 4, 5),
    ),
    "gehrd": Case((3, 1, 3, 3, 1, 64), "low = 1, high = 3", "3x3T", "3x3T 2T I", after="64T"),
    "sytrd": Case((3, 1, 3, 1, 64), f"uplo = {L}", "3x3T", "3x3T 3R 2R 2T I", after="64T"),
}
COMPLEX = {
    **REAL,
    "gesdd": Case(
        (1, 1, 1, 3, 2, 64), f"mode = {ord('A')}", "3x2T", "3x2T 2R 3x3T 2x2T I", after="16I 99R 64T"
    ),
    "geev": Case(
        (1, 3, V, V),
        f"compute_left = {V}, compute_right = {V}",
        "3x3T",
        "3T 3x3C 3x3C I",
        before="3x3T 6R",
    ),
    "gees": Case(
        (1, 3, V, N),
        f"mode = {V}, sort = {N}",
        "3x3T",
        "3x3T 3x3T 3T I I",
        after="3R",
        order=(0, 5, 2, 1, 3, 4),
    ),
}


def types(text: str, prefix: str) -> list[str]:
    """The types of ``3x2T 2I``."""
    return [
        f"tensor<{each[:-1]}{'' if each[:-1] == '' or each[-2] == 'x' else 'x'}{ELEMENTS[prefix][each[-1]]}>"
        for each in text.split()
    ]


def flags_of(case: Case) -> list[str]:
    return [
        f"%f{index} = stablehlo.constant dense<{value}> : tensor<i32>"
        for index, value in enumerate(case.scalars)
    ]


def programs(name: str, prefix: str, is_tuple: bool = False) -> tuple[str, str]:
    """The program of JAX 0.4, and the one of today."""
    case = (COMPLEX if prefix in "cz" else REAL)[name]
    operands, wanted = types(case.operands, prefix), types(case.results, prefix)
    typed = routine_name(prefix, name)
    values = ", ".join(f"%x{index}" for index in range(len(operands)))
    arguments = ", ".join(f"%x{index}: {type}" for index, type in enumerate(operands))
    now = f"""func.func @main({arguments}) -> ({", ".join(wanted)}) {{
      %r:{len(wanted)} = stablehlo.custom_call @{typed}({values})
        {{api_version = 4 : i32, backend_config = {{{_codes(case.parameters)}}}}}
        : ({", ".join(operands)}) -> ({", ".join(wanted)})
      return {", ".join(f"%r#{index}" for index in range(len(wanted)))} : {", ".join(wanted)}
    }}"""
    before, after = types(case.before, prefix), types(case.after, prefix)
    declared = [*before, *wanted, *after]
    if case.order is not None:
        declared = [(*wanted, *after)[index] for index in case.order]
    positions = [*range(len(before), len(before) + len(wanted))]
    if case.order is not None:
        positions = [case.order.index(index) for index in range(len(wanted))]
    alpha = ["%alpha"] if name == "trsm" else []
    element = f"tensor<{ELEMENTS[prefix]['T']}>"
    one = "(1.0, 0.0)" if prefix in "cz" else "1.0"
    scalars = [f"%f{index}" for index in range(len(case.scalars))]
    inputs = ["tensor<i32>"] * len(scalars) + [element] * len(alpha) + operands
    results = f"tuple<{', '.join(declared)}>" if is_tuple else f"({', '.join(declared)})"
    taken = [
        f"%t{index} = stablehlo.get_tuple_element %r[{position}] : ({results}) -> {wanted[index]}"
        for index, position in enumerate(positions)
        if is_tuple
    ]
    names = [f"%t{index}" if is_tuple else f"%r#{position}" for index, position in enumerate(positions)]
    target = f"blas_{prefix}trsm" if name == "trsm" else typed.removesuffix("_ffi")
    lines = "\n".join(flags_of(case))
    count = "" if is_tuple else f":{len(declared)}"
    passed = ", ".join([*scalars, *alpha, values])
    old = f"""func.func @main({arguments}) -> ({", ".join(wanted)}) {{
      {lines}
      %alpha = stablehlo.constant dense<{one}> : {element}
      %r{count} = stablehlo.custom_call @{target}({passed}) {{api_version = 2 : i32}}
        : ({", ".join(inputs)}) -> {results}
      {" ".join(taken)}
      return {", ".join(names)} : {", ".join(wanted)}
    }}"""
    return old, now


def _codes(parameters: str) -> str:
    return ", ".join(f"{entry} : ui8" if entry else "" for entry in parameters.split(", "))


def matrices(name: str, prefix: str) -> list[np.ndarray]:
    """Well-conditioned operands: symmetric and diagonally dominant where they are square."""
    case = (COMPLEX if prefix in "cz" else REAL)[name]
    dtype = {"s": np.float32, "d": np.float64, "c": np.complex64, "z": np.complex128}[prefix]
    random = np.random.default_rng(3)
    arrays = []
    for each in case.operands.split():
        shape = tuple(map(int, each[:-1].split("x")))
        array = random.normal(size=shape).astype(dtype)
        if prefix in "cz":
            array += (1j * random.normal(size=shape)).astype(dtype)
        if len(shape) > 1 and shape[-1] == shape[-2]:
            array = array + np.conj(np.swapaxes(array, -1, -2)) + 9 * np.eye(shape[-1], dtype=dtype)
        arrays.append(np.ascontiguousarray(array.astype(dtype)))
    return arrays


@pytest.mark.parametrize("prefix", ["s", "z"])
@pytest.mark.parametrize("name", REAL)
def test_old_calls_give_the_results_of_new_ones(name: str, prefix: str) -> None:
    old, now = programs(name, prefix)
    operands = matrices(name, prefix)
    for got, want in zip(run_every_way(old, *operands), nimblehlo.execute(now, operands), strict=True):
        assert_same_bits(got, want)


def test_each_routine_is_tested() -> None:
    assert len(UNTYPED_ROUTINES) == 4 * len(REAL)


def test_results_may_be_one_tuple() -> None:
    old, now = programs("syevd", "d", is_tuple=True)
    operands = matrices("syevd", "d")
    for got, want in zip(run_every_way(old, *operands), nimblehlo.execute(now, operands), strict=True):
        assert_same_bits(got, want)


@pytest.mark.parametrize("target", SCALED_ROUTINES)
def test_triangular_solves_may_have_alpha(target: str) -> None:
    prefix = target.split("_")[1][0]
    _, text = programs("trsm", prefix)
    element = ELEMENTS[prefix]["T"]
    x, y = matrices("trsm", prefix)
    scaled = text.replace("(%x0, %x1)", "(%x0, %x1, %x2)").replace(
        ") -> (tensor<3x2x", f", %x2: tensor<{element}>) -> (tensor<3x2x", 1
    )
    scaled = scaled.replace(
        f": (tensor<3x3x{element}>, tensor<3x2x{element}>)",
        f": (tensor<3x3x{element}>, tensor<3x2x{element}>, tensor<{element}>)",
    )
    two = np.asarray(2, x.dtype)
    (got,) = run_every_way(scaled, x, y, two)
    (want,) = nimblehlo.execute(text, [x, y * two])
    assert_same_bits(got, want)


def test_malformed_calls_are_rejected() -> None:
    old, _ = programs("potrf", "s")
    one_result = old.replace("%r:2", "%r:1").replace(
        ") -> (tensor<3x3xf32>, tensor<i32>)\n", ") -> tensor<3x3xf32>\n"
    )
    for text, message in (
        (
            old.replace("dense<0> : tensor<i32>", "dense<0.0> : tensor<f32>").replace(
                "(tensor<i32>, t", "(tensor<f32>, t", 1
            ),
            "uplo is tensor<f32>, but must be an integer",
        ),
        (
            old.replace("%f1, %f2, %x0", "%f1, %x0").replace(
                "tensor<i32>, tensor<i32>, tensor<i32>, t", "tensor<i32>, tensor<i32>, t"
            ),
            "3 inputs, but must have 4",
        ),
        (
            one_result.replace(
                "%r#0, %r#1 : tensor<3x3xf32>, tensor<i32>", "%r, %f0 : tensor<3x3xf32>, tensor<i32>"
            ).replace("%r:1", "%r"),
            "1 result, but must have 2",
        ),
    ):
        with pytest.raises(VerifyError, match=message):
            nimblehlo.load(text)


def test_flags_that_lapack_lacks_are_errors() -> None:
    old, _ = programs("geev", "s")
    with pytest.raises(ExecutionError, match="compute_left must be one of NV"):
        nimblehlo.execute(old.replace(f"dense<{N}>", "dense<-1>"), matrices("geev", "s"))
