"""Lets the layers of a model, operations that repeat but for their operands, become calls of one function.

Rewrites, clusters and the plan then look at one layer instead of all of them. A layer begins at a large
product of matrices or a convolution: no cluster joins what such an operation separates, so that a layer by
itself becomes the same steps as among the others.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Sequence
from typing import Final, NamedTuple

from ..ir import (
    Block,
    Builder,
    Function,
    Operation,
    Region,
    SymbolAttribute,
    Value,
    captured_values,
    used_values,
)
from ..types import TensorType
from .cleanup import Kinds, remove_dead_code
from .effects import has_no_effect
from .rewriting import is_plain

LEAST_LAYERS: Final = 3
LEAST_OPERATIONS: Final = 16
"""Operations of a layer."""
LEAST_SAVED: Final = 200
"""Operations of all layers but one: of fewer, looking at each takes less than a few milliseconds."""
LEAST_PRODUCT: Final = 1 << 20
"""Multiplications, about, of an operation at which a layer may begin."""
MOST_FUNCTIONS: Final = 8
"""Kinds of layers in one program."""

MOST_PERIODS: Final = 64
"""How many operations like the one at which a layer begins are looked at for the next layer's beginning."""
MOST_TRIES: Final = 4000
"""How often layers are compared before a program is left as it is."""

CALL: Final = "func.call"
_PRODUCTS: Final = frozenset({"stablehlo.convolution", "stablehlo.dot", "stablehlo.dot_general"})
_HELD: Final = frozenset(
    f"stablehlo.{name}" for name in ("broadcast_in_dim", "constant", "iota", "reshape", "slice", "transpose")
)
_CONTROL_FLOW: Final = frozenset({"stablehlo.case", "stablehlo.if", "stablehlo.while"})


class _Form(NamedTuple):
    """What tells whether layers are equal but for their operands, with what they have taken from outside.

    Attributes:
        operands: for each operand of each operation the number of the value, those from outside first seen as
            that many, those from inside as the number of the result below 0.
        types: of the values from outside.
    """

    operands: tuple[int, ...]
    types: tuple[object, ...]


class _Layer(NamedTuple):
    """Operations in their order, and the values that they take from outside, in the order of first use."""

    operations: Sequence[Operation]
    outside: Sequence[Value]


def call_layers(region: Region) -> list[Function]:
    """Put calls in the place of layers, in place.

    Returns:
        the functions that are called.
    """
    functions: list[Function] = []
    while len(functions) < MOST_FUNCTIONS:
        layers = _repeated(region.block.operations)
        if not layers:
            break
        functions.append(_replace(region.block, layers, f"layer_{len(functions)}"))
    if functions:
        remove_dead_code(region)
    return functions


def _repeated(operations: Sequence[Operation]) -> list[_Layer]:
    """The first layers that there are; none where it does not pay."""
    if len(operations) < LEAST_SAVED or not any(map(_is_large_product, operations)):
        return []
    numbers: dict[Hashable, int] = {}
    of = Kinds().of
    kinds = [numbers.setdefault(of(operation), len(numbers)) for operation in operations]
    starts = defaultdict(list)
    for number, operation in enumerate(operations):
        if _is_large_product(operation):
            starts[kinds[number]].append(number)
    for first, period, count in _periods(kinds, starts):
        begins = range(first, first + count * period, period)
        layers = [operations[begin : begin + period] for begin in begins]
        alike = _alike(layers)
        pays = len(alike) >= LEAST_LAYERS and (len(alike) - 1) * period >= LEAST_SAVED
        if pays and all(map(_may_be_called, alike[0].operations)):
            return alike
    return []


def _periods(kinds: Sequence[int], starts: dict[int, list[int]]) -> Iterator[tuple[int, int, int]]:
    """Where kinds repeat, how many of them what repeats has, and how often it stands there."""
    end = tries = 0
    for first, index, alike in sorted((one, i, all) for all in starts.values() for i, one in enumerate(all)):
        if first < end:
            continue
        for following in alike[index + 1 : index + 1 + MOST_PERIODS]:
            period = following - first
            if period < LEAST_OPERATIONS or kinds[first + 1] != kinds[following + 1]:
                continue
            tries += 1
            if tries > MOST_TRIES:
                return
            layer, count = kinds[first:following], 1
            while kinds[first + count * period : first + (count + 1) * period] == layer:
                count += 1
            if count >= LEAST_LAYERS and (count - 1) * period >= LEAST_SAVED:
                end = first + count * period
                yield first, period, count
                break


def _is_large_product(operation: Operation) -> bool:
    """Whether a layer may begin at an operation."""
    if operation.name not in _PRODUCTS or not is_plain(operation):
        return False
    values = (*operation.operands, operation.result)
    sizes = [value.type.size for value in values if isinstance(value.type, TensorType)]
    return math.prod(sizes) >= LEAST_PRODUCT**2


def _may_be_called(operation: Operation) -> bool:
    """Whether an operation may be part of a layer."""
    if operation.name in _CONTROL_FLOW or not (is_plain(operation) and has_no_effect(operation)):
        return False
    return not operation.regions or not captured_values(operation.regions)


def _alike(layers: Sequence[Sequence[Operation]]) -> list[_Layer]:
    """Those layers whose operands have the form that most have."""
    found = [_form(layer) for layer in layers]
    ((form, _),) = Counter(form for form, _ in found).most_common(1)
    return [layer for one, layer in found if one == form]


def _form(operations: Sequence[Operation]) -> tuple[_Form, _Layer]:
    inside: dict[Value, int] = {}
    outside: dict[Value, int] = {}
    operands = []
    for operation in operations:
        for value in operation.operands:
            number = inside.get(value)
            operands.append(outside.setdefault(value, len(outside)) if number is None else number)
        for result in operation.results:
            inside[result] = -1 - len(inside)
    form = _Form(tuple(operands), tuple([value.type for value in outside]))
    return form, _Layer(operations, list(outside))


def _replace(block: Block, layers: Sequence[_Layer], name: str) -> Function:
    """Put calls of one function, which is returned, in the place of layers."""
    template = layers[0]
    results = _needed(block, layers)
    held = _held(block, layers)
    made = {operation.result for operation in held}
    shared = list(dict.fromkeys(value for one in held for value in one.operands if value not in made))
    own = [number for number, value in enumerate(template.outside) if value not in made]
    body = Block([value.type for value in (*shared, *[template.outside[number] for number in own])])
    builder = Builder(body)
    around: dict[Value, Value] = dict(zip(shared, body.arguments, strict=False))
    for operation in held:
        builder.copy(operation, around)
    values = {value: around[value] for value in made}
    for number, argument in zip(own, body.arguments[len(shared) :], strict=True):
        values[template.outside[number]] = argument
    for operation in template.operations:
        builder.copy(operation, values)
    returned = [values[template.operations[number].results[index]] for number, index in results]
    builder.create("func.return", returned)
    region = Region([body], is_isolated=True)
    calls: dict[Operation, Operation] = {}
    replaced: dict[Value, Value] = {}
    for layer in layers:
        call = Operation(
            CALL,
            (*shared, *[layer.outside[number] for number in own]),
            [value.type for value in returned],
            {"callee": SymbolAttribute(name)},
            location=layer.operations[0].location,
        )
        calls[layer.operations[0]] = call
        for (number, index), result in zip(results, call.results, strict=True):
            replaced[layer.operations[number].results[index]] = result
    gone = {operation for layer in layers for operation in layer.operations}
    block.operations = [calls.get(one, one) for one in block.operations if one in calls or one not in gone]
    for top in block.operations:
        for operation in top.walk():
            operation.operands = tuple([replaced.get(value, value) for value in operation.operands])
    return Function(name, region.type, region, visibility="private")


def _needed(block: Block, layers: Sequence[_Layer]) -> list[tuple[int, int]]:
    """Which results of which operations of a layer something outside of it uses, in any of the layers."""
    places = {
        operation: (layer, number)
        for layer, (operations, _) in enumerate(layers)
        for number, operation in enumerate(operations)
    }
    needed: set[tuple[int, int]] = set()
    for operation in block.operations:
        own = places.get(operation)
        for value in used_values(operation):
            found = places.get(value.owner) if isinstance(value.owner, Operation) else None
            if found is not None and (own is None or own[0] != found[0]):
                needed.add((found[1], value.index))
    return sorted(needed)


def _held(block: Block, layers: Sequence[_Layer]) -> list[Operation]:
    """The constants and moves, in their order, of which all layers take the same value: they are part of the
    function, for rewrites and clusters look at what makes an operand."""
    columns = zip(*[layer.outside for layer in layers], strict=True)
    waiting = [values[0] for values in columns if len(set(values)) == 1]
    held: set[Operation] = set()
    while waiting:
        owner = waiting.pop().owner
        if isinstance(owner, Operation) and owner.name in _HELD and is_plain(owner) and owner not in held:
            held.add(owner)
            waiting += owner.operands
    return [operation for operation in block.operations if operation in held]
