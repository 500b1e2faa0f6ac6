"""The custom calls that JAX emits on a CPU: all are served or listed as not servable, with XLA's results."""

from __future__ import annotations

import ast
import importlib
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax
from jax.experimental import sparse
from jax.experimental.buffer_callback import buffer_callback

import nimblehlo
from nimblehlo import UnsupportedError, VerifyError
from nimblehlo.program.ops.custom_calls.targets import BUILT_IN
from nimblehlo.program.ops.custom_calls.unsupported_targets import UNSUPPORTED, unsupported_reason
from tests.program.ops.rejections import parse_and_verify, program
from tests.support.running import assert_close, run_every_way, same_bits

Array = np.ndarray[Any, Any]

EMITTERS = {
    "CustomCallOp": "call_target_name",
    "_linalg_ffi_lowering": "target_name",
    "build_ffi_lowering_function": "call_target_name",
    "custom_call": "call_target_name",
    "ffi_call": "target_name",
    "ffi_lowering": "call_target_name",
}
"""The functions of JAX that emit a custom call or give a rule that does, with the target's argument."""


def emitted_targets() -> Iterator[str]:
    """Names of targets in JAX's sources, ``*`` for what is computed.

    Targets whose whole name is computed are left out: they are LAPACK's, which jaxlib registers.
    """
    root = Path(jax.__file__).parent
    for path in root.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if "test" in str(path.relative_to(root)) or not any(f"{name}(" in text for name in EMITTERS):
            continue
        for node in ast.walk(ast.parse(text)):
            name = called(node)
            if name is None:
                continue
            assert isinstance(node, ast.Call)
            named = [keyword.value for keyword in node.keywords if keyword.arg == EMITTERS[name]]
            arguments = named or node.args[:1]
            yield from filter(None, map(text_of, arguments))


def called(node: ast.AST) -> str | None:
    """Which of EMITTERS a node calls."""
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", None)
    return name if name in EMITTERS else None


def text_of(node: ast.AST) -> str | None:
    """The string that an expression is, in part or as a whole."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(part.value if isinstance(part, ast.Constant) else "*" for part in node.values)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "get":
        # ir.StringAttr.get("name")
        return text_of(node.args[0])
    return None


def registered_targets() -> set[str]:
    """The targets that XLA:CPU knows once JAX's lowering rules are imported."""
    importlib.import_module("jax._src.lax.linalg")
    importlib.import_module("jax.experimental.sparse")
    jax.devices("cpu")
    return set(importlib.import_module("jaxlib._jax").custom_call_targets("Host"))


def guaranteed_targets() -> set[str]:
    """The targets that JAX allows in exported programs."""
    names = importlib.import_module("jax._src.export._export")._CUSTOM_CALL_TARGETS_GUARANTEED_STABLE
    return set(names)


def is_known(target: str) -> bool:
    """Whether a target, or a pattern of JAX's, is served, or listed as one that is not."""
    if target in BUILT_IN or unsupported_reason(target) is not None:
        return True
    # Of a pattern such as "*solver_potrf_ffi" each platform's name must be known.
    names = [target.replace("*", platform, 1) for platform in ("cu", "hip")] if "*" in target else []
    return bool(names) and all(unsupported_reason(name) is not None for name in names)


def test_every_target_of_xla_on_a_cpu_is_served() -> None:
    registered = registered_targets()
    assert len(registered) > 60
    assert not {target for target in registered if target not in BUILT_IN}


def test_every_target_of_jax_is_served_or_listed() -> None:
    found = {*emitted_targets(), *guaranteed_targets()} - {"*"}
    assert {"LayoutConstraint", "cpu_csr_sparse_dense_ffi", "ApproxTopK"} <= found
    assert not sorted(target for target in found if not is_known(target))


def test_nothing_is_served_and_listed() -> None:
    assert not [target for target in BUILT_IN for pattern in UNSUPPORTED if fnmatchcase(target, pattern)]


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("InspectSharding", "several devices"),
        ("cusolver_getrf_ffi", "GPUs"),
        ("Eigh", "TPUs"),
        ("tf.call_tf_function", "another process"),
    ],
)
def test_why_a_target_is_not_served(target: str, reason: str) -> None:
    text = program(
        "stablehlo.custom_call", ["tensor<2xf32>"], ["tensor<2xf32>"], f'call_target_name = "{target}"'
    )
    with pytest.raises(UnsupportedError, match=f"there is no target @{target}: .*{reason}"):
        nimblehlo.compile(text)


PLATFORMS = {
    "geqrf": (lambda x: jnp.linalg.qr(x)[1], ["cpu", "cuda"]),
    "getrf": (lambda x: lax.linalg.lu(x)[0], ["cuda", "tpu", "cpu"]),
    "syevd": (lambda x: jnp.linalg.eigvalsh(x), ["tpu", "cpu", "cuda"]),
    "no call": (lambda x: x + jax.random.normal(jax.random.key(0), x.shape), ["cuda", "cpu"]),
}


@pytest.mark.parametrize("name", PLATFORMS)
def test_programs_for_several_platforms(name: str) -> None:
    """Branches of other platforms do not run; as text, such a program takes the platform's number."""
    function, platforms = PLATFORMS[name]
    x = values((4, 4), np.float32) + 4 * np.eye(4, dtype=np.float32)
    exported = export.export(jax.jit(function), platforms=platforms)(x)
    want = [np.asarray(exported.call(x))]
    assert_close(nimblehlo.execute(exported, [x]), want, 1e-5)
    for module in (exported.mlir_module(), exported.mlir_module_serialized):
        executable = nimblehlo.compile(module)
        assert_close(executable(np.int32(platforms.index("cpu")), x), want, 1e-5)
        if name != "no call":
            with pytest.raises(UnsupportedError, match=r"there is no target @.*it is a target of"):
                executable(np.int32(0 if platforms[0] != "cpu" else 1), x)


def test_programs_for_another_platform() -> None:
    exported = export.export(jax.jit(lambda x: lax.linalg.lu(x)[0]), platforms=["cuda"])(np.eye(2))
    with pytest.raises(UnsupportedError, match="no target @cusolver_getrf_ffi: it is a target of GPUs"):
        nimblehlo.compile(exported)


DTYPES = [np.float32, np.float64, np.complex64, np.complex128]


def values(shape: tuple[int, ...], dtype: Any, seed: int = 0) -> Array:
    generator = np.random.default_rng(seed)
    drawn = generator.normal(size=shape) + 1j * generator.normal(size=shape)
    return (drawn if np.dtype(dtype).kind == "c" else drawn.real).astype(dtype)


def same_as_xla(function: Any, *inputs: Any, relative: float) -> list[Array]:
    """What JAX lowers a function to gives what XLA:CPU gives; returns the results."""
    with jax.enable_x64(True):
        lowered = jax.jit(function).lower(*inputs)
        want = [np.asarray(value) for value in jax.tree.leaves(lowered.compile()(*inputs))]
        arrays = [np.asarray(value) for value in jax.tree.leaves(inputs)]
        text = lowered.as_text()
    got = run_every_way(text, *arrays)
    assert_close(got, want, relative)
    return got


@pytest.mark.parametrize("dtype", DTYPES)
def test_tridiagonal_systems_that_may_be_singular(dtype: Any) -> None:
    """Regular ones, ones with rows of zeros, of which pivots are perturbed, and only zeros."""

    def function(systems: Any) -> Any:
        return [lax.linalg.tridiagonal_solve(*one, perturb_singular=True) for one in systems]

    systems = []
    for batch, n, k in (((), 5, 2), ((2, 3), 6, 1), ((), 1, 2), ((4,), 2, 3), ((0,), 3, 1), ((2,), 3, 0)):
        dl, d, du = (values((*batch, n), dtype, seed) for seed in range(3))
        systems.append((dl, d + 4, du, values((*batch, n, k), dtype, 3)))
    n = 7
    dl, d, du, b = (values((n, 2) if seed == 3 else (n,), dtype, seed) for seed in range(4))
    swapped = (dl, d * np.array([1, 1e-9, 1, 0, 1, 1e-9, 1], d.real.dtype), du, b)
    singular = tuple(np.where(np.arange(n) == 3, 0, one) for one in (dl, d, du))
    zeros = (np.zeros_like(dl), np.zeros_like(d), np.zeros_like(du))
    systems += [swapped, (*(one.astype(dtype) for one in singular), b), (*zeros, b)]
    got = same_as_xla(function, systems, relative=2e3 * float(np.finfo(dtype).eps))
    assert all(np.isfinite(result).all() for result in got)
    assert np.abs(got[-1]).max() > 1e6


def test_eigenvectors_of_tridiagonal_matrices() -> None:
    """Inverse iteration solves systems that are singular."""
    d, e = values((9,), np.float32), values((8,), np.float32, 1)
    text = jax.jit(lambda d, e: jax.scipy.linalg.eigh_tridiagonal(d, e)).lower(d, e).as_text()
    assert "tridiagonal_solve_perturbed_ffi" in text
    w, v = run_every_way(text, d, e)
    matrix = np.diag(d) + np.diag(e, 1) + np.diag(e, -1)
    assert np.abs(matrix @ v - v * w).max() < 1e-5
    assert np.abs(v.T @ v - np.eye(9)).max() < 1e-4


@pytest.mark.parametrize("dtype", [*DTYPES, np.int32, np.int64])
def test_sparse_times_dense(dtype: Any) -> None:
    """Compressed rows with unused entries behind the last row, whose columns are outside of the matrix."""
    generator, operands = np.random.default_rng(1), []
    sizes = ((5, 7, 3), (5, 7, None), (1, 1, 1), (0, 3, 2), (3, 0, 2), (3, 4, 0), (60, 90, 17))
    for index, (rows, columns, width) in enumerate(sizes):
        dense = (10 * values((rows, columns), dtype, index)) * (generator.random((rows, columns)) < 0.4)
        row, column = np.nonzero(dense)
        pointers = np.searchsorted(row, np.arange(rows + 1)).astype((np.int32, np.int64)[index % 2])
        data = np.append(dense[row, column], np.ones(2)).astype(dtype)
        padded = np.append(column, [columns, columns]).astype(pointers.dtype)
        rhs = (10 * values((columns,) if width is None else (columns, width), dtype, 9)).astype(dtype)
        operands.append((data, padded, pointers, rhs, (rows, columns)))
    with jax.enable_x64(True):
        matrices = [sparse.BCSR(tuple(map(jnp.asarray, one[:3])), shape=one[4]) for one in operands]
        rights = [one[3] for one in operands]

        def function(matrices: Any, rights: Any) -> Any:
            return [matrix @ right for matrix, right in zip(matrices, rights, strict=True)]

        text = jax.jit(function).lower(matrices, rights).as_text()
        assert text.count("@cpu_csr_sparse_dense_ffi") == len(sizes)
        same_as_xla(function, matrices, rights, relative=1e-5 if dtype in DTYPES[::2] else 1e-13)


CSR = """func.func @main(%d: tensor<3xf32>, %p: tensor<3xi32>, %c: tensor<3xi32>, %x: tensor<4xf32>)
    -> tensor<2xf32> {
  %0 = stablehlo.custom_call @cpu_csr_sparse_dense_ffi(%d, %p, %c, %x) {api_version = 4 : i32}
    : (tensor<3xf32>, tensor<3xi32>, tensor<3xi32>, tensor<4xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""


@pytest.mark.parametrize(
    ("pointers", "columns", "reason"),
    [
        ([0, 1, 4], [0, 1, 2], "row pointers do not ascend"),
        ([0, 2, 1], [0, 1, 2], "row pointers do not ascend"),
        ([-1, 1, 2], [0, 1, 2], "row pointers do not ascend"),
        ([0, 1, 3], [0, 4, 2], "columns range from 0 to 4"),
        ([0, 1, 3], [0, -1, 2], "columns range from -1 to 2"),
    ],
)
def test_storage_that_is_no_matrix_is_undefined(pointers: Any, columns: Any, reason: str) -> None:
    data, x = np.ones(3, np.float32), np.arange(4, dtype=np.float32)
    assert nimblehlo.execute(CSR, [data, np.int32([1, 2, 3]), np.int32([9, 3, 2]), x])[0].tolist() == [3, 2]
    with pytest.raises(nimblehlo.UndefinedBehaviorError, match=reason):
        nimblehlo.execute(CSR, [data, np.int32(pointers), np.int32(columns), x])


def test_differences_of_row_pointers_do_not_wrap() -> None:
    """Each pointer is the one before and a number that is not negative, modulo 2^32."""
    text = CSR.replace("%p: tensor<3xi32>", "%p: tensor<5xi32>").replace("tensor<2xf32>", "tensor<4xf32>")
    text = text.replace("(tensor<3xf32>, tensor<3xi32>", "(tensor<3xf32>, tensor<5xi32>")
    pointers = np.int32([0, 2**31 - 1, -(2**31), -1, 2])
    assert (np.diff(pointers) >= 0).all()
    with pytest.raises(nimblehlo.UndefinedBehaviorError, match="row pointers do not ascend"):
        nimblehlo.execute(
            text, [np.ones(3, np.float32), pointers, np.int32([0, 1, 2]), np.ones(4, np.float32)]
        )


F, P, M = "tensor<3xf32>", "tensor<3xi32>", "tensor<3x2xf32>"


@pytest.mark.parametrize(
    ("target", "operands", "results", "reason"),
    [
        ("cpu_csr_sparse_dense_ffi", [F, P, P], ["tensor<2xf32>"], "four inputs"),
        ("cpu_csr_sparse_dense_ffi", [F, P, P, F], ["tensor<3xf32>"], "3 row pointers, but must be 4"),
        ("cpu_csr_sparse_dense_ffi", [F, P, P, M], ["tensor<2xf32>"], "result"),
        ("cpu_csr_sparse_dense_ffi", [P, P, P, F], ["tensor<2xf32>"], "rhs has elements f32"),
        ("cpu_csr_sparse_dense_ffi", [F, F, P, F], ["tensor<2xf32>"], "must be i32 or i64"),
        ("cpu_csr_sparse_dense_ffi", [M, P, P, F], ["tensor<2xf32>"], "rank 1"),
        ("tridiagonal_solve_perturbed_ffi", [F, F, F], [M], "four inputs"),
        ("tridiagonal_solve_perturbed_ffi", [F, F, F, M], [F], "rank 2"),
        ("tridiagonal_solve_perturbed_ffi", [F, F, P, M], [M], "du has elements i32"),
        ("tridiagonal_solve_perturbed_ffi", [F, F, "tensor<2xf32>", M], [M], "du"),
        ("dce_sink", [F], [F], "no results"),
    ],
)
def test_rejected(target: str, operands: list[str], results: list[str], reason: str) -> None:
    with pytest.raises(VerifyError, match=f"@{target}.*{reason}"):
        parse_and_verify(
            program("stablehlo.custom_call", operands, results, f'call_target_name = "{target}"')
        )


def test_values_that_are_kept_alive() -> None:
    from jax._src.lax.lax import dce_sink_p

    def function(x: Any) -> Any:
        dce_sink_p.bind(x * 2, prevent_mlir_dce=True)
        return x + 1

    lowered = jax.jit(function).lower(np.float32(3))
    assert "@dce_sink" in lowered.as_text()
    assert nimblehlo.execute(lowered, [np.float32(3)])[0] == 4


def test_functions_that_fill_buffers() -> None:
    seen = []

    def fill(context: Any, out: Any, x: Any, y: Any) -> None:
        seen.append((x.writeable, out[0].writeable, context.stage))
        np.asarray(out[0])[...] = np.asarray(x) + np.asarray(y)
        np.asarray(out[1])[0] = 7

    x, y = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    types = [jax.ShapeDtypeStruct((4,), np.float32), jax.ShapeDtypeStruct((4,), np.float32)]
    function = buffer_callback(fill, types, input_output_aliases={1: 1})
    lowered = jax.jit(lambda x, y: function(x, y)).lower(x, y)
    want = [np.asarray(value) for value in lowered.compile()(x, y)]
    got = nimblehlo.execute(lowered, [x, y])
    assert [value.tolist() for value in got] == [[1, 2, 3, 4], [7, 1, 1, 1]]
    assert all(same_bits(np.asarray(a), b) for a, b in zip(got, want, strict=True))
    assert seen[-1][:2] == (False, True)
    assert y.tolist() == [1, 1, 1, 1]
    with pytest.raises(UnsupportedError, match=r"which only a jax\.stages\.Lowered holds"):
        nimblehlo.load(lowered.as_text())
