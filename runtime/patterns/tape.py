"""A tape records the operations of a function of traced values; recording and comparing it is cheap.

A function is traced again if variables of its environment may have changed. Equal tapes are the same program,
so the tape is the key of the cache of compiled programs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from types import TracebackType
from typing import Final

from ..program.ir import DenseElementsAttribute
from ..types import Array, ElementType, TensorType, element_type_of
from .failures import violation_error

Shape = tuple[int, ...]

INPUT: Final = "input"
"""The name of a tape's node that is an input."""


Node = tuple[str, tuple[int, ...], Shape, ElementType, tuple[tuple[str, Hashable], ...]]
"""An operation with one result, or an input: name, numbers of the nodes that are its operands, shape and
element type of its result, attributes.

The attributes are pairs of a declared name and a plain value. For a region the value is the name of the
operation that it applies, None: it returns its second argument. For a constant it is a DenseElementsAttribute
or, where one element is repeated, its bytes.
"""


class Value:
    """The value of one node of a tape.

    Attributes:
        tape, index: the node.
        shape: a tuple of sizes.
        element_type: an ElementType.
    """

    __slots__ = ("element_type", "index", "shape", "tape")

    def __init__(self, tape: Tape, index: int, shape: Shape, element_type: ElementType) -> None:
        self.tape = tape
        self.index = index
        self.shape = shape
        self.element_type = element_type


class Tape:
    """The record of a traced function.

    Args:
        make: makes the values that users see: `Value` or a class derived from it.
        keeps_arrays: arrays that the function takes from around it become constants; otherwise they become
            inputs, so that programs which differ in them alone are the same.

    Attributes:
        nodes: what was done so far.
        arrays: for each input the array that it is, where it is known.
        is_open: whether its function is still running.
    """

    def __init__(self, make: Callable[..., Value] = Value, *, keeps_arrays: bool = False) -> None:
        self.nodes: list[Node] = []
        self.arrays: list[Array] = []
        self._make = make
        self._keeps_arrays = keeps_arrays
        self._captured: dict[int, tuple[object, Value]] = {}
        self.is_open = True

    def add(
        self,
        name: str,
        operands: tuple[int, ...],
        shape: Shape,
        element_type: ElementType,
        attributes: tuple[tuple[str, Hashable], ...] = (),
    ) -> Value:
        """Append a node and return its value."""
        nodes = self.nodes
        nodes.append((name, operands, shape, element_type, attributes))
        return self._make(self, len(nodes) - 1, shape, element_type)

    def argument(self, shape: Shape, element_type: ElementType) -> Value:
        """A new input of a type."""
        return self.add(INPUT, (), shape, element_type)

    def array(self, array: Array) -> Value:
        """A new input that is `array`."""
        self.arrays.append(array)
        return self.argument(array.shape, element_type_of(array.dtype))

    def capture(self, owner: object, array: Array) -> Value:
        """The value of an array that a function reads from its environment.

        Args:
            owner: the object that the function took: taken again, it is the same value.
            array: its elements.
        """
        if id(owner) in self._captured:
            return self._captured[id(owner)][1]
        value = self.constant(array) if self._keeps_arrays else self.array(array)
        self._captured[id(owner)] = (owner, value)
        return value

    def constant(self, array: Array) -> Value:
        """A constant with an array's values."""
        element_type = element_type_of(array.dtype)
        attribute = DenseElementsAttribute(TensorType(array.shape, element_type), array.copy())
        return self.add("stablehlo.constant", (), array.shape, element_type, (("value", attribute),))

    def check(self, value: Value, pattern: str) -> None:
        """Reject a value of another tape, or one that was kept after its function ended."""
        if value.tape is not self or not self.is_open:
            raise violation_error(pattern, "takes a value that belongs to another call of a pattern")

    def __enter__(self) -> Tape:
        _tapes().append(self)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _tapes().pop()
        self.is_open = False


_of_this_thread = threading.local()


def _tapes() -> list[Tape]:
    try:
        tapes: list[Tape] = _of_this_thread.tapes
    except AttributeError:
        tapes = _of_this_thread.tapes = []
    return tapes


def active_tape() -> Tape | None:
    """The tape that is being written in this thread."""
    tapes = _tapes()
    return tapes[-1] if tapes else None
