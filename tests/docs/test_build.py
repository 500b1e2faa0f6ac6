"""The pages can be built, without a warning."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def test_pages_are_built(project_root: Path, tmp_path: Path) -> None:
    pytest.importorskip("sphinx")
    pytest.importorskip("myst_parser")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html"]
    made = subprocess.run(
        [*command, "-d", str(tmp_path / "doctrees"), str(project_root / "docs"), str(tmp_path / "html")],
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    assert (tmp_path / "html" / "api.html").exists()
