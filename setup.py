"""Where the packages and the Cython extensions lie; all else about the distribution is in pyproject.toml."""

import os
import subprocess
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

# pip runs this file with a search path that does not name its folder.
sys.path.insert(0, str(Path(__file__).resolve().parent))

from tools.build_folder import build_folder, build_inputs, building

PACKAGE_DIR = {"nimblehlo": "runtime", "nimblehlo.kernels": "kernels"}

BUILD = build_folder(build_inputs())

# The extensions that take longest to compile, by far. They come first: one that comes last is compiled alone.
LONGEST = (
    "convolution_tasks",
    "matmul",
    "linalg",
    "fft",
    "update_groups",
    "grouped_updates",
    "low_precision_matmul",
)

# A fused multiply-add rounds once where the source rounds twice: results would depend on the machine.
# That sqrt sets errno, which nothing reads, would keep it out of vectors.
# Python's own flags ask for debugging information, which takes a quarter of the compile time.
# A function that no header declares is an error: C would assume that it returns an int, and cut pointers off.
UNIX_ARGUMENTS = [
    "-O3",
    "-g0",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-Werror=implicit-function-declaration",
]
# NumPy's headers declare the functions of the oldest version that pyproject.toml allows: no more, so that an
# extension loads there whichever version it is built with, and no less.
NUMPY_API = [
    ("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION"),
    ("NPY_TARGET_VERSION", "NPY_2_0_API_VERSION"),
]
COMPILE_ARGUMENTS = ["/O2", "/fp:precise"] if sys.platform == "win32" else UNIX_ARGUMENTS
# More arguments of the compiler and of the linker, as tools/address_sanitizer.py sets them.
COMPILE_ARGUMENTS = COMPILE_ARGUMENTS + os.environ.get("NIMBLEHLO_COMPILE_ARGUMENTS", "").split()
LINK_ARGUMENTS = os.environ.get("NIMBLEHLO_LINK_ARGUMENTS", "").split()


def packages() -> list[str]:
    """Every package below the folders of PACKAGE_DIR, by its import name."""
    names = []
    for package, folder in PACKAGE_DIR.items():
        names.append(package)
        names.extend(f"{package}.{name}" for name in find_packages(folder))
    return names


def extensions() -> list[Extension]:
    """One extension for each .pyx file, named after the place where it lies; those of `LONGEST` are first."""
    found = []
    for package, folder in PACKAGE_DIR.items():
        headers = [header.as_posix() for header in sorted(Path(folder).rglob("*.h"))]
        for source in sorted(Path(folder).rglob("*.pyx")):
            module = ".".join((package, *source.relative_to(folder).with_suffix("").parts))
            found.append(
                Extension(
                    module,
                    [source.as_posix()],
                    depends=[*headers, "setup.py"],
                    include_dirs=[numpy.get_include(), source.parent.as_posix(), folder],
                    define_macros=NUMPY_API,
                    extra_compile_args=COMPILE_ARGUMENTS,
                    extra_link_args=LINK_ARGUMENTS,
                )
            )
    order = {name: index for index, name in enumerate(LONGEST)}
    return sorted(found, key=lambda extension: order.get(extension.name.split(".")[-1], len(LONGEST)))


class BuildExtensions(build_ext):
    """Builds the extensions and, in place, what Python makes of the sources.

    An import that finds no bytecode takes three times as long and more, and each process does so again where
    PYTHONDONTWRITEBYTECODE is set. For an ordinary installation pip makes it.

    In place they are built in a folder of their own: for an editable installation pip gives new folders each
    time, in which all would be compiled again, and a wheel would take all that lies in its folder.
    """

    def run(self) -> None:
        if self.inplace:
            self.build_lib, self.build_temp = f"{BUILD}/editable/lib", f"{BUILD}/editable/temp"
        super().run()
        if self.inplace:
            # In a process of its own, whose workers do not import this file again.
            command = [sys.executable, "-m", "compileall", "-q", "-j", "0", *PACKAGE_DIR.values()]
            subprocess.run(command, check=True)

    def build_extensions(self) -> None:
        """Build with the compiler that CC names, also on Windows, where setuptools does not read it."""
        if self.compiler.compiler_type == "msvc" and os.environ.get("CC"):
            self.compiler.initialize()
            self.compiler.cc = os.environ["CC"]
        super().build_extensions()

    def copy_extensions_to_source(self) -> None:
        """Copy the extensions, also over newer ones: those may be of a build with other inputs."""
        self.force, force = True, self.force
        super().copy_extensions_to_source()
        self.force = force


with building(BUILD):
    setup(
        cmdclass={"build_ext": BuildExtensions},
        package_dir=PACKAGE_DIR,
        packages=packages(),
        # What pytest loads in every project lies outside of the package, which takes 0.1 s to import.
        py_modules=["nimblehlo_pytest"],
        include_package_data=False,
        package_data={
            "": ["py.typed", "*.pyi", "*.pxd", "illegal.mlir", "causes.toml", "report.html", "assets/*"]
        },
        ext_modules=cythonize(
            extensions(),
            build_dir=f"{BUILD}/cython",
            language_level=3,
            include_path=list(PACKAGE_DIR.values()),
        ),
        options={
            "build": {"build_base": str(BUILD), "build_lib": f"{BUILD}/lib", "build_temp": f"{BUILD}/temp"},
            "build_ext": {"parallel": os.cpu_count()},
        },
    )
