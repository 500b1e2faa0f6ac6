"""The layers of the project: an import may only point downwards.

ARCHITECTURE.md tells what each layer is for. A module or package that is new at the top of runtime/ has to be
given its place in `MAY_IMPORT`.
"""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

BASE = {"errors", "options", "types"}
PROGRAM = BASE | {"ir", "ops"}

# For each layer what it may import, itself apart: layers, or modules of one.
MAY_IMPORT = {
    "errors": set(),
    "options": {"errors"},
    "types": {"errors"},
    "ir": BASE,
    "ops": BASE
    | {"ir", "kernels.complex_division", "kernels.convolution", "kernels.fourier", "kernels.matrix_product"}
    | {"kernels.narrow_product", "kernels.real_functions", "kernels.vector_product"},
    "frontend": PROGRAM,
    "specialize": PROGRAM,
    "codegen": BASE | {"ir", "kernels"},
    "plan": PROGRAM | {"codegen", "float_errors", "frontend", "kernels", "recent", "specialize"},
    "executor": BASE | {"plan"},
    "float_errors": set(),
    "garbage": set(),
    "memory": {"kernels.poison"},
    "recent": set(),
    "kernels": set(),
}

# What users call lies on top, and may import everything below it, and each other.
TOP = {
    "__init__",
    "__main__",
    "api",
    "boundary",
    "checking",
    "cli",
    "explanation",
    "explorer",
    "inputs",
    "patterns",
    "progress",
    "sanitizer",
    "transforms",
    "verification",
}

# What the loops are made with; everything else that kernels import is Python's own.
KERNEL_LIBRARIES = {"cpython", "libc", "llvmlite", "numba", "numpy"}

IMPORT_STATEMENT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+c?import[ \t]+([\w, ]+)|c?import[ \t]+([.\w]+))", re.M
)
INCLUDE_STATEMENT = re.compile(r'^include "([^"]+)"', re.M)


def imports(path: Path, module: str) -> Iterator[str]:
    """The absolute names of all that a source file imports, wherever in the file the statement stands."""
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    text = path.read_text()
    if path.suffix in (".pyx", ".pxd"):
        text += "".join([(path.parent / name).read_text() for name in INCLUDE_STATEMENT.findall(text)])
        for source, names, plain in IMPORT_STATEMENT.findall(text):
            if plain:
                yield plain
            else:
                yield from named(
                    package, source, [name.split()[0] for name in names.split(",") if name.strip()]
                )
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield from named(package, source, [alias.name for alias in node.names])


def named(package: str, source: str, names: list[str]) -> Iterator[str]:
    """The absolute names that `from source import names` means in a module of the package."""
    level = len(source) - len(source.lstrip("."))
    base = source.lstrip(".")
    if level:
        anchor = package.split(".")
        anchor = anchor[: len(anchor) - (level - 1)]
        base = ".".join([*anchor, base] if base else anchor)
    yield from (f"{base}.{name}" for name in names)


def layer_of(name: str) -> str:
    """The layer of a name of the package: the part after `nimblehlo`."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 and parts[1] in {*MAY_IMPORT, *TOP} else "__init__"


def sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Every source file of the package with its module's name."""
    for folder, package in (("runtime", "nimblehlo"), ("kernels", "nimblehlo.kernels")):
        for path in sorted((root / folder).rglob("*.py*")):
            if path.suffix in (".py", ".pyx", ".pxd", ".pyi"):
                parts = path.relative_to(root / folder).with_suffix("").parts
                yield path, ".".join((package, *parts)).removesuffix(".__init__")


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
                if target != layer and not {target, name.removeprefix("nimblehlo.")} & MAY_IMPORT[layer]:
                    found.append(f"{path.relative_to(root)} ({layer}) imports {name} ({target})")
    return found


def test_imports_point_downwards(project_root: Path) -> None:
    assert not violations(project_root), "\n".join(violations(project_root))


def test_native_code_of_references_is_named(project_root: Path) -> None:
    """CONTRIBUTING.md names the kernels that references call, which therefore are no tests of each other."""
    text = (project_root / "CONTRIBUTING.md").read_text()
    _, _, exceptions = text.partition("reference and kernel share no code")
    named = set(re.findall(r"`(?:kernels/)?(\w+)\.pyx?`", exceptions.partition("\n\n")[0]))
    assert named == {name.partition(".")[2] for name in MAY_IMPORT["ops"] if name.startswith("kernels.")}


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


def test_a_downward_import_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "runtime" / "plan").mkdir(parents=True)
    text = "from ..ops import sort\nfrom ..kernels import gather\nfrom . import lowering\nimport numpy\n"
    (tmp_path / "runtime" / "plan" / "lowering.py").write_text(text)
    assert not violations(tmp_path)
