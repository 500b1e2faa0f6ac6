"""`sn_gather` and `sn_scatter`: slices read and written at index vectors."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from ..errors import counted
from ..options import Options
from ..types import INTEGER
from . import operations as ops
from .arguments import dimensions, integers
from .element_types import common_element_type
from .failures import violation_error
from .operands import value_of
from .programs import compute
from .tape import Shape, Value

UPDATES: Final = {
    "kUpdate": None,
    "kAdd": "stablehlo.add",
    "kMul": "stablehlo.multiply",
    "kMin": "stablehlo.minimum",
    "kMax": "stablehlo.maximum",
}
"""The operation that combines an element and its update, for each `rmw_op`; None: overwrite."""


def sn_gather(
    input_tensor: object,
    start_indices: Any,
    gather_dims: Iterable[int],
    gather_lengths: Iterable[int],
    *,
    options: Options | None = None,
) -> Any:
    """Read a slice of a table for each index vector of a batch.

    Along `gather_dims` a slice starts at its index vector and has `gather_lengths` elements; along the other
    dimensions it has all elements. The start is clamped so that the slice is within the table.

    Args:
        input_tensor: the table.
        start_indices: integers of shape ``(*batch, size(gather_dims))``.
        gather_dims: different dimensions of `input_tensor`; negative ones count from its end.
        gather_lengths: the slice's size along each of these dimensions, from 1 to the dimension's size.
        options: the options of the run; without effect within another pattern.

    Returns:
        An array, or within another pattern a traced value, of shape ``(*batch, *slice)``, where the slice has
        a dimension for each one of `input_tensor`.

    Raises:
        VerifyError: a constraint in docs/patterns.md does not hold.
    """

    def record(table: object, indices: Any) -> Any:
        table, indices = _on_one_tape("sn_gather", table, indices)
        return _gather(table, indices, gather_dims, gather_lengths)

    operands, names = [input_tensor, start_indices], ("input_tensor", "start_indices")
    return compute(record, operands, names, (gather_dims, gather_lengths), "sn_gather", options)


def sn_scatter(
    operand: object,
    update: object,
    start_indices: Any,
    scatter_dims: Iterable[int],
    rmw_op: str = "kUpdate",
    unique_indices: bool = False,
    *,
    options: Options | None = None,
) -> Any:
    """Combine a batch of slices with a copy of an array at index vectors.

    Slices are applied one after another, in the order of the batch. Elements of a slice that are out of
    bounds are dropped.

    Args:
        operand: the array.
        update: the slices, of shape ``(*batch, *slice)``. A slice has a dimension for each one of `operand`,
            of the same size or, along `scatter_dims`, a smaller one. Its elements are converted to the
            element type of `operand`, which must be able to represent them.
        start_indices: the start of each slice, integers of shape ``(*batch, size(scatter_dims))``.
        scatter_dims: different dimensions of `operand`; negative ones count from its end.
        rmw_op: the new value of an element: ``"kUpdate"``: the update; ``"kAdd"`` and ``"kMul"``: the sum and
            the product of the old value and the update; ``"kMin"`` and ``"kMax"``: their minimum and maximum,
            NaN if one of them is NaN.
        unique_indices: a promise that no element is updated twice, which may speed the operation up.
        options: the options of the run; without effect within another pattern.

    Returns:
        An array like `operand`, or within another pattern a traced value.

    Raises:
        VerifyError: a constraint in docs/patterns.md does not hold.
    """

    def record(target: object, written: object, indices: Any) -> Any:
        target, written, indices = _on_one_tape("sn_scatter", target, written, indices)
        return _scatter(target, written, indices, scatter_dims, rmw_op, bool(unique_indices))

    operands, names = [operand, update, start_indices], ("operand", "update", "start_indices")
    settings = (scatter_dims, rmw_op, unique_indices)
    return compute(record, operands, names, settings, "sn_scatter", options)


def _gather(table: Value, indices: Value, gather_dims: object, gather_lengths: object) -> Value:
    pattern, rank = "sn_gather", len(table.shape)
    dims = dimensions(gather_dims, rank, "gather_dims", pattern, "G3")
    lengths = integers(gather_lengths, "gather_lengths", pattern, "G4")
    _check_indices(indices, len(dims), "gather_dims", pattern, "G")
    if len(lengths) != len(dims):
        raise violation_error(
            pattern,
            f"gather_lengths has {counted(len(lengths), 'element')}, but gather_dims has {len(dims)}",
            "G4",
        )
    slice_sizes = list(table.shape)
    for position, (d, length) in enumerate(zip(dims, lengths, strict=True)):
        if not 1 <= length <= table.shape[d]:
            raise violation_error(
                pattern,
                f"gather_lengths[{position}] is {length}, but must be from 1 to {table.shape[d]}, the size "
                f"of dimension {d} of input_tensor",
                "G5",
            )
        slice_sizes[d] = length
    batch = indices.shape[:-1]
    attributes = (
        ("offset_dims", tuple(range(len(batch), len(batch) + rank))),
        ("start_index_map", dims),
        ("index_vector_dim", len(batch)),
        ("slice_sizes", tuple(slice_sizes)),
    )
    shape = (*batch, *slice_sizes)
    return table.tape.add(
        "stablehlo.gather", (table.index, indices.index), shape, table.element_type, attributes
    )


def _scatter(
    target: Value, update: Value, indices: Value, scatter_dims: object, rmw_op: str, unique_indices: bool
) -> Value:
    pattern, rank = "sn_scatter", len(target.shape)
    dims = dimensions(scatter_dims, rank, "scatter_dims", pattern, "S3")
    _check_indices(indices, len(dims), "scatter_dims", pattern, "S")
    batch = indices.shape[:-1]
    _check_update(target.shape, update.shape, batch, dims)
    if rmw_op not in UPDATES:
        raise violation_error(pattern, f"rmw_op is {rmw_op!r}, but must be one of {', '.join(UPDATES)}", "S6")
    if common_element_type((target, update), pattern) is not target.element_type:
        raise violation_error(
            pattern,
            f"update has elements of {update.element_type}, which {target.element_type}, the element type of "
            f"operand, cannot represent",
            "S7",
        )
    update = ops.convert(update, target.element_type)
    attributes = (
        ("update_window_dims", tuple(range(len(batch), len(batch) + rank))),
        ("scatter_dims_to_operand_dims", dims),
        ("index_vector_dim", len(batch)),
        ("unique_indices", unique_indices),
        ("update_computation", UPDATES[rmw_op]),
    )
    operands = (target.index, indices.index, update.index)
    return target.tape.add("stablehlo.scatter", operands, target.shape, target.element_type, attributes)


def _on_one_tape(pattern: str, *operands: object) -> list[Value]:
    """Operands as values; Python's numbers are arrays of rank 0."""
    tape = next((operand.tape for operand in operands if isinstance(operand, Value)), None)
    if tape is None:
        raise violation_error(pattern, "needs at least one array, but got only numbers")
    return [value_of(tape, operand, pattern) for operand in operands]


def _check_indices(indices: Value, count: int, dims_name: str, pattern: str, letter: str) -> None:
    if not indices.element_type.category & INTEGER:
        raise violation_error(
            pattern, f"start_indices has elements of {indices.element_type}, not integers", letter + "1"
        )
    if not indices.shape or indices.shape[-1] != count:
        raise violation_error(
            pattern,
            f"start_indices has shape {indices.shape}, but its last dimension must have size {count}, an "
            f"index for each of {dims_name}",
            letter + "2",
        )


def _check_update(shape: Shape, update: Shape, batch: Shape, dims: tuple[int, ...]) -> None:
    """The shape of the update must consist of the batch and a slice."""
    pattern = "sn_scatter"
    if len(update) != len(batch) + len(shape) or update[: len(batch)] != batch:
        raise violation_error(
            pattern,
            f"update has shape {update}, but must start with the batch sizes {batch} of start_indices "
            f"and have {len(shape)} more dimensions, one for each of operand",
            "S4",
        )
    for d, (size, length) in enumerate(zip(shape, update[len(batch) :], strict=True)):
        if length > size or (length != size and d not in dims):
            rule = f"at most {size}" if d in dims else str(size)
            raise violation_error(
                pattern,
                f"dimension {len(batch) + d} of update has size {length}, but must be {rule}, because it "
                f"belongs to dimension {d} of operand",
                "S5",
            )
