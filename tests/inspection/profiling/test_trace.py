"""Traces: the results of each operation of a program as it is written."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import nimblehlo
from nimblehlo.inspection.profiling.trace import statistics_of

LOOP = """
func.func @main(%x: tensor<3xf32>) -> (tensor<3xf32>, tensor<f32>) {
  %zero = stablehlo.constant dense<0> : tensor<i32>
  %three = stablehlo.constant dense<3> : tensor<i32>
  %unused = stablehlo.exponential %x : tensor<3xf32>
  %0:2 = stablehlo.while(%i = %zero, %v = %x) : tensor<i32>, tensor<3xf32>
    cond {
      %c = stablehlo.compare LT, %i, %three : (tensor<i32>, tensor<i32>) -> tensor<i1>
      stablehlo.return %c : tensor<i1>
    } do {
      %one = stablehlo.constant dense<1> : tensor<i32>
      %j = stablehlo.add %i, %one : tensor<i32>
      %w = stablehlo.add %v, %v : tensor<3xf32>
      stablehlo.return %j, %w : tensor<i32>, tensor<3xf32>
    }
  %f = stablehlo.constant dense<0.0> : tensor<f32>
  %s = stablehlo.reduce(%0#1 init: %f) applies stablehlo.add across dimensions = [0]
    : (tensor<3xf32>, tensor<f32>) -> tensor<f32>
  return %0#1, %s : tensor<3xf32>, tensor<f32>
}
"""
X = np.array([1, 2, 4], np.float32)


def test_each_run_of_each_operation() -> None:
    executable = nimblehlo.compile(LOOP)
    trace = executable.trace([X])
    names = [record.operation.partition(".")[2] for record in trace]
    assert names == ["exponential", *["compare", "add", "add"] * 3, "compare", "reduce"]
    doubled = [
        record for record in trace if record.operation == "stablehlo.add" and len(record.values[0].shape)
    ]
    assert [record.run for record in doubled] == [0, 1, 2]
    for record in doubled:
        np.testing.assert_array_equal(record.values[0], X * 2 ** (record.run + 1))
    assert doubled[0].source_line == "<text>:13"
    for traced, result in zip(trace.results, executable(X), strict=True):
        np.testing.assert_array_equal(traced, result)


def test_filters_and_limits() -> None:
    executable = nimblehlo.compile(LOOP)
    only_sums = executable.trace([X], only="stablehlo.red*")
    assert [record.operation for record in only_sums] == ["stablehlo.reduce"]
    of_line = executable.trace([X], only=lambda operation: str(operation.location).startswith("<text>:13:"))
    assert len(of_line) == 3
    few = executable.trace([X], max_records=2)
    assert len(few) == 2 and few.left_out == 10
    assert "10 more runs" in str(few)


def test_large_results_are_statistics(tmp_path: Path) -> None:
    executable = nimblehlo.compile(LOOP)
    trace = executable.trace([np.array([1, np.nan, np.inf], np.float32)], max_elements=2)
    record = next(iter(trace))
    assert record.values == [None]
    statistics = record.statistics[0]
    assert statistics is not None
    assert (statistics.nan_count, statistics.infinity_count) == (1, 1)
    assert statistics.minimum == pytest.approx(np.e)
    assert "1 NaN, 1 infinite" in str(record)
    trace.to_json(tmp_path / "trace.json")
    stored = json.loads((tmp_path / "trace.json").read_text())
    assert stored[0]["results"][0]["value"] is None
    assert stored[0]["results"][0]["statistics"]["nan_count"] == 1


def test_statistics() -> None:
    assert str(statistics_of(np.array([0, 2, 4]))) == "0 to 4, mean 2, 1 zero"
    assert str(statistics_of(np.array([True, False]))) == "0 to 1, mean 0.5, 1 zero"
    complex_values = statistics_of(np.array([1j, np.nan]))
    assert complex_values is not None and complex_values.minimum is None and complex_values.nan_count == 1
    assert statistics_of(np.array([None])) is None
    empty = statistics_of(np.empty(0, np.float32))
    assert empty is not None and str(empty) == ""


def test_sizes_of_inputs_that_are_known_at_run_time_only() -> None:
    text = """
    func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> {
      %0 = stablehlo.negate %x : tensor<?xf32>
      return %0 : tensor<?xf32>
    }
    """
    (record,) = nimblehlo.compile(text).trace([X])
    assert str(record.types[0]) == "tensor<3xf32>"
