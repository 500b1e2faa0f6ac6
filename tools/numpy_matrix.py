"""Build the extensions with several versions of NumPy, and run each build with each of these versions.

    python tools/numpy_matrix.py [--numpy 2.0 2.4 2.5] [--tests tests/execution/test_executor.py ...]
    [--folder FOLDER]

NumPy 2 promises that extensions which were built with one version run with another. Each build is a wheel. It
is installed beside each version of NumPy, with the Numba and SciPy that pip chooses for that version; there
the examples and the tests run. A version of NumPy without wheels for this Python is left out, so run the tool
with each Python.

The environments and wheels stay in FOLDER, by default build/numpy_matrix, and serve again while the sources
and the environment variable NIMBLEHLO_COMPILE_ARGUMENTS are unchanged. Exits with 0 only if at least two
versions could be had and every pair passed.
"""

import argparse
import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
VERSIONS = ("2.0", "2.4", "2.5")
"""The oldest that pyproject.toml allows, and those before and after NumPy changed how Cython sees ufuncs."""

RUN_REQUIREMENTS = ("ml_dtypes", "numba", "scipy", "pytest", "hypothesis")
BUILD_REQUIREMENTS = ("Cython>=3.1", "setuptools>=77")
# What a wheel is made of.
SOURCES = (
    "kernels",
    "runtime",
    "nimblehlo_pytest.py",
    "pyproject.toml",
    "setup.py",
    "tools/build_folder.py",
    "README.md",
)


class Output(NamedTuple):
    """What a command printed, and whether it succeeded."""

    text: str
    succeeded: bool

    @property
    def last_line(self) -> str:
        """The last line that is not empty."""
        return next((line for line in reversed(self.text.splitlines()) if line.strip()), "")


def call(*command: object, folder: Path = ROOT) -> Output:
    """Run a command."""
    words = [str(word) for word in command]
    # The checkout itself must not be imported in place of the wheel.
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    process = subprocess.run(
        words, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    return Output(process.stdout, process.returncode == 0)


def environment(folder: Path, version: str) -> Path | None:
    """The Python of an environment with a version of NumPy; None if there is none for this Python."""
    python = folder / version / ("Scripts" if os.name == "nt" else "bin") / "python"
    if not (folder / version / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder / version)], check=True)
        requirements = (f"numpy=={version}.*", *RUN_REQUIREMENTS, *BUILD_REQUIREMENTS)
        output = call(python, "-m", "pip", "install", "-q", "--only-binary=:all:", *requirements)
        if not output.succeeded:
            print(f"NumPy {version} is left out: {output.last_line}", flush=True)
            return None
        (folder / version / "complete").touch()
    return python


def versions_in(python: Path) -> dict[str, str]:
    """The versions of NumPy, Numba and SciPy in an environment."""
    output = call(python, "-m", "pip", "list", "--format=freeze").text
    pairs = [line.partition("==")[::2] for line in output.splitlines()]
    return {name: version for name, version in pairs if name in ("numba", "numpy", "scipy")}


def digest_of_sources(files: list[str]) -> str:
    """A digest of what a wheel depends on besides the version of NumPy."""
    digest = hashlib.sha256(os.environ.get("NIMBLEHLO_COMPILE_ARGUMENTS", "").encode())
    for file in files:
        digest.update(file.encode() + b"\0" + (ROOT / file).read_bytes())
    return digest.hexdigest()[:16]


def wheel(folder: Path, version: str, python: Path) -> Path:
    """The wheel that is built with a version of NumPy."""
    git = ("git", "ls-files", "--cached", "--others", "--exclude-standard", "--")
    listing = call(*git, *SOURCES)
    files = [file for file in listing.text.splitlines() if (ROOT / file).is_file()]
    target = folder / f"wheel-{version}-{digest_of_sources(files)}"
    if not list(target.glob("*.whl")):
        sources = folder / f"sources-{version}"
        for file in files:
            content, copy = (ROOT / file).read_bytes(), sources / file
            copy.parent.mkdir(parents=True, exist_ok=True)
            # Unchanged files keep their time, so that only what depends on others is built again.
            if not copy.exists() or copy.read_bytes() != content:
                copy.write_bytes(content)
        pip = (python, "-m", "pip", "wheel", "-q", "--no-build-isolation", "--no-deps")
        output = call(*pip, f"--wheel-dir={target}", sources)
        if not output.succeeded:
            sys.exit(f"the build with NumPy {version} failed:\n{output.text[-4000:]}")
    return next(target.glob("*.whl"))


def run_with(python: Path, built: Path, tests: list[str]) -> tuple[bool, str]:
    """Install a wheel, and run the examples and the tests; whether all passed, and what to print."""
    install = ("-m", "pip", "install", "-q", "--force-reinstall", "--no-deps", built)
    examples = ("tools/run_examples.py",)
    checks = ("-m", "pytest", "-q", "-p", "no:cacheprovider", *tests)
    output = Output("", True)
    for arguments in (install, examples, checks):
        output = call(python, *arguments)
        if not output.succeeded:
            return False, f"FAILED: {output.last_line}\n{output.text[-4000:]}"
    return True, f"the examples agree, and of the tests {output.last_line}"


def main() -> int:
    """Run the matrix; the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--numpy", nargs="+", default=list(VERSIONS), metavar="VERSION")
    parser.add_argument("--tests", nargs="+", default=["tests/execution/test_executor.py"], metavar="FILE")
    parser.add_argument("--folder", type=Path, default=ROOT / "build" / "numpy_matrix")
    options = parser.parse_args()
    folder = options.folder.resolve() / f"python{sys.version_info.major}.{sys.version_info.minor}"
    folder.mkdir(parents=True, exist_ok=True)
    candidates = {version: environment(folder, version) for version in options.numpy}
    pythons = {version: python for version, python in candidates.items() if python is not None}
    if len(pythons) < 2:
        print("fewer than two versions of NumPy can be had for this Python")
        return 1
    wheels = {version: wheel(folder, version, python) for version, python in pythons.items()}
    failures = 0
    for python in pythons.values():
        names = ", ".join(f"{name} {version}" for name, version in sorted(versions_in(python).items()))
        for build_version, built in wheels.items():
            passed, text = run_with(python, built, options.tests)
            failures += not passed
            print(f"built with NumPy {build_version}, run with {names}: {text}", flush=True)
    pairs = len(pythons) ** 2
    print(f"Python {sys.version.split()[0]}: {pairs - failures} of {pairs} pairs passed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
