"""Programs from paths, bytes, and the objects of jaxlib and JAX."""

import io
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from nimblehlo.errors import ParseError, UnsupportedError
from nimblehlo.program.frontend.loader import load_ir
from nimblehlo.program.ir.fingerprint import fingerprint

TEXT = """module @m {
  func.func @main(%a: tensor<2xf32>) -> tensor<2xf32> {
    return %a : tensor<2xf32>
  }
}
"""


@pytest.mark.parametrize("make", [str, Path, os.fsencode, lambda path: Path(path).read_text()])
def test_text_and_paths(tmp_path: Path, make: object) -> None:
    path = tmp_path / "model.mlir"
    path.write_text(TEXT)
    given = make(str(path))  # type: ignore[operator]
    if isinstance(given, bytes):
        given = Path(os.fsdecode(given)).read_bytes()
    assert fingerprint(load_ir(given)) == fingerprint(load_ir(TEXT))


def test_errors_name_the_file(tmp_path: Path) -> None:
    path = tmp_path / "model.mlir"
    path.write_text("module {\n  foo.oops\n}")
    with pytest.raises(UnsupportedError, match=r"model\.mlir:2:3"):
        load_ir(path)
    path.write_text("module {\n  = \n}")
    with pytest.raises(ParseError, match=r"model\.mlir:2:3"):
        load_ir(str(path))


@pytest.mark.parametrize("given", ["absent/model.mlir", Path("absent"), b"\xff\xfe\x00", "\0", b"ML\xefR"])
def test_what_cannot_be_read(given: object) -> None:
    with pytest.raises((ParseError, UnsupportedError)):
        load_ir(given)


@pytest.mark.parametrize("given", [3, None, object(), np.zeros(3), {}])
def test_what_is_no_program(given: object) -> None:
    with pytest.raises(UnsupportedError, match="expected text"):
        load_ir(given)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ParseError, match="cannot read"):
        load_ir(tmp_path)


def test_objects_and_bytecode(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    export = pytest.importorskip("jax.export")
    stablehlo = pytest.importorskip("jaxlib.mlir.dialects.stablehlo")
    argument = jax.ShapeDtypeStruct((3,), np.float32)

    def function(x: object) -> object:
        return jax.numpy.sin(x) @ jax.numpy.arange(3.0) + np.float32(1.5)

    lowered = jax.jit(function).lower(argument)
    module = lowered.compiler_ir("stablehlo")
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    lowered_text = lowered.as_text()
    digest = fingerprint(load_ir(lowered_text))
    assert fingerprint(load_ir(lowered)) == digest
    assert fingerprint(load_ir(module)) == digest
    assert fingerprint(load_ir(written.getvalue())) == digest
    # This rewrites the module.
    artifact = stablehlo.serialize_portable_artifact(module, "1.9.0")
    path = tmp_path / "model.vhlo"
    path.write_bytes(artifact)
    # An artifact holds default values too, so that the structure is not the same.
    names = [each.name for each in load_ir(lowered_text).walk()]
    assert [each.name for each in load_ir(path).walk()] == names
    located = load_ir(memoryview(artifact))
    assert [each.name for each in located.walk()] == names
    assert "test_loader.py" in str(next(located.walk()).location)
    exported = export.export(jax.jit(function))(argument)
    assert list(load_ir(exported).functions) == ["main"]
    plain = written.getvalue()
    for broken in (artifact[:-3], artifact[:100] + b"\xff" * 40 + artifact[140:], plain[:-3], plain[:20]):
        with pytest.raises(ParseError, match="malformed bytecode"):
            load_ir(broken)
    # Other producers write artifacts too: their operations tell what they are.
    anonymous = artifact.replace(b"StableHLO_v1.9.0", b"MLIRxxx-trunk...")
    assert [each.name for each in load_ir(anonymous).walk()] == names
    newer = artifact.replace(b"StableHLO_v1.9.0", b"StableHLO_v9.9.9")[:-3]
    with pytest.raises(UnsupportedError, match=r"of StableHLO 9\.9\.9, but versions up to 1\."):
        load_ir(newer)


def test_parsing_imports_what_few_programs_need_for_these_alone() -> None:
    script = (
        "import sys, numpy\nothers = set(sys.modules)\n"
        f"from nimblehlo.program.frontend.loader import load_ir\nload_ir({TEXT!r})\n"
        "few = {'jax', 'jaxlib', 'scipy', 'numba', 'ml_dtypes', 'tempfile'}\n"
        "print(sorted(few & set(sys.modules) - others))"
    )
    finished = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert finished.stdout.strip() == "[]"
