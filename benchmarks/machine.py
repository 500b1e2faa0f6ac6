"""Names the machine and the versions that figures were measured with."""

from __future__ import annotations

import datetime
import os
import platform
from pathlib import Path

import jax
import numpy as np

import nimblehlo


def machine() -> str:
    """The processor, the system and the versions of the packages compared."""
    processor = platform.processor() or platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text().splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        processor = names[0] if names else processor
    versions = f"Python {platform.python_version()}, NumPy {np.__version__}, JAX {jax.__version__}"
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return (
        f"{processor}, {cores} processors, {platform.system()}, {versions}, NimbleHLO {nimblehlo.__version__}"
    )


def measured_here() -> str:
    """The date, the machine and the versions, as a sentence above a table."""
    return f"Measured on {datetime.date.today().isoformat()}: {machine()}."
