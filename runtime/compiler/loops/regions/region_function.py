"""Regions of small tensors as native functions: the bodies of reductions, scatters and sorts.

`RegionFunction` is such a region within a module; `FunctionBuilder` builds a function with loops that call
regions, and binds the values that the regions capture.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from llvmlite import ir

from ....program.ir import Block, Operation, Region, captured_values, plain_element_type, tensor_type
from ....program.ir import Value as IrValue
from ....types import ElementType, TensorType
from ..llvm.functions import Variable, aligned_scratch, begin_function, internal_function
from ..llvm.values import POINTER, Value, load, store, stored_type, value_types
from ..scalars import (
    Binding,
    Elements,
    Emitter,
    Mode,
    Storage,
    all_elements,
    check_block,
    check_in_place_updates,
    check_interruption,
    is_plain,
    is_small,
)
from ..scalars.elements import element_count, flat
from ..scalars.emitter import emit_rule_of, instructions

MAX_INSTRUCTIONS = 1000
"""Maximum instructions of a region that is compiled; several loops may inline it."""
MAX_INLINED_INSTRUCTIONS = 200
"""Maximum instructions of a region that is inlined."""


def check_region(region: Region) -> str | None:
    """Why a region cannot become a native function; None if it can."""
    block = region.block
    for value in (*block.arguments, *block.terminator.operands):
        if not is_small(value.type):
            return f"its body has {value.type}"
    for value in captured_values([region]):
        if not is_plain(value.type):
            return f"its body uses {value.type}"
    if instructions(block) > MAX_INSTRUCTIONS:
        return f"its body has more than {MAX_INSTRUCTIONS} instructions"
    reason = check_interruption(block.operations) or check_block(block) or check_in_place_updates(block, ())
    return None if reason is None else f"its body: {reason}"


def is_embedded_constant(value: IrValue) -> bool:
    """Whether a captured value is a small constant, which is embedded in the region's function."""
    return isinstance(value.owner, Operation) and value.owner.is_constant and is_small(value.type)


def captured_arguments(regions: Iterable[Region]) -> list[IrValue]:
    """The captured values that the functions of regions take as arguments: all but embedded constants."""
    return [value for value in captured_values(regions) if not is_embedded_constant(value)]


class RegionFunction:
    """A region as an internal function of a module.

    Args:
        module: where to define it.
        region: one that `check_region` accepts.
        captured: the captured values that it takes as arguments (`captured_arguments`).
    """

    def __init__(self, module: ir.Module, region: Region, captured: Sequence[IrValue]) -> None:
        block = region.block
        self.results: list[IrValue] = list(block.terminator.operands)
        returned = ir.LiteralStructType([type for value in self.results for type in _types(value)])
        arguments = [type for value in (*block.arguments, *captured) for type in _types(value)]
        name = module.get_unique_name("body")
        self.function = ir.Function(module, ir.FunctionType(returned, arguments), name)
        self.function.linkage = "internal"
        if instructions(block) <= MAX_INLINED_INSTRUCTIONS:
            self.function.attributes.add("alwaysinline")
        self._generate(region, captured, returned)

    def _generate(self, region: Region, captured: Sequence[IrValue], returned: ir.Type) -> None:
        block: Block = region.block
        builder = begin_function(self.function)
        arguments = list(self.function.args)
        binding = [
            Mode.SCALARS.bind(tensor_type(value), arguments) for value in (*block.arguments, *captured)
        ]
        captured_bindings = dict(zip(captured, binding[len(block.arguments) :], strict=True))
        emitter = Emitter(builder, captured_bindings)
        emitter.bindings.update(_embedded_constants(emitter, [region]))
        result_struct: ir.Value = ir.Constant(returned, ir.Undefined)
        position = 0
        for result in emitter.emit_block(block, binding[: len(block.arguments)]):
            for component in flat(result):
                result_struct = builder.insert_value(result_struct, component, position)
                position += 1
        builder.ret(result_struct)

    def call(
        self, builder: ir.IRBuilder, arguments: Sequence[Binding], captured_bindings: Sequence[Binding]
    ) -> list[Binding]:
        """Call the function; `captured_bindings` are those of the captured values that it takes."""
        flat_arguments = [
            component for binding in (*arguments, *captured_bindings) for component in flat(binding)
        ]
        result_struct = builder.call(self.function, flat_arguments)
        count = len(self.function.ftype.return_type.elements)
        returned = [builder.extract_value(result_struct, k) for k in range(count)]
        return [Mode.SCALARS.bind(tensor_type(value), returned) for value in self.results]

    def on_scalars(
        self, builder: ir.IRBuilder, arguments: Sequence[Value], captured_bindings: Sequence[Binding]
    ) -> list[Value]:
        """Call the function on scalars, and return its scalar results."""
        results = self.call(builder, [Elements((value,)) for value in arguments], captured_bindings)
        return [result.scalar for result in results if isinstance(result, Elements)]


def _types(value: IrValue) -> list[ir.Type]:
    """The parameter types of a value: those of its elements, or a pointer."""
    if not is_small(value.type):
        return [POINTER]
    return list(value_types(plain_element_type(value))) * element_count(value.type)


class FunctionBuilder:
    """Builds an internal function of integers and pointers.

    Args:
        module: where to define it.
        name: a prefix of its name.
        integers: how many leading arguments are i64.
        pointers: how many noalias pointers follow.
        captured: the captured values, whose pointers are the last arguments.
        returns: what it returns.

    Attributes:
        integers, pointers: its arguments.
        captured_pointers: the pointers of the captured values.
        captured_bindings: the bindings of the captured values.
    """

    def __init__(
        self,
        module: ir.Module,
        name: str,
        integers: int,
        pointers: int,
        captured: Sequence[IrValue] = (),
        returns: ir.Type | None = None,
    ) -> None:
        self.function = internal_function(module, name, integers, pointers + len(captured), returns)
        self.builder = begin_function(self.function)
        arguments = list(self.function.args)
        self.integers = arguments[:integers]
        self.pointers = arguments[integers : integers + pointers]
        self.captured_pointers = arguments[integers + pointers :]
        self.captured_bindings = self.read(captured, self.captured_pointers)

    def read(self, values: Sequence[IrValue], pointers: Sequence[ir.Value]) -> list[Binding]:
        """Bind values in memory to their elements, if small, or to their storage."""
        return [_read(self.builder, *pair) for pair in zip(values, pointers, strict=True)]

    def arrays(self, types: Sequence[ElementType], first: int) -> OperandArrays:
        """The arrays of some types whose pointers begin at argument `first`."""
        return OperandArrays(self.builder, types, self.pointers[first : first + len(types)])

    def compiled_once(self) -> ir.Function:
        """Return the function, marked to be compiled once: neither inlined nor specialized."""
        self.function.attributes.add("noinline")
        self.function.attributes.add("noduplicate")
        return self.function

    def allocate_scratch(self, type: ir.Type, count: int) -> ir.Value:
        """Stack memory for `count` elements."""
        with self.builder.goto_entry_block():
            return aligned_scratch(self.builder, type, count)

    def variable(self, initial: ir.Value) -> Variable:
        """A mutable integer, which becomes a register."""
        return Variable(self.builder, initial)


def bind_captured(
    builder: ir.IRBuilder,
    regions: Sequence[Region],
    captured: Sequence[IrValue],
    pointers: Sequence[ir.Value],
) -> dict[IrValue, Binding]:
    """The bindings of the values that regions capture; `pointers` are those of `captured`."""
    bindings = {
        value: _read(builder, value, pointer) for value, pointer in zip(captured, pointers, strict=True)
    }
    return {**bindings, **_embedded_constants(Emitter(builder), regions)}


def _embedded_constants(emitter: Emitter, regions: Sequence[Region]) -> dict[IrValue, Binding]:
    bindings: dict[IrValue, Binding] = {}
    for value in filter(is_embedded_constant, captured_values(regions)):
        assert isinstance(value.owner, Operation)
        (bindings[value],) = emit_rule_of(value.owner).emit(emitter, value.owner)
    return bindings


def _read(builder: ir.IRBuilder, value: IrValue, pointer: ir.Value) -> Binding:
    """Bind a value in memory to its elements, if small, or to its storage."""
    assert isinstance(value.type, TensorType)
    storage = Storage(value.type, pointer)
    return all_elements(builder, storage) if is_small(value.type) else storage


class OperandArrays:
    """Arrays of equal length that are indexed together."""

    def __init__(
        self, builder: ir.IRBuilder, types: Sequence[ElementType], pointers: Sequence[ir.Value]
    ) -> None:
        self.builder = builder
        self.types = types
        self.pointers = pointers

    def at(self, index: ir.Value) -> list[ir.Value]:
        """The addresses of the elements at an index."""
        return [
            self.builder.gep(pointer, [index], inbounds=True, source_etype=stored_type(type))
            for type, pointer in zip(self.types, self.pointers, strict=True)
        ]

    def load(self, index: ir.Value) -> list[Value]:
        """Load the elements at an index, in register form."""
        pairs = zip(self.types, self.at(index), strict=True)
        return [load(self.builder, type, address) for type, address in pairs]

    def store(self, index: ir.Value, values: Sequence[Value]) -> None:
        """Store the elements at an index, in register form."""
        for type, address, value in zip(self.types, self.at(index), values, strict=True):
            store(self.builder, type, value, address)

    def copy(self, index: ir.Value, other: OperandArrays, source: ir.Value) -> None:
        """Copy the bits of the elements of `other` at index `source`."""
        for type, address, source_address in zip(self.types, self.at(index), other.at(source), strict=True):
            self.builder.store(self.builder.load(source_address, typ=stored_type(type)), address)

    def from_index(self, index: ir.Value) -> OperandArrays:
        return OperandArrays(self.builder, self.types, self.at(index))
