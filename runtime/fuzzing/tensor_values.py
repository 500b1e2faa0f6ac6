"""The type by which the generator knows values: all are tensors, or are asked for their category first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from ..ir import Value

if TYPE_CHECKING:

    class TensorValue(Value):
        """A value whose type a producer does not need to narrow: it asked the generator for a tensor."""

        __slots__ = ()
        type: Any

else:
    TensorValue = Value


def tensor_values(values: Iterable[Value]) -> list[TensorValue]:
    return cast("list[TensorValue]", list(values))
