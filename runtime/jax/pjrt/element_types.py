"""Converts element types of PJRT to NumPy dtypes, and back."""

from __future__ import annotations

from typing import Final

from ...types import ELEMENT_TYPES, DType

NAMES: Final = (
    None,
    "i1",
    "i8",
    "i16",
    "i32",
    "i64",
    "ui8",
    "ui16",
    "ui32",
    "ui64",
    "f16",
    "f32",
    "f64",
    "bf16",
    "complex<f32>",
    "complex<f64>",
    "f8E5M2",
    "f8E4M3FN",
    "f8E4M3B11FNUZ",
    "f8E5M2FNUZ",
    "f8E4M3FNUZ",
    "i4",
    "ui4",
    None,
    "i2",
    "ui2",
    "f8E4M3",
    "f8E3M4",
    "f8E8M0FNU",
    "f4E2M1FN",
    None,
    None,
    "f6E2M3FN",
    "f6E3M2FN",
)
"""The specification's names in the order of PJRT's element types; None for tokens and one-bit integers."""

DTYPES: Final[list[DType | None]] = [
    None if name is None else ELEMENT_TYPES[name].dtype for name in NAMES
]

NUMBERS: Final = {name: number for number, name in enumerate(NAMES) if name is not None}
"""PJRT's number of each element type by the specification's name."""

PRED: Final = NUMBERS["i1"]
