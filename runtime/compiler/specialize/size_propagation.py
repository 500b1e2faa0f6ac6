"""The forward pass: infers sizes from operands and folds operations on constants."""

from __future__ import annotations

from collections.abc import Sequence

from ...errors import ExecutionError, NimbleError, VerifyError
from ...program.ir import (
    Builder,
    DenseElementsAttribute,
    Operation,
    Region,
    Value,
    constant_operation,
    copy_region,
)
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.memory_limit import require_addressable, require_memory
from ...program.ops.framework.traits import RegionRole
from ...program.ops.framework.verify import verify_inferred, verify_view
from ...program.ops.shape.static_forms import STATIC_FORMS, constant_sizes, static_operation
from ...types import TensorType, Type
from .framework.constants import Budget, fold
from .rewrites.identities import asserted_condition, identity_operand, raise_failed_assertion


def propagate(region: Region, budget: Budget, *, sizes_bound: bool) -> None:
    """Infer sizes and fold constants, in place.

    Args:
        region: the body of a function, with inlined calls.
        budget: for folding.
        sizes_bound: whether sizes are known that were unknown when the module was verified, so that
            constraints are checked again.

    Raises:
        ExecutionError: a constraint does not hold for the sizes that are now known.
    """
    _Pass(budget, sizes_bound).visit(region)


class _Pass:
    """The state of the pass: constants, replacements of values, and the nesting depth of regions."""

    def __init__(self, budget: Budget, sizes_bound: bool) -> None:
        self.sizes_bound = sizes_bound
        self.constants: dict[Value, DenseElementsAttribute] = {}
        self.budget = budget
        self.values: dict[Value, Value] = {}
        self.depth = 0

    def visit(self, region: Region) -> None:
        self.depth += 1
        block = region.block
        operations, block.operations = block.operations, []
        builder = Builder(block)
        for operation in operations:
            operation.replace_operands(self.values)
            if operation.regions:
                self.visit_regions(operation)
            if declaration_of(operation).is_terminator:
                block.operations.append(operation)
                continue
            if self.sizes_bound:
                self.bind_sizes(operation)
                require_memory(operation, *(result.type for result in operation.results))
            else:
                require_addressable(operation, (result.type for result in operation.results))
            unchanged_operand = identity_operand(operation)
            if unchanged_operand is not None:
                self.values[operation.result] = unchanged_operand
            elif not self.holds(operation):
                self.append(operation, builder)
        self.depth -= 1

    def holds(self, operation: Operation) -> bool:
        """Whether an operation is an assertion that is known to hold.

        Raises:
            ExecutionError: it is one that fails whenever the function runs.
        """
        condition = asserted_condition(operation)
        if condition is False and self.sizes_bound and self.depth == 1:
            raise_failed_assertion(operation)
        return condition is True

    def append(self, operation: Operation, builder: Builder) -> None:
        """Append an operation, or the constant that it computes."""
        value = operation.constant_value
        if value is not None:
            self.constants[operation.result] = value
        else:
            value = fold(operation, self.constants, self.budget)
            if value is not None:
                constant = constant_operation(value.type, value, operation.location)
                self.constants[constant.result] = value
                operation = self.replace(operation, constant)
            else:
                static = static_form(operation)
                results = self.expand(static, builder)
                if results is not None:
                    self.values.update(zip(operation.results, results, strict=True))
                    return
                operation = self.replace(operation, static)
        builder.block.operations.append(operation)

    def expand(self, operation: Operation, builder: Builder) -> Sequence[Value] | None:
        """The results of the decomposition of an operation, which is appended; None if it stays as it is."""
        if not declaration_of(operation).is_decomposed or not all(map(_is_static, operation.results)):
            return None
        operations = Op.of(operation).decompose()
        for one in operations:
            verify_view(Op.of(one))
        builder.block.operations += operations
        return [one.result for one in operations[-len(operation.results) :]]

    def replace(self, operation: Operation, by: Operation) -> Operation:
        """Replace the results of one operation by those of another, and return the other."""
        if by is not operation:
            self.values.update(zip(operation.results, by.results, strict=True))
        return by

    def visit_regions(self, operation: Operation) -> None:
        """Visit the regions of an operation; the carried values of a loop get the sizes that iterations
        keep.
        """
        if declaration_of(operation).region_role is RegionRole.LOOP and self.sizes_bound:
            types = [operand.type for operand in operation.operands]
            declared = [argument.type for argument in operation.regions[0].block.arguments]
            if types != declared and self.visit_loop(operation, types):
                return
        for region in operation.regions:
            self.visit(region)

    def visit_loop(self, operation: Operation, types: Sequence[Type]) -> bool:
        """Visit a loop with refined types of carried values; False if an iteration changes the types."""
        copies = [copy_region(region, {}) for region in operation.regions]
        for region in operation.regions:
            for argument, type in zip(region.block.arguments, types, strict=True):
                argument.type = type
            self.visit(region)
        body = operation.regions[1].block
        if [operand.type for operand in body.terminator.operands] == list(types):
            return True
        operation.regions = tuple(copies)
        return False

    def bind_sizes(self, operation: Operation) -> None:
        """Set the sizes of the results that follow from the operands, and check the constraints."""
        from .shapes import more_static, result_types

        try:
            for result, type in zip(operation.results, result_types(operation), strict=False):
                result.type = more_static(result.type, type)
            view = Op.of(operation)
            view.verify()
            verify_inferred(view)
        except VerifyError as error:
            raise ExecutionError(
                error.reason, operation=error.operation, label=error.label, location=error.location
            ) from None


def _is_static(value: Value) -> bool:
    return isinstance(value.type, TensorType) and value.type.is_static


def static_form(operation: Operation) -> Operation:
    """The static form of a dynamic operation whose sizes are constants; otherwise the operation itself.

    A violated constraint is left to the run, which may never reach the operation.
    """
    if operation.name not in STATIC_FORMS:
        return operation
    view = Op.of(operation)
    values = constant_sizes(view)
    if values is None:
        return operation
    from .shapes import more_static

    static = static_operation(view, values)
    try:
        view.verify()
        declared = Op.of(static)
        declared.verify()
        verify_inferred(declared)
        require_memory(operation, *(result.type for result in static.results))
    except NimbleError:
        return operation
    for result, type in zip(static.results, declared.infer() or (), strict=False):
        result.type = more_static(result.type, type)
    return static
