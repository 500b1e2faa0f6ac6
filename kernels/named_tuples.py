"""Named tuples whose classes are created in an eighth of the time.

`typing.NamedTuple` compiles the annotation of each field, and a constructor for each class. The modules that
a process imports for its first program create some dozens of these classes, before its first result.

A module with such classes needs ``from __future__ import annotations``, so that Python 3.14, too, has their
annotations when it creates them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any

Body = Callable[[Sequence[str]], str]


def constructor(
    name: str,
    receiver: str,
    fields: Sequence[str],
    defaults: tuple[Any, ...],
    body: Body,
    names: Mapping[str, Any],
) -> FunctionType:
    """A function of a receiver and a class's fields, which records (`program/ir/record.py`) have as well.

    Args:
        name: its name.
        receiver: the name of its first argument.
        fields: the names of the others.
        defaults: the values of the last ones.
        body: gives the text of its statements, on one line, for the names of its arguments.
        names: what else the statements name.
    """
    # Renaming the arguments of compiled code takes a tenth of the time of compiling it.
    code = _code(name, receiver, len(fields), body).replace(co_varnames=(receiver, *fields))
    return FunctionType(code, {**names}, name, defaults)


@functools.cache
def _code(name: str, receiver: str, count: int, body: Body) -> CodeType:
    """The code of a constructor with this number of fields."""
    arguments = [f"field_{position}" for position in range(count)]
    defined: dict[str, Any] = {}
    exec(f"def {name}({', '.join([receiver, *arguments])}): {body(arguments)}", defined)
    code: CodeType = defined[name].__code__
    return code


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    from _collections import _tuplegetter

    class _NamedTupleType(type):
        """Turns the annotated fields of a class into positions of a tuple, and generates `__new__`."""

        def __new__(cls, name, bases, namespace):
            if any(getattr(base, "_fields", ()) for base in bases):  # a class with methods only
                return super().__new__(cls, name, bases, namespace)
            fields = tuple(namespace.get("__annotations__", ()))
            if bases and bases != (tuple,) and not fields:
                raise TypeError(f"{name} has no fields, or its module lacks the import of annotations")
            defaults = {field: namespace.pop(field) for field in fields if field in namespace}
            if tuple(defaults) != fields[len(fields) - len(defaults) :]:
                raise TypeError(f"{name}: a field without a default follows one with a default")
            namespace |= {field: _tuplegetter(index, "") for index, field in enumerate(fields)}
            namespace |= {"__slots__": (), "__match_args__": fields, "_fields": fields}
            namespace["_field_defaults"] = defaults
            if fields:
                values = tuple(defaults.values())
                names = {"new_tuple": tuple.__new__}
                namespace["__new__"] = constructor("__new__", "_cls", fields, values, _tuple_of, names)
            return super().__new__(cls, name, bases, namespace)

    def _tuple_of(arguments):
        """The body of `__new__`."""
        return f"return new_tuple(_cls, ({', '.join(arguments)},))"

    class NamedTuple(tuple, metaclass=_NamedTupleType):
        """Base of tuples whose positions have the names of the annotated fields; those with defaults last.

        It has what `typing.NamedTuple` documents.
        """

        @classmethod
        def _make(cls, iterable):
            return cls(*iterable)

        def _asdict(self):
            return dict(zip(self._fields, self, strict=True))

        def _replace(self, /, **changes):
            return type(self)(**(self._asdict() | changes))

        def __getnewargs__(self):
            return tuple(self)

        def __repr__(self):
            values = ", ".join(f"{field}={value!r}" for field, value in zip(self._fields, self, strict=True))
            return f"{type(self).__name__}({values})"
