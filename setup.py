"""Where the packages and the Cython extensions lie; all else about the distribution is in pyproject.toml."""

import compileall
import os
import sys
from pathlib import Path

import numpy
from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup
from setuptools.command.build_ext import build_ext

PACKAGE_DIR = {"nimblehlo": "runtime", "nimblehlo.kernels": "kernels"}

# A fused multiply-add rounds once where the source rounds twice: results would depend on the machine.
# That sqrt sets errno, which nothing reads, would keep it out of vectors.
UNIX_ARGUMENTS = ["-O3", "-ffp-contract=off", "-fno-math-errno"]
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
    """One extension for each .pyx file, named after the place where it lies."""
    found = []
    for package, folder in PACKAGE_DIR.items():
        headers = [header.as_posix() for header in sorted(Path(folder).rglob("*.h"))]
        for source in sorted(Path(folder).rglob("*.pyx")):
            module = ".".join((package, *source.relative_to(folder).with_suffix("").parts))
            found.append(
                Extension(
                    module,
                    [source.as_posix()],
                    depends=headers,
                    include_dirs=[numpy.get_include(), source.parent.as_posix(), folder],
                    define_macros=[("NPY_NO_DEPRECATED_API", "NPY_2_0_API_VERSION")],
                    extra_compile_args=COMPILE_ARGUMENTS,
                    extra_link_args=LINK_ARGUMENTS,
                )
            )
    return found


class BuildExtensions(build_ext):
    """Builds the extensions and, in place, what Python makes of the sources.

    An import that finds no bytecode takes three times as long and more, and each process does so again where
    PYTHONDONTWRITEBYTECODE is set. For an ordinary installation pip makes it.
    """

    def run(self) -> None:
        super().run()
        if self.inplace:
            for folder in PACKAGE_DIR.values():
                compileall.compile_dir(folder, quiet=1, workers=0)


setup(
    cmdclass={"build_ext": BuildExtensions},
    package_dir=PACKAGE_DIR,
    packages=packages(),
    include_package_data=False,
    package_data={"": ["py.typed", "*.pyi", "*.pxd"]},
    ext_modules=cythonize(
        extensions(), build_dir="build/cython", language_level=3, include_path=list(PACKAGE_DIR.values())
    ),
    options={"build_ext": {"parallel": os.cpu_count()}},
)
