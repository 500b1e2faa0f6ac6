"""Texts of types and attributes, and values for operands."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES

Array = np.ndarray[Any, Any]

PER_TENSOR = "!quant.uniform<i8:f32, 0.5:1>"


def per_axis(axis: int, pairs: str = "0.5:1, 0.25:2") -> str:
    """A per-axis quantized element type."""
    return f"!quant.uniform<i8:f32:{axis}, {{{pairs}}}>"


def tensor(shape: Iterable[int | str], element_type: str = "f32") -> str:
    """The text of a tensor type."""
    return f"tensor<{''.join(f'{size}x' for size in shape)}{element_type}>"


def array(*values: Any) -> str:
    """The text of a list of i64."""
    return f"array<i64{':' if values else ''} {', '.join(map(str, values))}>"


def elements(shape: Sequence[int], element_type: str = "i32") -> Array:
    """Different values, as far as the element type has them."""
    size = math.prod(shape)
    few = element_type in ("i1", "i2", "ui2")
    values = np.arange(size) % 2 if few else np.arange(size) % 7 + 1
    return values.astype(ELEMENT_TYPES[element_type].dtype).reshape(shape)


def index_space(shape: Iterable[int]) -> Iterator[tuple[int, ...]]:
    """All indices of a shape."""
    return itertools.product(*map(range, shape))


def declaration(name: str) -> type[Op]:
    """The declaration of a StableHLO operation."""
    found = lookup(f"stablehlo.{name}")
    assert found is not None
    return found
