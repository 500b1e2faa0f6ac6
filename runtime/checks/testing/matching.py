"""Assertions about another implementation's results."""

from __future__ import annotations

from collections.abc import Sequence

from ...options import Options
from ..error_bounds import accuracy


def assert_matches(
    actual: Sequence[object],
    module: object,
    inputs: Sequence[object] = (),
    *,
    entry: str = "main",
    options: Options | None = None,
) -> None:
    """Check that results are those of a correct implementation.

    Integers, booleans and data movement have to be equal; floats lie within the bounds that
    `nimblehlo.accuracy` computes, so that there is no tolerance to choose.

    Args:
        actual: the results, as arrays.
        module: what `nimblehlo.load` takes.
        inputs: what `nimblehlo.execute` takes.
        entry: the function to run.
        options: of NimbleHLO's own run.

    Raises:
        AssertionError: a result lies beyond its bound; the message names elements, values and bounds.
        NimbleError: what `nimblehlo.execute` raises.
    """
    __tracebackhide__ = True
    computed = accuracy(module, inputs, entry=entry, options=options)
    violations = computed.violations(actual)
    if violations:
        lines = [*map(str, violations)]
        if computed.lost_digits is not None:
            lines.append(f"note: {computed.lost_digits}")
        raise AssertionError("\n".join(lines))
