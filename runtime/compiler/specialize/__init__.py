"""The specializer: makes one function, ready to be lowered, from a verified module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from ...errors import NimbleError
from ...program.ir import Function, Module
from ...types import FunctionType, Type
from .. import passes
from .framework.constants import Budget, Evaluate
from .stages import Specialization

LAST_WITHOUT_REWRITES: Final = "remove-unused"
"""The last pass that keeps the program's operations, apart from those that are folded or unused."""


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
    evaluate: Evaluate | None = None,
    rounds_correctly: bool = False,
    drops_windows: bool = False,
    outlines_subgraphs: bool = False,
    last_pass: str | None = None,
    observe: passes.Observe | None = None,
) -> Function:
    """Inline the calls of the function `entry`, propagate sizes and constants, and simplify it.

    Args:
        module: a verified module; it is not changed.
        entry: name of the function to run.
        argument_types: the argument types, with known sizes; None: the declared types.
        evaluate: folds constants; see `Budget`.
        rounds_correctly: whether functions of f32 are rounded correctly, as
            `Options(functions="correctly_rounded")` asks.
        drops_windows: whether scatters drop all of a window that is partly out of bounds, as
            `Options(scatter_out_of_bounds="window")` asks.
        outlines_subgraphs: whether repeated subgraphs become calls of functions, which are the `callees` of
            the result; otherwise the result has no calls.
        last_pass: the last optional pass of `passes.PASSES`; None: all run.
        observe: is told each pass that has run.

    Raises:
        NimbleError: there is no such function, or it has no body.
        ExecutionError: a constraint does not hold for the sizes of `argument_types`.
    """
    state = Specialization(
        module,
        entry_function(module, entry),
        argument_types,
        Budget(evaluate=evaluate),
        rounds_correctly=rounds_correctly,
        drops_windows=drops_windows,
        outlines_subgraphs=outlines_subgraphs,
    )
    passes.run("bind", state, last_pass, observe)
    passes.run("simplify", state, last_pass, observe)
    function = state.function
    function.type = FunctionType(function.type.inputs, state.body.type.results)
    return function


def bind(
    module: Module,
    entry: str,
    argument_types: Sequence[Type] | None = None,
    budget: Budget | None = None,
    *,
    rounds_correctly: bool = False,
) -> Function:
    """Inline the calls of the function `entry`, propagate sizes and constants, and remove nothing.

    Args:
        module, entry, argument_types, rounds_correctly: those of `specialize`.
        budget: for folding constants.

    Raises:
        NimbleError, ExecutionError: as `specialize`.
    """
    state = Specialization(
        module,
        entry_function(module, entry),
        argument_types,
        budget or Budget(),
        rounds_correctly=rounds_correctly,
    )
    passes.run("bind", state, None)
    return state.function


__all__ = ["LAST_WITHOUT_REWRITES", "Budget", "bind", "entry_function", "specialize"]
