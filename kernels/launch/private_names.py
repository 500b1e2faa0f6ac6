"""The private names of Numba that kernels use, and whether the installed Numba has them.

Numba has no public functions for compiling a function without wrappers, for its machine code as an object
file, or for the code of intrinsics. A later Numba may lack a name, or not work with the installed
NumPy: `problem` says so, and then no operation is served by a kernel that Numba compiles.
docs/private_names.md lists the private names of all packages.
"""

import functools
import importlib
from typing import Any, Final

__all__ = ["NUMBA", "MissingName", "PrivateName", "problem", "require_numba"]


class MissingName(ImportError):
    """An installed package lacks a private name that this package uses, or cannot be imported."""


class PrivateName:
    """A private name of another package.

    Attributes:
        module: the module that has it.
        name: in that module; with dots if it is an attribute of an object there.
        purpose: what it is used for.
    """

    __slots__ = ("module", "name", "purpose")

    def __init__(self, module: str, name: str, purpose: str) -> None:
        self.module = module
        self.name = name
        self.purpose = purpose

    def get(self) -> Any:
        """The object with that name.

        Raises:
            MissingName: the installed package does not have it.
        """
        try:
            value: Any = importlib.import_module(self.module)
            for attribute in self.name.split("."):
                value = getattr(value, attribute)
        except (ImportError, AttributeError):
            package = importlib.import_module(self.module.partition(".")[0])
            raise MissingName(
                f"{package.__name__} {package.__version__} has no {self.module}.{self.name},"
                f" which is needed for {self.purpose}"
            ) from None
        return value


_USES: Final[dict[str, dict[str, tuple[str, ...]]]] = {
    "code of intrinsics": {
        "numba.core.base": ("BaseContext",),
        "numba.core.cgutils": (
            "alloca_once",
            "alloca_once_value",
            "for_range",
            "for_range_slice",
            "get_or_insert_function",
            "raw_memcpy",
        ),
        "numba.core.errors": ("RequireLiteralValue",),
        "numba.core.typing": ("BaseContext", "Signature"),
    },
    "the arguments of tasks": {
        "numba.core.cgutils": ("_StructProxy._getvalue", "if_unlikely"),
        "numba.core.dispatcher": ("Dispatcher._numba_type_", "Dispatcher.get_compile_result"),
        "numba.np.arrayobj": ("populate_array",),
    },
    "functions without machine code of their own": {
        "numba.core.codegen": (
            "JITCodeLibrary._finalize_dynamic_globals",
            "JITCodeLibrary._finalize_final_module",
            "JITCodeLibrary._optimize_final_module",
            "JITCodeLibrary._verify_declare_only_symbols",
        ),
        "numba.core.compiler": ("Compiler", "Flags.no_cfunc_wrapper", "Flags.no_cpython_wrapper"),
    },
    "the machine code of tasks": {
        "numba.core.registry": ("cpu_target.target_context",),
    },
}

NUMBA: Final = tuple(
    [
        PrivateName(module, name, purpose)
        for purpose, modules in _USES.items()
        for module, names in modules.items()
        for name in names
    ]
)
"""Every private name of Numba that kernels use. Numba's documentation names none of these modules."""


@functools.cache
def problem() -> str | None:
    """Why Numba cannot compile kernels, or None. Imports Numba."""
    try:
        require_numba()
    except MissingName as error:
        return str(error)
    return None


@functools.cache
def require_numba() -> Any:
    """Numba, if it can compile kernels.

    Raises:
        MissingName: it cannot be imported, such as with a NumPy that it does not support, or lacks a private
            name.
    """
    from . import library_pages

    try:
        library_pages.load()
        import numba
    except ImportError as error:
        raise MissingName(f"Numba cannot be imported: {error}") from error
    for private in NUMBA:
        private.get()
    return numba
