"""Words for attributes, as errors name them."""

from __future__ import annotations

from typing import Final

from ...types import ElementType, QuantizedType, TensorType
from . import attributes

ELIDED: Final = "__elided__"
"""The name that MLIR prints in place of values that it leaves out (``large_elements_limit``)."""

MAX_SHOWN: Final = 60
"""Characters of an attribute's text that an error shows."""

_ELIDED_VALUES: Final = (
    "its values were elided when the text was printed: print the module again with all values "
    "(large_elements_limit=None), or load its bytecode"
)

_KINDS: Final = {
    attributes.StringAttribute: "a string",
    attributes.UnitAttribute: "a unit attribute",
    attributes.ArrayAttribute: "a list of attributes",
    attributes.DictionaryAttribute: "a dictionary",
    attributes.DenseStringsAttribute: "a constant of strings",
    attributes.LocationAttribute: "a location",
    attributes.FunctionAttribute: "a Python function",
    bool: "a boolean",
    int: "an integer",
    float: "a float",
    str: "a string",
    tuple: "a list",
}


def describe_attribute(value: object) -> str:
    """Words for an attribute, or for a plain value of a struct attribute's field: ``"the integer 3 of i64"``.

    A resource without a blob is described by the reason why its values are not there.
    """
    match value:
        case attributes.BoolAttribute(flag):
            return f"the boolean {str(flag).lower()}"
        case attributes.IntegerAttribute(number, element_type):
            return f"the integer {number} of {element_type}"
        case attributes.FloatAttribute(number, element_type):
            return f"the float {number} of {element_type}"
        case attributes.TypeAttribute(held):
            return f"the type {held}"
        case ElementType() | QuantizedType() | TensorType():
            return f"the type {value}"
        case attributes.SymbolAttribute():
            return f"the symbol @{value}"
        case attributes.DenseElementsAttribute():
            return f"a constant of {value.type}"
        case attributes.DenseArrayAttribute(element_type, _):
            return f"a list of {element_type}"
        case attributes.StructAttribute(dialect, mnemonic, _):
            return f"an attribute #{dialect}.{mnemonic}"
        case attributes.EnumAttribute(dialect, mnemonic, member):
            return f"#{dialect}<{mnemonic} {member}>"
        case attributes.DialectAttribute():
            return f"the attribute {_shortened(str(value))}"
        case attributes.OpaqueAttribute(text):
            return f"the attribute {_shortened(text)}"
    return _KINDS.get(type(value), "an attribute of another kind")


def missing_values(value: attributes.DenseResourceAttribute) -> str:
    """Why a resource has no values, and what the reader can do about it."""
    if value.name == ELIDED:
        return _ELIDED_VALUES
    return (
        f"the text has no values for the resource {value.name!r}: give them at its end, as in "
        f'{{-# dialect_resources: {{ builtin: {{ {value.name}: "0x..." }} }} #-}}, '
        "or load the module's bytecode, which has them"
    )


def _shortened(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
