"""Checks in a child process that a fork makes of the one which runs the tests."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable

import pytest

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

MAX_SECONDS = 120.0
"""Seconds after which a child hangs; they take some milliseconds."""

_POLL = 0.005


def holds_in_child(check: Callable[[], object]) -> bool:
    """Whether a check returns what is true in a forked child, and the child ends by itself.

    Python and JAX warn of the fork, since this process has threads; the test is about such forks.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".* is multi-threaded", DeprecationWarning)
        warnings.filterwarnings("ignore", r"os\.fork\(\) was called\. .* JAX is multi", RuntimeWarning)
        child = os.fork()
        if child == 0:
            _end_with(check)
    deadline = time.monotonic() + MAX_SECONDS
    while (ended := os.waitpid(child, os.WNOHANG))[0] == 0:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            return False
        time.sleep(_POLL)
    return ended == (child, 0)


def _end_with(check: Callable[[], object]) -> None:
    """End this process without its destructors and exit functions, which are the parent's."""
    status = 1
    try:
        status = 0 if check() else 1
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(status)
