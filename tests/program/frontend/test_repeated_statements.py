"""Statements that are taken from equal ones give what reading them gives."""

from pathlib import Path
from unittest.mock import patch

import pytest

from nimblehlo.errors import NimbleError
from nimblehlo.program.frontend import parse, split, statement_parser
from nimblehlo.program.frontend.operation_parser import OperationParser
from nimblehlo.program.frontend.repeated_statements import RepeatedStatements
from nimblehlo.program.ir.fingerprint import fingerprint
from tests.program.frontend.test_operations import ARGUMENTS, FORMS

OPENING = (
    "func.func @main(%a: tensor<2x3xf32>, %b: tensor<2x3xf32>, %c: tensor<2x3xf32>,"
    " %i: tensor<f32>, %j: tensor<f32>) {\n"
)


def outcome(text: str) -> tuple[str, list[str]]:
    """Fingerprint and locations, or the error."""
    try:
        module = parse(text)
    except NimbleError as error:
        return str(error), []
    return fingerprint(module), [str(each.location) for each in module.walk()]


def read_each(text: str) -> tuple[str, list[str]]:
    """The outcome when every statement is read."""
    with patch.object(statement_parser, "statement_text_at", lambda text, start: None):
        return outcome(text)


def statements_read(text: str) -> int:
    """How many statements the parser reads."""
    with patch.object(
        OperationParser, "parse_pretty", autospec=True, side_effect=OperationParser.parse_pretty
    ) as read:
        parse(text)
    return read.call_count


PRETTY_FORMS_TWICE = [
    pytest.param(
        "".join(
            f"func.func @f{n}({ARGUMENTS}) {{\n{part.partition('// generic')[0]}\nreturn\n}}\n"
            for n in (1, 2)
        ),
        id=part.splitlines()[0][3:],
    )
    for _, part in split(FORMS)
]
"""What the first function has taught the parser, the second one uses."""


@pytest.mark.parametrize("text", PRETTY_FORMS_TWICE)
def test_pretty_forms(text: str) -> None:
    assert outcome(text) == read_each(text)
    assert outcome(text)[1]


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("stablehlo.add %a, %b : tensor<2x3xf32>", "stablehlo.add %b, %c : tensor<2x3xf32>"),
        ("stablehlo.add %a, %b : tensor<2x3xf32>", "stablehlo.add %c, %c : tensor<2x3xf32>"),
        (
            "stablehlo.negate %a : tensor<2x3xf32> loc(#place)",
            'stablehlo.negate %b : tensor<2x3xf32> loc("g":1:2)',
        ),
        (
            'stablehlo.negate %a : tensor<2x3xf32> loc(callsite("f":1:2 at "g":3:4))',
            "stablehlo.negate %b : tensor<2x3xf32> loc(#place)",
        ),
        (
            "stablehlo.reduce(%a init: %i) applies stablehlo.add across dimensions = [0]"
            " : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>",
            "stablehlo.reduce(%b init: %j) applies stablehlo.add across dimensions = [0]"
            " : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32>",
        ),
    ],
)
def test_equal_lines_are_read_once(first: str, line: str) -> None:
    last = "%3 = stablehlo.abs %a : tensor<2x3xf32>"
    text = f'{OPENING}%0 = {first}\n%1 = {line}\n%2 = {line}\n{last}\n}}\n#place = loc("f":1:2)'
    assert outcome(text) == read_each(text)
    assert outcome(text)[1]
    assert statements_read(text) == 2


@pytest.mark.parametrize(
    ("first", "line"),
    [
        ("stablehlo.add %a, %a : tensor<2x3xf32>", "stablehlo.add %a, %b : tensor<2x3xf32>"),
        ("stablehlo.add %a, %b : tensor<2x3xf32>", "stablehlo.add %a, %i : tensor<2x3xf32>"),
        ("stablehlo.add %a, %b : tensor<2x3xf32>", "stablehlo.add %a, %z : tensor<2x3xf32>"),
        ("stablehlo.negate %a : tensor<2x3xf32> // %b", "stablehlo.negate %a : tensor<2x3xf32> // %c"),
        ("stablehlo.add %a, %b : tensor<2x3xf32>", "stablehlo.add %a, %b : tensor<2x3xf32> {x}"),
        (
            "stablehlo.reduce(%i init: %j), (%j init: %i) across dimensions = []"
            " : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)",
            "stablehlo.reduce(%a init: %j), (%b init: %i) across dimensions = []"
            " : (tensor<f32>, tensor<f32>, tensor<f32>, tensor<f32>) -> (tensor<f32>, tensor<f32>)",
        ),
    ],
)
def test_lines_that_differ(first: str, line: str) -> None:
    text = f"{OPENING}%0 = {first}\n%1 = {line}\n%2 = {line}\n}}"
    assert outcome(text) == read_each(text)


def test_a_statement_that_goes_on_in_the_next_line() -> None:
    function = "func.func @f(%a: tensor<f32>) -> tensor<f32> {\nreturn\n%a : tensor<f32>\n}"
    text = f"{OPENING}return\n}}\n{function}"
    assert outcome(text) == read_each(text)


def test_long_text_lines_are_not_stored() -> None:
    constants = ", ".join(["1.0"] * 1000)
    line = f"stablehlo.constant dense<[{constants}]> : tensor<1000xf32>"
    with patch.object(RepeatedStatements, "store") as store:
        parse(f"func.func @main() {{\n%0 = {line}\n%1 = {line}\n}}")
    assert not store.called


def test_the_location_of_a_statement_with_regions() -> None:
    line = """%r = "stablehlo.reduce"(%a, %i) ({
        ^bb0(%x: tensor<f32>, %y: tensor<f32>):
          %s = stablehlo.add %x, %y : tensor<f32>
          stablehlo.return %s : tensor<f32>
        }) {dimensions = array<i64: 0>} : (tensor<2x3xf32>, tensor<f32>) -> tensor<3xf32> loc("f":3:4)"""
    barrier = """stablehlo.optimization_barrier
        %a : tensor<2x3xf32> loc("g":1:2)"""
    text = f"{OPENING}{line}\n%q = {barrier}\nreturn\n}}"
    assert outcome(text) == read_each(text)
    assert {"f:3:4", "g:1:2"} <= set(outcome(text)[1])


@pytest.mark.parametrize(
    "line",
    [
        "%0 = stablehlo.transpose %a, dims = [1 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>",
        "%0 = stablehlo.transpose %a, dims = [1, 0] {x} : (tensor<2x3xf32>) -> tensor<3x2xf32>",
        "%0 = stablehlo.add %a, %s : tensor<2x3xf32>",
        "%0 = stablehlo.add %a : tensor<2x3xf32>",
        "%0 = stablehlo.add %a, %b, %b : tensor<2x3xf32>",
        "%0 = stablehlo.iota dim = 1x : tensor<2x3xf32>",
        "%0 = stablehlo.compare LTX, %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xi1>",
        "%0 = stablehlo.slice %a [0:2, 0:3 : (tensor<2x3xf32>) -> tensor<2x3xf32>",
        '"stablehlo.add"(%a, %s) {x} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>',
        '"stablehlo.add"(%a, %b) <{x}> {x} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>',
        "return %a : tensor<2x3xf32>, tensor<f32>",
        "return %a : tensor<2x3xf32> :",
    ],
)
def test_unusual_and_malformed_lines(line: str) -> None:
    known = """%k0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
               %k1 = stablehlo.add %a, %b : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
               "test.x"() {x} : () -> tensor<f32>"""
    text = f"func.func @main({ARGUMENTS}) {{\n{known}\n{line}\n}}"
    assert outcome(text) == read_each(text)


@pytest.mark.conformance
def test_conformance_programs(conformance_dir: Path) -> None:
    for path in sorted(conformance_dir.rglob("*.mlir"))[::5]:
        text = path.read_text()
        assert outcome(text) == read_each(text), path.name
