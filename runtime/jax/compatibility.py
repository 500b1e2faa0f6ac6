"""The names of JAX that are not public and that this package uses, and what it does where one is missing.

jax 0.8 to 0.10 have them. Each is looked up when it is needed, so that a JAX that lacks one says which, and
its other backends stay usable.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final

from ..errors import UnsupportedError


@dataclass(frozen=True)
class PrivateName:
    """A name of JAX that is not public.

    Attributes:
        module: which module has it.
        name: in that module; with dots where it is an attribute of something.
        purpose: what it is needed for.
    """

    module: str
    name: str
    purpose: str

    @property
    def exists(self) -> bool:
        """Whether the installed JAX has it."""
        try:
            self.get()
        except UnsupportedError:
            return False
        return True

    def get(self) -> Any:
        """What it stands for.

        Raises:
            UnsupportedError: the installed JAX does not have it.
        """
        try:
            value: Any = importlib.import_module(self.module)
            for attribute in self.name.split("."):
                value = getattr(value, attribute)
        except (ImportError, AttributeError):
            import jax

            raise UnsupportedError(
                f"jax {jax.__version__} has no {self.module}.{self.name}, which is needed for {self.purpose};"
                " jax 0.8 to 0.10 are supported"
            ) from None
        return value


_BRIDGE: Final = "jax._src.xla_bridge"
_MLIR: Final = "jax._src.interpreters.mlir"

REGISTER_PLUGIN: Final = PrivateName(_BRIDGE, "register_plugin", "registering the platform")
TRUSTED_PLUGINS: Final = PrivateName(_BRIDGE, "_nonexperimental_plugins", "registering the platform")
REGISTER_LOWERING: Final = PrivateName(_MLIR, "register_lowering", "the platform's lowering rules")
PLATFORM_RULES: Final = PrivateName(_MLIR, "_platform_specific_lowerings", "the CPU's lowering rules")
COMMON_RULES: Final = PrivateName(_MLIR, "_lowerings", "the lowering rules of all platforms")
DONATING_PLATFORMS: Final = PrivateName(_MLIR, "_platforms_with_donation", "the donation of arguments")
IR: Final = PrivateName("jax._src.lib.mlir", "ir", "composites of CHLO operations")
FUNC: Final = PrivateName("jax._src.lib.mlir.dialects", "func", "composites of CHLO operations")
HLO: Final = PrivateName("jax._src.lib.mlir.dialects", "hlo", "composites of CHLO operations")
XLA_CLIENT: Final = PrivateName("jax._src.lib", "xla_client", "compiling programs for other platforms")
INITIALIZE_LAPACK: Final = PrivateName(
    "jax._src.lax.linalg", "initialize_lapack", "custom calls of LAPACK's routines"
)
IS_CACHE_USED: Final = PrivateName("jax._src.compilation_cache", "is_cache_used", "JAX's compilation cache")
COMPILE_OPTIONS: Final = PrivateName("jax._src.compiler", "get_compile_options", "settings of programs")
EMIT_CALLBACK: Final = PrivateName("jax._src.callback", "emit_python_callback", "lowering callbacks")
EXPORTED_EMIT_CALLBACK: Final = PrivateName(
    "jax.interpreters.mlir", "emit_python_callback", "lowering callbacks of extensions"
)
TO_DLPACK: Final = PrivateName("jax._src.dlpack", "_to_dlpack", "exporting arrays by DLPack")
DLPACK_DEVICE: Final = PrivateName(
    "jax._src.array", "ArrayImpl.__dlpack_device__", "exporting arrays by DLPack"
)
DLPACK_DEVICES: Final = PrivateName("jax._src.dlpack", "DLDeviceType", "exporting arrays by DLPack")
PLACE_DLPACK_ARRAY: Final = PrivateName("jax._src.dlpack", "_place_array", "importing arrays by DLPack")
CONFIG: Final = PrivateName("jax._src.config", "config_ext.Config", "settings of programs")

PRIMITIVES: Final = {
    name: PrivateName(module, f"{name}_p", f"lowering {name}")
    for module, names in {
        "jax._src.lax.special": (
            "bessel_i1e",
            "digamma",
            "erf_inv",
            "erfc",
            "lgamma",
            "polygamma",
            "zeta",
        ),
        "jax._src.lax.lax": ("nextafter",),
        "jax._src.lax.control_flow.conditionals": ("cond", "platform_index"),
        "jax._src.export._export": ("call_exported",),
    }.items()
    for name in names
}
"""Primitives that have lowering rules of their own on the platform."""

LATER_PRIMITIVES: Final = {
    "buffer_callback": PrivateName(
        "jax._src.buffer_callback", "buffer_callback_p", "lowering buffer_callback"
    ),
    "mulhi": PrivateName("jax._src.lax.lax", "mulhi_p", "lowering mulhi"),
}
"""The same, of primitives that came after jax 0.7."""


LATER_FUNCTIONS: Final = {
    "check_dlpack_device": PrivateName("jax._src.dlpack", "_check_device", "importing arrays by DLPack")
}
"""Functions that came after jax 0.7, and that are not missed before."""


def private_names() -> Iterator[PrivateName]:
    """All names that must be there."""
    yield from (value for value in globals().values() if isinstance(value, PrivateName))
    yield from PRIMITIVES.values()


def primitives() -> dict[str, Any]:
    """The primitives that have rules of their own, by name; later ones where JAX has them.

    Raises:
        UnsupportedError: one is missing.
    """
    result = {name: private.get() for name, private in PRIMITIVES.items()}
    later = {name: private.get() for name, private in LATER_PRIMITIVES.items() if private.exists}
    return result | later


class StateContext:
    """A value of the process and of its threads that JAX's caches know.

    `jax.make_user_context` makes the same, but before jax 0.10 its value of the process cannot change.

    Args:
        default: the value of the process at first.
    """

    def __init__(self, default: Any) -> None:
        try:
            self._state = CONFIG.get()(
                "nimblehlo", default, include_in_jit_key=True, include_in_trace_context=True
            )
        except TypeError:
            import jax

            raise UnsupportedError(
                f"jax {jax.__version__} has no values with names in its caches' keys, which are needed for"
                " settings of programs; jax 0.8 to 0.10 are supported"
            ) from None

    @property
    def value(self) -> Any:
        """The value of this thread, or else of the process."""
        return self._state.value

    def get_global(self) -> Any:
        """The value of the process."""
        return self._state.get_global()

    def set_global(self, value: Any) -> None:
        """Change the value of the process."""
        self._state.set_global(value)

    @contextmanager
    def __call__(self, value: Any) -> Iterator[None]:
        """Change the value of this thread within a `with` statement."""
        previous = self._state.swap_local(value)
        try:
            yield
        finally:
            self._state.set_local(previous)


def wrap(private: PrivateName, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> None:
    """Put `wrapper(function)` in the place of a function of JAX, once.

    Raises:
        UnsupportedError: there is no such function.
    """
    function = private.get()
    if getattr(function, "_nimblehlo_wraps", None) is not None:
        return
    wrapped = wrapper(function)
    wrapped._nimblehlo_wraps = function  # type: ignore[attr-defined]
    owner, _, name = private.name.rpartition(".")
    holder = replace(private, name=owner).get() if owner else importlib.import_module(private.module)
    setattr(holder, name, wrapped)
