"""Write docs/scale.md: the messages and bytes of training steps on a thousand processes.

    python tools/scale.py                       writes the document
    python tools/scale.py --ranks 1000 10000    only prints what so many ranks send in an `all_reduce`

Runs the programs on grids of that size in this process, with a transport that counts
(`tools.collective_traffic`), at a small width, and scales the bytes up to the widths that the document names.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo import Grid, GridExecutable, Options, load
from nimblehlo.execution.mpi.halved_exchange import MAX_DIRECT_RANKS
from nimblehlo.execution.mpi.halving import Traffic as RankTraffic
from nimblehlo.execution.mpi.halving import traffic_of
from nimblehlo.execution.mpi.idle_reports import FAN_OUT
from nimblehlo.execution.program import Placement, Program
from nimblehlo.program.ir import Function
from nimblehlo.types import TensorType
from tools.collective_traffic import CountingTransport, Traffic

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "scale.md"

ADD = """({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      %s = stablehlo.add %a, %b : tensor<f32>
      stablehlo.return %s : tensor<f32>
    })"""
CHANNEL = "channel_handle = #stablehlo.channel_handle<handle = 1, type = 1>, use_global_device_ids"

WIDTH = 4
"""Width of the models that are run."""

REAL_WIDTH = 8192
"""Width of the models for which the document states bytes."""

LAYERS = 2
"""Layers of the models that are run; each has the same traffic."""

REDUCED_BYTES = 1 << 20
"""Bytes of the operand of the `all_reduce` that is counted for many ranks."""


class CountedExecutable(GridExecutable):
    """A program on a grid whose transport counts."""

    transport: CountingTransport

    def _connect(self) -> CountingTransport:
        self.transport = CountingTransport(self.grid)
        return self.transport

    def _lowered(self, function: Function) -> Program:
        count = len(self.input_types)
        placement = Placement(count, self.grid, runs_on_grid=True, connect=self._connect)
        return Program(function, self.options, placement=placement)


class Algorithm(NamedTuple):
    """The cost of an algorithm for `all_reduce` of B bytes over n processes, for one process.

    Attributes:
        name: what it is called.
        messages, rounds: numbers of messages that it sends, and of steps in sequence.
        bytes: bytes that it sends.
        keeps_bits: whether it combines values by the tree of adjacent pairs.
    """

    name: str
    messages: int
    rounds: int
    bytes: int
    keeps_bits: bool


def all_reduce_costs(count: int, size: int) -> Iterator[Algorithm]:
    """The algorithms, for a number of processes that need be no power of two."""
    levels = (count - 1).bit_length()
    halves = 2 * size * (count - 1) // count
    yield Algorithm("ranges, directly", 2 * (count - 1), 2, halves, True)
    yield Algorithm("ring", 2 * (count - 1), 2 * (count - 1), halves, False)
    sent = traffic_of(count, 0, size, doubles=True)
    name = "recursive halving and doubling of neighbours (`mpi/halving.py`)"
    yield Algorithm(name, sent.messages, sent.depth, sent.elements, True)
    yield Algorithm("tree to one process and back", levels, 2 * levels, levels * size, True)


def all_reduce(value: str, type: str, groups: str, result: str) -> str:
    """The text of an all_reduce by flattened ids."""
    return (
        f'{result} = "stablehlo.all_reduce"({value}) {ADD[:-1]}) '
        f"{{replica_groups = {groups}, {CHANNEL}}} : ({type}) -> {type}"
    )


def groups_text(rows: np.ndarray[Any, Any]) -> str:
    """Groups of ids as an attribute."""
    return f"dense<{rows.tolist()}> : tensor<{rows.shape[0]}x{rows.shape[1]}xi64>"


def data_parallel(count: int) -> str:
    """A step of a perceptron of LAYERS square layers; the gradient of each is summed over all processes."""
    type, everyone = f"tensor<{WIDTH}x{WIDTH}xf32>", groups_text(np.arange(count)[np.newaxis])
    lines, value = [], "%x"
    for layer in range(LAYERS):
        lines += [
            f"%h{layer} = stablehlo.dot {value}, %w : ({type}, {type}) -> {type}",
            all_reduce(f"%h{layer}", type, everyone, f"%g{layer}"),
        ]
        value = f"%h{layer}"
    body = "\n".join([*lines, f"return %g{LAYERS - 1} : {type}"])
    return f"func.func @main(%x: {type}, %w: {type}) -> {type} {{\n{body}\n}}"


def sharded(data: int, model: int) -> str:
    """A step of LAYERS transformer layers on a grid of data x model processes.

    Each layer sums activations over the model's processes four times: behind attention and behind the
    perceptron, forwards and backwards. The gradient of the process's shard of the weights is summed over the
    data's processes.
    """
    ids = np.arange(data * model).reshape(data, model)
    over_model, over_data = groups_text(ids), groups_text(ids.T)
    type, shard = f"tensor<{WIDTH}x{WIDTH}xf32>", f"tensor<{12 * WIDTH}x{WIDTH}xf32>"
    lines, value = [], "%x"
    for layer in range(LAYERS):
        for number in range(4):
            lines.append(all_reduce(value, type, over_model, f"%h{layer}_{number}"))
            value = f"%h{layer}_{number}"
        lines.append(all_reduce("%w", shard, over_data, f"%g{layer}"))
    body = "\n".join(lines)
    return f"func.func @main(%x: {type}, %w: {shard}) -> {type} {{\n{body}\nreturn {value} : {type}\n}}"


def count(text: str, grid: Grid) -> Counter[Traffic]:
    """The traffic of a program, whose inputs are ones."""
    executable = CountedExecutable(load(text), "main", Options(compile="never"), grid)
    types = [type for type in executable.input_types if isinstance(type, TensorType)]
    ones = [np.ones(type.shape, type.dtype) for type in types]
    executable([ones] * grid.size)
    return executable.transport.traffic


def table(traffic: Counter[Traffic], layers: int, scale: int) -> list[str]:
    """A row for each kind of traffic and algorithm; bytes at the real width."""
    rows = [
        "| bytes | group size | groups per layer | algorithm | messages | rounds | MB sent | same bits |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for kind, times in sorted(traffic.items()):
        size = kind.operand_bytes * scale
        for cost in all_reduce_costs(kind.group_size, size):
            rows.append(
                f"| {size / 2**20:.0f} MB | {kind.group_size} | {times // layers} | {cost.name} "
                f"| {cost.messages} | {cost.rounds} | {cost.bytes / 2**20:.0f} "
                f"| {'yes' if cost.keeps_bits else 'no'} |"
            )
    return rows


def halving_table(counts: Sequence[int], size: int) -> list[str]:
    """For each number of ranks what they send of `size` bytes, counted rank by rank."""
    rows = [
        "| ranks | messages, median | at most | depth | bytes sent, mean | at most | directly |",
        "|---|---|---|---|---|---|---|",
    ]
    for count in counts:
        sent: list[RankTraffic] = [traffic_of(count, rank, size, doubles=True) for rank in range(count)]
        messages, moved = [one.messages for one in sent], [one.elements for one in sent]
        rows.append(
            f"| {count:,} | {np.median(messages):.0f} | {max(messages)} | {sent[0].depth} "
            f"| {np.mean(moved) / size:.3f} | {max(moved) / size:.3f} | {2 * (count - 1):,} |"
        )
    return rows


TEXT = """# Communication of a thousand processes

<!-- Written by tools/scale.py, which runs the programs and counts. -->

The messages and bytes of a training step if each process has its own machine. The collectives of the
programs were counted on grids of {data} and {both} processes, simulated in one process of the operating
system, at width {width}; the table states bytes at width {real}. Of the arithmetic, the programs have only
what computes the operands of the collectives. Messages, rounds and bytes of each algorithm are computed by
its formula from the counted groups and sizes, those of recursive halving by the code that sends them.
All figures are for one process, of halving for the first one.

## Data-parallel step, {data} processes

The gradient of each layer's {real} x {real} weights in f32 is summed over all processes.

{first}

## Transformer on {rows} x {columns} processes

Activations of {real} x {real} are summed over {columns} processes four times a layer, and the gradients of a
process's weights, 12 x {real} x {real} / {columns} of the layer's, over {rows}.

{second}

## Many ranks

What each rank sends in an `all_reduce` of 1 MiB by halving and doubling, counted for every rank by the code
that sends the messages (`traffic_of` of `mpi/halving.py`); bytes are multiples of the operand's. The last
ranks send more messages where the number of ranks is no power of two: blocks of few ranks have as many ranges
as full ones. The last column has the messages of one rank in the direct algorithm.

{many}

`reduce_scatter` has the first half of these steps. The tests let simulated ranks exchange values, and run
programs on 16 ranks in both ways.

## Limits

- **Messages.** In `nimblehlo.mpi`, up to {limit} ranks send one range to every other rank, in two rounds.
  More ranks halve and double, if each has as many processes of the group as the others, a power of two, in
  the order of the group; otherwise each sends 2 (n - 1) messages. Other collectives send n - 1.
- **Bits.** Recursive halving between neighbours (ranks that differ in the lowest bit first) combines adjacent
  pairs level by level, which is the [documented tree](grid.md). A ring starts the sum of each range at a
  different process, which changes bits.
- **Deadlock detection.** Idle ranks report along a tree in which each has {fan_out} children, whose
  reports it joins. An error names every waiting process, so that its text is long.
- **Groups in the text.** `replica_groups` lists all ids in each collective; axes of a mesh
  (`#stablehlo.replica_group_mesh_axes`) take one line.
- **One process of the operating system.** The {data} processes of a grid take turns in one thread, which is
  for counting and for tests, not for speed.
"""


def main() -> None:
    """Run the programs and write the document, or print what each of some ranks sends."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--ranks", nargs="+", type=int, help="print the table for these numbers of ranks")
    options = parser.parse_args()
    if options.ranks:
        print("\n".join(halving_table(options.ranks, REDUCED_BYTES)))
        return
    everyone, rows, columns = 1000, 32, 32
    first = count(data_parallel(everyone), Grid(everyone))
    second = count(sharded(rows, columns), Grid(rows, columns))
    scale = (REAL_WIDTH // WIDTH) ** 2
    # A process holds a shard of the weights, which at the width that is run would be less than a row.
    shards: Counter[Traffic] = Counter()
    for kind, times in second.items():
        is_weights = kind.operand_bytes > 4 * WIDTH**2
        shards[kind._replace(operand_bytes=kind.operand_bytes // columns) if is_weights else kind] += times
    text = TEXT.format(
        data=everyone,
        both=rows * columns,
        width=WIDTH,
        real=REAL_WIDTH,
        rows=rows,
        columns=columns,
        first="\n".join(table(first, LAYERS, scale)),
        second="\n".join(table(shards, LAYERS, scale)),
        many="\n".join(halving_table((17, 32, 100, 1000, 1024, 10_000), REDUCED_BYTES)),
        limit=MAX_DIRECT_RANKS,
        fan_out=FAN_OUT,
    )
    DOCUMENT.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
