"""Run Python as on an aarch64 machine, by user-mode emulation, with the extensions compiled for it.

    python tools/aarch64.py [ARGUMENT ...]
    python tools/aarch64.py --wheel

The arguments are those of Python, such as `-m tests.processors --verify FILE`, which runs what
`python -m tests.processors --record FILE` wrote on this machine; without any all is only built. It lies in
build/aarch64 and is brought up to date first: a Debian with Python and its headers, the packages that
NimbleHLO needs as wheels, and a copy of the packages with cross-compiled extensions. Emulated code takes 10
to 50 times as long, and processes cannot start others.

`--wheel` builds a wheel of the working tree in dist/, repairs it with auditwheel, and compares the results of
an example that runs with it alone. The Python that runs this needs the extra `wheels` for that.

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
EXAMPLE = """
import sys
from nimblehlo.cli import main
sys.path.append(sys.argv[1])
from tools.run_examples import EXAMPLES, arrays, disagreement
program, output = EXAMPLES / "kmeans.mlir", sys.argv[2]
status = main(["run", str(program), "--output", output])
reason = disagreement(arrays(output), arrays(program.with_suffix(".expected.npz")))
print(f"{program.name}: {reason or 'results agree with the expected ones'}")
sys.exit(status or reason is not None)
"""
"""Emulated processes cannot start `nimblehlo run`: they call what it calls."""

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


def cross_compilation() -> dict[str, str]:
    """The variables with which setup.py compiles for aarch64."""
    headers, library = SYSTEM / "usr/include", SYSTEM / "usr/lib" / PYTHON
    configuration = FOLDER / "configuration"
    configuration.mkdir(exist_ok=True)
    name = f"_sysconfigdata__{TRIPLET}"
    shutil.copy(library / f"{name}.py", configuration)
    compiler = f"{TRIPLET}-gcc"
    return {
        **os.environ,
        "_PYTHON_HOST_PLATFORM": "linux-aarch64",
        "_PYTHON_SYSCONFIGDATA_NAME": name,
        "PYTHONPATH": str(configuration),
        "CC": compiler,
        "LDSHARED": f"{compiler} -shared",
        "CFLAGS": f"-I{headers} -I{headers / PYTHON} -DNDEBUG -fPIC",
    }


def compile_extensions() -> None:
    """Cross-compile the extensions whose sources have changed, and copy all packages."""
    folders = [f"--build-lib={EXTENSIONS}", f"--build-temp={FOLDER}/temp"]
    command = [sys.executable, "setup.py", "build_ext", *folders]
    subprocess.run(command, cwd=ROOT, env=cross_compilation(), check=True)
    shutil.rmtree(APPLICATION, ignore_errors=True)
    for source, target in PACKAGES.items():
        ignored = shutil.ignore_patterns("*.so", "__pycache__")
        shutil.copytree(ROOT / source, APPLICATION / target, ignore=ignored, dirs_exist_ok=True)
    shutil.copytree(EXTENSIONS / "nimblehlo", APPLICATION / "nimblehlo", dirs_exist_ok=True)


def build_wheel() -> Path:
    """Build a wheel with cross-compiled extensions, and repair it; returns the repaired one."""
    raw, repaired = FOLDER / "raw", FOLDER / "repaired"
    for folder in (raw, repaired):
        shutil.rmtree(folder, ignore_errors=True)
    scripts = str(Path(sys.executable).parent)
    variables = {**cross_compilation(), "PATH": os.pathsep.join([scripts, os.environ["PATH"]])}
    command = [sys.executable, "setup.py", "-q", "bdist_wheel", f"--dist-dir={raw}"]
    subprocess.run(command, cwd=ROOT, env=variables, check=True)
    (wheel,) = raw.glob("*.whl")
    (FOLDER / "bin").mkdir(exist_ok=True)
    strip = FOLDER / "bin" / "strip"
    strip.unlink(missing_ok=True)
    strip.symlink_to(shutil.which(f"{TRIPLET}-strip") or "")
    variables["PATH"] = os.pathsep.join([str(strip.parent), variables["PATH"]])
    repair = [sys.executable, "-m", "auditwheel", "repair", "--strip", f"--wheel-dir={repaired}", str(wheel)]
    subprocess.run(repair, env=variables, check=True)
    (result,) = repaired.glob("*.whl")
    (ROOT / "dist").mkdir(exist_ok=True)
    return Path(shutil.copy2(result, ROOT / "dist" / result.name))


def emulate(arguments: list[str], packages: Path) -> int:
    """The exit status of the emulated Python, which finds NimbleHLO in the folder `packages`."""
    variables = {
        **os.environ,
        "PYTHONPATH": f"{packages}:{SITE}",
        "QEMU_LD_PREFIX": str(SYSTEM),
        "NIMBLEHLO_CACHE_DIR": str(FOLDER / "cache"),
    }
    command = ["qemu-aarch64-static", str(SYSTEM / "usr/bin" / PYTHON), *arguments]
    return subprocess.run(command, env=variables, check=False).returncode


def main() -> int:
    """Returns the exit status of the emulated Python."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        raise SystemExit(__doc__)
    if sys.version_info[:2] != (3, 11):
        raise SystemExit(f"the Python that runs this must be {PYTHON}, as in Debian {RELEASE}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    unpack_system()
    unpack_wheels()
    if sys.argv[1:] == ["--wheel"]:
        wheel, installed = build_wheel(), FOLDER / "installed"
        print(f"{wheel.relative_to(ROOT)}  {wheel.stat().st_size / 1e6:.2f} MB", flush=True)
        shutil.rmtree(installed, ignore_errors=True)
        shutil.unpack_archive(wheel, installed, "zip")
        return emulate(["-c", EXAMPLE, str(ROOT), str(FOLDER / "results.npz")], installed)
    compile_extensions()
    if len(sys.argv) == 1:
        return 0
    return emulate(sys.argv[1:], APPLICATION)


if __name__ == "__main__":
    sys.exit(main())
