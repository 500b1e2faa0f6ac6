"""Calls a function on several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable


def on_threads(count: int, function: Callable[[int], object]) -> None:
    """Call a function on `count` threads, each with its number from 0 on, and wait for all of them.

    Raises:
        BaseException: whatever the first thread that failed raised.
    """
    failures: list[BaseException] = []

    def call(number: int) -> None:
        try:
            function(number)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=call, args=(number,)) for number in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
