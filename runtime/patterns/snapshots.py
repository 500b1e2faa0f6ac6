"""Keys of everything that affects the tracing of a function: calls with equal keys need not be traced again.

A function has a key only if every change of what it reads changes the key. Its instructions name the globals,
closure variables and attributes that it uses. These may be numbers, text, functions that have a key
themselves, and known functions of known modules. Anything else, such as an array, an object of a user's class
or an attribute with an unknown name, has no key, and the function is traced at each call.
"""

from __future__ import annotations

import builtins
import dis
import sys
import threading
from collections.abc import Hashable, Iterator
from types import CodeType, EllipsisType, FunctionType, ModuleType, NoneType
from typing import Any, Final

import numpy as np

from ..types import ELEMENT_TYPES, ElementType
from .functions import NUMPY
from .torch_functions import NAMES as TORCH_NAMES
from .traced import Traced
from .ufuncs import FUNCTIONS, SPECIAL

MAX_NESTING: Final = 8
"""Maximum depth to which functions used by functions are followed."""

_MODULES: Final = frozenset({"math", "ml_dtypes", "nimblehlo", "numpy", "scipy.special", "torch"})
_PACKAGE: Final = __name__.rpartition(".")[0]
_PATTERNS: Final = frozenset(
    {"sn_gather", "sn_imm", "sn_iteridx", "sn_scatter", "sn_select", "sn_zipmapreduce", "patterns"}
    | {"get_int_or_float_bit_width", "get_int_type"}
)
_CONSTANTS: Final = frozenset({"pi", "e", "inf", "nan", "newaxis"})
_TYPES: Final = frozenset({"bool", "bool_", "float", "half", "int", "long"}) | {
    element_type.dtype.name for element_type in ELEMENT_TYPES.values()
}
_ATTRIBUTES: Final = (
    _PATTERNS
    | _CONSTANTS
    | _TYPES
    | {ufunc.__name__ for ufunc in FUNCTIONS}
    | {function.__name__ for function in NUMPY}
    | set(SPECIAL)
    | set(TORCH_NAMES)
    | {name for name in vars(Traced) if not name.startswith("_")}
    | {"shape", "add", "subtract", "multiply", "abs", "mod", "pow", "conj"}
)
"""Attributes that never change, of traced values and of known modules."""

_BUILTINS: Final = frozenset(
    {abs, divmod, enumerate, isinstance, len, max, min, pow, range, reversed, round, sorted, sum, zip}
    | {bool, complex, float, int, list, str, tuple}
)
_READS: Final = ("LOAD_GLOBAL", "LOAD_ATTR", "LOAD_METHOD")
_WRITES: Final = ("STORE_DEREF", "DELETE_DEREF")
_PLAIN: Final = frozenset({bool, bytes, int, str, EllipsisType, NoneType})
_BY_TEXT: Final = frozenset({float, complex})
_MISSING: Final = object()


class _HasNoKey(Exception):
    """Something that decides a trace may change unseen."""


class Snapshot:
    """A key, and the objects that must live as long as the key, which contains their identities.

    Attributes:
        key: equal for what is traced the same.
        held: the objects that the key names by their identity.
    """

    __slots__ = ("held", "key")

    def __init__(self, key: Hashable, held: list[object]) -> None:
        self.key = key
        self.held = held


def snapshot(values: tuple[Any, ...]) -> Snapshot | None:
    """The key of a pattern's arguments, where lists are compared by their elements; None if they have none.
    """
    held: list[object] = []
    try:
        return Snapshot(tuple([_key(value, held, 0, lists=True) for value in values]), held)
    except _HasNoKey:
        return None


IMMUTABLE_IDS: Final[dict[int, object]] = {}
"""Objects that never change, by identity. They are few, and live as long as the process."""


def _key(value: Any, held: list[object], depth: int, *, lists: bool = False) -> Hashable:
    kind = type(value)
    if kind in _PLAIN:
        return kind, value
    if id(value) in IMMUTABLE_IDS:
        return id(value)
    if kind in _BY_TEXT:
        return kind, repr(value)
    if kind is tuple or (lists and kind is list):
        return kind, tuple([_key(element, held, depth) for element in value])
    if isinstance(value, np.dtype):
        return kind, value
    if isinstance(value, np.generic):
        return kind, value.dtype, value.tobytes()
    if _is_immutable(value):
        IMMUTABLE_IDS[id(value)] = value
        return id(value)
    if kind is FunctionType and depth < MAX_NESTING:
        return _function_key(value, held, depth + 1)
    raise _HasNoKey


def _function_key(function: FunctionType, held: list[object], depth: int) -> Hashable:
    """The key of a user's function: its instructions, and all that they read."""
    code = function.__code__
    names = globals_of(code)
    # The attributes of functions may change, as those of any object.
    if names is None or function.__dict__:
        raise _HasNoKey
    held.append(code)
    key_fields: list[Hashable] = [id(code)]
    try:
        for name in names:
            value: Any = function.__globals__.get(name, _MISSING)
            if value is _MISSING:
                value = getattr(builtins, name)
            key_fields.append(id(value) if id(value) in IMMUTABLE_IDS else _key(value, held, depth))
        for cell in function.__closure__ or ():
            key_fields.append(_key(cell.cell_contents, held, depth))
        if function.__defaults__:
            key_fields.append(_key(function.__defaults__, held, depth))
        for name, value in (function.__kwdefaults__ or {}).items():
            key_fields.append((name, _key(value, held, depth)))
    except (AttributeError, ValueError):  # a missing name or a variable without a value
        raise _HasNoKey from None
    return tuple(key_fields)


def _is_immutable(value: object) -> bool:
    """Whether a value is a module, class, function or constant that is the same each time it is used."""
    if isinstance(value, ModuleType):
        is_listed_package = value.__name__ in _MODULES or value.__name__ == _PACKAGE
        return is_listed_package and sys.modules.get(value.__name__) is value
    if isinstance(value, type):
        return value in _BUILTINS or (issubclass(value, np.generic) and value.__module__ in _MODULES)
    if isinstance(value, ElementType):
        return True
    if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
        return True
    if isinstance(value, np.ufunc):
        return value in FUNCTIONS
    if type(value) is type(len) and value in _BUILTINS:
        return True
    name, module = getattr(value, "__name__", None), getattr(value, "__module__", None)
    if name not in _ATTRIBUTES or not isinstance(module, str):
        return False
    # A function may have another one's name: only the one that the name refers to counts.
    is_listed_module = module in _MODULES or module.startswith(f"{_PACKAGE}.")
    return is_listed_module and getattr(sys.modules.get(module), name, None) is value


_names_of_codes: dict[int, tuple[CodeType, tuple[str, ...] | None]] = {}
_MAX_CACHED_CODES: Final = 1024
_lock = threading.Lock()


def globals_of(code: CodeType) -> tuple[str, ...] | None:
    """The globals that code reads; None if its behaviour may differ from call to call."""
    cached = _names_of_codes.get(id(code))
    if cached is None:
        cached = (code, _read_globals(code))
        with _lock:
            if len(_names_of_codes) >= _MAX_CACHED_CODES:
                _names_of_codes.clear()
            _names_of_codes[id(code)] = cached
    return cached[1]


def _read_globals(code: CodeType) -> tuple[str, ...] | None:
    names: dict[str, None] = {}
    for one in _codes(code):
        for instruction in dis.get_instructions(one):
            name = instruction.argval
            if instruction.opcode in dis.hasname:
                if instruction.opname not in _READS:
                    return None
                if instruction.opname == "LOAD_GLOBAL":
                    names[name] = None
                elif name not in _ATTRIBUTES:
                    return None
            elif instruction.opname in _WRITES and name in one.co_freevars:
                return None
    return tuple(names)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code object, and those of the functions within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)
