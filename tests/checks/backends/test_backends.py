"""Programs on other implementations of StableHLO."""

import importlib.util
import pathlib
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("jax")

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.backends import Backend, BackendError, Description, IsolatedBackend, backend, names
from nimblehlo.checks.backends.constant_inputs import with_constant_inputs
from nimblehlo.errors import UnsupportedError

PROGRAM = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<i1>, %c: tensor<2xcomplex<f64>>)
    -> (tensor<3x2xf32>, tensor<i1>, tensor<2xcomplex<f64>>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.not %b : tensor<i1>
  %2 = stablehlo.negate %c : tensor<2xcomplex<f64>>
  return %0, %1, %2 : tensor<3x2xf32>, tensor<i1>, tensor<2xcomplex<f64>>
}
"""
INPUTS = [
    np.arange(6, dtype=np.float32).reshape(2, 3),
    np.array(True),
    np.array([1 + 2j, complex(np.nan, np.inf)]),
]


def plugin_name() -> str:
    """The name of the project's own plugin, as that of any other one."""
    # A checkout that several interpreters share has a library of each; the import system finds this one's.
    spec = importlib.util.find_spec("nimblehlo.jax.pjrt.plugin")
    assert spec is not None
    return f"pjrt:{spec.origin}"


@pytest.mark.parametrize("name", ["jax:cpu", "interpreter", "nimblehlo", "pjrt", "callable"])
def test_a_backend_runs_a_program(name: str) -> None:
    found: Backend
    if name == "callable":
        found = backend(lambda module, inputs: nimblehlo.execute(module, inputs))
    else:
        found = backend(plugin_name() if name == "pjrt" else name)
    module = nimblehlo.load(PROGRAM)
    for _ in range(2):
        results = found.run(module, INPUTS)
        expected = [INPUTS[0].T, np.array(False), -INPUTS[2]]
        for result, want in zip(results, expected, strict=True):
            assert result.dtype == want.dtype
            np.testing.assert_array_equal(result, want)


@pytest.mark.parametrize("name", ["jax", "onnx:cpu", "interpreter:x", "", "Nimblehlo"])
def test_an_unknown_backend_is_an_error(name: str) -> None:
    with pytest.raises(UnsupportedError, match="there is no backend"):
        backend(name)


def test_settings_of_nimblehlo_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Options | None] = []
    monkeypatch.setattr(names, "NimbleBackend", made.append)
    backend("nimblehlo")
    backend("nimblehlo:eager+threads=2+correctly_rounded")
    backend("nimblehlo:reference")
    expected = Options(compile="eager", threads=2, functions="correctly_rounded")
    assert made == [Options(), expected, Options(reference=True)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("x", "settings of nimblehlo are auto, eager"),
        ("eager+", "settings of nimblehlo are"),
        ("threads=0", "settings of nimblehlo are"),
        ("eager+never", "sets compile twice"),
        ("reference+eager", "references are not compiled"),
    ],
)
def test_wrong_settings_of_nimblehlo(settings: str, message: str) -> None:
    with pytest.raises(UnsupportedError, match=message):
        backend(f"nimblehlo:{settings}")


def test_a_backend_reports_its_library() -> None:
    assert backend("nimblehlo").description == Description()
    of_jax = IsolatedBackend("jax:cpu").description
    assert (of_jax.platform, of_jax.library) == ("cpu", "xla:cpu")
    plugin = backend(plugin_name()).description
    assert (plugin.platform, plugin.library) == ("nimblehlo", "")


@pytest.mark.parametrize("name", ["jax:no_such_platform", "pjrt:/no/such.so", f"pjrt:{__file__}"])
def test_a_backend_that_cannot_be_used_is_an_error(name: str) -> None:
    with pytest.raises(BackendError):
        backend(name)


def test_a_missing_package_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UnsupportedError, match=r"nimblehlo\[jax\]"):
        backend("jax:cpu")


@pytest.mark.parametrize("name", ["jax:cpu", "interpreter"])
def test_a_rejected_program_is_an_error(name: str) -> None:
    module = nimblehlo.load("""
        func.func @main() -> tensor<!quant.uniform<i8:f32, 0.5>> {
          %0 = stablehlo.constant dense<1.0> : tensor<f32>
          %1 = stablehlo.uniform_quantize %0 : (tensor<f32>) -> tensor<!quant.uniform<i8:f32, 0.5>>
          %2 = stablehlo.sqrt %1 : tensor<!quant.uniform<i8:f32, 0.5>>
          return %2 : tensor<!quant.uniform<i8:f32, 0.5>>
        }""")
    found = backend(name)
    with pytest.raises(BackendError):
        found.run(module, [])
    # The interpreter's process ended; the next program gets another one.
    assert len(found.run(nimblehlo.load(PROGRAM), INPUTS)) == 3


def test_a_platform_of_jax_runs_lapack_routines() -> None:
    """Their targets are registered, although no rule of JAX's has been used in the process."""
    import jax

    matrix = np.array([[4, 2], [2, 2]], np.float32)
    module = nimblehlo.load(jax.jit(jax.numpy.linalg.cholesky).lower(matrix))
    (result,) = IsolatedBackend("jax:cpu").run(module, [matrix])
    np.testing.assert_allclose(result, [[2, 0], [1, 1]])


def test_an_exception_of_a_function_becomes_an_error() -> None:
    def broken(module: object, inputs: object) -> list[object]:
        raise KeyError("x")

    with pytest.raises(BackendError, match="broken raised KeyError"):
        backend(broken).run(nimblehlo.load(PROGRAM), INPUTS)


def test_constants_are_hidden_behind_barriers() -> None:
    closed = with_constant_inputs(nimblehlo.load(PROGRAM), INPUTS, hides_constants=True)
    names = [operation.name for operation in closed.walk()]
    assert names[:6] == ["stablehlo.constant", "stablehlo.optimization_barrier"] * 3
    np.testing.assert_array_equal(nimblehlo.execute(nimblehlo.load(str(closed)))[0], INPUTS[0].T)


def test_a_process_that_a_program_ends_is_replaced() -> None:
    """The next one is forked from a process that has imported all it needs."""
    found = IsolatedBackend("jax:cpu")
    ending = nimblehlo.load("""
        func.func @main(%a: tensor<2xf6E2M3FN>) -> tensor<2xf6E2M3FN> {
          %0 = stablehlo.multiply %a, %a : tensor<2xf6E2M3FN>
          return %0 : tensor<2xf6E2M3FN>
        }""")
    (type,) = ending.functions["main"].type.inputs
    for _ in range(2):
        with pytest.raises(BackendError):
            found.run(ending, [np.ones(2, type.dtype)])
        assert len(found.run(nimblehlo.load(PROGRAM), INPUTS)) == 3


def test_a_process_imports_jax_only_for_backends_that_need_it() -> None:
    script = "import sys, nimblehlo.checks.backends.server\nprint({'jax', 'jaxlib'} & set(sys.modules))"
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "set()"


def test_files_of_the_current_folder_do_not_stand_for_modules(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pickle.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.chdir(tmp_path)
    text = "func.func @main(%x: tensor<f32>) -> tensor<f32> { return %x : tensor<f32> }"
    (result,) = IsolatedBackend("nimblehlo").run_text(text, [np.array(2, np.float32)])
    assert result == 2


def test_iree_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(names.importlib.util, "find_spec", lambda name: None)
    for name in ("iree", "iree:vmvx"):
        with pytest.raises(UnsupportedError, match="pip install iree-base-compiler iree-base-runtime"):
            backend(name)


def test_iree_runs_programs() -> None:
    pytest.importorskip("iree.compiler")
    with pytest.raises(UnsupportedError, match="IREE's targets are"):
        backend("iree:cuda")
    module = nimblehlo.load(
        "func.func @main(%x: tensor<2xui8>) -> tensor<2xui8> {\n"
        "  %0 = stablehlo.add %x, %x : tensor<2xui8>\n  return %0 : tensor<2xui8>\n}"
    )
    (result,) = backend("iree").run(module, [np.array([3, 200], np.uint8)])
    assert result.dtype == np.uint8 and result.tolist() == [6, 144]
