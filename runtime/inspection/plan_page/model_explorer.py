"""Plans and figures of their steps as files that Model Explorer reads.

A graph has a node for each argument and step, and one for each operation inside of a step, in a layer of the
step's name. Node data gives the nodes of a graph a value each, by which Model Explorer colours them.

Source: ai-edge-model-explorer 0.1.34, `graph_builder.py` (`GraphCollection`) and `node_data_builder.py`
(`ModelNodeData`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from .graph import PlanGraph, PlanStep

HEAT: Final = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#f4511e"})
"""The gradient of figures of which more is worse."""
WITHIN: Final = "#c8e6c9"
BEYOND: Final = "#ef9a9a"
UNBOUNDED: Final = 1e300
"""The value of an infinite distance: JSON has no infinity."""


def graph_collection(label: str, graphs: Sequence[PlanGraph]) -> dict[str, Any]:
    """Plans as a collection of graphs.

    Args:
        label: the name of the program.
        graphs: its plans.
    """
    return {
        "label": label,
        "graphs": [{"id": graph_id(index), "nodes": list(_nodes(one))} for index, one in enumerate(graphs)],
    }


def graph_id(index: int) -> str:
    """The id of the plan of a program with this number."""
    return f"plan {index}"


def node_data(
    name: str,
    values: Mapping[str, float],
    *,
    index: int = 0,
    beyond: Mapping[str, bool] | None = None,
) -> dict[str, Any]:
    """Values of a graph's nodes.

    Args:
        name: what the values are.
        values: by the ids of nodes.
        index: the number of the plan.
        beyond: by the ids of nodes whether their results are beyond their bounds; None: nodes are coloured by
            their values.
    """
    results: dict[str, Any] = {}
    for node, value in values.items():
        results[node] = {"value": value if math.isfinite(value) else UNBOUNDED}
        if beyond is not None:
            results[node]["bgColor"] = BEYOND if beyond[node] else WITHIN
    data: dict[str, Any] = {"name": name, "results": results}
    if beyond is None:
        data["gradient"] = list(HEAT)
    return {graph_id(index): data}


def step_values(graph: PlanGraph, values: Sequence[float | None]) -> dict[str, float]:
    """Values of the steps of a graph by the ids of their nodes; steps without a value are left out."""
    return {step.path: value for step, value in zip(graph.steps, values, strict=True) if value is not None}


def nodes_of_operations(graph: PlanGraph) -> dict[tuple[str, str], list[str]]:
    """The ids of the nodes of each operation, by its name and its location."""
    nodes: dict[tuple[str, str], list[str]] = {}
    for step in graph.steps:
        nodes.setdefault((step.operation, step.location), []).append(step.path)
        for number, inner in enumerate(step.inner):
            nodes.setdefault((inner.operation, inner.location), []).append(_inner_id(step, number))
    return nodes


def nodes_of_results(graph: PlanGraph) -> list[str | None]:
    """The id of the node that computes each result of the plan; None for a constant."""
    return [None if number is None else _source_id(graph, number) for number in graph.results]


def _nodes(graph: PlanGraph) -> Iterator[dict[str, Any]]:
    read = {number for step in graph.steps if step.parent < 0 for number in step.inputs if number is not None}
    for number in sorted(number for number in read if number < 0):
        yield {"id": _source_id(graph, number), "label": f"argument {-1 - number}", "namespace": ""}
    parents = {step.parent for step in graph.steps}
    layers: list[str] = []
    for step in graph.steps:
        outer = layers[step.parent] if step.parent >= 0 else ""
        has_inside = step.inner or len(layers) in parents
        label = step.operation.partition(".")[2]
        layers.append(f"{outer}/{step.path} {label}".lstrip("/") if has_inside else outer)
        yield _step_node(graph, step, label, layers[-1])
        for number, inner in enumerate(step.inner):
            yield {
                "id": _inner_id(step, number),
                "label": inner.operation.partition(".")[2],
                "namespace": layers[-1],
                "attrs": _attributes({"location": inner.location}),
                "incomingEdges": _edges([_inner_id(step, one) for one in inner.inputs]),
                "outputsMetadata": _outputs(inner.results),
            }


def _step_node(graph: PlanGraph, step: PlanStep, label: str, layer: str) -> dict[str, Any]:
    inputs = [number for number in step.inputs if number is not None and (number >= 0 or step.parent < 0)]
    read = {one for inner in step.inner for one in inner.inputs}
    last = [_inner_id(step, number) for number in range(len(step.inner)) if number not in read]
    return {
        "id": step.path,
        "label": label,
        "namespace": layer,
        "attrs": _attributes(
            {"how": step.implementation, "why": step.reason, "location": step.location, "step": step.path}
        ),
        "incomingEdges": _edges([*[_source_id(graph, number) for number in inputs], *last]),
        "outputsMetadata": _outputs(step.results),
    }


def _source_id(graph: PlanGraph, number: int) -> str:
    return graph.steps[number].path if number >= 0 else f"argument {-1 - number}"


def _inner_id(step: PlanStep, number: int) -> str:
    return f"{step.path} inside {number}"


def _attributes(values: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


def _edges(sources: Sequence[str]) -> list[dict[str, str]]:
    return [
        {"sourceNodeId": source, "sourceNodeOutputId": "0", "targetNodeInputId": str(index)}
        for index, source in enumerate(sources)
    ]


def _outputs(types: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {"id": str(index), "attrs": _attributes({"tensor_shape": type})} for index, type in enumerate(types)
    ]
