"""Runs the programs of the suite on backends and judges what these do."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

from ..backends import Backend, BackendError, IsolatedBackend
from .archive import Archive
from .journal import Journal
from .report import Report, is_plugin
from .suite import FULL, Program, programs
from .verdicts import Judge, Judgement

PROGRAM_SECONDS: Final = 60.0
"""Seconds that a backend may take for a program."""
CHUNK: Final = 20
"""Programs that a worker process takes at a time."""


def conformance(
    against: Sequence[str | Backend],
    *,
    operations: Iterable[str] | None = None,
    level: str = FULL,
    chosen: Iterable[Program] | None = None,
    jobs: int = 1,
    journal: Path | None = None,
    archive: Path | None = None,
    seconds: float = PROGRAM_SECONDS,
    progress: Callable[[Report], object] | None = None,
) -> Report:
    """Judge what backends do with the programs of the suite.

    Args:
        against: names of backends, each of which runs in a process of its own; or backends.
        operations: the operations to test; None: all.
        level: ``"smoke"`` or ``"full"``.
        chosen: programs in place of those of operations and a level.
        jobs: the number of concurrent processes. More than one need the names of backends.
        journal: a file to which each judgement is appended. What it contains is not run again, so that a
            stopped run continues.
        archive: a folder that `write_archive` wrote, whose allowed results stand for computed ones, and whose
            programs stand for those of a level.
        seconds: the time that a backend may take for a program.
        progress: called after each program with the report so far.

    Raises:
        UnsupportedError: there is no such operation; or the journal is of another version of the suite.
        NimbleError: there is no such archive, or it has no program of an operation.
        ValueError: there are several jobs, but a backend without a name.
    """
    if jobs > 1 and not all(isinstance(one, str) for one in against):
        raise ValueError("jobs is more than 1, so that `against` must be names of backends")
    archived = None if archive is None else Archive(archive)
    if chosen is None:
        chosen = programs(operations, level) if archived is None else archived.programs(operations)
    report = Report([one if isinstance(one, str) else one.name for one in against])
    if archived is not None:
        report.suite = archived.suite
    for name in filter(is_plugin, report.backends):
        with suppress(BackendError):  # which each program then meets
            report.descriptions[name] = IsolatedBackend(name, seconds).description
    with Journal(journal, report.suite) as stored:
        remaining = []
        start = time.process_time()
        for program in chosen:
            report.programs += 1
            report.texts[program.id] = program.text
            known = [stored.get(program.id, name) for name in report.backends]
            if None in known:
                remaining.append(program)
            else:
                report.judgements += [one for one in known if one is not None]
        report.seconds = time.process_time() - start
        for judgement in _judgements(against, remaining, jobs, seconds, archive):
            stored.append(judgement)
            report.judgements.append(judgement)
            if progress is not None:
                progress(report)
    return report


def _judgements(
    against: Sequence[str | Backend],
    remaining: Sequence[Program],
    jobs: int,
    seconds: float,
    archive: Path | None,
) -> Iterator[Judgement]:
    if jobs == 1:
        workers = _Worker(against, seconds, archive)
        yield from chain.from_iterable(map(workers.judge, remaining))
        return
    # Forked processes would share what the backends of others have started.
    chunks = [remaining[start : start + CHUNK] for start in range(0, len(remaining), CHUNK)]
    context = multiprocessing.get_context("spawn")
    start = partial(_start_worker, against, seconds, archive)
    with ProcessPoolExecutor(jobs, context, start) as pool:
        for judgements in pool.map(_judge_in_worker, chunks):
            yield from judgements


class _Worker:
    """Judges programs in this process; backends given by name run in processes of their own."""

    def __init__(self, against: Sequence[str | Backend], seconds: float, archive: Path | None) -> None:
        self._archive = None if archive is None else Archive(archive)
        self._backends = [IsolatedBackend(one, seconds) if isinstance(one, str) else one for one in against]

    def judge(self, program: Program) -> list[Judgement]:
        allowed = None if self._archive is None else self._archive.allowed(program.id)
        judge = Judge(program, allowed)
        return [judge.judge(one) for one in self._backends]


_worker: _Worker | None = None
"""The worker of a process of the pool."""


def _start_worker(against: Sequence[str | Backend], seconds: float, archive: Path | None) -> None:
    global _worker
    _worker = _Worker(against, seconds, archive)


def _judge_in_worker(chunk: Sequence[Program]) -> list[Judgement]:
    assert _worker is not None
    return list(chain.from_iterable(map(_worker.judge, chunk)))
