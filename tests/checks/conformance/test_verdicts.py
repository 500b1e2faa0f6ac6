"""Verdicts on backends that are right, wrong, refuse, end or take too long."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from nimblehlo import execute
from nimblehlo.checks.backends import BackendError, BackendExit, BackendTimeout, CallableBackend
from nimblehlo.checks.conformance import Judge, Program, Verdict, programs
from nimblehlo.checks.conformance.archive import StoredResults
from nimblehlo.checks.conformance.verdicts import section_of, verdict_on
from nimblehlo.checks.error_bounds import ResultBound
from nimblehlo.program.ir import Module
from tests.checks.conformance.fault_campaign import outcomes
from tests.checks.conformance.faults import faults
from tests.checks.conformance.faulty_references import Fault, FaultyReferences
from tests.checks.conformance.without_effect import REASONS, reason

Array = np.ndarray[Any, Any]


def program(id: str) -> Program:
    (found,) = [one for one in programs([id.partition("/")[0]]) if one.id == id]
    return found


def changed(change: Any) -> CallableBackend:
    """NimbleHLO with changed results."""

    def run(module: Module, inputs: Sequence[Array]) -> list[Array]:
        return [change(np.array(one)) for one in execute(module, inputs)]

    return CallableBackend(run, "changed")


def raising(error: Exception) -> CallableBackend:
    def run(module: Module, inputs: Sequence[Array]) -> list[Array]:
        raise error

    return CallableBackend(run, "raising")


def verdict(id: str, backend: CallableBackend) -> Verdict:
    return Judge(program(id)).judge(backend).verdict


SINE = "stablehlo.sine/f32/edges"
ADD = "stablehlo.add/i32/edges"


def test_results_within_the_bounds_are_within() -> None:
    assert verdict(SINE, changed(lambda one: one)) == Verdict.WITHIN
    assert verdict(SINE, changed(lambda one: np.nextafter(one, np.float32(0)))) == Verdict.WITHIN


def test_results_beyond_the_bounds_are_outside() -> None:
    judgement = Judge(program(SINE)).judge(changed(lambda one: one * np.float32(1.001)))
    assert judgement.verdict == Verdict.OUTSIDE
    assert judgement.section == 'specification, section "sine"'
    assert "ulp apart where" in judgement.detail


def test_exact_results_must_be_equal() -> None:
    assert verdict(ADD, changed(lambda one: one)) == Verdict.WITHIN
    assert verdict(ADD, changed(lambda one: one + 1)) == Verdict.OUTSIDE


def test_another_type_or_number_of_results_is_outside() -> None:
    assert verdict(ADD, changed(lambda one: one.astype(np.int64))) == Verdict.OUTSIDE
    none = CallableBackend(lambda module, inputs: [], "none")
    assert verdict(ADD, none) == Verdict.OUTSIDE


def test_the_sign_of_zero_where_the_specification_says_it() -> None:
    """The maximum of IEEE 754 tells -0 from 0; an f32 that is not zero may not change with it."""
    lost = changed(lambda one: np.where(one == 0, np.float32(0), one))
    for id in ("stablehlo.maximum/f32/edges", "stablehlo.round_nearest_even/f32/edges"):
        judgement = Judge(program(id)).judge(lost)
        assert judgement.verdict == Verdict.ZERO_SIGN, id
        assert "0.0 instead of -0.0 at" in judgement.detail
        assert judgement.section.startswith("specification")
    assert verdict("chlo.sinh/f32/edges", lost) == Verdict.WITHIN


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (BackendError("not supported"), Verdict.REFUSED),
        (BackendExit("ended its process (status -6)"), Verdict.ENDED),
        (BackendTimeout("took more than 60 seconds"), Verdict.TIMED_OUT),
    ],
)
def test_a_backend_that_gives_no_results(error: Exception, expected: Verdict) -> None:
    judgement = Judge(program(ADD)).judge(raising(error))
    assert (judgement.verdict, judgement.detail) == (expected, str(error))


def test_elements_that_the_specification_leaves_open() -> None:
    """An integer divided by zero."""
    divide = program("stablehlo.divide/i32/edges")

    def other(module: Module, inputs: Sequence[Array]) -> list[Array]:
        (result,) = execute(module, inputs)
        return [np.where(inputs[1] == 0, 77, result).astype(np.int32)]

    assert Judge(divide).judge(CallableBackend(other, "other")).verdict == Verdict.OPEN
    assert Judge(divide).judge(changed(lambda one: one)).verdict == Verdict.WITHIN


def test_a_program_that_breaks_a_constraint_must_be_refused() -> None:
    accepts = CallableBackend(lambda module, inputs: [np.zeros(1)], "accepts")
    broken = program("stablehlo.transpose/C2")
    assert Judge(broken).judge(raising(BackendError("no"))).verdict == Verdict.WITHIN
    judgement = Judge(broken).judge(accepts)
    assert judgement.verdict == Verdict.OUTSIDE
    assert judgement.section == 'specification, section "transpose", (C2)'
    assert "breaks (C2)" in judgement.detail
    assert section_of(program("chlo.top_k/C1")) == "CHLO dialect, top_k, (C1)"


def test_constraints_beyond_the_specification_bind_nobody() -> None:
    accepts = CallableBackend(lambda module, inputs: [np.zeros(1)], "accepts")
    for id in ("stablehlo.torch_index_select/C5", "chlo.broadcast_add/C2"):
        assert Judge(program(id)).judge(accepts).verdict == Verdict.OPEN


def test_the_allowed_results_do_not_come_from_the_backend() -> None:
    """A fault in a reference that the judge does not share is found."""
    (fault,) = [
        one for one in faults() if (one.operation, one.kind) == ("stablehlo.floor", "one wrong element")
    ]
    judge = Judge(program("stablehlo.floor/f32/edges"))
    assert judge.judge(changed(lambda one: one)).verdict == Verdict.WITHIN
    assert judge.judge(FaultyReferences(fault)).verdict == Verdict.OUTSIDE


FOUND = [
    ("stablehlo.maximum", "NaN lost"),
    ("stablehlo.subtract", "swapped operands"),
    ("stablehlo.multiply", "lost digits"),
    ("stablehlo.reduce_window", "shifted padding"),
    ("stablehlo.transpose", "rotated permutation"),
    ("stablehlo.dynamic_slice", "the last element repeated"),
    ("stablehlo.triangular_solve", "the contrary of lower"),
    ("stablehlo.all_gather", "groups reversed"),
    ("stablehlo.reduce_scatter", "the results of the next member"),
    ("stablehlo.collective_permute", "the first pair left out"),
    ("stablehlo.partition_id", "off by one"),
    ("stablehlo.async_start", "rows reversed"),
]


@pytest.mark.parametrize(("operation", "kind"), FOUND)
def test_a_fault_is_found(operation: str, kind: str) -> None:
    chosen: list[Fault] = [one for one in faults() if (one.operation, one.kind) == (operation, kind)]
    (outcome,) = outcomes(chosen, "smoke")
    assert outcome.found_by.startswith(f"{operation}/"), outcome


FOUND_BY = [
    ("stablehlo.collective_reduce", "the first member as root", "_dynamic_root"),
    ("stablehlo.uniform_quantize", "the scale of the next slice", "/axis_0"),
    ("stablehlo.uniform_quantize", "the largest stored value clamped", "/halfway_axis_0"),
    ("chlo.broadcast_subtract", "the smallest stored value clamped", "_extremes_in_0"),
    ("stablehlo.select_and_scatter", "init_value in fewer digits", "/initial_values"),
]
"""Faults that only programs of the level ``full`` find, and what the first of these is called."""


@pytest.mark.parametrize(("operation", "kind", "name"), FOUND_BY)
def test_a_fault_is_found_at_the_level_full(operation: str, kind: str, name: str) -> None:
    chosen: list[Fault] = [one for one in faults() if (one.operation, one.kind) == (operation, kind)]
    (outcome,) = outcomes(chosen, "full")
    assert name in outcome.found_by, outcome


def test_what_a_fault_that_is_not_found_changes() -> None:
    """Integers have no NaN; a dynamic convolution of constants is replaced; the last of NaNs is open."""
    kinds = {
        ("chlo.broadcast_and", "NaN lost"): "without effect",
        ("stablehlo.get_dimension_size", "off by one"): "never called",
        ("chlo.polygamma", "NaN of n lost"): "open",
    }
    chosen = [one for one in faults() if (one.operation, one.kind) in kinds]
    found = {(one.operation, one.kind): one.state for one in outcomes(chosen, "smoke")}
    assert found == kinds


def test_each_reason_is_of_a_fault() -> None:
    listed = [(one.operation.partition(".")[2], one.kind) for one in faults()]
    for operations, kinds, text in REASONS:
        matching = [one for one in listed if re.fullmatch(operations, one[0]) and re.fullmatch(kinds, one[1])]
        assert matching, text
    assert reason("stablehlo.add", "swapped operands").startswith("the operation is commutative")
    assert not reason("stablehlo.subtract", "swapped operands")


def test_there_are_many_faults() -> None:
    listed = [(one.operation, one.kind) for one in faults()]
    assert len(listed) == len(set(listed)) > 1000


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_a_zero_has_the_sign_of_one_of_the_alternatives(dtype: type) -> None:
    """An alternative that does not allow an element has no say in its sign."""

    def bound(values: Array, *others: ResultBound) -> ResultBound:
        return ResultBound(values, np.zeros(3), np.zeros(3, np.bool_), others)

    ours, theirs = np.array([0.0, 0.0, 1.0], dtype), np.array([-0.0, 5.0, 1.0], dtype)
    if dtype is np.complex64:
        theirs.imag = 0.0
    open_choice = StoredResults([bound(ours, bound(theirs))])
    for right in (ours, theirs, np.array([theirs[0], ours[1], 1], dtype)):
        assert verdict_on(open_choice, [right], has_signed_zeros=True)[0] == Verdict.WITHIN
    negative = theirs.copy()
    negative[1] = theirs[0]
    word, detail = verdict_on(open_choice, [negative], has_signed_zeros=True)
    assert word == Verdict.ZERO_SIGN and "at [1] (1 of 3 elements)" in detail
