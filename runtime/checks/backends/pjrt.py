"""Platforms of JAX, and PJRT plugins by the path of their library, through jaxlib's client."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import jax
import numpy as np
from jax.extend import backend as jax_backend
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from ...compiler.lru_cache import LRUCache
from ...program.frontend.jax_names import INITIALIZE_LAPACK, XLA_CLIENT, enable_x64
from ...program.ir import Module
from ...program.ops.collectives.process_grid import ONE_PROCESS, Grid
from ...types import Array
from .backend import Backend, BackendError, Description

MAX_CACHED_PROGRAMS = 64
"""Compiled programs that a backend keeps: bisecting a program runs the same ones for several inputs."""


XLA_PLATFORMS: Final = frozenset({"cpu", "cuda", "rocm", "sycl", "tpu"})
"""The names of the platforms of XLA's own clients."""
XLA_VERSION: Final = "xla_version"
"""The attribute by which XLA's implementation of the PJRT interface gives its version."""
IS_PLUGIN: Final = "is_c_api"
"""Whether a client is that of a plugin, by the C interface of PJRT."""


class PjrtBackend(Backend):
    """The first device of a PJRT client.

    Args:
        name: see `Backend`.
        client: jaxlib's client.
    """

    def __init__(self, name: str, client: Any) -> None:
        self.name = name
        self._client = client
        self._programs = LRUCache[tuple[str, Grid], Any](MAX_CACHED_PROGRAMS)

    @property
    def description(self) -> Description:
        """See `Backend.description`.

        jaxlib itself has XLA; a plugin is XLA if it has its version and platform.
        """
        platform, version = str(self._client.platform), str(self._client.platform_version)
        is_plugin = getattr(self._client, IS_PLUGIN, False)
        xla_version = getattr(self._client, XLA_VERSION, None)
        if xla_version is not None:
            version += f", XLA's interface {xla_version}"
        is_xla = platform in XLA_PLATFORMS and (not is_plugin or xla_version is not None)
        return Description(platform, version, f"xla:{platform}" if is_xla else "")

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        return self.run_text(str(module), inputs)

    def run_text(self, text: str, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run_text`."""
        (results,) = self.run_on_grid(text, [inputs], ONE_PROCESS)
        return results

    def run_on_grid(self, text: str, inputs: Sequence[Sequence[Array]], grid: Grid) -> list[list[Array]]:
        """See `Backend.run_on_grid`; each process of the grid needs a device."""
        devices = self._client.devices()[: grid.size]
        if len(devices) < grid.size:
            raise BackendError(f"{self.name} has {len(devices)} devices, but the grid is {grid}")
        try:
            executable = self._programs.get((text, grid))
            if executable is None:
                executable = self._compiled(text, devices, grid)
                self._programs.put((text, grid), executable)
            with enable_x64():
                buffers = [_placed(one, devices) for one in zip(*inputs, strict=True)]
                outputs = executable.execute_sharded(buffers)
                shards = outputs.disassemble_into_single_device_arrays()
                return [[np.array(one[number]) for one in shards] for number in range(grid.size)]
        except (RuntimeError, TypeError, ValueError) as error:
            raise BackendError(f"{self.name}: {error}") from None

    def _compiled(self, text: str, devices: Sequence[Any], grid: Grid) -> Any:
        xla_client = XLA_CLIENT.get()
        options = xla_client.CompileOptions()
        if grid.size > 1:
            ids = np.array([one.id for one in devices]).reshape(grid.replicas, grid.partitions)
            options.num_replicas, options.num_partitions = grid.replicas, grid.partitions
            # XLA runs partitions by its partitioner alone, which keeps what has no sharding as it is.
            options.executable_build_options.use_spmd_partitioning = grid.partitions > 1
            options.device_assignment = xla_client.DeviceAssignment.create(ids)
        return self._client.compile_and_load(text, xla_client.DeviceList(tuple(devices)), options)


def _placed(arrays: Sequence[Array], devices: Sequence[Any]) -> Any:
    """The values of an argument in each process, on the devices."""
    placed = [jax.device_put(np.array(one), device) for one, device in zip(arrays, devices, strict=True)]
    if len(placed) == 1:
        return placed[0]
    # The client takes an array with a buffer on each device, which a replicated one has. Nothing compares
    # the buffers, which are those of the processes.
    sharding = NamedSharding(Mesh(np.array(devices), ("process",)), PartitionSpec())  # type: ignore[no-untyped-call]
    return jax.make_array_from_single_device_arrays(placed[0].shape, sharding, placed)


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
