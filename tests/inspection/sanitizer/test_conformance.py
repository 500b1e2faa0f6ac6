"""The public programs under the sanitizer: they still pass, and nothing is found that is not there."""

from __future__ import annotations

import math
import re
from pathlib import Path

import pytest

import nimblehlo
from nimblehlo import Finding, NimbleError, Options
from tests.conftest import conformance_folder

EACH = 12
"""Every so many programs are run."""

CLAMPED = {"stablehlo.gather", "stablehlo.dynamic_slice", "stablehlo.dynamic_update_slice"}
SHIFTS = {"shift_left", "shift_right_logical", "shift_right_arithmetic"}


def _programs() -> list[Path]:
    folder = conformance_folder()
    if folder is None:
        return []
    return [file for kind in ("static", "quantized") for file in sorted((folder / kind).glob("*.mlir"))]


PROGRAMS = _programs()
pytestmark = pytest.mark.skipif(not PROGRAMS, reason="there is no folder of conformance programs")


def is_there(finding: Finding) -> bool:
    """Whether what a finding says of its value is so, as far as the finding itself tells."""
    short = finding.operation.removeprefix("stablehlo.")
    if finding.check == "non_finite":
        value = complex(finding.value)
        return not (math.isfinite(value.real) and math.isfinite(value.imag))
    if finding.check == "shift_amount":
        width = re.search(r" of (\d+) bits", finding.message)
        return short in SHIFTS and width is not None and not 0 <= finding.value < int(width[1])
    if finding.check == "quantized_saturation":
        stored = re.search(r"stored as (-?\d+), outside of \[(-?\d+), (-?\d+)\]", finding.message)
        return stored is not None and not int(stored[2]) <= int(stored[1]) <= int(stored[3])
    if finding.check == "clamped_indices":
        used = re.search(r"clamped to (\[.*\])", finding.message)
        return finding.operation in CLAMPED and used is not None and used[1] != str(list(finding.value))
    if finding.check == "indices_are_sorted":
        before = re.search(r"comes after \[(.*)\]", finding.message)
        return before is not None and finding.value < tuple(map(int, before[1].split(", ")))
    return finding.check == "dropped_updates" and finding.operation == "stablehlo.scatter"


def outcome(text: str, options: Options) -> tuple[str | None, list[Finding]]:
    """Why a program fails, and what is found."""
    module = nimblehlo.load(text)
    names = ["main"] if "main" in module.functions else list(module.functions)
    failure, found = None, []
    for name in names:
        if not module.functions[name].type.inputs:
            executable = nimblehlo.compile(module, entry=name, options=options)
            try:
                executable()
            except NimbleError as error:
                failure = str(error)
            found += list(executable.findings)
    return failure, found


@pytest.mark.parametrize("part", range(4))
def test_public_programs(part: int) -> None:
    count = 0
    for file in PROGRAMS[part * EACH :: 4 * EACH]:
        text = file.read_text()
        if "// -----" in text:
            continue
        plain, nothing = outcome(text, Options())
        failure, found = outcome(text, Options(sanitize=True, sanitize_action="collect"))
        assert failure == plain, file.name
        assert not nothing
        assert [one for one in found if not is_there(one)] == [], file.name
        count += 1
    assert count > 40
