"""Inputs from files of named arrays, and results in such files."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import ml_dtypes
import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, UnsupportedError
from nimblehlo.cli import main
from nimblehlo.execution.array_archives import read_archive, write_archive
from nimblehlo.program.frontend import jaxlib_modules

PROGRAM = """
func.func @main(%a: tensor<2xf32>{first}, %b: tensor<2xbf16>{second}) -> tensor<2xf32> {{
  %0 = stablehlo.convert %b : (tensor<2xbf16>) -> tensor<2xf32>
  %1 = stablehlo.subtract %a, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}}
"""
A, B = np.array([5, 7], np.float32), np.array([1, 2], np.float32).astype(ml_dtypes.bfloat16)
EXPECTED = [4, 5]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "plain.mlir").write_text(PROGRAM.format(first="", second=""))
    named = PROGRAM.format(first=' {jax.arg_info = "model.a"}', second=' {jax.arg_info = "model.b"}')
    (tmp_path / "named.mlir").write_text(named)
    np.savez(tmp_path / "arrays.npz", **{"model.b": B.view("V2"), "model.a": A, "other": np.zeros(1)})
    np.savez(tmp_path / "unnamed.npz", A, B.view("V2"))
    np.save(tmp_path / "a.npy", A)
    return tmp_path


LOCATED = """
func.func @main(%x: tensor<2xf32> loc("model.a"("f.py":3:1)), %y: tensor<2xbf16> loc(#second))
    -> tensor<2xf32> {
  %0 = stablehlo.convert %y : (tensor<2xbf16>) -> tensor<2xf32>
  %1 = stablehlo.subtract %x, %0 : tensor<2xf32>
  return %1 : tensor<2xf32>
}
#second = loc("model.b")
"""


def run(folder: Path, program: str, *arguments: str, output: str = "out.npz") -> Any:
    files = [str(folder / each) if (folder / each).exists() else each for each in arguments]
    assert main(["run", str(folder / program), *files, "--output", str(folder / output)]) == 0
    return folder / output


def test_arguments_are_found_by_their_own_names(folder: Path) -> None:
    assert np.load(run(folder, "named.mlir", "--input", "arrays.npz"))["result_0"].tolist() == EXPECTED


def test_arrays_without_names_are_in_order(folder: Path) -> None:
    assert np.load(run(folder, "plain.mlir", "--input", "unnamed.npz"))["result_0"].tolist() == EXPECTED


@pytest.mark.parametrize(
    ("names", "inputs"),
    [
        (["model.a", "model.b"], ["arrays.npz"]),
        ({"0": "model.a", "1": "model.b"}, ["arrays.npz"]),
        ([None, "model.b"], ["arrays.npz", "a.npy"]),
    ],
)
def test_names_from_a_file(folder: Path, names: Any, inputs: list[str]) -> None:
    (folder / "names.json").write_text(json.dumps(names))
    output = run(folder, "plain.mlir", "--input", *inputs, "--names", "names.json")
    assert np.load(output)["result_0"].tolist() == EXPECTED


def test_an_object_of_names_keeps_the_others(folder: Path) -> None:
    np.savez(folder / "other.npz", **{"weight": A, "model.b": B.view("V2")})
    (folder / "names.json").write_text(json.dumps({"model.a": "weight"}))
    output = run(folder, "named.mlir", "--input", "other.npz", "--names", "names.json")
    assert np.load(output)["result_0"].tolist() == EXPECTED


@pytest.mark.parametrize(
    ("program", "names", "message"),
    [
        ("named.mlir", {"model.a": "modl.a"}, "argument 0 is 'modl.a', which is not among the 3 arrays"),
        ("plain.mlir", [None, "model.b"], "argument 0 has no name, and there is no .npy file for it"),
        ("plain.mlir", ["model.a"], "must have a list of 2 names"),
        ("plain.mlir", {"2": "model.a"}, "must have a list of 2 names"),
    ],
)
def test_names_that_do_not_fit_are_told(
    folder: Path, program: str, names: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "names.json").write_text(json.dumps(names))
    arguments = ["--input", str(folder / "arrays.npz"), "--names", str(folder / "names.json")]
    assert main(["run", str(folder / program), *arguments]) == 1
    assert message in capsys.readouterr().err


def npy(header: str, data: bytes = b"") -> bytes:
    """An .npy file whose header may state anything."""
    encoded = header.encode()
    return b"\x93NUMPY\x01\x00" + len(encoded).to_bytes(2, "little") + encoded + data


HUGE = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000000000,)}\n")
"""States an array of 4 PB."""
CUT = npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9,)}\n", b"1234")
NESTED = npy("{'descr': '<f4', 'fortran_order': False, 'shape': " + "(" * 5000 + "}\n")


@pytest.mark.parametrize(
    ("member", "content", "reason"),
    [
        ("a.npy", HUGE, "has arrays that need more memory than there is"),
        ("a.npy", NESTED, "is not a file of arrays (.npz)"),
        ("a.npy", npy("{'descr': '<f4', 'shape': (\n"), "is not a file of arrays (.npz)"),
        ("a.npy", CUT, "is not a file of arrays (.npz)"),
        ("a.txt", b"text", "is not a file of arrays (.npz)"),
    ],
)
def test_an_archive_of_malformed_arrays_is_told(
    folder: Path, member: str, content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(folder / "bad.npz", "w") as archive:
        archive.writestr(member, content)
    assert main(["run", str(folder / "plain.mlir"), "--input", str(folder / "bad.npz")]) == 1
    assert reason in capsys.readouterr().err


def test_an_archive_of_an_unknown_compression_is_told(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with zipfile.ZipFile(folder / "bad.npz", "w") as archive:
        archive.writestr("a.npy", npy("{}\n"))
    content = bytearray((folder / "bad.npz").read_bytes())
    for signature, offset in ((b"PK\3\4", 8), (b"PK\1\2", 10)):
        content[content.index(signature) + offset] = 99
    (folder / "bad.npz").write_bytes(content)
    assert main(["run", str(folder / "plain.mlir"), "--input", str(folder / "bad.npz")]) == 1
    assert "is not a file of arrays (.npz)" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (HUGE, "has an array that needs more memory than there is"),
        (NESTED, "is not a file of an array (.npy)"),
        (b"PK\5\6" + bytes(18), "is not a file of an array (.npy)"),
    ],
)
def test_a_malformed_array_is_told(
    folder: Path, content: bytes, reason: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.npy").write_bytes(content)
    assert main(["run", str(folder / "plain.mlir"), "--input", str(folder / "bad.npy")]) == 1
    assert reason in capsys.readouterr().err


@pytest.mark.parametrize("content", [b"", b"PK", b"\x80\x02K\x01."])
def test_a_malformed_archive_is_told(
    folder: Path, content: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.npz").write_bytes(content)
    assert main(["run", str(folder / "plain.mlir"), "--input", str(folder / "bad.npz")]) == 1
    assert "is not a file of arrays (.npz)" in capsys.readouterr().err


def test_safetensors_without_its_library_names_the_extra(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    assert main(["run", str(folder / "plain.mlir"), "--input", "weights.safetensors"]) == 1
    assert "pip install 'nimblehlo[safetensors]'" in capsys.readouterr().err


@pytest.mark.parametrize("shape", [[1] * 100, [0, 2**62], [0, 2**63]])
def test_tensors_of_shapes_that_no_array_has_are_told(
    shape: list[int], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The library reads such files, whose header states any shape."""

    class Library:
        SafetensorError = OSError
        numpy = SimpleNamespace(load_file=lambda file: np.frombuffer(bytes(4), np.float32).reshape(shape))

        @staticmethod
        def deserialize(content: bytes) -> list[tuple[str, dict[str, object]]]:
            data = bytes(0 if 0 in shape else 4)
            return [("x", {"dtype": "F32", "shape": shape, "data": data})]

    monkeypatch.setattr("nimblehlo.execution.array_archives._safetensors", lambda file: Library)
    file = tmp_path / "x.safetensors"
    file.write_bytes(b"")
    with pytest.raises(ExecutionError, match="the tensor 'x' has a shape that no array has"):
        read_archive(str(file))


def test_safetensors(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = pytest.importorskip("safetensors.numpy")
    library.save_file({"model.b": B, "model.a": A}, folder / "arrays.safetensors")
    output = run(folder, "named.mlir", "--input", "arrays.safetensors", output="out.safetensors")
    assert library.load_file(output)["result_0"].tolist() == EXPECTED
    (folder / "bad.safetensors").write_bytes(b"12345678")
    assert main(["run", str(folder / "plain.mlir"), "--input", str(folder / "bad.safetensors")]) == 1
    assert "is not a file of tensors (.safetensors)" in capsys.readouterr().err


def forms_of(text: str) -> dict[str, bytes]:
    """A program as text in both forms, and as bytecode and an artifact that jaxlib wrote."""
    stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
    module = jaxlib_modules.read_module(text.encode())
    bytecode = io.BytesIO()
    module.operation.write_bytecode(bytecode)
    generic = module.operation.get_asm(enable_debug_info=True, print_generic_op_form=True)
    artifact = stablehlo.serialize_portable_artifact(module, "1.9.0")
    return {
        "text": text.encode(),
        "generic": generic.encode(),
        "bytecode": bytecode.getvalue(),
        "artifact": artifact,
    }


def test_arguments_have_the_names_of_their_locations(folder: Path) -> None:
    for form, content in forms_of(LOCATED).items():
        (folder / form).write_bytes(content)
        assert nimblehlo.compile(content).input_names == ("model.a", "model.b"), form
        assert np.load(run(folder, form, "--input", "arrays.npz"))["result_0"].tolist() == EXPECTED
        # Arrays that NumPy numbered are in the order of the arguments all the same.
        assert np.load(run(folder, form, "--input", "unnamed.npz"))["result_0"].tolist() == EXPECTED


def test_the_name_that_jax_gives_an_argument_precedes_that_of_its_location() -> None:
    text = LOCATED.replace("tensor<2xf32> loc", 'tensor<2xf32> {jax.arg_info = "a"} loc')
    assert nimblehlo.compile(text).input_names == ("a", "model.b")
    text = LOCATED.replace("loc(#second)", "").replace("#second = ", "#unused = ")
    assert nimblehlo.compile(text).input_names == ("model.a", None)


FLOAT8: Final = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"]


@pytest.mark.parametrize("name", FLOAT8)
def test_safetensors_of_float8(tmp_path: Path, name: str) -> None:
    pytest.importorskip("safetensors.numpy")
    values = np.array([1, 2, 4], getattr(ml_dtypes, name))
    write_archive(str(tmp_path / "a.safetensors"), {"a": values, "b": A})
    arrays = read_archive(str(tmp_path / "a.safetensors"))
    assert arrays["a"].dtype == values.dtype
    assert arrays["a"].tolist() == values.tolist()
    assert arrays["b"].tolist() == A.tolist()


def test_a_tensor_of_packed_elements_is_named(tmp_path: Path) -> None:
    pytest.importorskip("safetensors.numpy")
    header = b'{"w":{"dtype":"F4","shape":[2],"data_offsets":[0,1]}}'
    (tmp_path / "a.safetensors").write_bytes(len(header).to_bytes(8, "little") + header + b"\0")
    with pytest.raises(
        UnsupportedError, match="the tensor 'w' has elements of type F4; expected one of BOOL"
    ):
        read_archive(str(tmp_path / "a.safetensors"))


@pytest.mark.parametrize("file", ["out.npz", "out.safetensors"])
def test_a_folder_that_is_missing_is_named(
    folder: Path, file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if file.endswith(".safetensors"):
        pytest.importorskip("safetensors.numpy")
    output = folder / "missing" / file
    arguments = ["--input", str(folder / "arrays.npz"), "--output", str(output)]
    assert main(["run", str(folder / "named.mlir"), *arguments]) == 1
    assert f"No such file or directory: '{output}'" in capsys.readouterr().err
