"""Programs with one wrong operation, and a backend that computes it wrongly."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.backends import CallableBackend
from nimblehlo.checks.differences.extraction import main_block, returning
from nimblehlo.program.ir import (
    Block,
    Builder,
    DenseArrayAttribute,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    Value,
)
from nimblehlo.program.ops.framework.encoding import encode_attributes
from nimblehlo.types import ELEMENT_TYPES, TensorType
from tests.checks.fuzzing.equivalents import attribute

Array = np.ndarray[Any, Any]
LIMITED = Options(timeout=20)
"""Faults may make loops endless."""
Fault = Callable[[Builder, Operation, dict[Value, Value]], None]
"""Appends a wrong form of an operation and enters its results."""


def faulty_backend(location: object, fault: Fault) -> CallableBackend:
    """NimbleHLO with a fault in the operation at a location."""

    def run(module: Module, inputs: Sequence[Array]) -> list[Any]:
        return nimblehlo.execute(faulty(module, location, fault), inputs, options=LIMITED)

    return CallableBackend(run, "faulty")


def faulty(module: Module, location: object, fault: Fault) -> Module:
    """The program with the fault."""
    body = []
    for item in module.body:
        if isinstance(item, Function) and item.body is not None:
            item = item.with_body(_region(item.body, {}, location, fault))
        body.append(item)
    return nimblehlo.load(str(Module(body, name=module.name, attributes=module.attributes)))


def changes_results(module: Module, inputs: Sequence[Array], operation: Operation, fault: Fault) -> bool:
    """Whether a fault changes a bit of what its operation, or the loop around it, returns to @main."""
    block = main_block(module)
    outer = next(one for one in block.operations if operation in one.walk())
    values = [value for value in outer.results if isinstance(value.type, TensorType)]
    observed = returning(module, values)
    right = nimblehlo.execute(observed, inputs)
    wrong = nimblehlo.execute(faulty(observed, operation.location, fault), inputs, options=LIMITED)
    return any(np.asarray(a).tobytes() != np.asarray(b).tobytes() for a, b in zip(right, wrong, strict=True))


def _region(region: Region, values: dict[Value, Value], location: object, fault: Fault) -> Region:
    copied = Region(is_isolated=region.is_isolated)
    for old in region.blocks:
        block = Block([argument.type for argument in old.arguments])
        values.update(zip(old.arguments, block.arguments, strict=True))
        builder = Builder(block)
        for operation in old.operations:
            if str(operation.location) == str(location):
                fault(builder, operation, values)
                continue
            regions = [_region(inner, values, location, fault) for inner in operation.regions]
            again = operation.clone([values.get(one, one) for one in operation.operands], regions)
            block.operations.append(again)
            values.update(zip(operation.results, again.results, strict=True))
        copied.blocks.append(block)
    return copied


def faults_of(operation: Operation) -> Iterator[tuple[str, Fault]]:
    """The faults that an operation may have, by kind."""
    if operation.name in _FLIPPED and operation.operands[0].type == operation.operands[1].type:
        yield "flipped operand", _flipped
    if operation.name in _ROUNDED and _is(operation.results[0], "f32"):
        yield "wrong rounding", _truncated
    if operation.name in _OTHER_ROUNDING:
        yield "wrong rounding", _renamed
    if operation.name == "stablehlo.slice" and _may_shift(operation):
        yield "off by one", _shifted
    if operation.name in ("stablehlo.pad", "stablehlo.reduce_window") and _padding(operation) is not None:
        yield "off by one", _padded
    if operation.name in ("stablehlo.dot_general", "stablehlo.reduce") and _contracted(operation) is not None:
        yield "dropped term", _dropped
    if operation.name == "stablehlo.transpose" and _other_permutation(operation) is not None:
        yield "wrong axis", _transposed
    if operation.name == "stablehlo.reverse" and operation.operands[0].type.rank > 1:
        yield "wrong axis", _reversed
    if operation.name == "stablehlo.reduce" and _other_dimension(operation) is not None:
        yield "wrong axis", _reduced
    for index, operand in enumerate(operation.operands):
        if _is(operand, "f32") and operation.name not in _NO_NUMBERS:
            yield "through bf16", lambda b, o, v, index=index: _narrowed(b, o, v, index)
            return


_FLIPPED = frozenset(f"stablehlo.{name}" for name in ("subtract", "divide", "power", "atan2", "remainder"))
_ROUNDED = frozenset(f"stablehlo.{name}" for name in ("add", "subtract", "multiply", "divide"))
_OTHER_ROUNDING = {
    "stablehlo.floor": "stablehlo.ceil",
    "stablehlo.ceil": "stablehlo.floor",
    "stablehlo.round_nearest_even": "stablehlo.round_nearest_afz",
    "stablehlo.round_nearest_afz": "stablehlo.floor",
}
_NO_NUMBERS = frozenset(
    {"stablehlo.return", "func.return", "stablehlo.while", "stablehlo.if", "stablehlo.case"}
)


def _is(value: Value, name: str) -> bool:
    return isinstance(value.type, TensorType) and value.type.element_type == ELEMENT_TYPES[name]


def _operands(operation: Operation, values: dict[Value, Value]) -> list[Value]:
    return [values.get(one, one) for one in operation.operands]


def _again(
    builder: Builder,
    operation: Operation,
    values: dict[Value, Value],
    operands: Sequence[Value],
    **changed: Any,
) -> None:
    """The operation on other operands, or with other attributes."""
    outer = dict(values)
    copied = builder.copy(operation, outer)
    copied.operands = tuple(operands)
    copied.attributes = {**copied.attributes, **changed}
    values.update(zip(operation.results, copied.results, strict=True))


def _flipped(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    _again(builder, operation, values, _operands(operation, values)[::-1])


def _truncated(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    """Computed in f64 and rounded towards zero."""
    type = operation.result.type
    wide, bits = (type.with_element_type(ELEMENT_TYPES[name]) for name in ("f64", "i64"))
    operands = [
        builder.create("stablehlo.convert", [one], [wide]).result for one in _operands(operation, values)
    ]
    exact = builder.create(operation.name, operands, [wide]).result
    exact = builder.create("stablehlo.bitcast_convert", [exact], [bits]).result
    mask = {"value": DenseElementsAttribute(bits, np.full(type.shape, -(1 << 29), np.int64))}
    kept = builder.create("stablehlo.constant", [], [bits], mask).result
    cut = builder.create("stablehlo.and", [exact, kept], [bits]).result
    cut = builder.create("stablehlo.bitcast_convert", [cut], [wide]).result
    values[operation.result] = builder.create("stablehlo.convert", [cut], [type]).result


def _renamed(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    name = _OTHER_ROUNDING[operation.name]
    created = builder.create(name, _operands(operation, values), [operation.result.type])
    values[operation.result] = created.result


def _numbers(*values: int) -> DenseArrayAttribute:
    return DenseArrayAttribute(ELEMENT_TYPES["i64"], values)


def _may_shift(operation: Operation) -> bool:
    return _shift(operation) is not None


def _shift(operation: Operation) -> tuple[int, int] | None:
    """A dimension and an offset by which a slice may be shifted."""
    starts, limits = attribute(operation, "start_indices"), attribute(operation, "limit_indices")
    for dim, size in enumerate(operation.operands[0].type.shape):
        if limits[dim] < size and limits[dim] > starts[dim]:
            return dim, 1
        if starts[dim] > 0 and limits[dim] > starts[dim]:
            return dim, -1
    return None


def _shifted(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    shift = _shift(operation)
    assert shift is not None
    moved = {}
    for name in ("start_indices", "limit_indices"):
        numbers = list(attribute(operation, name))
        numbers[shift[0]] += shift[1]
        moved[name] = _numbers(*numbers)
    _again(builder, operation, values, _operands(operation, values), **moved)


def _padding(operation: Operation) -> dict[str, Any] | None:
    """The attributes of a window or a padding that is shifted by one."""
    if operation.name == "stablehlo.pad":
        low, high = (
            list(attribute(operation, "edge_padding_low")),
            list(attribute(operation, "edge_padding_high")),
        )
        for dim, size in enumerate(operation.operands[0].type.shape):
            if size and (low[dim] > 0 or high[dim] > 0):
                step = -1 if low[dim] > 0 else 1
                low[dim], high[dim] = low[dim] + step, high[dim] - step
                return {"edge_padding_low": _numbers(*low), "edge_padding_high": _numbers(*high)}
        return None
    padding = np.array(attribute(operation, "padding"))
    if padding.size == 0 or not padding.any():
        return None
    dim = int(np.argmax(padding.max(axis=1)))
    step = -1 if padding[dim, 0] > 0 else 1
    padding[dim] += (step, -step)
    return encode_attributes(operation.name, {"padding": padding.tolist()}) if padding.min() >= 0 else None


def _padded(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    changed = _padding(operation)
    assert changed is not None
    _again(builder, operation, values, _operands(operation, values), **changed)


def _contracted(operation: Operation) -> int | None:
    """A dimension of the first operand over which terms are added."""
    name = "lhs_contracting_dimensions" if operation.name == "stablehlo.dot_general" else "dimensions"
    type = operation.operands[0].type
    dims = [dim for dim in attribute(operation, name) if type.shape[dim] > 1]
    return dims[0] if dims and len(operation.results) == 1 else None


def _dropped(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    """The last term is a zero, or the initial value."""
    dim = _contracted(operation)
    assert dim is not None
    operands = _operands(operation, values)
    type = operands[0].type
    mask = np.ones(type.shape, np.bool_)
    mask[(slice(None),) * dim + (-1,)] = False
    flags = type.with_element_type(ELEMENT_TYPES["i1"])
    kept = builder.create("stablehlo.constant", [], [flags], {"value": DenseElementsAttribute(flags, mask)})
    if operation.name == "stablehlo.reduce":
        dims = {"broadcast_dimensions": _numbers()}
        other = builder.create("stablehlo.broadcast_in_dim", [operands[1]], [type], dims).result
    else:
        zeros = {"value": DenseElementsAttribute(type, np.zeros(type.shape, type.dtype))}
        other = builder.create("stablehlo.constant", [], [type], zeros).result
    operands[0] = builder.create("stablehlo.select", [kept.result, operands[0], other], [type]).result
    _again(builder, operation, values, operands)


def _other_permutation(operation: Operation) -> list[int] | None:
    """A permutation with the same result type."""
    shape, permutation = operation.operands[0].type.shape, list(attribute(operation, "permutation"))
    for a in range(len(shape)):
        for b in range(a):
            if shape[permutation[a]] == shape[permutation[b]] and shape[permutation[a]] > 1:
                permutation[a], permutation[b] = permutation[b], permutation[a]
                return permutation
    return None


def _transposed(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    permutation = _other_permutation(operation)
    assert permutation is not None
    _again(builder, operation, values, _operands(operation, values), permutation=_numbers(*permutation))


def _reversed(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    rank = operation.operands[0].type.rank
    dims = [(dim + 1) % rank for dim in attribute(operation, "dimensions")] or [0]
    _again(builder, operation, values, _operands(operation, values), dimensions=_numbers(*sorted(dims)))


def _other_dimension(operation: Operation) -> int | None:
    """A dimension of the same size, in place of the only one that is reduced."""
    dims = list(attribute(operation, "dimensions"))
    shape = operation.operands[0].type.shape
    if len(dims) != 1 or shape[dims[0]] < 2:
        return None
    rest = [size for dim, size in enumerate(shape) if dim != dims[0]]
    for dim in range(len(shape)):
        if dim != dims[0] and [size for one, size in enumerate(shape) if one != dim] == rest:
            return dim
    return None


def _reduced(builder: Builder, operation: Operation, values: dict[Value, Value]) -> None:
    dim = _other_dimension(operation)
    assert dim is not None
    _again(builder, operation, values, _operands(operation, values), dimensions=_numbers(dim))


def _narrowed(builder: Builder, operation: Operation, values: dict[Value, Value], index: int) -> None:
    """An operand of f32 rounded to bf16."""
    operands = _operands(operation, values)
    type = operands[index].type
    narrow = builder.create(
        "stablehlo.convert", [operands[index]], [type.with_element_type(ELEMENT_TYPES["bf16"])]
    ).result
    operands[index] = builder.create("stablehlo.convert", [narrow], [type]).result
    _again(builder, operation, values, operands)
