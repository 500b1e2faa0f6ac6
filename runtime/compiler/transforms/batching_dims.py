"""`gather` and `scatter` without batching dimensions, for consumers that predate batching dimensions.

Source: the StableHLO project's RFC "Add batching dims to stablehlo.gather and stablehlo.scatter
specification", section "Compatibility".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from ...kernels.named_tuples import NamedTuple
from ...program.ir import (
    Attribute,
    BoolAttribute,
    DenseElementsAttribute,
    Function,
    IntegerAttribute,
    Module,
    Operation,
    Region,
    StructAttribute,
    Value,
    copy_region,
    tensor_type,
)
from ...program.loading import load
from ...program.ops.framework.declaration import Op
from ...program.ops.framework.verify import verify
from ...types import DYNAMIC, ELEMENT_TYPES, ElementType, TensorType, storage_range

_I32: Final = ELEMENT_TYPES["i32"]
_I64: Final = ELEMENT_TYPES["i64"]


def decompose_batching_dims(module: object) -> Module:
    """A program of the same results in which no `gather` and no `scatter` has batching dimensions.

    The batching dimensions of `operand` become `collapsed_slice_dims`, those of `inputs`
    `inserted_window_dims`, and index vectors get an element for each of them, an iota that is concatenated
    with the others. Indices of an element type that cannot hold these numbers are converted to i64.
    `indices_are_sorted` becomes false on the operations that change: the longer index vectors need not be.

    Args:
        module: what `load` takes. It is not changed.

    Raises:
        NimbleError: what `load` raises.
    """
    decomposed = _copied(load(module))
    _decompose(decomposed)
    verify(decomposed)
    return decomposed


def _copied(module: Module) -> Module:
    """A module whose operations may be changed."""
    body: list[Function | Module | Operation] = []
    for item in module.body:
        if isinstance(item, Function):
            item = item.with_body(None if item.body is None else copy_region(item.body, {}))
        elif isinstance(item, Module):
            item = _copied(item)
        body.append(item)
    return Module(
        body,
        name=module.name,
        attributes=module.attributes,
        location=module.location,
        producer=module.producer,
    )


def _decompose(module: Module) -> None:
    """Change a module's operations in place."""
    for item in module.body:
        if isinstance(item, Module):
            _decompose(item)
        elif isinstance(item, Function) and item.body is not None:
            _decompose_region(item.body)


def _decompose_region(region: Region) -> None:
    for block in region.blocks:
        operations: list[Operation] = []
        for operation in block.operations:
            for inner in operation.regions:
                _decompose_region(inner)
            names = _NAMES.get(operation.name)
            if names is not None:
                operations += _decompose_operation(operation, names)
            operations.append(operation)
        block.operations = operations


class _Names(NamedTuple):
    """The names under which gather or scatter declares each attribute."""

    struct: str
    operand_batching_dims: str
    indices_batching_dims: str
    dropped_dims: str
    index_map: str
    indices: str


_NAMES: Final = {
    "stablehlo.gather": _Names(
        "dimension_numbers",
        "operand_batching_dims",
        "start_indices_batching_dims",
        "collapsed_slice_dims",
        "start_index_map",
        "start_indices",
    ),
    "stablehlo.scatter": _Names(
        "scatter_dimension_numbers",
        "input_batching_dims",
        "scatter_indices_batching_dims",
        "inserted_window_dims",
        "scatter_dims_to_operand_dims",
        "scatter_indices",
    ),
}


def _decompose_operation(operation: Operation, names: _Names) -> Sequence[Operation]:
    """Remove an operation's batching dimensions, in place; returns the operations to insert before it."""
    view: Any = Op.of(operation)
    batching_dims: tuple[int, ...] = getattr(view, names.operand_batching_dims)
    struct = operation.attributes.get(names.struct)
    if not isinstance(struct, StructAttribute):
        return ()
    fields = {
        name: value
        for name, value in struct.fields.items()
        if name not in (names.operand_batching_dims, names.indices_batching_dims)
    }
    decomposition = _Decomposition(operation)
    if batching_dims:
        position = 1 if operation.name == "stablehlo.gather" else len(view.inputs)
        dims = getattr(view, names.indices_batching_dims)
        operand_type = operation.operands[0].type
        assert isinstance(operand_type, TensorType)
        sizes = [operand_type.shape[d] for d in batching_dims]
        indices = decomposition.with_batching_indices(
            operation.operands[position], view.index_vector_dim, dims, sizes
        )
        operands = list(operation.operands)
        operands[position] = indices
        operation.operands = tuple(operands)
        fields[names.dropped_dims] = tuple(sorted((*getattr(view, names.dropped_dims), *batching_dims)))
        fields[names.index_map] = (*batching_dims, *getattr(view, names.index_map))
        if "indices_are_sorted" in operation.attributes:
            operation.attributes = {**operation.attributes, "indices_are_sorted": BoolAttribute(False)}
    dimension_numbers = StructAttribute(struct.dialect, struct.mnemonic, fields)
    operation.attributes = {**operation.attributes, names.struct: dimension_numbers}
    return decomposition.operations


class _Decomposition:
    """Builds index vectors with one more index for each batching dimension."""

    def __init__(self, operation: Operation) -> None:
        self.location = operation.location
        self.operations: list[Operation] = []

    def with_batching_indices(
        self, indices: Value, vector_dim: int, dims: Sequence[int], sizes: Sequence[int]
    ) -> Value:
        """Indices whose vectors begin with their own index along each of `dims`, whose sizes are given."""
        type = tensor_type(indices)
        element_type = type.element_type
        assert isinstance(element_type, ElementType)
        padded_sizes = [max(size, type.shape[d]) for d, size in zip(dims, sizes, strict=True)]
        max_index = storage_range(_I32)[1] if DYNAMIC in padded_sizes else max(padded_sizes) - 1
        if max_index > storage_range(element_type)[1]:
            indices = self.create("stablehlo.convert", [indices], type.with_element_type(_I64))
        if vector_dim == type.rank:
            indices = self.with_vectors_of_one(indices)
        shape = list(tensor_type(indices).shape)
        length = shape[vector_dim]
        shape[vector_dim] = 1
        components = [self.iota(indices, shape, dim, vector_dim) for dim in dims]
        shape[vector_dim] = DYNAMIC if length == DYNAMIC else length + len(components)
        attributes = {"dimension": _integer(vector_dim)}
        type = tensor_type(indices).with_shape(shape)
        return self.create("stablehlo.concatenate", [*components, indices], type, attributes)

    def with_vectors_of_one(self, indices: Value) -> Value:
        """Indices with a last dimension of size 1."""
        type = tensor_type(indices)
        widened = TensorType(
            (*type.shape, 1), type.element_type, None if type.bounds is None else (*type.bounds, DYNAMIC)
        )
        if type.is_static:
            return self.create("stablehlo.reshape", [indices], widened)
        shape = self.shape([*type.shape, 1], indices)
        return self.create("stablehlo.dynamic_reshape", [indices, shape], widened)

    def iota(self, indices: Value, shape: Sequence[int], dimension: int, vector_dim: int) -> Value:
        """Numbers that count along a dimension, one for each index vector."""
        type = tensor_type(indices).with_shape(shape)
        attributes = {"iota_dimension": _integer(dimension)}
        if type.is_static:
            return self.create("stablehlo.iota", [], type, attributes)
        return self.create("stablehlo.dynamic_iota", [self.shape(shape, indices)], type, attributes)

    def shape(self, sizes: Sequence[int], like: Value) -> Value:
        """A shape as a value: known sizes, and where they are unknown those of `like`."""
        size_type = TensorType((1,), _I32)
        size_values = []
        for d, size in enumerate(sizes):
            if size == DYNAMIC:
                scalar = TensorType((), _I32)
                dimension_size = self.create(
                    "stablehlo.get_dimension_size", [like], scalar, {"dimension": _integer(d)}
                )
                size_values.append(self.create("stablehlo.reshape", [dimension_size], size_type))
            else:
                value = DenseElementsAttribute(size_type, np.array([size], np.int32))
                size_values.append(self.create("stablehlo.constant", [], size_type, {"value": value}))
        type = TensorType((len(size_values),), _I32)
        return self.create("stablehlo.concatenate", size_values, type, {"dimension": _integer(0)})

    def create(
        self,
        name: str,
        operands: Sequence[Value],
        type: TensorType,
        attributes: Mapping[str, Attribute] | None = None,
    ) -> Value:
        """The result of a new operation."""
        operation = Operation(name, operands, [type], attributes, location=self.location)
        self.operations.append(operation)
        return operation.result


def _integer(value: int) -> IntegerAttribute:
    return IntegerAttribute(value, _I64)
