"""The single match that reads usual spellings gives what the steps give, for every program at hand."""

from pathlib import Path

import pytest

from nimblehlo.errors import NimbleError
from nimblehlo.frontend import assembly, operation_parser, parse, split, statement_parser
from nimblehlo.frontend.operation_parser import OperationParser
from nimblehlo.frontend.regex_assembly import RegexFormat
from nimblehlo.ir.fingerprint import fingerprint
from tests.frontend.test_operations import ARGUMENTS, FORMS


@pytest.fixture(autouse=True)
def _quick_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forms are quick from their first use, and meet statements that repeat earlier ones."""
    monkeypatch.setattr(assembly, "_USES_BEFORE_REGEX", 0)
    monkeypatch.setattr(operation_parser, "_FORMATS", {})
    monkeypatch.setattr(statement_parser, "statement_text_at", lambda text, start: None)


def outcome(text: str) -> tuple[str, list[str]]:
    """Fingerprint and locations, or the error."""
    try:
        module = parse(text)
    except NimbleError as error:
        return str(error), []
    return fingerprint(module), [str(each.location) for each in module.walk()]


def without_regex_formats(text: str) -> tuple[str, list[str]]:
    """The outcome when every operation is read step by step."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(RegexFormat, "read", lambda self, parser, state: False)
        patch.setattr(OperationParser, "_regex_generic_rest", lambda self, state: False)
        return outcome(text)


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
    assert outcome(text) == without_regex_formats(text)
    assert outcome(text)[1]


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
    assert outcome(text) == without_regex_formats(text)


@pytest.mark.conformance
def test_conformance_programs(conformance_dir: Path) -> None:
    for path in sorted(conformance_dir.rglob("*.mlir"))[::5]:
        text = path.read_text()
        assert outcome(text) == without_regex_formats(text), path.name
