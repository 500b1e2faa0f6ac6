"""Which module declares which operation: the table that `lookup` imports by."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import nimblehlo.ops
from nimblehlo.ops import declarations, lookup
from nimblehlo.ops.families import FAMILY_OF
from nimblehlo.specialize import rewrites


def test_every_operation_is_declared_where_the_table_says() -> None:
    package = nimblehlo.ops.__name__
    for path in Path(nimblehlo.ops.__file__).parent.glob("*.py"):
        importlib.import_module(f"{package}.{path.stem}")
    declared = {
        declaration.name: declaration.__module__
        for declaration in declarations()
        if declaration.__module__.startswith(package)
    }
    assert declared == {name: f"{package}.{family}" for name, family in FAMILY_OF.items()}


def test_an_unknown_operation_has_no_declaration() -> None:
    assert lookup("stablehlo.nothing") is None
    assert lookup("sort") is None


def test_a_module_is_imported_with_the_first_of_its_operations() -> None:
    script = """
import sys
import nimblehlo
text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
nimblehlo.compile(text)
rare = ("convolution", "custom_call", "gather", "lapack", "linalg", "scatter", "sorting", "window")
print([name for name in rare if f"nimblehlo.ops.{name}" in sys.modules])
from nimblehlo.ops import lookup
print(lookup("stablehlo.sort").__name__, "nimblehlo.ops.sorting" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]", "Sort True"]


@pytest.mark.parametrize("table", ["TENSOR_REWRITES", "OTHER_REWRITES", "LAST_REWRITES"])
def test_rewrites_name_operations_that_there_are(table: str) -> None:
    assert all(lookup(name) for name in getattr(rewrites, table))


def test_rewrites_of_modules_that_are_imported_late_are_there() -> None:
    assert rewrites.LATE
    for module, name in rewrites.LATE:
        assert callable(getattr(importlib.import_module(f"nimblehlo.specialize.{module}"), name))
