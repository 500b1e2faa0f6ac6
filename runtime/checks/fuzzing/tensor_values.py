"""The generator's static type of values, all of which are tensors or have their category checked first."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, cast

from ...program.ir import Value

if TYPE_CHECKING:

    class TensorValue(Value):
        """A value whose type producers need not narrow, because they requested a tensor."""

        __slots__ = ()
        type: Any

else:
    TensorValue = Value


def tensor_values(values: Iterable[Value]) -> list[TensorValue]:
    return cast("list[TensorValue]", list(values))
