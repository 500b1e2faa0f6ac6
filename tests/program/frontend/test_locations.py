"""Locations: read in every form, kept, and shown."""

import pytest

from nimblehlo.errors import ParseError
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import (
    UNKNOWN,
    CallSiteLocation,
    DictionaryAttribute,
    FileLocation,
    FusedLocation,
    Location,
    NameLocation,
    Operation,
    SourceLocation,
    StringAttribute,
)
from tests.program.frontend.sources import operation

FILE = FileLocation("a.py", 3, 4)
METADATA = DictionaryAttribute({"a": StringAttribute("]")})


def location(text: str, definitions: str = "") -> Location:
    """The location of an operation that has this one."""
    module = parse(f"func.func @f() {{\n  return loc({text})\n}}\n{definitions}")
    return next(module.walk()).location


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("unknown", UNKNOWN),
        ('"a.py":3:4', FILE),
        ('"a.py":3:4 to :9', FileLocation("a.py", 3, 4, (3, 9))),
        ('"a.py":3:4 to 5:9', FileLocation("a.py", 3, 4, (5, 9))),
        ('"a.py":3', FileLocation("a.py", 3, 0)),
        ('"a.py" : 0x3 : 4 to : 9', FileLocation("a.py", 3, 4, (3, 9))),
        ('"C:\\\\t b\\\\n.py":3:4', FileLocation("C:\\t b\\n.py", 3, 4)),
        ('"C:\\\\a.py":3:4 to :9', FileLocation("C:\\a.py", 3, 4, (3, 9))),
        ('"C:\\\\a.py":3', FileLocation("C:\\a.py", 3, 0)),
        ('"\\C3\\A9":3:4 to 5:6', FileLocation("é", 3, 4, (5, 6))),
        ('"x"("a\\22":3:4 to :9)', NameLocation("x", FileLocation('a"', 3, 4, (3, 9)))),
        ('callsite("a\\22":3 at "b":4)', CallSiteLocation(FileLocation('a"', 3, 0), FileLocation("b", 4, 0))),
        ('fused["a\\22":3:4 to :9]', FusedLocation((FileLocation('a"', 3, 4, (3, 9)),))),
        ('"x\\22"', NameLocation('x"')),
        ('"x"("a.py":3:4)', NameLocation("x", FILE)),
        ('callsite("f" at "a.py":3:4)', CallSiteLocation(NameLocation("f"), FILE)),
        ("fused[]", FusedLocation(())),
        ('fused<{a = "]"}>["f", unknown]', FusedLocation((NameLocation("f"), UNKNOWN), METADATA)),
        ("#here", FILE),
        ('"x"(#here)', NameLocation("x", FILE)),
        ("callsite(#here at #there)", CallSiteLocation(FILE, NameLocation("y", FILE))),
    ],
)
def test_forms(text: str, expected: Location) -> None:
    assert location(text, '#there = loc("y"(#here))\n#here = loc("a.py":3:4)') == expected


def test_lines_and_columns_have_32_bits() -> None:
    assert location('"a":4294967295:4294967295') == FileLocation("a", 2**32 - 1, 2**32 - 1)


def test_without_a_location_the_place_in_the_text() -> None:
    found = operation("%0 = stablehlo.add %a, %a : tensor<f32>", "%a: tensor<f32>").location
    assert isinstance(found, SourceLocation)
    assert str(found) == "<text>:2:6"


def test_arguments_and_functions_may_have_locations() -> None:
    module = parse(
        """module {
          func.func @f(%a: tensor<f32> {x.y} loc("a"), %b: tensor<f32> loc(#l)) -> tensor<f32> {
            %0 = "stablehlo.reduce"(%a, %b) ({
            ^bb0(%c: tensor<f32> loc("c"), %d: tensor<f32> loc(unknown)):
              stablehlo.return %c : tensor<f32> loc(#l)
            }) {dimensions = array<i64>} : (tensor<f32>, tensor<f32>) -> tensor<f32> loc("r")
            return %0 : tensor<f32>
          } loc("f")
        } loc("m")
        #l = loc("l")"""
    )
    names = [str(each.location) for each in module.walk() if isinstance(each, Operation)]
    assert names[:2] == ["r", "l"]
    assert (str(module.location), str(module.functions["f"].location)) == ("m", "f")


def test_long_chains_of_aliases() -> None:
    chain = "\n".join(f'#l{n} = loc("l{n}"(#l{n - 1}))' for n in range(1, 3000))
    found = location("#l2999", f'#l0 = loc("l0")\n{chain}')
    depth = 0
    while isinstance(found, NameLocation) and found.child is not None:
        found, depth = found.child, depth + 1
    assert depth == 2999


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nowhere",
        '"a":',
        '"a":1:',
        '"a":-1:2',
        '"a":1:2 to 3',
        '"a":1:2 to3:4',
        '"a":4294967296:1',
        '"a\\q":1:2',
        '"a"("b"',
        '"a"(loc("b"))',
        "fused[",
        "callsite(unknown)",
        "#none",
        "#loop",
    ],
)
def test_malformed(text: str) -> None:
    with pytest.raises(ParseError):
        location(text, "#loop = loc(#loop)")
