"""Programs that verification must reject, one for each label of each operation.

A family's test holds a table ``{Declaration: {label: program}}`` and uses it so::

    @pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
    def test_rejected(declaration, label, text):
        assert_rejected(declaration, label, text)

    def test_each_label_has_a_rejected_program():
        assert_complete(REJECTED, movement)

    @pytest.mark.parametrize("text", ACCEPTED)
    def test_inputs(text):
        assert_inputs_rejected(text)
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from nimblehlo.errors import VerifyError
from nimblehlo.program.frontend.parser import parse
from nimblehlo.program.ir import (
    Attribute,
    Module,
    Operation,
    StringAttribute,
    StructAttribute,
    UnitAttribute,
    Value,
)
from nimblehlo.program.ops import declarations, lookup
from nimblehlo.program.ops.framework.attribute_kinds import ATTRIBUTE
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.framework.verify import verify
from nimblehlo.types import OpaqueType

Rejected = Mapping[type[Op], Mapping[str, str]]


def modules_of_tests() -> Iterator[ModuleType]:
    """The tests of all operations, in the order of their paths."""
    folder = Path(__file__).parent
    for path in sorted(folder.rglob("test_*.py")):
        yield importlib.import_module(
            ".".join(("tests.program.ops", *path.relative_to(folder).with_suffix("").parts))
        )


def program(
    name: str, operands: Sequence[str], results: Sequence[str], attributes: str = "", region: str = ""
) -> str:
    """A program of one operation in the generic form; its operands are the function's inputs.

    An operand that is no type but an attribute, such as ``dense<1> : tensor<i32>``, becomes a constant.
    """
    constants = {index: text for index, text in enumerate(operands) if not text.startswith(("tensor", "!"))}
    types = [text.partition(" : ")[2] if index in constants else text for index, text in enumerate(operands)]
    inputs = ", ".join(f"%{index}: {type}" for index, type in enumerate(types) if index not in constants)
    used = ", ".join(f"%{index}" for index in range(len(operands)))
    lines = [f"  %{index} = stablehlo.constant {text}\n" for index, text in constants.items()]
    bound = f"%result:{len(results)} = " if results else ""
    body = f" ({{{region}}})" if region else ""
    signature = f"({', '.join(types)}) -> ({', '.join(results)})"
    lines.append(f'  {bound}"{name}"({used}){body} {{{attributes}}} : {signature}\n')
    return f"func.func @main({inputs}) {{\n{''.join(lines)}  return\n}}\n"


def parse_and_verify(text: str) -> Module:
    """The module of a text, all of its constraints checked."""
    module = parse(text)
    verify(module)
    return module


def rows(rejected: Rejected) -> list[Any]:
    """A parameter set for each row of a table: declaration, label, program."""
    return [
        pytest.param(declaration, label, text, id=f"{declaration.name}-{label}")
        for declaration, programs in rejected.items()
        for label, text in programs.items()
    ]


def assert_rejected(declaration: type[Op], label: str, text: str) -> None:
    """Verifying `text` must fail with this operation and label, a reason, and the operation's place."""
    with pytest.raises(VerifyError) as caught:
        parse_and_verify(text)
    error = caught.value
    assert (error.operation, error.label) == (declaration.name, label), str(error)
    assert error.reason
    assert error.location is not None
    line, column = map(int, error.location.split(":")[-2:])
    assert declaration.name in text.splitlines()[line - 1][column - 1 :], error.location


def assert_complete(rejected: Rejected, *modules: ModuleType) -> None:
    """A table must have a program for each label of each operation that these modules declare."""
    names = {module.__name__ for module in modules}
    declared = [declaration for declaration in declarations() if declaration.__module__ in names]
    assert declared
    for declaration in declared:
        if declaration.is_internal:
            # tests/program/ops/intermediate/test_constraints.py has their programs.
            continue
        labels = {constraint.label for constraint in declaration.declared_constraints}
        assert set(rejected.get(declaration, {})) == labels, declaration.name
    assert set(rejected) <= set(declared)


def assert_inputs_rejected(text: str) -> None:
    """A legal program's operations must be rejected by label with any input of another kind.

    Each operand gets a type of another dialect, each attribute another kind of attribute, and each region is
    taken away, one at a time.
    """
    module = parse_and_verify(text)
    for operation in module.walk():
        declaration = lookup(operation.name)
        assert declaration is not None
        view = Op.of(operation)
        for name, changed in changed_inputs(operation, view):
            with pytest.raises(VerifyError) as caught:
                Op.of(changed)
            assert caught.value.operation == operation.name
            assert caught.value.label == declaration.input_labels[name], str(caught.value)
        if operation.regions:
            with pytest.raises(VerifyError):
                Op.of(_copy(operation, regions=()))


def changed_inputs(operation: Operation, view: Op) -> Iterator[tuple[str, Operation]]:
    """Copies of an operation with one operand or attribute of another kind, each with that input's name."""
    position = 0
    for part in view.declared_operands:
        group = getattr(view, part.name)
        count = len(group) if part.variadic else int(group is not None)
        if count:
            operands = list(operation.operands)
            operands[position] = Value(OpaqueType("!other.type"), operation, 0)
            yield part.name, _copy(operation, operands=operands)
        position += count
    for attribute in view.declared_attributes:
        if attribute.kind is ATTRIBUTE or attribute.kind is None:
            continue
        wrong = _wrong(attribute.kind)
        key = attribute.of or attribute.key or attribute.name
        changed = dict(operation.attributes)
        struct = changed.get(key)
        if attribute.of is None:
            changed[key] = wrong
        elif isinstance(struct, StructAttribute):
            fields = {**struct.fields, attribute.field or attribute.name: wrong}
            changed[key] = StructAttribute(struct.dialect, struct.mnemonic, fields)
        else:
            continue
        yield attribute.name, _copy(operation, attributes=changed)


def _wrong(kind: Any) -> Attribute:
    """An attribute that `kind` does not take."""
    for attribute in (StringAttribute("wrong"), UnitAttribute()):
        try:
            kind.decode(attribute)
        except ValueError:
            return attribute
    raise AssertionError(f"{kind.description} takes everything")


def _copy(operation: Operation, **changes: Any) -> Operation:
    """A copy of an operation with some of its parts changed."""
    parts = {
        "operands": operation.operands,
        "attributes": operation.attributes,
        "regions": operation.regions,
        **changes,
    }
    types = [result.type for result in operation.results]
    return Operation(operation.name, result_types=types, location=operation.location, **parts)
