"""Helpers that put the text under test into a program."""

from __future__ import annotations

from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Attribute, Operation
from nimblehlo.types import Type


def attribute(text: str, definitions: str = "") -> Attribute:
    """The attribute that `text` stands for."""
    module = parse(f"{definitions}\nmodule attributes {{test.value = {text}}} {{}}")
    return module.attributes["test.value"]


def type_of(text: str, definitions: str = "") -> Type:
    """The type that `text` stands for."""
    module = parse(f"{definitions}\nfunc.func private @f({text})")
    return module.functions["f"].type.inputs[0]


def operations(body: str, arguments: str = "") -> list[Operation]:
    """The operations of a function with this body."""
    module = parse(f"func.func @main({arguments}) {{\n{body}\n}}")
    region = module.functions["main"].body
    assert region is not None
    return region.block.operations


def operation(statement: str, arguments: str = "") -> Operation:
    """The first operation of a function that holds this statement."""
    return operations(f"{statement}\nreturn", arguments)[0]
