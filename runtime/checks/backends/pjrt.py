"""Platforms of JAX, and PJRT plugins by the path of their library, through jaxlib's client."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.extend import backend as jax_backend

from ...compiler.lru_cache import LRUCache
from ...program.frontend.jax_names import INITIALIZE_LAPACK, XLA_CLIENT, enable_x64
from ...program.ir import Module
from ...types import Array
from .backend import Backend, BackendError

MAX_CACHED_PROGRAMS = 64
"""Compiled programs that a backend keeps: bisecting a program runs the same ones for several inputs."""


class PjrtBackend(Backend):
    """The first device of a PJRT client.

    Args:
        name: see `Backend`.
        client: jaxlib's client.
    """

    def __init__(self, name: str, client: Any) -> None:
        self.name = name
        self._client = client
        self._device = client.devices()[0]
        self._programs = LRUCache[str, Any](MAX_CACHED_PROGRAMS)

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        return self.run_text(str(module), inputs)

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run_text`."""
        try:
            executable = self._programs.get(text)
            if executable is None:
                executable = self._compiled(text)
                self._programs.put(text, executable)
            with enable_x64():
                buffers = [jax.device_put(np.array(value), self._device) for value in inputs]
                outputs = executable.execute_sharded(buffers)
                return [np.array(shards[0]) for shards in outputs.disassemble_into_single_device_arrays()]
        except (RuntimeError, TypeError, ValueError) as error:
            raise BackendError(f"{self.name}: {error}") from None

    def _compiled(self, text: str) -> Any:
        xla_client = XLA_CLIENT.get()
        devices = xla_client.DeviceList((self._device,))
        return self._client.compile_and_load(text, devices, xla_client.CompileOptions())


def jax_platform(platform: str) -> PjrtBackend:
    """The first device of a platform of JAX, such as ``"cpu"``.

    Raises:
        BackendError: JAX has no such platform.
    """
    # The targets of custom calls, such as LAPACK's routines, are registered by JAX's rules for them.
    if INITIALIZE_LAPACK.is_required:
        INITIALIZE_LAPACK.get()()
    return PjrtBackend(f"jax:{platform}", _client(lambda: jax_backend.get_backend(platform), platform))


@functools.cache
def pjrt_plugin(path: str) -> PjrtBackend:
    """The first device of the plugin in a library. A process loads each library once.

    Raises:
        BackendError: there is no such file, or it is no plugin.
    """
    library = Path(path).resolve()
    if not library.is_file():
        raise BackendError(f"there is no PJRT plugin {path}")

    def load() -> Any:
        xla_client = XLA_CLIENT.get()
        plugin = f"nimblehlo_{hashlib.sha256(bytes(library)).hexdigest()[:16]}"
        xla_client.load_pjrt_plugin_dynamically(plugin, str(library))
        xla_client.initialize_pjrt_plugin(plugin)
        return xla_client.make_c_api_client(plugin)

    return PjrtBackend(f"pjrt:{path}", _client(load, path))


def _client(make: Callable[[], Any], name: str) -> Any:
    try:
        return make()
    except (RuntimeError, ValueError) as error:
        raise BackendError(f"the backend {name!r} cannot be used: {error}") from None
