"""Random programs, grown operation by operation as ir."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...errors import UnsupportedError
from ...program import ir
from ...program.ir import (
    Block,
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    main_module,
)
from ...program.ops import lookup
from ...program.ops.framework.encoding import encode_attributes
from ...program.ops.framework.memory_limit import is_addressable
from ...types import (
    BOOLEAN,
    COMPLEX,
    ELEMENT_TYPES,
    FLOAT,
    INTEGER,
    PLAIN,
    Array,
    ElementType,
    TensorType,
    Type,
)
from .edge_values import float_values, integer_values
from .tensor_values import TensorValue as Value
from .tensor_values import tensor_values

MAX_ELEMENTS = 120
"""Maximum number of elements of a tensor: the reference interpreter takes a microsecond for each."""

_SIZES = (1, 1, 2, 2, 3, 3, 4, 5)

_FREQUENT = ("i1", "i8", "i32", "i32", "i64", "ui8", "ui32", "f16", "bf16", "f32", "f32", "f32", "f64", "f64")


class CannotGenerate(Exception):
    """Raised if an operation does not fit the chosen values; the generator then tries another one."""


@dataclass
class RandomProgram:
    """A program without arguments.

    Attributes:
        block: the body of @main, without a terminator.
        functions: the other functions.
        returned: what @main returns; without any, see `results`.
    """

    block: Block = field(default_factory=Block)
    functions: list[Function] = field(default_factory=list)
    returned: list[Value] = field(default_factory=list)

    @property
    def results(self) -> list[Value]:
        """The values to return: by default those that no operation uses, or else the last value."""
        if self.returned:
            return self.returned
        used = {operand for operation in self.block.operations for operand in uses(operation)}
        tensors = [value for operation in self.block.operations for value in tensor_values(operation.results)]
        tensors = [value for value in tensors if isinstance(value.type, TensorType)]
        unused = [value for value in tensors if value not in used and not is_constant(value)]
        return unused or tensors[-1:]

    def with_arguments(self) -> tuple[Module, list[Array]]:
        """A module whose @main takes the constants of the program, and these."""
        defined = tensor_values(value for one in self.block.operations for value in one.results)
        constants = [value for value in defined if is_constant(value)]
        block = Block([value.type for value in constants])
        builder = Builder(block)
        values: dict[ir.Value, ir.Value] = dict(zip(constants, block.arguments, strict=True))
        for operation in self.block.operations:
            if not operation.results or operation.results[0] not in values:
                builder.copy(operation, values)
        module = main_module(builder, [values[value] for value in self.results], self.functions)
        return module, [_constant_array(value) for value in constants]


def is_constant(value: Value) -> bool:
    return value.constant_value is not None


def _constant_array(value: ir.Value) -> Array:
    assert value.constant_value is not None
    return np.array(value.constant_value.array)


def uses(operation: Operation) -> list[Value]:
    """The operands of an operation and of those in its regions."""
    return tensor_values(operand for inner in operation.walk() for operand in inner.operands)


class Generator:
    """Chooses types, values and operations at random, and appends the operations to a block.

    Attributes:
        random: chooses types, shapes and operations.
        np_random: fills arrays.
        program: the program so far.
        builder: appends to the current block.
        visible: the values that the current block may use.
        in_region: whether the current block belongs to a region.
        large: whether bodies may be any expressions, and sizes larger: for programs whose results are
            compared between modes of execution, and not with another implementation.
        largest: the maximum number of elements of a tensor.
        append_any: appends an operation of any kind.
    """

    def __init__(self, seed: int) -> None:
        self.large = False
        self.largest = MAX_ELEMENTS
        self.append_any: Callable[[], None] = lambda: None
        self.random = random.Random(seed)
        self.np_random = np.random.default_rng(seed)
        self.program = RandomProgram()
        self.builder = Builder(self.program.block)
        self.visible: list[Value] = []
        self.in_region = False

    def chance(self, probability: float) -> bool:
        """True with this probability."""
        return self.random.random() < probability

    def pick(self, small: Sequence[int], large: Sequence[int]) -> int:
        """One of the numbers for programs of this size."""
        return self.random.choice(large if self.large else small)

    def size(self) -> int:
        """A dimension size; rarely 0."""
        return self.random.choice(_SIZES) if self.chance(0.97) else 0

    def shape(self, rank: int | None = None, largest: int | None = None) -> tuple[int, ...]:
        """A shape of at most `largest` elements."""
        largest = self.largest if largest is None else largest
        rank = self.random.choice((0, 1, 1, 2, 2, 3, 4, 4, 6, 8)) if rank is None else rank
        sizes: list[int] = []
        for _ in range(rank):
            size = self.size()
            sizes.append(size if int(np.prod(sizes, initial=1)) * size <= largest else 1)
        return tuple(sizes)

    def element_type(self, categories: int = PLAIN) -> ElementType:
        """An element type of these categories; common ones come more often."""
        for _ in range(8):
            names = _FREQUENT if self.chance(0.6) else tuple(ELEMENT_TYPES)
            chosen = ELEMENT_TYPES[self.random.choice(names)]
            if chosen.category & categories:
                return chosen
        fitting = [declared for declared in ELEMENT_TYPES.values() if declared.category & categories]
        return self.random.choice(fitting)

    def type(self, categories: int = PLAIN, rank: int | None = None) -> TensorType:
        return TensorType(self.shape(rank), self.element_type(categories))

    def array(self, type: TensorType) -> Array:
        """An array of a type: small numbers, normal ones, edge values, or all of these."""
        count, element_type = type.size, type.element_type
        assert isinstance(element_type, ElementType)
        style = self.random.choice(("small", "small", "normal", "edge", "mixed", "mixed"))
        values = self._values(element_type, count, "small" if style == "mixed" else style)
        if style == "mixed":
            edges = self._values(element_type, count, "edge")
            values = np.where(self.np_random.random(count) < 0.25, edges, values)
        return values.reshape(type.shape)

    def _values(self, element_type: ElementType, count: int, style: str) -> Array:
        dtype = element_type.dtype
        if element_type.category == COMPLEX:
            component_type = ELEMENT_TYPES[f"f{element_type.width // 2}"]
            components = [self._values(component_type, count, style) for _ in range(2)]
            values = np.empty(count, dtype)
            values.real, values.imag = components
            return values
        if element_type.category == BOOLEAN:
            return self.np_random.integers(0, 2, count).astype(dtype)
        if style == "edge":
            is_float = element_type.category == FLOAT
            pool = float_values(element_type.name) if is_float else integer_values(element_type.name)
            return pool[self.np_random.integers(0, len(pool), count)]
        low = 0 if element_type.name.startswith("ui") else -4
        if style == "small" and element_type.category & INTEGER:
            return self.np_random.integers(low, 5, count).astype(dtype)
        if style == "small":
            return (self.np_random.integers(-8, 9, count) / 2).astype(np.float32).astype(dtype)
        numbers = self.np_random.standard_normal(count) * self.random.choice((1, 3, 30))
        if element_type.category & INTEGER:
            return np.trunc(np.clip(numbers, -128 if low else 0, 127)).astype(np.int64).astype(dtype)
        return numbers.astype(np.float32 if element_type.width < 32 else np.float64).astype(dtype)

    def constant(self, type: TensorType, array: Array | None = None) -> Value:
        """A new constant, of random values unless they are given."""
        if type.size > 10 * self.largest or not is_addressable(type):
            raise CannotGenerate("large")
        array = self.array(type) if array is None else np.array(array, type.dtype).reshape(type.shape)
        return self.add("stablehlo.constant", [], [type], value=DenseElementsAttribute(type, array))[0]

    def existing(self, categories: int = PLAIN, rank: int | None = None) -> Value | None:
        """A tensor that is there already, or None."""
        candidates = [
            value
            for value in self.visible
            if isinstance(value.type, TensorType)
            and value.type.category & categories
            and (rank is None or value.type.rank == rank)
        ]
        # Recent values make long chains.
        return self.random.choice(candidates[-6:] if self.chance(0.6) else candidates) if candidates else None

    def value(self, categories: int = PLAIN, rank: int | None = None) -> Value:
        """Any tensor of these categories, new or not."""
        value = self.existing(categories, rank) if self.chance(0.8) else None
        return value or self.constant(self.type(categories, rank))

    def operand(self, type: TensorType) -> Value:
        """A tensor of a type: an existing one, one made of an existing one, or a new constant."""
        alike = [value for value in self.visible if value.type == type]
        if alike and self.chance(0.8):
            return self.random.choice(alike)
        if not self.in_region and self.chance(0.4):
            close = [
                value
                for value in self.visible
                if isinstance(value.type, TensorType)
                and value.type.category & PLAIN
                and value.type.shape in (type.shape, ())
            ]
            if close:
                return self.adapted(self.random.choice(close), type)
        return self.constant(type)

    def adapted(self, value: Value, type: TensorType) -> Value:
        """A value of the same shape or of rank 0, converted and broadcast to `type`."""
        assert isinstance(value.type, TensorType)
        if value.type.element_type != type.element_type:
            converted = value.type.with_element_type(type.element_type)
            (value,) = self.add("stablehlo.convert", [value], [converted])
        if value.type != type:
            (value,) = self.add("stablehlo.broadcast_in_dim", [value], [type], broadcast_dimensions=())
        return value

    def add(
        self,
        name: str,
        operands: Sequence[Value],
        result_types: Sequence[Type],
        regions: Sequence[Region] = (),
        **attributes: Any,
    ) -> list[Value]:
        """Append an operation that must verify, and return its results.

        Args:
            attributes: decoded values under their declared names.

        Raises:
            CannotGenerate: the operation is legal, but not supported.
        """
        for type in result_types:
            if not is_addressable(type) or (isinstance(type, TensorType) and type.size > 20 * self.largest):
                raise CannotGenerate("large")
        operation = Operation(name, operands, result_types, encode_attributes(name, attributes), regions)
        declaration = lookup(name)
        assert declaration is not None, name
        try:
            declaration(operation).verify()
        except UnsupportedError as error:
            raise CannotGenerate(str(error)) from None
        self.builder.block.operations.append(operation)
        results = tensor_values(operation.results)
        self.visible.extend(results)
        return results

    def region(
        self,
        argument_types: Sequence[Type],
        fill: Callable[..., Sequence[Value]],
        *,
        captures: bool = False,
        terminator: str = "stablehlo.return",
    ) -> Region:
        """A region.

        Args:
            fill: appends operations and returns what the region returns; takes the arguments.
            captures: whether the region may use values from outside.
        """
        block = Block(argument_types)
        with self._within(block, captures):
            returned = fill(*block.arguments)
            self.builder.create(terminator, returned)
        return Region([block])

    @contextmanager
    def _within(self, block: Block, captures: bool) -> Any:
        outer = self.builder, self.visible, self.in_region
        self.builder, self.in_region = Builder(block), True
        self.visible = [*(self.visible if captures else []), *tensor_values(block.arguments)]
        try:
            yield
        finally:
            self.builder, self.visible, self.in_region = outer


Producers = Sequence[tuple[float, Callable[[Generator], None]]]
"""Functions that append an operation and what it needs, with their relative frequencies."""
