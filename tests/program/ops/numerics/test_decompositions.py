"""`Options(linear_algebra=...)`: kernels of linear algebra, or LAPACK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.cli import main
from nimblehlo.jax import settings
from nimblehlo.program.ops.numerics import lapack_library
from nimblehlo.program.ops.numerics.decompositions import has_kernels

Array = np.ndarray[Any, Any]

ORDER = 40
TYPE = f"tensor<{ORDER}x{ORDER}xf32>"
CHOLESKY = f"%0 = stablehlo.cholesky %a, lower = true : {TYPE}"
SOLVE = (
    '%0 = "stablehlo.triangular_solve"(%a, %a) {left_side = true, lower = true, unit_diagonal = false, '
    f"transpose_a = #stablehlo<transpose NO_TRANSPOSE>}} : ({TYPE}, {TYPE}) -> {TYPE}"
)
LU = (
    "%0, %pivots, %info = stablehlo.custom_call @lapack_sgetrf_ffi(%a) {api_version = 4 : i32} : "
    f"({TYPE}) -> ({TYPE}, tensor<{ORDER}xi32>, tensor<i32>)"
)
BRANCH = f"""%c = stablehlo.constant dense<true> : tensor<i1>
%0 = "stablehlo.if"(%c) ({{
  %1 = stablehlo.cholesky %a, lower = true : {TYPE}
  stablehlo.return %1 : {TYPE}
}}, {{
  stablehlo.return %a : {TYPE}
}}) : (tensor<i1>) -> {TYPE}"""
ROUTINES = {"potrf": CHOLESKY, "trsm": SOLVE, "getrf": LU, "potrf in a branch": BRANCH}


def program(body: str) -> str:
    return f"func.func @main(%a: {TYPE}) -> {TYPE} {{\n{body}\nreturn %0 : {TYPE}\n}}"


def operand() -> Array:
    a = np.random.default_rng(0).normal(size=(ORDER, ORDER)).astype(np.float32)
    product: Array = a @ a.T + np.eye(ORDER, dtype=np.float32)
    return product


@pytest.mark.skipif(not has_kernels(), reason="LAPACK serves in any case")
@pytest.mark.parametrize("compile", ["eager", "never"])
@pytest.mark.parametrize("routine", ROUTINES)
def test_the_library_serves_where_it_is_asked_for(
    routine: str, compile: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    original = lapack_library.Library.call

    def call(library: lapack_library.Library, name: str, *arguments: Any) -> Any:
        called.append(name)
        return original(library, name, *arguments)

    monkeypatch.setattr(lapack_library.Library, "call", call)
    text, a = program(ROUTINES[routine]), operand()
    (own,) = nimblehlo.execute(text, [a], options=Options(compile=compile))
    assert not called
    options = Options(compile=compile, linear_algebra="library")
    (other,) = nimblehlo.execute(text, [a], options=options)
    assert called == [routine.split()[0]]
    np.testing.assert_allclose(other, own, rtol=1e-3, atol=1e-3)


def test_small_problems_of_compiled_programs_take_the_library() -> None:
    """Native code that calls kernels, and that which calls the library, is not shared."""
    body = SOLVE.replace(str(ORDER), "4")
    text = program(body).replace(str(ORDER), "4")
    a = operand()[:4, :4].copy()
    texts = [
        nimblehlo.compile(text, options=Options(linear_algebra=choice)).explain("program")  # type: ignore[arg-type]
        for choice in ("reproducible", "library")
    ]
    assert ["by_library" in text for text in texts] == [False, True]
    for choice in ("reproducible", "library"):
        options = Options(compile="eager", linear_algebra=choice)  # type: ignore[arg-type]
        (x,) = nimblehlo.execute(text, [a], options=options)
        np.testing.assert_allclose(np.tril(a) @ x, a, rtol=1e-4, atol=1e-4)


def test_where_it_is_set(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """By the command line, and by the settings of JAX's programs."""
    assert settings.parse("linear_algebra=library").options == Options(linear_algebra="library")
    path = tmp_path / "program.mlir"
    path.write_text(program(CHOLESKY))
    assert main(["explain", str(path), "--linear-algebra", "library"]) == 0
    assert "[kernel: LAPACK]" in capsys.readouterr().out
    with pytest.raises(ValueError, match="linear_algebra is 'fast', but must be one of"):
        Options(linear_algebra="fast")  # type: ignore[arg-type]
