"""The names that users import from `nimblehlo`, and the modules that define them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import TYPE_CHECKING, Final, cast

if TYPE_CHECKING:
    from importlib.abc import Loader

DEFINED_IN: Final = {
    "Accuracy": "checks.error_bounds",
    "CacheWarning": "kernels.launch.cache_trust",
    "Executable": "api",
    "Exploration": "checks.explorer",
    "Finding": "inspection.sanitizer",
    "Findings": "inspection.sanitizer",
    "Grid": "program.ops.collectives.process_grid",
    "GridExecutable": "api",
    "HostQueues": "execution.grid.host",
    "ModelExecutable": "execution.torch_calls",
    "Module": "program.ir",
    "Refinability": "compiler.transforms",
    "SanitizerWarning": "inspection.sanitizer",
    "accuracy": "checks.error_bounds",
    "backends": "checks.backends",
    "compile": "api",
    "decompose_batching_dims": "compiler.transforms",
    "execute": "api",
    "explore": "checks.explorer",
    "interpreter": "jax.interpreter",
    "is_refinable": "compiler.transforms",
    "load": "api",
    "mpi": "mpi",
    "patterns": "patterns",
    "refine": "compiler.transforms",
    "register_composite": "program.ops.control.composite",
    "register_custom_call": "program.ops.custom_calls.custom_call",
    "testing": "checks.testing",
    "to_dlpack": "execution.dlpack",
}
"""The module below `nimblehlo` that defines each public name; a name's own module if it is one."""

MODULES: Final = {
    "backends": "checks.backends",
    "conformance": "checks.conformance",
    "differences": "checks.differences",
    "error_bounds": "checks.error_bounds",
    "explorer": "checks.explorer",
    "fuzzing": "checks.fuzzing",
    "interpreter": "jax.interpreter",
    "ir": "program.ir",
    "judging": "checks.judging",
    "minimizer": "checks.minimizer",
    "profiling": "inspection.profiling",
    "sanitizer": "inspection.sanitizer",
    "testing": "checks.testing",
    "transforms": "compiler.transforms",
}
"""Public modules that lie in a layer: `nimblehlo.testing` is `nimblehlo.checks.testing`, the same module."""


class PublicModules:
    """Finds the public modules, and the modules in them, under their public names.

    It has no base class: `importlib.abc` imports temporary files and compression, 3 ms of every start.

    Args:
        package: the package's name.
    """

    def __init__(self, package: str) -> None:
        self.prefix = f"{package}."

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The specification of a public module; None for every other name."""
        if not fullname.startswith(self.prefix):
            return None
        if self._head(fullname) not in MODULES:
            return None
        return ModuleSpec(fullname, cast("Loader", self))

    def create_module(self, spec: ModuleSpec) -> None:
        """Leave it to Python to create one, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Put the module that the name means in the place of a new one."""
        name = module.__name__
        head = self._head(name)
        rest = name.removeprefix(self.prefix + head)
        sys.modules[name] = import_module(f"{self.prefix}{MODULES[head]}{rest}")

    def _head(self, fullname: str) -> str:
        return fullname.removeprefix(self.prefix).partition(".")[0]
