"""The specializer: makes one function, ready to be lowered, from a verified module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ..errors import NimbleError
from ..ir import Function, Module, Region
from ..ops.framework.declaration import Op
from ..ops.framework.memory_limit import require_addressable_arguments
from ..ops.framework.op_registry import PROGRAM_PER_PROCESS, REDUCE
from ..types import FunctionType, TensorType, Type
from .forward import propagate
from .gspmd.annotations import uses_gspmd
from .inline import inline_calls
from .rewrites.implicit_conversions import make_conversions_explicit
from .rewrites.registry import simplify
from .utils.cleanup import remove_common_subexpressions, remove_dead_code
from .utils.constants import Budget, Evaluate

MIN_OUTLINED_OPERATIONS: Final = 250
"""Operations of a function from which repeated subgraphs are outlined; smaller functions compile in a few
ms."""


def entry_function(module: Module, entry: str) -> Function:
    """The function of that name.

    Raises:
        NimbleError: there is none, or it has no body.
    """
    function = module.functions.get(entry)
    if function is None:
        names = ", ".join("@" + name for name in module.functions) or "none"
        raise NimbleError(f"there is no function @{entry}; the module has {names}")
    if function.body is None:
        raise NimbleError(f"@{entry} has no body", location=function.location)
    return function


def specialize(
    module: Module,
    entry: str,
    argument_types: Sequence[Type] | None = None,
    *,
    rewrite: bool = True,
    evaluate: Evaluate | None = None,
    drops_windows: bool = False,
    outlines_subgraphs: bool = False,
) -> Function:
    """Inline the calls of the function `entry`, propagate sizes and constants, and simplify it.

    Args:
        module: a verified module; it is not changed.
        entry: name of the function to run.
        argument_types: the argument types, with known sizes; None: the declared types.
        rewrite: whether to simplify the program by `nimblehlo.specialize.rewrites`, which keeps the bits of
            the results.
        evaluate: folds constants; see `Budget`.
        drops_windows: whether scatters drop all of a window that is partly out of bounds, as
            `Options(scatter_out_of_bounds="window")` asks.
        outlines_subgraphs: whether repeated subgraphs become calls of functions, which are the `callees` of
            the result; otherwise the result has no calls.

    Raises:
        NimbleError: there is no such function, or it has no body.
        ExecutionError: a constraint does not hold for the sizes of `argument_types`.
    """
    budget = Budget(evaluate=evaluate)
    function = bind(module, entry, argument_types, budget)
    assert function.body is not None
    names = {operation.name for operation in function.body.walk()}
    if not PROGRAM_PER_PROCESS.isdisjoint(names):
        from .process_ids import bind_process_ids

        bind_process_ids(function)
    if drops_windows and "stablehlo.scatter" in names:
        from .rewrites.partial_windows import exclude_partial_windows

        exclude_partial_windows(function.body)
    remove_common_subexpressions(function.body)
    remove_dead_code(function.body)
    if rewrite:
        if any(operation.name == "stablehlo.gather" for operation in function.body.walk()):
            from .fusion.early_gathers import gather_early

            gather_early(function.body)
            remove_dead_code(function.body)
        if outlines_subgraphs and len(function.body.block.operations) >= MIN_OUTLINED_OPERATIONS:
            from .outlining.outlined_calls import outline_repeated_subgraphs

            function.callees = outline_repeated_subgraphs(function.body)
        for each in (function, *function.callees):
            assert each.body is not None
            simplify(each.body, budget)
            if any(operation.name == REDUCE for operation in each.body.walk()):
                from .rewrites.transposed_reductions import reduce_before_transposing

                reduce_before_transposing(each.body)
            remove_dead_code(each.body)
        for each in (function, *function.callees):
            assert each.body is not None
            require_targets(each.body)
    function.type = FunctionType(function.type.inputs, function.body.type.results)
    return function


def bind(
    module: Module, entry: str, argument_types: Sequence[Type] | None = None, budget: Budget | None = None
) -> Function:
    """Inline the calls of the function `entry`, propagate sizes and constants, and remove nothing.

    Args:
        module, entry, argument_types: those of `specialize`.
        budget: for folding constants.

    Raises:
        NimbleError, ExecutionError: as `specialize`.
    """
    if uses_gspmd(module):
        from .gspmd.conversion import to_shardy

        module = to_shardy(module)
    function = inline_calls(module, entry_function(module, entry))
    require_addressable_arguments(function)
    assert function.body is not None
    make_conversions_explicit(function.body)
    block = function.body.block
    bound = argument_types is not None and tuple(argument_types) != function.type.inputs
    for argument, type in zip(block.arguments, argument_types or function.type.inputs, strict=True):
        argument.type = type
    propagate(function.body, budget or Budget(), sizes_bound=bound or _has_unknown_sizes(function))
    function.type = FunctionType([argument.type for argument in block.arguments], function.body.type.results)
    return function


def require_targets(region: Region) -> None:
    """Check that the custom calls which run for all arguments have targets.

    A custom call in a branch of a `case` is checked when it runs: a program that JAX exported for several
    platforms has a branch for each platform.

    Raises:
        UnsupportedError: there is no target.
    """
    for operation in region.block.operations:
        if operation.name == "stablehlo.custom_call":
            call: Any = Op.of(operation)
            call.require_target()
        if operation.name != "stablehlo.case":
            for inner in operation.regions:
                require_targets(inner)


def _has_unknown_sizes(function: Function) -> bool:
    """Whether a value of the function has a size that may follow from constant operands."""
    assert function.body is not None
    types = {result.type for operation in function.body.walk() for result in operation.results}
    return any(isinstance(type, TensorType) and not type.is_static for type in types)


__all__ = ["Budget", "bind", "entry_function", "specialize"]
