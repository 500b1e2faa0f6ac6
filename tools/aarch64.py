"""Run Python as on an aarch64 machine, by user-mode emulation, with the extensions compiled for it.

    python tools/aarch64.py [ARGUMENT ...]

The arguments are those of Python, such as `-m tests.processors --verify FILE`, which runs what
`python -m tests.processors --record FILE` wrote on this machine; without any all is only built. It lies in
build/aarch64 and is brought up to date first: a Debian with Python and its headers, the packages that
NimbleHLO needs as wheels, and a copy of the packages with cross-compiled extensions. Emulated code takes 10
to 50 times as long, and processes cannot start others.

Needs Linux, root for debootstrap, and of Debian's packages debootstrap, qemu-user-static and
g++-aarch64-linux-gnu. The Python that runs this must have the version of Debian's.
"""

import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "aarch64"
SYSTEM, WHEELS, SITE, EXTENSIONS, APPLICATION = (
    FOLDER / name for name in ("system", "wheels", "site", "extensions", "application")
)
RELEASE, PYTHON, TRIPLET = "bookworm", "python3.11", "aarch64-linux-gnu"
REQUIREMENTS = ("numpy", "scipy", "numba", "llvmlite", "ml_dtypes")
PLATFORMS = (
    "manylinux2014_aarch64",
    "manylinux_2_17_aarch64",
    "manylinux_2_27_aarch64",
    "manylinux_2_28_aarch64",
)
PACKAGES = {"runtime": "nimblehlo", "kernels": "nimblehlo/kernels", "tests": "tests"}


def unpack_system() -> None:
    """Download and unpack a Debian system, without running any of its programs."""
    if (SYSTEM / "usr/bin" / PYTHON).exists():
        return
    options = ["--arch=arm64", "--foreign", "--variant=minbase", f"--include={PYTHON},lib{PYTHON}-dev"]
    subprocess.run(["debootstrap", *options, RELEASE, str(SYSTEM)], check=True)
    for package in sorted((SYSTEM / "var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg", "-x", str(package), str(SYSTEM)], check=True)


def unpack_wheels() -> None:
    """Download the wheels of the versions that this Python has, and unpack them."""
    wanted = [f"{name}=={version(name)}" for name in REQUIREMENTS]
    mark = SITE / "wheels.txt"
    if mark.exists() and mark.read_text() == "\n".join(wanted):
        return
    for folder in (WHEELS, SITE):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    pip = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", *platforms]
    subprocess.run([*pip, f"--dest={WHEELS}", *wanted], check=True)
    for wheel in WHEELS.glob("*.whl"):
        shutil.unpack_archive(wheel, SITE, "zip")
    mark.write_text("\n".join(wanted))


def compile_extensions() -> None:
    """Cross-compile the extensions whose sources have changed, and copy all packages."""
    headers, library = SYSTEM / "usr/include", SYSTEM / "usr/lib" / PYTHON
    configuration = FOLDER / "configuration"
    configuration.mkdir(exist_ok=True)
    name = f"_sysconfigdata__{TRIPLET}"
    shutil.copy(library / f"{name}.py", configuration)
    compiler = f"{TRIPLET}-gcc"
    variables = {
        **os.environ,
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "_PYTHON_SYSCONFIGDATA_NAME": name,
        "PYTHONPATH": str(configuration),
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": f"-I{headers} -I{headers / PYTHON} -DNDEBUG -fPIC",
    }
    folders = [f"--build-lib={EXTENSIONS}", f"--build-temp={FOLDER}/temp"]
    subprocess.run([sys.executable, "setup.py", "build_ext", *folders], cwd=ROOT, env=variables, check=True)
    shutil.rmtree(APPLICATION, ignore_errors=True)
    for source, target in PACKAGES.items():
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / source, APPLICATION / target, ignore=ignored, dirs_exist_ok=True)
    shutil.copytree(EXTENSIONS / "nimblehlo", APPLICATION / "nimblehlo", dirs_exist_ok=True)


def main() -> int:
    """Returns the exit status of the emulated Python."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        raise SystemExit(__doc__)
    if sys.version_info[:2] != (3, 11):
        raise SystemExit(f"the Python that runs this must be {PYTHON}, as in Debian {RELEASE}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    unpack_system()
    unpack_wheels()
    compile_extensions()
    if len(sys.argv) == 1:
        return 0
    variables = {
        **os.environ,
        "PYTHONPATH": f"{APPLICATION}:{SITE}",
        "QEMU_LD_PREFIX": str(SYSTEM),
        "NIMBLEHLO_CACHE_DIR": str(FOLDER / "cache"),
    }
    command = ["qemu-aarch64-static", str(SYSTEM / "usr/bin" / PYTHON), *sys.argv[1:]]
    return subprocess.run(command, env=variables, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
