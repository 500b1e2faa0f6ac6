"""Steps for which native loops over rows are generated: reductions along trailing dimensions and around them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ir import Block
from ..ops.verify import view_of
from ..types import TensorType
from .estimates import estimate


def has_row_form(block: Block) -> bool:
    """Whether native code can be generated for a block of operations as a loop over rows."""
    from ..codegen.row_form import row_form

    return row_form(block, view_of) is not None


class RowCode:
    """The native code of a block that has a row form: what it takes to make it, and the function.

    Args:
        block: of a `RowCluster`.
        threads: most threads that it may use; None: all.
    """

    def __init__(self, block: Block, threads: int | None) -> None:
        self.block = block
        self.threads = threads
        self.parts: tuple[str, str, int, float] | None = None

    def _made(self) -> tuple[str, str, int, float]:
        """Its text in LLVM IR, that text's key, the number of tasks, and about how long all take."""
        if self.parts is None:
            from ..codegen.machine import key_of
            from ..codegen.row_form import row_form
            from ..codegen.rows import rows_module
            from ..kernels.threads import division

            form = row_form(self.block, view_of)
            assert form is not None
            seconds = _seconds(self.block)
            tasks, size = division(form.rows, seconds / form.rows * _BYTES_A_SECOND)
            text = str(rows_module(self.block, form, view_of, size))
            self.parts = (text, key_of(text), tasks, seconds)
        return self.parts

    def is_quick(self) -> bool:
        """Whether it does not have to be compiled."""
        from ..codegen.machine import is_quick

        return is_quick(self._made()[1])

    def function(self) -> Callable[..., Any]:
        """A function from operands to the result or results."""
        from ..codegen.machine import function_address
        from ..codegen.rows import NAME
        from ..kernels.native import Launch, NativeFunction

        text, key, tasks, seconds = self._made()
        operands = [_tensor(value.type) for value in self.block.arguments]
        results = [_tensor(value.type) for value in self.block.terminator.operands]
        accesses = tuple([(number, 0) for number in range(len(operands) + len(results))])
        launch = Launch(function_address(key, NAME, lambda: text), tasks, accesses, (), seconds)
        return NativeFunction(
            [type.size * type.dtype.itemsize for type in operands],
            [(type.shape, type.dtype) for type in results],
            [launch],
            self.threads,
        )


_BYTES_A_SECOND = 1e10
"""What computing is worth in bytes moved, where work is divided."""


def _seconds(block: Block) -> float:
    """About how long one thread takes."""
    types = [value.type for value in (*block.arguments, *block.terminator.operands)]
    moved = sum(type.size * type.dtype.itemsize for type in map(_tensor, types))
    work = estimate(block).native_seconds_an_element * _tensor(block.terminator.operands[0].type).size
    return max(work, moved / _BYTES_A_SECOND)


def _tensor(type: Any) -> TensorType:
    assert isinstance(type, TensorType)
    return type
