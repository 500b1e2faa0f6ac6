"""Steps for which native loops around reductions are generated: of rows, and of what reductions take."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from ...ir import Block, Operation
from ...ir.structural_key import structural_key
from ...ops.framework.verify import view_of
from ...recent import Recent
from ...types import TensorType
from ..tiering.cost_model import BYTES_A_SECOND, estimate

MOST_KNOWN = 64
"""Of how many clusters it is known what their code takes: layers of a program have equal ones."""


def has_row_tiling(block: Block) -> bool:
    """Whether native code can be generated for a block of operations as a loop over rows."""
    return RowCode(block, None).found is not None


def has_reduction_tiling(block: Block) -> bool:
    """Whether native code can be generated for a block of reductions and what makes their operands."""
    from ...codegen.reductions.reduction_tiling import reduction_form

    return reduction_form(block, view_of) is not None


class Made(NamedTuple):
    """Native code before it is compiled.

    Attributes:
        module: makes the module in LLVM IR.
        size: how much a task does, which the code has in it.
        launches: for each of its functions, one after the other, the name, the number of tasks, and about how
            many seconds they take.
        rooms: shape and element type of memory that is needed beside operands and results.
    """

    module: Callable[[], Any]
    size: int
    launches: tuple[tuple[str, int, float], ...]
    rooms: tuple[tuple[tuple[int, ...], np.dtype[Any]], ...] = ()


class _Shared:
    """What all clusters with equal blocks have in common.

    Args:
        text: what tells the blocks from others.
        made: what `LoopCode.make` returned.
    """

    def __init__(self, text: str, made: Made | None) -> None:
        self.text = text
        self.made = made

    @functools.cached_property
    def key(self) -> str:
        """Of the code."""
        from ...codegen.llvm.machine import key_of

        assert self.made is not None
        return key_of(f"{self.made.size} in a task, {self.text}")


class LoopCode:
    """The native code of a cluster: what it takes to make it, and the function.

    Args:
        block: the cluster's.
        threads: most threads that it may use; None: all.
    """

    def __init__(self, block: Block, threads: int | None) -> None:
        self.block = block
        self.threads = threads

    def make(self) -> Made | None:
        """The code before it is compiled; None where there is none."""
        raise NotImplementedError

    @functools.cached_property
    def _shared(self) -> _Shared:
        """What equal blocks share. Their texts are compared only where they do not hold the same objects."""
        identity, kept = structural_key(self.block)
        known = _alike.get((type(self).__name__, identity))
        if known is None:
            known = self._of_equal_text(), kept
            _alike.keep((type(self).__name__, identity), known)
        return known[0]

    def _of_equal_text(self) -> _Shared:
        from ...codegen.description import block_description

        text = f"{type(self).__name__}\n{block_description(self.block)}"
        shared = _known.get(text)
        if shared is None:
            shared = _Shared(text, self.make())
            _known.keep(text, shared)
        return shared

    @property
    def found(self) -> Made | None:
        """What `make` makes, once for all equal blocks."""
        return self._shared.made

    @property
    def made(self) -> Made:
        """The same, where there is code."""
        assert self.found is not None
        return self.found

    @property
    def key(self) -> str:
        """Of the code: steps of equal keys share it."""
        return self._shared.key

    def is_quick(self) -> bool:
        """Whether it does not have to be compiled."""
        from ...codegen.llvm.machine import is_quick

        return is_quick(self.key)

    def function(self) -> Callable[..., Any]:
        """A function from operands to the result or results."""
        from ...kernels.launch.native import Launch, NativeFunction

        made = self.made
        operands = [_tensor(value.type) for value in self.block.arguments]
        results = [_tensor(value.type) for value in self.block.terminator.operands]
        arrays = len(operands) + len(results) + len(made.rooms)
        accesses = tuple([(number, 0) for number in range(arrays)])
        return NativeFunction(
            [type.size * type.dtype.itemsize for type in operands],
            [(type.shape, type.dtype) for type in results],
            [
                Launch(self.address(name), tasks, accesses, (), seconds)
                for name, tasks, seconds in made.launches
            ],
            self.threads,
            rooms=made.rooms,
        )

    def address(self, name: str) -> int:
        """Where one of its functions is, compiled by now."""
        from ...codegen.llvm.machine import function_address

        return function_address(self.key, name, lambda: str(self.made.module()))

    def seconds(self) -> float:
        """About how long one thread takes."""
        types = [value.type for value in (*self.block.arguments, *self.block.terminator.operands)]
        moved = sum(type.size * type.dtype.itemsize for type in map(_tensor, types))
        work = estimate(self.block).native_seconds_an_element
        return max(work * _tensor(self.block.terminator.operands[0].type).size, moved / BYTES_A_SECOND)


class RowCode(LoopCode):
    """The code of a cluster of rows."""

    def make(self) -> Made | None:
        from ...codegen.reductions.row_tiling import NAME, row_form
        from ...kernels.launch.threads import division

        form = row_form(self.block, view_of)
        if form is None:
            return None
        seconds = self.seconds()
        tasks, size = division(form.rows, seconds / form.rows * BYTES_A_SECOND)

        def module() -> Any:
            from ...codegen.reductions.rows import rows_module

            return rows_module(self.block, form, view_of, size)

        return Made(module, size, ((NAME, tasks, seconds),))


class ReductionCode(LoopCode):
    """The code of a cluster of reductions and what makes their operands."""

    def make(self) -> Made:
        from ...codegen.reductions.iteration_space import folded_type
        from ...codegen.reductions.reduce import F32
        from ...codegen.reductions.reduction_tiling import reduction_form, reductions_of
        from ...codegen.reductions.reductions import FINISH, PARTIAL, reductions_module
        from ...kernels.launch.threads import division

        form = reduction_form(self.block, view_of)
        assert form is not None
        seconds = self.seconds()
        tasks, size = division(form.units, seconds / form.units * BYTES_A_SECOND)
        rooms = []
        reductions: list[Operation] = reductions_of(self.block) if form.blocks > 1 else []
        for operation in reductions:
            dtype = folded_type(operation, F32).dtype
            rooms.append(((form.outer, form.blocks, form.inner), dtype))
            rooms.append(((form.outer, -(-form.blocks // 2), form.inner), dtype))
        last = seconds / form.block_reduced
        launches = [(PARTIAL, tasks, seconds)]
        if form.blocks > 1:
            launches.append((FINISH, form.outer, last))
        return Made(
            lambda: reductions_module(self.block, form, view_of, size), size, tuple(launches), tuple(rooms)
        )


_known: Recent[str, _Shared] = Recent(MOST_KNOWN)
"""By the name of the class and the block's description."""

_alike: Recent[tuple[str, tuple[object, ...]], tuple[_Shared, list[object]]] = Recent(MOST_KNOWN)
"""By the name of the class and the block's likeness, with what that stands for."""


def _tensor(type: Any) -> TensorType:
    assert isinstance(type, TensorType)
    return type
