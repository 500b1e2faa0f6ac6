"""Public modules are imported by their public names."""

import importlib
import sys

import pytest

import nimblehlo
from nimblehlo.public_names import DEFINED_IN, MODULES


@pytest.mark.parametrize("name", MODULES)
def test_a_public_module_is_the_one_in_its_layer(name: str) -> None:
    assert importlib.import_module(f"nimblehlo.{name}") is sys.modules[f"nimblehlo.{MODULES[name]}"]


def test_modules_in_a_public_module_exist_once() -> None:
    by_public_name = importlib.import_module("nimblehlo.testing.goldens")
    assert by_public_name is importlib.import_module("nimblehlo.checks.testing.goldens")


def test_a_module_that_does_not_exist_is_an_import_error() -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such"):
        importlib.import_module("nimblehlo.testing.no_such")


@pytest.mark.parametrize("name", DEFINED_IN)
def test_every_public_name_has_a_definition(name: str) -> None:
    assert getattr(nimblehlo, name) is not None
    assert name in dir(nimblehlo)
