"""Propagation through an operation: the sdy dialect's sharding rules, and the record of propagation.

Source: the sdy dialect's attributes op_sharding_rule and propagation_edges.
"""

from __future__ import annotations

from typing import Final

from .sharding import AxisRef, SdyAttribute, joined

FIRST_FACTOR: Final = ord("i")
"""Factors are named i, j, ..., z, z_1, z_2, ..."""
LAST_LETTER: Final = ord("z") - FIRST_FACTOR


def factor_name(factor: int) -> str:
    return chr(FIRST_FACTOR + factor) if factor <= LAST_LETTER else f"z_{factor - LAST_LETTER}"


class TensorMapping(SdyAttribute):
    """``[i, jk]``: for each dimension of a tensor the factors of which it is the product."""

    mnemonic = "tensor_mapping"

    dimensions: tuple[tuple[int, ...], ...]

    def body(self) -> str:
        return f"[{', '.join([''.join(map(factor_name, factors)) for factors in self.dimensions])}]"


class ShardingRule(SdyAttribute):
    """``<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}>``.

    Attributes:
        factor_sizes: the size of each factor.
        operands, results: how dimensions are products of factors.
        reduction, need_replication, permutation, blocked_propagation: factors that have to be reduced,
            replicated or permuted where they are divided, and those along which no sharding spreads.
        is_custom: whether a user wrote it.
    """

    mnemonic = "op_sharding_rule"

    factor_sizes: tuple[int, ...]
    operands: tuple[TensorMapping, ...]
    results: tuple[TensorMapping, ...]
    reduction: tuple[int, ...] = ()
    need_replication: tuple[int, ...] = ()
    permutation: tuple[int, ...] = ()
    blocked_propagation: tuple[int, ...] = ()
    is_custom: bool = False

    def body(self) -> str:
        text = f"<({joined(self.operands)})->({joined(self.results)})"
        if self.factor_sizes:
            sizes = [f"{factor_name(index)}={size}" for index, size in enumerate(self.factor_sizes)]
            text += f" {{{', '.join(sizes)}}}"
        for name in ("reduction", "need_replication", "permutation", "blocked_propagation"):
            factors = getattr(self, name)
            if factors:
                text += f" {name}={{{', '.join(map(factor_name, factors))}}}"
        return text + (", custom>" if self.is_custom else ">")


class EdgeValue(SdyAttribute):
    """``operand-0`` or ``result-1``: a value of the operation."""

    mnemonic = "edge_value_ref"

    kind: str
    index: int

    def body(self) -> str:
        return f"{self.kind}-{self.index}"


class AxisPropagation(SdyAttribute):
    """``{"x" = operand-0 -> [result-0]}``: an axis that is propagated from a value to others."""

    mnemonic = "axis_to_propagation_details"

    axis: AxisRef
    source: EdgeValue
    targets: tuple[EdgeValue, ...]

    def body(self) -> str:
        return f"{{{self.axis.body()} = {self.source.body()} -> [{joined(self.targets)}]}}"


class PropagationStep(SdyAttribute):
    """``{step-2 = [...]}``: the axes that were propagated in one step."""

    mnemonic = "propagation_one_step"

    index: int
    axes: tuple[AxisPropagation, ...]

    def body(self) -> str:
        return f"{{step-{self.index} = [{joined(self.axes)}]}}"


class PropagationEdges(SdyAttribute):
    """``<[{step-0 = [...]}, ...]>``."""

    mnemonic = "propagation_edges"

    steps: tuple[PropagationStep, ...]

    def body(self) -> str:
        return f"<[{joined(self.steps)}]>"
