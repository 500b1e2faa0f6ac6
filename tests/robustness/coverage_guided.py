"""``python -m tests.robustness.coverage_guided FOLDER``: mutants that Atheris steers by the lines they reach.

Needs Atheris, which the extra ``fuzz`` brings. Takes libFuzzer's options too (``-runs=100000 -timeout=5
-rss_limit_mb=1500``).
What reaches new lines is kept in FOLDER, which begins with the programs of `corpus` where it is empty; what
makes anything but a `NimbleError` come out is written to the current folder.
"""

from __future__ import annotations

import sys
from pathlib import Path

try:
    import atheris
except ImportError:
    sys.exit("this needs Atheris: pip install nimblehlo[fuzz]")

with atheris.instrument_imports(include=["nimblehlo"]):
    from nimblehlo import NimbleError, load


def test_one_input(content: bytes) -> None:
    """Load what `content` says."""
    try:
        load(content)
    except NimbleError as error:
        if error.__cause__ is not None and not isinstance(error.__cause__, OSError):
            raise error.__cause__  # noqa: B904 - a defect that the last line of defence has hidden


def main() -> None:
    """Fill the folder where it is empty, and run."""
    folders = [Path(argument) for argument in sys.argv[1:] if not argument.startswith("-")]
    if not folders:
        sys.exit(__doc__)
    folders[0].mkdir(parents=True, exist_ok=True)
    if not any(folders[0].iterdir()):
        from .corpus import programs

        for number, text in enumerate(programs()):
            (folders[0] / f"{number}.mlir").write_text(text, encoding="utf-8")
    atheris.Setup([*sys.argv, "-max_len=4000"], test_one_input)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
