"""The base of the native code of fusions, which fusions with equal blocks share."""

from __future__ import annotations

import functools

from .block_cache import BlockCache
from .native_code import LoweredKernel, NativeCode, seconds_of


class _SharedCode:
    """The lowered code that fusions with equal blocks share.

    Args:
        text: describes the block; different blocks have different texts.
        lowered: the result of `FusionCode.lower`.
    """

    def __init__(self, text: str, lowered: LoweredKernel | None) -> None:
        self.text = text
        self.lowered = lowered

    @functools.cached_property
    def key(self) -> str:
        from .llvm.machine import key_of

        assert self.lowered is not None
        return key_of(f"{self.lowered.items_per_task} in a task, {self.text}")


class FusionCode(NativeCode):
    """The native code of a fusion, which fusions with equal blocks share."""

    def lower(self) -> LoweredKernel | None:
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
    def lowered_or_none(self) -> LoweredKernel | None:
        """The result of `lower`, once for all equal blocks."""
        return self._shared.lowered

    @property
    def lowered(self) -> LoweredKernel:
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
