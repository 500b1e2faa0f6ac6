"""Named tuples whose classes are created in an eighth of the time.

`typing.NamedTuple` compiles the annotation of each field, and a constructor for each class. The modules that
a process imports for its first program create some dozens of these classes, before its first result.

A module with such classes needs ``from __future__ import annotations``, so that Python 3.14, too, has their
annotations when it creates them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:
    import functools
    from _collections import _tuplegetter
    from types import FunctionType

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
                namespace["__new__"] = _constructor(fields, tuple(defaults.values()))
            return super().__new__(cls, name, bases, namespace)

    def _constructor(fields, defaults):
        """The `__new__` of a class with these fields."""
        # Renaming the arguments of compiled code takes a tenth of the time of compiling it.
        code = _constructor_code(len(fields)).replace(co_varnames=("_cls", *fields))
        return FunctionType(code, {"new_tuple": tuple.__new__}, "__new__", defaults)

    @functools.cache
    def _constructor_code(count):
        """The code of a `__new__` with this number of fields."""
        arguments = "".join(f"field_{position}, " for position in range(count))
        defined = {}
        exec(f"def __new__(_cls, {arguments}): return new_tuple(_cls, ({arguments}))", defined)
        return defined["__new__"].__code__

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
