"""The layers of the project: an import may only point downwards.

ARCHITECTURE.md tells what each layer is for. A module or package that is new at the top of runtime/ has to be
given its place in `LAYERS`; a folder or module that is new in a package of several folders, in `FOLDERS`.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

from tests.project.import_graph import PACKAGES, circles, header_graph, imports, module_graph, sources

# In this order: an import may only point to an earlier one.
LAYERS = (
    "errors",
    "options",
    "types",
    "public_names",
    "kernels",
    "program",
    "compiler",
    "execution",
    "inspection",
    "api",
    "mpi",
    "torch",
    "patterns",
    "checks",
    "jax",
    "cli",
    "__main__",
    "__init__",
)

# What every layer from the kernels on may import.
NAMED_TUPLES = "kernels.named_tuples"

# What a layer, or a part of one, may import of the earlier layers, where that is less than all of them.
NARROWER = {
    "kernels": set(),
    "program.ir": {"errors", "types", NAMED_TUPLES},
    "program.ops": {
        "errors",
        "options",
        "types",
        NAMED_TUPLES,
        "kernels.convolution",
        "kernels.fft",
        "kernels.launch",
        "kernels.linalg",
        "kernels.math",
        "kernels.matmul",
    },
    "program.frontend": {"errors", "options", "types", NAMED_TUPLES, "kernels.launch"},
    "compiler.specialize": {"errors", "options", "types", NAMED_TUPLES, "program.ir", "program.ops"},
    "compiler.fusion": {"errors", "options", "types", NAMED_TUPLES, "program.ir", "program.ops"},
    "compiler.loops": {"errors", "options", "types", "program.ir", "program.ops", "kernels"},
    "compiler.partitioner": {"errors", "options", "types", NAMED_TUPLES, "program.ir", "program.ops"},
    "execution.executor": {
        "errors",
        "options",
        "types",
        "compiler.float_errors",
        "compiler.plan",
        "kernels.launch",
    },
    "execution.memory": {"kernels.launch"},
    "execution.grid": {
        "errors",
        "options",
        "types",
        "kernels.launch",
        "program.ir",
        "program.ops",
        "compiler.plan",
    },
}

# For each folder or module of a package what it may import of that package, itself apart.
FOLDERS: dict[str, dict[str, set[str]]] = {
    "kernels": {
        "named_tuples": set(),
        "launch": {"compiling", "named_tuples"},
        "compiling": {"launch", "named_tuples"},
        "math": set(),
        "random": set(),
        "rates": {"launch", "simd", "named_tuples"},
        "simd": {"launch", "named_tuples"},
        "convolution": {"launch", "matmul", "named_tuples"},
        "exploration": {"launch", "named_tuples"},
        "fft": {"launch", "simd", "named_tuples"},
        "indexing": {"launch", "simd", "named_tuples"},
        "linalg": {"launch", "simd", "named_tuples"},
        "matmul": {"launch", "simd", "named_tuples"},
        "reduction": {"launch", "simd", "named_tuples"},
        "sorting": {"launch", "simd", "named_tuples"},
    },
    "program": {
        "ir": set(),
        "ops": {"ir"},
        "frontend": {"ir", "ops"},
        "loading": {"frontend", "ir", "ops"},
    },
    "compiler": {
        "float_errors": set(),
        "lru_cache": set(),
        "passes": set(),
        "implementation": set(),
        "cost_model": {"implementation"},
        "specialize": {"passes"},
        "fusion": {"specialize"},
        "loops": {"cost_model", "fusion", "implementation", "lru_cache", "specialize"},
        "partitioner": {"specialize"},
        "transforms": {"specialize"},
        "plan": {
            "cost_model",
            "float_errors",
            "fusion",
            "implementation",
            "loops",
            "passes",
            "specialize",
        },
        "explanation": {"fusion", "implementation", "passes", "plan"},
    },
    "execution": {
        "array_archives": set(),
        "array_files": {"array_archives"},
        "dlpack": set(),
        "inputs": set(),
        "memory": set(),
        "timed_calls": set(),
        "torch_calls": {"dlpack"},
        "executor": set(),
        "boundary": {"executor", "memory", "timed_calls"},
        "verification": {"executor"},
        "grid": {"executor"},
        "mpi": {"grid"},
        "program": {"boundary", "executor", "grid", "memory", "verification"},
        "stored_programs": set(),
    },
    "inspection": {
        "progress": set(),
        "tables": set(),
        "script_json": set(),
        "sanitizer": {"tables"},
        "plan_page": {"script_json", "tables"},
        "profiling": {"plan_page", "tables"},
    },
    "checks": {
        "backends": set(),
        "checking": set(),
        "conformance": {"backends", "error_bounds", "fuzzing", "json_lines"},
        "json_lines": set(),
        "judging": {"backends", "conformance", "differences", "error_bounds", "minimizer"},
        "error_bounds": set(),
        "explorer": set(),
        "differences": {"backends", "error_bounds"},
        "minimizer": {"backends", "error_bounds"},
        "fuzzing": {"backends", "differences", "error_bounds", "json_lines", "minimizer"},
        "testing": {"backends", "checking", "conformance", "error_bounds", "explorer"},
    },
    "program.ops": {
        "framework": set(),
        "numerics": {"framework"},
        "test_dialects": {"framework"},
        "batch_norm": {"framework", "numerics"},
        "elementwise": {"framework", "numerics"},
        "fft": {"framework", "numerics"},
        "linalg": {"framework", "numerics"},
        "shape": {"framework", "numerics"},
        "random": {"framework", "numerics", "shape"},
        "reduction": {"elementwise", "framework", "numerics", "shape"},
        "sorting": {"framework", "numerics", "reduction"},
        "indexing": {"framework", "numerics", "reduction", "shape"},
        "contraction": {"framework", "numerics", "reduction", "shape"},
        "custom_calls": {
            "collectives",
            "framework",
            "numerics",
            "random",
            "reduction",
            "shape",
            "sorting",
            "test_dialects",
        },
        "control": {"custom_calls", "framework"},
        "sharding": {"control", "framework", "shape"},
        "collectives": {"framework", "reduction"},
        "chlo": {"contraction", "elementwise", "framework", "numerics", "shape"},
        "intermediate": {"framework", "indexing", "reduction", "shape", "sorting"},
    },
    "compiler.specialize": {
        "framework": set(),
        "shapes": set(),
        "sharding": set(),
        "scatter_granularity": set(),
        "process_ids": set(),
        "replace_calls": set(),
        "rewrites": {"framework"},
        "size_propagation": {"rewrites", "shapes", "framework"},
        "inline": {"replace_calls", "sharding"},
        "gspmd": {"framework"},
        "loop_sharding": {"framework"},
        "outlining": {"framework"},
        "stages": {
            "framework",
            "gspmd",
            "inline",
            "outlining",
            "process_ids",
            "rewrites",
            "size_propagation",
        },
    },
    "compiler.loops": {
        "block_cache": set(),
        "description": set(),
        "llvm": set(),
        "native_code": {"block_cache", "description", "llvm"},
        "mathematics": {"llvm"},
        "elementwise": {"llvm", "mathematics"},
        "element_costs": {"elementwise"},
        "chunks": {"llvm"},
        "scalars": {"elementwise", "llvm"},
        "nests": {"block_cache", "chunks", "element_costs", "elementwise", "llvm", "native_code"},
        "regions": {"scalars", "description", "llvm", "native_code"},
        "reductions": {
            "scalars",
            "chunks",
            "element_costs",
            "elementwise",
            "llvm",
            "native_code",
            "nests",
            "regions",
        },
        "arrays": {"scalars", "description", "elementwise", "llvm", "nests", "reductions", "regions"},
        "while_function": {"arrays", "scalars", "llvm"},
        "steps": {"arrays", "scalars", "llvm", "regions"},
        "step_code": {"arrays", "native_code", "steps"},
    },
    "compiler.plan": {
        "plan": set(),
        "tiering": set(),
        "buffer_uses": {"plan"},
        "memory_use": {"plan"},
        "implementations": {"tiering"},
        "choice": {"implementations", "tiering"},
        "fusion_passes": {"choice", "implementations"},
        "lowering": {"choice", "fusion_passes", "implementations", "plan", "tiering"},
    },
}

# What the loops are made with; everything else that kernels import is Python's own.
KERNEL_LIBRARIES = {"cpython", "libc", "llvmlite", "numba", "numpy"}

MAX_MODULES = 25
"""Modules in one folder: more are not read at a glance."""


def layer_of(name: str) -> str:
    """The layer of a name of the package, or the file beside the layers."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in LAYERS else "__init__"


def violations(root: Path) -> list[str]:
    """The imports that point to a later layer, or to what `NARROWER` does not list."""
    found = []
    for path, module in sources(root):
        layer = layer_of(module)
        narrower = NARROWER.get(layer, NARROWER.get(".".join(module.split(".")[1:3])))
        for name in imports(path, module):
            target = layer_of(name)
            if name.split(".")[0] != "nimblehlo" or target == layer:
                continue
            is_later = LAYERS.index(target) > LAYERS.index(layer)
            if is_later or (narrower is not None and not _is_listed(name, narrower)):
                found.append(f"{path.relative_to(root)} ({layer}) imports {name} ({target})")
    return found


def _is_listed(name: str, listed: set[str]) -> bool:
    """Whether a name of the package lies in one of these layers, or parts of layers."""
    _, *parts = name.split(".")
    return bool({parts[0], ".".join(parts[:2])} & listed)


def folder_violations(root: Path) -> list[str]:
    """The imports from one folder of a package to another that `FOLDERS` does not list."""
    found = []
    for path, module in sources(root):
        for package, folders in FOLDERS.items():
            folder = _folder_of(module, package)
            if folder is None:
                continue
            for name in imports(path, module):
                target = _folder_of(name, package)
                if target not in {None, folder, *folders.get(folder, set())}:
                    found.append(f"{path.relative_to(root)} ({package}.{folder}) imports {name} ({target})")
    return found


def _folder_of(module: str, package: str) -> str | None:
    """The folder or module of a package of `FOLDERS` that a module lies in; None if it lies elsewhere."""
    inside = module.removeprefix(f"nimblehlo.{package}.")
    return None if inside == module else inside.split(".")[0]


def entries(folder: Path) -> list[Path]:
    """The modules in a folder and its folders of modules, without what builds and older versions left."""
    return [
        path
        for path in folder.iterdir()
        if path.suffix in {".py", ".pyx", ".typed"} or (path.is_dir() and any(path.rglob("*.py")))
    ]


def test_imports_point_downwards(project_root: Path) -> None:
    assert not violations(project_root), "\n".join(violations(project_root))


def test_native_code_of_references_is_named(project_root: Path) -> None:
    """CONTRIBUTING.md names the kernels that references call, which therefore are no tests of each other."""
    text = (project_root / "CONTRIBUTING.md").read_text()
    _, _, exceptions = text.partition("A reference and a kernel share no code")
    named = set(re.findall(r"`kernels/(\w+)/?`", exceptions.partition("\n\n")[0]))
    called = {name.partition(".")[2] for name in NARROWER["program.ops"] if name.startswith("kernels.")}
    # These compute nothing: `launch` says how much memory is left.
    assert named == called - {"launch", "named_tuples"}


def test_folders_of_a_package_import_what_the_table_lists(project_root: Path) -> None:
    assert not folder_violations(project_root), "\n".join(folder_violations(project_root))


def test_every_folder_of_a_package_has_its_place(project_root: Path) -> None:
    for package, folders in FOLDERS.items():
        inside = "kernels" if package == "kernels" else f"runtime/{package.replace('.', '/')}"
        names = {path.name.split(".")[0] for path in entries(project_root / inside)}
        assert names - {"__init__"} == set(folders), f"compare with FOLDERS[{package!r}]"


def test_abilities_are_declared(project_root: Path) -> None:
    """Plans and the executor ask no object what it can do: `Implementation` declares that."""
    runtime = project_root / "runtime"
    paths = [*(runtime / "compiler" / "plan").rglob("*.py"), runtime / "execution" / "executor.pyx"]
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


def test_the_top_has_few_layers_and_files(project_root: Path) -> None:
    """A stranger reads the names at a glance: at most eight layers and ten files."""
    found = entries(project_root / "runtime")
    folders = {path.name for path in found if path.is_dir()}
    files = {path.name for path in found} - folders
    assert len(folders) <= 8, sorted(folders)
    assert len(files) <= 10, sorted(files)
    assert {*folders, *(name.split(".")[0] for name in files)} - {"py"} == set(LAYERS) - {"kernels"}


def test_the_document_lists_the_layers_in_their_order(project_root: Path) -> None:
    """ARCHITECTURE.md states the order of the layers in one table of at most ten rows."""
    text = (project_root / "ARCHITECTURE.md").read_text().partition("## Layers")[2].partition("\n## ")[0]
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) <= 10
    names = [name for row in rows for name in re.findall(r"`(?:runtime/)?([\w.]+)/?`", row.split("|")[1])]
    listed = [Path(name).stem for name in names]
    assert listed == [layer for layer in LAYERS if not layer.startswith("__") and layer != "public_names"]


def test_kernels_import_libraries_of_loops_alone(project_root: Path) -> None:
    allowed = KERNEL_LIBRARIES | sys.stdlib_module_names | {"nimblehlo", "__future__"}
    for path, module in sources(project_root):
        if layer_of(module) == "kernels":
            foreign = {name.split(".")[0] for name in imports(path, module)} - allowed
            assert not foreign, f"{path.relative_to(project_root)} imports {sorted(foreign)}"


@pytest.mark.parametrize(
    ("folder", "file", "text", "told"),
    [
        ("runtime/program/ops", "sort.py", "def f():\n    import nimblehlo.compiler\n", "compiler"),
        ("runtime/program/ops", "sort.py", "from ...kernels import sort\n", "imports nimblehlo.kernels.sort"),
        ("runtime", "types.py", "from .api import load\n", "imports nimblehlo.api"),
        ("runtime/execution", "executor.pyx", "from ..api cimport load\n", "imports nimblehlo.api"),
        ("runtime/execution", "executor.pyx", "from nimblehlo.program.ops import sort\n", "program.ops"),
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
        ("runtime/program/ir", "from ..ops import verify\n", "imports nimblehlo.program.ops.verify"),
        ("runtime/program/ops/framework", "from ..shape import slicing\n", "program.ops.shape.slicing"),
        ("runtime/compiler/plan/tiering", "def f():\n    from .. import lowering\n", "plan.lowering"),
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
    folder = tmp_path / "runtime" / "program" / "ir"
    folder.mkdir(parents=True)
    for name, other in (("a", "b"), ("b", "c"), ("c", "a"), ("d", "a")):
        (folder / f"{name}.py").write_text(f"def f():\n    from .{other} import g\n")
    package = "nimblehlo.program.ir"
    assert circles(module_graph(tmp_path)) == [[f"{package}.a", f"{package}.b", f"{package}.c"]]


def test_a_downward_import_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "runtime" / "compiler" / "plan").mkdir(parents=True)
    text = "from ...program.ops import sort\nfrom ...kernels import gather\nfrom . import lowering\n"
    (tmp_path / "runtime" / "compiler" / "plan" / "lowering.py").write_text(text)
    assert not violations(tmp_path)
