"""One pass forwards: infers sizes from the operands and replaces operations on constants by constants."""

from __future__ import annotations

from collections.abc import Sequence

from ..errors import ExecutionError, VerifyError
from ..ir import Builder, DenseElementsAttribute, Operation, Region, Value, copy_region
from ..ops.verify import TERMINATORS, verify_inferred, view_of
from ..types import DYNAMIC, TensorType, Type
from .constants import fold


def propagate(region: Region, *, sizes_bound: bool) -> None:
    """Infer sizes and fold constants, in place.

    Args:
        region: a function's body, its calls inlined.
        sizes_bound: whether sizes became known that were not when the module was verified: constraints are
            judged again.

    Raises:
        ExecutionError: a constraint does not hold for the sizes that are now known.
    """
    _Pass(sizes_bound).visit(region)


class _Pass:
    """What is known on the way: constants, and what stands for values that were replaced."""

    def __init__(self, sizes_bound: bool) -> None:
        self.sizes_bound = sizes_bound
        self.known: dict[Value, DenseElementsAttribute] = {}
        self.values: dict[Value, Value] = {}

    def visit(self, region: Region) -> None:
        block = region.block
        operations, block.operations = block.operations, []
        builder = Builder(block)
        for operation in operations:
            operation.operands = tuple([self.values.get(operand, operand) for operand in operation.operands])
            self.visit_regions(operation)
            if operation.name in TERMINATORS:
                block.operations.append(operation)
                continue
            if self.sizes_bound:
                self.bind_sizes(operation)
            self.append(operation, builder)

    def append(self, operation: Operation, builder: Builder) -> None:
        """Append an operation, or the constant that it computes."""
        value = operation.attributes.get("value") if operation.name == "stablehlo.constant" else None
        if isinstance(value, DenseElementsAttribute):
            self.known[operation.result] = value
        else:
            value = fold(operation, self.known)
            if value is not None:
                replaced = operation.result
                operation = Operation(
                    "stablehlo.constant", (), [value.type], {"value": value}, (), operation.location
                )
                self.known[operation.result] = value
                self.values[replaced] = operation.result
        builder.block.operations.append(operation)

    def visit_regions(self, operation: Operation) -> None:
        """The regions of an operation; a loop's carried values get its operands' sizes where these last."""
        if operation.name == "stablehlo.while" and self.sizes_bound:
            types = [operand.type for operand in operation.operands]
            declared = [argument.type for argument in operation.regions[0].block.arguments]
            if types != declared and self.visit_loop(operation, types):
                return
        for region in operation.regions:
            self.visit(region)

    def visit_loop(self, operation: Operation, types: Sequence[Type]) -> bool:
        """Visit a loop under other types of what it carries; False where these change from round to round."""
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
        """Give the results the sizes that follow from the operands, and judge the constraints."""
        try:
            for result, type in zip(operation.results, _result_types(operation), strict=False):
                result.type = _more_static(result.type, type)
            view = view_of(operation)
            view.verify()
            verify_inferred(view)
        except VerifyError as error:
            raise ExecutionError(
                error.reason, operation=error.operation, label=error.label, location=error.location
            ) from None


def _result_types(operation: Operation) -> Sequence[Type]:
    """The types that the results get from the operands and regions; empty where they do not follow."""
    if operation.name == "stablehlo.while":
        return [argument.type for argument in operation.regions[0].block.arguments]
    if operation.name in ("stablehlo.if", "stablehlo.case"):
        branches = [region.type.results for region in operation.regions]
        return branches[0] if all(branch == branches[0] for branch in branches) else ()
    return view_of(operation).infer() or ()


def _more_static(declared: Type, inferred: Type) -> Type:
    """The declared type with its unknown sizes replaced by inferred ones."""
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType) or declared.is_static:
        return declared
    if declared.rank != inferred.rank:
        return declared
    shape = [b if a == DYNAMIC else a for a, b in zip(declared.shape, inferred.shape, strict=True)]
    bounds = None if DYNAMIC not in shape else declared.bounds
    return TensorType(shape, declared.element_type, bounds)
