"""CONTRIBUTING's recipe for a unary function, followed for one that does not exist.

The package is copied, the recipe's files are changed, and the function must run, be fused with the
reference's bits, and be known to the partitioner, the error bounds and the sanitizer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

MAX_FILES: Final = 6
"""Files that a new unary function may take, its test included."""

ADDED: Final = {
    "runtime/program/ops/chlo/functions.py": '''

class Cube(ChloRealFunction, name="chlo.cube", functions={FLOAT: special.cube}):
    """The operand to the power of three."""

    cost = costs.INSTRUCTIONS
    emit = Emit(function="exponential.cube", f64_function="exponential.cube")
''',
    "runtime/program/ops/numerics/special_functions.py": '''

def cube(operand: Array) -> Array:
    """The operand to the power of three."""
    result: Array = operand * operand * operand
    return result
''',
    "runtime/compiler/loops/mathematics/exponential.py": '''

def cube(x: Real) -> Real:
    """The operand to the power of three; error 1."""
    return x * x * x
''',
}
"""What the recipe appends, by file."""

NAME: Final = ("runtime/program/ops/framework/op_registry.py", "erfc lgamma", "erfc lgamma cube")
"""The file that names the operation, and how."""

TEST: Final = """
import sys
import numpy as np
import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.error_bounds import accuracy
from nimblehlo.program.ops.framework.declaration import declarations

assert nimblehlo.__file__.startswith({root!r}), nimblehlo.__file__
text = '''func.func @main(%x: tensor<70x500xTYPE>) -> tensor<70x500xTYPE> {{
  %0 = "chlo.cube"(%x) : (tensor<70x500xTYPE>) -> tensor<70x500xTYPE>
  %1 = stablehlo.add %0, %x : tensor<70x500xTYPE>
  return %1 : tensor<70x500xTYPE>
}}'''
values = np.random.default_rng(0).normal(size=(70, 500))
values[0, :4] = [0.0, -0.0, np.inf, np.nan]
for type in ("f64", "f32", "bf16"):
    program = nimblehlo.load(text.replace("TYPE", type))
    (x,) = nimblehlo.execute(
        nimblehlo.load(
            "func.func @main(%x: tensor<70x500xf64>) -> tensor<70x500xTYPE> {{ "
            "%0 = stablehlo.convert %x : (tensor<70x500xf64>) -> tensor<70x500xTYPE>"
            " return %0 : tensor<70x500xTYPE> }}".replace("TYPE", type)
        ),
        [values],
    )
    executables = [nimblehlo.compile(program, options=Options(compile=mode)) for mode in ("never", "eager")]
    reference, fused = [executable(x)[0] for executable in executables]
    assert "nimblehlo.fusion" in executables[1].explain("plan"), type
    assert reference.tobytes() == fused.tobytes(), type
    wide = x.astype(np.float64)
    assert np.allclose(reference.astype(np.float64), wide * wide * wide + wide, rtol=0.01, equal_nan=True)
    bounds = accuracy(program, [x], draws=2)
    assert (np.asarray(bounds.results[0].bound)[1:] > 0).any(), type
large = np.full((70, 500), 1e200)
text = text.replace("TYPE", "f64")
sanitized = nimblehlo.compile(
    text, options=Options(sanitize="non_finite", sanitize_action="collect")
)
sanitized(large)
assert [finding.operation for finding in sanitized.findings] == ["chlo.cube"], sanitized.findings
(cube,) = [one for one in declarations() if one.name == "chlo.cube"]
assert cube.partition == "elementwise" and cube.loop_sharding == "elementwise"
print("passed")
"""
"""What the function's own test checks, which is the recipe's last file."""


@pytest.mark.usefixtures("unverified")
def test_a_unary_function(project_root: Path, tmp_path: Path) -> None:
    assert len({*ADDED, NAME[0], "tests/program/ops/chlo/test_functions.py"}) <= MAX_FILES
    text = (project_root / "CONTRIBUTING.md").read_text().partition("**A unary function**")[2]
    recipe = text.partition("\n\n")[0]
    for file in map(Path, (*ADDED, NAME[0])):
        told = (str(file), str(file.parent), file.name)
        assert any(name in recipe for name in told), f"the recipe does not tell of {file}"
    root = tmp_path / "nimblehlo"
    for folder, target in (("runtime", root), ("kernels", root / "kernels")):
        for source in (project_root / folder).rglob("*"):
            if source.is_file():
                copy = target / source.relative_to(project_root / folder)
                copy.parent.mkdir(parents=True, exist_ok=True)
                copy.symlink_to(source)
    for file, added in ADDED.items():
        change(root, file, "", added)
    change(root, *NAME)
    script = TEST.format(root=str(tmp_path))
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", script]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert ran.stdout.strip() == "passed", ran.stderr


def change(root: Path, file: str, old: str, new: str) -> None:
    """Replace a text of a file by another one, or append to it; the copy then is a file of its own."""
    copy = root / Path(file).relative_to("runtime")
    text = copy.read_text()
    assert old in text, file
    changed = text.replace(old, new) if old else text + new
    copy.unlink()
    copy.write_text(changed)
