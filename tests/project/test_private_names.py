"""The private names of other packages that the sources use are those that docs/private_names.md lists."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from nimblehlo.kernels.launch.private_names import NUMBA

ROOT = Path(__file__).resolve().parents[2]
DOCUMENT = ROOT / "docs" / "private_names.md"
PYTHON = sorted([*ROOT.glob("runtime/**/*.py"), *ROOT.glob("kernels/**/*.py"), ROOT / "nimblehlo_pytest.py"])
CYTHON = sorted(
    path
    for folder in ("runtime", "kernels")
    for suffix in ("pyx", "pxi", "pxd", "h")
    for path in (ROOT / folder).rglob(f"*.{suffix}")
)

PACKAGES = ("jax", "jaxlib", "llvmlite", "ml_dtypes", "mpi4py", "numba", "numpy", "scipy")
DOCUMENTED_MODULES = ("llvmlite.binding", "llvmlite.ir", "numba.core.event", "numba.extending", "numba.types")
"""Modules of Numba and llvmlite that their documentation names; others below these packages are private."""
DOCUMENTED = {"_exit", "sys._current_frames", "sys._getframe", "_asdict", "_fields", "_make", "_replace"}
"""Names with an underscore that Python or POSIX documents."""

NAMING = (ast.Attribute, ast.ClassDef, ast.FunctionDef, ast.Import, ast.ImportFrom, ast.Name)

C_NAME = re.compile(
    r"\b(?:_Py\w+|PyUnstable_\w+|Py_REFCNT|PyObject_HEAD|Py(?:Type|Tuple|List|Array|UFunc)Object|PyArray_ArrFuncs)\b"
    r"|(?:->|\.)(?:ob|tp)_\w+"
)
"""Private functions, and the layout of objects, of CPython and NumPy."""
EXTERN = re.compile(r'^cdef extern from "(?:Python\.h|numpy/[\w.]+)".*:\n((?:(?:    .*)?\n)+)', re.M)
DECLARED = re.compile(r"\b((?:Py|NPY_)\w+)")


def is_private(name: str) -> bool:
    """Whether a component begins with one underscore, or the name is in an undocumented module."""
    if any(part.startswith("_") and not part.endswith("__") for part in name.split(".")):
        return True
    is_below = name.startswith(("numba.", "llvmlite.")) and name.count(".") > 1
    return is_below and not name.startswith(DOCUMENTED_MODULES)


def nodes_of(text: str) -> list[ast.AST]:
    """The nodes of a source file that may define, import or use a name."""
    return [node for node in ast.walk(ast.parse(text)) if isinstance(node, NAMING)]


def own_names(sources: Iterable[list[ast.AST]]) -> set[str]:
    """The names that the project's classes, functions and assignments define."""
    names = set()
    for nodes in sources:
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
                names.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                names.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                is_own = isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
                if is_own or node.attr.startswith("_nimblehlo"):
                    names.add(node.attr)
    return names


def imported(nodes: list[ast.AST]) -> Iterator[tuple[str, str]]:
    """The local and the full names of what a module imports from other packages."""
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from ((one.asname or one.name, one.name) for one in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and node.module:
            yield from ((one.asname or one.name, f"{node.module}.{one.name}") for one in node.names)


def private_names_in_python(sources: dict[Path, str]) -> set[str]:
    """The private names of other packages.

    They are full names of imports and of attributes of imported modules; of any other attribute, and of a
    method that overrides another package's, the last component.
    """
    modules = [nodes_of(text) for text in sources.values()]
    own, found = own_names(modules), set()
    aliases = {
        local: full
        for nodes in modules
        for local, full in imported(nodes)
        if full.split(".")[0] in PACKAGES and is_private(full) and local.islower()
    }
    for nodes in modules:
        known = dict(imported(nodes))
        ours = imported_from_project(nodes)
        known |= {name: full for name, full in aliases.items() if name in ours}
        found |= {full for full in known.values() if full.split(".")[0] in PACKAGES and is_private(full)}
        for node in nodes:
            if isinstance(node, ast.Attribute):
                base = known.get(node.value.id, node.value.id) if isinstance(node.value, ast.Name) else ""
                full = f"{base}.{node.attr}"
                is_foreign = is_private(node.attr) and node.attr not in own
                if base.split(".")[0] in PACKAGES and is_private(full):
                    found.add(full)
                elif node.attr == "__pyx_capi__" or (is_foreign and {full, node.attr}.isdisjoint(DOCUMENTED)):
                    found.add(node.attr)
            elif isinstance(node, ast.ClassDef):
                found |= set(overridden(node, known))
    return found


def imported_from_project(nodes: list[ast.AST]) -> set[str]:
    """The names that a module imports from another module of the project."""
    imports = [node for node in nodes if isinstance(node, ast.ImportFrom) and node.level]
    return {one.asname or one.name for node in imports for one in node.names}


def overridden(node: ast.ClassDef, known: dict[str, str]) -> Iterator[str]:
    """The private methods of a class that is derived from a class of another package."""
    bases = [known.get(base.id, "") for base in node.bases if isinstance(base, ast.Name)]
    if any(base.split(".")[0] in PACKAGES for base in bases):
        methods = [one.name for one in node.body if isinstance(one, ast.FunctionDef)]
        yield from (name for name in methods if name.startswith("_") and not name.endswith("__"))


def names_in_cython(sources: dict[Path, str]) -> set[str]:
    """The private names and structures of CPython and NumPy, and what sources declare of their headers."""
    found = set()
    for text in sources.values():
        found |= {match.lstrip("->.") for match in C_NAME.findall(text)}
        for block in EXTERN.findall(text):
            code = re.sub(r"#.*", "", block)
            found |= set(DECLARED.findall(code)) - {"PyObject"}
    return found


def table(heading: str) -> dict[str, set[str]]:
    """For each module or file in a table of the document the names beside it."""
    section = DOCUMENT.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    rows: dict[str, set[str]] = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        if len(cells) > 2 and "`" in line:
            rows.setdefault(cells[0].strip("| `"), set()).update(re.findall(r"`([^`]+)`", cells[1]))
    return rows


def test_python_sources_use_no_other_private_names() -> None:
    found = private_names_in_python({path: path.read_text() for path in PYTHON})
    listed = {f"{module}.{name}" for module, names in table("Python").items() for name in names}
    last = {name.rpartition(".")[2] for name in listed}
    new = {name for name in found - last if not any(f"{one}.".startswith(f"{name}.") for one in listed)}
    assert not new, f"not in the table: {sorted(new)}"


def test_the_table_has_no_name_that_is_not_used() -> None:
    text = "".join([path.read_text() for path in PYTHON if path.name != "private_names.py"])
    listed = set().union(*table("Python").values())
    unused = {name for name in listed if name.rpartition(".")[2] not in text}
    assert not unused, f"no longer used: {sorted(unused)}"


def test_the_table_has_every_name_that_is_probed() -> None:
    listed = {f"{module}.{name}" for module, names in table("Python").items() for name in names}
    probed = {f"{private.module}.{private.name}" for private in NUMBA}
    assert probed == {name for name in listed if name.startswith("numba.")}


def test_cython_sources_use_no_other_names_of_headers() -> None:
    found = names_in_cython({path: path.read_text() for path in CYTHON})
    listed = set().union(*table("C").values())
    assert found == listed


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("from numpy._core import multiarray", {"numpy._core.multiarray"}),
        (
            "from numba.core import caching\ncaching.NullCache()",
            {"numba.core.caching", "numba.core.caching.NullCache"},
        ),
        ("import numpy as np\nnp._NoValue", {"numpy._NoValue"}),
        ("def f(dispatcher):\n    return dispatcher._recompile()", {"_recompile"}),
        ("from scipy.linalg import cython_blas\ncython_blas.__pyx_capi__", {"__pyx_capi__"}),
        ("from llvmlite.ir import IRBuilder\nclass B(IRBuilder):\n    def _icmp(self): ...", {"_icmp"}),
        ("from numba import types\nfrom numba.core import event\nevent.Listener\ntypes.intp", set()),
        ("class A:\n    def _own(self): ...\ndef f(a):\n    return a._own()", set()),
    ],
)
def test_a_new_private_name_is_found(text: str, expected: set[str]) -> None:
    assert private_names_in_python({Path("new.py"): text}) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("if value.ob_refcnt == 1:", {"ob_refcnt"}),
        ("((PyTypeObject *)type)->tp_dict", {"PyTypeObject", "tp_dict"}),
        ('cdef extern from "Python.h":\n    object PyDict_Copy(object)\n\nx = 1\n', {"PyDict_Copy"}),
        ("_Py_IsFinalizing()", {"_Py_IsFinalizing"}),
    ],
)
def test_a_new_name_of_a_header_is_found(text: str, expected: set[str]) -> None:
    assert names_in_cython({Path("new.pyx"): text}) == expected
