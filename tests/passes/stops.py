"""Stops a program after each pass that changes it, and compares the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.compiler import passes
from nimblehlo.compiler.explanation import function_text
from nimblehlo.compiler.plan.fusion_passes import fuse_operations
from nimblehlo.compiler.specialize import specialize
from tests.support.running import same_bits

NONE: Final = next(each.name for each in passes.PASSES if each.is_required)
"""A stop after which no optional pass runs."""
OPTIONAL: Final = [each.name for each in passes.PASSES if not each.is_required]
_JOINS: Final = [each.name for each in passes.PASSES if each.stage == "join"]


def changing_passes(module: nimblehlo.Module) -> list[str]:
    """The optional passes that change a program or, if they join its steps, its plan."""
    names: list[str] = []
    text = ""

    def observe(each: passes.Pass, function: Any) -> None:
        nonlocal text
        before, text = text, function_text(function)
        if text != before and not each.is_required:
            names.append(each.name)

    fuse_operations(specialize(module, "main", outlines_subgraphs=True, observe=observe), Options(), observe)
    stops = [passes.NAMES[passes.NAMES.index(_JOINS[0]) - 1], *_JOINS]
    plans = [nimblehlo.compile(module, options=Options(last_pass=stop)).explain("plan") for stop in stops]
    return names + [_JOINS[number] for number, plan in enumerate(plans[1:]) if plan != plans[number]]


def difference(
    module: nimblehlo.Module, inputs: Sequence[Any], expected: Sequence[Any], last_pass: str
) -> str | None:
    """What differs from the expected results if a program is compiled up to a pass; None: nothing does."""
    options = Options(compile="eager", last_pass=last_pass)
    results = nimblehlo.execute(module, inputs, options=options)
    for number, (result, want) in enumerate(zip(results, expected, strict=True)):
        if not same_bits(np.asarray(result), np.asarray(want)):
            return f"result {number} differs after {last_pass}"
    return None


def differences(module: nimblehlo.Module, inputs: Sequence[Any]) -> Iterator[tuple[str, str | None]]:
    """Each stop at which a program is another one than at the stop before, and what differs there."""
    expected = nimblehlo.execute(module, inputs, options=Options(compile="never"))
    for name in (NONE, *changing_passes(module)):
        yield name, difference(module, inputs, expected, name)
