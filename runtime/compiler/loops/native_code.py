"""The bases of generated native code, which runs as launches of compiled tasks."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...kernels.named_tuples import NamedTuple
from ...program.ir import Block, Operation
from ...program.ir.record import Record
from ...types import DType, TensorType, Type
from ..cost_model import BYTES_PER_SECOND, estimate
from ..implementation import Cost, Implementation, ImplementationKind, Runnable
from .block_cache import BlockCache

if TYPE_CHECKING:
    from ...kernels.launch.threads import Division


class TaskLaunch(NamedTuple):
    """The launch of a task function.

    Attributes:
        name: the name of the function.
        tasks: the number of tasks.
        seconds: the estimated seconds of all tasks on one thread.
    """

    name: str
    tasks: int
    seconds: float


class LoweredLoop(Record):
    """Native code before it is compiled.

    Attributes:
        module: makes the module in LLVM IR.
        items_per_task: work items of a task: a constant of the code, or an integer of the closure; part of
            the key.
        launches: of the task functions, in order.
        scratch: shapes and element types of scratch arrays.
        workspace: the function of the module that returns the bytes of another scratch array, the last one,
            which are known once the code is generated; None: there is none.
        symbols: gives the addresses of external symbols.
        integers: the integers of the closures, which follow the pointers.
    """

    module: Callable[[], Any]
    items_per_task: int
    launches: tuple[TaskLaunch, ...]
    scratch: tuple[tuple[tuple[int, ...], DType], ...] = ()
    workspace: str | None = None
    symbols: Callable[[], Mapping[str, int]] = dict
    integers: tuple[int, ...] = ()


class NativeCode(Implementation):
    """Code that computes the results of a block, in new arrays or over operands.

    Args:
        block: what it computes.
        threads: maximum number of threads; None: all.

    Attributes:
        label: the kind of code, as `Executable.explain` names it.
        fast_compile: as in `machine.function_addresses`.
    """

    kind = ImplementationKind.GENERATED
    takes_regions = False
    may_alias = False
    has_quick_code = True
    label = "one loop"
    fast_compile = False

    def __init__(self, block: Block, threads: int | None) -> None:
        self.block = block
        self.threads = threads
        self.reason = f"{self.label} for {names_of(block)}"

    def cost(self) -> Cost:
        return estimate(self.block)

    @property
    def has_code(self) -> bool:
        """Whether code can be generated, where that is in doubt."""
        return True

    @property
    def key(self) -> str:
        """The key of the code: blocks with equal keys share it."""
        raise NotImplementedError

    @property
    def lowered(self) -> LoweredLoop:
        """The code before it is compiled."""
        raise NotImplementedError

    def signature(self) -> tuple[Sequence[TensorType], Sequence[TensorType]]:
        """The types of the operands and of the results."""
        operands, results = self.block.arguments, self.block.terminator.operands
        return [tensor(value.type) for value in operands], [tensor(value.type) for value in results]

    def is_compiled(self, quickly: bool = False) -> bool:
        from .llvm.machine import is_compiled

        return is_compiled(self.key, quickly)

    @property
    def compiles_ahead(self) -> bool:  # type: ignore[override]
        """Whether other processors may compile the code: those of one thread have one."""
        return self.threads != 1

    @property
    def code_keys(self) -> Sequence[str]:
        return [key for key, _ in self.modules()]

    def compile_texts_ahead(self, quickly: bool = False, is_hot: bool = False) -> Iterator[None]:
        from .llvm.machine import compile_ahead

        names, unrolls_late = self.function_names if quickly else (), False if is_hot else None
        for key, build in self.modules():
            compile_ahead(key, build, self.fast_compile, names, unrolls_late)
            yield

    def modules(self) -> Sequence[tuple[str, Callable[[], str]]]:
        """The keys of the modules, and functions that make them in LLVM IR."""
        return [(self.key, self._text)]

    @property
    def function_names(self) -> Sequence[str]:
        """The functions of a module that its users call."""
        names = [launch.name for launch in self.lowered.launches]
        return names if self.lowered.workspace is None else [*names, self.lowered.workspace]

    def _text(self) -> str:
        from .llvm.module_text import text_of

        return text_of(self.lowered.module())

    def prepare(self) -> Runnable:
        return self.function_of_launches(quickly=False)

    def prepare_soon(self) -> Runnable:
        return self.function_of_launches(quickly=True)

    def function_of_launches(self, quickly: bool) -> Runnable:
        """The function that launches the code; for `quickly` see `machine.function_addresses`."""
        from ...kernels.launch.native import Launch
        from .llvm.machine import function_addresses

        key, lowered, scratch = self.key, self.lowered, self.lowered.scratch
        addresses = function_addresses(
            key, self.function_names, self._text, self.fast_compile, lowered.symbols(), quickly
        )
        if lowered.workspace is not None:
            *addresses, workspace = addresses
            scratch = (*scratch, ((workspace_bytes(workspace),), np.dtype(np.int8)))
        arrays = sum(map(len, (*self.signature(), scratch)))
        accesses = tuple([(number, 0) for number in range(arrays)])
        launches = [
            Launch(address, tasks, accesses, lowered.integers, seconds)
            for address, (_, tasks, seconds) in zip(addresses, lowered.launches, strict=True)
        ]
        return self.launched(launches, scratch)

    def launched(self, launches: Sequence[Any], scratch: Sequence[Any] = ()) -> Runnable:
        """A function that runs launches on operands, results and scratch memory."""
        from ...kernels.launch.native import NativeFunction

        operands, results = self.signature()
        return NativeFunction(
            [type.size * type.dtype.itemsize for type in operands],
            [(type.shape, type.dtype) for type in results],
            launches,
            self.threads,
            scratch,
        )


def workspace_bytes(address: int) -> int:
    """The bytes of a workspace, from the function of the code at an address that returns them."""
    return int(ctypes.CFUNCTYPE(ctypes.c_int64)(address)())


class _SharedCode:
    """The lowered code that fusions with equal blocks share.

    Args:
        text: describes the block; different blocks have different texts.
        lowered: the result of `FusionCode.lower`.
    """

    def __init__(self, text: str, lowered: LoweredLoop | None) -> None:
        self.text = text
        self.lowered = lowered

    @functools.cached_property
    def key(self) -> str:
        from .llvm.machine import key_of

        assert self.lowered is not None
        return key_of(f"{self.lowered.items_per_task} in a task, {self.text}")


class FusionCode(NativeCode):
    """The native code of a fusion, which fusions with equal blocks share."""

    def lower(self) -> LoweredLoop | None:
        """The code before it is compiled; None if there is none."""
        raise NotImplementedError

    @functools.cached_property
    def _shared(self) -> _SharedCode:
        """The code shared with equal blocks; their texts are only compared if their structural keys
        differ.
        """
        return _shared_code.get_or_build(self.block, self._build_shared, type(self).__name__)

    def _build_shared(self) -> _SharedCode:
        from .description import block_description

        text = f"{type(self).__name__}\n{block_description(self.block)}"
        return _SharedCode(text, self.lower())

    @property
    def lowered_or_none(self) -> LoweredLoop | None:
        """The result of `lower`, once for all equal blocks."""
        return self._shared.lowered

    @property
    def lowered(self) -> LoweredLoop:
        """The code before it is compiled, which must exist."""
        assert self.lowered_or_none is not None
        return self.lowered_or_none

    @property
    def key(self) -> str:
        """The key of the code: steps with equal keys share it."""
        return self._shared.key

    def seconds(self) -> float:
        """The estimated seconds of one thread."""
        operands, results = self.signature()
        work = self.cost().native_seconds_per_element * results[0].size
        return seconds_of(work, (*operands, *results))


_shared_code: BlockCache[_SharedCode] = BlockCache()
"""Lowered code, by block and the class's name."""


def seconds_of(work: float, types: Iterable[TensorType]) -> float:
    """The estimated seconds of one thread: for arithmetic, or for memory traffic if that takes longer."""
    return max(work, sum(type.size * type.dtype.itemsize for type in types) / BYTES_PER_SECOND)


def divide_by_seconds(items: int, seconds: float) -> Division:
    """The division of work items into tasks, from their estimated time.

    Args:
        items: work items in all.
        seconds: of all work items on one thread.

    Returns:
        The number of tasks, and the work items of each.
    """
    from ...kernels.launch import threads

    return threads.division(items, seconds / items * BYTES_PER_SECOND)


def tensor(type: Type) -> TensorType:
    assert isinstance(type, TensorType)
    return type


MAX_SMALL_ELEMENTS = 1 << 15
"""Maximum elements that a generated loop reads in the time of a call of a hand-written kernel."""


def has_small_arrays(operation: Operation) -> bool:
    """Whether no operand and no result has more elements than MAX_SMALL_ELEMENTS."""
    values = (*operation.operands, *operation.results)
    return max([tensor(value.type).size for value in values]) <= MAX_SMALL_ELEMENTS


MAX_NAMES = 12
"""Operations of a block that `Executable.explain` lists."""


def names_of(block: Block) -> str:
    """The operations of a block, for `Executable.explain`."""
    names: Sequence[str] = [operation.name.partition(".")[2] for operation in block.operations[:-1]]
    more = len(names) - MAX_NAMES
    return ", ".join(names[:MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
