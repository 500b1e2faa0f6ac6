"""Sessions of tests by Python and by the versions of the dependencies. `nox --list` names them.

    nox -s "tests(3.12-newest)"                       # every test, with what pip chooses on Python 3.12
    nox -s "tests(3.11-oldest)" -- -k gather          # arguments of pytest
    nox -s "selection(3.11-oldest)"                   # some tests of each layer, in minutes
    nox -s "first_command(3.12)"                      # the first command of README.md, in a clone

`newest` installs the newest versions that pyproject.toml allows, `oldest` its lower bounds, or the lowest
that have a wheel for the Python: uv derives both from the requirements. The interpreters are those of PATH
and of pyenv. `make test` is for one environment.
"""

import os
import shutil
import subprocess
from pathlib import Path

import nox

nox.needs_version = ">=2025.5.1"
nox.options.default_venv_backend = "uv"
nox.options.error_on_missing_interpreters = True
nox.options.reuse_existing_virtualenvs = True

PROJECT = nox.project.load_toml("pyproject.toml")
PYTHONS = nox.project.python_versions(PROJECT)
# The names of uv's strategies: `lowest-direct` takes the lower bounds of what the project itself asks for.
RESOLUTIONS = {"newest": "highest", "oldest": "lowest-direct"}
COMBINATIONS = [
    nox.param(python, dependencies, id=f"{python}-{dependencies}")
    for python in PYTHONS
    for dependencies in RESOLUTIONS
]

# The extensions, execution in every mode, the JAX platform, MPI, and what else depends on versions.
SELECTION = (
    "tests/kernels/launch",
    "tests/program/ops/framework",
    "tests/program/ops/indexing",
    "tests/test_api.py",
    "tests/execution/test_dlpack.py",
    "tests/execution/test_executor.py",
    "tests/execution/test_memory.py",
    "tests/packaging/test_package.py",
    "tests/jax/test_platform.py",
    "tests/execution/mpi/test_mpi.py",
)
PYTEST = ("-n", "2", "--dist", "worksteal")

LIST_VERSIONS = """
import importlib.metadata as metadata
print(*sorted(f"{one.name} {one.version}" for one in metadata.distributions()), sep=", ")
"""


def add_interpreters_to_path() -> None:
    """Let nox and uv find each interpreter that tools/find_python.sh finds."""
    if shutil.which("sh"):
        command = ["sh", "tools/find_python.sh", "--all"]
        found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        folders = [str(Path(line.split(" ", 1)[1]).parent) for line in found.splitlines()]
        os.environ["PATH"] = os.pathsep.join([*folders, os.environ.get("PATH", "")])


add_interpreters_to_path()


def install(session: nox.Session, dependencies: str) -> None:
    """Install the project and what its tests need; its extensions are built with the same versions."""
    session.install(
        *("--resolution", RESOLUTIONS[dependencies]),
        *("--requirements", "pyproject.toml", "--extra", "test", "--only-binary", ":all:"),
        # A test builds a wheel.
        "pip>=24",
        *PROJECT["build-system"]["requires"],
    )
    session.install("--no-build-isolation", "--no-deps", "--editable", ".")
    session.run("python", "-c", LIST_VERSIONS)


@nox.session
@nox.parametrize(("python", "dependencies"), COMBINATIONS)
def tests(session: nox.Session, dependencies: str) -> None:
    """Every test, or those that the arguments of pytest name."""
    install(session, dependencies)
    session.run("python", "-m", "pytest", *PYTEST, *session.posargs)


@nox.session
@nox.parametrize(("python", "dependencies"), COMBINATIONS)
def selection(session: nox.Session, dependencies: str) -> None:
    """Some tests of each layer."""
    install(session, dependencies)
    session.run("python", "-m", "pytest", *PYTEST, *SELECTION, *session.posargs)


@nox.session
@nox.parametrize("python", [nox.param(python, id=python) for python in PYTHONS])
def first_command(session: nox.Session) -> None:
    """The first command of README.md in a clone of what is committed, then the selection."""
    clone = Path(session.virtualenv.location) / "clone"
    shutil.rmtree(clone, ignore_errors=True)
    session.run("git", "clone", "--quiet", ".", str(clone), external=True)
    python = Path(session.bin) / "python"
    with session.chdir(clone):
        session.run("make", "run", f"PYTHON={python}", external=True)
        session.run(str(python), "tools/set_up.py", "test")
        tests = [*PYTEST, *SELECTION, *session.posargs]
        session.run(str(clone / ".venv/bin/python"), "-m", "pytest", *tests, external=True)
