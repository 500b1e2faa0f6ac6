"""Runs programs on each backend and judges their results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ...api import load
from ...program.ir import Module
from . import goldens
from .matching import assert_matches
from .settings import REFERENCE_BACKEND, Settings

FOLDER = "goldens"
"""The folder of the goldens of Python tests, next to the test file."""


def judge(
    settings: Settings, name: str, module: Module, inputs: Sequence[object], golden: Path | None
) -> None:
    """Run a program on one backend, and judge its results.

    NimbleHLO's results are compared with the golden, or written to it; those of other backends lie within the
    computed bounds of NimbleHLO's.

    Args:
        settings: how it is run.
        name: of the backend.
        module: a program with a function ``@main``.
        inputs: an array for each argument.
        golden: the golden's file; None: there is none.

    Raises:
        AssertionError: results are wrong.
        NimbleError: the program or the backend failed.
    """
    __tracebackhide__ = True
    results = settings.run(name, module, inputs)
    if name != REFERENCE_BACKEND:
        assert_matches(results, module, inputs, options=settings.options)
    elif golden is not None:
        if settings.updates:
            goldens.write(golden, module, inputs, results)
        types = module.functions["main"].type.results
        goldens.check(golden, module, results, types, settings.ulps)


class ProgramCheck:
    """The fixture `nimblehlo_check`.

    Args:
        request: of the test.
    """

    def __init__(self, request: Any) -> None:
        self.settings = Settings.of(request.config)
        self.folder = Path(request.path).parent / FOLDER
        self.name = f"{Path(request.path).stem}.{request.node.name}".replace("/", "_")
        self.count = 0

    def __call__(self, module: object, inputs: Sequence[Any] = (), *, golden: bool = True) -> None:
        """Run a program on each backend, and compare with the test's golden.

        Args:
            module: what `nimblehlo.load` takes.
            inputs: what `nimblehlo.execute` takes.
            golden: whether there is a golden; the second one of a test has ``.1`` in its name, and so on.

        Raises:
            AssertionError: results are wrong.
            NimbleError: the program or a backend failed.
        """
        __tracebackhide__ = True
        loaded = load(module)
        number = f".{self.count}" if self.count else ""
        self.count += 1
        path = self.folder / f"{self.name}{number}.npz" if golden else None
        for name in self.settings.backends:
            judge(self.settings, name, loaded, inputs, path)
