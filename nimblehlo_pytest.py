"""What pytest loads of NimbleHLO in every project: options and fixtures. The package is imported when used.

docs/pytest.md describes the plugin.
"""

from __future__ import annotations

from typing import Any

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Options and settings; each option takes precedence over the setting of its name."""
    group = parser.getgroup("nimblehlo", "StableHLO programs on NimbleHLO")
    group.addoption(
        "--nimblehlo-backend",
        action="append",
        metavar="NAME",
        help="what runs programs: nimblehlo (the default), interpreter, jax:cpu, pjrt:/path; may be repeated",
    )
    group.addoption(
        "--nimblehlo-threads", type=int, metavar="N", help="maximum number of threads of a program"
    )
    group.addoption("--nimblehlo-compile", choices=("auto", "eager", "never"), help="see nimblehlo.Options")
    group.addoption("--nimblehlo-sanitize", metavar="CHECKS", help="all, or names of checks and commas")
    group.addoption(
        "--nimblehlo-update", action="store_true", help="write goldens instead of comparing with them"
    )
    group.addoption("--nimblehlo-json", metavar="FILE", help="store the outcome of each test of a program")
    parser.addini("nimblehlo_programs", "patterns of .mlir files that are tests", type="args", default=[])
    parser.addini("nimblehlo_backends", "what runs programs", type="args", default=["nimblehlo"])
    parser.addini("nimblehlo_threads", "maximum number of threads of a program", default="")
    parser.addini("nimblehlo_sanitize", "checks of the sanitizer", default="")
    parser.addini("nimblehlo_ulps", "how far floats may be from their goldens, in ulps", default="0")


def pytest_configure(config: pytest.Config) -> None:
    """Register what is needed in a project that has programs."""
    config.addinivalue_line(
        "markers",
        "conformance(operation, element_type, label): programs of the conformance suite of StableHLO",
    )
    if config.getini("nimblehlo_programs") or config.getoption("--nimblehlo-json"):
        from nimblehlo.checks.testing.collection import Programs

        config.pluginmanager.register(Programs(config), "nimblehlo-programs")


@pytest.fixture
def nimblehlo_options(request: pytest.FixtureRequest) -> Any:
    """The `nimblehlo.Options` that the command line names."""
    from nimblehlo.checks.testing.settings import Settings

    return Settings.of(request.config).options


@pytest.fixture
def nimblehlo_run(request: pytest.FixtureRequest) -> Any:
    """A function of a module and inputs: the results of the first backend that the command line names."""
    from nimblehlo.checks.testing.settings import Settings

    settings = Settings.of(request.config)
    return lambda module, inputs=(): settings.run(settings.backends[0], module, inputs)


@pytest.fixture
def nimblehlo_check(request: pytest.FixtureRequest) -> Any:
    """A function of a module and inputs: runs them on each backend, and compares with the test's golden."""
    from nimblehlo.checks.testing.checks import ProgramCheck

    return ProgramCheck(request)
