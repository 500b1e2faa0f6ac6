"""Interrupts of calls that would go on for long."""

from __future__ import annotations

import threading
import time
from _thread import interrupt_main
from collections.abc import Callable

import pytest

PROMPT_SECONDS = 10.0
"""Seconds within which an interrupted call must have ended, however busy the machine is."""

_POLL = 0.01


def interrupt(call: Callable[[], object], *, once: Callable[[], bool] = lambda: True) -> None:
    """Check that an interrupt, as of Control-C, ends a call on this thread soon.

    Args:
        call: would go on for much longer than `PROMPT_SECONDS`.
        once: whether the interrupt may come; it comes 0.2 s later.
    """
    has_ended, sent = threading.Event(), list[float]()

    def send() -> None:
        while not once():
            if has_ended.wait(_POLL):
                return
        if not has_ended.wait(0.2):
            sent.append(time.perf_counter())
            interrupt_main()

    def call_and_join() -> None:
        try:
            call()
        finally:
            has_ended.set()
            # Were the call over before, the interrupt would come here.
            sender.join()

    sender = threading.Thread(target=send)
    sender.start()
    with pytest.raises(KeyboardInterrupt):
        call_and_join()
    assert time.perf_counter() - sent[0] < PROMPT_SECONDS, "the call has not been interrupted"
