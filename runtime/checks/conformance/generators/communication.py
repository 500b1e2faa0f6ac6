"""Templates of collectives, channels and asynchronous operations.

A backend runs one process here, so that the groups of programs that run have one member. Templates of two
processes give the programs that break constraints.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ....program.ir import Region
from ....program.ops.collectives.replica_groups import ReplicaGroups
from ....types import AnyElementType, FutureType, TokenType, Type
from ..template import Template, applied, make, sizes_text, templates_of, tensor, whole_slice

_TOKEN: Final = TokenType()
_SHAPES: Final = ((4, 6), (2, 0), (2, 2, 1, 2, 1, 2), (2, 3, 1), (2, 3, 1, 4), (2, 2, 3, 1, 2), (5,), ())


def _groups(size: int) -> dict[str, Any]:
    return {"replica_groups": ReplicaGroups((tuple(range(size)),))}


def _collective(
    name: str,
    element_type: AnyElementType,
    *,
    regions: Sequence[Region] = (),
    resized: Mapping[int, tuple[int, bool]] | None = None,
    by_size: Any = lambda _: {},
    grouped: bool = True,
    **attributes: Any,
) -> Iterator[Template]:
    """A collective among one process, which runs, and among two, which does not.

    Args:
        resized: the dimensions whose sizes the number of processes multiplies, or divides if not True.
        by_size: further attributes by the number of processes.
        grouped: whether the operation has groups.
    """
    for size in (1, 2):
        for shape in _SHAPES if size == 1 else _SHAPES[:1]:
            if len(shape) <= max(resized or (), default=-1):
                continue
            result = list(shape)
            for dimension, (factor, grows) in (resized or {}).items():
                amount = factor * size
                result[dimension] = result[dimension] * amount if grows else result[dimension] // amount
            yield make(
                name,
                f"{sizes_text(shape)}_among_{size}",
                [tensor(element_type, *shape)],
                [tensor(element_type, *result)],
                regions=regions,
                edges=True,
                runs=size == 1,
                is_basic=shape == (4, 6),
                **(_groups(size) if grouped else {}),
                **by_size(size),
                **attributes,
            )


@templates_of("stablehlo.all_gather")
def _all_gather(element_type: AnyElementType) -> Iterator[Template]:
    yield from _collective("stablehlo.all_gather", element_type, resized={0: (1, True)}, all_gather_dim=0)


@templates_of("stablehlo.all_to_all")
def _all_to_all(element_type: AnyElementType) -> Iterator[Template]:
    yield from _collective(
        "stablehlo.all_to_all",
        element_type,
        resized={0: (1, True), 1: (1, False)},
        by_size=lambda size: {"split_count": size},
        split_dimension=1,
        concat_dimension=0,
    )


@templates_of("stablehlo.collective_broadcast")
def _collective_broadcast(element_type: AnyElementType) -> Iterator[Template]:
    yield from _collective("stablehlo.collective_broadcast", element_type)
    root = tensor("i32", 1)
    type = tensor(element_type, 3)
    yield make(
        "stablehlo.collective_broadcast",
        "dynamic_root",
        [type, root],
        [type],
        inputs={1: [0]},
        has_dynamic_root=True,
        **_groups(1),
    )


@templates_of("stablehlo.collective_permute")
def _collective_permute(element_type: AnyElementType) -> Iterator[Template]:
    yield from _collective(
        "stablehlo.collective_permute",
        element_type,
        grouped=False,
        by_size=lambda size: {"source_target_pairs": ((0, 0),) if size == 1 else ((0, 1), (1, 0))},
    )


@templates_of("stablehlo.all_reduce")
def _all_reduce(element_type: AnyElementType) -> Iterator[Template]:
    body = applied("stablehlo.maximum", tensor(element_type))
    yield from _collective("stablehlo.all_reduce", element_type, regions=[body])


@templates_of("stablehlo.reduce_scatter")
def _reduce_scatter(element_type: AnyElementType) -> Iterator[Template]:
    body = applied("stablehlo.maximum", tensor(element_type))
    yield from _collective(
        "stablehlo.reduce_scatter",
        element_type,
        regions=[body],
        resized={1: (1, False)},
        scatter_dimension=1,
    )


@templates_of("stablehlo.collective_reduce")
def _collective_reduce(element_type: AnyElementType) -> Iterator[Template]:
    body = applied("stablehlo.maximum", tensor(element_type))
    yield from _collective("stablehlo.collective_reduce", element_type, regions=[body])


@templates_of("stablehlo.replica_id")
def _replica_id(_: AnyElementType) -> Iterator[Template]:
    yield make("stablehlo.replica_id", "alone", [], [tensor("ui32")], is_basic=True)


@templates_of("stablehlo.partition_id")
def _partition_id(_: AnyElementType) -> Iterator[Template]:
    yield make("stablehlo.partition_id", "alone", [], [tensor("ui32")], is_basic=True)


_CHANNEL: Final[dict[str, Any]] = {
    "channel_id": 1,
    "channel_type": 1,
    "source_target_pairs": ((0, 1), (1, 0)),
}
"""A channel between two devices."""


@templates_of("stablehlo.send")
def _send(element_type: AnyElementType) -> Iterator[Template]:
    operands: list[Type] = [tensor(element_type, 4, 6), _TOKEN]
    yield make("stablehlo.send", "to_a_device", operands, [_TOKEN], runs=False, **_CHANNEL)


@templates_of("stablehlo.recv")
def _recv(element_type: AnyElementType) -> Iterator[Template]:
    results: list[Type] = [tensor(element_type, 4, 6), _TOKEN]
    yield make("stablehlo.recv", "from_a_device", [_TOKEN], results, runs=False, **_CHANNEL)


@templates_of("stablehlo.infeed")
def _infeed(element_type: AnyElementType) -> Iterator[Template]:
    results: list[Type] = [tensor(element_type, 4, 6), _TOKEN]
    yield make("stablehlo.infeed", "one", [_TOKEN], results, runs=False, infeed_config="x")


@templates_of("stablehlo.outfeed")
def _outfeed(element_type: AnyElementType) -> Iterator[Template]:
    operands: list[Type] = [tensor(element_type, 4, 6), _TOKEN]
    yield make("stablehlo.outfeed", "one", operands, [_TOKEN], runs=False, outfeed_config="x")


@templates_of("stablehlo.async_start")
def _async_start(element_type: AnyElementType) -> Iterator[Template]:
    for shape in ((3,), *_SHAPES):
        type = tensor(element_type, *shape)
        yield make(
            "stablehlo.async_start",
            _slice_name(shape),
            [type],
            [FutureType([type])],
            regions=[whole_slice(type)],
            edges=True,
            is_basic=shape == (3,),
        )


def _slice_name(shape: tuple[int, ...]) -> str:
    return "slice" if shape == (3,) else f"slice_{sizes_text(shape)}"


@templates_of("stablehlo.async_done")
def _async_done(element_type: AnyElementType) -> Iterator[Template]:
    for shape in ((3,), *_SHAPES):
        type, is_basic = tensor(element_type, *shape), shape == (3,)
        types = [FutureType([type])], [type]
        yield make("stablehlo.async_done", _slice_name(shape), *types, edges=True, is_basic=is_basic)
