"""Classes of tuples with named elements, which are created in a fifth of the time of `typing.NamedTuple`'s.

A program's first result waits until the classes of all modules that it needs have been created: some 25 for a
scatter. `typing.NamedTuple` takes 50 microseconds for each, most of it to compile a constructor.
"""

from __future__ import annotations

import functools
from collections import namedtuple
from collections.abc import Iterable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

_Example = namedtuple("_Example", "element")
_Element: Any = type(vars(_Example)["element"])
"""The type of the attributes of named tuples."""


class _Methods:
    """The methods of all named tuples, which `collections.namedtuple` describes."""

    __slots__ = ()

    _fields: tuple[str, ...]

    def __repr__(self) -> str:
        values = [f"{name}={getattr(self, name)!r}" for name in self._fields]
        return f"{type(self).__name__}({', '.join(values)})"

    def __getnewargs__(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in self._fields])

    @classmethod
    def _make(cls, iterable: Iterable[Any]) -> Any:
        return cls(*iterable)

    def _replace(self, /, **values: Any) -> Any:
        replaced = self._make([values.pop(name, getattr(self, name)) for name in self._fields])
        if values:
            raise TypeError(f"{type(self).__name__} has no elements {', '.join(values)}")
        return replaced

    __replace__ = _replace

    def _asdict(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._fields}


class _NamedTupleType(type):
    """Makes an ordinary class of tuples of each class that derives from `NamedTuple`."""

    def __new__(cls, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> type:
        if not bases:
            return super().__new__(cls, name, bases, namespace)
        fields = tuple(namespace["__annotations__"])
        defaults = {field: namespace.pop(field) for field in fields if field in namespace}
        if tuple(defaults) != fields[len(fields) - len(defaults) :]:
            raise TypeError(f"an element of {name} without a default follows one with a default")
        return type(
            name,
            (_Methods, tuple),
            {
                **namespace,
                **{field: _element(number) for number, field in enumerate(fields)},
                "__slots__": (),
                "__match_args__": fields,
                "__new__": _constructor(f"{name}.__new__", fields, tuple(defaults.values())),
                "_fields": fields,
                "_field_defaults": defaults,
            },
        )


@functools.cache
def _element(number: int) -> Any:
    """The attribute that is an element of a tuple, which all classes share."""
    return _Element(number, f"element {number}")


def _constructor(name: str, fields: tuple[str, ...], defaults: tuple[Any, ...]) -> FunctionType:
    """The `__new__` of a class."""
    # Renaming the arguments of compiled code takes a tenth of the time of compiling it.
    code = _constructor_code(len(fields)).replace(co_varnames=("cls", *fields), co_qualname=name)
    return FunctionType(code, {"new_tuple": tuple.__new__}, "__new__", defaults)


@functools.cache
def _constructor_code(count: int) -> CodeType:
    """The code of a constructor of tuples of that many elements."""
    elements = [f"element_{number}" for number in range(count)]
    defined: dict[str, Any] = {}
    exec(
        f"def __new__({', '.join(['cls', *elements])}):\n"
        f" return new_tuple(cls, ({''.join([f'{element},' for element in elements])}))",
        defined,
    )
    code: CodeType = defined["__new__"].__code__
    return code


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class NamedTuple(metaclass=_NamedTupleType):
        """Base of classes that declare their elements by annotations; those with defaults come last.

        As `typing.NamedTuple`, in modules with ``from __future__ import annotations``.
        """
