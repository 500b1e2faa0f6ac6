"""The knobs of compilation and execution."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Options:
    """How a program is compiled and run. Of these, results depend on `seed` alone.

    Attributes:
        compile: ``"auto"``: a step is compiled once the time that it has cost exceeds what compiling
            it costs; ``"eager"``: at the first call; ``"never"``: reference steps only.
        threads: most threads that a kernel may use; None: all that the machine has.
        seed: of the numbers that ``stablehlo.rng`` draws, from 0 to 2^64 - 1. What a call draws is fixed by
            the seed and by how many draws there were before in the same call.
        probe_directory: the folder into which ``interpreter.probe`` writes; None: there is none, and a
            probe fails. Each call that probes writes a new index, so that calls must not overlap.

    Raises:
        ValueError: for a value that is none of these.
    """

    compile: Literal["auto", "eager", "never"] = "auto"
    threads: int | None = None
    seed: int = 0
    probe_directory: str | os.PathLike[str] | None = None

    def __post_init__(self) -> None:
        if self.compile not in ("auto", "eager", "never"):
            raise ValueError(f"compile is {self.compile!r}, but must be 'auto', 'eager' or 'never'")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ValueError(f"threads is {self.threads!r}, but must be None or a positive integer")
        if not isinstance(self.seed, int) or not 0 <= self.seed < 2**64:
            raise ValueError(f"seed is {self.seed!r}, but must be an integer from 0 to 2^64 - 1")
        if not isinstance(self.probe_directory, (str, os.PathLike, type(None))):
            raise ValueError(f"probe_directory is {self.probe_directory!r}, but must be None or a path")
