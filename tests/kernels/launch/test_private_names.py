"""Private names of Numba: `nimblehlo.kernels.launch.private_names`."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.implementation import NoCode
from nimblehlo.compiler.plan.implementations.kernel import KernelImplementation
from nimblehlo.kernels.launch import compilation, private_names
from nimblehlo.kernels.launch.private_names import NUMBA, MissingName, PrivateName

TOP_K = """
func.func @main(%x: tensor<64x500xf32>) -> (tensor<64x3xf32>, tensor<64x3xi32>) {
  %0:2 = chlo.top_k(%x, k = 3) : tensor<64x500xf32> -> (tensor<64x3xf32>, tensor<64x3xi32>)
  return %0#0, %0#1 : tensor<64x3xf32>, tensor<64x3xi32>
}
"""
GONE = PrivateName("numba.core.cgutils", "gone", "a test")
X = np.random.default_rng(1).standard_normal((64, 500)).astype(np.float32)


@pytest.fixture
def probed_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """Numba is probed in the test, and again after it; no code is on the disk, which needs no Numba."""
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path))
    private_names.require_numba()
    for function in (private_names.problem, private_names.require_numba):
        function.cache_clear()
    yield
    for function in (private_names.problem, private_names.require_numba):
        function.cache_clear()


def run() -> tuple[list[np.ndarray], str]:
    """The results of a program with a kernel of Numba, and what `explain` says of its plan."""
    executable = nimblehlo.compile(TOP_K, options=nimblehlo.Options(compile="eager"))
    return executable(X), executable.explain("plan")


@pytest.mark.parametrize("private", NUMBA, ids=lambda private: f"{private.module}.{private.name}")
def test_the_installed_numba_has_each_private_name(private: PrivateName) -> None:
    assert private.get() is not None


def test_the_error_names_what_is_missing() -> None:
    with pytest.raises(MissingName, match=r"numba [\d.]+ has no numba\.core\.cgutils\.gone, which"):
        GONE.get()
    with pytest.raises(MissingName, match=r"numba [\d.]+ has no numba\.gone\.thing, which is needed"):
        PrivateName("numba.gone", "thing", "a test").get()


@pytest.mark.usefixtures("probed_again")
def test_references_run_where_numba_lacks_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    expected, explanation = run()
    assert "top-k selection" in explanation
    monkeypatch.setenv("NIMBLEHLO_CACHE_DIR", str(tmp_path / "empty"))
    private_names.problem.cache_clear()
    private_names.require_numba.cache_clear()
    monkeypatch.setattr(private_names, "NUMBA", (GONE,))
    results, explanation = run()
    for result, right in zip(results, expected, strict=True):
        np.testing.assert_array_equal(result, right)
    assert "has no numba.core.cgutils.gone" in explanation


@pytest.mark.usefixtures("probed_again")
def test_a_reference_stays_where_numba_lacks_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_names, "NUMBA", (GONE,))
    prepared = []
    with pytest.raises(NoCode, match=r"has no numba\.core\.cgutils\.gone"):
        KernelImplementation(lambda: prepared.append, "compiled when called").prepare()
    KernelImplementation(lambda: prepared.append, "compiled ahead", is_compiled_ahead=True).prepare()(X)
    assert len(prepared) == 1


@pytest.mark.usefixtures("probed_again")
def test_references_run_where_numba_cannot_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    """As with a NumPy that is newer than Numba supports: Numba raises ImportError."""
    monkeypatch.setitem(sys.modules, "numba", None)
    _, explanation = run()
    assert "Numba cannot be imported" in explanation


@pytest.mark.usefixtures("probed_again")
def test_a_kernel_that_is_called_without_numba_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_names, "NUMBA", (GONE,))

    @compilation.kernel(parallel=True)
    def double(task, array):
        array[task] += array[task]

    with pytest.raises(MissingName, match=r"has no numba\.core\.cgutils\.gone"):
        double(1, np.ones(1))
