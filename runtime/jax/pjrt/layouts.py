"""Layouts of arguments and results: read from JAX's ``mhlo.layout_mode``, and reported to jaxlib.

Source: xla/pjrt/layout_mode.h of openxla/xla: ``"default"``, ``"auto"``, or the text of a layout, which names
the dimensions from the minor to the major one (``"{0,1}"`` is column-major).
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Final

from ...errors import ParseError, UnsupportedError
from ...program.ir import Attribute, Module, StringAttribute
from ...types import TensorType, Type

Layout = tuple[int, ...] | None
"""The dimensions from the minor to the major one; None for C order."""

_LAYOUT: Final = re.compile(r"\{([0-9, ]*)(:.*)?\}")
_CHOSEN_HERE: Final = ("default", "auto")


def layouts_of(types: Sequence[Type], attributes: Sequence[Mapping[str, Attribute]]) -> list[Layout]:
    """The layouts of arguments or results.

    Raises:
        UnsupportedError: a layout has tiles.
        ParseError: a layout does not name each dimension once.
    """
    return [
        _layout(type, named.get("mhlo.layout_mode")) for type, named in zip(types, attributes, strict=True)
    ]


def _layout(type: Type, mode: Attribute | None) -> Layout:
    if (
        not isinstance(mode, StringAttribute)
        or mode.value in _CHOSEN_HERE
        or not isinstance(type, TensorType)
    ):
        return None
    match = _LAYOUT.fullmatch(mode.value)
    if match is None:
        raise ParseError(f"mhlo.layout_mode is {mode.value!r}, which is not a valid layout")
    if match[2]:
        raise UnsupportedError(f"the layout {mode.value} is more than an order of dimensions")
    order = tuple(int(number) for number in match[1].split(",") if number.strip())
    rank = len(type.shape)
    if sorted(order) != list(range(rank)):
        raise ParseError(f"the layout {mode.value} does not name each dimension of {type} once")
    return None if order == tuple(reversed(range(rank))) else order


def layout_texts(types: Sequence[Type], layouts: Sequence[Layout]) -> list[bytes]:
    """Layouts of arguments or results as XLA writes them, such as ``{1,0}``."""
    return [
        f"{{{','.join(map(str, _order(type, layout)))}}}".encode()
        for type, layout in zip(types, layouts, strict=True)
    ]


def with_layouts(
    text: bytes, module: Module, arguments: Sequence[Layout], results: Sequence[Layout]
) -> bytes:
    """A program's text with the layouts of its arguments and results.

    jaxlib reads them from the text. Without them it assumes a layout for each result that suits XLA's
    operations: it assumes that the result of a transpose is column-major.

    Args:
        text: text of MLIR whose module has the attributes that JAX writes.
        module: the same program.
        arguments, results: their layouts.
    """
    type = module.functions["main"].type
    if not all(isinstance(one, TensorType) for one in (*type.inputs, *type.results)):
        return text
    attributes = (
        f"mhlo.xla_entry_computation_parameter_layouts = [{_orders(type.inputs, arguments)}], "
        f"mhlo.xla_entry_computation_result_layout = [{_orders(type.results, results)}]"
    )
    head, opening, rest = text.partition(b"{")
    if head.endswith(b"attributes "):
        return b"".join([head, opening, attributes.encode(), b", ", rest])
    return b"".join([head, b"attributes {", attributes.encode(), b"} ", opening, rest])


def _orders(types: Sequence[Type], layouts: Sequence[Layout]) -> str:
    orders = [_order(type, layout) for type, layout in zip(types, layouts, strict=True)]
    return ", ".join([f"dense<{list(order) or ''}> : tensor<{len(order)}xindex>" for order in orders])


def _order(type: Type, layout: Layout) -> tuple[int, ...]:
    """The dimensions from the minor to the major one. A token is an array of nothing."""
    if layout is not None:
        return layout
    rank = len(type.shape) if isinstance(type, TensorType) else 1
    return tuple(reversed(range(rank)))
