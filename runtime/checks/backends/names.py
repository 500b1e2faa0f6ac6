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
    "correctly_rounded": Options(functions="correctly_rounded"),
    "eager": Options(compile="eager"),
    "never": Options(compile="never"),
    "reference": Options(reference=True),
}
"""Options of NimbleHLO by what follows its name."""


def backend(name: str | Backend | Runnable) -> Backend:
    """The backend of a name.

    Args:
        name: ``"jax:cpu"`` or ``"jax:"`` and any other platform of JAX; ``"pjrt:"`` and the path of a PJRT
            plugin's library; ``"interpreter"``, the reference interpreter of jaxlib; ``"iree"``, or
            ``"iree:"`` and a target, ``llvm-cpu`` or ``vmvx``; ``"nimblehlo"``, or ``"nimblehlo:"`` and when
            it compiles, that it runs references, or that it rounds functions correctly (``eager``, ``never``,
            ``reference``, ``correctly_rounded``); or a function that takes a module and inputs. A Backend is
            returned as it is.

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
    if kind == "iree":
        return _iree(name, rest)
    if kind not in ("jax", "pjrt", "interpreter") or (kind == "interpreter") != (rest == ""):
        raise UnsupportedError(
            f"there is no backend {name!r}; use jax:PLATFORM, pjrt:LIBRARY, interpreter, iree or nimblehlo"
        )
    if importlib.util.find_spec("jax") is None:
        raise UnsupportedError(f"the backend {name!r} needs jax: pip install 'nimblehlo[jax]'")
    if kind == "interpreter":
        return IsolatedBackend(name)
    from .pjrt import jax_platform, pjrt_plugin

    return jax_platform(rest) if kind == "jax" else pjrt_plugin(rest)


def _iree(name: str, target: str) -> Backend:
    """IREE for a target; its packages are optional."""
    if importlib.util.find_spec("iree") is None:
        raise UnsupportedError(
            f"the backend {name!r} needs IREE: pip install iree-base-compiler iree-base-runtime"
        )
    from .iree_backend import TARGETS, IreeBackend

    if (target or "llvm-cpu") not in TARGETS:
        raise UnsupportedError(f"there is no backend {name!r}; IREE's targets are {', '.join(TARGETS)}")
    return IreeBackend(target or "llvm-cpu")
