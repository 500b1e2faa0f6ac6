"""Widens all floats of a program to f64 and complex<f64>, to estimate the exact results."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy as np

from ...program.ir import (
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    StringAttribute,
    Value,
    copy_region,
)
from ...program.ops.elementwise.conversion import converted
from ...program.ops.framework.declaration import declaration_of
from ...program.ops.framework.rules import call_target
from ...program.ops.framework.traits import Product
from ...types import (
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    Array,
    ElementType,
    FunctionType,
    TensorType,
    TupleType,
    Type,
)
from .ulps import is_inexact, layout_of

_WIDE = {FLOAT: ELEMENT_TYPES["f64"], COMPLEX: ELEMENT_TYPES["complex<f64>"]}
_ABOUT_PRECISION = frozenset({"algorithm", "precision_config", "result_accuracy"})
_TYPELESS_TARGETS = frozenset(
    {"Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "mhlo.topk", "ApproxTopK"}
)
_ALGORITHM_DIGITS = {"bf16": 8, "f16": 11, "tf32": 11, "f32": 23}
_LAPACK_PREFIX = {"s": "d", "c": "z"}


def wide_type(type: Type) -> Type:
    """f64 for floats, complex<f64> for complex numbers, any other type unchanged."""
    if isinstance(type, TupleType):
        return TupleType([wide_type(one) for one in type.types])
    if isinstance(type, TensorType) and isinstance(type.element_type, ElementType):
        wide = _WIDE.get(type.element_type.category)
        return type if wide is None else type.with_element_type(wide)
    return type


def wide_array(array: Array) -> Array:
    """The same values in the wide type that represents their element type."""
    if array.dtype.kind == "c":
        return array.astype(np.complex128)
    return array.astype(np.float64) if is_inexact(array.dtype) else array


def widened(module: Module) -> Module:
    """The program in wide types. Its results have the wide types of the original's."""
    body = [_function(item) if isinstance(item, Function) else item for item in module.body]
    return Module(body, name=module.name, attributes=module.attributes)


def narrowest_epsilon(module: Module) -> float:
    """The largest distance from 1 to the next number in the program's float types; 0: it has none."""
    types = {value.type for operation in module.walk() for value in (*operation.results, *operation.operands)}
    for function in module.functions.values():
        types.update(function.type.inputs)
    dtypes = {
        type.dtype for type in types if isinstance(type, TensorType) and type.category in (FLOAT, COMPLEX)
    }
    epsilons = [float(layout_of(dtype).eps) for dtype in dtypes]
    return max([*epsilons, *map(algorithm_epsilon, module.walk())], default=0.0)


def algorithm_epsilon(operation: Operation) -> float:
    """The precision of a product by a stated algorithm, which may split its operands."""
    algorithm: Any = operation.attributes.get("algorithm")
    if declaration_of(operation).product is not Product.MATMUL or algorithm is None:
        return 0.0
    digits = _ALGORITHM_DIGITS.get(str(algorithm.fields["lhs_precision_type"]), 52)
    components = {1: 1, 3: 2}.get(algorithm.fields["num_primitive_operations"], 3)
    return float(2.0 ** -min(digits * components, 52))


def _function(function: Function) -> Function:
    inputs = [wide_type(type) for type in function.type.inputs]
    results = [wide_type(type) for type in function.type.results]
    body = None if function.body is None else copy_region(function.body, {}, _emit, wide_type)
    return Function(function.name, FunctionType(inputs, results), body, visibility=function.visibility)


def _emit(builder: Builder, operation: Operation, values: MutableMapping[Value, Value]) -> None:
    """Append an operation in wide types."""
    operands = [values[operand] for operand in operation.operands]
    results = [wide_type(result.type) for result in operation.results]
    attributes = {name: value for name, value in operation.attributes.items() if name not in _ABOUT_PRECISION}
    # Operations whose meaning depends on the digits of their types stay, between conversions.
    keeps_types = declaration_of(operation).depends_on_digits
    value = operation.constant_value
    if value is not None:
        if isinstance(results[0], TensorType) and results[0] != operation.result.type:
            attributes["value"] = DenseElementsAttribute(
                results[0], wide_array(value.array).reshape(value.array.shape)
            )
    elif (target := call_target(operation)) is not None:
        routine = target.removeprefix("lapack_")
        if routine != target:
            attributes["call_target_name"] = StringAttribute(
                f"lapack_{_LAPACK_PREFIX.get(routine[0], routine[0])}{routine[1:]}"
            )
        else:
            keeps_types = target not in _TYPELESS_TARGETS
    if keeps_types:
        operands = _converted(builder, operands, [operand.type for operand in operation.operands])
        copied = builder.create(
            operation.name, operands, [result.type for result in operation.results], attributes
        )
        produced = _converted(builder, copied.results, results)
    else:
        regions = [copy_region(region, values, _emit, wide_type) for region in operation.regions]
        produced = list(builder.create(operation.name, operands, results, attributes, regions).results)
    values.update(zip(operation.results, produced, strict=True))


def _converted(builder: Builder, values: Sequence[Value], types: Sequence[Type]) -> list[Value]:
    return [converted(builder, value, type) for value, type in zip(values, types, strict=True)]
