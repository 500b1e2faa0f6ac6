"""Faults of processes that communicate: wrong groups, members, roots, pairs, ids, and values on their way."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from nimblehlo.execution.grid import coroutine, runner
from nimblehlo.execution.grid.coroutine import AsyncOperation
from nimblehlo.execution.grid.transport import LocalTransport
from nimblehlo.program.ops.collectives.asynchronous import AsyncDone, AsyncStart
from nimblehlo.program.ops.collectives.base import Collective, Rooted, WithGlobalIds
from nimblehlo.program.ops.collectives.channels import PartitionId, ReplicaId
from nimblehlo.program.ops.collectives.movement import CollectivePermute
from nimblehlo.program.ops.collectives.process_grid import Grid, GroupMode, ProcessGroup, ProcessId
from nimblehlo.program.ops.collectives.reduction import Reducing
from nimblehlo.program.ops.framework.declaration import Op
from tests.checks.conformance.faulty_references import Array, Call, Fault, Wrap, with_attribute
from tests.checks.conformance.wrong_values import Change, changed, nan_lost, result_changes, truncated

Groups = tuple[ProcessGroup, ...]
Values = Sequence[Any]


def communication_faults(declaration: type[Op]) -> Iterator[Fault]:
    """The faults of an operation that communicates, or that gives the id of a process."""
    if issubclass(declaration, Collective):
        yield from _collective_faults(declaration)
    elif issubclass(declaration, CollectivePermute):
        yield from _permute_faults(declaration)
    elif issubclass(declaration, ReplicaId):
        for kind, change in _ID_FAULTS.items():
            index = int(issubclass(declaration, PartitionId))
            yield Fault(declaration.name, kind, _with_id(index, change), "process_ids", runner)
    elif issubclass(declaration, (AsyncStart, AsyncDone)):
        for kind, wrong in result_changes(AsyncDone):
            yield Fault(declaration.name, kind, _on_completed(wrong), "resume", AsyncOperation)


def _collective_faults(declaration: type[Collective]) -> Iterator[Fault]:
    fault = functools.partial(Fault, declaration.name)
    for kind, change in result_changes(declaration):
        yield fault(kind, _on_combined(change), "combine")
    for kind, exchanged in _MEMBER_FAULTS.items():
        yield fault(kind, exchanged, "combine")
    for kind, regrouped in _GROUP_FAULTS.items():
        yield fault(kind, _regrouped(regrouped), "groups")
    for mode in GroupMode:
        yield fault(f"groups of the mode {mode}", functools.partial(_in_mode, mode), "groups")
    if issubclass(declaration, WithGlobalIds):
        yield fault("replicas before partitions", _replicas_first, "groups")
        yield fault("process ids column by column", _columns_first, "groups")
    for attribute in declaration.declared_attributes:
        if attribute.name in _DIMENSIONS:
            wrong_dimension = with_attribute(attribute.name, lambda dimension: 1 - dimension)
            yield fault(f"the other {attribute.name}", wrong_dimension, _DIMENSIONS[attribute.name])
    if issubclass(declaration, Reducing):
        for kind, change_terms in _TERM_FAULTS.items():
            yield fault(kind, _with_terms(change_terms), "reduced")
    if issubclass(declaration, Rooted):
        yield fault("the next member as root", _next_root, "roots")
        yield fault("the first member as root", _first_root, "roots")
        yield fault("ones outside the groups", _ones_outside, "results_outside")


def _permute_faults(declaration: type[CollectivePermute]) -> Iterator[Fault]:
    fault = functools.partial(Fault, declaration.name)
    for kind, change in result_changes(declaration):
        yield fault(kind, _on_sent(change), "send", LocalTransport)
    for kind, rerouted in _PAIR_FAULTS.items():
        yield fault(kind, _rerouted(rerouted), "routes")
    for mode in (GroupMode.CROSS_REPLICA, GroupMode.CROSS_PARTITION, GroupMode.FLATTENED_IDS):
        yield fault(f"pairs of the mode {mode}", functools.partial(_pairs_in_mode, mode), "routes")
    yield fault("ones where nothing arrives", _ones, "zeros", coroutine)


def _on_combined(change: Change) -> Wrap:
    """The results of each member are wrong."""

    def wrap(right: Call) -> Call:
        def wrong(self: Op, *arguments: Any, **regions: Any) -> Any:
            results = right(self, *arguments, **regions)
            return [tuple([changed(change, one) for one in values]) for values in results]

        return wrong

    return wrap


def _last_is_first(right: Call) -> Call:
    def wrong(self: Op, payloads: Values, receivers: Values, **regions: Any) -> Any:
        return right(self, [*payloads[:-1], payloads[0]], receivers, **regions)

    return wrong


def _first_two_exchanged(right: Call) -> Call:
    def wrong(self: Op, payloads: Values, receivers: Values, **regions: Any) -> Any:
        return right(self, [*payloads[1::-1], *payloads[2:]], receivers, **regions)

    return wrong


def _results_of_next(right: Call) -> Call:
    def wrong(self: Op, payloads: Values, receivers: Values, **regions: Any) -> Any:
        results = right(self, payloads, receivers, **regions)
        return [*results[1:], *results[:1]]

    return wrong


_MEMBER_FAULTS: Final[dict[str, Wrap]] = {
    "the first member's values for the last's": _last_is_first,
    "the values of two members exchanged": _first_two_exchanged,
    "the results of the next member": _results_of_next,
}


def _regrouped(change: Callable[[Groups], Groups]) -> Wrap:
    def wrap(right: Call) -> Call:
        return lambda self, grid: change(right(self, grid))

    return wrap


def _split_last(groups: Groups) -> Groups:
    """The last process of each group has a group of its own."""
    return tuple([one for group in groups for one in (group[:-1], group[-1:]) if one])


_GROUP_FAULTS: Final[dict[str, Callable[[Groups], Groups]]] = {
    "groups reversed": lambda groups: tuple([group[::-1] for group in groups]),
    "groups rotated": lambda groups: tuple([(*group[1:], *group[:1]) for group in groups]),
    "all groups joined": lambda groups: (tuple([one for group in groups for one in group]),),
    "groups without their last process": _split_last,
}


def _in_mode(mode: GroupMode, right: Call) -> Call:
    """Groups of another mode than the attributes say."""
    return lambda self, grid: mode.groups(self.replica_groups.rows or (), grid)


def _pairs_in_mode(mode: GroupMode, right: Call) -> Call:
    """Pairs of another mode than the attributes say."""
    return lambda self, grid: list(mode.groups(self.source_target_pairs or (), grid))


def _replicas_first(right: Call) -> Call:
    """The loops of `cross_replica_and_partition` the other way round."""

    def wrong(self: Collective, grid: Grid) -> Groups:
        if self.mode is not GroupMode.CROSS_REPLICA_AND_PARTITION:
            groups: Groups = right(self, grid)
            return groups
        partitions = range(grid.partitions)
        rows = self.replica_groups.rows or ()
        return tuple([tuple([ProcessId(one, other) for one in row for other in partitions]) for row in rows])

    return wrong


def _columns_first(right: Call) -> Call:
    """Flattened ids count the grid in column-major order."""

    def wrong(self: Collective, grid: Grid) -> Groups:
        if self.mode is not GroupMode.FLATTENED_IDS:
            groups: Groups = right(self, grid)
            return groups
        rows = self.replica_groups.rows or ()
        return tuple([tuple([ProcessId(*divmod(id, grid.replicas)[::-1]) for id in row]) for row in rows])

    return wrong


_DIMENSIONS: Final = {
    "all_gather_dim": "combine",
    "concat_dimension": "combine",
    "split_dimension": "payload",
    "scatter_dimension": "payload",
}
"""The functions that read the attributes of a dimension."""


def _with_terms(change: Callable[[list[Array]], list[Array]]) -> Wrap:
    """A reduction of other values than those of the group."""

    def wrap(right: Call) -> Call:
        return lambda self, values, *rest: right(self, change(list(values)), *rest)

    return wrap


_TERM_FAULTS: Final[dict[str, Callable[[list[Array]], list[Array]]]] = {
    "the last member left out": lambda values: values[:-1] or values,
    "the first member twice": lambda values: [*values, values[0]],
    "zero as a further member": lambda values: [*values, np.zeros_like(values[0])],
    "members in fewer digits": lambda values: [changed(truncated, one) for one in values],
    "NaN of members lost": lambda values: [changed(nan_lost, one) for one in values],
}


def _next_root(right: Call) -> Call:
    def wrong(self: Rooted, operands: Values, size: int, label: str) -> list[int]:
        return [(root + 1) % size for root in right(self, operands, size, label)]

    return wrong


def _first_root(right: Call) -> Call:
    def wrong(self: Rooted, operands: Values, size: int, label: str) -> list[int]:
        return [0 for _ in right(self, operands, size, label)]

    return wrong


def _ones_outside(right: Call) -> Call:
    return lambda self, process: tuple([np.ones_like(one) for one in right(self, process)])


def _ones(right: Call) -> Call:
    return lambda type: np.ones_like(right(type))


def _on_sent(change: Change) -> Wrap:
    """The values that a process sends are wrong."""

    def wrap(right: Call) -> Call:
        def wrong(self: LocalTransport, route: Any, process: Any, operation: Any, values: Values) -> None:
            right(self, route, process, operation, tuple([changed(change, one) for one in values]))

        return wrong

    return wrap


def _rerouted(change: Callable[[list[Any]], list[Any]]) -> Wrap:
    def wrap(right: Call) -> Call:
        return lambda self, grid: change(right(self, grid))

    return wrap


def _next_targets(pairs: list[Any]) -> list[Any]:
    targets = [target for _, target in pairs]
    return [(source, target) for (source, _), target in zip(pairs, targets[1:] + targets[:1], strict=True)]


_PAIR_FAULTS: Final[dict[str, Callable[[list[Any]], list[Any]]]] = {
    "sources and targets exchanged": lambda pairs: [(target, source) for source, target in pairs],
    "the first pair left out": lambda pairs: pairs[1:],
    "the target of the next pair": _next_targets,
}


def _with_id(index: int, change: Callable[[list[Any], int], int]) -> Wrap:
    """A process whose replica id (index 0) or partition id (index 1) is wrong."""

    def wrap(right: Call) -> Call:
        def wrong(id: ProcessId) -> list[Any]:
            ids = right(id)
            ids[index] = np.array(change(ids, index), np.uint32)
            return ids

        return wrong

    return wrap


_ID_FAULTS: Final[dict[str, Callable[[list[Any], int], int]]] = {
    "off by one": lambda ids, index: int(ids[index]) + 1,
    "always zero": lambda ids, index: 0,
    "the other id of the process": lambda ids, index: int(ids[1 - index]),
    "the sum of both ids": lambda ids, index: int(ids[0]) + int(ids[1]),
}


def _on_completed(change: Change) -> Wrap:
    """The results of an asynchronous operation that has completed are wrong."""

    def wrap(right: Call) -> Call:
        def wrong(self: AsyncOperation) -> None:
            right(self)
            if self.pending is None:
                self.results = [changed(change, one) for one in self.results]

        return wrong

    return wrap
