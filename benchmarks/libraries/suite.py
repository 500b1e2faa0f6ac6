"""The programs of public libraries as benchmarks of asv."""

from __future__ import annotations

from ..ratios import SPEED_UP_UNIT
from .__main__ import measured_in_process
from .declaration import library_programs
from .measurement import Measurement

PROGRAMS = library_programs()


class Libraries:
    """Programs of libraries, compared with XLA:CPU in new processes with empty caches."""

    params = (list(PROGRAMS),)
    param_names = ("program",)
    timeout = 600

    def setup_cache(self) -> dict[str, Measurement | str]:
        """Measure each program once for all figures."""
        return {name: measured_in_process(program, self.timeout) for name, program in PROGRAMS.items()}

    setup_cache.timeout = 36000  # type: ignore[attr-defined]

    def track_warm_ratio(self, measured: dict[str, Measurement | str], name: str) -> float | None:
        """How many times as fast as XLA:CPU a warm call is."""
        outcome = measured[name]
        return outcome.ratio if isinstance(outcome, Measurement) else None

    def track_first_ratio(self, measured: dict[str, Measurement | str], name: str) -> float | None:
        """How many times as fast as XLA:CPU the first results are there."""
        outcome = measured[name]
        return outcome.first_ratio if isinstance(outcome, Measurement) else None

    def track_temporary_bytes(self, measured: dict[str, Measurement | str], name: str) -> float | None:
        """Memory for temporary values."""
        outcome = measured[name]
        return outcome.temporaries if isinstance(outcome, Measurement) else None

    track_warm_ratio.unit = track_first_ratio.unit = SPEED_UP_UNIT
    track_temporary_bytes.unit = "bytes"
