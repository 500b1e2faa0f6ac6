"""Make the project's virtual environment .venv: extensions built, the project installed editable.

    python tools/set_up.py [EXTRA ...]

A stamp in .venv records the inputs of the last set-up, so that the next one repeats only what is out of date:
after a change of pyproject.toml or setup.py it installs the project and its requirements again; after a
change of a Cython or C source it builds only the extensions. With another Python, or in another folder, it
makes a new environment and compiles the extensions while pip installs the requirements of the extras. It
needs only Python's standard library.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
import venv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / ".venv"
STAMP = ENVIRONMENT / "nimblehlo-stamp.json"
# Where setup.py builds the extensions before it copies them into place.
EDITABLE_BUILD = ROOT / "build" / "editable"


@dataclass(frozen=True)
class State:
    """The inputs of an environment: digests of the files that it depends on, and its extras."""

    environment: str
    extensions: str
    extras: tuple[str, ...]


def digest(texts: Iterable[bytes]) -> str:
    """A digest of several texts in their order."""
    total = hashlib.sha256()
    for text in texts:
        total.update(len(text).to_bytes(8, "little"))
        total.update(text)
    return total.hexdigest()


def wanted_state(extras: Iterable[str]) -> State:
    """The state that the present files need. It includes the root's path: an environment cannot be moved."""
    shaping = [ROOT / "pyproject.toml", ROOT / "setup.py"]
    sources = sorted(
        path
        for folder in ("runtime", "kernels")
        for pattern in ("*.pyx", "*.pxd", "*.pxi", "*.h")
        for path in (ROOT / folder).rglob(pattern)
    )
    machine = [sys.version.encode(), str(ROOT).encode()]
    return State(
        environment=digest([*machine, *(path.read_bytes() for path in shaping)]),
        extensions=digest(text for path in sources for text in (path.as_posix().encode(), path.read_bytes())),
        extras=tuple(sorted(set(extras))),
    )


def recorded_state() -> State | None:
    """The state that the stamp records; None if it is missing or not readable."""
    try:
        record = json.loads(STAMP.read_text())
        return State(record["environment"], record["extensions"], tuple(record["extras"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def environment_python() -> Path:
    """The environment's own Python."""
    return ENVIRONMENT / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")


def is_usable() -> bool:
    """Whether this Python made the environment, at this path: an environment cannot be moved."""
    try:
        lines = (ENVIRONMENT / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return False
    settings = {name.strip(): value.strip() for name, _, value in (line.partition("=") for line in lines)}
    is_here = settings.get("command", "").endswith(f" {ENVIRONMENT}")
    return is_here and settings.get("version") == python_version() and environment_python().exists()


def python_version() -> str:
    """The version of this Python, as in ``3.11.7``."""
    return ".".join(map(str, sys.version_info[:3]))


def pip_install(*arguments: str) -> None:
    """Install with the environment's pip; a failure ends the program with pip's own output."""
    command = [str(environment_python()), "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    finished = subprocess.run([*command, *arguments], cwd=ROOT)
    if finished.returncode:
        sys.exit(f"set-up failed: pip install {' '.join(arguments)}")


@contextmanager
def building_extensions() -> Iterator[None]:
    """Build the extensions while the body runs; a failure ends the program with the compilers' output."""
    shutil.rmtree(EDITABLE_BUILD, ignore_errors=True)
    command = [str(environment_python()), "setup.py", "-q", "build_ext", "--inplace"]
    with tempfile.TemporaryFile() as output:
        building = subprocess.Popen(command, cwd=ROOT, stdout=output, stderr=subprocess.STDOUT)
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


def install_project(extras: tuple[str, ...], *options: str) -> None:
    """Install the project editable; its extensions are built in place where they are out of date."""
    suffix = f"[{','.join(extras)}]" if extras else ""
    pip_install("--no-build-isolation", *options, "--editable", f".{suffix}")


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
    recorded = recorded_state()
    wanted = wanted_state(extras)
    rebuild = recorded is None or not is_usable()
    if recorded is not None and not rebuild:
        wanted = wanted_state([*wanted.extras, *recorded.extras])
    if recorded == wanted and not rebuild:
        return
    started = time.perf_counter()
    STAMP.unlink(missing_ok=True)
    if rebuild:
        print(f"making the virtual environment {ENVIRONMENT.name} with Python {python_version()}", flush=True)
        make_environment(wanted.extras)
    only_extensions = (
        recorded is not None
        and not rebuild
        and (recorded.environment, recorded.extras) == (wanted.environment, wanted.extras)
    )
    print("building the extensions" if only_extensions else "installing the project", flush=True)
    install_project(wanted.extras, *(["--no-deps"] if only_extensions else []))
    STAMP.write_text(json.dumps(asdict(wanted)))
    print(f"set-up done in {time.perf_counter() - started:.1f} s", flush=True)


def main() -> None:
    """Set up with the extras that the command line names."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("extras", nargs="*", metavar="EXTRA", help="an extra of pyproject.toml, such as dev")
    set_up(parser.parse_args().extras)


if __name__ == "__main__":
    main()
