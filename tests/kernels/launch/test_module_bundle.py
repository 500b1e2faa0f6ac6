"""Modules are loaded from one file, unless their sources have changed."""

from __future__ import annotations

import importlib
import inspect
import os
import shutil
import sys
from collections.abc import Iterator
from importlib.machinery import PathFinder
from importlib.util import MAGIC_NUMBER
from pathlib import Path
from types import ModuleType

import pytest

from nimblehlo.kernels.launch import module_bundle
from nimblehlo.kernels.launch.module_bundle import ModuleBundle

PACKAGE = "bundled_package"
MODULES = [f"{PACKAGE}.first", f"{PACKAGE}.inner", f"{PACKAGE}.inner.second"]


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of a package of three modules, which is on the path."""
    folder = tmp_path / "site" / PACKAGE
    (folder / "inner").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "first.py").write_text("from .inner.second import value\n")
    (folder / "inner" / "__init__.py").write_text('"""A package."""\n')
    (folder / "inner" / "second.py").write_text("value = 1\n")
    monkeypatch.syspath_prepend(folder.parent)
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    yield folder
    forget()


def forget() -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]
    importlib.invalidate_caches()


def loaded(folder: Path) -> tuple[ModuleType, set[str]]:
    """The first module, loaded anew, and the names of the modules that came from the file."""
    forget()
    importlib.import_module(PACKAGE)
    ModuleBundle(PACKAGE, str(folder)).serve(lambda: importlib.import_module(MODULES[0]))
    loaders = {name: sys.modules[name].__spec__.loader for name in MODULES}  # type: ignore[union-attr]
    served = {name for name, loader in loaders.items() if isinstance(loader, module_bundle._Loader)}
    return sys.modules[MODULES[0]], served


def files(folder: Path) -> list[Path]:
    return list((folder / "__pycache__").glob("*.modules"))


def test_the_second_import_reads_one_file(package: Path) -> None:
    assert loaded(package)[1] == set()
    (file,) = files(package)
    written = file.stat().st_mtime_ns
    module, served = loaded(package)
    assert served == set(MODULES) and file.stat().st_mtime_ns == written
    assert module.value == 1
    assert module.__file__ == str(package / "first.py")
    assert inspect.getsource(module) == "from .inner.second import value\n"
    assert list(sys.modules[MODULES[1]].__path__) == [str(package / "inner")]
    assert importlib.reload(module).value == 1
    assert not any(isinstance(finder, ModuleBundle) for finder in sys.meta_path)


def test_a_module_that_has_changed_is_loaded_from_its_source(package: Path) -> None:
    loaded(package)
    (package / "inner" / "second.py").write_text("value = 20\n")
    module, served = loaded(package)
    assert module.value == 20 and served == {*MODULES[:2]}
    assert loaded(package)[1] == set(MODULES)
    # Of equal size.
    second = package / "inner" / "second.py"
    second.write_text("value = 30\n")
    os.utime(second, ns=(1, 1))
    assert loaded(package)[0].value == 30


def test_a_module_that_is_new_is_added(package: Path) -> None:
    loaded(package)
    (package / "third.py").write_text("value = 3\n")
    (package / "first.py").write_text("from .third import value\nfrom .inner import second\n")
    assert loaded(package)[0].value == 3
    loaded(package)
    assert isinstance(sys.modules[f"{PACKAGE}.third"].__spec__.loader, module_bundle._Loader)  # type: ignore[union-attr]


def test_a_module_that_is_gone_is_not_found(package: Path) -> None:
    loaded(package)
    (package / "inner" / "second.py").unlink()
    with pytest.raises(ModuleNotFoundError, match="second"):
        loaded(package)


def test_the_code_of_a_copy_is_its_own(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(package)
    copy = package.parent.parent / "copy" / PACKAGE
    shutil.copytree(package, copy)
    monkeypatch.syspath_prepend(copy.parent)
    module, served = loaded(copy)
    assert served == set() and module.__file__ == str(copy / "first.py")


@pytest.mark.parametrize("content", [b"", b"\0" * 100, MAGIC_NUMBER, MAGIC_NUMBER + b"["])
def test_a_damaged_file_is_written_again(package: Path, content: bytes) -> None:
    loaded(package)
    (file,) = files(package)
    file.write_bytes(content)
    assert loaded(package)[1] == set()
    assert loaded(package)[1] == set(MODULES)


def test_nothing_is_written_where_python_writes_no_files(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loaded(package)
    assert not files(package)


def test_other_finders_come_first(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Such as one that has the types of arguments checked."""
    loaded(package)
    asked: list[str] = []

    class Finder:
        @staticmethod
        def find_spec(fullname: str, path: object, target: object = None) -> None:
            asked.append(fullname)

    monkeypatch.setattr(sys, "meta_path", [Finder, *sys.meta_path])
    loaded(package)
    assert set(MODULES) <= set(asked)
    others = [each for each in sys.meta_path if each is not PathFinder]
    monkeypatch.setattr(sys, "meta_path", [*others, Usual])
    assert loaded(package)[1] == set()


class Usual:
    """A finder in the place of Python's."""

    find_spec = PathFinder.find_spec


def test_a_module_that_cannot_be_served_does_not_have_the_file_written_again(package: Path) -> None:
    """Such as one that another finder finds in a folder that is not the package's."""
    loaded(package)
    (file,) = files(package)
    written = file.stat().st_mtime_ns
    elsewhere = package.parent / "elsewhere"
    shutil.move(package / "inner", elsewhere / "inner")
    (package / "first.py").write_text(
        f"import sys\nimport {PACKAGE}\n{PACKAGE}.__path__.append({str(elsewhere)!r})\n"
        "from .inner.second import value\n"
    )
    assert loaded(package)[1] == set()
    rewritten = file.stat().st_mtime_ns
    assert rewritten != written
    assert loaded(package)[1] == {MODULES[0], MODULES[2]}
    assert file.stat().st_mtime_ns == rewritten
