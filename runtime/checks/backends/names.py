"""The names by which backends are found."""

from __future__ import annotations

import importlib.util
from typing import Final

from ...errors import UnsupportedError
from ...options import Options
from .backend import Backend, CallableBackend, NimbleBackend, Runnable
from .isolation import IsolatedBackend

_MODES: Final = {
    "": None,
    "eager": Options(compile="eager"),
    "never": Options(compile="never"),
    "reference": Options(reference=True),
}
"""Options of NimbleHLO by what follows its name."""


def backend(name: str | Backend | Runnable) -> Backend:
    """The backend of a name.

    Args:
        name: ``"jax:cpu"`` or ``"jax:"`` and any other platform of JAX; ``"pjrt:"`` and the path of a PJRT
            plugin's library; ``"interpreter"``, the reference interpreter of jaxlib; ``"nimblehlo"``, or
            ``"nimblehlo:"`` and when it compiles or that it runs references (``eager``, ``never``,
            ``reference``); or a function that takes a module and inputs. A Backend is returned as it is.

    Raises:
        UnsupportedError: there is no such backend, or a package that it needs is missing.
        BackendError: the platform or the plugin cannot be used.
    """
    if isinstance(name, Backend):
        return name
    if callable(name):
        return CallableBackend(name)
    kind, _, rest = name.partition(":")
    if kind == "nimblehlo" and rest in _MODES:
        return NimbleBackend(_MODES[rest])
    if kind not in ("jax", "pjrt", "interpreter") or (kind == "interpreter") != (rest == ""):
        raise UnsupportedError(
            f"there is no backend {name!r}; use jax:PLATFORM, pjrt:LIBRARY, interpreter or nimblehlo"
        )
    if importlib.util.find_spec("jax") is None:
        raise UnsupportedError(f"the backend {name!r} needs jax: pip install 'nimblehlo[jax]'")
    if kind == "interpreter":
        return IsolatedBackend(name)
    from .pjrt import jax_platform, pjrt_plugin

    return jax_platform(rest) if kind == "jax" else pjrt_plugin(rest)
