"""docs/patterns.md names what there is: each constraint that a test breaks, each operation of the tables."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from nimblehlo.patterns.functions import NUMPY
from nimblehlo.patterns.indexing import UPDATES
from nimblehlo.patterns.operations import REDUCTIONS
from tests.patterns import test_sn_gather, test_sn_scatter, test_sn_zipmapreduce

TEXT = (Path(__file__).resolve().parents[2] / "docs" / "patterns.md").read_text(encoding="utf-8")


def test_each_constraint_is_tested() -> None:
    documented = re.findall(r"^\| ([A-Z]\d) \|", TEXT, re.MULTILINE)
    modules = (test_sn_gather, test_sn_scatter, test_sn_zipmapreduce)
    tested = {key.partition(",")[0] for module in modules for key in module.BROKEN} - {""}
    assert len(documented) == len(set(documented))
    assert set(documented) == tested


def test_the_tables_hold_all_operations() -> None:
    rows = " ".join(re.findall(r'^\| ("[^|]*|`"[^|]*) \|', TEXT, re.MULTILINE))
    assert set(re.findall(r'"(\w+)"', rows)) == {*UPDATES, *REDUCTIONS}


def test_each_function_of_numpy_is_named() -> None:
    _, _, rest = TEXT.partition("## Supported functions")
    others = {np.amax, np.amin, np.shape, np.ndim, np.size}
    for function in set(NUMPY) - others:
        assert f"`{function.__name__}`" in rest, function
