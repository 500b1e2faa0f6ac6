"""The work of steps and of programs: the bytes that they move, and the arithmetic that they cannot do
without.

A step's work is that of its operation, by its types. A program's (`program_work`) is the least that any
implementation does: what its declarations state (`Op.work`, `Op.cost`, `Op.product`), for the elements that
the results depend on (`demand.py`).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ...compiler.plan import Step
from ...compiler.specialize.framework.rewriter import splat
from ...compiler.specialize.rewrites.loops import trip_count
from ...kernels.named_tuples import NamedTuple
from ...program.ir import Attribute, Block, Operation, StructAttribute
from ...program.ops.framework.costs import FunctionClass, Work
from ...program.ops.framework.declaration import Op, declaration_of, lookup
from ...program.ops.framework.memory_limit import bytes_of
from ...program.ops.framework.traits import Product, RegionRole
from ...types import BOOLEAN, COMPLEX, FLOAT, INTEGER, ElementType, TensorType, Type
from .demand import Demand, size_of
from .temporaries import held_bytes

WINOGRAD_RESULTS: Final = 4
"""Results of a tile along a dimension, at most, by which Winograd's algorithm saves products."""


def moved_bytes(step: Step) -> int:
    """Bytes of a step's operands and results, by their types; 0 where it only runs regions.

    Bytes that a step reads several times, or from caches, count once. Unknown sizes count as 0.
    """
    if step.control is not None:
        return 0
    return sum(bytes_of(type) for types in step.types for type in types)


def multiplications(step: Step) -> int:
    """Multiply-add pairs of a step; 0 for every step except matrix products and convolutions."""
    operands, results = step.types
    return multiply_adds(step.operation, operands, results, step.attributes)


def multiply_adds(
    name: str, operands: Sequence[Type], results: Sequence[Type], attributes: Mapping[str, Attribute]
) -> int:
    """Multiply-add pairs of a matrix product or a convolution; 0 for other operations and unknown sizes.

    Args:
        name: the operation's name.
        operands, results: the types of its operands and results.
        attributes: its attributes.
    """
    if len(operands) < 2 or not results:
        return 0
    types = [type for type in (*operands[:2], results[0]) if isinstance(type, TensorType) and type.is_static]
    if len(types) < 3:
        return 0
    lhs, rhs, result = types
    dot = attributes.get("dot_dimension_numbers")
    if isinstance(dot, StructAttribute):
        return result.size * math.prod([lhs.shape[d] for d in dot.integers("lhs_contracting_dimensions")])
    product = (lookup(name) or Op).product
    if product is Product.MATMUL and lhs.rank:
        return result.size * lhs.shape[-1]
    convolution = attributes.get("dimension_numbers")
    if product is Product.CONVOLUTION and isinstance(convolution, StructAttribute):
        # Each result element needs all kernel elements of its output feature (section "convolution").
        features = rhs.shape[convolution.integer("kernel_output_feature_dimension")]
        return result.size * rhs.size // max(features, 1)
    return 0


class ProgramWork(NamedTuple):
    """The least work of a call of a program.

    Attributes:
        read_bytes: bytes of arguments, each read once.
        written_bytes: bytes of results, each written once.
        held_bytes: bytes that are read again, as far as no cache holds them (`temporaries.py`).
        multiply_adds: by element type, a key of `machine.MULTIPLIED`.
        functions: by class and element type: ``"f64"``, ``"f32"``, or ``"narrow"``.
        instruction_bytes: bytes of the elements that other instructions compute.
        has_unknown_loops: whether loops of unknown length, of which nothing is counted, are left out.
    """

    read_bytes: int
    written_bytes: int
    held_bytes: int
    multiply_adds: Mapping[str, int]
    functions: Mapping[tuple[FunctionClass, str], int]
    instruction_bytes: int
    has_unknown_loops: bool


def program_work(block: Block) -> ProgramWork:
    """The least work of a call of a function.

    Args:
        block: the body of the specialized function, of static types and without calls.
    """
    counts = _Counts()
    demand = Demand(block)
    counts.add_block(block, demand, 1)
    read_bytes = sum([demand.needed(value) * _item_bytes(value.type) for value in block.arguments])
    computed = {value for value in block.terminator.operands if isinstance(value.owner, Operation)}
    written_bytes = sum([bytes_of(value.type) for value in computed if value.constant_value is None])
    return ProgramWork(
        read_bytes,
        written_bytes,
        held_bytes(block, demand),
        counts.multiply_adds,
        counts.functions,
        counts.instruction_bytes,
        counts.has_unknown_loops,
    )


class _Counts:
    """Sums up the work of blocks."""

    def __init__(self) -> None:
        self.multiply_adds: Counter[str] = Counter()
        self.functions: Counter[tuple[FunctionClass, str]] = Counter()
        self.instruction_bytes = 0
        self.has_unknown_loops = False

    def add_block(self, block: Block, demand: Demand, times: int) -> None:
        """Add what a block that runs so many times computes of the elements that it needs."""
        for operation in block.operations:
            role = declaration_of(operation).region_role
            if role is RegionRole.LOOP:
                count = trip_count(operation)
                self.has_unknown_loops |= count is None
                if count:
                    body = operation.regions[1].block
                    self.add_block(body, Demand(body), times * count)
            elif operation.results and any(demand.needed(result) for result in operation.results):
                self._add(operation, demand, times)

    def _add(self, operation: Operation, demand: Demand, times: int) -> None:
        declaration = declaration_of(operation)
        result = operation.results[0]
        types = [value.type for value in operation.operands]
        if declaration.product is not None:
            products = multiply_adds(operation.name, types, [result.type], operation.attributes)
            share = demand.needed(result) / max(size_of(result), 1)
            if declaration.product is Product.CONVOLUTION:
                share *= _window_share(Op.of(operation))
            self.multiply_adds[multiplied_type(types[0])] += int(
                times * products * share * _components(types[0])
            )
        elif declaration.work is Work.ELEMENTS:
            elements = times * min(demand.needed(result), demand.distinct(result))
            self._add_elements(operation, declaration.cost.function, elements)
        elif declaration.work is Work.COMBINATIONS:
            combined = max(0, demand.distinct(operation.operands[0]) - size_of(result))
            self.instruction_bytes += times * combined * _item_bytes(types[0])
        elif declaration.work is not Work.NONE and isinstance(types[0], TensorType) and types[0].is_static:
            self._add_algorithm(operation, declaration.work, types[0], times)

    def _add_elements(self, operation: Operation, function: FunctionClass | None, elements: int) -> None:
        result = operation.results[0]
        type = result.type
        element_type = type.element_type if isinstance(type, TensorType) else None
        # With a constant, a quotient can be a product and a power a few.
        has_constant = any(splat(value) is not None for value in operation.operands)
        is_real = isinstance(element_type, ElementType) and element_type.category == FLOAT
        if function is None or not is_real or has_constant:
            types = [value.type for value in (*operation.operands, *operation.results)]
            self.instruction_bytes += elements * max(map(_item_bytes, types))
        else:
            self.functions[function, _width_name(result.type)] += elements

    def _add_algorithm(self, operation: Operation, work: Work, type: TensorType, times: int) -> None:
        """Add the work of a sort, a Fourier transform or a factorization."""
        if work is Work.COMPARISONS:
            view: Any = Op.of(operation)
            length = type.shape[view.dimension % max(type.rank, 1)] if type.rank else 1
            keys = [view.inputs[key.operand] for key in view.keys or ()]
            if keys and all(key.category & (BOOLEAN | INTEGER) for key in keys):
                # The digits of integers give their order without comparisons: each key is read once.
                count = float(type.size if length > 1 else 0)
            else:
                # Each comparison halves the orders that are left, at best: log2(n!) of them for a slice.
                count = type.size // max(length, 1) * math.lgamma(length + 1) / math.log(2)
            self.instruction_bytes += int(times * count) * _item_bytes(keys[0] if keys else type)
        elif work is Work.TRANSFORM:
            view = Op.of(operation)
            length = math.prod(view.fft_length)
            # 4 n log2 n operations, of which half are multiplications; of reals half of them.
            halves = 2 if type.category & COMPLEX else 1
            products = halves * type.size * math.log2(max(length, 1)) / 2
            self.multiply_adds[_component(type)] += int(times * products)
        else:
            rank, rows = type.rank, type.shape[-1] if type.rank else 1
            matrices = type.size // max(rows * rows, 1) if rank >= 2 else 0
            result = operation.results[0]
            products = matrices * rows**3 / 6 if work is Work.CUBE else size_of(result) * rows / 2
            self.multiply_adds[_component(type)] += int(times * products)


def _window_share(view: Any) -> float:
    """The share of a convolution's multiply-adds without those of padding, and by Winograd's algorithm.

    That needs m + r - 1 products for m results of r products each along a dimension without strides. With m
    beyond `WINOGRAD_RESULTS`, rounding errors of f32 exceed those of sums.
    """
    windows = view.static_windows()
    if windows is None:
        return 0.0
    share = 1.0
    for window, dimension in zip(windows, view.input_spatial_dimensions, strict=True):
        size = view.lhs.shape[dimension]
        count = window.count(size)
        spans = [window.span(position, size, count) for position in range(window.size)]
        pairs = sum([len(range(*span[0].indices(count))) for span in spans if span is not None])
        share *= pairs / max(count * window.size, 1)
        if (window.stride, window.base_dilation, window.window_dilation) == (1, 1, 1) and window.size > 1:
            share *= (WINOGRAD_RESULTS + window.size - 1) / (WINOGRAD_RESULTS * window.size)
    return share


def _item_bytes(type: Type) -> int:
    """Bytes of an element; 0 for values that are no tensors."""
    return type.dtype.itemsize if isinstance(type, TensorType) else 0


def _components(type: Type) -> int:
    """Real products of a product of two elements: three of complex ones (Gauss)."""
    return 3 if isinstance(type, TensorType) and type.category & COMPLEX else 1


def _width_name(type: Type) -> str:
    """The key of the functions of a type of real elements."""
    size = _item_bytes(type)
    return "f64" if size > 4 else "f32" if size == 4 else "narrow"


def _component(type: TensorType) -> str:
    """The key of the multiply-adds of real or complex floats."""
    width = type.element_type.width // (2 if type.category & COMPLEX else 1)
    return "f64" if width > 32 else "f32"


def multiplied_type(type: Type) -> str:
    """The key of the multiply-adds of products of an element type, the fastest that could compute them."""
    element_type = type.element_type if isinstance(type, TensorType) else None
    if not isinstance(element_type, ElementType):
        return "i8"
    if element_type.width <= 8 or (
        element_type.category not in (FLOAT, COMPLEX) and element_type.width <= 16
    ):
        return "i8"
    if element_type.width <= 16:
        return "bf16"
    if element_type.category == COMPLEX:
        return _component(type)  # type: ignore[arg-type]
    return "f64" if element_type.width > 32 else "f32"
