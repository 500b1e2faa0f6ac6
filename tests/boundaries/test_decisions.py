"""The table of decisions is whole: each number by which the code decides has a test, which exists."""

from __future__ import annotations

import ast
import fnmatch
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from . import sources, table
from .crossings import FAMILIES

HELP = (
    "numbers by which the code decides have no line in tests/boundaries/decisions.toml: write programs of "
    "sizes below, at and above each (tests/boundaries/crossings.py), or name the test that crosses it"
)


def test_every_decision_has_a_crossing() -> None:
    missing = sorted(sources.decisions().keys() - table.crossings().keys())
    assert missing == [], HELP


def test_the_table_has_nothing_else() -> None:
    stale = sorted(table.crossings().keys() - sources.decisions().keys())
    assert stale == [], "tests/boundaries/decisions.toml has lines for what the sources hold no more"


def test_every_pattern_of_a_kind_matches_a_decision() -> None:
    names = sources.decisions().keys()
    patterns = f"{table.FIXED} {table.BOUNDS} {table.LIMITS}".split()
    assert [pattern for pattern in patterns if not fnmatch.filter(names, pattern)] == []


def test_sizes_are_those_of_the_table() -> None:
    there = {name for names in FAMILIES.values() for name in names}
    assert there == {name for name, how in table.crossings().items() if how == "sizes"}


def test_named_tests_exist() -> None:
    for name, how in table.crossings().items():
        word, _, test = how.partition(" ")
        assert word in ("fixed", "sizes", "numbers", "measured", "named"), f"{name}: {how}"
        if word in ("measured", "named"):
            path, _, function = test.partition("::")
            assert (sources.ROOT / path).exists(), f"{name}: {path} is not there"
            assert not function or function in _tests_in(sources.ROOT / path), f"{name}: {test} is not there"


def _tests_in(path: Path) -> set[str]:
    return {node.name for node in ast.walk(sources.tree_of(path)) if isinstance(node, ast.FunctionDef)}


MEASURED_AGAIN = (
    "tests/compiler/plan/implementations/test_epilogues.py::test_a_loop_over_time",
    "tests/compiler/loops/nests/test_nests.py::test_transposes",
)
"""Quick tests of which it is measured again what they cross."""


def test_measured_tests_still_cross(tmp_path: Path) -> None:
    wanted = {
        name: how.split(" ", 1)[1] for name, how in table.crossings().items() if how.startswith("measured ")
    }
    wanted = {name: test for name, test in wanted.items() if test in MEASURED_AGAIN}
    assert wanted
    record = tmp_path / "sides"
    arguments = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "tests.boundaries.plugin",
    ]
    environment = os.environ | {"NIMBLEHLO_DECISIONS": str(record)}
    subprocess.run([*arguments, *set(wanted.values())], cwd=sources.ROOT, env=environment, check=True)
    seen: dict[str, set[str]] = {}
    for line in record.read_text().splitlines():
        for name, taken in json.loads(line)["sides"].items():
            seen.setdefault(name, set()).update(taken)
    assert {name for name in wanted if seen.get(name) != {"a", "b"}} == set()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("MOST = 1 << 4\n", {"MOST": 16}),
        ("LEAST: Final = -(3 + 4)\nTWICE = 2 * LEAST\n", {"LEAST": -7, "TWICE": -14}),
        ("small = 5\nNAME = 'text'\nFLAG = True\nCALL = len('abc')\n", {}),
    ],
)
def test_constants_of_python_are_found(text: str, expected: dict[str, int], tmp_path: Path) -> None:
    path = sources.ROOT / "runtime" / f"{tmp_path.name}.py"
    sources.tree_of.cache_clear()
    tree = ast.parse(text)
    found = sources.constants_of(tree, path)
    assert {name: decision.value for name, decision in found.items()} == expected


def test_constants_of_c_and_cython_are_found(tmp_path: Path) -> None:
    header, module = tmp_path / "a.h", tmp_path / "b.pyx"
    header.write_text(
        "/* MOST = 1 */\nenum { LEAST = 3, MANY = 1 << 2, TWICE = 2 * MANY };\n#define FEW 0x10u\n"
    )
    module.write_text(
        "cdef enum:\n    # Rows.\n    ROWS = 4 * 2\n\n_SECONDS = 1e-3\nx = 1 if y > 17 else 0\n"
    )
    assert values(sources.native_constants(header, tmp_path)) == {
        "LEAST": 3,
        "MANY": 4,
        "TWICE": 8,
        "FEW": 16,
    }
    assert values(sources.native_constants(module, tmp_path)) == {"ROWS": 8, "_SECONDS": 1e-3}
    assert [decision.value for decision in sources.native_comparisons(module, tmp_path).values()] == [17]


def values(found: dict[str, sources.Decision]) -> dict[str, sources.Number]:
    return {name: decision.value for name, decision in found.items()}
