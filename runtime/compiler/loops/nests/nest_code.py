"""The native code of a block of elementwise operations, data movement and gathers: loop nests."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ....program.ir import Block, Value, tensor_type
from ....program.ops.elementwise.base import is_elementwise
from ....program.ops.framework.declaration import declaration_of
from ...cost_model import BYTES_PER_SECOND, estimate
from ...implementation import NoCode, OverwritePairs, Runnable
from ..block_cache import BlockCache
from ..native_code import NativeCode


def may_overwrite(block: Block) -> OverwritePairs:
    """Pairs of an operand and a result of a block that may share memory.

    Each element of the operand is read only for the results' elements with the same indices.
    """
    results = block.terminator.operands
    shape = tensor_type(results[0]).shape
    read_elsewhere: set[Value] = set()
    for operation in reversed(block.operations):
        if declaration_of(operation).is_terminator:
            continue
        is_at_same_element = is_elementwise(operation) and tensor_type(operation.result).shape == shape
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


class ScheduledNests:
    """The nests of a block.

    Args:
        nests: those of `nests_of`.
    """

    def __init__(self, nests: Sequence[Any]) -> None:
        self.unscheduled = nests

    @functools.cached_property
    def scheduled(self) -> Sequence[Any]:
        """The nests, each with its loop schedule."""
        from .loop_schedule import schedule_loops

        return tuple(map(schedule_loops, self.unscheduled))

    @functools.cached_property
    def keys(self) -> Sequence[str]:
        """The keys of the nests' code, which depends on the processor: LLVM is loaded to ask for it."""
        from ..llvm.machine import key_of
        from .nest_description import nest_description

        return tuple([key_of(nest_description(nest)) for nest in self.scheduled])

    @property
    def with_keys(self) -> Sequence[tuple[Any, str]]:
        """The scheduled nests and the keys of their code."""
        return tuple(zip(self.scheduled, self.keys, strict=True))


class NestCode(NativeCode):
    """The native code of a block, as loop nests.

    Args:
        block: see `nests_of`.
        threads: maximum number of threads; None: all.
    """

    @functools.cached_property
    def may_overwrite(self) -> OverwritePairs:  # type: ignore[override]
        """Pairs of an operand and a result that may share memory."""
        return may_overwrite(self.block)

    @functools.cached_property
    def nests(self) -> ScheduledNests:
        """The nests, which are cached for equal blocks.

        Raises:
            NoCode: the block needs too many nests.
        """
        return _nest_cache.get_or_build(self.block, self._build_nests)

    def _build_nests(self) -> ScheduledNests:
        from .nest_builder import nests_of

        return ScheduledNests(nests_of(self.block))

    @property
    def has_code(self) -> bool:
        """Whether the block does not need too many nests."""
        try:
            return bool(self.nests)
        except NoCode:
            return False

    @property
    def key(self) -> str:
        return " ".join(self.nests.keys)

    def is_compiled(self, quickly: bool = False) -> bool:
        from ..llvm.machine import is_compiled

        return all(is_compiled(key, quickly) for key in self.nests.keys)

    def modules(self) -> Sequence[tuple[str, Callable[[], str]]]:
        from .nest_emitter import nest_ir

        return [(key, functools.partial(nest_ir, nest)) for nest, key in self.nests.with_keys]

    @property
    def function_names(self) -> Sequence[str]:
        from .nest_emitter import NAME

        return (NAME,)

    def function_of_launches(self, quickly: bool) -> Runnable:
        return self.launched(self.launches(quickly))

    def launches(self, quickly: bool = False) -> list[Any]:
        """The launches of the nests, to be run in sequence; `quickly`: see `machine.function_addresses`."""
        return [self.launch(nest, key, quickly) for nest, key in self.nests.with_keys]

    def launch(self, nest: Any, key: str, quickly: bool) -> Any:
        from ....kernels.launch.native import Launch
        from ....kernels.launch.threads import division
        from ..llvm.machine import function_address
        from .emission_plan import block_count, block_shape
        from .nest_emitter import NAME, integer_args, nest_ir

        address = function_address(key, NAME, lambda: nest_ir(nest), quickly=quickly)
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


_nest_cache: BlockCache[ScheduledNests] = BlockCache()
"""Nests, by block."""
