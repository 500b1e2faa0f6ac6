"""Training steps over many parameters are right in every way; ``python -m tests.training`` runs larger
ones."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("jaxlib")

from nimblehlo import Options, compile
from tests.training.modes import BOUND, differences
from tests.training.steps import MODELS, random_step
from tools.comparison import weakness


def test_a_step_is_near_xla() -> None:
    step = MODELS["convolutional network"](12, np.random.default_rng(0))
    expected = step.expected()
    assert [weakness(result, BOUND) for result in expected if result.size > 1] == [None] * 36
    assert differences(step, modes=("auto", "eager"), expected=expected) == []
    wrong = [*expected[:-1], expected[-1] * (1 + 10 * BOUND)]
    assert len(differences(step, modes=(), expected=wrong)) == 1


@pytest.mark.parametrize(("name", "count"), [("vision transformer", 18), ("small arrays", 100)])
def test_steps_give_the_same_bits_in_every_way(name: str, count: int) -> None:
    step = MODELS[name](count, np.random.default_rng(1))
    assert differences(step, modes=("auto", "eager"), threads=(None, 1)) == []


def test_a_step_over_many_parameters(is_campaign: bool) -> None:
    """References and automatic compilation; `python -m tests.training` compiles all, and a thousand."""
    count = 300 if is_campaign else 150
    step = MODELS["small arrays"](count, np.random.default_rng(2))
    assert len(step.arguments[0]) == count
    assert differences(step, modes=("auto",), threads=(None,), calls=2) == []


def test_random_steps_have_parameters_of_all_layers() -> None:
    step = random_step(3, 30)
    assert len(step.arguments[0]) >= 30
    results = compile(str(step.lowered().as_text()), options=Options(compile="never"))(*step.inputs())
    assert len(results) == 1 + 3 * len(step.arguments[0])
    assert all(np.isfinite(result).all() for result in results)
