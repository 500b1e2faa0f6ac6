"""Generated loop nests: fusions, and elementwise operations on many elements."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from ...ir import Block, Builder, Function, Operation, Value, tensor_type
from ...ir.affine import Box
from ...ir.structural_key import structural_key
from ...lru_cache import LRUCache
from ...ops.control.control import While
from ...ops.elementwise.base import Elementwise
from ...ops.framework.declaration import Op, lookup
from ...ops.framework.verify import TERMINATORS, view_of
from ...ops.internal.fusion import REDUCTION_FUSION, ROW_FUSION, Fusion
from ...options import Options, Ordering
from ...specialize.fusion.elementwise import MIN_LARGE_SIZE, form_fusions
from ...specialize.fusion.gather_index_map import has_gather_map
from ...specialize.fusion.reductions import form_reduction_fusions
from ...specialize.fusion.rematerialization import rematerialize
from ...specialize.fusion.rows import form_row_fusions
from ...specialize.fusion.scheduling import reduce_early
from ...specialize.fusion.small_steps import form_step_fusions
from ...specialize.rewrites.registry import split_scatter_indices
from ...specialize.utils.rewriter import has_static_unquantized_types
from ..implementation import Pairs, Runnable
from ..tiering.cost_model import BYTES_PER_SECOND, MIN_SAVED_SECONDS, estimate, native_saving_seconds
from .native_code import NativeCode
from .reduction_fusion import has_reduction_tiling, has_row_tiling

_CAN_GENERATE = {ROW_FUSION: has_row_tiling, REDUCTION_FUSION: has_reduction_tiling}
_DEFAULT_ORDERING = Ordering(scatter_schedule=None)


def fuse_operations(function: Function, options: Options) -> None:
    """Fuse the operations of a specialized function and of its callees, in place, if compilation is on."""
    if options.compile == "never":
        return
    has_default_ordering = options.ordering._replace(scatter_schedule=None) == _DEFAULT_ORDERING
    fuse_reductions = _fuse_reductions if has_default_ordering else _fuse_no_reductions
    leave = functools.partial(_is_native_loop, options)
    for each in (function, *function.callees):
        assert each.body is not None
        if has_default_ordering:
            split_scatter_indices(each.body, _has_few_updates)
        form_fusions(each.body, generates, leave, fuse_reductions, is_worth_compiling_alone)
        rematerialize(each.body, generates, _CAN_GENERATE, leave)
        if options.ordering == Ordering():
            form_step_fusions(each.body, is_small_step, leave)
        reduce_early(each.body, leave)


def _has_few_updates(view: Op) -> bool:
    from .region_loops import has_few_updates

    return has_few_updates(view)


def _fuse_reductions(block: Block) -> None:
    form_row_fusions(block, generates, has_row_tiling)
    form_reduction_fusions(block, generates, has_reduction_tiling)


def _fuse_no_reductions(block: Block) -> None:
    """Reductions are generated for the default tree and accumulation only."""


def is_worth_compiling_alone(operation: Operation) -> bool:
    """Whether native code for one elementwise operation saves more time than its call takes."""
    if not has_static_unquantized_types(operation):
        return False
    return native_saving_seconds(operation) >= MIN_SAVED_SECONDS and generates(operation)


def _is_native_loop(options: Options, operation: Operation) -> bool:
    if operation.name != While.name:
        return False
    from .native_loops import loop_to_compile

    view = While(operation)
    view.ordering = options.ordering
    return not isinstance(loop_to_compile(view, options.threads), str)


def generates(operation: Operation) -> bool:
    """Whether native code can be generated for an elementwise operation."""
    if not _is_elementwise(operation):
        return False
    from ...codegen.coverage import emits

    return emits(operation)


def is_small_step(operation: Operation) -> bool:
    """Whether native code on small arrays can be generated for an operation of a step fusion."""
    from ...codegen.arrays import check_step

    return check_step(operation, view_of) is None


def is_generated(view: Op) -> bool:
    """Whether a loop nest is generated for an operation.

    It is for a fusion, a gather, and an elementwise operation on enough elements. It is not for scalars: the
    reference of a region on scalars may be applied to arrays, but native code serves one size.
    """
    operation = view.operation
    if isinstance(view, Fusion) or has_gather_map(operation):
        return True
    if not isinstance(view, Elementwise) or not has_static_unquantized_types(operation):
        return False
    result_type = tensor_type(operation.result)
    shape, size = result_type.shape, result_type.size
    if not shape:
        return False
    has_one_shape = all(tensor_type(value).shape in (shape, ()) for value in operation.operands)
    is_worth = is_worth_compiling_alone(operation) or (size >= MIN_LARGE_SIZE and generates(operation))
    return has_one_shape and is_worth


def block_of(view: Op) -> Block:
    """The body of a fusion; for another operation a block of that operation."""
    if isinstance(view, Fusion):
        return view.body.block
    operation = view.operation
    block = Block([operand.type for operand in operation.operands])
    builder = Builder(block)
    values: dict[Value, Value] = {}
    arguments = [
        values.setdefault(operand, argument)
        for operand, argument in zip(operation.operands, block.arguments, strict=True)
    ]
    created = builder.create(
        operation.name,
        arguments,
        [result.type for result in operation.results],
        operation.attributes,
        location=operation.location,
    )
    builder.create("stablehlo.return", created.results)
    return block


def may_overwrite(block: Block) -> Pairs:
    """Pairs of an operand and a result of a block that may share memory.

    Each element of the operand is read only for the results' elements with the same indices.
    """
    results = block.terminator.operands
    shape = tensor_type(results[0]).shape
    read_elsewhere: set[Value] = set()
    for operation in reversed(block.operations):
        if operation.name in TERMINATORS:
            continue
        is_at_same_element = _is_elementwise(operation) and tensor_type(operation.result).shape == shape
        # If a result is read at other indices, so are the operands from which it is computed.
        if not is_at_same_element or operation.result in read_elsewhere:
            read_elsewhere.update(operation.operands)
    return tuple(
        [
            (operand_number, result_number)
            for operand_number, argument in enumerate(block.arguments)
            if argument not in read_elsewhere and argument not in results
            for result_number, result in enumerate(results)
            if argument.type == result.type
        ]
    )


def _is_elementwise(operation: Operation) -> bool:
    return issubclass(lookup(operation.name) or Op, Elementwise)


class NestCode(NativeCode):
    """The native code of a block, as loop nests.

    Args:
        block: see `nests_of`.
        threads: maximum number of threads; None: all.
        box: the elements of the results that are computed; None: all.
    """

    def __init__(self, block: Block, threads: int | None, box: Box | None = None) -> None:
        super().__init__(block, threads)
        self.box = box

    @functools.cached_property
    def may_overwrite(self) -> Pairs:  # type: ignore[override]
        """Pairs of an operand and a result that may share memory."""
        return may_overwrite(self.block)

    @functools.cached_property
    def nests_and_keys(self) -> tuple[Sequence[Any], Sequence[str]]:
        """The nests and the keys of their code, which are cached for equal blocks.

        Raises:
            NoCode: the block needs too many nests.
        """
        from ...codegen.llvm.machine import key_of
        from ...codegen.nests.loop_schedule import schedule_loops
        from ...codegen.nests.nest_description import nest_description
        from .nests import nests_of

        identity, referenced = structural_key(self.block)
        cached = _nest_cache.get((identity, self.box))
        if cached is None:
            nests = tuple([schedule_loops(nest) for nest in nests_of(self.block, self.box)])
            cached = nests, tuple([key_of(nest_description(nest)) for nest in nests]), referenced
            _nest_cache.put((identity, self.box), cached)
        return cached[:2]

    @property
    def key(self) -> str:
        return " ".join(self.nests_and_keys[1])

    def is_compiled(self) -> bool:
        from ...codegen.llvm.machine import is_compiled

        return all(map(is_compiled, self.nests_and_keys[1]))

    def prepare(self) -> Runnable:
        return self.launched(self.launches())

    def launches(self) -> list[Any]:
        """The launches of the nests, to be run in sequence."""
        return [self.launch(nest, key) for nest, key in zip(*self.nests_and_keys, strict=True)]

    def launch(self, nest: Any, key: str) -> Any:
        from ...codegen.llvm.machine import function_address
        from ...codegen.nests.emission_plan import block_count, block_shape
        from ...codegen.nests.nest_emitter import NAME, integer_args, nest_ir
        from ...kernels.launch.native import Launch
        from ...kernels.launch.threads import division

        address = function_address(key, NAME, lambda: nest_ir(nest))
        blocks = block_shape(nest)
        elements = blocks.middle * blocks.inner * nest.slice_length
        seconds = estimate(self.block).native_seconds_per_element
        bytes_moved = sum(access.element_type.dtype.itemsize for access in nest.accesses)
        work_items = block_count(nest, blocks)
        weight = max(bytes_moved, seconds * BYTES_PER_SECOND)
        tasks, items_per_task = division(work_items, elements * weight)
        accesses = tuple(
            [
                (access.array, access.index_map.offset * access.element_type.dtype.itemsize)
                for access in nest.accesses
            ]
        )
        seconds *= work_items * elements
        return Launch(address, tasks, accesses, integer_args(nest, blocks, items_per_task), seconds)


_CachedNests = tuple[Sequence[Any], Sequence[str], list[object]]
_nest_cache: LRUCache[tuple[tuple[object, ...], Box | None], _CachedNests] = LRUCache(64)
"""Maps a block's structural key and the box to nests, their keys, and the objects that the key refers to."""
