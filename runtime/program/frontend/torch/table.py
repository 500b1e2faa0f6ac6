"""The table from PyTorch's operations to the functions that convert them, and what these functions share.

A conversion is a function of a `NodeEmitter`, which appends operations, and of the arguments of a node of the
graph: values in place of tensors, Python's numbers, lists and None. It returns the values of the results.
Names stand in `converts`, and in tables of the modules where conversions differ in a name alone, such as
`elementwise._UNARY` and `prims._SAME`. PyTorch decomposes operations without a conversion (`decompositions`).

Source: PyTorch, "Core ATen IR", and the schemas of ``torch.ops.aten``.
"""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, TypeVar

from ....errors import UnsupportedError
from ....types import COMPLEX, ELEMENT_TYPES, FLOAT, ElementType, TensorType
from ...ir import Block, Builder, Region, Value
from .element_types import element_type_of, torch_type_of
from .emitter import F32, I1, I64, Emitter, Number, element_type, shape_of, wider

Operand = Value | Number
Conversion = Callable[..., Any]
AnyConversion = TypeVar("AnyConversion", bound=Conversion)

_MODULES: Final = (
    "attention",
    "contractions",
    "control",
    "convolutions",
    "creation",
    "elementwise",
    "factorizations",
    "fourier",
    "indexing",
    "linear_algebra",
    "matrix_functions",
    "maximum_windows",
    "movement",
    "pooling",
    "prims",
    "quantization",
    "random",
    "reductions",
    "resampling",
    "sampling",
    "scatters",
    "searching",
    "segments",
    "sorting",
    "special",
)
"""The modules that declare conversions."""

_CONVERSIONS: Final[dict[str, Conversion]] = {}


def converts(*names: str) -> Callable[[AnyConversion], AnyConversion]:
    """Declare a function as the conversion of operations, such as ``"aten.add.Tensor"``."""

    def declare(function: AnyConversion) -> AnyConversion:
        for name in names:
            if name in _CONVERSIONS:
                raise ValueError(f"{name} is converted twice")
            _CONVERSIONS[name] = function
        return function

    return declare


def declared(name: str) -> Conversion:
    """The conversion of an operation that a module which the caller imports has declared."""
    return _CONVERSIONS[name]


def conversions() -> dict[str, Conversion]:
    """All conversions by the operation's name and overload."""
    for module in _MODULES:
        importlib.import_module(f".conversions.{module}", __package__)
    return _CONVERSIONS


class NodeEmitter(Emitter):
    """Appends the operations to which a node of a graph is converted.

    Attributes:
        types: the types of the node's results; None for a result that is no tensor, or that is not there.
        used: the numbers of the results that other nodes use.
        is_contiguous: whether PyTorch stores the first operand in row-major order.
        run: appends the operations of a graph that the node calls; returns the graph's results.
    """

    def __init__(
        self,
        block: Block,
        seed: Callable[[], Value],
        run: Callable[[Any, Sequence[Any]], list[Any]] | None = None,
    ) -> None:
        super().__init__(block)
        self.types: Sequence[TensorType | None] = ()
        self.used: frozenset[int] = frozenset()
        self.is_contiguous = True
        self._seed = seed
        self._repeats: str | None = None
        self._run = run

    def seed(self) -> Value:
        """The key of the random bits of the next operation that needs some.

        Raises:
            UnsupportedError: the operation is in a loop, whose passes would all get the same bits.
        """
        if self._repeats is not None:
            raise unsupported(f"{self._repeats} cannot draw random numbers")
        return self._seed()

    @contextlib.contextmanager
    def without_random_numbers(self, where: str) -> Iterator[None]:
        """Refuse random numbers, in what is called `where`."""
        before, self._repeats = self._repeats, where
        try:
            yield
        finally:
            self._repeats = before

    def run(self, graph: Any, operands: Sequence[Any]) -> list[Any]:
        """Append the operations of a graph that the node calls.

        Returns:
            The graph's results.
        """
        assert self._run is not None
        types, location = self.types, self.location
        results = self._run(graph, operands)
        self.types, self.location = types, location
        return results

    def nested(
        self, types: Sequence[TensorType], body: Callable[[Sequence[Value]], Sequence[Value]]
    ) -> Region:
        """A region that returns what `body`, which appends by this emitter, makes of its arguments."""
        block = Block(types)
        outer, self._builder = self._builder, Builder(block)
        try:
            results = body(block.arguments)
            self._builder.create("stablehlo.return", results, location=self.location)
        finally:
            self._builder = outer
        return Region([block])

    @property
    def type(self) -> TensorType:
        """The type of the first result."""
        type = self.types[0]
        assert type is not None
        return type

    def element_of(self, number: int) -> ElementType:
        """The element type of a result."""
        type = self.types[number]
        assert type is not None
        return type.plain_element_type

    @property
    def element(self) -> ElementType:
        """The element type of the first result."""
        return self.type.plain_element_type

    def as_value(self, operand: Operand, type: ElementType, shape: Sequence[int] | None = None) -> Value:
        """A tensor or a number as a value of an element type, broadcast to a shape (None: its own)."""
        if not isinstance(operand, Value):
            return self.full(operand, () if shape is None else shape, type)
        converted = self.convert(operand, type)
        return converted if shape is None else self.broadcast(converted, shape)

    def elementwise(self, name: str, *operands: Operand) -> Value:
        """An operation on operands that are converted and broadcast to the type of the node's result.

        PyTorch rounds the results of narrow floats, but not the numbers that are combined with them.
        """
        type = self.element
        has_number = any(not isinstance(operand, (Value, bool, int)) for operand in operands)
        computed = wider(type) if has_number else type
        values = [self.as_value(operand, computed, self.type.shape) for operand in operands]
        return self.convert(self.one(name, values, self.type.shape, computed), type)

    def operands(self, *operands: Operand) -> tuple[Value, ...]:
        """Operands promoted to one type and broadcast, for a result of another element type."""
        type = promoted(operands)
        return tuple([self.as_value(operand, type, self.type.shape) for operand in operands])

    def finish(self, value: Value) -> Value:
        """A value in the type of the node's result."""
        return self.reshape(self.convert(value, self.element), self.type.shape)

    def reshaped(self, values: Sequence[Value]) -> list[Value]:
        """Values in the shapes of the node's results."""
        return [
            value if type is None else self.reshape(value, type.shape)
            for value, type in zip(values, self.types, strict=True)
        ]


def unsupported(reason: str) -> UnsupportedError:
    """The error for arguments that a conversion does not serve; the caller adds operation and location."""
    return UnsupportedError(reason)


def promoted(operands: Sequence[Operand]) -> ElementType:
    """The type to which PyTorch promotes operands: numbers and scalars count for their category alone.

    Source: PyTorch, ``torch.result_type``.
    """
    tensors = [operand for operand in operands if isinstance(operand, Value)]
    dimensioned = [element_type(value) for value in tensors if shape_of(value)]
    scalars = [element_type(value) for value in tensors if not shape_of(value)]
    numbers = [_number_type(operand) for operand in operands if not isinstance(operand, Value)]
    result: ElementType | None = None
    for group in (dimensioned, scalars, numbers):
        if not group:
            continue
        type = group[0]
        for other in group[1:]:
            type = _promote(type, other)
        if result is None:
            result = type
        elif _rank(type) > _rank(result):
            result = _promote(result, type) if group is not numbers else _in_category(result, type)
    assert result is not None
    return result


def _number_type(number: Number) -> ElementType:
    if isinstance(number, bool):
        return I1
    if isinstance(number, int):
        return I64
    return F32 if isinstance(number, float) else ELEMENT_TYPES["complex<f32>"]


def _rank(type: ElementType) -> int:
    """The order of the categories: booleans, integers, floats, complex numbers."""
    return 0 if type is I1 else {FLOAT: 2, COMPLEX: 3}.get(type.category, 1)


def _in_category(type: ElementType, number: ElementType) -> ElementType:
    """The type of a tensor with a number of a higher category."""
    if number.category == COMPLEX and type.name == "f64":
        return ELEMENT_TYPES["complex<f64>"]
    return number


def _promote(a: ElementType, b: ElementType) -> ElementType:
    if a is b:
        return a
    import torch

    return element_type_of(torch.promote_types(torch_type_of(a), torch_type_of(b)))
