"""Samples of cases have all that they must, and the command decides whether they are taken."""

import itertools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sampling import covering

PRODUCT = [
    {"dtype": dtype, "combiner": combiner, "threads": threads}
    for dtype, combiner, threads in itertools.product(("f32", "f64", "i8"), ("add", "and"), (1, 2, 3, 8))
]


def values(cases, *names):
    return {tuple(case[name] for name in names) for case in cases}


def test_each_value_of_each_parameter_occurs():
    sample = [PRODUCT[index] for index in covering(PRODUCT)]
    assert len(sample) == 4
    for name in PRODUCT[0]:
        assert values(sample, name) == values(PRODUCT, name)


def test_each_combination_that_is_asked_for_occurs():
    sample = [PRODUCT[index] for index in covering(PRODUCT, [("dtype", "combiner")])]
    assert len(sample) == 6
    assert values(sample, "dtype", "combiner") == values(PRODUCT, "dtype", "combiner")
    assert values(sample, "threads") == values(PRODUCT, "threads")


@pytest.mark.parametrize("different", [(0.0, -0.0), (1, True), ([1], [2]), (1, 1.0)])
def test_values_that_are_different_occur_both(different):
    assert covering([{"value": value} for value in different]) == [0, 1]


def test_combinations_that_no_case_has_are_not_asked_for():
    assert covering([{"a": 1, "b": 1}, {"a": 2, "b": 2}], [("a", "b")]) == [0, 1]


CONFTEST = "from tests.conftest import pytest_addoption, pytest_collection_modifyitems  # noqa: F401"
TESTS = """
import pytest

@pytest.mark.sampled
@pytest.mark.parametrize("a", range(5))
@pytest.mark.parametrize("b", range(3))
def test_sampled(a, b): ...

@pytest.mark.sampled(share=3)
@pytest.mark.parametrize("seed", range(7))
def test_share(seed): ...

@pytest.mark.parametrize("a", range(5))
def test_whole(a): ...
"""
COUNT = """
import pytest

class Counts:
    def pytest_collection_finish(self, session):
        print(f"counted {len(session.items)}")

for arguments in ([], ["--campaign"], ["test_it.py::test_sampled"], ["test_it.py::test_sampled[0-1]"]):
    pytest.main(["--collect-only", "-p", "no:cacheprovider", *arguments], plugins=[Counts()])
"""


def test_the_command_decides_which_cases_are_run(tmp_path: Path, project_root: Path):
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text(f"[pytest]\nmarkers = sampled\npythonpath = {project_root}\n")
    command = [sys.executable, "-c", COUNT]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    counts = re.findall(r"^counted (\d+)$", run.stdout, re.M)
    assert counts == ["13", "27", "15", "1"], run.stdout
