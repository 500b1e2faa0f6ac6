"""Results with the instructions of older processors (NIMBLEHLO_CPU)."""

import os
import subprocess
import sys

import pytest

from nimblehlo.kernels.launch import processor
from tests.poisoned.cases import Selection
from tests.processors.__main__ import compare_levels, programs_of
from tests.processors.levels import available_levels


@pytest.mark.skipif("x86-64-v3" not in available_levels(), reason="this processor has no lower level")
def test_older_processors_convert_halves_to_the_same_bits(tmp_path):
    selection = Selection(("models",), names="model half_precision_conversions")
    tallies = compare_levels(selection, available_levels(), tmp_path)
    assert {level: programs_of(tally) for level, tally in tallies.items()} == {level: {} for level in tallies}
    assert all(tally.runs for tally in tallies.values())


@pytest.mark.skipif("x86-64-v3" not in available_levels(), reason="this processor has no lower level")
def test_random_programs_have_the_same_bits_with_narrower_vectors(tmp_path):
    (tally,) = compare_levels(Selection(("random",), 8, eager_share=4), ["x86-64-v3"], tmp_path).values()
    assert programs_of(tally) == {}
    assert tally.runs > 8


@pytest.mark.parametrize(
    ("name", "text"),
    [("x86-64-v1", "must be one of x86-64-v2, x86-64-v3, x86-64-v4, native"), ("", "")],
)
def test_unknown_levels_are_rejected(name, text):
    constant = "%0 = stablehlo.constant dense<1.0> : tensor<f32>"
    program = f"func.func @main() -> tensor<f32> {{ {constant} return %0 : tensor<f32> }}"
    code = f"import nimblehlo; print(nimblehlo.execute({program!r})[0])"
    variables = {**os.environ, processor.ENVIRONMENT_VARIABLE: name}
    run = subprocess.run([sys.executable, "-c", code], env=variables, capture_output=True, text=True)
    assert (text in run.stderr) if text else run.stdout == "1.0\n"


def test_a_level_that_the_processor_lacks_is_rejected(monkeypatch):
    monkeypatch.setenv(processor.ENVIRONMENT_VARIABLE, "x86-64-v3")
    monkeypatch.setattr(processor.processor_features, "features", lambda: {"sse4.2": True})
    with pytest.raises(ValueError, match=r"'x86-64-v3', but this processor does not have cx16, "):
        processor.level.__wrapped__()


def test_levels_include_lower_ones():
    v2, v3, v4 = map(set, processor.LEVELS.values())
    assert v2 < v3 < v4
