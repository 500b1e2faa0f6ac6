"""The files that commands store for Model Explorer."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..api import Executable
from ..inspection.plan_page import (
    graph_collection,
    node_data,
    nodes_of_operations,
    nodes_of_results,
    run_times,
    step_values,
)
from ..inspection.profiling import Profile

if TYPE_CHECKING:
    from ..checks.differences.search import Report
    from ..checks.error_bounds import Accuracy


def add_model_explorer(command: argparse.ArgumentParser, stored: str) -> None:
    """Add the option that stores a file for Model Explorer.

    Args:
        stored: what the file holds.
    """
    command.add_argument(
        "--model-explorer",
        metavar="OUT.json",
        help=f"store {stored} for Model Explorer (docs/model_explorer.md)",
    )


def store_graphs(path: str, executable: Executable, label: str) -> None:
    """Store the plans of an executable as graphs."""
    _store(Path(path), graph_collection(label, executable.plan_graphs()))


def store_profile(path: str, executable: Executable, profile: Profile) -> None:
    """Store the times of steps, their shares of the bound and the bytes that they allocate, a file for each:
    ``OUT.time.json``, ``OUT.bound.json`` and ``OUT.memory.json``.
    """
    (graph, *_) = executable.plan_graphs()
    times = run_times(graph, profile.as_dict(), "")
    allocated = [0.0] * len(graph.steps)
    for one in graph.allocations:
        allocated[one.slot] += one.bytes
    columns = {
        "time": ("microseconds of a call", [None if one is None else 1e6 * one for one in times.own_seconds]),
        "bound": ("share of the bound", times.shares),
        "memory": ("allocated bytes", allocated),
    }
    for ending, (name, values) in columns.items():
        # Other dots belong to the name.
        file = Path(f"{path.removesuffix('.json')}.{ending}.json")
        _store(file, node_data(name, step_values(graph, values)))


def store_differences(path: str, executable: Executable, report: Report) -> None:
    """Store the distance of each compared operation in ulps, coloured by whether it is within its bound."""
    (graph, *_) = executable.plan_graphs()
    nodes = nodes_of_operations(graph)
    values: dict[str, float] = {}
    beyond: dict[str, bool] = {}
    for check in report.operations:
        for node in nodes.get((check.operation, check.location), ()):
            values[node] = max(check.ulps, values.get(node, 0.0))
            beyond[node] = not check.is_within or beyond.get(node, False)
    _store(Path(path), node_data("ulps", values, beyond=beyond))


def store_bounds(path: str, executable: Executable, accuracy: Accuracy) -> None:
    """Store for each step that computes a result its bound in ulps."""
    (graph, *_) = executable.plan_graphs()
    values: dict[str, float] = {}
    for node, result in zip(nodes_of_results(graph), accuracy.results, strict=False):
        ulps = result.ulps[np.isfinite(result.ulps)]
        if node is not None:
            values[node] = max(float(ulps.max(initial=0.0)), values.get(node, 0.0))
    _store(Path(path), node_data("bound in ulps", values))


def _store(path: Path, data: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(data, indent=1, allow_nan=False), encoding="utf-8")
