"""What the reference interpreter is given in place of operations that it mistakes or cannot run.

Each stand-in has the same meaning by the specification:

- operations whose rounding the specification leaves open (sums, transforms, CHLO) run in f64 and are rounded
  once, so that results are judged by the exact value rather than by another rounding order;
- TOTALORDER, which the interpreter ignores, becomes a comparison of integers;
- unsigned indices, which it reads as signed, become i64;
- convolutions get the usual order of dimensions, without which it ends its process;
- reductions whose body has wider types get converted inputs, and `scatter` copies of its inputs, to which
  the interpreter writes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from nimblehlo.program.ir import (
    Block,
    Builder,
    DenseElementsAttribute,
    EnumAttribute,
    Function,
    Operation,
    Region,
    Value,
)
from nimblehlo.program.ops import lookup
from nimblehlo.program.ops.chlo.broadcast import BroadcastBinary
from nimblehlo.program.ops.elementwise.base import Elementwise
from nimblehlo.program.ops.framework.encoding import encode_attributes
from nimblehlo.types import COMPLEX, ELEMENT_TYPES, FLOAT, UNSIGNED, ElementType, TensorType, Type

Values = dict[Value, Value]
_I64 = ELEMENT_TYPES["i64"]
_GREATEST_INDEX = 1 << 40

FOLDS = frozenset({"stablehlo.reduce", "stablehlo.reduce_window", "stablehlo.select_and_scatter"})
CONTRACTIONS = frozenset({"stablehlo.dot_general", "stablehlo.convolution"})
INDEXED = {
    "stablehlo.dynamic_slice": 1,
    "stablehlo.dynamic_update_slice": 2,
    "stablehlo.gather": 1,
    "stablehlo.scatter": None,
}
"""From which operand on the indices stand; in `scatter` it depends on the number of inputs."""
_EXACT_CHLO = ("is_", "next_after", "mulhi", "constant", "conj", "top_k", "broadcast_next_after")


def lacks(operation: Operation) -> bool:
    """Whether the interpreter cannot run an operation, and nothing stands for it."""
    if operation.name == "stablehlo.triangular_solve":
        is_batched = operation.operands[0].type.rank > 2
        adjoint = attribute(operation, "transpose_a") == "ADJOINT"
        return is_batched or adjoint or not attribute(operation, "left_side")
    if operation.name in ("stablehlo.convolution", "stablehlo.reduce_window"):
        return operation.results[0].type.size == 0
    if operation.name == "stablehlo.fft":
        return bool(attribute(operation, "fft_type") == "IRFFT")
    if operation.name == "chlo.top_k":
        return bool(operation.operands[0].type.category == FLOAT)
    if operation.name.endswith("next_after"):
        return operation.operands[0].type.element_type.width < 8
    if operation.name == "stablehlo.dot_general":
        contracted = attribute(operation, "lhs_contracting_dimensions")
        return any(operation.operands[0].type.shape[d] == 0 for d in contracted)
    return False


def attribute(operation: Operation, name: str) -> Any:
    """A decoded attribute."""
    declaration = lookup(operation.name)
    assert declaration is not None
    return getattr(declaration(operation), name)


def widened(operation: Operation) -> bool:
    """Whether an operation on floats or complex values is judged by what it gives in f64."""
    name = operation.name
    if name in FOLDS or name in CONTRACTIONS or name in ("stablehlo.fft", "stablehlo.triangular_solve"):
        return True
    declaration = lookup(name) or object
    if name.startswith("chlo."):
        known = issubclass(declaration, Elementwise | BroadcastBinary)
        return known and not name.removeprefix("chlo.").startswith(_EXACT_CHLO)
    if name == "stablehlo.logistic":
        return True
    if name in _ROUNDING:
        return operation.operands[0].type.element_type.width < 16
    is_complex = any(value.type.category == COMPLEX for value in operation.operands)
    return is_complex and issubclass(declaration, Elementwise) and name not in _EXACT_ON_COMPLEX


_ROUNDING = frozenset(
    f"stablehlo.{name}" for name in ("ceil", "floor", "round_nearest_afz", "round_nearest_even")
)
"""LLVM's numbers add a power of two to round, which the narrow types lack."""
_EXACT_ON_COMPLEX = frozenset(
    f"stablehlo.{name}"
    for name in ("add", "subtract", "negate", "real", "imag", "complex", "compare", "select", "convert")
)


def wide(type: Type) -> Type:
    """A type with f64 and complex<f64> in place of narrower ones."""
    if isinstance(type, TensorType) and type.category in (FLOAT, COMPLEX):
        return type.with_element_type(ELEMENT_TYPES["f64" if type.category == FLOAT else "complex<f64>"])
    return type


def emit(builder: Builder, operation: Operation, values: Values) -> None:
    """Append an operation, or what stands for it, and enter its results into `values`."""
    operands = [values.get(value, value) for value in operation.operands]
    if operation.name == "stablehlo.compare" and _is_total(operation):
        operation, operands = _compared_as_integers(builder, operation, operands)
    if operation.name in INDEXED:
        operands = _signed_indices(builder, operation, operands)
    retype = wide if widened(operation) else lambda type: type
    targets = [retype(type) for type in _operand_types(operation)]
    if operation.name == "stablehlo.scatter":
        count = len(operation.results)
        operands = [*[_reshaped(builder, value) for value in operands[:count]], *operands[count:]]
    operands = [converted(builder, value, type) for value, type in zip(operands, targets, strict=True)]
    if operation.name == "stablehlo.convolution":
        results = [_convolution(builder, operation, operands, retype)]
    else:
        results = list(_retyped(builder, operation, operands, values, retype).results)
    for result, made in zip(operation.results, results, strict=True):
        values[result] = converted(builder, made, result.type)


def _operand_types(operation: Operation) -> list[Type]:
    """The operands' types, as wide as the region combines them."""
    types = [operand.type for operand in operation.operands]
    if operation.name in FOLDS or operation.name == "stablehlo.scatter":
        elements = [value.type for value in operation.regions[-1].block.terminator.operands]
        for index, type in enumerate(types):
            which = index % len(elements) if operation.name != "stablehlo.scatter" else index
            if operation.name == "stablehlo.scatter" and index > len(elements):
                which = index - len(elements) - 1
            if operation.name == "stablehlo.scatter" and index == len(elements):
                types[index] = _signed(type)
                continue
            assert isinstance(type, TensorType) and isinstance(elements[which], TensorType)
            types[index] = type.with_element_type(elements[which].element_type)
    elif operation.name in CONTRACTIONS:
        element_type = operation.result.type.element_type
        types = [type.with_element_type(element_type) for type in types]
    elif operation.name in INDEXED:
        first = INDEXED[operation.name] or 0
        types[first:] = [_signed(type) for type in types[first:]]
    return types


def _signed(type: Type) -> Type:
    assert isinstance(type, TensorType)
    return type.with_element_type(_I64) if type.category == UNSIGNED else type


def _signed_indices(builder: Builder, operation: Operation, operands: Sequence[Value]) -> list[Value]:
    """Unsigned indices as i64; those that it cannot hold are as far outside as a large one."""
    first = INDEXED[operation.name]
    start = len(operation.results) if first is None else first
    stop = start + 1 if first is None else len(operands)
    result = list(operands)
    for index in range(start, stop):
        value = operands[index]
        if value.type.category != UNSIGNED:
            continue
        if value.type.element_type.width == 64:
            limit = constant(builder, value.type, np.full(value.type.shape, _GREATEST_INDEX))
            value = builder.create("stablehlo.minimum", [value, limit], [value.type]).result
        result[index] = converted(builder, value, _signed(value.type))
    return result


def constant(builder: Builder, type: TensorType, array: Any) -> Value:
    """A constant."""
    made = np.array(array).astype(type.dtype).reshape(type.shape)
    attributes = encode_attributes("stablehlo.constant", {"value": DenseElementsAttribute(type, made)})
    return builder.create("stablehlo.constant", [], [type], attributes).result


def converted(builder: Builder, value: Value, type: Type) -> Value:
    """A value converted to a type of the same shape."""
    if value.type == type or not isinstance(type, TensorType):
        return value
    return builder.create("stablehlo.convert", [value], [type]).result


def _reshaped(builder: Builder, value: Value) -> Value:
    """A copy."""
    return builder.create("stablehlo.reshape", [value], [value.type]).result


def _retyped(
    builder: Builder,
    operation: Operation,
    operands: Sequence[Value],
    values: Values,
    retype: Callable[[Type], Type],
) -> Operation:
    """A copy of an operation on other operands, all types within it changed."""
    regions = []
    for region in operation.regions:
        types = [retype(argument.type) for argument in region.block.arguments]
        block = Block(_select_types(operation, region, types, operands))
        inner = dict(values)
        inner.update(zip(region.block.arguments, block.arguments, strict=True))
        for nested in region.block.operations:
            _emit_inner(Builder(block), nested, inner, retype)
        regions.append(Region([block]))
    results = [retype(result.type) for result in operation.results]
    return builder.create(operation.name, operands, results, operation.attributes, regions)


def _select_types(
    operation: Operation, region: Region, types: list[Type], operands: Sequence[Value]
) -> list[Type]:
    """The arguments of `select` have the elements of the operand, which may have been converted."""
    if operation.name == "stablehlo.select_and_scatter" and region is operation.regions[0]:
        operand = operands[0].type
        assert isinstance(operand, TensorType)
        return [operand.with_shape(())] * 2
    return types


def _emit_inner(
    builder: Builder, operation: Operation, values: Values, retype: Callable[[Type], Type]
) -> None:
    """An operation of a region."""
    changed = any(retype(value.type) != value.type for value in (*operation.operands, *operation.results))
    if not changed:
        emit(builder, operation, values)
    elif operation.name == "stablehlo.constant":
        type: Any = retype(operation.result.type)
        attribute: Any = operation.attributes["value"]
        values[operation.result] = constant(builder, type, attribute.array)
    else:
        operands = [values.get(value, value) for value in operation.operands]
        copied = _retyped(builder, operation, operands, values, retype)
        values.update(zip(operation.results, copied.results, strict=True))


def _is_total(operation: Operation) -> bool:
    compare_type = operation.attributes.get("compare_type")
    is_total = isinstance(compare_type, EnumAttribute) and compare_type.value == "TOTALORDER"
    return is_total and operation.operands[0].type.category == FLOAT


def _compared_as_integers(
    builder: Builder, operation: Operation, operands: Sequence[Value]
) -> tuple[Operation, list[Value]]:
    """A comparison of integers in whose order floats stand under totalOrder."""
    keys = [_total_order_key(builder, operand) for operand in operands]
    attributes = {"comparison_direction": operation.attributes["comparison_direction"]}
    compared = Operation("stablehlo.compare", keys, [operation.result.type], attributes)
    compared.results = operation.results
    return compared, keys


def _total_order_key(builder: Builder, value: Value) -> Value:
    type: Any = value.type
    element_type: ElementType = type.element_type
    if element_type.width < 8 or "NUZ" in element_type.name or "FNU" in element_type.name:
        value, type = converted(builder, value, wide(type)), wide(type)
        element_type = ELEMENT_TYPES["f64"]
    integers = type.with_element_type(ELEMENT_TYPES[f"i{element_type.width}"])
    bits = builder.create("stablehlo.bitcast_convert", [value], [integers]).result
    shift = constant(builder, integers, np.full(type.shape, element_type.width - 1))
    rest = constant(builder, integers, np.full(type.shape, (1 << (element_type.width - 1)) - 1))
    sign = builder.create("stablehlo.shift_right_arithmetic", [bits, shift], [integers]).result
    flipped = builder.create("stablehlo.and", [sign, rest], [integers]).result
    return builder.create("stablehlo.xor", [bits, flipped], [integers]).result


def _convolution(
    builder: Builder, operation: Operation, operands: Sequence[Value], retype: Callable[[Type], Type]
) -> Value:
    """A convolution with the dimensions [batch, spatial..., feature]."""
    declaration: Any = lookup(operation.name)
    view = declaration(operation)
    lhs = _transposed(builder, operands[0], view.input_dimensions)
    rhs = _transposed(builder, operands[1], view.kernel_dimensions)
    result_type: Any = retype(operation.result.type)
    order = view.output_dimensions
    rank = len(order)
    spatial = tuple(range(1, rank - 1))
    names = {
        "input_batch_dimension": 0,
        "input_feature_dimension": rank - 1,
        "input_spatial_dimensions": spatial,
        "kernel_input_feature_dimension": rank - 2,
        "kernel_output_feature_dimension": rank - 1,
        "kernel_spatial_dimensions": tuple(range(rank - 2)),
        "output_batch_dimension": 0,
        "output_feature_dimension": rank - 1,
        "output_spatial_dimensions": spatial,
    }
    attributes = operation.attributes | encode_attributes("stablehlo.convolution", names)
    usual = result_type.with_shape([result_type.shape[d] for d in order])
    made = builder.create(operation.name, [lhs, rhs], [usual], attributes).result
    return _transposed(builder, made, tuple(map(int, np.argsort(order))))


def _transposed(builder: Builder, value: Value, permutation: Sequence[int]) -> Value:
    type: Any = value.type
    if list(permutation) == list(range(type.rank)):
        return value
    result = type.with_shape([type.shape[d] for d in permutation])
    attributes = encode_attributes("stablehlo.transpose", {"permutation": tuple(permutation)})
    return builder.create("stablehlo.transpose", [value], [result], attributes).result


def emit_function(function: Function) -> Function:
    """A function, with what stands for its operations."""
    assert function.body is not None
    block = Block(function.type.inputs)
    values = dict(zip(function.body.block.arguments, block.arguments, strict=True))
    for operation in function.body.block.operations:
        emit(Builder(block), operation, values)
    return Function(function.name, function.type, Region([block]), visibility=function.visibility)


def real(type: Type) -> Type:
    """A type with f64 in place of floats and complex numbers."""
    if isinstance(type, TensorType) and type.category in (FLOAT, COMPLEX):
        return type.with_element_type(ELEMENT_TYPES["f64"])
    return type


def in_f64(operation: Operation, operands: Sequence[Value], values: Values, builder: Builder) -> Operation:
    """The operation on real f64 in place of all floats and complex numbers, for bounds on magnitudes."""
    return _retyped(builder, operation, operands, values, real)
