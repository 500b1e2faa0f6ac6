"""Has processes run random programs."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, as_completed
from queue import Empty, SimpleQueue
from typing import Any, Final

from ..backends.isolation import receive, send
from ..errors import NimbleError
from .report import FuzzReport

CHUNK: Final = 20
"""Programs that a process runs before it answers."""


def reports_of_workers(
    against: str,
    count: int,
    seed: int,
    minimizes: bool,
    jobs: int,
    progress: Callable[[FuzzReport], object] | None,
) -> FuzzReport:
    """What `fuzz` returns, from several processes."""
    chunks: SimpleQueue[range] = SimpleQueue()
    for start in range(seed, seed + count, CHUNK):
        chunks.put(range(start, min(start + CHUNK, seed + count)))
    total = FuzzReport(against, seed)
    reports: SimpleQueue[FuzzReport | None] = SimpleQueue()
    with ThreadPoolExecutor(jobs, "nimblehlo fuzz") as pool:
        running = [pool.submit(_drive, against, minimizes, chunks, reports) for _ in range(jobs)]
        ended = 0
        while ended < jobs:
            report = reports.get()
            if report is None:
                ended += 1
                continue
            total.add(report)
            if progress is not None:
                progress(total)
        for one in as_completed(running):
            one.result()
    return total


def _drive(
    against: str, minimizes: bool, chunks: SimpleQueue[range], reports: SimpleQueue[FuzzReport | None]
) -> None:
    """Have a process run chunks until there are none."""
    command = [sys.executable, "-m", f"{__package__}.worker", against, str(int(minimizes))]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            while True:
                try:
                    chunk = chunks.get_nowait()
                except Empty:
                    break
                send(process.stdin, chunk)
                report: Any = receive(process.stdout)
                if report is None:
                    raise NimbleError(
                        f"the process that runs programs {chunk.start} to {chunk.stop - 1} ended"
                    )
                reports.put(report)
            process.stdin.close()
    finally:
        reports.put(None)
