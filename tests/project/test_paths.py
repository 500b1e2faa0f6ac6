"""ARCHITECTURE.md follows programs and a call file by file: each file exists and is entered; they are few."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from tests.project.followed import PROGRAMS

MAX_FILES: Final = 14
"""Files from the list of passes to machine code."""


@pytest.fixture(scope="module")
def entered(project_root: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """The files that each program enters, where none of its code is cached."""
    cache = str(tmp_path_factory.mktemp("cache"))
    environment = {**os.environ, "NIMBLEHLO_VERIFY": "", "NIMBLEHLO_CACHE_DIR": cache}
    command = [sys.executable, "-m", "tests.project.followed"]
    ran = subprocess.run(
        command, capture_output=True, text=True, timeout=300, env=environment, cwd=project_root
    )
    assert not ran.returncode, ran.stderr
    found: dict[str, list[str]] = json.loads(ran.stdout)
    return found


def told(root: Path, heading: str) -> list[str]:
    """The files that a table of the document follows, in order."""
    section = (root / "ARCHITECTURE.md").read_text().partition(f"### {heading}\n")[2].partition("\n##")[0]
    files = re.findall(r"^\| \d+ \| `([\w/.]+)` \|", section, re.MULTILINE)
    return [file if file.startswith("kernels/") else f"runtime/{file}" for file in files]


@pytest.mark.usefixtures("unverified")
@pytest.mark.parametrize("heading", PROGRAMS)
def test_a_program_is_followed_through_few_files(
    heading: str, project_root: Path, entered: dict[str, list[str]]
) -> None:
    files = told(project_root, heading)
    assert files[0] == "runtime/compiler/passes.py"
    assert 1 < len(set(files)) == len(files) <= MAX_FILES
    assert_entered(files, project_root, entered[heading])


@pytest.mark.usefixtures("unverified")
def test_a_call_is_followed_until_native_code_has_replaced_its_steps(
    project_root: Path, entered: dict[str, list[str]]
) -> None:
    files = told(project_root, "A call")
    assert files[0] == "runtime/api.py"
    assert len(set(files)) <= MAX_FILES
    assert_entered(files, project_root, entered["A call"])


def assert_entered(files: list[str], root: Path, entered: list[str]) -> None:
    """Fail unless all files exist, and the program came to those of them that are Python."""
    for file in files:
        assert (root / file).is_file(), file
    sources = {file for file in files if file.endswith(".py")}
    assert sources - set(entered) == set(), "the program does not come there"
