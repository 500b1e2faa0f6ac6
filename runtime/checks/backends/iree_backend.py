"""IREE, by the packages iree-base-compiler and iree-base-runtime."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import iree.compiler
import iree.runtime
import numpy as np

from ...compiler.lru_cache import LRUCache
from ...program.frontend.parser import parse
from ...types import Array, TensorType
from .backend import Backend, BackendError

TARGETS: Final = {"llvm-cpu": "local-sync", "vmvx": "local-sync"}
"""The device of each target: one that runs programs on the calling thread."""
MAX_CACHED_PROGRAMS: Final = 64
"""Compiled programs that a backend keeps: bisecting a program runs the same ones for several inputs."""


class IreeBackend(Backend):
    """Programs compiled by IREE's compiler and run by its runtime, on the processor.

    Args:
        target: ``"llvm-cpu"``, or ``"vmvx"``, which interprets.
        device: IREE's name of a device; None: the one of `TARGETS`.
    """

    def __init__(self, target: str, device: str | None = None) -> None:
        self.name = "iree" if target == "llvm-cpu" else f"iree:{target}"
        self._target = target
        self._config = iree.runtime.Config(device or TARGETS[target])
        self._programs = LRUCache[str, Any](MAX_CACHED_PROGRAMS)

    @property
    def device(self) -> Any:
        """IREE's device, to which operands are copied."""
        return self._config.device

    def run(self, module: Any, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        return self.run_text(str(module), inputs)

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run_text`."""
        types = parse(text).functions["main"].type.results
        try:
            function = self._programs.get(text)
            if function is None:
                function = self.compiled(text)
                self._programs.put(text, function)
            returned = function(*[iree.runtime.asdevicearray(self.device, np.array(one)) for one in inputs])
            if not isinstance(returned, (list, tuple)):
                returned = () if returned is None else (returned,)
            return [_host_array(one, type) for one, type in zip(returned, types, strict=True)]
        except (iree.compiler.CompilerToolError, RuntimeError, TypeError, ValueError, KeyError) as error:
            raise BackendError(f"{self.name}: {error}") from None

    def compiled(self, text: str) -> Any:
        """The function of IREE that runs a program's text, of arrays on `device`.

        Raises:
            iree.compiler.CompilerToolError: IREE does not compile the program.
        """
        cpu = ["--iree-llvmcpu-target-cpu=host"] if self._target == "llvm-cpu" else []
        code = iree.compiler.compile_str(
            text, input_type="stablehlo", target_backends=[self._target], extra_args=cpu
        )
        context = iree.runtime.SystemContext(config=self._config)
        module = iree.runtime.VmModule.copy_buffer(context.instance, code)
        context.add_vm_module(module)
        return context.modules[module.name].main


def _host_array(value: Any, type: Any) -> Array:
    """A result on the host; integers of IREE have no sign, so that they get the program's type."""
    array = np.asarray(value.to_host() if hasattr(value, "to_host") else value)
    if not isinstance(type, TensorType) or array.dtype.kind not in "iu" or type.dtype.kind not in "iu":
        return array
    return array.view(type.dtype) if array.dtype.itemsize == type.dtype.itemsize else array
