"""The graphs of imports and of C includes, read from the sources."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

PACKAGES = {"runtime": "nimblehlo", "kernels": "nimblehlo.kernels"}
"""The folders of the project that are packages, and their import names."""

_IMPORT = re.compile(
    r"^[ \t]*(?:from[ \t]+([.\w]+)[ \t]+c?import[ \t]+([\w, ]+)|c?import[ \t]+([.\w]+))", re.M
)
_CYTHON_INCLUDE = re.compile(r'^include "([^"]+)"', re.M)
_C_INCLUDE = re.compile(r'^#include "([^"]+)"', re.M)


def sources(root: Path) -> Iterator[tuple[Path, str]]:
    """Every Python and Cython source file of the project with its module's name."""
    for folder, package in PACKAGES.items():
        for path in sorted((root / folder).rglob("*.py*")):
            if path.suffix in (".py", ".pyx", ".pxd", ".pyi"):
                parts = path.relative_to(root / folder).with_suffix("").parts
                yield path, ".".join((package, *parts)).removesuffix(".__init__")


@functools.cache
def imports(path: Path, module: str) -> tuple[str, ...]:
    """The absolute names of all that a source file imports, wherever in the file the statement stands."""
    return tuple(_imports(path, module))


def _imports(path: Path, module: str) -> Iterator[str]:
    package = module if path.stem == "__init__" else module.rpartition(".")[0]
    text = path.read_text()
    if path.suffix in (".pyx", ".pxd"):
        text += "".join([included(path, name).read_text() for name in _CYTHON_INCLUDE.findall(text)])
        for source, names, plain in _IMPORT.findall(text):
            if plain:
                yield plain
            else:
                yield from _named(
                    package, source, [name.split()[0] for name in names.split(",") if name.strip()]
                )
        return
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            source = "." * node.level + (node.module or "")
            yield from _named(package, source, [alias.name for alias in node.names])


def included(path: Path, name: str) -> Path:
    """The file that an include of `name` means: beside the source file, or below a folder that holds it, or
    below the folder of another package."""
    packages = [folder / package for folder in path.parents for package in PACKAGES]
    return next(folder / name for folder in (*path.parents, *packages) if (folder / name).is_file())


def _named(package: str, source: str, names: list[str]) -> Iterator[str]:
    """The absolute names that `from source import names` means in a module of the package."""
    level = len(source) - len(source.lstrip("."))
    base = source.lstrip(".")
    if level:
        anchor = package.split(".")
        anchor = anchor[: len(anchor) - (level - 1)]
        base = ".".join([*anchor, base] if base else anchor)
    yield from (f"{base}.{name}" for name in names)


def module_graph(root: Path) -> dict[str, set[str]]:
    """For each module the modules of the project that it imports."""
    files = {module: path for path, module in sources(root) if path.suffix != ".pyi"}
    graph: dict[str, set[str]] = {}
    for module, path in files.items():
        targets = {_module_of(name, files) for name in imports(path, module) if name.startswith("nimblehlo")}
        graph[module] = targets - {module}
    return graph


def _module_of(name: str, modules: Mapping[str, Path]) -> str:
    """The module that an imported name is, or is defined in."""
    while name not in modules:
        name = name.rpartition(".")[0]
    return name


def header_graph(root: Path) -> dict[str, set[str]]:
    """For each C header of the project the headers that it includes."""
    headers = [path for folder in PACKAGES for path in sorted((root / folder).rglob("*.h"))]
    return {
        path.relative_to(root).as_posix(): {
            included(path, name).relative_to(root).as_posix() for name in _C_INCLUDE.findall(path.read_text())
        }
        for path in headers
    }


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """The groups of nodes that reach each other.

    Source: Tarjan, "Depth-first search and linear graph algorithms" (1972).
    """
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    groups = []

    def visit(node: str) -> None:
        order[node] = lowest[node] = len(order)
        stack.append(node)
        for following in sorted(graph.get(node, ())):
            if following not in order:
                visit(following)
                lowest[node] = min(lowest[node], lowest[following])
            elif following in stack:
                lowest[node] = min(lowest[node], order[following])
        if lowest[node] == order[node]:
            start = stack.index(node)
            group = stack[start:]
            del stack[start:]
            if len(group) > 1:
                groups.append(sorted(group))

    for node in graph:
        if node not in order:
            visit(node)
    return groups
