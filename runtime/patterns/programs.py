"""Finds or compiles the program for a call of a pattern."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any, Final

import numpy as np

from ..api import Executable
from ..compiler.lru_cache import LRUCache
from ..errors import UnsupportedError
from ..kernels.named_tuples import NamedTuple
from ..options import Options
from ..program.frontend import parse_type
from ..program.ir import Module
from ..types import Array, ElementType, TensorType
from .arrays import array_of, as_array_of, library_of
from .calls import Calls
from .element_types import element_type_named, is_number
from .failures import violation_error
from .modules import module_of
from .operands import to_traced, value_of
from .snapshots import IMMUTABLE_IDS, Snapshot, globals_of, snapshot
from .tape import Tape, Value, active_tape
from .traced import Traced

MAX_CACHED_PROGRAMS: Final = 256
"""Maximum number of cached programs; the least recently used one is dropped."""

_DEFAULT: Final = Options()

Record = Callable[..., Any]


class TracedPattern(NamedTuple):
    """A pattern that was traced and compiled.

    Attributes:
        executable: from arrays to results.
        gives_tuple: whether the pattern returns a tuple.
        snapshot: the key of everything that affects tracing; it keeps alive the objects that the key names.
    """

    executable: Executable
    gives_tuple: bool
    snapshot: Snapshot | None = None


_of_tapes: LRUCache[Hashable, Executable] = LRUCache(MAX_CACHED_PROGRAMS)
_of_snapshots: LRUCache[Hashable, TracedPattern] = LRUCache(MAX_CACHED_PROGRAMS)
_of_calls: Calls[TracedPattern] = Calls(MAX_CACHED_PROGRAMS)


def trace(function: Callable[..., object], *argument_types: object) -> Module:
    """The program of a function of patterns.

    Args:
        function: takes a traced value for each argument type and returns one, or a tuple or list of them.
            Arrays of its environment become constants.
        argument_types: for each argument a `nimblehlo.types.TensorType`, its text, a pair of shape and
            element type, or an object with ``shape`` and ``dtype``, such as an array.

    Returns:
        A verified Module whose function ``main`` has the results of `function`.

    Raises:
        ParseError: a text is not a type.
        VerifyError: a constraint of a pattern does not hold, or an argument is not a type.
        UnsupportedError: `function` uses an operation that traced values do not support, or a size is
            unknown.
    """
    tape = Tape(Traced, keeps_arrays=True)
    arguments = [_argument(tape, type) for type in argument_types]
    with tape:
        returned = function(*arguments)
        results = [value_of(tape, result, "trace") for result in _as_sequence(returned)]
    return module_of(tape.nodes, [result.index for result in results])


def compute(
    record: Record,
    operands: list[Any],
    names: Sequence[str],
    settings: tuple[Any, ...],
    pattern: str,
    options: Options | None,
) -> Any:
    """Record a pattern within another one; run it otherwise.

    Args:
        record: the function from operands, as traced values or Python's numbers, to results.
        operands: the user's operands.
        names: the names of the operands, for errors.
        settings: everything else that `record` depends on.
        pattern: the name of the pattern, for errors.
        options: the options of the run.

    Returns:
        A traced value, or an array of the first operand's library that is not NumPy; a tuple if `record`
        returns one.
    """
    outer = active_tape()
    if outer is not None:
        return record(*[to_traced(outer, operand, pattern) for operand in operands])
    settings = (pattern, *settings)
    program = _of_calls.find(settings, operands, options)
    if program is not None:
        return _results(program, operands)
    named_operands = zip(operands, names, strict=True)
    arguments = [_checked_operand(operand, name, pattern) for operand, name in named_operands]
    arrays = _arrays(arguments)
    if len(arrays) == len(arguments):
        program = _of_calls.find(settings, arrays, options)
    if program is None:
        program, arrays = _program_and_inputs(record, arguments, arrays, settings, options)
    return _results(program, arrays, library_of(operands))


def _program_and_inputs(
    record: Record,
    arguments: list[Any],
    arrays: list[Array],
    settings: tuple[Any, ...],
    options: Options | None,
) -> tuple[TracedPattern, list[Array]]:
    """The program of a call, found by its snapshot or traced, and its inputs.

    Args:
        record, options: as for `compute`.
        arguments: the operands, as arrays and Python's numbers.
        arrays: those of them that are arrays.
        settings: the pattern, and all else that decides what `record` does.
    """
    settled = snapshot(settings)
    key = settled and (settled.key, options, tuple([_type_key(argument) for argument in arguments]))
    program = _of_snapshots.get(key) if key else None
    if program is None:
        program, captured = _traced(record, arguments, settings[0], options)
        # The arrays of its environment may be different in the next call.
        if not key or len(captured) > len(arrays):
            return program, captured
        program = program._replace(snapshot=settled)
        _of_snapshots.put(key, program)
    if len(arrays) == len(arguments):
        _of_calls.keep(settings, arrays, options, program, globals_of, IMMUTABLE_IDS)
    return program, arrays


def _results(program: TracedPattern, arrays: Sequence[Array], library: object = None) -> Any:
    """The results of a pattern as arrays of a library; None: of NumPy."""
    results: list[Any] = program.executable(*arrays)
    if library is not None:
        results = [as_array_of(library, array) for array in results]
    return tuple(results) if program.gives_tuple else results[0]


def _checked_operand(operand: object, name: str, pattern: str) -> Any:
    """An operand as an array with an element type of StableHLO; Python's numbers are returned unchanged."""
    if isinstance(operand, Value):
        raise violation_error(pattern, f"{name} is a value that belongs to another call of a pattern")
    return operand if is_number(operand) else array_of(operand, name, pattern)


def _arrays(arguments: Sequence[object]) -> list[Array]:
    return [argument for argument in arguments if isinstance(argument, np.ndarray)]


def _type_key(arguments: object) -> Hashable:
    """A key of all properties of an operand that affect tracing."""
    return (
        (arguments.dtype, arguments.shape)
        if isinstance(arguments, np.ndarray)
        else (type(arguments), repr(arguments))
    )


def _traced(
    record: Record, arguments: Sequence[object], pattern: str, options: Options | None
) -> tuple[TracedPattern, list[Array]]:
    """The program of a call and its inputs; it is compiled if its tape is new."""
    tape = Tape(Traced)
    values = [
        tape.array(argument) if isinstance(argument, np.ndarray) else argument for argument in arguments
    ]
    with tape:
        returned = record(*values)
        results = tuple([value_of(tape, result, pattern).index for result in _as_sequence(returned)])
    key = (tuple(tape.nodes), results, options)
    executable = _of_tapes.get(key)
    if executable is None:
        executable = Executable(module_of(tape.nodes, results), "main", options or _DEFAULT)
        _of_tapes.put(key, executable)
    return TracedPattern(executable, isinstance(returned, (tuple, list))), tape.arrays


def _as_sequence(returned: object) -> Sequence[Any]:
    return returned if isinstance(returned, (tuple, list)) else (returned,)


def _argument(tape: Tape, type: object) -> Any:
    """A new input of a type that a user gave."""
    if isinstance(type, str):
        type = parse_type(type)
    if isinstance(type, tuple) and len(type) == 2:
        shape, dtype = type
    else:
        shape, dtype = getattr(type, "shape", None), getattr(type, "dtype", None)
    if shape is None or dtype is None:
        reason = "is not a type: use a TensorType, (shape, dtype), or an object with both"
        raise violation_error("trace", f"{type!r} {reason}")
    if isinstance(type, TensorType):
        dtype = type.element_type
        if not isinstance(dtype, ElementType):
            raise UnsupportedError("arguments of quantized types are not supported", operation="trace")
    element_type = element_type_named(dtype, "trace")
    sizes = tuple(map(int, shape))
    if min(sizes, default=0) < 0:
        raise UnsupportedError("sizes of arguments must be known", operation="trace")
    return tape.argument(sizes, element_type)
