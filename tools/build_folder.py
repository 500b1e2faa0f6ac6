"""The folder in which setup.py builds the extensions: named after the inputs of the build that are not files.

setuptools and Cython compare times of files only. Versions, the compiler and its arguments therefore choose
the folder: where one of them changes, everything is built anew, and each combination keeps what it has built.
What a killed build leaves behind is never used. Only Python's standard library is imported here:
tools/set_up.py needs the inputs before anything is installed.
"""

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import distributions
from pathlib import Path

# Cython copies declarations of NumPy into the C files; setuptools chooses the arguments of the compiler.
PACKAGES = ("Cython", "numpy", "setuptools")
VARIABLES = (
    "CC",
    "CFLAGS",
    "CPPFLAGS",
    "LDFLAGS",
    "LDSHARED",
    "NIMBLEHLO_COMPILE_ARGUMENTS",
    "NIMBLEHLO_LINK_ARGUMENTS",
)
FOLDERS = Path("build", "extensions")
UNFINISHED = "unfinished"


def package_version(name: str, path: Sequence[str] | None = None) -> str:
    """The version of an installed package, or "" where there is none.

    Args:
        name: the name of the distribution.
        path: the folders in which it is looked for, by default those of this Python.
    """
    found = distributions(name=name) if path is None else distributions(name=name, path=list(path))
    return next((distribution.version for distribution in found), "")


def compiler_version() -> str:
    """The first line that the C compiler prints of its version, or "" where it does not run.

    On Windows setuptools finds the compiler itself, and this function does not.
    """
    command = shlex.split(os.environ.get("CC") or sysconfig.get_config_var("CC") or "")
    if not command:
        return ""
    try:
        output = subprocess.run([*command, "--version"], capture_output=True, text=True).stdout
    except OSError:
        return ""
    return output.partition("\n")[0]


def build_inputs(path: Sequence[str] | None = None) -> dict[str, str]:
    """What the extensions depend on beside the project's files, each input by its name.

    Args:
        path: where the packages are installed, by default in this Python.
    """
    return {
        "Python": sys.version,
        "compiler": compiler_version(),
        **{name: package_version(name, path) for name in PACKAGES},
        **{name: os.environ.get(name, "") for name in VARIABLES},
    }


def build_folder(inputs: dict[str, str]) -> Path:
    """The folder of a build with these inputs, relative to the project's root."""
    digest = hashlib.sha256(json.dumps(inputs, sort_keys=True).encode()).hexdigest()
    return FOLDERS / f"{sys.implementation.cache_tag}-{digest[:12]}"


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one process at a time run the body; the others wait. Without effect on Windows.

    Child processes that are started with `close_fds=False` hold the lock too: they outlive a parent that is
    killed.
    """
    if sys.platform == "win32":
        yield
        return
    import fcntl

    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        os.set_inheritable(file.fileno(), True)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            print(f"waiting for another process that holds {path}", flush=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def building(folder: Path) -> Iterator[None]:
    """Run a build in the folder, which is emptied first if an earlier build in it was killed.

    A compiler that is killed leaves a part of a file, which is newer than its source: it would never be made
    again. One that reports an error leaves none, so what is complete is kept then.
    """
    mark = folder / UNFINISHED
    with locked(folder.with_name(f"{folder.name}.lock")):
        if mark.exists():
            shutil.rmtree(folder)
        folder.mkdir(parents=True, exist_ok=True)
        mark.touch()
        try:
            yield
        except (Exception, SystemExit):
            mark.unlink(missing_ok=True)
            raise
        mark.unlink(missing_ok=True)
