"""Records when Numba compiles kernels."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ...kernels.launch.spans import Span


@contextmanager
def numba_compilations(observe: Callable[[Span], object]) -> Iterator[None]:
    """Observe Numba's compilations within the context, if Numba is already imported.

    Source: Numba's documentation, "Event API".
    """
    if "numba" not in sys.modules:
        yield
        return
    from numba.core import event

    class _Compilations(event.Listener):  # type: ignore[misc]
        def __init__(self) -> None:
            self.open: dict[int, list[tuple[str, float]]] = {}

        def on_start(self, started: Any) -> None:
            name = getattr(started.data["dispatcher"], "__qualname__", "a kernel")
            self.open.setdefault(threading.get_ident(), []).append((name, time.perf_counter()))

        def on_end(self, ended: object) -> None:
            thread = threading.get_ident()
            name, start = self.open[thread].pop()
            if not self.open[thread]:
                seconds = time.perf_counter() - start
                observe(Span("compile", name, thread, threading.current_thread().name, start, seconds))

    with event.install_listener("numba:compile", _Compilations()):
        yield
