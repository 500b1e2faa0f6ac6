"""The operation that the specializer makes of operations which become one native loop nest.

It occurs in specialized programs alone: no text and no bytecode may name it.
"""

from __future__ import annotations

from typing import Any, Final

from ..types import TENSOR
from .declaration import Array, Evaluate, Op, Operand, Region, Result

CLUSTER: Final = "nimblehlo.cluster"


class Cluster(Op, name=CLUSTER):
    """Runs `body`, whose operations are elementwise or only move elements, on its operands."""

    operands = Operand(TENSOR, variadic=True)
    body = Region()
    results = Result(TENSOR, variadic=True)

    def verify(self) -> None:
        raise self.unsupported("is made by the specializer alone")

    def reference(self, *operands: Array, body: Evaluate) -> tuple[Any, ...]:
        return body(*operands)
