"""Models whose devices are spread over ranks: the bits of a grid in one process."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.compiler.partitioner.partitioner import device_program
from tests.execution.mpi.models import DEVICES, MODELS, Model
from tests.execution.mpi.test_mpi import run_case

pytest.importorskip("mpi4py", reason="the extra mpi is not installed")
pytest.importorskip("jax")


def on_a_grid(model: Model) -> list[list[Any]]:
    """The results of each device on a grid in this process."""
    local = device_program(nimblehlo.load(model.text), DEVICES)
    assert local is not None
    return nimblehlo.execute(local, [model.inputs] * DEVICES, grid=nimblehlo.Grid(1, DEVICES))


def spread(folder: Path, models: dict[str, Model], ranks: int) -> dict[str, list[list[Any]]]:
    """The results of each device with the devices spread over ranks."""
    (folder / "models").write_bytes(pickle.dumps({name: tuple(model) for name, model in models.items()}))
    told = run_case(ranks, "models", folder)
    return {name: [results for of_rank in told for results in of_rank[name]] for name in models}


def same_bits(ones: list[list[Any]], others: list[list[Any]]) -> bool:
    """Whether all devices have the same results."""
    return [[array.tobytes() for array in one] for one in ones] == [
        [array.tobytes() for array in one] for one in others
    ]


def distance(model: Model, results: list[Any]) -> float:
    """The greatest difference from the results of one device, relative to the greatest of these."""
    expected = nimblehlo.execute(model.text_of_one, model.inputs)
    return max(
        float(np.abs(one - other).max() / np.abs(other).max())
        for one, other in zip(results, expected, strict=True)
    )


def compared(folder: str) -> Iterator[str]:
    """A line for each model and number of ranks."""
    models = {name: make() for name, make in MODELS.items()}
    in_one = {name: on_a_grid(model) for name, model in models.items()}
    for name, model in models.items():
        yield f"{name}: one device and a grid of {DEVICES}: differ by {distance(model, in_one[name][0]):.1e}"
    for ranks in (2, 4):
        results = spread(Path(folder), models, ranks)
        for name in models:
            verdict = "the same bits" if same_bits(results[name], in_one[name]) else "OTHER BITS"
            yield f"{name}: {ranks} ranks of {DEVICES // ranks} processes and a grid of {DEVICES}: {verdict}"


def test_devices_on_several_ranks_give_the_bits_of_one_process(tmp_path: Path) -> None:
    models = {name: make() for name, make in MODELS.items()}
    results = {ranks: spread(tmp_path, models, ranks) for ranks in (2, 4)}
    for name, model in models.items():
        expected = on_a_grid(model)
        assert distance(model, expected[0]) < 1e-5
        for ranks in (2, 4):
            assert same_bits(results[ranks][name], expected), (name, ranks)
