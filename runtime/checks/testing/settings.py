"""The settings of programs in pytest's command line and configuration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...api import execute
from ...options import Options
from ...program.ir import Module
from ..backends import backend

REFERENCE_BACKEND = "nimblehlo"
"""The backend whose results are compared with goldens."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The settings with which programs are run and results compared.

    Attributes:
        backends: names of what runs programs.
        options: of NimbleHLO's runs.
        updates: whether goldens are written.
        ulps: how far floats may be from their goldens.
    """

    backends: Sequence[str]
    options: Options
    updates: bool
    ulps: int

    @classmethod
    def of(cls, config: Any) -> Settings:
        """The settings of a pytest configuration.

        Raises:
            ValueError: a value is not allowed.
        """
        threads = config.getoption("--nimblehlo-threads") or config.getini("nimblehlo_threads")
        sanitize = config.getoption("--nimblehlo-sanitize") or config.getini("nimblehlo_sanitize")
        checks = sanitize == "all" or [name.strip() for name in sanitize.split(",") if name.strip()]
        options = Options(
            compile=config.getoption("--nimblehlo-compile") or "auto",
            threads=int(threads) if threads else None,
            sanitize=checks,
        )
        return cls(
            config.getoption("--nimblehlo-backend") or config.getini("nimblehlo_backends"),
            options,
            config.getoption("--nimblehlo-update"),
            int(config.getini("nimblehlo_ulps")),
        )

    def run(self, name: str, module: Module, inputs: Sequence[Any]) -> list[Any]:
        """The results of a program on a backend.

        Raises:
            NimbleError: the program or the backend failed.
        """
        if name == REFERENCE_BACKEND:
            return execute(module, inputs, options=self.options)
        return backend(name).run(module, inputs)
