"""Runs the benchmarks of `make bench`: some of each kind, in a few minutes, in the present environment.

    python -m benchmarks.short

asv runs them and stores the figures under the commit that is checked out, where `make dashboard` finds them.
"""

import re
import subprocess
import sys
from pathlib import Path

from .programs import SIZES, representatives

CONFIGURATION = ["--config", str(Path(__file__).parent / "asv.conf.json")]


def expression() -> str:
    """Matches what asv runs: a program of each family, small and large, the examples, the parser."""
    programs = "|".join(map(re.escape, representatives()))
    sizes = f"{SIZES[0]}|{SIZES[-1]}"
    return "|".join(
        [
            rf"^(calls\.WarmCalls|ratios\.Xla|ratios\.NumPy)\..*'({programs})', '({sizes})'",
            rf"^calls\.FirstResults\.track_first_result\('({programs})', '{SIZES[0]}'",
            rf"^ratios\.Memory\..*'({programs})'",
            r"^examples\.",
            r"^frontend\.Text\.",
        ]
    )


def left_out(line: str) -> bool:
    """Whether this line of asv's tables shows only what it was told to leave out."""
    words = line.split()
    return "n/a" in words and not any(word[0].isdigit() or word == "failed" for word in words)


def main() -> int:
    """asv's exit status."""
    subprocess.run(
        [sys.executable, "-m", "asv", "machine", "--yes", *CONFIGURATION],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    commit = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
    command = [sys.executable, "-m", "asv", "run", *CONFIGURATION, "--python=same", "--attribute", "rounds=1"]
    command += ["--set-commit-hash", commit.stdout.strip(), "--bench", expression()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if not left_out(line):
                print(line, end="", flush=True)
    return running.returncode


if __name__ == "__main__":
    sys.exit(main())
