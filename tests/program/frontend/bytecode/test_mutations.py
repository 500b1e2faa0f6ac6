"""A sample of the campaign on mutated bytecode."""

import pytest

from .mutations import Mutator, seeds, try_chunk


@pytest.fixture(scope="module")
def mutator() -> Mutator:
    return Mutator(seeds(), series=1)


def test_mutants_are_read_or_refused(mutator: Mutator) -> None:
    chunk = try_chunk(mutator, 0, 800)
    assert chunk.findings == []
    # Enough mutants get through the container that the rest is tried too.
    assert chunk.read > 40
    assert chunk.written > 20


def test_a_mutant_is_made_from_its_number_alone(mutator: Mutator) -> None:
    assert Mutator(seeds(), series=1).mutant(7) == mutator.mutant(7)
    assert mutator.mutant(7) != mutator.mutant(8)


def test_other_errors_are_findings(mutator: Mutator, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(content: bytes, name: str) -> None:
        raise IndexError("no such item")

    monkeypatch.setattr("tests.program.frontend.bytecode.mutations.read_bytecode", fail)
    (finding,) = try_chunk(mutator, 5, 1).findings
    assert finding.startswith("5: IndexError: no such item")
