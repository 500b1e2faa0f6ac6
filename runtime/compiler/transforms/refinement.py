"""Refinement of programs with unknown sizes: whether the sizes follow from the arguments' shapes, and the
static program.

Source: the StableHLO project's RFC on dynamism, proposal P4; specification, section "Dynamism".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ...errors import ExecutionError, counted
from ...program.frontend import parse_type
from ...program.ir import (
    Block,
    Function,
    Location,
    Module,
    Operation,
    Value,
    referenced_functions,
)
from ...program.loading import load
from ...program.ops.control.control import While
from ...program.ops.custom_calls.custom_call import CustomCall
from ...program.ops.custom_calls.shape_operands import shape_operands
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.rules import at_most, shape_text, shapes_agree
from ...program.ops.framework.verify import verify
from ...program.ops.random.random import Rng
from ...program.ops.shape.dynamic_shapes import ReadsSizes, SetDimensionSize
from ...program.ops.shape.static_forms import STATIC_FORMS, operand_positions
from ...types import TensorType, Type
from ..specialize import LAST_WITHOUT_REWRITES, entry_function, specialize

_DYNAMIC_ATTRIBUTES: Final = frozenset({"jax.uses_shape_polymorphism"})
"""Attributes of a module that do not hold for the static program."""


@dataclass(frozen=True, slots=True)
class Refinability:
    """Whether every size of a program follows from its arguments' shapes; true or false as a condition.

    Attributes:
        operation: the first operation, in the order of the program, its calls inlined, some size of which
            depends on data; None if there is none.
        location: its source location.
        operand: the operand that holds the size; None if the operation itself has data-dependent sizes.
    """

    operation: str | None = None
    location: Location | None = None
    operand: str | None = None

    def __bool__(self) -> bool:
        return self.operation is None

    def __str__(self) -> str:
        if self.operation is None:
            return "every size follows from the arguments' shapes"
        by = f"operand {self.operand}" if self.operand else "the operation"
        return f"{self.operation}: a size depends on the data of {by}, at {self.location}"


def is_refinable(module: object, *, entry: str = "main") -> Refinability:
    """Whether every size of a program depends on the shapes of its arguments alone.

    A size depends on data where an operand that says it (of `dynamic_reshape`, `set_dimension_size`, ...) is
    computed from the elements of an argument, from random numbers or from what a custom call returns, or
    where such a value selects the branch that computes it. Sizes that the result's type declares depend on
    nothing.

    Args:
        module: what `load` takes.
        entry: name of the function.

    Raises:
        NimbleError: what `load` raises, or there is no such function.
    """
    loaded = load(module)
    function = specialize(loaded, entry, last_pass=LAST_WITHOUT_REWRITES)
    assert function.body is not None
    analysis = _Analysis()
    analysis.data.update(function.body.block.arguments)
    analysis.visit(function.body.block)
    return Refinability() if analysis.refinability is None else analysis.refinability


def refine(module: object, argument_types: Sequence[object], *, entry: str = "main") -> Module:
    """The static program that a program with unknown sizes is for arguments of known types.

    It is one function; shape computations are gone, operations with sizes as operands have become their
    static forms. Its text (`str`) is generic MLIR.

    Args:
        module: what `load` takes. It is not changed.
        argument_types: for each argument its type, as a `TensorType`, as text such as ``"tensor<3x4xf32>"``,
            as anything with a `shape` (an array, a `jax.ShapeDtypeStruct`), or as a tuple of sizes.
        entry: name of the function.

    Raises:
        ExecutionError: a type does not refine the declared argument's, a constraint does not hold for these
            sizes, or a size depends on data (`is_refinable` says which).
        NimbleError: what `load` raises, or there is no such function.
    """
    loaded = load(module)
    declared = entry_function(loaded, entry).type.inputs
    if len(argument_types) != len(declared):
        raise ExecutionError(
            f"@{entry} takes {counted(len(declared), 'argument')}, "
            f"but got {counted(len(argument_types), 'type')}"
        )
    types = [_bound(type, argument_types[index], index) for index, type in enumerate(declared)]
    function = specialize(loaded, entry, types, last_pass=LAST_WITHOUT_REWRITES)
    _require_static(function, loaded, entry)
    assert function.body is not None
    others = {name: item for name, item in loaded.functions.items() if name != function.name}
    functions = referenced_functions(function.body, others)
    attributes = {name: value for name, value in loaded.attributes.items() if name not in _DYNAMIC_ATTRIBUTES}
    meshes = [item for item in loaded.body if isinstance(item, Operation)]
    refined = Module(
        [*meshes, function, *functions],
        name=loaded.name,
        attributes=attributes,
        location=loaded.location,
        producer=loaded.producer,
    )
    verify(refined)
    return refined


def _bound(declared: Type, refined_type: Any, index: int) -> Type:
    """The type of an argument, its sizes known."""
    if isinstance(refined_type, str):
        refined_type = parse_type(refined_type)
    if not isinstance(declared, TensorType):
        if isinstance(refined_type, Type) and refined_type != declared:
            raise ExecutionError(f"argument {index} is {declared}, which cannot be refined to {refined_type}")
        return declared
    if not isinstance(refined_type, TensorType):
        try:
            refined_type = declared.with_shape(tuple(map(int, getattr(refined_type, "shape", refined_type))))
        except (TypeError, ValueError):
            raise ExecutionError(
                f"the type of argument {index} is {refined_type!r}, but must be a type or a shape"
            ) from None
    if refined_type.element_type != declared.element_type or not refined_type.is_static:
        raise ExecutionError(f"argument {index} is {declared}, which cannot be refined to {refined_type}")
    too_large = at_most("shape", refined_type.shape, "bounds", declared.bounds or ())
    if too_large or not shapes_agree(declared.shape, refined_type.shape):
        sizes = shape_text(refined_type.shape)
        raise ExecutionError(f"argument {index} is {declared}, which cannot be refined to the shape {sizes}")
    bound: TensorType = refined_type
    return bound


def _require_static(function: Function, module: Module, entry: str) -> None:
    """Raise ExecutionError where a size is not known."""
    assert function.body is not None
    for operation in function.body.walk():
        if all(not isinstance(value.type, TensorType) or value.type.is_static for value in operation.results):
            continue
        refinable = is_refinable(module, entry=entry)
        reason = "a size is not known" if refinable else str(refinable)
        raise ExecutionError(reason, operation=operation.name, location=operation.location)


class _Analysis:
    """The values of a function that depend on data.

    Attributes:
        data: these values.
        refinability: the first size that depends on one of these values; None as long as there is none.
    """

    def __init__(self) -> None:
        self.data: set[Value] = set()
        self.refinability: Refinability | None = None

    def visit(self, block: Block) -> None:
        """Analyze a block's operations in order."""
        for operation in block.operations:
            if declaration_of(operation).is_terminator:
                continue
            view = Op.of(operation)
            self.check_sizes(view)
            for results in self.results_of(view):
                self.data.update(results)

    def check_sizes(self, view: Op) -> None:
        """Record the operation if one of its sizes depends on data."""
        operation = view.operation
        if self.refinability is not None or _is_static(operation.results):
            return
        for position, name in _size_operands(view):
            if operation.operands[position] in self.data:
                self.refinability = Refinability(operation.name, operation.location, name)
                return
        if isinstance(view, CustomCall) and not shape_operands(operation):
            self.refinability = Refinability(operation.name, operation.location)

    def results_of(self, view: Op) -> Iterator[Iterable[Value]]:
        """The results of an operation that depend on data."""
        operation = view.operation
        if isinstance(view, ReadsSizes):
            return
        if isinstance(view, While):
            yield self.loop(operation)
            return
        is_data = isinstance(view, (CustomCall, Rng)) or not self.data.isdisjoint(operation.operands)
        for region in operation.regions:
            if is_data:
                self.data.update(region.block.arguments)
            self.visit(region.block)
        if is_data:
            yield operation.results
            return
        for region in operation.regions:
            returned = region.block.terminator.operands
            if not self.data.isdisjoint(returned):
                yield operation.results

    def loop(self, operation: Operation) -> list[Value]:
        """The results of a `while` that depend on data: all of them if its condition does."""
        condition, body = (region.block for region in operation.regions)
        carried = {k for k, value in enumerate(operation.operands) if value in self.data}
        while True:
            for block in (condition, body):
                self.data.update([block.arguments[k] for k in carried])
                self.visit(block)
            if condition.terminator.operands[0] in self.data:
                return list(operation.results)
            more = {k for k, value in enumerate(body.terminator.operands) if value in self.data}
            if more <= carried:
                return [operation.results[k] for k in carried]
            carried |= more


def _size_operands(view: Op) -> Iterator[tuple[int, str]]:
    """Position and name of each operand that says sizes."""
    if isinstance(view, (Rng, SetDimensionSize)):
        yield len(view.operation.operands) - 1, view.declared_operands[-1].name
    static_form = STATIC_FORMS.get(view.name)
    if static_form is not None:
        positions = operand_positions(view)
        for name in (*static_form.attributes, *static_form.shapes):
            yield positions[name], name
    if isinstance(view, CustomCall):
        for position in shape_operands(view.operation):
            yield position, f"number {position}"


def _is_static(values: Iterable[Value]) -> bool:
    return all(not isinstance(value.type, TensorType) or value.type.is_static for value in values)
