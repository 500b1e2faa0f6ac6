"""The names by which backends are found."""

from __future__ import annotations

import importlib.util
import re
from typing import Final

from ...errors import UnsupportedError
from ...options import Options
from .backend import Backend, CallableBackend, NimbleBackend, Runnable
from .isolation import IsolatedBackend

_SETTINGS: Final[dict[str, tuple[str, object]]] = {
    "auto": ("compile", "auto"),
    "eager": ("compile", "eager"),
    "never": ("compile", "never"),
    "correctly_rounded": ("functions", "correctly_rounded"),
    "reference": ("reference", True),
}
"""An option of NimbleHLO and its value by the word that sets it; ``threads=N`` sets the number of threads."""


def backend(name: str | Backend | Runnable) -> Backend:
    """The backend of a name.

    Args:
        name: ``"jax:cpu"`` or ``"jax:"`` and any other platform of JAX; ``"pjrt:"`` and the path of a PJRT
            plugin's library; ``"interpreter"``, the reference interpreter of jaxlib; ``"iree"``, or
            ``"iree:"`` and a target, ``llvm-cpu`` or ``vmvx``; ``"nimblehlo"``, or ``"nimblehlo:"`` and
            settings joined by ``+``: when it compiles (``auto``, ``eager`` or ``never``), that it rounds
            functions correctly (``correctly_rounded``), that it runs references (``reference``), and the
            number of threads (``threads=1``); or a function that takes a module and inputs. A Backend is
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
    if kind == "nimblehlo":
        return NimbleBackend(_options(name, rest))
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


def _options(name: str, settings: str) -> Options:
    """The options that follow NimbleHLO's name."""
    chosen: dict[str, object] = {}
    for word in settings.split("+") if settings else ():
        option, value = _SETTINGS.get(word, ("", None))
        if re.fullmatch(r"threads=[1-9]\d*", word):
            option, value = "threads", int(word.partition("=")[2])
        if not option:
            known = ", ".join([*_SETTINGS, "threads=N"])
            raise UnsupportedError(f"there is no backend {name!r}; settings of nimblehlo are {known}")
        if option in chosen:
            raise UnsupportedError(f"there is no backend {name!r}: it sets {option} twice")
        chosen[option] = value
    if chosen.get("reference") and "compile" in chosen:
        raise UnsupportedError(f"there is no backend {name!r}: references are not compiled")
    return Options(**chosen)  # type: ignore[arg-type]


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
