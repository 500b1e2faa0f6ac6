"""Asynchronous collectives as the custom calls that JAX emits, on the devices of a mesh."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options, VerifyError
from tests.execution.grid.test_manual import VALUES, T, manual, program

GROUPS: dict[str, Any] = {
    "replica_groups": [[0, 2, 4, 6], [1, 3, 5, 7]],
    "channel_id": 1,
    "use_global_device_ids": True,
}
REDUCER = """
func.func private @sum(%a: tensor<f32>, %b: tensor<f32>) -> tensor<f32> {
  %r = stablehlo.add %a, %b : tensor<f32>
  return %r : tensor<f32>
}
"""


def halves(name: str, config: dict[str, Any] | str, before: str, after: str, done: str = "") -> str:
    """A call that starts a collective of the shard %s, and the one that ends it."""
    text = config if isinstance(config, str) else json.dumps(config)
    quoted = text.replace('"', "\\22")
    reduces = ", called_computations = [@sum]" if "reduce" in name else ""
    started = f"""%started = stablehlo.custom_call @"{name}-start"(%s) {{backend_config = ""{reduces},
        mhlo.frontend_attributes = {{async_collective_config = "{quoted}"}}}} : ({before}) -> {after}"""
    ended = f'%r = stablehlo.custom_call @"{name}-done"(%started) {{backend_config = ""}}'
    return f"{started}\n      {ended} : ({after}) -> {done or after}"


def of_rows(
    name: str, config: dict[str, Any] | str, after: str, out: str, result: str = T, **calls: str
) -> str:
    """A program that runs a collective on shards of two rows and two columns."""
    body = halves(name, config, "tensor<2x2xf32>", after, **calls)
    returned = calls.get("done") or after
    computation = manual(
        body, "tensor<2x2xf32>", before='{"x"}, {"y"}', after=out, result=result, returned=returned
    )
    return REDUCER + program(computation, result)


ROWS = VALUES.reshape(4, 2, 4)
RUNS: dict[str, tuple[str, Any]] = {
    "all-gather": (
        of_rows("all-gather", {**GROUPS, "all_gather_dimension": 0}, "tensor<8x2xf32>", '{}, {"y"}'),
        VALUES,
    ),
    "all-reduce": (
        of_rows("all-reduce", GROUPS, "tensor<2x2xf32>", '{}, {"y"}', "tensor<2x4xf32>"),
        ROWS.sum(0),
    ),
    "reduce-scatter": (
        of_rows(
            "reduce-scatter",
            {
                "scatter_dimension": 1,
                "tiled": True,
                **GROUPS,
                "replica_groups": [[0, 2], [1, 3], [4, 6], [5, 7]],
            },
            "tensor<2x1xf32>",
            '{"x":(1)2}, {"y", "x":(2)2}',
            "tensor<4x4xf32>",
        ),
        ROWS.reshape(2, 2, 2, 4).sum(1).reshape(4, 4),
    ),
    "all-to-all": (
        of_rows(
            "all-to-all",
            {
                "split_dimension": 0,
                "concat_dimension": 1,
                "split_count": 2,
                "replica_groups": [[0, 1], [2, 3], [4, 5], [6, 7]],
                "channel_id": 1,
            },
            "tensor<1x4xf32>",
            '{"x", "y"}, {}',
        ),
        VALUES,
    ),
    "collective-permute": (
        of_rows(
            "collective-permute",
            {
                "permutation": [[0, 2], [1, 3], [2, 4], [3, 5], [4, 6], [5, 7], [6, 0], [7, 1]],
                "channel_id": 1,
            },
            "tensor<2x2xf32>",
            '{"x"}, {"y"}',
        ),
        np.roll(VALUES, 2, 0),
    ),
}


@pytest.mark.parametrize("name", RUNS)
@pytest.mark.parametrize("compile", ["never", "eager"])
def test_results(name: str, compile: Any) -> None:
    text, expected = RUNS[name]
    (result,) = nimblehlo.execute(text, [VALUES], options=Options(compile=compile))
    np.testing.assert_array_equal(result, expected)


REJECTED = {
    "must have the frontend attribute async_collective_config": RUNS["all-gather"][0].replace(
        "async_collective_config", "other"
    ),
    "must have a JSON object": of_rows("all-gather", "[" * 100_000, "tensor<8x2xf32>", '{}, {"y"}'),
    "a JSON object in": of_rows("all-gather", "[1]", "tensor<8x2xf32>", '{}, {"y"}'),
    "lacks all_gather_dimension": of_rows("all-gather", GROUPS, "tensor<8x2xf32>", '{}, {"y"}'),
    "whose all_gather_dimension must be an integer": of_rows(
        "all-gather", {**GROUPS, "all_gather_dimension": 2**63}, "tensor<8x2xf32>", '{}, {"y"}'
    ),
    "whose replica_groups must be a list of lists": of_rows(
        "all-gather", {"all_gather_dimension": 0, "replica_groups": [0]}, "tensor<8x2xf32>", '{}, {"y"}'
    ),
    "whose use_global_device_ids must be true or false": of_rows(
        "all-reduce", {**GROUPS, "use_global_device_ids": 1}, "tensor<2x2xf32>", '{"x"}, {"y"}'
    ),
    "whose permutation must be a list of pairs": of_rows(
        "collective-permute", {"permutation": [[0, 1, 2]]}, "tensor<2x2xf32>", '{"x"}, {"y"}'
    ),
    "(C6)": of_rows("all-gather", {**GROUPS, "all_gather_dimension": 0}, "tensor<6x2xf32>", '{}, {"y"}'),
    "has 0 regions, but must have 1": RUNS["all-reduce"][0].replace("[@sum]", "[]"),
    "must have one input, and a result of its type": of_rows(
        "all-reduce", GROUPS, "tensor<2x2xf32>", '{"x"}, {"y"}', done="tensor<2x1xf32>"
    ),
    "there is no function @sum": RUNS["all-reduce"][0].replace("private @sum", "private @total"),
    "(C5)": RUNS["all-reduce"][0].replace("(%a: tensor<f32>, %b: tensor<f32>)", "(%a: tensor<f32>)").replace(
        "add %a, %b", "add %a, %a"
    ),
}  # fmt: skip


@pytest.mark.parametrize("reason", REJECTED)
def test_rejected(reason: str) -> None:
    with pytest.raises(VerifyError) as caught:
        nimblehlo.compile(REJECTED[reason])
    assert reason in str(caught.value)
