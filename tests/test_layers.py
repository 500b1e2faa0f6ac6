"""The layers of the project: an import may only point downwards.

ARCHITECTURE.md tells what each layer is for. A module or package that is new at the top of runtime/ has to be
given its place in `MAY_IMPORT`; a folder or module that is new in a package of several folders, in `FOLDERS`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.import_graph import PACKAGES, circles, header_graph, imports, module_graph, sources

BASE = {"errors", "options", "types"}
PROGRAM = BASE | {"ir", "ops"}

# For each layer what it may import, itself apart: layers, or modules of one.
MAY_IMPORT = {
    "errors": set(),
    "options": {"errors"},
    "types": {"errors"},
    "ir": BASE,
    "ops": BASE
    | {
        "ir",
        "kernels.convolution",
        "kernels.fft",
        "kernels.launch",
        "kernels.linalg",
        "kernels.math",
        "kernels.matmul",
    },
    "frontend": PROGRAM,
    "passes": BASE | {"ir"},
    "specialize": PROGRAM | {"passes"},
    "codegen": PROGRAM | {"kernels"},
    "plan": PROGRAM | {"codegen", "float_errors", "frontend", "kernels", "lru_cache", "passes", "specialize"},
    "executor": BASE | {"float_errors", "kernels.launch", "plan"},
    "grid": PROGRAM | {"executor", "kernels.launch", "plan"},
    "float_errors": set(),
    "memory": {"kernels.launch"},
    "lru_cache": set(),
    "kernels": set(),
}

# What users call lies on top, and may import everything below it, and each other.
TOP = {
    "__init__",
    "__main__",
    "api",
    "array_files",
    "backends",
    "boundary",
    "checking",
    "cli",
    "commands",
    "differences",
    "dlpack",
    "error_bounds",
    "explanation",
    "explorer",
    "fuzzing",
    "inputs",
    "interpreter",
    "jax",
    "minimizer",
    "mpi",
    "partitioner",
    "patterns",
    "profiling",
    "program",
    "progress",
    "sanitizer",
    "testing",
    "timed_calls",
    "transforms",
    "verification",
}

# For each folder or module of a package what it may import of that package, itself apart.
FOLDERS: dict[str, dict[str, set[str]]] = {
    "kernels": {
        "launch": set(),
        "math": set(),
        "random": set(),
        "simd": {"launch"},
        "convolution": {"launch"},
        "exploration": {"launch"},
        "fft": {"launch", "simd"},
        "indexing": {"launch", "simd"},
        "linalg": {"launch", "simd"},
        "matmul": {"launch", "simd"},
        "reduction": {"launch", "simd"},
        "sorting": {"launch", "simd"},
    },
    "ops": {
        "framework": set(),
        "numerics": {"framework"},
        "testing": {"framework"},
        "elementwise": {"framework", "numerics"},
        "shape": {"framework", "numerics"},
        "reduction": {"elementwise", "framework", "numerics", "shape"},
        "indexing": {"framework", "numerics", "reduction", "shape"},
        "contraction": {"elementwise", "framework", "numerics", "reduction", "shape"},
        "custom_calls": {"chlo", "collectives", "framework", "numerics", "reduction", "shape", "testing"},
        "control": {"custom_calls", "framework"},
        "sharding": {"control", "framework", "shape"},
        "collectives": {"framework", "reduction"},
        "chlo": {"contraction", "elementwise", "framework", "numerics", "shape"},
        "internal": {"framework", "indexing", "reduction", "shape"},
    },
    "specialize": {
        "utils": set(),
        "shapes": set(),
        "sharding": set(),
        "scatter_granularity": set(),
        "process_ids": set(),
        "replace_calls": set(),
        "rewrites": {"utils"},
        "forward": {"replace_calls", "rewrites", "shapes", "utils"},
        "inline": {"replace_calls", "sharding"},
        "fusion": {"rewrites", "utils"},
        "gspmd": {"utils"},
        "loop_sharding": {"utils"},
        "outlining": {"fusion", "utils"},
        "stages": {"forward", "fusion", "gspmd", "inline", "outlining", "process_ids", "rewrites", "utils"},
    },
    "codegen": {
        "description": set(),
        "llvm": set(),
        "coverage": {"llvm"},
        "cost": {"coverage"},
        "mathematics": {"coverage", "llvm"},
        "elementwise": {"coverage", "llvm", "mathematics"},
        "blocks": {"cost", "coverage", "elementwise", "llvm"},
        "nests": {"cost", "elementwise", "llvm"},
        "regions": {"blocks", "coverage", "llvm"},
        "reductions": {"blocks", "cost", "coverage", "elementwise", "llvm", "nests", "regions"},
        "arrays": {
            "blocks",
            "cost",
            "coverage",
            "description",
            "elementwise",
            "llvm",
            "nests",
            "regions",
        },
        "native_loop": {"arrays", "blocks", "coverage", "llvm"},
        "steps": {"arrays", "blocks", "coverage", "llvm", "regions"},
    },
    "plan": {
        "implementation": set(),
        "plan": {"implementation"},
        "tiering": {"implementation"},
        "buffer_uses": {"plan"},
        "memory_use": {"buffer_uses", "plan"},
        "implementations": {"implementation", "tiering"},
        "choice": {"implementation", "implementations", "tiering"},
        "fusion_passes": {"implementations"},
        "lowering": {"choice", "fusion_passes", "implementation", "implementations", "plan", "tiering"},
    },
}

# What the loops are made with; everything else that kernels import is Python's own.
KERNEL_LIBRARIES = {"cpython", "libc", "llvmlite", "numba", "numpy"}

MAX_MODULES = 25
"""Modules in one folder: more are not read at a glance."""


def layer_of(name: str) -> str:
    """The layer of a name of the package: the part after `nimblehlo`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in {*MAY_IMPORT, *TOP} else "__init__"


def violations(root: Path) -> list[str]:
    """The imports that point upwards."""
    found = []
    for path, module in sources(root):
        layer = layer_of(module)
        if layer in TOP:
            continue
        for name in imports(path, module):
            if name.split(".")[0] == "nimblehlo":
                target = layer_of(name)
                names = {target, ".".join(name.split(".")[1:3])}
                if target != layer and not names & MAY_IMPORT[layer]:
                    found.append(f"{path.relative_to(root)} ({layer}) imports {name} ({target})")
    return found


def folder_violations(root: Path) -> list[str]:
    """The imports from one folder of a package to another that `FOLDERS` does not list."""
    found = []
    for path, module in sources(root):
        package, folder = _folder_of(module)
        if folder is None:
            continue
        for name in imports(path, module):
            target = _folder_of(name)
            if target[0] == package and target[1] not in {None, folder, *FOLDERS[package].get(folder, set())}:
                found.append(f"{path.relative_to(root)} ({package}.{folder}) imports {name} ({target[1]})")
    return found


def _folder_of(module: str) -> tuple[str, str | None]:
    """The package of `FOLDERS` that a module belongs to, "" for none, and its folder or module there."""
    _, package, folder, *_ = [*module.split("."), "", ""]
    return (package, folder or None) if package in FOLDERS else ("", None)


def test_imports_point_downwards(project_root: Path) -> None:
    assert not violations(project_root), "\n".join(violations(project_root))


def test_native_code_of_references_is_named(project_root: Path) -> None:
    """CONTRIBUTING.md names the kernels that references call, which therefore are no tests of each other."""
    text = (project_root / "CONTRIBUTING.md").read_text()
    _, _, exceptions = text.partition("A reference and a kernel share no code")
    named = set(re.findall(r"`kernels/(\w+)/?`", exceptions.partition("\n\n")[0]))
    called = {name.partition(".")[2] for name in MAY_IMPORT["ops"] if name.startswith("kernels.")}
    # `launch` computes nothing: it says how much memory is left.
    assert named == called - {"launch"}


def test_folders_of_a_package_import_what_the_table_lists(project_root: Path) -> None:
    assert not folder_violations(project_root), "\n".join(folder_violations(project_root))


def test_every_folder_of_a_package_has_its_place(project_root: Path) -> None:
    for package, folders in FOLDERS.items():
        folder = project_root / ("kernels" if package == "kernels" else f"runtime/{package}")
        names = {path.name.split(".")[0] for path in folder.iterdir() if path.suffix != ".pxi"}
        assert names - {"__init__", "__pycache__"} == set(folders), f"compare with FOLDERS[{package!r}]"


def test_abilities_are_declared(project_root: Path) -> None:
    """Plans and the executor ask no object what it can do: `Implementation` declares that."""
    paths = [*(project_root / "runtime" / "plan").rglob("*.py"), project_root / "runtime" / "executor.pyx"]
    for path in paths:
        asking = re.findall(r"hasattr\(\w[^\n]*|getattr\([^\n]+,[^\n]+,[^\n]+\)", path.read_text())
        asking = [text for text in asking if not text.startswith("hasattr(os, ")]
        assert not asking, f"{path.relative_to(project_root)}: {asking}"


def test_no_modules_import_each_other_in_a_circle(project_root: Path) -> None:
    assert not circles(module_graph(project_root))
    assert not circles(header_graph(project_root))


def test_no_folder_holds_more_modules_than_are_read_at_a_glance(project_root: Path) -> None:
    for folder in PACKAGES:
        for path in (project_root / folder, *(project_root / folder).rglob("*/")):
            modules = {file.name.split(".")[0] for file in path.iterdir() if file.suffix in (".py", ".pyx")}
            assert len(modules - {"__init__"}) <= MAX_MODULES, f"{path.relative_to(project_root)}"


def test_every_layer_has_its_place(project_root: Path) -> None:
    paths = [path for path in (project_root / "runtime").iterdir() if path.suffix != ".pxi"]
    names = {path.name.split(".")[0] for path in paths}
    unknown = (
        {name for name in names if name.isidentifier() and name != "__pycache__"}
        - {*MAY_IMPORT, *TOP}
        - {"py"}
    )
    assert not unknown, f"give these their place in MAY_IMPORT: {sorted(unknown)}"


def test_kernels_import_libraries_of_loops_alone(project_root: Path) -> None:
    allowed = KERNEL_LIBRARIES | sys.stdlib_module_names | {"nimblehlo", "__future__"}
    for path, module in sources(project_root):
        if layer_of(module) == "kernels":
            foreign = {name.split(".")[0] for name in imports(path, module)} - allowed
            assert not foreign, f"{path.relative_to(project_root)} imports {sorted(foreign)}"


@pytest.mark.parametrize(
    ("folder", "file", "text", "told"),
    [
        ("runtime/ir", "module.py", "from ..ops import verify\n", "imports nimblehlo.ops"),
        ("runtime/ops", "sort.py", "def f():\n    import nimblehlo.plan\n", "imports nimblehlo.plan"),
        ("runtime/ops", "sort.py", "from ..kernels import sort\n", "imports nimblehlo.kernels.sort"),
        ("runtime", "types.py", "from .api import load\n", "imports nimblehlo.api"),
        ("runtime", "executor.pyx", "from .api cimport load\n", "imports nimblehlo.api"),
        ("runtime", "executor.pyx", "from nimblehlo.ops import sort\n", "imports nimblehlo.ops"),
        ("kernels", "gather.py", "from ..types import TensorType\n", "imports nimblehlo.types"),
        ("kernels", "gather.py", "import nimblehlo\n", "imports nimblehlo (__init__)"),
    ],
)
def test_an_upward_import_is_found(tmp_path: Path, folder: str, file: str, text: str, told: str) -> None:
    (tmp_path / "kernels").mkdir()
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    (tmp_path / folder / file).write_text(text)
    (found,) = violations(tmp_path)
    assert told in found


@pytest.mark.parametrize(
    ("folder", "text", "told"),
    [
        ("kernels/simd", "from ..sorting import sort\n", "(kernels.simd) imports nimblehlo.kernels.sorting"),
        ("runtime/ops/framework", "from ..shape import slicing\n", "imports nimblehlo.ops.shape.slicing"),
        ("runtime/plan/tiering", "def f():\n    from .. import lowering\n", "nimblehlo.plan.lowering"),
    ],
)
def test_an_import_that_a_folder_may_not_have_is_found(
    tmp_path: Path, folder: str, text: str, told: str
) -> None:
    (tmp_path / folder).mkdir(parents=True)
    (tmp_path / folder / "module.py").write_text(text)
    (found, *_) = folder_violations(tmp_path)
    assert told in found


def test_circles_are_found(tmp_path: Path) -> None:
    folder = tmp_path / "runtime" / "ir"
    folder.mkdir(parents=True)
    for name, other in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        (folder / f"{name}.py").write_text(f"def f():\n    from .{other} import g\n")
    assert circles(module_graph(tmp_path)) == [["nimblehlo.ir.a", "nimblehlo.ir.b", "nimblehlo.ir.c"]]


def test_a_downward_import_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "runtime" / "plan").mkdir(parents=True)
    text = "from ..ops import sort\nfrom ..kernels import gather\nfrom . import lowering\nimport numpy\n"
    (tmp_path / "runtime" / "plan" / "lowering.py").write_text(text)
    assert not violations(tmp_path)
