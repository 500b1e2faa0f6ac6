"""The compact form of a convolution's dimension numbers: ``[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]``.

Source: specification, "convolution".
"""

from __future__ import annotations

from typing import Final

from ..ir.attributes import FieldValue
from .lexer import Cursor, token_pattern

_DIMENSION: Final = token_pattern(r"(?:(\d{1,9})|([A-Za-z]))(?![\w$.])")

LETTERS_BY_OPERAND: Final = (
    ("input", {"b": "input_batch_dimension", "f": "input_feature_dimension"}),
    ("kernel", {"i": "kernel_input_feature_dimension", "o": "kernel_output_feature_dimension"}),
    ("output", {"b": "output_batch_dimension", "f": "output_feature_dimension"}),
)
"""(operand, the dimension that each letter stands for) in the order of the text."""


def parse_convolution_dimensions(cursor: Cursor) -> dict[str, FieldValue]:
    """Consume the compact form and return the fields of ``#stablehlo.conv`` by name."""
    fields: dict[str, FieldValue] = {}
    for (operand, letters), separator in zip(LETTERS_BY_OPERAND, ("", "x", "->"), strict=True):
        if separator:
            cursor.expect(separator)
        fields.update(_parse_operand(cursor, operand, letters))
    return fields


def _parse_operand(cursor: Cursor, operand: str, letters: dict[str, str]) -> dict[str, FieldValue]:
    cursor.expect("[")
    fields: dict[str, FieldValue] = {}
    spatial: dict[int, int] = {}
    for position, _ in enumerate(cursor.items("]")):
        start = cursor.skip()
        match = cursor.match(_DIMENSION)
        key = match and (match.group(1) or match.group(2))
        if match is not None and match.group(1) and int(match.group(1)) not in spatial:
            spatial[int(match.group(1))] = position
        elif key in letters and letters[key] not in fields:
            fields[letters[key]] = position
        else:
            cursor.fail_expecting(f"a spatial dimension or one of {', '.join(letters)}, each once", start)
    missing = [letter for letter, name in letters.items() if name not in fields]
    if missing or sorted(spatial) != list(range(len(spatial))):
        missing_names = missing or [str(n) for n in range(len(spatial)) if n not in spatial]
        cursor.fail(
            f"expected the dimensions {', '.join(missing_names)} in the {operand}'s list", cursor.position - 1
        )
    # The order of the text is that of the dimensions; the attribute has its fields in one order.
    ordered = {name: fields[name] for name in letters.values()}
    ordered[f"{operand}_spatial_dimensions"] = tuple(spatial[n] for n in range(len(spatial)))
    return ordered
