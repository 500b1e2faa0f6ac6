"""`composite`, and the functions that users register for composites.

Source: specification, section "composite".
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from ...ir import Operation
from ...ir.record import Record
from ..custom_calls.user_functions import Registry, call_user
from ..framework.attribute_kinds import DICTIONARY, I32, STRING, SYMBOL, plain_value
from ..framework.declaration import Attribute, Op, Operand, Region, Result, constraint
from ..framework.traits import Memory
from .control import VALUE

_NAMESPACED_NAME: Final = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*(\.[a-zA-Z0-9_$]+)+")


class Registered(Record):
    """A user's function for composites of some name.

    Attributes:
        function: takes the inputs, and the composite's attributes as keyword arguments.
        pure: whether it has no effect beyond its results.
    """

    function: Callable[..., Any]
    pure: bool


_REGISTERED: Final = Registry[Registered]()


def register_composite(name: str, function: Callable[..., object], *, pure: bool = False) -> None:
    """Run `function` for a composite, not its decomposition, in modules that are compiled from now on.

    Source: specification, section "composite".

    Args:
        name: the composite's name, such as ``"chlo.top_k"``; what was registered under it before is replaced.
        function: called with an array for each input, which it must not write to, and with each of
            `composite_attributes` as a keyword argument, a Python value. Returns the result, or a tuple of
            results, of the types that are declared.
        pure: whether a call may be dropped when its results are not used, or made once instead of twice.

    Raises:
        ValueError: no composite can have such a name.
    """
    if not _NAMESPACED_NAME.fullmatch(name):
        raise ValueError(f"name is {name!r}, but must be like namespace.operation")
    _REGISTERED.register(name, Registered(function, pure))


def unregister_composite(name: str) -> None:
    """Undo `register_composite`; KeyError if no function is registered."""
    _REGISTERED.unregister(name)


class Composite(
    Op,
    name="stablehlo.composite",
    assembly="$composite_name operands ( ( regions ) )? attr-dict : functional-type",
):
    """A composite operation: calls a registered function, or else its `decomposition`.

    The view holds the specification's `name` as `composite_name`: `name` is the operation's own.

    Attributes:
        registered: the user's function, or None.
        pure: whether that has no effect beyond its results.
    """

    partition = "refuse"
    memory = Memory.MAY_FORWARD
    may_be_folded = False
    may_be_hoisted = False

    is_pure_by_call = True

    inputs = Operand(VALUE, variadic=True)
    composite_name = Attribute(STRING, key="name")
    composite_attributes = Attribute(DICTIONARY, {})
    decomposition = Attribute(SYMBOL)
    version = Attribute(I32, 0)
    composite_regions = Region(variadic=True)
    results = Result(VALUE, variadic=True)

    def __init__(self, operation: Operation) -> None:
        super().__init__(operation)
        self.registered = _REGISTERED.find(self.composite_name)
        self.__dict__["pure"] = self.registered is not None and self.registered.pure

    @constraint
    def C1(self) -> str | None:
        """is_namespaced_op_name(name)"""
        if _NAMESPACED_NAME.fullmatch(self.composite_name):
            return None
        return f"name is {self.composite_name!r}, but must be like namespace.operation"

    def reference(self, *inputs: Any, **regions: Any) -> tuple[Any, ...]:
        assert self.registered is not None
        options = {name: plain_value(value) for name, value in self.composite_attributes.items()}
        function = self.registered.function
        return call_user(self, self.composite_name, function, inputs, options, self.results)
