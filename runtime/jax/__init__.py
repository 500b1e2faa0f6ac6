"""JAX's platform ``nimblehlo``: an unchanged JAX program runs on it under ``JAX_PLATFORMS=nimblehlo``.

JAX finds the package by its entry point of the group ``jax_plugins`` and calls `initialize`; see docs/jax.md.
"""

import atexit
from typing import NoReturn

from .findings import ProgramExploration, ScheduleWarning, explore, sanitize
from .settings import Settings, configure, configured, current

__all__ = [
    "ProgramExploration",
    "ScheduleWarning",
    "Settings",
    "configure",
    "configured",
    "current",
    "explore",
    "initialize",
    "sanitize",
]


def initialize() -> None:
    """Register the platform with JAX, which calls this when it looks for its plugins.

    Raises:
        UnsupportedError: the installed JAX lacks a name that this needs.
    """
    from ..program.frontend.jax_names import REGISTER_PLUGIN
    from . import dlpack, executables
    from .ffi import registry
    from .lowering import PLATFORM, register
    from .pjrt import inspection
    from .pjrt.plugin import api_capsule
    from .settings import install
    from .shutdown import stop_daemon_threads

    register()
    install(PLATFORM)
    dlpack.install()
    executables.install()
    registry.install(PLATFORM)
    inspection.install()
    # Below the CPU's priority, which is 0, so that the platform is only used on request.
    REGISTER_PLUGIN.get()(PLATFORM, c_api=api_capsule(), priority=-100, make_topology=_refuse_topology)
    # Registered after the plugin's function, so that it runs earlier and waits for the tasks of the threads.
    atexit.register(stop_daemon_threads)


def _refuse_topology(name: str, **options: object) -> NoReturn:
    """Reject compilation for absent devices; JAX calls this.

    jaxlib would hold the GIL while a thread of its own compiles, which needs it.
    """
    raise NotImplementedError("topology not implemented for nimblehlo: programs are compiled for its devices")
