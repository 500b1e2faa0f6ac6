"""CONTRIBUTING's recipes, followed for a unary function and a reduction that do not exist.

The package is copied and each recipe's files are changed. The operation must then run in every mode with the
reference's bits, as fused code or a kernel, and be known to the partitioner, the sharding of loops, the error
bounds, the sanitizer and the fuzzer.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest

FOLDERS: Final = {"runtime": "nimblehlo", "kernels": "nimblehlo/kernels", "tests": "tests", "tools": "tools"}
"""What is copied, and to where."""


class Recipe(NamedTuple):
    """A recipe of CONTRIBUTING.md, and an operation that is added by it.

    Attributes:
        heading: the words by which the recipe begins.
        max_files: files that it may take, the operation's test included.
        added: what is appended to each file; a file that does not exist is created.
        replaced: for each other file a text, and what stands there afterwards.
        test_file: where the operation's test would stand.
        test: the test, which prints "passed".
    """

    heading: str
    max_files: int
    added: Mapping[str, str]
    replaced: Mapping[str, tuple[str, str]]
    test_file: str
    test: str


UNARY: Final = Recipe(
    heading="**A unary function**",
    max_files=6,
    added={
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
    },
    replaced={
        "runtime/program/ops/framework/op_registry.py": ("erfc lgamma", "erfc lgamma cube"),
    },
    test_file="tests/program/ops/chlo/test_functions.py",
    test="""
import numpy as np
import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.error_bounds import accuracy
from nimblehlo.program.ops.framework.declaration import declarations

text = '''func.func @main(%x: tensor<70x500xTYPE>) -> tensor<70x500xTYPE> {
  %0 = "chlo.cube"(%x) : (tensor<70x500xTYPE>) -> tensor<70x500xTYPE>
  %1 = stablehlo.add %0, %x : tensor<70x500xTYPE>
  return %1 : tensor<70x500xTYPE>
}'''
values = np.random.default_rng(0).normal(size=(70, 500))
values[0, :4] = [0.0, -0.0, np.inf, np.nan]
for type in ("f64", "f32", "bf16"):
    program = nimblehlo.load(text.replace("TYPE", type))
    (x,) = nimblehlo.execute(
        nimblehlo.load(
            "func.func @main(%x: tensor<70x500xf64>) -> tensor<70x500xTYPE> { "
            "%0 = stablehlo.convert %x : (tensor<70x500xf64>) -> tensor<70x500xTYPE>"
            " return %0 : tensor<70x500xTYPE> }".replace("TYPE", type)
        ),
        [values],
    )
    modes = Options(reference=True), Options(compile="never"), Options(compile="eager")
    executables = [nimblehlo.compile(program, options=options) for options in modes]
    reference, numpy, fused = [executable(x)[0] for executable in executables]
    assert "nimblehlo.fusion" in executables[-1].explain("plan"), type
    assert reference.tobytes() == numpy.tobytes() == fused.tobytes(), type
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
""",
)

REDUCTION: Final = Recipe(
    heading="**A reduction, or another operation along a dimension**",
    max_files=9,
    added={
        "runtime/program/ops/reduction/running_sum.py": '''"""Running sums along a dimension."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from ....types import FLOAT, INTEGER, Array, Type
from ..framework import constraints, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import I64
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.elements import index_space


class RunningSum(Op, name="chlo.running_sum"):
    """Each result is the sum of the operand's elements up to its index along `dimension`, from the left."""

    kernel = "kernels.running_sum"
    rounding = Rounding.SUM
    wider = "sum"
    whole_dimension = "dimension"
    partition = "whole_dimension"
    loop_sharding = "whole_dimension"

    operand = Operand(INTEGER | FLOAT)
    dimension = Attribute(I64)
    result = Result(INTEGER | FLOAT)
    C1 = constraints.same_type("operand", "result")

    @constraint
    def C2(self) -> str | None:
        """0 <= dimension < rank(operand)"""
        return rules.in_range("dimension", [self.dimension], 0, self.operand.rank, "the rank of operand")

    def infer(self) -> list[Type]:
        return [self.operand]

    def reference(self, operand: Array) -> Array:
        result = np.empty_like(operand)
        for index in index_space(operand.shape):
            before = list(index)
            before[self.dimension] -= 1
            is_first = before[self.dimension] < 0
            result[index] = operand[index] if is_first else result[tuple(before)] + operand[index]
        return result

    def bind(self) -> Callable[..., Any]:
        return functools.partial(np.add.accumulate, axis=self.dimension, dtype=self.operand.dtype)
''',
        "kernels/reduction/running_sum.py": '''"""Running sums along a dimension, each from the left."""

import math
from collections.abc import Callable

import numpy as np

from ..launch.compilation import flat, kernel
from ..launch.threads import division


def supports(dtype: np.dtype) -> bool:
    """Whether there is a kernel on this type."""
    return dtype in (np.float32, np.float64)


@kernel(parallel=True)
def running_sums(task, size, slices, length, stride, operand, result):
    """The sums of `size` slices, of which neighbouring elements are `stride` elements apart."""
    for number in range(task * size, min((task + 1) * size, slices)):
        index = number // stride * length * stride + number % stride
        total = operand[index]
        result[index] = total
        for _ in range(length - 1):
            index += stride
            total += operand[index]
            result[index] = total


def prepare(
    shape: tuple[int, ...], dtype: np.dtype, dimension: int, *, threads: int | None = None
) -> Callable[[np.ndarray], np.ndarray]:
    """Prepare running sums along a dimension."""
    length, stride = shape[dimension], math.prod(shape[dimension + 1 :])
    slices = math.prod(shape) // length
    tasks, size = division(slices, 2 * length * np.dtype(dtype).itemsize)

    def run(operand: np.ndarray) -> np.ndarray:
        result = np.empty(shape, dtype)
        arguments = (size, slices, length, stride, flat(operand), result.reshape(-1))
        running_sums(tasks, *arguments, threads=threads)
        return result

    return run
''',
        "runtime/compiler/plan/implementations/kernels.py": '''

def running_sum(view: Any, threads: int | None) -> KernelMatch:
    """`nimblehlo.kernels.reduction.running_sum`."""
    from ....kernels.reduction import running_sum

    operand: TensorType = view.operand
    if not running_sum.supports(operand.dtype):
        return f"no kernel on {operand.element_type}"
    arguments = (operand.shape, operand.dtype, view.dimension)
    return KernelImplementation(lambda: running_sum.prepare(*arguments, threads=threads), "running sums")
''',
        "tests/checks/fuzzing/not_interpreted.py": '''

def running_sum(g: Generator) -> None:
    """Running sums along any dimension."""
    operand = g.value(INTEGER | FLOAT)
    if not operand.type.rank:
        raise CannotGenerate("no dimension")
    dimension = g.random.randrange(operand.type.rank)
    g.add("chlo.running_sum", [operand], [operand.type], dimension=dimension)


PRODUCERS.append((0.5, running_sum))
''',
    },
    replaced={
        "runtime/program/ops/framework/op_registry.py": (
            '    "sorting.sort": ',
            '    "reduction.running_sum": {"chlo": "running_sum"},\n    "sorting.sort": ',
        ),
    },
    test_file="tests/program/ops/reduction/test_running_sum.py",
    test='''
import numpy as np
import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.error_bounds import accuracy
from nimblehlo.checks.fuzzing.generator import Generator
from nimblehlo.checks.fuzzing.programs import grow_program
from nimblehlo.compiler.partitioner.partitioner import device_program
from nimblehlo.compiler.specialize.loop_sharding.operand_sharding import operand_sharding
from nimblehlo.program.ops.framework.declaration import Op
from tests.checks.fuzzing import not_interpreted
from tests.support.running import run_every_way

text = """func.func @main(%x: tensor<7x50x9xTYPE>) -> tensor<7x50x9xTYPE> {
  %0 = "chlo.running_sum"(%x) <{dimension = 1 : i64}> : (tensor<7x50x9xTYPE>) -> tensor<7x50x9xTYPE>
  return %0 : tensor<7x50x9xTYPE>
}"""
values = np.random.default_rng(0).normal(size=(7, 50, 9))
values[0, :4, 0] = [0.0, -0.0, np.inf, np.nan]
for type, dtype in ("f64", np.float64), ("f32", np.float32), ("f16", np.float16), ("i8", np.int8):
    with np.errstate(invalid="ignore"):
        x = values.astype(dtype)
    program = nimblehlo.load(text.replace("TYPE", type))
    run_every_way(program, x)
    reference = nimblehlo.execute(program, [x], options=Options(reference=True))[0]
    compiled = nimblehlo.compile(program, options=Options(compile="eager"))
    assert compiled(x)[0].tobytes() == reference.tobytes(), type
    is_kernel = "kernel: running sums" in compiled.explain("plan")
    assert is_kernel == (type in ("f64", "f32")), compiled.explain("plan")

finite = np.nan_to_num(values, posinf=1.0)
program = nimblehlo.load(text.replace("TYPE", "f64"))
estimate = accuracy(program, [finite], draws=2)
errors = np.abs(np.cumsum(finite.astype(np.longdouble), 1) - np.cumsum(finite, 1))
bound = estimate.results[0].bound
assert (bound[1:, 1:] > 0).all() and (errors <= bound).all()
assert np.allclose(estimate.true_errors[0], errors.astype(np.float64), rtol=0.01, atol=1e-17)

sanitized = nimblehlo.compile(program, options=Options(sanitize="non_finite", sanitize_action="collect"))
sanitized(np.full((7, 50, 9), 1e307))
assert [finding.operation for finding in sanitized.findings] == ["chlo.running_sum"], sanitized.findings

(operation, _) = program.functions["main"].body.block.operations
view = Op.of(operation)
assert operand_sharding(view, 2, 3).dims == (2,) and operand_sharding(view, 1, 10) is None

def operations_of_a_device(axes):
    of_argument = f" {{sdy.sharding = #sdy.sharding<@mesh, {axes}>}}"
    of_result = f" {{sdy.sharding = #sdy.sharding_per_value<[<@mesh, {axes}>]>}} : "
    whole = f"""sdy.mesh @mesh = <["x"=2]>
    func.func @main(%x: tensor<8x4xf32>{of_argument}) -> (tensor<8x4xf32>{of_argument}) {{
      %0 = "chlo.running_sum"(%x) <{{dimension = 1 : i64}}> {of_result} (tensor<8x4xf32>) -> tensor<8x4xf32>
      return %0 : tensor<8x4xf32>
    }}"""
    body = device_program(nimblehlo.load(whole), 2).functions["main"].body
    return {one.name: str(one.operands[0].type) for one in body.walk() if one.operands}

rows = operations_of_a_device('[{"x"}, {}]')
assert rows == {"chlo.running_sum": "tensor<4x4xf32>", "func.return": "tensor<4x4xf32>"}, rows
columns = operations_of_a_device('[{}, {"x"}]')
assert columns["stablehlo.all_gather"] == "tensor<8x2xf32>", columns
assert columns["chlo.running_sum"] == "tensor<8x4xf32>", columns

producers = [*not_interpreted.PRODUCERS[-1:]]
for seed in range(20):
    module, inputs = grow_program(Generator(seed), producers).with_arguments()
    names = {one.name for function in module.functions.values() for one in function.body.walk()}
    assert "chlo.running_sum" in names
    run_every_way(module, *inputs)
''',
)


@pytest.mark.usefixtures("unverified")
@pytest.mark.parametrize("recipe", [UNARY, REDUCTION], ids=["unary function", "reduction"])
def test_a_recipe_adds_an_operation(recipe: Recipe, project_root: Path, tmp_path: Path) -> None:
    changed = [*recipe.added, *recipe.replaced]
    assert len({*changed, recipe.test_file}) <= recipe.max_files
    text = (project_root / "CONTRIBUTING.md").read_text().partition(recipe.heading)[2].partition("\n\n")[0]
    for file in map(Path, changed):
        told = (str(file), str(file.parent), file.name)
        assert any(name in text for name in told), f"the recipe does not tell of {file}"
    for folder, target in FOLDERS.items():
        copy(project_root / folder, tmp_path / target)
    for file, added in recipe.added.items():
        change(tmp_path, file, "", added)
    for file, (old, new) in recipe.replaced.items():
        change(tmp_path, file, old, new)
    prints = f"assert nimblehlo.__file__.startswith({str(tmp_path)!r})\nprint('passed')\n"
    environment = {**os.environ, "PYTHONPATH": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-c", recipe.test + prints]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, cwd=tmp_path
    )
    assert ran.stdout.strip() == "passed", ran.stdout + ran.stderr


def copy(source: Path, target: Path) -> None:
    """Link the files of a folder and its folders."""
    for folder, _, files in os.walk(source):
        inner = target / Path(folder).relative_to(source)
        if inner.name != "__pycache__":
            inner.mkdir(parents=True, exist_ok=True)
            for file in files:
                (inner / file).symlink_to(Path(folder) / file)


def change(root: Path, file: str, old: str, new: str) -> None:
    """Replace a text of a file by another one, or append to it; the copy then is a file of its own."""
    folder, _, rest = file.partition("/")
    path = root / FOLDERS[folder] / rest
    text = path.read_text() if path.exists() else ""
    assert old in text, file
    path.unlink(missing_ok=True)
    path.write_text(text.replace(old, new) if old else text + new)
