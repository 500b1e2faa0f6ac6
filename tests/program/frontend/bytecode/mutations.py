"""Command: read mutated bytecode and artifacts, and write again what could be read.

Mutants change bytes, or integers and ranges of a section whose length is then corrected, so that they reach
what lies behind the container. Each must be read, or refused with a `NimbleError`, within a second for
100 kB. A worker process with limited memory tries them; if it ends or hangs, the mutant is a finding.
"""

from __future__ import annotations

import argparse
import bisect
import gc
import itertools
import json
import multiprocessing
import random
import resource
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any, Final

from nimblehlo.errors import NimbleError
from nimblehlo.program.frontend.bytecode import read_bytecode, write_artifact, write_bytecode
from nimblehlo.program.frontend.bytecode.byte_writer import ByteWriter
from nimblehlo.program.frontend.bytecode.container_format import MAGIC
from nimblehlo.program.frontend.bytecode.program_reader import ByteCursor
from nimblehlo.program.frontend.loader import load_ir
from nimblehlo.program.ir import Function, Module
from nimblehlo.program.ir.printer import print_module

FOLDER: Final = Path(__file__).parent
EXAMPLES: Final = Path(__file__).parents[4] / "examples"
VERSIONS: Final = ("0.9.0", "0.11.0", "0.13.0", "0.14.0", "1.0.0", "1.5.0", "1.10.0", "1.16.0", "1.22.0")
CHUNK: Final = 5_000
"""Mutants for each line of the journal."""
SECONDS: Final = 1.0
"""Maximum processor time for 100 kB; larger mutants have more in proportion."""
HANG_SECONDS: Final = 60
GARBAGE_THRESHOLD: Final = 50_000
"""Objects between two collections of garbage, of which a campaign makes much and keeps none."""
MAX_BYTES: Final = 1 << 30
"""Maximum resident memory of a worker."""
_SECTIONS_START: Final = 5
_INTERESTING: Final = (
    0,
    1,
    2,
    3,
    7,
    63,
    64,
    127,
    128,
    255,
    1 << 14,
    (1 << 31) - 1,
    1 << 31,
    1 << 40,
    (1 << 64) - 1,
)


def seeds() -> list[bytes]:
    """The bytecode that is mutated: our artifacts of several versions and, with jaxlib, its bytecode."""
    paths = (*FOLDER.glob("*.mlir"), EXAMPLES / "kmeans.mlir")
    modules = [part for path in paths for part in _parts(load_ir(path))]
    written = [write_bytecode(module) for module in modules]
    for module in modules:
        for version in VERSIONS:
            try:
                written.append(write_artifact(module, version))
            except NimbleError:
                continue
    return sorted({*written, *_seeds_of_jaxlib()})


def _parts(module: Module) -> Iterator[Module]:
    """A module, and each of its functions as a module: small ones are read in less time."""
    yield module
    if len(module.body) > 1:
        yield from (Module([item]) for item in module.body if isinstance(item, Function))


def _seeds_of_jaxlib() -> Iterator[bytes]:
    import io

    try:
        from jaxlib.mlir.dialects import stablehlo as _  # noqa: F401
    except ImportError:
        return
    from nimblehlo.program.frontend.jaxlib_modules import read_module

    for path in FOLDER.glob("*.mlir"):
        module = read_module(path.read_bytes())
        for version in (1, 3, 4, 6):
            written = io.BytesIO()
            module.operation.write_bytecode(written, desired_version=version)
            yield written.getvalue()


class Mutator:
    """Makes the mutants of a series, each from its number alone.

    Args:
        contents: the bytecode that is mutated.
        series: which series of mutants.
    """

    def __init__(self, contents: Sequence[bytes], series: int) -> None:
        self._contents = contents
        self._sections = [_sections(content) for content in contents]
        # Small files as often as it takes for all sizes to have the same share of the time.
        self._weights = list(itertools.accumulate(1 / len(content) for content in contents))
        self._series = series

    def mutant(self, number: int) -> bytes:
        """The mutant of a number."""
        generator = random.Random(f"{self._series}:{number}")
        weight = generator.random() * self._weights[-1]
        index = bisect.bisect(self._weights, weight, hi=len(self._contents) - 1)
        if generator.random() < 0.3:
            return _mutated_bytes(self._contents[index], generator)
        head, sections = self._sections[index]
        sections = [(section, bytearray(content)) for section, content in sections]
        for _ in range(generator.choice((1, 1, 1, 2, 3, 8))):
            section, content = generator.choice(sections)
            if generator.random() < 0.2:
                _splice(content, generator.choice(self._sections)[1], section, generator)
            else:
                _mutate_integer(content, generator)
        if generator.random() < 0.02:
            sections.append(generator.choice(sections))
        if generator.random() < 0.02:
            sections.pop(generator.randrange(len(sections)))
        writer = ByteWriter()
        writer.append(head)
        for section, content in sections:
            writer.section(section, content)
        return bytes(writer.content)


def _sections(content: bytes) -> tuple[bytes, list[tuple[int, bytes]]]:
    """What is before the sections, and the number and the content of each."""
    cursor = ByteCursor(content, len(MAGIC), len(content), "seed")
    cursor.varint()
    cursor.text()
    head, sections = content[: cursor.position], []
    while not cursor.is_empty:
        number, section = cursor.section()
        sections.append((number, content[section.position : section.end]))
    return head, sections


def _mutated_bytes(content: bytes, generator: random.Random) -> bytes:
    mutated = bytearray(content)
    for _ in range(generator.choice((1, 1, 1, 2, 3, 8))):
        position = generator.randrange(_SECTIONS_START, len(mutated))
        kind = generator.randrange(6)
        if kind == 0:
            mutated[position] = generator.randrange(256)
        elif kind == 1:
            mutated[position] ^= 1 << generator.randrange(8)
        elif kind == 2:
            del mutated[position : position + generator.randrange(1, 9)]
        elif kind == 3:
            mutated[position:position] = generator.randbytes(generator.randrange(1, 9))
        elif kind == 4:
            mutated[position : position + 9] = b"\0" + generator.choice(_INTERESTING).to_bytes(8, "little")
        else:
            del mutated[position:]
        if len(mutated) <= _SECTIONS_START:
            break
    return bytes(mutated)


def _mutate_integer(content: bytearray, generator: random.Random) -> None:
    """Change the integer at some position, whatever is there."""
    if not content:
        return
    position = generator.randrange(len(content))
    cursor = ByteCursor(bytes(content[position : position + 9]), 0, min(9, len(content) - position), "mutant")
    try:
        value = cursor.varint()
    except NimbleError:
        value = 0
    change = generator.randrange(4)
    if change == 0:
        value = generator.choice(_INTERESTING)
    elif change == 1:
        value = max(0, value + generator.choice((-4, -2, -1, 1, 2, 4)))
    elif change == 2:
        value = generator.randrange(64)
    else:
        value ^= 1 << generator.randrange(8)
    writer = ByteWriter()
    writer.varint(value & (1 << 64) - 1)
    content[position : position + max(1, cursor.position)] = writer.content


def _splice(
    content: bytearray, others: Sequence[tuple[int, bytes]], section: int, generator: random.Random
) -> None:
    """Replace a range by one of the same section of another file."""
    donors = [each for number, each in others if number == section and each]
    if not donors or not content:
        return
    donor = generator.choice(donors)
    start, source = generator.randrange(len(content)), generator.randrange(len(donor))
    size = generator.randrange(1, 33)
    content[start : start + generator.choice((size, 0))] = donor[source : source + size]


@dataclass
class Chunk:
    """What came of consecutive mutants."""

    first: int
    count: int = 0
    read: int = 0
    written: int = 0
    slowest: float = 0.0
    slowest_number: int = -1
    peak_bytes: int = 0
    findings: list[str] = field(default_factory=list)


def attempt(content: bytes, write: bool = True) -> tuple[bool, bool]:
    """Read a mutant, print it and write it again; whether it was read, and whether it was written.

    Args:
        content: the mutant.
        write: whether to print and write it, which takes longer than to read it.

    Raises:
        Exception: anything that is not a `NimbleError` is a finding.
    """
    try:
        module = read_bytecode(content, "mutant")
    except NimbleError:
        return False, False
    if not write:
        return True, False
    print_module(module, locations=True)
    try:
        write_bytecode(module)
        write_artifact(module)
    except NimbleError:
        return True, False
    return True, True


def try_chunk(
    mutator: Mutator, first: int, count: int, current: Synchronized[int] | None = None, write_every: int = 1
) -> Chunk:
    """Try consecutive mutants; `current` gets the number of each before it is tried."""
    chunk = Chunk(first)
    for number in range(first, first + count):
        if current is not None:
            current.value = number
        content = mutator.mutant(number)
        started = time.process_time()
        try:
            was_read, was_written = attempt(content, number % write_every == 0)
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            chunk.findings.append(f"{number}: {type(error).__name__}: {error} ({where.name}:{where.lineno})")
            continue
        finally:
            seconds = time.process_time() - started
            chunk.count += 1
            if seconds > chunk.slowest:
                chunk.slowest, chunk.slowest_number = seconds, number
        chunk.read += was_read
        chunk.written += was_written
        if seconds > SECONDS * max(1.0, len(content) / 100_000):
            chunk.findings.append(f"{number}: {seconds:.2f} s for {len(content)} bytes")
    chunk.peak_bytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return chunk


def _work(
    series: int, first: int, count: int, write_every: int, current: Synchronized[int], chunks: Any
) -> None:
    """Try mutants in this process, and send what came of each chunk."""
    # Address space, which is more than resident memory: code, and pages that are reserved only.
    resource.setrlimit(resource.RLIMIT_AS, (3 * MAX_BYTES, 3 * MAX_BYTES))
    mutator = Mutator(seeds(), series)
    # Modules are cyclic garbage, but each is small.
    gc.freeze()
    gc.set_threshold(GARBAGE_THRESHOLD)
    parent = multiprocessing.parent_process()
    for start in range(first, first + count, CHUNK):
        if parent is not None and not parent.is_alive():
            return
        chunks.put(try_chunk(mutator, start, min(CHUNK, first + count - start), current, write_every))
    chunks.put(None)


def campaign(series: int, first: int, end: int, seconds: float, write_every: int = 1) -> Iterator[Chunk]:
    """Try the mutants of a series from `first` to `end`, in workers, for some time."""
    context = multiprocessing.get_context("spawn")
    deadline = time.monotonic() + seconds
    while first < end and time.monotonic() < deadline:
        current, chunks = context.Value("q", first), context.Queue()
        worker = context.Process(
            target=_work, args=(series, first, end - first, write_every, current, chunks), daemon=True
        )
        worker.start()
        last_number, last_change = -1, time.monotonic()
        while time.monotonic() < deadline:
            try:
                chunk = chunks.get(timeout=5)
            except Exception:
                if current.value != last_number:
                    last_number, last_change = current.value, time.monotonic()
                if worker.is_alive() and time.monotonic() - last_change < HANG_SECONDS:
                    continue
                ended = "ended the process" if not worker.is_alive() else "hangs"
                yield Chunk(first, last_number - first + 1, findings=[f"{last_number}: {ended}"])
                first = last_number + 1
                break
            if chunk is None:
                first = end
                break
            first = chunk.first + chunk.count
            yield chunk
        worker.kill()
        worker.join()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000_000)
    parser.add_argument("--series", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1e9, help="stop after this time")
    parser.add_argument("--write-every", type=int, default=1, help="print and write one of N that are read")
    parser.add_argument("--journal", type=Path, help="a file in which a stopped campaign continues")
    parser.add_argument("--only", type=int, help="try this mutant here")
    options = parser.parse_args()
    if options.only is not None:
        print(attempt(Mutator(seeds(), options.series).mutant(options.only)))
        return 0
    total = Chunk(0)
    if options.journal is not None and options.journal.exists():
        for line in options.journal.read_text().splitlines():
            _add(total, Chunk(**json.loads(line)))
    for chunk in campaign(options.series, total.count, options.count, options.seconds, options.write_every):
        _add(total, chunk)
        if options.journal is not None:
            with options.journal.open("a") as journal:
                journal.write(json.dumps(asdict(chunk)) + "\n")
        for finding in chunk.findings:
            print(finding, flush=True)
    print(
        f"{total.count} mutants: {total.read} read, {total.written} of these written again, "
        f"{len(total.findings)} findings; the slowest, {total.slowest_number}, took {total.slowest:.2f} s; "
        f"at most {total.peak_bytes / 2**20:.0f} MiB"
    )
    return 1 if total.findings or total.peak_bytes > MAX_BYTES else 0


def _add(total: Chunk, chunk: Chunk) -> None:
    total.count += chunk.count
    total.read += chunk.read
    total.written += chunk.written
    if chunk.slowest > total.slowest:
        total.slowest, total.slowest_number = chunk.slowest, chunk.slowest_number
    total.peak_bytes = max(total.peak_bytes, chunk.peak_bytes)
    total.findings += chunk.findings


if __name__ == "__main__":
    sys.exit(main())
