"""The programs of the conformance suite: what they cover, and that each is what it says."""

from __future__ import annotations

import functools

import pytest

from nimblehlo.checks.backends.backend import NimbleBackend
from nimblehlo.checks.conformance import (
    Program,
    Verdict,
    conformance,
    coverage,
    edges,
    illegal,
    programs,
    suite,
)
from nimblehlo.checks.conformance.broken import broken_programs, violated
from nimblehlo.checks.conformance.mutations import mutations
from nimblehlo.errors import UnsupportedError, VerifyError
from nimblehlo.program.loading import load

SAMPLE = 37
"""One of so many programs of the level ``smoke`` runs here; a command runs all."""


def names() -> list[str]:
    return [one.name for one in suite.operations()]


@functools.cache
def smoke_programs() -> list[Program]:
    return list(programs(level=suite.SMOKE))


def test_every_operation_has_programs_or_a_reason() -> None:
    reasons = {one.name: coverage.reason_without_programs(one) for one in suite.operations()}
    without = set(names()) - {one.operation for one in smoke_programs() if not one.label}
    assert {name for name, reason in reasons.items() if reason} == without
    assert {name.partition(".")[2] for name in without} == {"return", "send", "recv", "infeed", "outfeed"}


def test_every_constraint_has_a_program() -> None:
    for declaration in suite.operations():
        labels = {one.label for one in declaration.declared_constraints}
        stored = {one.label for one in illegal.stored().get(declaration.name, ())}
        assert labels == stored, f"{declaration.name}: run tools/conformance_programs.py"


@pytest.mark.parametrize("name", names())
def test_each_stored_program_breaks_its_constraint(name: str) -> None:
    (declaration,) = [one for one in suite.operations() if one.name == name]
    rules = {one.label: one.rule for one in declaration.declared_constraints}
    for one in illegal.stored().get(name, ()):
        with pytest.raises(VerifyError) as caught:
            load(one.text)
        assert (caught.value.operation, caught.value.label) == (name, one.label)
        assert one.rule == rules[one.label]


def test_programs_have_ids_of_their_own() -> None:
    ids = [one.id for one in smoke_programs()]
    assert len(ids) == len(set(ids))
    assert "stablehlo.pad/f32/negative_into_interior" in ids
    assert "stablehlo.pad/C3" in ids


def test_smoke_is_a_part_of_full() -> None:
    chosen = ["stablehlo.pad", "chlo.top_k"]
    smoke, full = ({one.id: one.text for one in programs(chosen, level)} for level in suite.LEVELS)
    assert smoke.items() < full.items()


def test_an_operation_is_tried_in_each_element_type() -> None:
    types = {one.element_type for one in suite.legal_programs("stablehlo.reverse")}
    assert len(types) == len(suite.ELEMENT_TYPE_CHOICES) - 1
    assert "quantized_per_axis" not in types
    types = {one.element_type for one in suite.legal_programs("stablehlo.complex")}
    assert types == {"f32", "f64"}


def test_an_unknown_operation_is_refused() -> None:
    with pytest.raises(UnsupportedError, match=r"no operation 'stablehlo.nothing'"):
        list(programs(["stablehlo.nothing"]))
    with pytest.raises(UnsupportedError, match=r"'stablehlo.flor'; near are stablehlo.floor"):
        list(programs(["stablehlo.flor"]))


def test_a_change_breaks_one_constraint() -> None:
    broken = {one.label: one for one in broken_programs("stablehlo.transpose")}
    assert set(broken) == {"C1", "C2", "C3", "C4"}
    assert all(one.is_alone for one in broken.values())


def test_changes_are_made_one_at_a_time() -> None:
    template = suite.legal_templates("stablehlo.transpose", "f32")[0]
    assert violated(template) == ([], True)
    changed = list(mutations(template))
    assert len({str(one.module()) for one in changed}) > 50
    assert all(one.operation == template.operation for one in changed)


def test_coverage_counts_types_and_constraints() -> None:
    (declaration,) = [one for one in suite.operations() if one.name == "stablehlo.is_finite"]
    row = coverage.coverage(declaration)
    assert row.element_types[0] == "f32"
    assert row.refused_types == {} and "quantized" in row.element_types
    assert (row.alone, row.with_others, row.missing) == (("C1",), (), ())
    text = coverage.table(["stablehlo.is_finite"])
    assert "| `stablehlo.is_finite` |" in text and "| 0 1 2 3 4 5 6 | 0 1 odd even |" in text
    assert "1 of 1 constraints have a program that breaks them, 1 of these alone" in text


@pytest.mark.parametrize("name", ["stablehlo.transpose", "chlo.broadcast_add"])
def test_edges_have_every_rank(name: str) -> None:
    row = edges.edges(name)
    assert set(row.ranks) >= set(range(7))
    assert {"0", "1", "odd", "even"} >= set(row.sizes) >= {"1", "odd", "even"}
    assert {"NaN", "largest integer"} <= set(row.values)


def test_each_window_of_select_and_scatter_has_elements() -> None:
    """The specification leaves open what a window of padding alone selects."""
    padded = [one for one in suite.legal_programs("stablehlo.select_and_scatter") if "_padding" in one.id]
    assert padded and not any("only_padding" in one.id for one in padded)


def test_nimblehlo_is_within_on_a_sample() -> None:
    sample = smoke_programs()[::SAMPLE]
    report = conformance([NimbleBackend()], chosen=sample)
    assert report.programs == len(sample) > 20
    assert [one for one in report.judgements if one.verdict != Verdict.WITHIN] == []
