"""Templates of collectives among two to eight processes, in all group modes of the specification.

Operands of data movement have edge values. Those of reductions are common numbers, whose sums have bounds.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Final

import numpy as np

from ....kernels.named_tuples import NamedTuple
from ....program.ir import Builder, Region, Value
from ....program.ops import lookup
from ....program.ops.collectives.process_grid import Grid, GroupMode
from ....program.ops.collectives.replica_groups import ReplicaGroups
from ....types import FLOAT, AnyElementType, ElementType, FutureType
from ..template import Template, applied, make, region, templates_of, tensor

_SIZE: Final = 8
"""The size of the dimension that groups split or multiply: groups of 1, 2, 4 and 8 divide it."""
_COLUMNS: Final = 3


class Grouping(NamedTuple):
    """A grid and how an operation divides it into groups.

    Attributes:
        grid: the processes.
        rows: the ids of each group.
        channel: the channel's id; 0: the operation has none.
        has_global_ids: whether the ids are those of processes.
    """

    grid: Grid
    rows: tuple[tuple[int, ...], ...]
    channel: int = 0
    has_global_ids: bool = False

    @property
    def text(self) -> str:
        """The grouping in the name of a template."""
        rows = "_".join("".join(map(str, row)) for row in self.rows)
        channel = f"_channel_{self.channel}" if self.channel else ""
        ids = "_global" if self.has_global_ids else ""
        return f"{self.grid.replicas}x{self.grid.partitions}_groups_{rows}{channel}{ids}"

    @property
    def attributes(self) -> dict[str, Any]:
        """Those that say the groups."""
        return {"replica_groups": ReplicaGroups(self.rows), **self.channel_attributes}

    @property
    def channel_attributes(self) -> dict[str, Any]:
        """Those of the channel."""
        chosen: dict[str, Any] = {"use_global_device_ids": True} if self.has_global_ids else {}
        return {**chosen, "channel_id": self.channel, "channel_type": 1} if self.channel else chosen


GROUPINGS: Final = (
    Grouping(Grid(2, 1), ((0, 1),)),
    Grouping(Grid(1, 2), ((0, 1),), channel=1),
    Grouping(Grid(1, 2), ((1, 0),), channel=1, has_global_ids=True),
    Grouping(Grid(4, 1), ((0, 1, 2, 3),)),
    Grouping(Grid(4, 1), ((0, 2), (3, 1))),
    Grouping(Grid(1, 4), ((2, 0, 3, 1),), channel=7),
    Grouping(Grid(1, 4), ((0, 1), (3, 2)), channel=2),
    Grouping(Grid(2, 2), ((1, 0),)),
    Grouping(Grid(2, 2), ((0, 1),), channel=1),
    Grouping(Grid(2, 2), ((0,), (1,)), channel=1),
    Grouping(Grid(2, 2), ((0, 3), (2, 1)), channel=3, has_global_ids=True),
    Grouping(Grid(8, 1), ((0, 1, 2, 3, 4, 5, 6, 7),)),
    Grouping(Grid(8, 1), ((7, 1, 4, 2), (0, 3, 5, 6))),
    Grouping(Grid(1, 8), ((0, 1, 2, 3, 4, 5, 6, 7),), channel=1),
    Grouping(Grid(2, 4), ((0, 1),), channel=1),
    Grouping(Grid(2, 4), ((0, 5), (1, 4), (2, 7), (3, 6)), channel=1, has_global_ids=True),
    Grouping(Grid(4, 2), ((0, 2, 4, 6), (7, 5, 3, 1)), channel=1, has_global_ids=True),
)
"""Groups of the same size, which all collectives allow."""
UNEVEN: Final = (
    Grouping(Grid(4, 1), ((0,), (1, 2, 3))),
    Grouping(Grid(8, 1), ((6, 1), (0, 2, 3, 4, 5), (7,))),
    Grouping(Grid(2, 2), ((0, 1, 2), (3,)), channel=1, has_global_ids=True),
)
"""Groups of different sizes, which `all_reduce` allows."""
PARTIAL: Final = (
    Grouping(Grid(4, 1), ((2, 1),)),
    Grouping(Grid(1, 4), ((3, 0, 1),), channel=1),
)
"""Groups without some of the processes, which operations with a root allow."""


def _of_operation(name: str, groupings: Sequence[Grouping]) -> Iterator[Grouping]:
    """The groupings that an operation can state."""
    declaration = lookup(name)
    assert declaration is not None
    attributes = {one.name for one in declaration.declared_attributes}
    for grouping in groupings:
        if "use_global_device_ids" in attributes or not grouping.has_global_ids:
            yield grouping


def _group_size(name: str, grouping: Grouping) -> int:
    """The number of processes in the groups of an operation."""
    declaration = lookup(name)
    assert declaration is not None
    attributes = {one.name for one in declaration.declared_attributes}
    has_both = "use_global_device_ids" in attributes and not grouping.has_global_ids and grouping.channel
    mode = GroupMode.CROSS_REPLICA_AND_PARTITION if has_both else GroupMode.CROSS_REPLICA
    return len(mode.groups(grouping.rows, grouping.grid)[0])


def _collective(
    name: str,
    element_type: AnyElementType,
    groupings: Sequence[Grouping] = GROUPINGS,
    *,
    suffix: str = "",
    is_first_basic: bool = True,
    regions: Sequence[Region] = (),
    grows: int | None = None,
    shrinks: int | None = None,
    by_size: Any = lambda _: {},
    attributes: Mapping[str, Any] | None = None,
    inputs: Mapping[int, object] | None = None,
) -> Iterator[Template]:
    """A collective in each grouping.

    Args:
        suffix: ends the names of the templates.
        is_first_basic: whether the first grouping belongs to the level ``smoke``.
        grows, shrinks: the dimension whose size the number of processes multiplies, or divides.
        by_size: attributes by the number of processes in a group.
    """
    for grouping in _of_operation(name, groupings):
        size = _group_size(name, grouping)
        result = [_SIZE, _COLUMNS]
        if grows is not None:
            result[grows] *= size
        if shrinks is not None:
            result[shrinks] //= size
        yield replace(
            make(
                name,
                f"{grouping.text}{suffix}",
                [tensor(element_type, _SIZE, _COLUMNS)],
                [tensor(element_type, *result)],
                regions=regions,
                inputs=inputs,
                edges=not regions,
                is_basic=is_first_basic and grouping is groupings[0],
                **grouping.attributes,
                **by_size(size),
                **(attributes or {}),
            ),
            grid=grouping.grid,
        )


@templates_of("stablehlo.all_gather")
def _all_gather(element_type: AnyElementType) -> Iterator[Template]:
    name = "stablehlo.all_gather"
    yield from _collective(name, element_type, grows=0, attributes={"all_gather_dim": 0})
    last = {"all_gather_dim": 1}
    yield from _collective(
        name, element_type, GROUPINGS[3:5], grows=1, attributes=last, suffix="_last", is_first_basic=False
    )


@templates_of("stablehlo.all_to_all")
def _all_to_all(element_type: AnyElementType) -> Iterator[Template]:
    yield from _collective(
        "stablehlo.all_to_all",
        element_type,
        shrinks=0,
        grows=1,
        by_size=lambda size: {"split_count": size},
        attributes={"split_dimension": 0, "concat_dimension": 1},
    )


_ROOTS: Final = (1, 0)
"""The positions, in each group, of the roots of two values."""


def _dynamic_roots(
    name: str, element_type: AnyElementType, regions: Sequence[Region] = ()
) -> Iterator[Template]:
    """A collective of two values whose roots are an operand."""
    type = tensor(element_type, _SIZE, _COLUMNS)
    for grouping in (GROUPINGS[0], GROUPINGS[4], GROUPINGS[6]):
        yield replace(
            make(
                name,
                f"{grouping.text}_dynamic_root",
                [type, type, tensor("i32", len(_ROOTS))],
                [type, type],
                regions=regions,
                inputs={2: _ROOTS},
                edges=not regions,
                has_dynamic_root=True,
                **grouping.attributes,
            ),
            grid=grouping.grid,
        )


@templates_of("stablehlo.collective_broadcast")
def _collective_broadcast(element_type: AnyElementType) -> Iterator[Template]:
    yield from _collective("stablehlo.collective_broadcast", element_type, GROUPINGS + PARTIAL)
    yield from _dynamic_roots("stablehlo.collective_broadcast", element_type)


_PAIRS: Final = (
    (Grid(2, 1), ((0, 1), (1, 0)), 0),
    (Grid(4, 1), ((0, 1), (1, 2), (2, 3), (3, 0)), 0),
    (Grid(4, 1), ((3, 1), (2, 2)), 0),
    (Grid(1, 4), ((0, 2), (2, 1)), 1),
    (Grid(2, 2), ((0, 1),), 0),
    (Grid(2, 2), ((1, 0),), 5),
    (Grid(1, 8), tuple((source, (source * 3 + 1) % 8) for source in range(8)), 1),
    (Grid(2, 4), ((3, 0), (0, 3)), 1),
)
"""Grids, pairs of sources and targets, and channels."""


@templates_of("stablehlo.collective_permute")
def _collective_permute(element_type: AnyElementType) -> Iterator[Template]:
    type = tensor(element_type, _SIZE, _COLUMNS)
    for grid, pairs, channel in _PAIRS:
        grouping = Grouping(grid, pairs, channel)
        yield replace(
            make(
                "stablehlo.collective_permute",
                grouping.text.replace("groups", "pairs"),
                [type],
                [type],
                edges=True,
                is_basic=channel == 0 and grid.size == 2,
                source_target_pairs=pairs,
                **grouping.channel_attributes,
            ),
            grid=grouping.grid,
        )


def _reductions(
    name: str, element_type: AnyElementType, groupings: Sequence[Grouping], **settings: Any
) -> Iterator[Template]:
    """A reduction by a maximum, of which one is tried in each element type, and by an addition."""
    scalar = tensor(element_type)
    maximum, add = (applied(f"stablehlo.{one}", scalar) for one in ("maximum", "add"))
    yield from _collective(name, element_type, groupings, regions=[maximum], suffix="_maximum", **settings)
    if isinstance(element_type, ElementType) and element_type.category & FLOAT:
        some_nan = {0: np.where(np.arange(_SIZE * _COLUMNS) % 5, 1.0, np.nan)}
        settings_of_nan = {"suffix": "_maximum_nan", "is_first_basic": False, "inputs": some_nan, **settings}
        yield from _collective(name, element_type, groupings[:1], regions=[maximum], **settings_of_nan)
    yield from _collective(
        name, element_type, groupings, regions=[add], suffix="_add", is_first_basic=False, **settings
    )


@templates_of("stablehlo.all_reduce")
def _all_reduce(element_type: AnyElementType) -> Iterator[Template]:
    yield from _reductions("stablehlo.all_reduce", element_type, GROUPINGS + UNEVEN)


@templates_of("stablehlo.reduce_scatter")
def _reduce_scatter(element_type: AnyElementType) -> Iterator[Template]:
    settings = {"shrinks": 0, "attributes": {"scatter_dimension": 0}}
    yield from _reductions("stablehlo.reduce_scatter", element_type, GROUPINGS, **settings)


@templates_of("stablehlo.collective_reduce")
def _collective_reduce(element_type: AnyElementType) -> Iterator[Template]:
    yield from _reductions("stablehlo.collective_reduce", element_type, GROUPINGS + PARTIAL)
    maximum = applied("stablehlo.maximum", tensor(element_type))
    yield from _dynamic_roots("stablehlo.collective_reduce", element_type, [maximum])


_ID_GRIDS: Final = (Grid(2, 1), Grid(1, 2), Grid(2, 2), Grid(4, 2), Grid(1, 8))


@templates_of("stablehlo.replica_id")
def _replica_id(_: AnyElementType) -> Iterator[Template]:
    yield from _ids("stablehlo.replica_id")


@templates_of("stablehlo.partition_id")
def _partition_id(_: AnyElementType) -> Iterator[Template]:
    yield from _ids("stablehlo.partition_id")


def _ids(name: str) -> Iterator[Template]:
    for grid in _ID_GRIDS:
        variant = f"{grid.replicas}x{grid.partitions}"
        yield replace(make(name, variant, [], [tensor("ui32")], is_basic=grid.size == 2), grid=grid)


@templates_of("stablehlo.async_start")
def _async_start(element_type: AnyElementType) -> Iterator[Template]:
    """An `all_gather` that does not wait."""
    for grouping in (GROUPINGS[0], GROUPINGS[4]):
        size = len(grouping.rows[0])
        operand, result = tensor(element_type, _SIZE), tensor(element_type, _SIZE * size)
        gather = make(
            "stablehlo.all_gather", "", [operand], [result], all_gather_dim=0, **grouping.attributes
        )
        body = region([operand], partial(_created, gather))
        yield replace(
            make(
                "stablehlo.async_start",
                f"all_gather_{grouping.text}",
                [operand],
                [FutureType([result])],
                regions=[body],
                edges=True,
            ),
            grid=grouping.grid,
        )


def _created(template: Template, builder: Builder, values: Sequence[Value]) -> list[Value]:
    """The results of a template's operation on other operands."""
    created = builder.create(template.operation, list(values), template.results, template.attributes)
    return list(created.results)
