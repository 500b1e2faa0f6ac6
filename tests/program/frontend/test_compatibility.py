"""A sample of the artifacts by which JAX tests that old exports still run; the command runs all of them."""

from __future__ import annotations

import pytest

pytest.importorskip("jax")

from tests.program.frontend.compatibility import BYTECODE, INIT_VALUES, TEXT, artifacts, outcome

SAMPLE = {
    # Artifacts of producers without a version; Qr has a tuple as its result.
    ("tpu_Qr.data_2023_03_17", BYTECODE): "equal",
    ("tpu_ApproxTopK.data_2023_05_16", BYTECODE): "equal",
    ("tpu_Qr.data_2023_03_17", TEXT): "equal",
    ("cpu_eigh_lapack_syev.data_2024_08_19.f64", TEXT): "equal, with other vectors",
    ("tpu_Lu.data_2023_03_21", TEXT): "refused: it is a target of TPUs",
    ("tpu_stablehlo_dynamic_reduce_window.data_variadic_2023_06_17", TEXT): f"explained: {INIT_VALUES}",
}


@pytest.mark.parametrize(("name", "form"), SAMPLE)
def test_artifacts(name: str, form: str) -> None:
    assert outcome(name, dict(artifacts())[name], form) == SAMPLE[name, form]


def test_other_results_are_noticed() -> None:
    name = "tpu_Qr.data_2023_03_17"
    artifact = dict(dict(artifacts())[name])
    artifact["expected_outputs"] = [value + 1 for value in artifact["expected_outputs"]]
    assert outcome(name, artifact, TEXT) == "FAILED: other results"
    artifact[TEXT] = "module {"
    assert outcome(name, artifact, TEXT).startswith("FAILED to load")
