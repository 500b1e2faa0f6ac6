"""The passes of the specializer, which `passes.PASSES` names: each changes the function of a state."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ...program.ir import Function, Module, Operation, Region, tensor_type
from ...program.ops.framework.declaration import Op, declaration_of
from ...program.ops.framework.memory_limit import require_addressable_arguments
from ...program.ops.framework.op_registry import PROGRAM_PER_PROCESS
from ...program.ops.framework.rules import call_target
from ...program.ops.framework.traits import Movement, Product, RegionRole
from ...types import BOOLEAN, FunctionType, TensorType, Type
from . import size_propagation
from .framework.cleanup import remove_common_subexpressions, remove_dead_code
from .framework.constants import Budget
from .framework.operation_classes import is_reduction
from .gspmd.annotations import uses_gspmd
from .inline import inline_calls
from .rewrites import registry
from .rewrites.implicit_conversions import make_conversions_explicit

MIN_OUTLINED_OPERATIONS: Final = 250
"""Operations of a function from which repeated subgraphs are outlined; smaller functions compile in a few
ms."""


class Specialization:
    """What the specializer's passes share.

    Attributes:
        module: the verified module, which is not changed.
        function: the function as it stands; before `inline`, that of the module.
        argument_types: the argument types with known sizes; None: the declared types.
        budget: for folding constants.
        rounds_correctly, drops_windows, outlines_subgraphs: those of `specialize`.
    """

    def __init__(
        self,
        module: Module,
        function: Function,
        argument_types: Sequence[Type] | None,
        budget: Budget,
        *,
        rounds_correctly: bool = False,
        drops_windows: bool = False,
        outlines_subgraphs: bool = False,
    ) -> None:
        self.module = module
        self.function = function
        self.argument_types = argument_types
        self.budget = budget
        self.rounds_correctly = rounds_correctly
        self.drops_windows = drops_windows
        self.outlines_subgraphs = outlines_subgraphs

    @property
    def body(self) -> Region:
        """The function's body."""
        assert self.function.body is not None
        return self.function.body


def convert_shardings(state: Specialization) -> None:
    """Turn GSPMD's shardings into the sdy dialect."""
    if uses_gspmd(state.module):
        from .gspmd.conversion import to_shardy

        state.module = to_shardy(state.module)
        state.function = state.module.functions[state.function.name]


def inline(state: Specialization) -> None:
    """Inline calls, and composites for which no function is registered."""
    state.function = inline_calls(state.module, state.function)
    require_addressable_arguments(state.function)


def round_correctly(state: Specialization) -> None:
    """Keep functions from being fast, if the options ask for that."""
    if state.rounds_correctly:
        from ...program.ops.numerics import result_accuracy

        result_accuracy.round_correctly(state.body.walk())


def convert_explicitly(state: Specialization) -> None:
    """Make the conversions of operands explicit."""
    make_conversions_explicit(state.body)


def propagate(state: Specialization) -> None:
    """Bind the argument types, infer sizes and fold constants."""
    function, types = state.function, state.argument_types
    bound = types is not None and tuple(types) != function.type.inputs
    arguments = state.body.block.arguments
    for argument, type in zip(arguments, types or function.type.inputs, strict=True):
        argument.type = type
    size_propagation.propagate(state.body, state.budget, sizes_bound=bound or _has_unknown_sizes(state.body))
    function.type = FunctionType([argument.type for argument in arguments], state.body.type.results)


def _has_unknown_sizes(body: Region) -> bool:
    """Whether a value has a size that may follow from constant operands."""
    types = {result.type for operation in body.walk() for result in operation.results}
    return any(isinstance(type, TensorType) and not type.is_static for type in types)


def bind_process_ids(state: Specialization) -> None:
    """Make the ids of a process arguments."""
    if not PROGRAM_PER_PROCESS.isdisjoint(operation.name for operation in state.body.walk()):
        from . import process_ids

        process_ids.bind_process_ids(state.function)


def exclude_partial_windows(state: Specialization) -> None:
    """Move windows of scatters that are partly out of bounds out of bounds, if the program drops them."""
    if state.drops_windows:
        from ...program.ops.indexing.scatter import Scatter

        scatters = [one for one in state.body.walk() if declaration_of(one) is Scatter]
        if any(Scatter.of(one).moves_long_windows for one in scatters):
            from .rewrites import partial_windows

            partial_windows.exclude_partial_windows(state.body)


def remove_unused(state: Specialization) -> None:
    """Merge equal operations, and remove those without effects whose results are unused."""
    remove_common_subexpressions(state.body)
    remove_dead_code(state.body)


def outline(state: Specialization) -> None:
    """Make callees of repeated subgraphs."""
    if state.outlines_subgraphs and len(state.body.block.operations) >= MIN_OUTLINED_OPERATIONS:
        from .outlining.outlined_calls import outline_repeated_subgraphs

        state.function.callees = outline_repeated_subgraphs(state.body)


def simplify(state: Specialization) -> None:
    """Apply the rewrites."""
    for body in state.function.bodies:
        registry.simplify(body, state.budget)
        remove_dead_code(body)


def reduce_before_transposing(state: Specialization) -> None:
    """Reduce the operands of transposes."""
    for body in state.function.bodies:
        if any(map(_reduces_transpose, body.walk())):
            from .rewrites import transposed_reductions

            if transposed_reductions.reduce_before_transposing(body):
                remove_dead_code(body)


def _reduces_transpose(operation: Operation) -> bool:
    """Whether an operation reduces the result of a transpose."""
    if not is_reduction(operation):
        return False
    owners = [value.owner for value in operation.operands]
    return any(isinstance(owner, Operation) and _is_transpose(owner) for owner in owners)


def _is_transpose(operation: Operation) -> bool:
    return declaration_of(operation).movement is Movement.TRANSPOSE


def multiply_before_transposing(state: Specialization) -> None:
    """Multiply by constants, and by arguments of callees that are constants, not by their transposes."""
    function = state.function
    bodies = [body for body in function.bodies if any(map(_multiplies_transpose, body.block.operations))]
    if not bodies:
        return
    from .framework.constant_arguments import constant_arguments
    from .rewrites.transposed_products import multiply_before_transposing

    constant = constant_arguments(function)
    for body in bodies:
        if multiply_before_transposing(body.block, constant):
            remove_dead_code(body)


def _multiplies_transpose(operation: Operation) -> bool:
    """Whether an operation multiplies by the result of a transpose."""
    if declaration_of(operation).product is not Product.MATMUL:
        return False
    owner = operation.operands[1].owner
    return isinstance(owner, Operation) and _is_transpose(owner)


def require_targets(state: Specialization) -> None:
    """Check that custom calls have targets."""
    for body in state.function.bodies:
        _require_targets_in(body)


def _require_targets_in(region: Region) -> None:
    """Check that the custom calls which run for all arguments have targets.

    A custom call in a branch that an index selects is checked when it runs: a program that JAX exported for
    several platforms has a branch for each platform.

    Raises:
        UnsupportedError: there is no target.
    """
    for operation in region.block.operations:
        if call_target(operation) is not None:
            call: Any = Op.of(operation)
            call.require_target()
        is_branch = declaration_of(operation).region_role is RegionRole.BRANCHES
        if not is_branch or tensor_type(operation.operands[0]).category == BOOLEAN:
            for inner in operation.regions:
                _require_targets_in(inner)
