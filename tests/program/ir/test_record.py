"""Records: classes that only hold values."""

import copy
import pickle
from typing import Any

import pytest

from nimblehlo.program.ir import (
    BoolAttribute,
    DenseArrayAttribute,
    FloatAttribute,
    IntegerAttribute,
    SymbolAttribute,
    UnitAttribute,
)
from nimblehlo.program.ir.location import FileLocation, NameLocation
from nimblehlo.program.ir.record import IdentityRecord
from nimblehlo.types import ELEMENT_TYPES

I64 = ELEMENT_TYPES["i64"]


def test_fields_are_given_by_place_or_name_and_may_have_defaults() -> None:
    assert IntegerAttribute(3, I64) == IntegerAttribute(type=I64, value=3)
    assert SymbolAttribute("f") == SymbolAttribute("f", ()) == SymbolAttribute(root="f", nested=())
    assert NameLocation("n").child is None


@pytest.mark.parametrize("values", [{}, {"value": 1}, {"value": 1, "type": I64, "other": 2}])
def test_fields_that_are_missing_or_unknown_are_rejected(values: dict[str, Any]) -> None:
    with pytest.raises(TypeError):
        IntegerAttribute(**values)


def test_records_are_equal_where_class_and_fields_are() -> None:
    assert IntegerAttribute(1, I64) != IntegerAttribute(2, I64)
    assert IntegerAttribute(1, I64) != IntegerAttribute(1, ELEMENT_TYPES["i32"])
    assert BoolAttribute(True) != SymbolAttribute("f")
    assert BoolAttribute(True) != True  # noqa: E712
    assert UnitAttribute() == UnitAttribute()
    assert len({IntegerAttribute(1, I64), IntegerAttribute(1, I64), UnitAttribute(), UnitAttribute()}) == 2


def test_floats_are_equal_where_their_signs_are() -> None:
    f32, zeros = ELEMENT_TYPES["f32"], (0.0, -0.0)
    for one in (FloatAttribute, lambda zero, type: DenseArrayAttribute(type, (1.0, zero))):
        assert one(0.0, f32) == one(0.0, f32) and one(-0.0, f32) == one(-0.0, f32)
        assert len({one(zero, f32) for zero in zeros * 2}) == 2
    assert DenseArrayAttribute(I64, (0, 1)) == DenseArrayAttribute(I64, (0, 1))
    assert DenseArrayAttribute(I64, (0, 1)) != DenseArrayAttribute(I64, (0,))


def test_records_do_not_change() -> None:
    location = FileLocation("f", 1, 2)
    with pytest.raises(AttributeError, match="cannot assign to line: a FileLocation does not change"):
        location.line = 3  # type: ignore[misc]
    with pytest.raises(AttributeError, match="cannot delete line"):
        del location.line
    with pytest.raises(AttributeError):
        location.other = 3  # type: ignore[attr-defined]
    assert not hasattr(location, "__dict__")


def test_records_are_copied_pickled_matched_and_shown() -> None:
    symbol = SymbolAttribute("f", ("g",))
    assert copy.deepcopy(symbol) == pickle.loads(pickle.dumps(symbol)) == symbol
    assert repr(symbol) == "SymbolAttribute(root='f', nested=('g',))"
    match symbol:
        case SymbolAttribute(root, (inner,)):
            assert (root, inner) == ("f", "g")
        case _:
            pytest.fail("the pattern must match")


def test_distinct_records_equal_only_themselves() -> None:
    class Held(IdentityRecord):
        values: list[int]

    one, other = Held([1]), Held([1])
    assert one == one and one != other and len({one, other}) == 2
    with pytest.raises(AttributeError, match="does not change"):
        one.values = []
