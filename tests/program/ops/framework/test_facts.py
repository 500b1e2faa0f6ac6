"""Every declaration answers every question about its operation, with code that exists."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

import pytest

from nimblehlo.checks.error_bounds import double_double_program
from nimblehlo.compiler.partitioner import rules as partition_rules
from nimblehlo.compiler.specialize.framework import intervals, unused_results
from nimblehlo.compiler.specialize.loop_sharding import operand_sharding
from nimblehlo.program.ops.elementwise.base import Elementwise
from nimblehlo.program.ops.framework.declaration import Op, declarations
from nimblehlo.program.ops.framework.facts import FACTS, named_code


def wider_rules() -> set[str]:
    """The rules of wider evaluation, and the functions of mpmath that declarations name."""
    named = {declaration.wider for declaration in declarations()}
    functions = {name for name in named if name.startswith(double_double_program.MPMATH)}
    return set(double_double_program.RULES) | functions


NAMES: Final[dict[str, Collection[str]]] = {
    "interval": {"", *intervals.RULES},
    "loop_sharding": {"", *operand_sharding.RULES},
    "partition": partition_rules.RULES,
    "unused_results": {"", *unused_results.RULES},
    "wider": wider_rules(),
}
"""For each fact that names code the names that exist."""

ELEMENTWISE_RULES: Final = ("convert", "elementwise", "linear", "maximum", "minimum")

MODULES: Final = {
    "block_rule": "nimblehlo.compiler.loops",
    "kernel": "nimblehlo.compiler.plan.implementations",
    "numpy": "nimblehlo.program.ops",
    "region_loop": "nimblehlo.compiler.loops",
}
"""For each fact that names a module and what it defines the package of the module."""

REASONS: Final[dict[tuple[str, str], str]] = {
    ("accuracy", "tan"): "StableHLO's pass expands CHLO's",
    ("emit", "broadcast_"): "they become operations on operands of one shape before code is made",
    ("loop_sharding", "broadcast_"): "operands that broadcast have other dimensions",
    ("memory", "broadcast_"): "they become operations on operands of one shape before they are planned",
    ("moved_operands", "broadcast_"): "elements of operands that broadcast are repeated by other operations",
    ("partition", "broadcast_"): "operands that broadcast may not be partial sums",
}
"""Why declarations of one family state a fact differently: by the fact, and the name without dialect or, for
all operations of CHLO that broadcast their operands, ``broadcast_``."""


@pytest.mark.parametrize("fact", NAMES)
def test_declarations_name_code_that_exists(fact: str) -> None:
    stated = {declaration.name: getattr(declaration, fact) for declaration in declarations()}
    assert {name: value for name, value in stated.items() if value not in NAMES[fact]} == {}


@pytest.mark.parametrize("fact", NAMES)
def test_all_code_is_named_by_a_declaration(fact: str) -> None:
    assert set(NAMES[fact]) - {getattr(declaration, fact) for declaration in declarations()} == set()


@pytest.mark.parametrize("fact", MODULES)
def test_code_that_is_named_by_its_module_exists(fact: str) -> None:
    names = {getattr(declaration, fact) for declaration in declarations()} - {""}
    assert names
    for name in names:
        assert named_code(MODULES[fact], name) is not None


def test_elementwise_operations_are_partitioned_as_such() -> None:
    for declaration in declarations():
        if issubclass(declaration, Elementwise):
            assert declaration.partition in ELEMENTWISE_RULES, declaration.name


def differing(one: type[Op], other: type[Op]) -> set[str]:
    """The facts that two declarations state differently."""
    return {fact for fact in FACTS if repr(getattr(one, fact)) != repr(getattr(other, fact))}


def test_a_family_states_a_fact_in_one_way_unless_there_is_a_reason() -> None:
    """Declarations of StableHLO and CHLO of one name, and CHLO's that broadcast with what they broadcast."""
    of_name = {declaration.name: declaration for declaration in declarations()}
    found: set[tuple[str, str]] = set()
    for name, declaration in of_name.items():
        dialect, _, own = name.partition(".")
        if dialect != "chlo":
            continue
        base = own.removeprefix("broadcast_")
        family = own if base == own else "broadcast_"
        for other in (f"stablehlo.{base}", f"chlo.{base}"):
            if other in of_name:
                found |= {(fact, family) for fact in differing(declaration, of_name[other])}
    assert found - set(REASONS) == set(), "give a reason, or state the same"
    assert set(REASONS) - found == set(), "no reason is needed"


def test_an_unknown_fact_is_refused() -> None:
    with pytest.raises(TypeError, match="which is no fact"):
        type("Unknown", (Op,), {}, colour="red")


def test_functions_of_mpmath_exist() -> None:
    mpmath = pytest.importorskip("mpmath")
    for name in wider_rules():
        function = name.removeprefix(double_double_program.MPMATH)
        if function != name:
            assert hasattr(mpmath, function) or function in double_double_program.COMPOSED
