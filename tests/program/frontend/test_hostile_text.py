"""Text that stands for more than it holds: read in time and memory that its length justifies, or refused."""

import numpy as np
import pytest

from nimblehlo import ParseError
from nimblehlo.program.frontend.parser import parse, parse_attributes, parse_type
from nimblehlo.program.ir import DenseElementsAttribute
from nimblehlo.program.ir.printer import print_module


def aliases(sigil: str, first: str, next_form: str, levels: int) -> str:
    """Aliases of which each refers to the one before."""
    lines = [f"{sigil}0 = {first}"]
    lines += [f"{sigil}{n + 1} = {next_form.replace('%', f'{sigil}{n}')}" for n in range(levels)]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (aliases("!t", "tuple<f32>", "tuple<%, %>", 60), "the aliases of types would have more than"),
        (aliases("!t", "() -> ()", "(%, %) -> %", 60), "the aliases of types would have more than"),
        (aliases("#a", "[1]", "[%, %]", 60), "the alias #a16 would have more than"),
        (aliases("#l", "loc(unknown)", "loc(callsite(% at %))", 60), "the alias #l15 would have more than"),
        (aliases("!t", "tuple<f32>", "tuple<%>", 1000), "nested deeper than 128 levels"),
        (aliases("#a", "[1]", "[%]", 1000), "nested deeper than 128 levels"),
    ],
)
def test_aliases_that_would_be_too_large_written_out(text: str, reason: str) -> None:
    with pytest.raises(ParseError, match=reason):
        parse(text)


def test_an_alias_may_be_used_many_times() -> None:
    text = "!t = tensor<1x2x3x4x5x6x7x8xf32>\n" + "\n".join(
        f"func.func private @f{n}(!t, !t) -> !t" for n in range(1000)
    )
    assert len(parse(text).functions) == 1000


def test_a_location_may_be_nested_to_any_depth() -> None:
    definitions = aliases("#l", "loc(unknown)", 'loc("f"(%))', 5000)
    module = parse(definitions + "module {} loc(#l5000)")
    assert str(module.location).startswith("f (f (f (")
    assert print_module(module, locations=True).count('"f"') == 5000


@pytest.mark.parametrize("nested", ["[", "<a = ", "#stablehlo.x<a = "])
def test_fields_are_nested_as_deep_as_attributes(nested: str) -> None:
    text = "#stablehlo.x<a = " + nested * 100_000
    with pytest.raises(ParseError, match=r"nested deeper than 128 levels|nested too deeply"):
        parse_attributes(text)
    with pytest.raises(ParseError, match=r"nested deeper than 128 levels|nested too deeply"):
        parse_type(f"tensor<2xf32, {text}")


def test_constants_of_a_resource_share_its_bytes() -> None:
    module = parse(
        "module attributes {a = dense_resource<r> : tensor<4xi1>, b = dense_resource<r> : tensor<2x2xi1>,"
        " c = dense_resource<r> : tensor<4xi8>} {}\n"
        '{-# dialect_resources: {builtin: {r: "0x0400000001000201"}} #-}'
    )
    arrays = []
    for name in "abc":
        attribute = module.attributes[name]
        assert isinstance(attribute, DenseElementsAttribute)
        arrays.append(attribute.array)
    assert [array.tolist() for array in arrays] == [
        [True, False, True, True],
        [[True, False], [True, True]],
        [1, 0, 2, 1],
    ]
    assert np.shares_memory(arrays[0], arrays[1])
    assert not np.shares_memory(arrays[0], arrays[2])
