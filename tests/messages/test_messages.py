"""The messages of errors name nothing of the code, and are grammatical.

The mutants are a sample of what ``python -m tests.messages`` tries.
"""

from __future__ import annotations

import ast
import subprocess
import sys

import pytest

import nimblehlo
from nimblehlo import ParseError, VerifyError
from nimblehlo.errors import INTERNAL_ERROR, REPORT_IT, counted, failure_reason
from nimblehlo.program.frontend import parse_attributes
from nimblehlo.program.ir.description import MAX_SHOWN, describe_attribute
from tests.conftest import ROOT
from tests.messages.wording import faults

pytest.importorskip("resource", reason="this system does not limit the memory of a process")

FAULTY = {
    "a Python type": ["input 0 has the type NoneType", "k is object at 0x7f"],
    "a Python value": ["value has type None, but result has f32", "body takes (f32,)"],
    "a Python type's name for a value": ["offset_dims must be a list of i64, but is tuple"],
    "a double space": ["lhs is  f32"],
    "an article": ["lhs must be a i32", "lhs must be an tensor", "k must be a integer"],
    "a doubled word": ["the the result is f32"],
    "two verbs": ["result is f32, but its type must be is f64"],
    "a bare category": ["results must be any, but is !a.b", "k must be integer, but is f32"],
    "a plural of one": ["has 1 operands, but must have 2", "rhs has 1 input features"],
    "a name of the code": [
        "value must be a constant, but is DenseResourceAttribute",
        "failed with IndexError: 3",
    ],
    "brackets that do not match": ["dimensions = [1, 2 has duplicates"],
}
GOOD = [
    "stablehlo.add: (C1) rhs is tensor<2xf32>, but lhs is tensor<3xf32>, at m.mlir:2:3",
    "dimension is 3, but must be in [0, 3), where 3 is the rank of operand",
    "values must be equal, but 1 of 1 elements differ, first at index [0]: actual is 1.0, expected is 2.0",
    "m.mlir:1:2: expected '('\n  the the IndexError (((",
    "there is no target @TopK",
]


@pytest.mark.parametrize(
    ("what", "message"), [(what, text) for what, texts in FAULTY.items() for text in texts]
)
def test_faults_are_found(what: str, message: str) -> None:
    assert [fault.partition(":")[0] for fault in faults(message)] == [what]


@pytest.mark.parametrize("message", GOOD)
def test_good_messages_have_no_faults(message: str) -> None:
    assert faults(message) == []


def test_messages_of_rejected_programs_and_mutants_have_no_faults() -> None:
    """In a process of their own, whose memory is limited."""
    command = [sys.executable, "-m", "tests.messages", "--own", "--count", "1500"]
    finished = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False)
    assert finished.returncode == 0, finished.stdout[-3000:] + finished.stderr
    numbers = finished.stdout.splitlines()[-1].split()
    assert int(numbers[0]) > 2000 and int(numbers[3]) > 500, numbers


NAMES_OF_TYPES = {
    "checks/backends/backend.py": "an exception of another system",
    "checks/conformance/archive.py": "an exception of NumPy while reading a file",
    "cli/__init__.py": "the kind of a NimbleError, which users catch by this name",
    "cli/notebook.py": "the kind of a NimbleError, as on the command line",
    "errors.py": "an internal error, for its report",
    "program/frontend/loader.py": "the type of the user's own object",
    "checks/fuzzing/campaign.py": "an internal error, for its report",
    "execution/grid/scheduler.py": "an interruption such as KeyboardInterrupt",
    "execution/inputs.py": "the type of the user's own object",
    "program/ir/record.py": "misuse of a class from Python",
    "jax/pjrt/failures.py": "an interruption such as SystemExit",
    "checks/minimizer/oracles.py": "text that is searched, not shown",
    "program/ops/custom_calls/user_functions.py": "an exception of the user's function",
    "compiler/loops/native_code.py": "a key",
    "compiler/loops/regions/region_code.py": "a key",
    "checks/testing/collection.py": "an exception of the user's test",
    "types.py": "a representation in Python",
}
"""Files that write the name of a Python type into a text, and what it is."""


def _names_a_type(node: ast.AST) -> bool:
    """Whether it is ``type(x).__name__`` or ``x.__class__.__name__``."""
    if not isinstance(node, ast.Attribute) or node.attr not in ("__name__", "__qualname__"):
        return False
    return ast.unparse(node.value).startswith("type(") or ast.unparse(node.value).endswith(".__class__")


def test_texts_name_no_python_types() -> None:
    found = set()
    for path in sorted((ROOT / "runtime").rglob("*.py")):
        for text in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(text, ast.JoinedStr) and any(map(_names_a_type, ast.walk(text))):
                found.add(path.relative_to(ROOT / "runtime").as_posix())
    assert found == set(NAMES_OF_TYPES)


CONSTANT = """func.func @main() -> tensor<4xf32> {{
  %0 = stablehlo.constant dense_resource<{name}> : tensor<4xf32>
  return %0 : tensor<4xf32>
}}
{{-# dialect_resources: {{ builtin: {{ weights: "{blob}" }} }} #-}}"""


def test_elided_values_are_named_so() -> None:
    with pytest.raises(VerifyError, match=r"elided when the text was printed: .*large_elements_limit=None"):
        nimblehlo.load(CONSTANT.format(name="__elided__", blob="0x04000000"))


def test_a_missing_resource_is_named_with_the_way_to_pass_it() -> None:
    with pytest.raises(VerifyError, match=r"no values for the resource 'other': .*{ other: \"0x...\" }"):
        nimblehlo.load(CONSTANT.format(name="other", blob="0x04000000"))


def test_a_resource_has_all_elements() -> None:
    whole = "0x04000000" + "0000803F" * 4
    assert nimblehlo.execute(CONSTANT.format(name="weights", blob=whole))[0].tolist() == [1.0] * 4
    for blob in ("0x040000000000803F", "0x040000000000803F0000803F"):
        with pytest.raises(ParseError, match="expected 32 hexadecimal digits"):
            nimblehlo.load(CONSTANT.format(name="weights", blob=blob))


DESCRIBED = {
    "true": "the boolean true",
    "3 : i32": "the integer 3 of i32",
    "1.5 : f32": "the float 1.5 of f32",
    '"text"': "a string",
    "unit": "a unit attribute",
    "tensor<f32>": "the type tensor<f32>",
    "@name": "the symbol @name",
    "[1, 2]": "a list of attributes",
    "array<i64: 1>": "a list of i64",
    "{a = 1}": "a dictionary",
    "dense<1> : tensor<2xi8>": "a constant of tensor<2xi8>",
    "#stablehlo<comparison_direction LT>": "#stablehlo<comparison_direction LT>",
    "#stablehlo.channel_handle<handle = 1, type = 1>": "an attribute #stablehlo.channel_handle",
    "#other.thing<1>": "the attribute #other.thing<1>",
    "loc(unknown)": "a location",
}


@pytest.mark.parametrize("text", DESCRIBED)
def test_attributes_are_described_in_words(text: str) -> None:
    (attribute,) = parse_attributes(text, "<text>")
    assert describe_attribute(attribute) == DESCRIBED[text]


def test_long_attributes_are_shortened() -> None:
    for length, ending in ((MAX_SHOWN, ">"), (MAX_SHOWN + 1, "...")):
        text = "#other.b<".ljust(length - 1, "a") + ">"
        (attribute,) = parse_attributes(text, "<text>")
        described = describe_attribute(attribute)
        assert described.endswith(ending)
        assert len(described) <= len("the attribute ") + MAX_SHOWN + len("...")


def test_an_internal_error_says_so_and_how_to_report_it() -> None:
    reason = failure_reason(IndexError("list index out of range"))
    assert reason == f"{INTERNAL_ERROR} (IndexError: list index out of range): {REPORT_IT}"
    assert "reports: [Errno 28] full" in failure_reason(OSError(28, "full"))


def test_numbers_agree_with_their_nouns() -> None:
    assert [counted(number, "operand") for number in (0, 1, 2)] == ["0 operands", "1 operand", "2 operands"]
