"""In which code of a native loop its iterations spend their time.

LLVM optimizes the code of a loop and that of each of its launches one after the other: first what takes calls
the most time for each second of optimizing it. Estimates say what that is until the loop has run: the quick
code of one launch may take 1.1 times as long as its optimized code, and that of another 30 times.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from time import monotonic
from typing import Any

from ....program.ir import Operation
from ....program.ops.framework.declaration import declaration_of
from ....program.ops.framework.traits import RegionRole
from ...cost_model import native_seconds

_ITERATIONS = 10
"""Iterations that an inner loop is taken to run where its number of iterations is not constant."""
_MULTIPLICATION_SECONDS = 1e-10
"""Seconds of a multiplication of an inline product in quick code, which has vectors for some (Zen 4)."""
_LOOK_SECONDS = 0.05
"""Seconds between two looks at the measured times."""


class MeasuredShares:
    """The shares of codes in the time of a loop's iterations: estimated, and measured once the loop has run.

    Args:
        own_key: the key of the loop's own code.
        own_share: its estimated share, which is not measured.
    """

    def __init__(self, own_key: str, own_share: float) -> None:
        self._own_key, self._own_share = own_key, own_share
        self._keys_of_calls: dict[Any, Sequence[str]] = {}
        self._estimates: dict[Any, float] = defaultdict(float)
        self._shares: dict[str, float] = defaultdict(float, {own_key: own_share})
        self._next_look = 0.0

    def add(self, keys: Sequence[str], share: float, call: Any) -> None:
        """Add a launch.

        Args:
            keys: of its code.
            share: the estimated one.
            call: a `LoopCall`; equal launches may have the same.
        """
        # Equal loop nests of a launch have one key.
        self._keys_of_calls[call] = keys = list(dict.fromkeys(keys))
        self._estimates[call] += share
        for key in keys:
            self._shares[key] += share

    def of(self, key: str) -> float:
        """The share of the code of a key, as far as that is known by now."""
        if monotonic() > self._next_look:
            self._measure()
            self._next_look = monotonic() + _LOOK_SECONDS
        return self._shares.get(key, 0.0)

    def _measure(self) -> None:
        """Take the measured times if there are any, and estimates to scale for launches that have not run."""
        measured = {call: call.seconds for call in self._keys_of_calls if call.seconds}
        estimated = sum([self._estimates[call] for call in measured])
        if estimated > 0.0:
            scale = sum(measured.values()) / estimated
            seconds = {call: measured.get(call) or scale * share for call, share in self._estimates.items()}
            total = sum(seconds.values())
            shares = defaultdict(float, {self._own_key: self._own_share})
            for call, keys in self._keys_of_calls.items():
                for key in keys:
                    shares[key] += (1.0 - self._own_share) * seconds[call] / total
            self._shares = shares


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
