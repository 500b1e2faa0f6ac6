"""Runs random programs in worker processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from typing import Any, Final

from ...errors import NimbleError
from ..backends.isolation import receive, send
from .report import Outcome

CHUNK: Final = 20
"""Programs that a process runs before it answers."""


def outcomes_of_workers(
    against: str, seeds: Sequence[int], minimizes: bool, jobs: int, titles: Iterable[str]
) -> Iterator[list[Outcome]]:
    """Yield the outcomes of programs, chunk by chunk as processes answer.

    Args:
        against: the name of a backend.
        seeds: of the programs.
        minimizes: whether programs of findings are made smaller.
        jobs: the number of processes.
        titles: titles of findings that are reported already.
    """
    chunks: SimpleQueue[Sequence[int]] = SimpleQueue()
    for start in range(0, len(seeds), CHUNK):
        chunks.put(seeds[start : start + CHUNK])
    answers: SimpleQueue[list[Outcome] | None] = SimpleQueue()
    titles = set(titles)
    with ThreadPoolExecutor(jobs, "nimblehlo fuzz") as pool:
        running = [pool.submit(_drive, against, minimizes, chunks, answers, titles) for _ in range(jobs)]
        ended = 0
        while ended < jobs:
            outcomes = answers.get()
            if outcomes is None:
                ended += 1
                continue
            titles.update(one.title for one in outcomes if one.kind == "finding")
            yield outcomes
        for one in running:
            one.result()


def _drive(
    against: str,
    minimizes: bool,
    chunks: SimpleQueue[Sequence[int]],
    answers: SimpleQueue[list[Outcome] | None],
    titles: set[str],
) -> None:
    """Let a process run chunks until none are left."""
    command = [sys.executable, "-P", "-m", f"{__package__}.worker", against, str(int(minimizes))]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdin is not None and process.stdout is not None
            while True:
                try:
                    chunk = chunks.get_nowait()
                except Empty:
                    break
                send(process.stdin, (chunk, list(titles)))
                outcomes: Any = receive(process.stdout)
                if outcomes is None:
                    raise NimbleError(f"the process that runs programs {chunk[0]} to {chunk[-1]} ended")
                answers.put(outcomes)
            process.stdin.close()
    finally:
        answers.put(None)
