"""Maps each operation to its rewrites, and runs them until nothing changes."""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ....program.ir import Operation, Region, tensor_type
from ....program.ops.framework.declaration import Op
from ..framework.cleanup import remove_common_subexpressions, remove_dead_code
from ..framework.constants import Budget
from ..framework.operation_classes import is_control_flow
from ..framework.rewriter import Preparation, Rewrite, Rewriter

MAX_VISITS: Final = 6
"""Maximum visits of a program, which bounds the time: some 300 programs of the tests, the benchmarks and
public libraries took one or two."""


NAMES: Final[list[str]] = []
"""``module.function`` of every rewrite below, for tests."""


Condition = Callable[[Operation], bool]


def _rewrite(name: str, when: Condition | None = None) -> Callable[[Operation, Rewriter], Any]:
    """A rewrite whose module is imported when the rewrite may apply for the first time: most programs need
    few of them.

    Args:
        name: the module of this package and the function there.
        when: a condition that is cheap to check and holds wherever the rewrite applies; None: none is known.
    """

    NAMES.append(name)

    @functools.cache
    def function() -> Callable[[Operation, Rewriter], Any]:
        module, _, function_name = name.partition(".")
        imported: Callable[[Operation, Rewriter], Any] = getattr(
            importlib.import_module(f".{module}", __package__), function_name
        )
        return imported

    def rewrite(operation: Operation, rewriter: Rewriter) -> Any:
        return function()(operation, rewriter) if when is None or when(operation) else None

    return rewrite


def _reads(*names: str) -> Condition:
    """Whether an operand is a result of an operation of one of these names."""

    def reads(operation: Operation) -> bool:
        for operand in operation.operands:
            if isinstance(operand.owner, Operation) and operand.owner.name in names:
                return True
        return False

    return reads


_reads_constant: Final = _reads("stablehlo.constant")


def _has_four_operands(operation: Operation) -> bool:
    return len(operation.operands) == 4


def _has_algorithm(operation: Operation) -> bool:
    return "algorithm" in operation.attributes


def _keeps_size(operation: Operation) -> bool:
    """Whether the result has as many elements as the first operand."""
    return tensor_type(operation.operands[0]).size == tensor_type(operation.result).size


def _reduces_at_most_one(operation: Operation) -> bool:
    """Whether the first operand has a dimension of at most one element, or of unknown size."""
    return min(tensor_type(operation.operands[0]).shape, default=2) < 2


def _updates_slices(loop: Operation) -> bool:
    """Whether the body of a loop updates slices."""
    names = [operation.name for operation in loop.regions[1].block.operations]
    return "stablehlo.dynamic_update_slice" in names


def _multiplies_matrices(loop: Operation) -> bool:
    """Whether the body of a loop multiplies matrices."""
    return any(operation.name == "stablehlo.dot_general" for operation in loop.regions[1].block.operations)


TENSOR_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.add": (_rewrite("algebra.add_zero", _reads_constant),),
    "stablehlo.and": (_rewrite("algebra.simplify_and_or"),),
    "stablehlo.broadcast_in_dim": (
        _rewrite("reshaping.broadcast_to_same", _keeps_size),
        _rewrite(
            "reshaping.broadcast_of_broadcast", _reads("stablehlo.broadcast_in_dim", "stablehlo.reshape")
        ),
    ),
    "stablehlo.compare": (
        _rewrite("algebra.compare_by_range"),
        _rewrite("algebra.compare_with_boolean_constant", _reads_constant),
    ),
    "stablehlo.concatenate": (_rewrite("slicing.flatten_concatenate"),),
    "stablehlo.convert": (_rewrite("identities.identity"),),
    "stablehlo.divide": (_rewrite("algebra.divide_by_one", _reads_constant),),
    "chlo.ragged_dot": (_rewrite("contractions.product_of_mixed_types"),),
    "stablehlo.convolution": (
        _rewrite("contractions.product_of_mixed_types"),
        _rewrite("contractions.pointwise_convolution"),
        _rewrite("contractions.convolution_of_padded", _reads("stablehlo.pad")),
    ),
    "stablehlo.dot": (_rewrite("contractions.product_of_mixed_types"),),
    "stablehlo.dot_general": (
        _rewrite("contractions.product_of_mixed_types"),
        _rewrite("contractions.product_over_empty"),
        _rewrite("contractions.product_of_single_terms"),
        _rewrite("contractions.low_precision_dot"),
        _rewrite("transposed_products.vector_product_of_transpose", _reads("stablehlo.transpose")),
        _rewrite("dot_algorithms.dot_of_components", _has_algorithm),
    ),
    "stablehlo.dynamic_slice": (
        _rewrite("slicing.dynamic_slice_at_constants"),
        _rewrite("slicing.dynamic_slice_whole_dimensions"),
    ),
    "stablehlo.fft": (_rewrite("fft.fft_of_real"),),
    "stablehlo.gather": (_rewrite("gathers.gather_of_one"),),
    "stablehlo.maximum": (_rewrite("algebra.simplify_min_max"),),
    "stablehlo.minimum": (_rewrite("algebra.simplify_min_max"),),
    "stablehlo.multiply": (_rewrite("algebra.multiply_by_one", _reads_constant),),
    "stablehlo.or": (_rewrite("algebra.simplify_and_or"),),
    "stablehlo.pad": (_rewrite("slicing.identity_pad"),),
    "stablehlo.reduce": (
        _rewrite("reductions.reduce_of_empty", _reduces_at_most_one),
        _rewrite("arg_reductions.reduce_with_iota_positions", _has_four_operands),
    ),
    "stablehlo.reshape": (
        _rewrite("identities.identity"),
        _rewrite("reshaping.reshape_twice", _reads("stablehlo.reshape")),
        _rewrite("reshaping.reshape_of_broadcast", _reads("stablehlo.broadcast_in_dim")),
        _rewrite("reshaping.reshape_of_constant", _reads_constant),
    ),
    "stablehlo.reverse": (_rewrite("reshaping.identity_reverse"),),
    "stablehlo.select": (
        _rewrite("algebra.select_by_constant"),
        _rewrite("algebra.select_of_broadcast", _reads("stablehlo.broadcast_in_dim")),
        _rewrite(
            "masked_updates.select_of_update", _reads("stablehlo.scatter", "stablehlo.dynamic_update_slice")
        ),
    ),
    "stablehlo.slice": (
        _rewrite("identities.identity"),
        _rewrite("slicing.slice_of_slice", _reads("stablehlo.slice")),
        _rewrite("slicing.slice_of_broadcast", _reads("stablehlo.broadcast_in_dim", "stablehlo.transpose")),
        _rewrite("slicing.slice_of_concatenate", _reads("stablehlo.concatenate")),
    ),
    "stablehlo.sort": (
        _rewrite(
            "arg_reductions.sort_with_iota_positions",
            _reads("stablehlo.iota", "stablehlo.broadcast_in_dim", "stablehlo.constant"),
        ),
    ),
    "stablehlo.subtract": (_rewrite("algebra.subtract_zero"),),
    "stablehlo.transpose": (
        _rewrite("reshaping.identity_transpose"),
        _rewrite(
            "reshaping.transpose_of_layout_op", _reads("stablehlo.broadcast_in_dim", "stablehlo.transpose")
        ),
    ),
}
"""Tried only on operations whose operands and results are all static tensors that are not quantized."""

OTHER_REWRITES: Final[Mapping[str, Sequence[Rewrite]]] = {
    "stablehlo.case": (_rewrite("branches.case_by_constant"),),
    "stablehlo.if": (_rewrite("branches.if_by_constant"),),
    "stablehlo.reduce": (_rewrite("reductions.reduce_over_unit_dimensions", _reduces_at_most_one),),
    "stablehlo.scatter": (_rewrite("scatters.scatter_of_one", _reads_constant),),
    "stablehlo.while": (
        _rewrite("loops.drop_invariant_values"),
        _rewrite("loops.unroll"),
        _rewrite("loops.hoist"),
        _rewrite("exchanged_products.exchange_factors_of_transposes", _multiplies_matrices),
        _rewrite("loop_products.transpose_invariant_matrices", _multiplies_matrices),
        _rewrite("accumulations.update_sums", _updates_slices),
    ),
}
"""Tried on operands and results of any type."""

PREPARATIONS: Final[Mapping[str, Preparation]] = {
    "stablehlo.scatter": _rewrite(
        "partial_windows.remove_needless_exclusion", _reads("nimblehlo.exclude_partial_windows")
    ),
    "stablehlo.while": _rewrite("loops.declare_counter_range"),
}
"""Called before an operation's regions are rebuilt."""


def simplify(region: Region, budget: Budget) -> None:
    """Rewrite a function's body, in place, until nothing changes; remove unused operations."""
    _run(region, TENSOR_REWRITES, budget)


def split_scatter_indices(region: Region, is_small_scatter: Callable[[Op], bool]) -> None:
    """Make scatters read the components of their index vectors as separate operands, in place.

    Args:
        region: a simplified body: other rewrites look for the scatters that this pass replaces.
        is_small_scatter: whether the arrays of a scatter, given by its view, are small. It then keeps its
            index vectors, which generated loops read.
    """

    def split(operation: Operation, rewriter: Rewriter) -> Any:
        from .scatters import scatter_by_components

        return None if is_small_scatter(Op.of(operation)) else scatter_by_components(operation, rewriter)

    name = "stablehlo.scatter"
    if any(operation.name == name for operation in region.walk()):
        _run(region, {**TENSOR_REWRITES, name: (split,)}, Budget(), _has_name(name))


def combine_pairs_first(region: Region) -> None:
    """Combine adjacent elements first in reductions over the last dimensions and others, in place."""
    from .paired_reductions import combine_pairs_first, has_rows, is_paired, reduce_rows_first

    name = "stablehlo.reduce"
    if any(is_paired(operation) or has_rows(operation) for operation in region.walk()):
        rewrites = {**TENSOR_REWRITES, name: (combine_pairs_first, reduce_rows_first)}
        _run(region, rewrites, Budget(), _has_name(name))


def _has_name(name: str) -> Condition:
    return lambda operation: operation.name == name


def _run(
    region: Region,
    tensor_rewrites: Mapping[str, Sequence[Rewrite]],
    budget: Budget,
    only: Condition | None = None,
) -> None:
    """Visit a region until nothing changes, `MAX_VISITS` times at most; for `only` see `Rewriter`."""
    for _ in range(MAX_VISITS):
        rewriter = Rewriter(tensor_rewrites, OTHER_REWRITES, PREPARATIONS, budget, only)
        rewriter.visit(region)
        if not rewriter.rewrite_count:
            return
        changed = remove_common_subexpressions(region)
        remove_dead_code(region)
        if _converges_in_one_pass(region):
            if not changed:
                return
            only = changed.__contains__


def _converges_in_one_pass(region: Region) -> bool:
    """Whether no rewrite of an operation can enable one of another operation that does not use its results.

    This holds without control flow if each operation has one result.
    """
    operations = region.block.operations[:-1]
    return all(len(one.results) == 1 and not is_control_flow(one) for one in operations)
