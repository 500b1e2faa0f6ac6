"""Estimates in which code of a native loop its iterations spend their time.

LLVM optimizes the code of a loop and that of each of its launches one after the other: first what takes calls
the most time for each second of optimizing it.
"""

from __future__ import annotations

from collections.abc import Mapping

from ....program.ir import Operation
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.traits import RegionRole
from ...cost_model import native_seconds

_ITERATIONS = 10
"""Iterations that an inner loop is taken to run where its number of iterations is not constant."""
_MULTIPLICATION_SECONDS = 1e-10
"""Seconds of a multiplication of an inline product in quick code, which has vectors for some (Zen 4)."""


def time_shares(loop: Operation) -> Mapping[Operation | None, float]:
    """The share of each launch of a `while` in the time of its iterations; None: that of its own code.

    Args:
        loop: the `while`, whose launches are `Launched` operations.
    """
    from ...loops.arrays import launched_operations

    seconds: dict[Operation | None, float] = dict.fromkeys(launched_operations([loop]), 0.0)
    seconds[None] = 0.0
    _add_seconds(loop, 1.0, seconds)
    total = sum(seconds.values()) or 1.0
    return {launched: share / total for launched, share in seconds.items()}


def _add_seconds(operation: Operation, runs: float, seconds: dict[Operation | None, float]) -> None:
    """Add the time of the regions of an operation that run so often in an iteration."""
    from ...loops.scalars.emitter import emit_rule_of

    for inner in [inner for region in operation.regions for inner in region.block.operations]:
        role = declaration_of(inner).region_role
        if inner in seconds:
            seconds[inner] += runs * native_seconds(inner.regions[0].block.operations[0])
        elif role.is_control_flow or role.runs_once:
            _add_seconds(inner, runs * _iterations(inner), seconds)
        else:
            multiplications = emit_rule_of(inner).multiplications(inner)
            seconds[None] += runs * (native_seconds(inner) + _MULTIPLICATION_SECONDS * multiplications)


def _iterations(operation: Operation) -> int:
    """How often the regions of an operation run, about."""
    from ...loops.scalars import count_limit

    if declaration_of(operation).region_role is not RegionRole.LOOP:
        return 1
    return count_limit(operation) or _ITERATIONS
