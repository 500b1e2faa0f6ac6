"""A sample of random programs, compared with the reference interpreter; see also ``tests.checks.fuzzing``."""

from __future__ import annotations

import collections
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("jaxlib")

from nimblehlo import ExecutionError
from nimblehlo import compile as compile_program
from nimblehlo.checks.fuzzing.generator import Generator, RandomProgram, is_constant
from nimblehlo.errors import failure_reason
from nimblehlo.program.ir import Operation, Value
from nimblehlo.types import ELEMENT_TYPES, TensorType
from tests.checks.fuzzing import campaign as campaign_module
from tests.checks.fuzzing import thresholds
from tests.checks.fuzzing.campaign import Campaign, run
from tests.checks.fuzzing.long_campaign import LongCampaign
from tests.checks.fuzzing.long_programs import long_program
from tests.checks.fuzzing.programs import CampaignGenerator, random_program
from tests.checks.fuzzing.shrink import shrunk
from tests.checks.fuzzing.variants import observed_values, text_of
from tests.support.internal_errors import internal_error

SAMPLE = 250
COMPILED = 400
"""The first seed of the programs that are compiled, too."""


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
    assert failures_of(Campaign(eager_share=1), range(COMPILED, COMPILED + 4)) == []


def test_large_random_programs_give_the_same_bits_in_every_way() -> None:
    assert failures_of(Campaign(eager_share=3, large=True), range(COMPILED, COMPILED + 6)) == []


def test_long_random_programs_give_the_same_bits_in_every_way() -> None:
    campaign = LongCampaign(150, eager_share=2, shrinking_seconds=60)
    tally = campaign.run(range(COMPILED, COMPILED + 2))
    assert [(failure.kind, failure.reason) for failure in tally.failures] == []
    assert sum(tally.operations.values()) >= 300
    assert campaign.results and not campaign.not_finite


def test_long_random_programs_have_operations_of_many_kinds() -> None:
    seen = collections.Counter(
        operation.name.removeprefix("stablehlo.")
        for seed in range(12)
        for operation in long_program(seed, 300).block.operations
    )
    for name in ("dot_general", "convolution", "transpose", "reduce", "while", "gather", "scatter", "sort"):
        assert seen[name], name
    assert seen["dynamic_slice"] + seen["dynamic_update_slice"] and seen["select"] + seen["if"]


class _Wrong:
    """A way of running whose results differ at the second call, where a program has a transpose."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.executable = compile_program(*arguments, **named)
        self.is_wrong = "stablehlo.transpose" in arguments[0] and named["options"].compile == "auto"
        self.calls = 0

    def __call__(self, *inputs: Any) -> list[Any]:
        self.calls += 1
        results = self.executable(*inputs)
        return [_flipped(one) for one in results] if self.is_wrong and self.calls > 1 else results


def _has_few_with_a_transpose(program: RandomProgram) -> bool:
    names = [one.name for one in program.block.operations if not is_constant(one.results[0])]
    return len(names) < 60 and "stablehlo.transpose" in names


def test_long_programs_that_fail_are_found_and_made_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nimblehlo.compile", _Wrong)
    # Every third seed leaves automatic compilation as it is: nothing small is compiled.
    seed = next(seed for seed in range(2, 300, 3) if _has_few_with_a_transpose(long_program(seed, 25)))
    campaign = LongCampaign(25, eager_share=0, make=lambda seed: long_program(seed, 25), shrinking_seconds=60)
    (failure,) = campaign.run([seed]).failures
    assert failure.kind.startswith("modes") and "call 1 of auto" in failure.reason
    assert failure.text.count("stablehlo.") == failure.text.count("stablehlo.transpose") == 1
    assert len(failure.inputs) == 1


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (ValueError("takes 106 operands"), "ValueError"),
        (ExecutionError(failure_reason(IndexError("no such slot")), operation="a.b"), "IndexError"),
        (ExecutionError("takes more than max_steps = 3 steps"), None),
    ],
)
def test_internal_exceptions_that_users_would_see_are_failures(error: Exception, name: str | None) -> None:
    assert internal_error(error) == name


def test_internal_exceptions_of_long_programs_are_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*arguments: Any, **named: Any) -> Any:
        raise ExecutionError(failure_reason(KeyError(5)), operation="stablehlo.add")

    monkeypatch.setattr("nimblehlo.compile", fail)
    (failure,) = LongCampaign(10, make=lambda seed: long_program(seed, 10)).run([1]).failures
    assert failure.kind == "KeyError"


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
    def wrong(program: RandomProgram, *arguments: Any) -> Mapping[Value, np.ndarray[Any, Any]]:
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

    def fails(program: RandomProgram) -> bool:
        return any(operation.name == last.name for operation in program.block.operations)

    made = shrunk(g.program, fails, {})
    names = [operation.name for operation in made.block.operations if not is_constant(operation.results[0])]
    assert names == [last.name] or {"stablehlo.tuple", "stablehlo.get_tuple_element"} & set(names)


def test_random_programs_around_thresholds() -> None:
    campaign = Campaign(eager_share=4, large=True, at_thresholds=True)
    assert failures_of(campaign, range(COMPILED, COMPILED + 8)) == []


def test_programs_around_thresholds_have_views_of_sizes_of_decisions() -> None:
    programs = [random_program(seed, large=True, sizes=thresholds.sizes()) for seed in range(30)]
    operations = [operation for program in programs for operation in program.block.operations]
    names = collections.Counter(operation.name.removeprefix("stablehlo.") for operation in operations)
    assert min(names["transpose"], names["slice"], names["reverse"], names["broadcast_in_dim"]) > 3
    sizes = {size for operation in operations for size in getattr(operation.results[0].type, "shape", ())}
    assert len(sizes & set(thresholds.sizes())) > 20


def test_wrong_products_are_found_without_another_way() -> None:
    g = CampaignGenerator(1, large=True)
    type = TensorType((48, 2), ELEMENT_TYPES["f32"])
    lhs, rhs = g.constant(type, np.ones((48, 2))), g.constant(type, np.ones((48, 2)))
    contracting = {"lhs_contracting_dimensions": (1,), "rhs_contracting_dimensions": (1,)}
    result = TensorType((48, 48), ELEMENT_TYPES["f32"])
    (product,) = g.add("stablehlo.dot_general", [lhs, rhs], [result], **contracting)
    values = {value: np.ones((48, 2), np.float32) for value in (lhs, rhs)}
    right = np.full((48, 48), 2, np.float32)
    assert thresholds.wrong_product(g.program, values | {product: right}) is None
    assert thresholds.wrong_product(g.program, values | {product: right + 1}) is not None
