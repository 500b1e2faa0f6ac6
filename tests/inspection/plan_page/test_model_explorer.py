"""Graphs and node data: Model Explorer's own classes take them, where the package is installed."""

from __future__ import annotations

import dataclasses
import importlib
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nimblehlo.cli import main
from nimblehlo.inspection.plan_page import graph_collection, node_data, nodes_of_operations
from nimblehlo.inspection.plan_page.model_explorer import BEYOND, UNBOUNDED, WITHIN
from tests.inspection.plan_page.test_graph import FUSED, graph_of
from tests.inspection.profiling.test_profile import LOOP

# The fields of ai-edge-model-explorer 0.1.34 that are needed, and all that there are.
NEEDED = {"Graph": {"id", "nodes"}, "GraphNode": {"id", "label"}, "IncomingEdge": {"sourceNodeId"}}
FIELDS = {
    "Graph": {"id", "nodes"},
    "GraphNode": {"id", "label", "namespace", "attrs", "incomingEdges", "outputsMetadata"},
    "IncomingEdge": {"sourceNodeId", "sourceNodeOutputId", "targetNodeInputId"},
    "KeyValue": {"key", "value"},
    "MetadataItem": {"id", "attrs"},
}


def of_class(name: str, value: dict[str, Any]) -> None:
    """Fail unless an object has the fields of a class, and make one of the package's if it is installed."""
    assert NEEDED.get(name, set()) <= set(value) <= FIELDS[name], (name, value)
    if importlib.util.find_spec("model_explorer") is not None:
        builder = importlib.import_module("model_explorer.graph_builder")
        assert dataclasses.is_dataclass(getattr(builder, name)(**value))


def check(collection: dict[str, Any]) -> None:
    """Fail unless a collection of graphs is as Model Explorer reads it."""
    assert set(collection) == {"label", "graphs"}
    for graph in collection["graphs"]:
        of_class("Graph", graph)
        ids = [node["id"] for node in graph["nodes"]]
        assert len(set(ids)) == len(ids)
        for node in graph["nodes"]:
            of_class("GraphNode", node)
            for edge in node.get("incomingEdges", ()):
                of_class("IncomingEdge", edge)
                assert edge["sourceNodeId"] in ids
            for output in node.get("outputsMetadata", ()):
                of_class("MetadataItem", output)
                for attribute in output["attrs"]:
                    of_class("KeyValue", attribute)
    if importlib.util.find_spec("model_explorer") is not None:
        loaded(collection)


def loaded(collection: dict[str, Any]) -> None:
    """Fail unless the package makes its objects of a whole collection, each value of its declared type."""
    builder = importlib.import_module("model_explorer.graph_builder")
    dacite = importlib.import_module("dacite")
    graphs = dacite.from_dict(builder.GraphCollection, collection, dacite.Config(strict=True)).graphs
    assert [len(one.nodes) for one in graphs] == [len(one["nodes"]) for one in collection["graphs"]]


def check_data(data: dict[str, Any], graph: dict[str, Any]) -> None:
    """Fail unless node data is as Model Explorer reads it, for nodes that a graph has."""
    ids = {node["id"] for node in graph["nodes"]}
    for name, one in data.items():
        assert name == graph["id"] and set(one) <= {"name", "results", "gradient"}
        assert set(one["results"]) <= ids and one["results"]
        for result in one["results"].values():
            assert set(result) <= {"value", "bgColor"} and math.isfinite(result["value"])
        if importlib.util.find_spec("model_explorer") is not None:
            builder = importlib.import_module("model_explorer.node_data_builder")
            builder.ModelNodeData({name: builder.GraphNodeData(**one)}).to_json_string()


def test_a_fusion_is_a_layer() -> None:
    collection = graph_collection("program", [graph_of(FUSED)])
    check(collection)
    nodes = {node["id"]: node for node in collection["graphs"][0]["nodes"]}
    assert nodes["0 inside 1"]["label"] == "sine" and nodes["0 inside 1"]["namespace"] == "0 fusion"
    assert nodes["0 inside 1"]["incomingEdges"][0]["sourceNodeId"] == "0 inside 0"
    sources = [edge["sourceNodeId"] for edge in nodes["0"]["incomingEdges"]]
    assert sources == ["argument 0", "0 inside 1"]
    assert nodes["1"]["namespace"] == "" and nodes["1"]["label"] == "dot_general"


def test_regions_are_layers() -> None:
    collection = graph_collection("loop", [graph_of(LOOP, compile="never")])
    check(collection)
    layers = {node["id"]: node["namespace"] for node in collection["graphs"][0]["nodes"]}
    assert layers["0"] == layers["0.body.1"] == "0 while"


def test_colours_and_infinite_values() -> None:
    data = node_data("ulps", {"0": 1.5, "1": math.inf}, beyond={"0": False, "1": True})["plan 0"]
    assert data["results"]["0"] == {"value": 1.5, "bgColor": WITHIN}
    assert data["results"]["1"] == {"value": UNBOUNDED, "bgColor": BEYOND}


def test_nodes_of_an_operation() -> None:
    nodes = nodes_of_operations(graph_of(FUSED))
    (sine,) = [listed for (name, _), listed in nodes.items() if name == "stablehlo.sine"]
    assert sine == ["0 inside 1"]


def test_commands_store_what_belongs_together(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "program.mlir"
    path.write_text(FUSED.replace("512", "8"))
    for number in range(2):
        np.save(tmp_path / f"{number}.npy", np.ones((8, 8), np.float32))
    inputs = ["--input", *[str(tmp_path / f"{number}.npy") for number in range(2)]]

    def stored(name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((tmp_path / f"{name}.json").read_text())
        return content

    def run(command: str, name: str, *more: str) -> int:
        return main([command, str(path), *inputs, "--model-explorer", str(tmp_path / f"{name}.json"), *more])

    assert run("explain", "plan") == 0
    check(stored("plan"))
    (graph,) = stored("plan")["graphs"]
    assert run("profile", "run") == 0
    for name in ("run.time", "run.bound", "run.memory"):
        check_data(stored(name), graph)
    assert run("profile", "run.v2") == 0
    check_data(stored("run.v2.time"), graph)
    assert run("accuracy", "bounds") == 0
    check_data(stored("bounds"), graph)
    assert run("diff", "difference", "--against", "nimblehlo:never", "--every-operation") == 0
    check_data(stored("difference"), graph)
    assert {one["bgColor"] for one in stored("difference")["plan 0"]["results"].values()} == {WITHIN}
