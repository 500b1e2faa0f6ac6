"""Measures strategies: a program is compiled with a strategy and without it, and both are called in turn.

`ablation` (strategies of kernels) and `codegen_ablation` (of generated code) share this module.
"""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import ModuleType
from typing import Any
from unittest import mock

import jax
import numpy as np

import nimblehlo
from nimblehlo.options import Options

from ..measuring import side_by_side
from ..programs.program import Array

Without = Callable[[], AbstractContextManager[Any]]
"""Returns a context in which programs are compiled without a strategy."""

Case = tuple[Callable[..., Any], tuple[Array, ...]]
"""A JAX function and its arguments."""


def import_all(*packages: ModuleType) -> None:
    """Import every module of some packages, so that `replaced` finds all uses of a global."""
    for package in packages:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(found.name)


def replaced(module: ModuleType, name: str, value: Any) -> Without:
    """Replace a global of a module, there and in every loaded module of the runtime that imports it.

    Raises:
        AttributeError: the module does not define the global, as after a refactoring.
    """
    original = getattr(module, name)

    @contextmanager
    def without() -> Iterator[None]:
        users = [
            user
            for user_name, user in list(sys.modules.items())
            if user_name.startswith("nimblehlo") and vars(user).get(name) is original
        ]
        with ExitStack() as patches:
            for user in users:
                patches.enter_context(mock.patch.object(user, name, value))
            yield

    return without


def ratio_without(
    case: Case,
    without: Without,
    threads: int,
    *,
    x64: bool = False,
    compiling: Without = nullcontext,
) -> float:
    """How many times as long a program takes without a strategy.

    Args:
        case: the program.
        without: compiles without the strategy.
        threads: the number of threads of both.
        x64: whether the program uses types of 64 bits.
        compiling: a context in which each of the two executables is compiled.
    """
    function, arguments = case
    with jax.enable_x64(x64):
        text = jax.jit(function).lower(*arguments).as_text()
    inputs = [np.asarray(argument) for argument in arguments]

    def compiled() -> nimblehlo.Executable:
        executable = nimblehlo.compile(text, options=Options(compile="eager", threads=threads))
        for _ in range(3):
            executable(*inputs)
        return executable

    with compiling():
        with_it = compiled()
    with compiling(), without():
        without_it = compiled()
    return side_by_side(lambda: with_it(*inputs), lambda: without_it(*inputs)).ratio
