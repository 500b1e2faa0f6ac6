"""The code of all modules that importing the package loads, in one file.

For each module Python looks in a folder, and opens, checks and reads a file: a quarter of the time of the
import, which has 160 modules. The file lies beside those that Python writes, and has what these have. As
Python does, `ModuleBundle` takes a source of the same size and time for the same. Where a module has changed,
Python loads it as usual, and the file is written again.
"""

from __future__ import annotations

import marshal
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source, spec_from_file_location
from types import CodeType, ModuleType
from typing import Final

_INIT: Final = "__init__.py"
_SUFFIX: Final = ".modules"


_Source = tuple[int, int, bool, CodeType]
"""The time and the size of a module's source, whether the module is a package, and its code."""


class _Loader(SourceFileLoader):
    """Loads a module whose code is there."""

    def __init__(self, fullname: str, path: str, code: CodeType) -> None:
        super().__init__(fullname, path)
        self._code: CodeType | None = code

    def get_code(self, fullname: str) -> CodeType | None:
        """The code of the module, once; later that of its source."""
        code, self._code = self._code, None
        return super().get_code(fullname) if code is None else code


class ModuleBundle:
    """Finds the modules of the package that are in the file. It has no base class, as `PublicModules`.

    Args:
        package: the package's name.
        folder: the package's folder.
    """

    def __init__(self, package: str, folder: str) -> None:
        self._prefix = f"{package}."
        self._path = cache_from_source(os.path.join(folder, _INIT)).removesuffix(".pyc") + _SUFFIX
        self._sources = _read(self._path)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a module whose source has not changed; None for every other name."""
        source = self._sources.pop(fullname, None)
        if source is None or not path:
            return None
        time, size, is_package, code = source
        folder = os.path.join(path[0], fullname.rpartition(".")[2])
        file = os.path.join(folder, _INIT) if is_package else f"{folder}.py"
        # The folder of the package may be a copy of another one.
        if _identity(file) != (time, size, code.co_filename):
            return None
        loader = _Loader(fullname, file, code)
        locations = [folder] if is_package else None
        return spec_from_file_location(fullname, file, loader=loader, submodule_search_locations=locations)

    def serve(self, load: Callable[[], object]) -> None:
        """Call a function that imports modules, and write the file if it lacks one of these."""
        earlier = set(sys.modules)
        recorded = {name: (*source[:2], source[3].co_filename) for name, source in self._sources.items()}
        # What users have put before Python's own finder, such as for type checks at run time, comes first.
        is_usual = PathFinder in sys.meta_path
        if is_usual:
            sys.meta_path.insert(sys.meta_path.index(PathFinder), self)
        try:
            load()
        finally:
            self._sources.clear()
            if is_usual:
                sys.meta_path.remove(self)
        loaded = [name for name in sys.modules if name.startswith(self._prefix) and name not in earlier]
        loaders = {name: getattr(sys.modules[name].__spec__, "loader", None) for name in loaded}
        sourced = {name: each for name, each in loaders.items() if isinstance(each, SourceFileLoader)}
        unserved = [name for name, loader in sourced.items() if not isinstance(loader, _Loader)]
        is_stale = any(recorded.get(name) != _identity(sourced[name].path) for name in unserved)
        if is_usual and is_stale and not sys.dont_write_bytecode:
            self._write(sourced)

    def _write(self, loaders: dict[str, SourceFileLoader]) -> None:
        """Write the file, where that is possible."""
        sources = {}
        for name, loader in loaders.items():
            identity, code = _identity(loader.path), loader.get_code(name)
            if identity is not None and code is not None:
                sources[name] = (*identity[:2], loader.is_package(name), code)
        content = MAGIC_NUMBER + marshal.dumps(sources)
        next(iter(loaders.values())).set_data(self._path, content)


def _read(path: str) -> dict[str, _Source]:
    """The sources in a file; none if this Python cannot read it."""
    try:
        with open(path, "rb", buffering=0) as file:
            content = file.read()
        if content[: len(MAGIC_NUMBER)] != MAGIC_NUMBER:
            return {}
        sources: dict[str, _Source] = marshal.loads(memoryview(content)[len(MAGIC_NUMBER) :])
    except (OSError, EOFError, ValueError, TypeError):
        return {}
    return sources


def _identity(path: str) -> tuple[int, int, str] | None:
    """The time of a file in nanoseconds, its size and path; None if it is not there."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, path
