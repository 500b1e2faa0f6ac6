"""Finds the arguments of a function's callees that are constants."""

from __future__ import annotations

from ....program.ir import Function, Value
from ....program.ops.control.control import Call


def constant_arguments(function: Function) -> frozenset[Value]:
    """The arguments of a function's callees that are constants in all calls."""
    arguments = {callee.name: callee.body.block.arguments for callee in function.callees if callee.body}
    calls = [each for body in function.bodies for each in body.walk() if each.name == Call.name]
    pairs = [
        pair
        for call in calls
        for pair in zip(arguments[str(call.attributes["callee"])], call.operands, strict=True)
    ]
    constant = {argument for argument, _ in pairs}
    while True:
        varying = {
            argument
            for argument, operand in pairs
            if argument in constant and operand.constant_value is None and operand not in constant
        }
        if not varying:
            return frozenset(constant)
        constant -= varying
