"""Templates: an operation with types, attributes and regions, of which a program is made.

A legal program, and the programs that break one of the operation's constraints, come from the same template.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from ...errors import VerifyError
from ...program.ir import (
    Attribute,
    Block,
    Builder,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    Value,
    copy_region,
    main_module,
)
from ...program.ops import Op, lookup
from ...program.ops.collectives.process_grid import ONE_PROCESS, Grid
from ...program.ops.framework.encoding import encode_attributes
from ...types import (
    ELEMENT_TYPES,
    AnyElementType,
    Array,
    ElementType,
    FutureType,
    QuantizedType,
    TensorType,
    TupleType,
    Type,
)

OperandSpec = Type | DenseElementsAttribute
"""A type: of an argument of the program, or of a token or tuple that the program makes; or a constant."""

PER_TENSOR: Final = QuantizedType(ELEMENT_TYPES["i8"], -128, 127, ELEMENT_TYPES["f32"], (0.5,), (-3,))
"""The element type that stands for those which are quantized per tensor."""
SYMMETRIC: Final = QuantizedType(ELEMENT_TYPES["i8"], -128, 127, ELEMENT_TYPES["f32"], (0.5,), (0,))
"""The same with the zero point that the right factors of products must have."""


def per_axis(axis: int) -> QuantizedType:
    """An element type that is quantized along an axis of two slices, whose scales and zero points differ."""
    first = PER_TENSOR
    return QuantizedType(first.storage, -128, 127, first.expressed, (0.5, 0.125), (-3, 7), axis)


@dataclass(frozen=True)
class Template:
    """An operation and the values of its operands.

    Attributes:
        operation: its name.
        variant: what distinguishes it from other templates of the operation, in words joined by ``_``.
        operands: of each operand the type, or its value as a constant.
        results: the types of the results.
        attributes: encoded attributes.
        regions: its regions, which use no values from outside.
        inputs: the values of operands, by their positions; others get values of their types (`values.py`).
        edges: whether those values are the edge values of their types rather than common numbers.
        functions: the other functions of the program.
        is_basic: whether it belongs to the level ``smoke``, and is tried in every element type.
        each_type: whether it is tried in every element type.
        runs: whether the processes of its grid can run it. Otherwise it only gives programs that must be
            refused.
        grid: the processes that run the program at the same time.
    """

    operation: str
    variant: str
    operands: tuple[OperandSpec, ...]
    results: tuple[Type, ...]
    attributes: Mapping[str, Attribute] = field(default_factory=lambda: MappingProxyType({}))
    regions: tuple[Region, ...] = ()
    inputs: Mapping[int, Array] = field(default_factory=lambda: MappingProxyType({}))
    edges: bool = False
    functions: tuple[Function, ...] = ()
    is_basic: bool = False
    runs: bool = True
    each_type: bool = False
    grid: Grid = ONE_PROCESS

    def operand_type(self, index: int) -> Type:
        spec = self.operands[index]
        return spec.type if isinstance(spec, DenseElementsAttribute) else spec

    def isolated(self) -> Operation:
        """The operation alone, whose operands have no definition unless they are constants."""
        block = Block([self.operand_type(index) for index in range(len(self.operands))])
        builder, operands = Builder(block), list(block.arguments)
        for index, spec in enumerate(self.operands):
            if isinstance(spec, DenseElementsAttribute):
                operands[index] = _defined(builder, spec, iter(()))
        return self._operation(operands)

    def _operation(self, operands: Sequence[Value]) -> Operation:
        regions = [copy_region(region, {}) for region in self.regions]
        return Operation(self.operation, operands, self.results, self.attributes, regions)

    def module(self) -> Module:
        """The program: the function @main has an argument for each tensor that is no constant."""
        block = Block(list(self.argument_types()))
        builder, arguments = Builder(block), iter(block.arguments)
        operands = [_defined(builder, spec, arguments) for spec in self.operands]
        operation = self._operation(operands)
        block.operations.append(operation)
        returned = [value for result in operation.results for value in _tensors(builder, result)]
        return main_module(builder, returned, self.functions)

    def argument_types(self) -> Iterator[TensorType]:
        """The types of the program's arguments."""
        for spec in self.operands:
            yield from self.tensor_arguments(spec)

    @staticmethod
    def tensor_arguments(spec: OperandSpec) -> Iterator[TensorType]:
        """The types of the arguments that an operand needs."""
        if not isinstance(spec, DenseElementsAttribute):
            yield from _tensor_types(spec)


def _tensor_types(type: Type) -> Iterator[TensorType]:
    if isinstance(type, TensorType):
        yield type
    elif isinstance(type, (FutureType, TupleType)):
        for inner in type.types:
            yield from _tensor_types(inner)


def _defined(builder: Builder, spec: OperandSpec, arguments: Iterator[Value]) -> Value:
    """The value of an operand: an argument, a constant, a token, or a tuple of such."""
    if isinstance(spec, DenseElementsAttribute):
        return builder.create("stablehlo.constant", [], [spec.type], {"value": spec}).result
    if isinstance(spec, TensorType):
        return next(arguments)
    if isinstance(spec, TupleType):
        inner = [_defined(builder, type, arguments) for type in spec.types]
        return builder.create("stablehlo.tuple", inner, [spec]).result
    if isinstance(spec, FutureType):
        inner = [_defined(builder, type, arguments) for type in spec.types]
        return builder.create("stablehlo.async_start", inner, [spec], regions=[_whole_slice(spec)]).result
    return builder.create("stablehlo.after_all", [], [spec]).result


def _whole_slice(future: FutureType) -> Region:
    """The body of an asynchronous slice that takes all elements of the one value of a future."""
    (type,) = future.types
    assert isinstance(type, TensorType)
    return whole_slice(type)


def _tensors(builder: Builder, value: Value) -> Iterator[Value]:
    """The tensors of a result: elements of tuples, and what futures give, without tokens."""
    if isinstance(value.type, TensorType):
        yield value
    elif isinstance(value.type, FutureType):
        yield from builder.create("stablehlo.async_done", [value], value.type.types).results
    elif isinstance(value.type, TupleType):
        for index, type in enumerate(value.type.types):
            attributes = encode_attributes("stablehlo.get_tuple_element", {"index": index})
            element = builder.create("stablehlo.get_tuple_element", [value], [type], attributes).result
            yield from _tensors(builder, element)


def make(
    operation: str,
    variant: str,
    operands: Sequence[OperandSpec],
    results: Sequence[Type] | None = None,
    *,
    regions: Sequence[Region] = (),
    inputs: Mapping[int, object] | None = None,
    edges: bool = False,
    functions: Sequence[Function] = (),
    is_basic: bool = False,
    runs: bool = True,
    undeclared: Mapping[str, Attribute] | None = None,
    **attributes: Any,
) -> Template:
    """A template.

    Args:
        results: the types of the results; None: those that the declaration infers.
        inputs: values of operands, by their positions: anything that NumPy converts to their types.
        undeclared: attributes that are not declared, encoded.
        attributes: decoded values under the declared names.
        operation, variant, operands, regions, edges, functions, is_basic, runs: see `Template`.
    """
    template = Template(
        operation,
        variant,
        tuple(operands),
        tuple(results) if results is not None else (),
        {**encode_attributes(operation, attributes), **(undeclared or {})},
        tuple(regions),
        {},
        edges,
        tuple(functions),
        is_basic,
        runs,
    )
    if results is None:
        first = template.operand_type(0)
        template = replace(template, results=(first,))
        with suppress(VerifyError):
            template = with_inferred_results(template)
    arrays = {}
    for index, value in (inputs or {}).items():
        type = template.operand_type(index)
        assert isinstance(type, TensorType)
        with np.errstate(invalid="ignore"):
            # Types without NaN get another value.
            arrays[index] = np.array(value).astype(type.dtype).reshape(type.shape)
    return replace(template, inputs=arrays)


def with_inferred_results(template: Template) -> Template:
    """The template with the result types that its declaration infers, or as it is if it infers none."""
    inferred = view_of(template).infer()
    return template if inferred is None else replace(template, results=tuple(inferred))


def view_of(template: Template) -> Op:
    """The view of a template's operation.

    Raises:
        VerifyError: operands, attributes, regions or results are not as declared.
    """
    declaration = lookup(template.operation)
    assert declaration is not None, template.operation
    return declaration(template.isolated())


def sizes_text(sizes: Sequence[int]) -> str:
    """Sizes as they stand in the variants of templates, such as ``2x3``."""
    return "x".join(map(str, sizes)) or "scalar"


def tensor(element_type: AnyElementType | str, *shape: int) -> TensorType:
    """A tensor type; a plain element type may be given by its name."""
    named = ELEMENT_TYPES[element_type] if isinstance(element_type, str) else element_type
    return TensorType(shape, named)


def constant(type: TensorType, values: object) -> DenseElementsAttribute:
    """A constant of a type; a single value fills it."""
    array = np.array(values).astype(type.dtype)
    filled = np.full(type.shape, array) if array.ndim == 0 else array.reshape(type.shape)
    return DenseElementsAttribute(type, filled)


def region(
    argument_types: Sequence[Type],
    fill: Callable[[Builder, Sequence[Value]], Sequence[Value]],
    terminator: str = "stablehlo.return",
) -> Region:
    """A region whose operations `fill` appends; it returns what the region returns."""
    block = Block(argument_types)
    builder = Builder(block)
    builder.create(terminator, fill(builder, block.arguments))
    return Region([block])


def applied(name: str, scalar: TensorType) -> Region:
    """A body that applies a binary operation to two scalars."""
    return region(
        [scalar, scalar], lambda builder, values: [builder.create(name, list(values), [scalar]).result]
    )


def compared(scalars: Sequence[TensorType], direction: str, **attributes: Any) -> Region:
    """A comparator: compares the first two of its arguments, of which each scalar gives two."""
    encoded = encode_attributes("stablehlo.compare", {"comparison_direction": direction, **attributes})
    pred = tensor("i1")

    def fill(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.create("stablehlo.compare", list(values[:2]), [pred], encoded).result]

    return region([scalar for scalar in scalars for _ in range(2)], fill)


def whole_slice(type: TensorType) -> Region:
    """The body of an asynchronous operation: a slice of all elements."""
    names = ("start_indices", "limit_indices", "strides")
    columns = ((0,) * type.rank, type.shape, (1,) * type.rank)
    attributes = encode_attributes("stablehlo.slice", dict(zip(names, columns, strict=True)))

    def fill(builder: Builder, values: Sequence[Value]) -> list[Value]:
        return [builder.create("stablehlo.slice", list(values), [type], attributes).result]

    return region([type], fill)


Generate = Callable[[AnyElementType], Iterator[Template]]
"""Makes the templates of an operation for an element type. Those that are not legal are left out."""

_GENERATORS: Final[dict[str, list[Generate]]] = {}


def templates_of(operation: str) -> Callable[[Generate], Generate]:
    """Register a function that makes templates of an operation."""

    def register(generate: Generate) -> Generate:
        _GENERATORS.setdefault(operation, []).append(generate)
        return generate

    return register


def registered(operation: str) -> Sequence[Generate]:
    """The functions that make templates of an operation."""
    return _GENERATORS.get(operation, ())


PER_AXIS: Final = per_axis(0)
"""The element type that stands for those which are quantized along an axis, whichever an operation has."""

ELEMENT_TYPE_CHOICES: Final[tuple[AnyElementType, ...]] = (
    ELEMENT_TYPES["f32"],
    *[one for one in ELEMENT_TYPES.values() if one.name != "f32"],
    PER_TENSOR,
    PER_AXIS,
)
"""All element types; the first one that an operation accepts gets all of its templates."""


def name_of(element_type: AnyElementType) -> str:
    """The name of an element type in the id of a program."""
    if isinstance(element_type, ElementType):
        return element_type.name
    return "quantized" if element_type.quantization_dimension is None else "quantized_per_axis"
