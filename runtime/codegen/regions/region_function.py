"""Regions of small tensors as native functions: the bodies of reductions, scatters and sorts.

`RegionFunction` is such a region within a module; `LoopFunction` is a function with generated loops that call
regions, with its pointers and the values that regions capture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llvmlite import ir

from ...ir import Block, Operation, Region, captured_values
from ...ir import Value as IrValue
from ...types import ElementType, TensorType
from ..blocks import (
    Bound,
    Elements,
    Emitter,
    Storage,
    all_elements,
    block_problem,
    is_plain,
    is_small,
    updates_problem,
)
from ..blocks.elements import element_count, flat
from ..blocks.emitter import emit_rule_of, instructions
from ..coverage import ViewOf
from ..llvm.functions import aligned_scratch
from ..llvm.values import I64, POINTER, Value, load, store, stored_type, value_types
from ..reductions.iteration_space import element_type_of

MAX_INSTRUCTIONS = 1000
"""A region with more is not made a function: it would stand in several loops."""
MAX_INLINED_INSTRUCTIONS = 200
"""A region with as many instructions becomes part of each loop that uses it."""


def region_problem(region: Region, view_of: ViewOf) -> str | None:
    """Why a region does not become a native function, or None where it does."""
    block = region.block
    for value in (*block.arguments, *block.terminator.operands):
        if not is_small(value.type):
            return f"its body has {value.type}"
    for value in captured_values([region]):
        if not is_plain(value.type):
            return f"its body uses {value.type}"
    if instructions(block) > MAX_INSTRUCTIONS:
        return "its body is too much code"
    reason = block_problem(block, view_of) or updates_problem(block, ())
    return None if reason is None else f"its body: {reason}"


def is_folded(value: IrValue) -> bool:
    """Whether a value that a region uses from outside is a constant that its function holds."""
    return (
        isinstance(value.owner, Operation)
        and value.owner.name == "stablehlo.constant"
        and is_small(value.type)
    )


def passed_values(regions: Iterable[Region]) -> list[IrValue]:
    """The values that regions use from outside and that are handed to their functions."""
    return [value for value in captured_values(regions) if not is_folded(value)]


class RegionFunction:
    """An internal function of a module that does what a region does.

    Args:
        module: where to define it.
        region: one without a `region_problem`.
        passed: the values from outside that it is handed (`passed_values`).
        view_of: gives an operation's view.
    """

    def __init__(self, module: ir.Module, region: Region, passed: Sequence[IrValue], view_of: ViewOf) -> None:
        block = region.block
        self.results: list[IrValue] = list(block.terminator.operands)
        returned = ir.LiteralStructType([type for value in self.results for type in _types(value)])
        arguments = [type for value in (*block.arguments, *passed) for type in _types(value)]
        name = module.get_unique_name("body")
        self.function = ir.Function(module, ir.FunctionType(returned, arguments), name)
        self.function.linkage = "internal"
        if instructions(block) <= MAX_INLINED_INSTRUCTIONS:
            self.function.attributes.add("alwaysinline")
        self._generate(region, passed, view_of, returned)

    def _generate(
        self, region: Region, passed: Sequence[IrValue], view_of: ViewOf, returned: ir.Type
    ) -> None:
        block: Block = region.block
        builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        start = builder.append_basic_block("start")
        builder.branch(start)
        builder.position_at_end(start)
        parts = list(self.function.args)
        bound = [_bound(value, parts) for value in (*block.arguments, *passed)]
        around = dict(zip(passed, bound[len(block.arguments) :], strict=True))
        emitter = Emitter(builder, view_of, around)
        for value in filter(is_folded, captured_values([region])):
            assert isinstance(value.owner, Operation)
            (emitter.bound[value],) = emit_rule_of(value.owner).emit(emitter, value.owner)
        packed: ir.Value = ir.Constant(returned, ir.Undefined)
        position = 0
        for result in emitter.emit_block(block, bound[: len(block.arguments)]):
            for function in flat(result):
                packed = builder.insert_value(packed, function, position)
                position += 1
        builder.ret(packed)

    def call(
        self, builder: ir.IRBuilder, arguments: Sequence[Bound], passed: Sequence[Bound]
    ) -> list[Elements]:
        """Call it; `passed` is what the values from outside are bound to."""
        parts = [function for bound in (*arguments, *passed) for function in flat(bound)]
        packed = builder.call(self.function, parts)
        count = len(self.function.ftype.return_type.elements)
        returned = [builder.extract_value(packed, k) for k in range(count)]
        return [_taken(value, returned) for value in self.results]

    def on_scalars(
        self, builder: ir.IRBuilder, arguments: Sequence[Value], passed: Sequence[Bound]
    ) -> list[Value]:
        """Call it on single elements, which it returns too."""
        results = self.call(builder, [Elements((value,)) for value in arguments], passed)
        return [result.scalar for result in results]


def _types(value: IrValue) -> list[ir.Type]:
    """The types of the parameters that a value becomes: its elements, or where it lies."""
    if not is_small(value.type):
        return [POINTER]
    return list(value_types(element_type_of(value))) * element_count(value.type)


def _bound(value: IrValue, parts: list[ir.Value]) -> Bound:
    """What a value is bound to, taken from the front of `parts`."""
    if is_small(value.type):
        return _taken(value, parts)
    assert isinstance(value.type, TensorType)
    return Storage(value.type, parts.pop(0))


def _taken(value: IrValue, parts: list[ir.Value]) -> Elements:
    """A small tensor's elements, taken from the front of `parts`."""
    width = len(value_types(element_type_of(value)))
    count = element_count(value.type)
    taken = [parts.pop(0) for _ in range(width * count)]
    return Elements(tuple([tuple(taken[k * width : (k + 1) * width]) for k in range(count)]))


class LoopFunction:
    """An internal function of integers and pointers, and the builder that stands in it.

    Args:
        module: where to define it.
        name: its name's beginning.
        integers: how many i64 it takes first.
        pointers: how many pointers to memory of their own follow.
        passed: the values from outside that it is handed last, as pointers to them.
        returns: what it returns.

    Attributes:
        integers, pointers: its arguments.
        passed: what the values from outside are bound to.
    """

    def __init__(
        self,
        module: ir.Module,
        name: str,
        integers: int,
        pointers: int,
        passed: Sequence[IrValue] = (),
        returns: ir.Type | None = None,
    ) -> None:
        kinds = [I64] * integers + [POINTER] * (pointers + len(passed))
        type = ir.FunctionType(returns or ir.VoidType(), kinds)
        self.function = ir.Function(module, type, module.get_unique_name(name))
        self.function.linkage = "internal"
        self.builder = builder = ir.IRBuilder(self.function.append_basic_block("entry"))
        start = builder.append_basic_block("start")
        builder.branch(start)
        builder.position_at_end(start)
        arguments = list(self.function.args)
        for pointer in arguments[integers:]:
            pointer.add_attribute("noalias")
        self.integers = arguments[:integers]
        self.pointers = arguments[integers : integers + pointers]
        self.outside = arguments[integers + pointers :]
        self.passed = self.read(passed, self.outside)

    def read(self, values: Sequence[IrValue], pointers: Sequence[ir.Value]) -> list[Bound]:
        """What values that lie at pointers are bound to."""
        pairs = zip(values, pointers, strict=True)
        return [_read(self.builder, value, pointer) for value, pointer in pairs]

    def in_one_place(self) -> ir.Function:
        """The function, compiled once: neither inlined nor once more for some arguments."""
        self.function.attributes.add("noinline")
        self.function.attributes.add("noduplicate")
        return self.function

    def allocate_scratch(self, type: ir.Type, count: int) -> ir.Value:
        """Memory on the stack for so many elements."""
        with self.builder.goto_entry_block():
            return aligned_scratch(self.builder, type, count)

    def variable(self, initial: ir.Value) -> Variable:
        """A variable of an integer, which becomes a register."""
        with self.builder.goto_entry_block():
            pointer = self.builder.alloca(initial.type)
        return Variable(self.builder, pointer, initial)


class Variable:
    """An integer that changes."""

    def __init__(self, builder: ir.IRBuilder, pointer: ir.Value, initial: ir.Value) -> None:
        self.builder = builder
        self.pointer = pointer
        self.set(initial)

    def get(self) -> ir.Value:
        return self.builder.load(self.pointer)

    def set(self, value: ir.Value) -> None:
        self.builder.store(value, self.pointer)


def _read(builder: ir.IRBuilder, value: IrValue, pointer: ir.Value) -> Bound:
    """What a value that lies at a pointer is bound to."""
    assert isinstance(value.type, TensorType)
    storage = Storage(value.type, pointer)
    return all_elements(builder, storage) if is_small(value.type) else storage


class OperandArrays:
    """Arrays of the same length that are read and written together, each by its element type."""

    def __init__(
        self, builder: ir.IRBuilder, types: Sequence[ElementType], pointers: Sequence[ir.Value]
    ) -> None:
        self.builder = builder
        self.types = types
        self.pointers = pointers

    def at(self, index: ir.Value) -> list[ir.Value]:
        """Where the elements of an index are."""
        return [
            self.builder.gep(pointer, [index], inbounds=True, source_etype=stored_type(type))
            for type, pointer in zip(self.types, self.pointers, strict=True)
        ]

    def load(self, index: ir.Value) -> list[Value]:
        """The elements of an index, in computed form."""
        pairs = zip(self.types, self.at(index), strict=True)
        return [load(self.builder, type, place) for type, place in pairs]

    def store(self, index: ir.Value, values: Sequence[Value]) -> None:
        """Write the elements of an index, in computed form."""
        for type, place, value in zip(self.types, self.at(index), values, strict=True):
            store(self.builder, type, value, place)

    def copy(self, index: ir.Value, other: OperandArrays, source: ir.Value) -> None:
        """Write the elements that `other` has at an index, bit by bit."""
        for type, place, start in zip(self.types, self.at(index), other.at(source), strict=True):
            self.builder.store(self.builder.load(start, typ=stored_type(type)), place)

    def moved(self, index: ir.Value) -> OperandArrays:
        """The same arrays from an index on."""
        return OperandArrays(self.builder, self.types, self.at(index))
