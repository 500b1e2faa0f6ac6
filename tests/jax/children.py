"""Checks that need NimbleHLO as JAX's platform, which a process chooses when it starts: files of checks.

Each function `check_...` of such a file is one check; the file ends with ``sys.exit(run_checks(globals()))``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TIMEOUT = 300
"""Most seconds of a process."""


def run_checks(namespace: Mapping[str, Any]) -> int:
    """Run every check of a namespace, and print what fails; the exit status."""
    failed = 0
    for name, check in list(namespace.items()):
        if name.startswith("check_"):
            try:
                check()
            except Exception:
                print(f"{name}:\n{traceback.format_exc()}", flush=True)
                failed += 1
    return 1 if failed else 0


def run_on_platform(
    *arguments: str | Path, platforms: str = "nimblehlo", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run Python in a process of its own.

    Args:
        arguments: of the interpreter.
        platforms: what `JAX_PLATFORMS` names.
        variables: of the environment, besides those of this process.
    """
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *arguments],
        env={
            **os.environ,
            "JAX_PLATFORMS": platforms,
            "PYTHONPATH": str(Path(__file__).parents[2]),
            **variables,
        },
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
