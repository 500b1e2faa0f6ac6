"""Run Python with the extensions built for AddressSanitizer, from a copy outside of the tree.

    python tools/address_sanitizer.py [ARGUMENT ...]

The arguments are those of Python, such as `-m pytest tests/kernels`; without any the copy is only built. It
lies in build/address_sanitizer and is brought up to date first. Linux and GCC alone.

AddressSanitizer sees each access of the Cython and C code to the heap, the stack and static memory, and what
the C library does for anybody. Generated code and Numba's are not instrumented: `python -m tests.poisoned
--guard` is for these.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "build" / "address_sanitizer"
SOURCES = ("*.py", "*.pyx", "*.pxd", "*.pxi", "*.pyi", "*.h", "py.typed")
PACKAGES = ("runtime", "kernels")
COMPILE_ARGUMENTS = "-fsanitize=address -fno-omit-frame-pointer -g -O1"
# Python and NumPy keep what they allocate until the process ends. What is freed is kept back, so that a later
# use of it is seen; what is allocated is filled with 0xff, a NaN of each float type.
OPTIONS = (
    "detect_leaks=0:abort_on_error=1:max_malloc_fill_size=1073741824:malloc_fill_byte=255:"
    "max_free_fill_size=1073741824:free_fill_byte=247:quarantine_size_mb=256:"
    "detect_stack_use_after_return=0:allocator_may_return_null=1"
)


def build() -> None:
    """Bring the copy up to date."""
    for package in PACKAGES:
        wanted = {path.relative_to(ROOT) for pattern in SOURCES for path in (ROOT / package).rglob(pattern)}
        for path in wanted:
            target = COPY / path
            if not target.exists() or target.read_bytes() != (ROOT / path).read_bytes():
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(ROOT / path, target)
        for pattern in SOURCES:
            for path in (COPY / package).rglob(pattern):
                if path.relative_to(COPY) not in wanted:
                    path.unlink()
    (COPY / "tools").mkdir(exist_ok=True)
    for name in ("setup.py", "tools/build_folder.py", "pyproject.toml", "README.md", "LICENSE"):
        shutil.copy2(ROOT / name, COPY / name)
    links = {COPY / "site" / "nimblehlo": COPY / "runtime", COPY / "runtime" / "kernels": COPY / "kernels"}
    for link, folder in links.items():
        link.parent.mkdir(exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(folder)
    environment = {
        **os.environ,
        "NIMBLEHLO_COMPILE_ARGUMENTS": COMPILE_ARGUMENTS,
        "NIMBLEHLO_LINK_ARGUMENTS": "-fsanitize=address",
    }
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    if subprocess.run(command, cwd=COPY, env=environment).returncode:
        sys.exit("the extensions could not be built")


def run(arguments: list[str]) -> int:
    """Run Python on the copy; its exit status."""
    compiler = os.environ.get("CC", "cc").split()
    asked = [*compiler, "-print-file-name=libasan.so"]
    library = subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    environment = {
        **os.environ,
        "ASAN_OPTIONS": OPTIONS,
        "LD_PRELOAD": library,
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(COPY / "site"), str(ROOT)]),
    }
    return subprocess.run([sys.executable, *arguments], cwd=ROOT, env=environment).returncode


if __name__ == "__main__":
    if sys.argv[1:] in (["-h"], ["--help"]):
        sys.exit(__doc__)
    build()
    sys.exit(run(sys.argv[1:]) if sys.argv[1:] else 0)
