"""What follows from the declared fields of a class, computed at its first use: a program uses few classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from .fields import Attribute, Constraint, Field, Operand, Region, Result


def _declared_fields(declaration: type[Any]) -> tuple[Field[Any] | Constraint, ...]:
    """The declared fields of a class and its bases, without names that a derived class redefines."""
    fields: dict[str, Field[Any] | Constraint] = {}
    for base in reversed(declaration.__mro__):
        for key, value in vars(base).items():
            if isinstance(value, (Field, Constraint)):
                fields[key] = value
            elif key in fields:
                del fields[key]
    return tuple(fields.values())


class DerivedAttribute:
    """A class attribute computed from the declared fields of a class at its first use."""

    def __init__(self, name: str, compute: Callable[[type[Any]], Any]) -> None:
        self.name = name
        self._compute = compute

    def __get__(self, view: object, declaration: type[Any]) -> Any:
        value = self._compute(declaration)
        setattr(declaration, self.name, value)
        return value


def _of_kind(*kinds: type) -> Callable[[type[Any]], Any]:
    """The declared fields of exactly these classes."""
    return lambda declaration: tuple(field for field in declaration.declared_fields if type(field) in kinds)


def _input_labels(declaration: type[Any]) -> dict[str, str]:
    inputs = [
        field
        for field in declaration.declared_fields
        if isinstance(field, Field) and not isinstance(field, Result)
    ]
    return {field.name: f"I{index}" for index, field in enumerate(inputs, 1)}


def _struct_fields(declaration: type[Any]) -> dict[str, frozenset[str]]:
    fields: dict[str, list[str]] = {}
    for field in declaration.declared_attributes:
        if field.of is not None:
            fields.setdefault(field.of, []).append(field.field or field.name)
    return {struct: frozenset(names) for struct, names in fields.items()}


def _variadic_kinds(declaration: type[Any]) -> frozenset[str]:
    kinds = {"operand": declaration.declared_operands, "result": declaration.declared_results}
    return frozenset(kind for kind, fields in kinds.items() if any(field.variadic for field in fields))


DERIVED_FIELDS: Final = (
    DerivedAttribute("declared_fields", _declared_fields),
    DerivedAttribute("declared_operands", _of_kind(Operand)),
    DerivedAttribute("declared_results", _of_kind(Result)),
    DerivedAttribute("declared_attributes", _of_kind(Attribute)),
    DerivedAttribute("declared_regions", _of_kind(Region)),
    DerivedAttribute("declared_constraints", _of_kind(Constraint)),
    DerivedAttribute("input_labels", _input_labels),
    DerivedAttribute("struct_fields", _struct_fields),
    DerivedAttribute("variadic_kinds", _variadic_kinds),
)
"""The attributes of `Op` that follow from the fields of a class."""
