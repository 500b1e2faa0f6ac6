"""The private names of JAX that this package uses.

jax 0.7 to 0.12 have them, unless `since` or `until` says otherwise. Each is looked up when it is used, so
that the error names a missing one, and the other backends of JAX stay usable.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, Final

from ...errors import UnsupportedError
from ...kernels.launch.private_names import MissingName, PrivateName

SUPPORTED: Final = "jax 0.7 to 0.12 are supported"


class JaxName(PrivateName):
    """A private name of JAX.

    Attributes:
        since, until: the first version of JAX that must have it, and the first that need not. The package
            does not use it with other versions.
    """

    __slots__ = ("since", "until")

    def __init__(
        self,
        module: str,
        name: str,
        purpose: str,
        since: tuple[int, int, int] = (0, 7, 0),
        until: tuple[int, int, int] = (1, 0, 0),
    ) -> None:
        super().__init__(module, name, purpose)
        self.since = since
        self.until = until

    @property
    def is_required(self) -> bool:
        """Whether the installed JAX must have it."""
        import jax

        installed: tuple[int, ...] = jax.__version_info__[:3]
        return self.since <= installed < self.until

    @property
    def exists(self) -> bool:
        """Whether the installed JAX has it."""
        try:
            self.get()
        except UnsupportedError:
            return False
        return True

    def get(self) -> Any:
        """The object with that name.

        Raises:
            UnsupportedError: the installed JAX does not have it.
        """
        try:
            return super().get()
        except MissingName as error:
            raise UnsupportedError(f"{error}; {SUPPORTED}") from None


_BRIDGE: Final = "jax._src.xla_bridge"
_MLIR: Final = "jax._src.interpreters.mlir"

REGISTER_PLUGIN: Final = JaxName(_BRIDGE, "register_plugin", "registering the platform")
TRUSTED_PLUGINS: Final = JaxName(_BRIDGE, "_nonexperimental_plugins", "registering the platform")
REGISTER_LOWERING: Final = JaxName(_MLIR, "register_lowering", "the platform's lowering rules")
PLATFORM_RULES: Final = JaxName(_MLIR, "_platform_specific_lowerings", "the CPU's lowering rules")
COMMON_RULES: Final = JaxName(_MLIR, "_lowerings", "the lowering rules of all platforms")
DONATING_PLATFORMS: Final = JaxName(_MLIR, "_platforms_with_donation", "the donation of arguments")
IR: Final = JaxName("jax._src.lib.mlir", "ir", "composites of CHLO operations")
FUNC: Final = JaxName("jax._src.lib.mlir.dialects", "func", "composites of CHLO operations")
HLO: Final = JaxName("jax._src.lib.mlir.dialects", "hlo", "composites of CHLO operations")
XLA_CLIENT: Final = JaxName("jax._src.lib", "xla_client", "compiling programs for other platforms")
INITIALIZE_LAPACK: Final = JaxName(
    "jax._src.lax.linalg", "initialize_lapack", "custom calls of LAPACK's routines", since=(0, 10, 0)
)
"""Earlier versions initialize LAPACK's routines at import."""
CALL_HANDLER: Final = JaxName(
    "jax._src.lib", "xla_client.register_custom_call_handler", "handlers of XLA's FFI"
)
CPU_CALLS: Final = JaxName(
    "jax._src.lib", "xla_client._xla.register_custom_call_target", "handlers of XLA's FFI"
)
TYPE_HANDLER: Final = JaxName(
    "jax._src.lib", "xla_client.register_custom_type_handler", "states of XLA's FFI", since=(0, 9, 0)
)
CPU_TYPES: Final = JaxName(
    "jax._src.lib", "xla_client._xla.register_custom_type", "states of XLA's FFI", since=(0, 9, 0)
)
IS_CACHE_USED: Final = JaxName("jax._src.compilation_cache", "is_cache_used", "JAX's compilation cache")
COMPILE_OPTIONS: Final = JaxName("jax._src.compiler", "get_compile_options", "settings of programs")
EMIT_CALLBACK: Final = JaxName("jax._src.callback", "emit_python_callback", "lowering callbacks")
EXPORTED_EMIT_CALLBACK: Final = JaxName(
    "jax.interpreters.mlir", "emit_python_callback", "lowering callbacks of extensions"
)
TO_DLPACK: Final = JaxName("jax._src.dlpack", "_to_dlpack", "exporting arrays by DLPack")
DLPACK_DEVICE: Final = JaxName(
    "jax._src.array", "ArrayImpl.__dlpack_device__", "exporting arrays by DLPack"
)
DLPACK_DEVICES: Final = JaxName("jax._src.dlpack", "DLDeviceType", "exporting arrays by DLPack")
PLACE_DLPACK_ARRAY: Final = JaxName("jax._src.dlpack", "_place_array", "importing arrays by DLPack")
CHECK_DLPACK_DEVICE: Final = JaxName(
    "jax._src.dlpack", "_check_device", "importing arrays by DLPack", since=(0, 8, 1)
)
EXECUTABLE_SHARDINGS: Final = JaxName(
    "jax._src.interpreters.pxla", "get_op_sharding_from_executable", "shardings of results"
)
INITIALIZE_EXECUTION: Final = JaxName(
    "jax._src.interpreters.pxla", "ExecuteReplicated.__init__", "errors of callbacks"
)
HLO_SHARDING: Final = JaxName("jax._src.lib", "xla_client.HloSharding", "inspecting shardings")
ENCODE_INSPECTOR: Final = JaxName(
    "jax._src.lib", "xla_client.encode_inspect_sharding_callback", "inspecting shardings"
)
OP_SHARDING: Final = JaxName("jax._src.lib", "xla_client.OpSharding", "shardings of results")
CONFIG: Final = JaxName("jax._src.config", "config_ext.Config", "settings of programs")

CONFIG_CALLBACKS: Final = JaxName(
    "jax._src.config", "register_trace_context_callback", "settings of programs", until=(0, 8, 0)
)

_NEWER_PRIMITIVES: Final = {"mulhi": (0, 10, 2)}

PRIMITIVES: Final = {
    name: JaxName(module, f"{name}_p", f"lowering {name}", _NEWER_PRIMITIVES.get(name, (0, 7, 0)))
    for module, names in {
        "jax._src.lax.special": ("bessel_i1e", "digamma", "erf_inv", "erfc", "lgamma", "polygamma", "zeta"),
        "jax._src.lax.lax": ("mulhi", "nextafter"),
        "jax._src.buffer_callback": ("buffer_callback",),
        "jax._src.lax.control_flow.conditionals": ("cond", "platform_index"),
        "jax._src.export._export": ("call_exported",),
    }.items()
    for name in names
}
"""Primitives that have lowering rules of their own on the platform."""


def primitives() -> dict[str, Any]:
    """The primitives of the installed JAX for which this platform has lowering rules, by name.

    Raises:
        UnsupportedError: one is missing.
    """
    return {
        name: private.get() for name, private in PRIMITIVES.items() if private.is_required or private.exists
    }


class StateContext:
    """A value of the process, and one of each thread, that are part of the keys of JAX's caches.

    `jax.make_user_context` makes the same, but before jax 0.10 its value of the process cannot change.

    Args:
        default: the value of the process at first.
    """

    def __init__(self, default: object) -> None:
        config = CONFIG.get()
        try:
            self._state = config("nimblehlo", default, include_in_jit_key=True, include_in_trace_context=True)
        except TypeError:
            # jax 0.7: values have no names, and functions tell those that tracing depends on.
            self._state = config(default, include_in_jit_key=True)
            CONFIG_CALLBACKS.get().append(lambda: self._state.value)

    @property
    def value(self) -> Any:
        """The value of this thread; that of the process if the thread has none."""
        return self._state.value

    def get_global(self) -> Any:
        """The value of the process."""
        return self._state.get_global()

    def set_global(self, value: object) -> None:
        """Change the value of the process."""
        self._state.set_global(value)

    @contextmanager
    def __call__(self, value: Any) -> Iterator[None]:
        """A context manager that changes the value of this thread."""
        previous = self._state.swap_local(value)
        try:
            yield
        finally:
            self._state.set_local(previous)


def enable_x64() -> AbstractContextManager[None]:
    """A context in which JAX's arrays may have elements of 64 bits; jax 0.7 has the function elsewhere."""
    import jax
    import jax.experimental

    name = "enable_x64"
    enable: Any = getattr(jax if hasattr(jax, name) else jax.experimental, name)
    context: AbstractContextManager[None] = enable(True)
    return context


def wrap(private: JaxName, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Replace a function of JAX by `wrapper(function)`, once.

    Raises:
        UnsupportedError: there is no such function.
    """
    function = private.get()
    if getattr(function, "_nimblehlo_wraps", None) is not None:
        return
    wrapped = wrapper(function)
    wrapped._nimblehlo_wraps = function  # type: ignore[attr-defined]
    owner, _, name = private.name.rpartition(".")
    module = importlib.import_module(private.module)
    holder = JaxName(private.module, owner, private.purpose).get() if owner else module
    setattr(holder, name, wrapped)
