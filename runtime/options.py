"""The knobs of compilation and execution."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Options:
    """How a program is compiled and run. Results do not depend on any of these.

    Attributes:
        compile: ``"auto"``: a step is compiled once the time that it has cost exceeds what compiling
            it costs; ``"eager"``: at the first call; ``"never"``: reference steps only.
        threads: most threads that a kernel may use; None: all that the machine has.

    Raises:
        ValueError: for a value that is none of these.
    """

    compile: Literal["auto", "eager", "never"] = "auto"
    threads: int | None = None

    def __post_init__(self) -> None:
        if self.compile not in ("auto", "eager", "never"):
            raise ValueError(f"compile is {self.compile!r}, but must be 'auto', 'eager' or 'never'")
        if self.threads is not None and (not isinstance(self.threads, int) or self.threads < 1):
            raise ValueError(f"threads is {self.threads!r}, but must be None or a positive integer")
