"""Which module declares which operation: the table that `lookup` imports by."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

import nimblehlo.program.ops
from nimblehlo.compiler.specialize.rewrites import registry
from nimblehlo.program.ops import declarations, lookup
from nimblehlo.program.ops.framework.op_registry import MODULE_OF_OPERATION


def test_every_operation_is_declared_where_the_table_says() -> None:
    package = nimblehlo.program.ops.__name__
    for path in Path(nimblehlo.program.ops.__file__).parent.rglob("[a-z]*.py"):
        parts = path.relative_to(Path(nimblehlo.program.ops.__file__).parent).with_suffix("").parts
        importlib.import_module(".".join((package, *parts)))
    declared = {
        declaration.name: declaration.__module__
        for declaration in declarations()
        if declaration.__module__.startswith(package)
    }
    assert declared == {name: f"{package}.{family}" for name, family in MODULE_OF_OPERATION.items()}


def test_an_unknown_operation_has_no_declaration() -> None:
    assert lookup("stablehlo.nothing") is None
    assert lookup("sort") is None


def test_a_module_is_imported_with_the_first_of_its_operations() -> None:
    script = """
import sys
import nimblehlo
text = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> { return %x : tensor<4xf32> }"
nimblehlo.compile(text)
rare = ("contraction.convolution", "custom_calls.custom_call", "indexing.gather", "custom_calls.lapack",
    "linalg.linalg", "indexing.scatter", "sorting.sort", "reduction.reduce_window")
print([name for name in rare if f"nimblehlo.program.ops.{name}" in sys.modules])
from nimblehlo.program.ops import lookup
print(lookup("stablehlo.sort").__name__, "nimblehlo.program.ops.sorting.sort" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[]", "Sort True"]


@pytest.mark.parametrize("table", ["TENSOR_REWRITES", "OTHER_REWRITES"])
def test_rewrites_name_operations_that_there_are(table: str) -> None:
    assert all(lookup(name) for name in getattr(registry, table))


def test_rewrites_that_are_imported_late_are_there() -> None:
    assert registry.NAMES
    for module, name in [each.split(".") for each in registry.NAMES]:
        rewrites = importlib.import_module(f"nimblehlo.compiler.specialize.rewrites.{module}")
        assert callable(getattr(rewrites, name))
