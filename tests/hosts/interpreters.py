"""Options of Python, and the ways in which harnesses start processes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from .host import Host, expect, expected, line

TESTED = """
import pytest
from tests.hosts.workload import digest

@pytest.mark.parametrize("mode", ["never", "auto", "eager"])
@pytest.mark.parametrize("number", [1, 2])
def test_results(mode, number):
    assert digest(mode) == EXPECTED
"""

OPTIONS = ("-O", "-OO", "-W error", "-X dev -W error", "-bb -W error", "-OO -W error -X utf8=0")


@line
def options_of_python(folder: Path) -> Iterator[str]:
    """Without assertions, without docstrings, with warnings as errors: the same results, errors and rules."""
    error, rules = Host().workload()["error"], Host().run("-m", "tests.hosts.workload", "rules").report
    expect(rules["rules"] > 500, f"{rules}")
    for options in OPTIONS:
        host = Host(python=options.split())
        report = host.workload()
        expect(report["error"] == error, f"{options}: {report['error']}")
        again = host.run("-m", "tests.hosts.workload", "rules").report
        expect(again == rules, f"python {options}: {again} instead of {rules}")
        yield f"python {options}: same results, {rules['rules']} rules with the same text, {report['error']}"


@line
def conformance_without_docstrings(folder: Path) -> Iterator[str]:
    """`nimblehlo check` of a folder of programs under `python -OO -W error`."""
    from tests.conftest import conformance_folder

    programs = conformance_folder()
    if programs is None:
        yield "no conformance programs: set NIMBLEHLO_CONFORMANCE_DIR"
        return
    counts = {}
    for options in ("", "-OO -W error"):
        host = Host(python=options.split())
        ended = host.run("-m", "nimblehlo", "check", "-j", "2", str(programs / "static"))
        counts[options] = (ended.output.splitlines() or [""])[-1]
        is_complete = re.fullmatch(r"\d+ passed, \d+ failed", counts[options]) is not None
        expect(is_complete, f"python {options}: no count, status {ended.status}, {ended.errors}")
        yield f"python {options}: {counts[options]}"
    expect(len(set(counts.values())) == 1, f"{counts}")


@line
def start_methods(folder: Path) -> Iterator[str]:
    """Processes by fork, forkserver and spawn of one that has threads, also with warnings as errors."""
    for options in ((), ("-W", "error")):
        digests = Host(python=options).workload("pools")["digests"]
        yield f"python {' '.join(options)}: same results in {', '.join(digests)}"


@line
def pytest_xdist(folder: Path) -> Iterator[str]:
    """Tests on two workers, whose processes share one cache that is empty at first."""
    (folder / "test_results.py").write_text(TESTED.replace("EXPECTED", repr(expected())))
    host = Host({"NIMBLEHLO_CACHE_DIR": str(folder / "cache")})
    for options in (
        ["-n", "2"],
        ["-n", "2", "-W", "error"],
        ["-n", "2", "--dist", "loadfile", "--forked"][:4],
    ):
        arguments = [
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "--rootdir",
            str(folder),
            str(folder),
            *options,
        ]
        ended = host.run(*arguments)
        summary = ended.output.strip().splitlines()[-1:] or [ended.errors]
        expect(ended.status == 0 and "6 passed" in summary[0], ended.output + ended.errors)
        yield f"pytest {' '.join(options)}: {summary[0]}"
