"""Runs programs under the sanitizer."""

from __future__ import annotations

from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Finding, Options


def findings_of(module: Any, *inputs: Any, **options: Any) -> list[Finding]:
    """What all checks find in one call; the results must be those without them."""
    executable = nimblehlo.compile(
        module, options=Options(**{"sanitize": True, "sanitize_action": "collect", **options})
    )
    found = executable(*inputs)
    plain = {name: value for name, value in options.items() if not name.startswith("sanitize")}
    for result, expected in zip(
        found, nimblehlo.execute(module, inputs, options=Options(**plain)), strict=True
    ):
        np.testing.assert_array_equal(result, expected)
    return list(executable.findings)


def only_finding(module: Any, *inputs: Any, **options: Any) -> Finding:
    """The same where there is one finding."""
    (finding,) = findings_of(module, *inputs, **options)
    return finding


def line_of(text: str, part: str) -> int:
    """The number of the first line that holds a part."""
    return next(number for number, line in enumerate(text.splitlines(), 1) if part in line)
