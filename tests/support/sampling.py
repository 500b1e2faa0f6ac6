"""The bounded sample of the cases of a test that `make test` runs; `pytest --campaign` runs all cases.

    @pytest.mark.sampled                      # each value of each parameter occurs in the sample
    @pytest.mark.sampled(("dtype", "name"))   # and each pair of values of these two that the cases have
    @pytest.mark.sampled(pairs=True)          # and each pair of values of any two parameters
    @pytest.mark.sampled(share=2)             # one of two cases, such as seeds of random programs
"""

from __future__ import annotations

import itertools
import zlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import pytest

MARKER = "sampled"
OPTION = "--campaign"


def select(items: list[pytest.Item], config: pytest.Config) -> None:
    """Deselect cases that the samples of their tests do not have.

    All cases remain with `--campaign`, and where the command names a test by its identifier.
    """
    if config.getoption(OPTION) or any("::" in argument for argument in config.args):
        return
    cases: dict[str, list[pytest.Function]] = {}
    for item in items:
        if item.get_closest_marker(MARKER) is not None and isinstance(item, pytest.Function):
            cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    dropped: set[pytest.Item] = set()
    for group in cases.values():
        dropped.update(set(group) - set(_sample(group)))
    if dropped:
        config.hook.pytest_deselected(items=list(dropped))
        items[:] = [item for item in items if item not in dropped]


def _sample(items: Sequence[pytest.Function]) -> list[pytest.Function]:
    marker = items[0].get_closest_marker(MARKER)
    assert marker is not None
    order = sorted(items, key=lambda item: zlib.crc32(item.name.encode()))
    if "share" in marker.kwargs:
        return order[:: marker.kwargs["share"]]
    cases = [item.callspec.params for item in order]
    combinations: list[Sequence[str]] = list(marker.args)
    if marker.kwargs.get("pairs"):
        combinations += itertools.combinations(cases[0], 2)
    return [order[index] for index in covering(cases, combinations)]


def covering(cases: Sequence[Mapping[str, Any]], combinations: Sequence[Sequence[str]] = ()) -> list[int]:
    """The indices of few cases in which everything occurs that must occur.

    The next case is always the first of those in which most occurs that is still missing.

    Args:
        cases: each has a value of each parameter.
        combinations: names of parameters of which each combination of values that a case has must occur; each
            value of each parameter must occur in any case.
    """
    wanted = [set(_occurrences(case, combinations)) for case in cases]
    missing: set[Hashable] = set().union(*wanted)
    chosen = []
    while missing:
        best = max(range(len(cases)), key=lambda index: len(wanted[index] & missing))
        chosen.append(best)
        missing -= wanted[best]
    return chosen


def _occurrences(case: Mapping[str, Any], combinations: Sequence[Sequence[str]]) -> Iterator[Hashable]:
    for names in (*((name,) for name in case), *combinations):
        yield tuple((name, _identity(case[name])) for name in names)


def _identity(value: Any) -> Hashable:
    """Equal for equal values of a parameter. Zeros of both signs are different, and so are 1 and True."""
    try:
        hash(value)
    except TypeError:
        return id(value)
    return type(value), value, repr(value)
