"""Puts calls of one function in the place of layers that are equal but for their operands.

Constants and moves do not pass from a layer to the next: what takes one makes it again, for rewrites and
clusters look at what makes an operand.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Final

from ...ir import Block, Builder, Function, Operation, Region, SymbolAttribute, Value, used_values
from ...ops.control.control import Call
from ..utils.cleanup import Kinds, remove_dead_code
from .repeated_subgraphs import Layer, is_made_again, repeated_layers

MAX_FUNCTIONS: Final = 8
"""Kinds of layers in one program."""
MAX_REMATERIALIZED: Final = 16
"""How many moves one after the other are made again."""


def call_layers(region: Region) -> list[Function]:
    """Put calls in the place of a function's layers, in place.

    Returns:
        the functions that are called.
    """
    functions: list[Function] = []
    while len(functions) < MAX_FUNCTIONS:
        layers = repeated_layers(region.block.operations)
        if not layers:
            break
        functions.append(_replace(region.block, layers, f"layer_{len(functions)}"))
    if functions:
        remove_dead_code(region)
    return functions


def _replace(block: Block, layers: Sequence[Layer], name: str) -> Function:
    """Put calls of one function, which is returned, in the place of layers."""
    callee = _Callee(layers)
    results, moves = _used_outside(block, layers, callee.parameters)
    region = callee.region(results)
    standing: dict[Operation, list[Operation]] = {}
    replaced: dict[Value, Value] = {}
    for index, layer in enumerate(layers):
        operands = [values[index] for values in callee.parameters]
        first = layer.operations[0]
        attributes = {"callee": SymbolAttribute(name)}
        call = Operation(Call.name, operands, region.type.results, attributes, location=first.location)
        for (number, place), result in zip(results, call.results, strict=True):
            replaced[layer.operations[number].results[place]] = result
        again = {move: move.again(move.operands) for move in layer.operations if move in moves}
        replaced.update({move.result: made.result for move, made in again.items()})
        standing[first] = [call, *again.values()]
    gone = {operation for layer in layers for operation in layer.operations}
    _rebuild(block, standing, gone, replaced)
    return Function(name, region.type, region, visibility="private")


def _rebuild(
    block: Block,
    standing: Mapping[Operation, Sequence[Operation]],
    gone: Container[Operation],
    replaced: Mapping[Value, Value],
) -> None:
    """Put operations in the place of others of a block, and let all use what stands for results now."""
    block.operations = [
        kept
        for operation in block.operations
        for kept in standing.get(operation, () if operation in gone else (operation,))
    ]
    for top in block.operations:
        for operation in top.walk():
            operation.operands = tuple([replaced.get(value, value) for value in operation.operands])


class _Callee:
    """The function that stands for layers.

    Attributes:
        parameters: for each argument the value that each layer gives for it.
    """

    def __init__(self, layers: Sequence[Layer]) -> None:
        self.parameters: list[tuple[Value, ...]] = []
        self._block = Block()
        self._builder = Builder(self._block)
        self._kinds = Kinds()
        self._known: dict[tuple[Value, ...], Value] = {}
        self._operations = layers[0].operations
        self._values: dict[Value, Value] = {}
        for values in zip(*[layer.outside for layer in layers], strict=True):
            self._values[values[0]] = self._value(values, MAX_REMATERIALIZED)
        for operation in self._operations:
            self._builder.copy(operation, self._values)

    def region(self, results: Sequence[tuple[int, int]]) -> Region:
        """Its body, which returns results: each given by the number of its operation, and which one it is."""
        returned = [self._values[self._operations[number].results[place]] for number, place in results]
        self._builder.create("func.return", returned)
        return Region([self._block])

    def _value(self, values: tuple[Value, ...], most_moves: int) -> Value:
        """What stands for a value from outside, of which each layer has its own."""
        known = self._known.get(values)
        if known is None:
            known = self._known[values] = self._made_again(values, most_moves) or self._argument(values)
        return known

    def _made_again(self, values: tuple[Value, ...], most_moves: int) -> Value | None:
        """The result of the constant or move that makes the value in all layers."""
        owners = [value.owner for value in values if is_made_again(value)]
        moves = [owner for owner in owners if isinstance(owner, Operation)]
        if len(moves) < len(values) or not most_moves or len({self._kinds.of(move) for move in moves}) > 1:
            return None
        columns = list(zip(*[move.operands for move in moves], strict=True))
        if any(len({value.type for value in column}) > 1 for column in columns):
            return None
        operands = tuple([self._value(column, most_moves - 1) for column in columns])
        made = moves[0].again(operands)
        self._block.operations.append(made)
        return made.result

    def _argument(self, values: tuple[Value, ...]) -> Value:
        argument = Value(values[0].type, self._block, len(self.parameters))
        self._block.arguments = (*self._block.arguments, argument)
        self.parameters.append(values)
        return argument


def _used_outside(
    block: Block, layers: Sequence[Layer], parameters: Sequence[tuple[Value, ...]]
) -> tuple[list[tuple[int, int]], set[Operation]]:
    """Which results of which operations of a layer are used outside of it, in any of the layers, and the
    constants and moves in layers that are."""
    numbers = {operation: number for layer in layers for number, operation in enumerate(layer.operations)}
    waiting = [value for values in parameters for value in values]
    for operation in block.operations:
        if operation not in numbers:
            waiting += used_values(operation)
    results: set[tuple[int, int]] = set()
    moves: set[Operation] = set()
    while waiting:
        value = waiting.pop()
        owner = value.owner
        if not isinstance(owner, Operation) or owner not in numbers or owner in moves:
            continue
        if is_made_again(value):
            moves.add(owner)
            waiting += owner.operands
        else:
            results.add((numbers[owner], value.index))
    return sorted(results), moves
