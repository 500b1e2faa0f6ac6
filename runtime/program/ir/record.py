"""Immutable record classes: frozen dataclasses with slots that are created in a fraction of the time.

Importing the package creates all of them, and that delays a program's first result.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, dataclass_transform

from ...kernels.named_tuples import constructor


@dataclass_transform(frozen_default=True)
class _RecordType(type):
    """Turns the annotated fields of a class into slots, and generates `__init__`."""

    _fields: tuple[str, ...]
    _values: Any

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _RecordType:
        fields = tuple(namespace.get("__annotations__", ()))
        defaults = [namespace.pop(field) for field in fields if field in namespace]
        record_type = super().__new__(
            cls, name, bases, {**namespace, "__slots__": fields, "__match_args__": fields}
        )
        record_type._fields = fields
        if fields:
            record_type._values = attrgetter(*fields)
            record_type.__init__ = _initializer(record_type, fields, tuple(defaults))  # type: ignore[misc]
        return record_type


def _initializer(record_type: type, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> Any:
    """The `__init__` that stores the fields through their slots, because `__setattr__` always raises."""
    setters = {f"set_{position}": vars(record_type)[field].__set__ for position, field in enumerate(fields)}
    return constructor("__init__", "self", fields, defaults, _settings, setters)


def _settings(arguments: Sequence[str]) -> str:
    """Statements that call ``set_0``, ``set_1``, ... with the arguments."""
    return "; ".join([f"set_{position}(self, {argument})" for position, argument in enumerate(arguments)])


class Record(metaclass=_RecordType):
    """Base of classes that declare their fields by annotations; those with defaults come last."""

    @staticmethod
    def _values(record: Record) -> Any:
        """The values of the fields; each class with fields replaces this by an `attrgetter`."""
        return ()

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"cannot assign to {name}: a {type(self).__name__} does not change")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete {name}: a {type(self).__name__} does not change")

    def __eq__(self, other: object) -> bool:
        kind = type(self)
        return type(other) is kind and bool(kind._values(self) == kind._values(other))

    def __hash__(self) -> int:
        return hash(type(self)._values(self))

    def __repr__(self) -> str:
        fields = ", ".join([f"{field}={getattr(self, field)!r}" for field in type(self)._fields])
        return f"{type(self).__qualname__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        kind = type(self)
        return kind, tuple([getattr(self, field) for field in kind._fields])


class IdentityRecord(Record):
    """Base of records that are compared by identity, such as records with arrays."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__
