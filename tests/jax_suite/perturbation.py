"""Inputs and programs with rounding errors added, which tell how far correct results may lie apart."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from nimblehlo.checks.error_bounds.function_accuracy import CHLO_ULPS
from nimblehlo.checks.error_bounds.operation_kinds import is_correctly_rounded, is_exact
from nimblehlo.checks.error_bounds.ulps import is_inexact
from nimblehlo.program.ir import (
    Block,
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    Value,
)
from nimblehlo.program.ops.framework.accuracy import DEFAULT_ULPS
from nimblehlo.types import COMPLEX, FLOAT, TensorType

Array = np.ndarray[Any, Any]

_CONTROL = frozenset({"stablehlo.case", "stablehlo.if", "stablehlo.while"})


def perturbed(array: Array, random: np.random.Generator) -> Array:
    """An array whose floating-point values are moved by at most one unit in the last place each."""
    if not is_inexact(array.dtype) or array.dtype.itemsize == 1:
        return array
    if array.dtype.kind == "c":
        joined = np.empty_like(array)
        joined.real, joined.imag = perturbed(array.real, random), perturbed(array.imag, random)
        return joined
    bits = np.ascontiguousarray(array).reshape(array.shape).view(np.dtype(f"u{array.dtype.itemsize}"))
    moved = (bits + random.integers(-1, 2, array.shape).astype(bits.dtype)).view(array.dtype)
    return np.where((array == 0) | ~np.isfinite(array) | ~np.isfinite(moved), array, moved).astype(
        array.dtype
    )


def perturbed_program(module: Module, random: np.random.Generator) -> Module:
    """A program that multiplies what its operations round by one plus or minus their accuracy, or by one."""
    body = [_function(item, random) if isinstance(item, Function) else item for item in module.body]
    return Module(body, name=module.name, attributes=module.attributes)


def _function(function: Function, random: np.random.Generator) -> Function:
    return function if function.body is None else function.with_body(_region(function.body, {}, random))


def _region(region: Region, values: dict[Value, Value], random: np.random.Generator) -> Region:
    copied = Region(is_isolated=region.is_isolated)
    for old in region.blocks:
        block = Block([argument.type for argument in old.arguments])
        values.update(zip(old.arguments, block.arguments, strict=True))
        for operation in old.operations:
            _emit(Builder(block), operation, values, random)
        copied.blocks.append(block)
    return copied


def _emit(
    builder: Builder, operation: Operation, values: dict[Value, Value], random: np.random.Generator
) -> None:
    if operation.name in _CONTROL:
        regions = [_region(region, values, random) for region in operation.regions]
        copied = operation.clone([values[operand] for operand in operation.operands], regions)
        builder.block.operations.append(copied)
        values.update(zip(operation.results, copied.results, strict=True))
        return
    builder.copy(operation, values)
    dialect = operation.name.partition(".")[0]
    if is_exact(operation) or dialect not in ("stablehlo", "chlo"):
        return
    ulps = DEFAULT_ULPS if dialect == "stablehlo" else max(CHLO_ULPS.values())
    if is_correctly_rounded(operation) or operation.name == "stablehlo.scatter":
        ulps = 1
    for result in operation.results:
        if isinstance(result.type, TensorType) and result.type.category in (FLOAT, COMPLEX):
            values[result] = _moved(builder, values[result], result.type, ulps * int(random.integers(-1, 2)))


def _moved(builder: Builder, value: Value, type: TensorType, ulps: int) -> Value:
    """A value multiplied by a number this many units in the last place from one."""
    dtype = np.dtype(type.dtype)
    if ulps == 0 or dtype.itemsize == 1:
        return value
    factor = np.array(1 + ulps * float(ml_dtypes.finfo(dtype).eps)).astype(dtype)
    constant = {"value": DenseElementsAttribute(type, np.broadcast_to(factor, type.shape))}
    number = builder.create("stablehlo.constant", [], [type], constant).result
    return builder.create("stablehlo.multiply", [value, number], [type]).result
