"""A sample of random programs against the reference interpreter; ``python -m tests.fuzzing`` runs many."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jaxlib")

from nimblehlo.ir import Operation, Value
from tests.fuzzing import campaign as campaign_module
from tests.fuzzing.campaign import Campaign, run
from tests.fuzzing.generator import Generator, Program, is_constant
from tests.fuzzing.programs import random_program
from tests.fuzzing.shrink import shrunk
from tests.fuzzing.variants import observed_values, text_of

SAMPLE = 400


def failures_of(campaign: Campaign, seeds: range) -> list[str]:
    """Run a campaign; the failures in words."""
    try:
        tally = campaign.run(seeds)
    finally:
        campaign.interpreter.stop()
    assert tally.programs == len(seeds)
    return [
        f"seed {failure.seed}: {failure.kind}: {failure.reason}\n{failure.text}" for failure in tally.failures
    ]


def test_random_programs_agree_with_the_reference_interpreter() -> None:
    assert failures_of(Campaign(eager_share=0), range(SAMPLE)) == []


def test_random_programs_give_the_same_bits_when_compiled() -> None:
    assert failures_of(Campaign(eager_share=1), range(SAMPLE, SAMPLE + 4)) == []


def test_large_random_programs_give_the_same_bits_in_every_way() -> None:
    assert failures_of(Campaign(eager_share=3, large=True), range(SAMPLE, SAMPLE + 6)) == []


def test_each_seed_is_one_program() -> None:
    assert text_of(random_program(7)) == text_of(random_program(7))


def test_random_programs_have_operations_of_every_kind() -> None:
    seen = {operation.name for seed in range(SAMPLE) for operation in random_program(seed).block.operations}
    for name in ("add", "gather", "scatter", "reduce", "sort", "dot_general", "while", "convolution"):
        assert f"stablehlo.{name}" in seen
    assert len(seen) > 90


def test_large_random_programs_have_what_the_interpreter_lacks() -> None:
    programs = [random_program(seed, large=True) for seed in range(60)]
    seen = {operation.name for program in programs for operation in program.block.operations}
    for name in ("uniform_quantize", "uniform_dequantize", "rng_bit_generator"):
        assert f"stablehlo.{name}" in seen
    assert "chlo.scan" in seen
    assert max(value.type.size for program in programs for value in program.results) > 1000


def _flipped(value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The array with the sign or the highest bit of its first element turned around."""
    made = np.array(value)
    flat = made.reshape(-1).view(np.uint8)
    flat[made.itemsize - 1] ^= 0x80 if made.dtype != np.bool_ else 1
    return made


@pytest.mark.parametrize("kind", ["scatter", "reduce", "convert", "transpose"])
def test_wrong_results_are_found(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(program: Program, *arguments: Any) -> Mapping[Value, np.ndarray[Any, Any]]:
        return {
            value: _flipped(array) if _is_target(value, array) else array
            for value, array in run(program, *arguments).items()
        }

    def _is_target(value: Value, array: np.ndarray[Any, Any]) -> bool:
        integers = array.size > 0 and array.dtype.kind in "iu" and array.dtype.itemsize > 1
        return integers and isinstance(value.owner, Operation) and value.owner.name == f"stablehlo.{kind}"

    def has_target(seed: int) -> bool:
        return any(
            isinstance(value.owner, Operation)
            and value.owner.name == f"stablehlo.{kind}"
            and value.type.size > 0
            and value.type.dtype in (np.int32, np.int64)
            for value in observed_values(random_program(seed))
        )

    seed = next(seed for seed in range(1000) if has_target(seed))
    monkeypatch.setattr(campaign_module, "run", wrong)
    (failure, *_) = failures_of(Campaign(eager_share=0), range(seed, seed + 1))
    assert f"stablehlo.{kind}" in failure


def test_shrinking_keeps_what_fails() -> None:
    g = Generator(3)
    while sum(not is_constant(operation.results[0]) for operation in g.program.block.operations) < 6:
        g.program = random_program(g.random.randrange(1000))
    *_, last = (
        operation for operation in g.program.block.operations if not is_constant(operation.results[0])
    )

    def fails(program: Program) -> bool:
        return any(operation.name == last.name for operation in program.block.operations)

    made = shrunk(g.program, fails, {})
    names = [operation.name for operation in made.block.operations if not is_constant(operation.results[0])]
    assert names == [last.name] or {"stablehlo.tuple", "stablehlo.get_tuple_element"} & set(names)
