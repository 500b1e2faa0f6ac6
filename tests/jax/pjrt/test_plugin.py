"""The plugin under JAX: programs run, arrays cross without a copy, donated arrays are gone."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from nimblehlo.errors import UnsupportedError
from nimblehlo.jax.pjrt.client import device_count

pytest.importorskip("jax")

CHECKS = Path(__file__).parent / "checks.py"


def test_programs_run_under_jax() -> None:
    """Every function of checks.py whose name begins with `check_`, in one process."""
    environment = {**os.environ, "JAX_PLATFORMS": "nimblehlo,cpu", "NIMBLEHLO_JAX_DEVICES": "8"}
    finished = subprocess.run(
        [sys.executable, "-X", "faulthandler", CHECKS],
        env=environment,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0, finished.stdout + finished.stderr


def test_the_number_of_devices_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NIMBLEHLO_JAX_DEVICES", "1024")
    assert device_count() == 1024
    for text in ("1025", "0", "-1", "two"):
        monkeypatch.setenv("NIMBLEHLO_JAX_DEVICES", text)
        with pytest.raises(UnsupportedError, match="from 1 to 1024"):
            device_count()
