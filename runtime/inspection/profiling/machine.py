"""The speed of this machine, which bounds the time of programs from below."""

from __future__ import annotations

import contextlib
import functools
import itertools
import math
import os
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Self

from ...program.ir.record import Record
from ...program.ops.framework.costs import FunctionClass
from .work import ProgramWork

LEVELS: Final = ("L1", "L2", "L3", "memory")
TRAFFIC: Final = {"read": 0.0, "triad": 1 / 3, "copy": 1 / 2, "write": 1.0}
"""The measured mixes of reads and writes, and the share of the writes."""
MULTIPLIED: Final = ("f32", "f64", "bf16", "i8")
"""The element types whose multiply-adds are measured."""
WIDTHS: Final = {"narrow": 0, "f32": 1, "f64": 2}
"""The element types whose functions are measured, and the number of each in a `FunctionClass`."""

_DEFAULT_CACHE_BYTES: Final = (1 << 15, 1 << 19, 1 << 23)
"""Cache sizes where the system does not tell them."""
_SYSTEM_CACHES: Final = "/sys/devices/system/cpu/cpu0/cache"


class Machine(Record):
    """The peak rates of this machine.

    Attributes:
        threads: the maximum number of threads that a program may use here.
        measured_threads: the numbers of threads for which there are figures, ascending.
        cache_bytes: of the L1 and the L2 cache of one thread, and of the L3 cache, which all threads share.
        figures: by name and number of threads, such as ``"copy memory 2"``: bytes, multiply-adds, functions
            or loads in a second by all of these threads, or, where the name begins with ``"seconds"``,
            seconds. `measuring.py` says what is measured.
    """

    threads: int
    measured_threads: tuple[int, ...]
    cache_bytes: tuple[int, int, int]
    figures: Mapping[str, float]

    def as_dict(self) -> dict[str, Any]:
        """All fields, for JSON."""
        return {name: getattr(self, name) for name in Machine._fields}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The machine of `as_dict`, also after JSON, which has no tuples."""
        threads, caches = tuple(fields["measured_threads"]), tuple(fields["cache_bytes"])
        return cls(fields["threads"], threads, caches, fields["figures"])

    def rate(self, name: str, threads: int | None = None) -> float:
        """A figure for a number of threads, all by default; NaN if it was not measured."""
        return self.figures.get(f"{name} {threads or self.measured_threads[-1]}", math.nan)

    @property
    def bytes_per_second(self) -> float:
        """Bytes read and written by copying arrays that no cache holds, by all threads."""
        return self.rate("copy memory")

    @property
    def multiplications_per_second(self) -> float:
        """Multiply-adds of f32, by all threads."""
        return self.rate("multiply-adds f32")

    def moving_seconds(self, read: float, written: float, threads: int, held: float = 0.0) -> float:
        """The least time to read and to write so many bytes, which earlier calls may have left in caches.

        Of bytes that are read again, `held`, only those beyond all caches take time.

        Every cache keeps as much of them as it holds, so that the first bytes come from the L1 caches, the
        next from the L2 caches, and only those beyond all caches from memory.
        """
        rest = read + written
        share = written / rest if rest else 0.0
        sizes = [self.cache_bytes[0] * threads, self.cache_bytes[1] * threads, self.cache_bytes[2], math.inf]
        beyond = max(0.0, held - sum(sizes[:-1]))
        seconds = beyond * self._seconds_per_byte("memory", 0.0, threads) if beyond else 0.0
        for name, size in zip(LEVELS, sizes, strict=True):
            here = min(rest, size)
            seconds += here * self._seconds_per_byte(name, share, threads)
            rest -= here
        return seconds

    def _seconds_per_byte(self, level: str, share: float, threads: int) -> float:
        """Interpolated between the measured mixes of reads and writes."""
        points = [(at, 1 / self.rate(f"{kind} {level}", threads)) for kind, at in TRAFFIC.items()]
        for (left, start), (right, end) in itertools.pairwise(points):
            if share <= right:
                return start + (end - start) * (share - left) / (right - left)
        return points[-1][1]

    def computing_seconds(self, work: ProgramWork, threads: int) -> float:
        """The least time of a program's arithmetic.

        Multiply-adds and functions need the same instructions, so their times add up. Other instructions may
        run beside them.
        """
        products = sum(
            [n / self.rate(f"multiply-adds {name}", threads) for name, n in work.multiply_adds.items()]
        )
        functions = sum(
            [
                count / self.rate(f"functions {function.label} {width}", threads)
                for (function, width), count in work.functions.items()
            ]
        )
        return max(products + functions, work.instruction_bytes / self.rate("instructions", threads))


def processor_name() -> str:
    """The name of the processor, as the system tells it."""
    described = Path("/proc/cpuinfo")
    if described.exists():
        for line in described.read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor()


@functools.cache
def cache_sizes() -> tuple[int, int, int]:
    """Bytes of the L1 data, L2 and L3 cache, as the system tells them."""
    sizes: dict[int, int] = {}
    if os.path.isdir(_SYSTEM_CACHES):
        for index in sorted(Path(_SYSTEM_CACHES).glob("index*")):
            # Virtual machines may lack files, or tell a size of 0.
            with contextlib.suppress(OSError, ValueError):
                if (index / "type").read_text().strip() != "Instruction":
                    text = (index / "size").read_text().strip()
                    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:], 1)
                    size = int(text.rstrip("KMG")) * factor
                    if size > 0:
                        sizes[int((index / "level").read_text())] = size
    first, second, third = [sizes.get(number, size) for number, size in enumerate(_DEFAULT_CACHE_BYTES, 1)]
    return first, second, third


def table(machine: Machine) -> str:
    """The figures as text."""
    sizes = ", ".join(
        f"{name} {size >> 10} KiB" for name, size in zip(LEVELS, machine.cache_bytes, strict=False)
    )
    lines = [f"{processor_name()}, at most {machine.threads} threads; {sizes}", ""]
    heads = " ".join(f"{count:>9}" for count in machine.measured_threads)
    lines.append(f"{'threads':34} {heads}")
    for name, unit, factor in rows():
        values = [machine.rate(name, count) for count in machine.measured_threads]
        if not all(map(math.isnan, values)):
            lines.append(f"{name + ', ' + unit:34} " + " ".join(f"{value * factor:9.3f}" for value in values))
    return "\n".join(lines)


def rows() -> Sequence[tuple[str, str, float]]:
    """The name of each figure, its unit, and the factor to it."""
    traffic = [(f"{kind} {name}", "GB/s", 1e-9) for name in LEVELS for kind in TRAFFIC]
    products = [(f"multiply-adds {name}", "G/s", 1e-9) for name in MULTIPLIED]
    widths = [
        (f"multiply-adds {name} {bits} bits", "G/s", 1e-9)
        for name in ("f32", "f64")
        for bits in (128, 256, 512)
    ]
    functions = [
        (f"functions {function.label} {width}", "G/s", 1e-9) for function in FunctionClass for width in WIDTHS
    ]
    gathers = [(f"gather {name}", "G loads/s", 1e-9) for name in LEVELS]
    times = [(f"seconds {name}", "us", 1e6) for name in ("call", "launch", "wake", "task", "steal")]
    return [*traffic, *products, *widths, *functions, ("instructions", "GB/s", 1e-9), *gathers, *times]
