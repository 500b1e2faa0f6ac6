"""A sample of `python -m tests.passes`: each pass on some models that it changes."""

from __future__ import annotations

from typing import Final

import pytest

pytest.importorskip("jax")

import nimblehlo
from nimblehlo import Options
from tests.models import MODELS

from .programs import PROGRAMS
from .stops import OPTIONAL, changing_passes, difference

pytestmark = pytest.mark.models

SAMPLE: Final = {
    "remove-unused": ("cond", "joins", "key_split"),
    "gather-early": ("loss_of_labels", "values_of_actions"),
    "outline": ("deep_perceptron", "deep_residuals"),
    "simplify": ("gather_rows", "triangles", "scatter_unique"),
    "reduce-before-transposing": ("sums_of_channels", "maxima_of_columns"),
    "multiply-before-transposing": ("transposed_weights", "rows_by_transposed_weights"),
    "update-late": ("dynamic_slices", "scatter_unique"),
    "split-scatter-indices": ("histogram_of_pairs", "maxima_of_cells"),
    "combine-pairs": ("means_of_groups", "variances_of_groups"),
    "fuse-rows": ("layer_norm", "causal_attention", "sums_and_products"),
    "fuse-reductions": ("statistics_of_columns", "norm_of_differences"),
    "fuse-elementwise": ("activations", "image_resize", "scatter_columns"),
    "rematerialize": ("gradient_of_gelu", "gradient_of_polynomial"),
    "fuse-small-steps": ("joins", "top_k", "extrema"),
    "reduce-early": ("sums_after_products", "maxima_after_products"),
    "join-epilogues": ("dense_layer", "distances"),
    "join-attention": ("attention", "causal"),
}
"""Models that each pass changes."""

CHECKS: Final = {"require-targets"}
"""The passes that change nothing."""


def test_every_pass_is_in_the_sample() -> None:
    assert [name for name in OPTIONAL if name not in CHECKS] == list(SAMPLE)
    assert all(len(names) > 1 for names in SAMPLE.values())


@pytest.mark.parametrize("name", SAMPLE)
def test_a_program_that_ends_with_a_pass_keeps_its_bits(name: str) -> None:
    for model_name in SAMPLE[name]:
        model = {**MODELS, **PROGRAMS}[model_name]
        module, inputs = nimblehlo.load(model.lowered()), model.inputs()
        changing = changing_passes(module)
        assert name in changing, f"{name} does not change {model_name}"
        assert CHECKS.isdisjoint(changing)
        expected = nimblehlo.execute(module, inputs, options=Options(compile="never"))
        assert difference(module, inputs, expected, name) is None, model_name
