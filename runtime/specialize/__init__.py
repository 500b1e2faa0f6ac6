"""The specializer: from a verified module to one function that is ready to be lowered."""

from __future__ import annotations

from ..errors import NimbleError
from ..ir import Function, Module
from .cleanup import remove_common_subexpressions, remove_dead_code
from .constants import fold_constants
from .inline import inline_calls


def specialize(module: Module, entry: str) -> Function:
    """The function `entry` with its calls inlined, constants folded and needless operations removed.

    Args:
        module: a verified module; it is not changed.
        entry: name of the function to run.

    Raises:
        NimbleError: there is no such function, or it has no body.
    """
    function = module.functions.get(entry)
    if function is None:
        names = ", ".join("@" + name for name in module.functions) or "none"
        raise NimbleError(f"there is no function @{entry}; the module has {names}")
    if function.body is None:
        raise NimbleError(f"@{entry} has no body", location=function.location)
    result = inline_calls(module, function)
    assert result.body is not None
    fold_constants(result.body)
    remove_common_subexpressions(result.body)
    remove_dead_code(result.body)
    return result


__all__ = ["specialize"]
