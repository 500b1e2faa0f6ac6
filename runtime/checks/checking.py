"""Runs files whose programs check their own results, for `nimblehlo check`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ..api import compile
from ..errors import NimbleError, UnsupportedError
from ..kernels.launch.threads import available_threads
from ..options import Options
from ..program.frontend import parse, split
from ..program.ir import Module
from ..program.ops.framework.verify import verify


@dataclass(frozen=True, slots=True)
class CaseResult:
    """The outcome of one case: a file, or one chunk of a file that is split at ``// -----``.

    Attributes:
        file: path of the file.
        chunk: the number of the chunk in the file, counted from 0.
        status: ``"passed"``, ``"failed"`` or ``"unsupported"``.
        message: why it did not pass.
        seconds: time taken.
    """

    file: str
    chunk: int
    status: str
    message: str
    seconds: float

    def as_dict(self) -> dict[str, Any]:
        """The fields by name."""
        return asdict(self)


def find_files(paths: Sequence[str]) -> list[str]:
    """The files among `paths`, and the ``.mlir`` files below the folders among them in sorted order.

    Raises:
        NimbleError: a path does not exist.
    """
    files: list[str] = []
    for path in map(Path, paths):
        if path.is_dir():
            files += sorted(map(str, path.rglob("*.mlir")))
        elif path.exists():
            files.append(str(path))
        else:
            raise NimbleError(f"there is no file or folder {path}")
    return files


def check_file(file: str, options: Options | None = None) -> list[CaseResult]:
    """Run all chunks of a file: ``@main``, or where there is none every public function without arguments."""
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        return [CaseResult(file, 0, "failed", str(error), 0.0)]
    results = []
    for chunk, (line, chunk_text) in enumerate(split(text)):
        if is_empty(chunk_text):
            continue
        start = time.perf_counter()
        status, message = "passed", ""
        try:
            with _probing(options or Options()) as probing_options:
                _run_chunk("\n" * line + chunk_text, file, probing_options)
        except UnsupportedError as error:
            status, message = "unsupported", str(error)
        except NimbleError as error:
            status, message = "failed", str(error)
        results.append(CaseResult(file, chunk, status, message, time.perf_counter() - start))
    return results


@contextmanager
def _probing(options: Options) -> Iterator[Options]:
    """The options with a folder for probes, a temporary one if they name none."""
    if options.probe_directory is not None:
        yield options
        return
    with TemporaryDirectory(prefix="nimblehlo-") as folder:
        yield replace(options, probe_directory=folder)


def is_empty(text: str) -> bool:
    """Whether a text holds nothing but blanks and comments."""
    return all(not line.strip() or line.lstrip().startswith("//") for line in text.splitlines())


def _run_chunk(text: str, file: str, options: Options) -> None:
    module = parse(text, file)
    verify(module)
    _check_functions(module, options)


def check_program(module: Module, options: Options) -> None:
    """Run a program that checks itself: ``@main``, or else every public function without arguments.

    Raises:
        NimbleError: a check failed, or the program cannot be run.
    """
    with _probing(options) as probing_options:
        _check_functions(module, probing_options)


def _check_functions(module: Module, options: Options) -> None:
    functions = module.functions
    if "main" in functions:
        names = ["main"]
    else:
        names = [
            name for name, function in functions.items() if function.is_public and not function.type.inputs
        ]
    if not names:
        raise NimbleError("holds no @main and no public function without arguments")
    for name in names:
        if functions[name].type.inputs:
            raise UnsupportedError(f"@{name} takes arguments, so that it cannot check itself")
        compile(module, entry=name, options=options)()


def _process_pool(workers: int) -> ProcessPoolExecutor | None:
    try:
        return ProcessPoolExecutor(workers)
    except (ImportError, NotImplementedError, OSError) as error:
        warnings.warn(f"one process runs all programs: {error}", RuntimeWarning, stacklevel=3)
        return None


def check_files(
    files: Sequence[str], jobs: int = 1, options: Options | None = None
) -> Iterator[list[CaseResult]]:
    """The results of each file, in order; in `jobs` processes where that is more than one.

    Where the system has no semaphores that processes share, as without `/dev/shm`, this process runs all.
    """
    workers = min(jobs, len(files), available_threads())
    pool = _process_pool(workers) if workers > 1 else None
    if pool is None:
        for file in files:
            yield check_file(file, options)
        return
    with pool:
        chunk = max(1, min(32, len(files) // (4 * jobs)))
        yield from pool.map(check_file, files, [options] * len(files), chunksize=chunk)
