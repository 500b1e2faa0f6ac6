"""Programs whose types are quantized along an axis."""

from __future__ import annotations

import pytest

from nimblehlo.checks.backends.backend import NimbleBackend
from nimblehlo.checks.conformance import Judge, Verdict, suite
from nimblehlo.checks.conformance.suite import legal_programs
from nimblehlo.types import QUANTIZED_PER_AXIS

REFUSED = [
    f"chlo.broadcast_{one}"
    for one in (
        *("and", "compare", "complex", "next_after", "or", "polygamma", "shift_left"),
        *("shift_right_arithmetic", "shift_right_logical", "xor", "zeta"),
    )
]
"""Operations of which a constraint refuses quantized elements, or an axis."""
WITHOUT = {
    **dict.fromkeys(REFUSED, "a constraint refuses the types"),
    **dict.fromkeys(
        ("stablehlo.async_start", "stablehlo.async_done"), "a slice, their body, refuses an axis"
    ),
    "stablehlo.get_tuple_element": "its templates have elements of two sizes",
    **dict.fromkeys(
        (f"stablehlo.{one}" for one in ("send", "recv", "infeed", "outfeed", "return")),
        "no program runs alone",
    ),
}
"""Operations whose declared operands or results may be quantized along an axis, but that have no program."""


def admitting() -> list[str]:
    """The operations with operands or results that may be quantized along an axis."""
    found = []
    for one in suite.operations():
        parts = (*one.declared_operands, *one.declared_results)
        if any(part.categories & QUANTIZED_PER_AXIS for part in parts):
            found.append(one.name)
    return found


def programs_of(operation: str) -> list[suite.Program]:
    return [one for one in legal_programs(operation) if one.element_type == "quantized_per_axis"]


@pytest.mark.parametrize("operation", admitting())
def test_what_admits_such_types_has_programs_on_which_nimblehlo_is_within(operation: str) -> None:
    programs = programs_of(operation)
    assert bool(programs) == (operation not in WITHOUT)
    for one in programs:
        assert ":0, {" in one.text or ":1, {" in one.text or ":2, {" in one.text, one.text
        assert Judge(one).judge(NimbleBackend()).verdict == Verdict.WITHIN, one.id


def test_the_axis_of_a_result_follows_the_dimensions() -> None:
    (transpose,) = [one for one in programs_of("stablehlo.transpose") if one.id.endswith("_all")]
    operand, result = transpose.text.partition('"stablehlo.transpose"')[2].partition(") -> ")[::2]
    assert ":0, {" in operand and ":1, {" in result
