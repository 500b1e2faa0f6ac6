"""Templates whose types are quantized along an axis.

They are made of the templates whose types are quantized per tensor: operands and results get an axis, for
which every one is tried until the operation's constraints hold. Which operand may have one, and where it is
in the result, is thus what the declaration says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import cycle, islice, product
from typing import Final

from ...program.ir import DenseElementsAttribute
from ...program.ops import lookup
from ...types import QUANTIZED_PER_AXIS, QuantizedType, TensorType, Type
from .generators import templates
from .template import PER_TENSOR, OperandSpec, Template

_SCALES: Final = (0.5, 0.125, 0.25)
_ZERO_POINTS: Final = (-3, 7, 0)
"""The scales and zero points of the slices, in turn."""
_SLICES: Final = (2, 3)
"""Sizes of an axis along which all types of a template are quantized."""
MAX_RANK: Final = 4
"""Types of more dimensions get no axis: the pairs of axes of operands and results are many."""


def per_axis_templates(operation: str, is_legal: Callable[[Template], bool]) -> Iterator[Template]:
    """The templates of an operation with types that are quantized along an axis, which verify.

    Each template of the level ``smoke`` gives up to four: all operands and results have axes; only results;
    only the last operand; only that one and the results. If none of these is legal, all templates are tried,
    also with the types of their regions and constants.
    """
    declaration = lookup(operation)
    assert declaration is not None
    categories = 0
    for one in (*declaration.declared_operands, *declaration.declared_results):
        categories |= one.categories
    if not categories & QUANTIZED_PER_AXIS:
        return
    per_tensor = [one for one in templates(operation, PER_TENSOR) if one.runs and one.grid.size == 1]
    retyped = list(_retyped([one for one in per_tensor if one.is_basic], is_legal))
    retyped = retyped or list(_retyped(per_tensor, is_legal))
    yield from retyped or _of_one_type(operation, is_legal)


def _of_one_type(operation: str, is_legal: Callable[[Template], bool]) -> Iterator[Template]:
    """The templates whose types all have an axis of one size."""
    for slices in _SLICES:
        one = _with_axis(TensorType((slices,), PER_TENSOR), 0)
        assert isinstance(one, TensorType)
        for template in templates(operation, one.element_type):
            if template.runs and template.grid.size == 1 and is_legal(template):
                yield replace(template, variant=f"{template.variant}_of_{slices}")


def _retyped(chosen: Sequence[Template], is_legal: Callable[[Template], bool]) -> Iterator[Template]:
    """Templates whose types get axes, each once."""
    for template in chosen:
        seen = set()
        last = max((index for index, one in enumerate(template.operands) if _is_quantized(one)), default=-1)
        every = frozenset(range(len(template.operands)))
        for name, operands, has_results in (
            ("all", every, True),
            ("results", frozenset(), True),
            ("operand", frozenset((last,)), False),
            ("operand_and_results", frozenset((last,)), True),
        ):
            retyped = _first_legal(template, operands, has_results, is_legal)
            if retyped is not None and (retyped.operands, retyped.results) not in seen:
                seen.add((retyped.operands, retyped.results))
                yield replace(retyped, variant=f"{template.variant}_{name}")


def _first_legal(
    template: Template, operands: frozenset[int], has_results: bool, is_legal: Callable[[Template], bool]
) -> Template | None:
    """The template with the first axes of the chosen operands, and of the results, that are legal."""
    operand_axes = range(MAX_RANK) if operands else range(1)
    for operand_axis, result_axis in product(operand_axes, range(MAX_RANK) if has_results else range(1)):
        specs = tuple(
            one
            if isinstance(one, DenseElementsAttribute) or index not in operands
            else _with_axis(one, operand_axis)
            for index, one in enumerate(template.operands)
        )
        results = tuple(_with_axis(one, result_axis) if has_results else one for one in template.results)
        if (specs, results) == (template.operands, template.results):
            continue
        changed = replace(template, operands=specs, results=results)
        if is_legal(changed):
            return changed
    return None


def _is_quantized(spec: OperandSpec) -> bool:
    return isinstance(spec, TensorType) and isinstance(spec.element_type, QuantizedType)


def _with_axis(type: Type, axis: int) -> Type:
    """A quantized type with scales along an axis; others as they are."""
    if not isinstance(type, TensorType) or not isinstance(type.element_type, QuantizedType):
        return type
    if axis >= type.rank or type.rank > MAX_RANK or not type.shape[axis]:
        return type
    one, slices = type.element_type, type.shape[axis]
    zero_points = _ZERO_POINTS if one.zero_points[0] else (0,)
    quantized = QuantizedType(
        one.storage,
        one.storage_min,
        one.storage_max,
        one.expressed,
        islice(cycle(_SCALES), slices),
        islice(cycle(zero_points), slices),
        axis,
    )
    return type.with_element_type(quantized)
