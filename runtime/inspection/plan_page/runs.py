"""The times of profiled runs for the steps of a graph, also those of other commits or machines."""

from __future__ import annotations

import json
import math
import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ...errors import ExecutionError
from ...program.ir.record import IdentityRecord
from .graph import PlanGraph, PlanStep


class RunTimes(IdentityRecord):
    """The times of a profile for the steps of a graph.

    Attributes:
        label: how the run is named on the page.
        calls: the number of profiled calls.
        seconds: of these calls.
        own_seconds: for each step its own seconds in a call, without those of its regions; None: the profile
            has no such step.
        shares: for each step the share of its bound that it reaches; None where that is not known.
        unmatched: the seconds of a call in steps that the graph does not have.
        bound: the least seconds of a call on the machine of the run; None where that is not known.
    """

    label: str
    calls: int
    seconds: float
    own_seconds: Sequence[float | None]
    shares: Sequence[float | None]
    unmatched: float
    bound: float | None


def read_profile(path: str | os.PathLike[str]) -> dict[str, Any]:
    """The figures that `Profile.to_json` stored.

    Raises:
        ExecutionError: the file holds no profile.
    """
    try:
        figures = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise ExecutionError(f"{os.fspath(path)} is not a profile (.json): {error}") from error
    if not _is_profile(figures):
        raise ExecutionError(f"{os.fspath(path)} is not a profile: nimblehlo profile --json FILE stores one")
    return dict(figures)


def _is_profile(figures: object) -> bool:
    """Whether what `run_times` reads is there, and of the types that it has in a profile."""
    if not isinstance(figures, dict):
        return False
    calls, steps, bound = (figures.get(name) for name in ("call_seconds", "steps", "bound"))
    return (
        isinstance(calls, list)
        and all(map(_is_finite, calls))
        and isinstance(steps, list)
        and all(map(_is_step, steps))
        and (bound is None or (isinstance(bound, dict) and _is_finite(bound.get("seconds"))))
    )


def _is_step(step: object) -> bool:
    if not isinstance(step, dict):
        return False
    texts = (step.get(name) for name in ("path", "operation", "types", "location"))
    share = step.get("machine_share")
    return (
        all(isinstance(one, str) for one in texts)
        and _is_finite(step.get("self_seconds"))
        and (share is None or _is_finite(share))
    )


def _is_finite(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def run_times(graph: PlanGraph, profile: Mapping[str, Any], label: str) -> RunTimes:
    """The times of a profile for the steps of a graph.

    Steps are the same where path, operation and types agree; else, as those of a plan of another version,
    where operation, types and location agree; else where operation and types do, in their order.

    Args:
        graph: the plan.
        profile: what `Profile.as_dict` returns.
        label: how the run is named on the page.
    """
    calls = max(len(profile["call_seconds"]), 1)
    figures = list(profile["steps"])
    matches: dict[int, Mapping[str, Any]] = {}
    for keys in (
        (lambda step: (step.path, step.operation, _types(step)), ("path", "operation", "types")),
        (lambda step: (step.operation, _types(step), step.location), ("operation", "types", "location")),
        (lambda step: (step.operation, _types(step)), ("operation", "types")),
    ):
        figures = _match(graph.steps, figures, matches, *keys)
    steps = [matches.get(number) for number in range(len(graph.steps))]
    return RunTimes(
        label,
        calls,
        sum(profile["call_seconds"]),
        [None if one is None else one["self_seconds"] / calls for one in steps],
        [None if one is None else one.get("machine_share") for one in steps],
        sum(one["self_seconds"] for one in figures) / calls,
        (profile.get("bound") or {}).get("seconds"),
    )


def _match(
    steps: Sequence[PlanStep],
    figures: Iterable[Mapping[str, Any]],
    matches: dict[int, Mapping[str, Any]],
    key_of_step: Any,
    fields: Sequence[str],
) -> list[Mapping[str, Any]]:
    """Match figures with the steps that have none yet, by a key; returns the figures that match none."""
    free: dict[Hashable, list[int]] = defaultdict(list)
    for number in reversed(range(len(steps))):
        if number not in matches:
            free[key_of_step(steps[number])].append(number)
    remaining = []
    for one in figures:
        numbers = free.get(tuple(one[field] for field in fields))
        if numbers:
            matches[numbers.pop()] = one
        else:
            remaining.append(one)
    return remaining


def _types(step: PlanStep) -> str:
    """The types as `StepFigures.types` states them."""
    return f"({', '.join(step.operands)}) -> {', '.join(step.results)}"
