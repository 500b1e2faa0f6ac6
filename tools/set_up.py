"""Make the project's virtual environment .venv: extensions built, the project installed editable.

    python tools/set_up.py [EXTRA ...]

A stamp in .venv records the inputs of the last set-up, so that the next one repeats only what is out of date:

- after a change of pyproject.toml or setup.py it installs the project and its requirements again;
- after a change of a Cython or C source, of the version of NumPy, Cython, setuptools or the compiler, or of
  an extension itself, it builds only the extensions;
- with another Python, in another folder, or after an installation that was interrupted, it makes a new
  environment and compiles the extensions while pip installs the requirements of the extras.

It needs only Python's standard library.
"""

import argparse
import hashlib
import json
import os
import re
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.build_folder import PACKAGES, build_inputs, locked, package_version

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "nimblehlo-stamp.json"
LOCK = ROOT / "build" / "set_up.lock"
SOURCES = ("runtime", "kernels")


@dataclass(frozen=True)
class State:
    """The inputs of an environment: digests of what it depends on, and its extras.

    Attributes:
        environment: Python, the project's path, pyproject.toml and setup.py.
        sources: the Cython and C sources, and the other inputs of their build.
        extensions: the extensions in place, by size and time; "" while they are being built.
        extras: the extras that are installed.
    """

    environment: str
    sources: str
    extensions: str
    extras: tuple[str, ...]


def digest(texts: Iterable[bytes]) -> str:
    """A digest of several texts in their order."""
    total = hashlib.sha256()
    for text in texts:
        total.update(len(text).to_bytes(8, "little"))
        total.update(text)
    return total.hexdigest()


def site_packages() -> str:
    """Where the environment's packages are installed."""
    base = str(ENVIRONMENT)
    return sysconfig.get_path("purelib", "venv", {"base": base, "platbase": base})


def source_digest() -> str:
    """A digest of the extensions' sources, and of what their build depends on besides."""
    paths = sorted(
        path
        for folder in SOURCES
        for pattern in ("*.pyx", "*.pxd", "*.pxi", "*.h")
        for path in (ROOT / folder).rglob(pattern)
    )
    inputs = json.dumps(build_inputs([site_packages()]), sort_keys=True)
    texts = (text for path in paths for text in (path.as_posix().encode(), path.read_bytes()))
    return digest([inputs.encode(), *texts])


def extension_digest() -> str:
    """A digest of names, sizes and times of this Python's extensions that lie in place."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    paths = sorted(path for folder in SOURCES for path in (ROOT / folder).rglob(f"*{suffix}"))
    states = ((path.as_posix(), path.stat()) for path in paths)
    return digest(f"{name} {state.st_size} {state.st_mtime_ns}".encode() for name, state in states)


def present_state(extras: Iterable[str]) -> State:
    """The state of the present files. It includes the root's path: an environment cannot be moved."""
    files = [ROOT / "pyproject.toml", ROOT / "setup.py"]
    machine = [sys.version.encode(), str(ROOT).encode()]
    return State(
        environment=digest([*machine, *(path.read_bytes() for path in files)]),
        sources=source_digest(),
        extensions=extension_digest(),
        extras=tuple(sorted(set(extras))),
    )


def recorded_state() -> State | None:
    """The state that the stamp records; None if it is missing or not readable."""
    try:
        record = json.loads(STAMP.read_text())
        return State(record["environment"], record["sources"], record["extensions"], tuple(record["extras"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def record_state(state: State) -> None:
    """Write the stamp; a process that is killed meanwhile leaves the former one."""
    unfinished = STAMP.with_suffix(".unfinished")
    unfinished.write_text(json.dumps(asdict(state)))
    os.replace(unfinished, STAMP)


def environment_python() -> Path:
    """The environment's own Python."""
    return ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def is_usable() -> bool:
    """Whether this Python made the environment, at this path, and it has what a build imports."""
    try:
        lines = (ENVIRONMENT / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return False
    settings = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    is_here = settings.get("command", "").endswith(f" {ENVIRONMENT}")
    is_here = is_here and settings.get("version") == python_version() and environment_python().exists()
    return is_here and all(package_version(name, [site_packages()]) for name in PACKAGES)


def python_version() -> str:
    """The version of this Python, as in ``3.11.7``."""
    return ".".join(map(str, sys.version_info[:3]))


def pip_install(*arguments: str) -> None:
    """Install with the environment's pip; a failure ends the program with pip's own output."""
    command = [str(environment_python()), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    finished = subprocess.run([*command, *arguments], cwd=ROOT, close_fds=False)
    if finished.returncode:
        sys.exit(f"set-up failed: pip install {' '.join(arguments)}")


@contextmanager
def building_extensions() -> Iterator[None]:
    """Build the extensions while the body runs; a failure ends the program with the compilers' output."""
    command = [str(environment_python()), "setup.py", "-q", "build_ext", "--inplace"]
    with tempfile.TemporaryFile() as output:
        building = subprocess.Popen(
            command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT, close_fds=False
        )
        try:
            yield
        finally:
            status = building.wait()
        if status:
            output.seek(0)
            sys.exit(f"{output.read().decode(errors='replace')}set-up failed: the extensions were not built")


def extra_requirements(project: dict[str, Any], extras: Iterable[str]) -> list[str]:
    """The requirements of extras; an extra may name other extras of the project."""
    wanted: list[str] = []
    for extra in extras:
        for requirement in project["optional-dependencies"][extra]:
            own = re.fullmatch(rf"{project['name']}\[(.*)\]", requirement)
            wanted += extra_requirements(project, own[1].split(",")) if own else [requirement]
    return list(dict.fromkeys(wanted))


def install_project(extras: tuple[str, ...]) -> None:
    """Install the project editable; its extensions are built in place where they are out of date."""
    suffix = f"[{','.join(extras)}]" if extras else ""
    pip_install("--no-build-isolation", "--editable", f".{suffix}")


def make_environment(extras: tuple[str, ...]) -> None:
    """Make the environment anew; the extensions are compiled while pip installs what the extras need.

    They are compiled with the NumPy that the dependencies ask for, which no later installation replaces.
    """
    table = tomllib.loads((ROOT / "pyproject.toml").read_text())
    venv.create(ENVIRONMENT, clear=True, with_pip=True)
    pip_install(*table["build-system"]["requires"], *table["project"]["dependencies"])
    packages = extra_requirements(table["project"], extras)
    with building_extensions():
        if packages:
            pip_install(*packages)


def set_up(extras: Iterable[str]) -> None:
    """Bring the environment to the state that the files and the extras ask for."""
    recorded = recorded_state() if is_usable() else None
    wanted = present_state([*extras, *(recorded.extras if recorded else ())])
    if recorded == wanted:
        return
    started = time.perf_counter()
    if recorded and (recorded.environment, recorded.extras) == (wanted.environment, wanted.extras):
        print("building the extensions", flush=True)
        record_state(replace(recorded, extensions=""))
        with building_extensions():
            pass
    else:
        # Without a stamp the next call makes the environment anew: pip may be killed while it installs.
        STAMP.unlink(missing_ok=True)
        if recorded is None:
            print(
                f"making the virtual environment {ENVIRONMENT.name} with Python {python_version()}",
                flush=True,
            )
            make_environment(wanted.extras)
        print("installing the project", flush=True)
        install_project(wanted.extras)
    record_state(present_state(wanted.extras))
    print(f"set-up done in {time.perf_counter() - started:.1f} s", flush=True)


def main() -> None:
    """Set up with the extras that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="an extra of pyproject.toml, such as dev")
    extras = parser.parse_args().extras
    with locked(LOCK):
        set_up(extras)


if __name__ == "__main__":
    main()
