"""`chlo.scan`: a body applied to the slices of a dimension, one after another.

Source: the CHLO dialect's definition.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....types import DYNAMIC, PLAIN, Array, TensorType, Type
from ..framework import costs, rules
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import BOOL, I64
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.traits import Memory


class Scan(Op, name="chlo.scan", assembly="custom(scan)"):
    """Hands carried values from slice to slice along `dimension`.

    For each position along `dimension`, from the first to the last or, where `is_reverse`, from the last to
    the first, body takes that slice of each input and the carried values, which `inits` are at first. It
    returns a slice of each output and the next carried values; the last ones are the results `carries`.
    `is_associative` allows another order, which is not made use of.
    """

    region_loop = "regions.scan_code.ScanCode"
    work = costs.Work.ELEMENTS
    rounding = Rounding.BODY
    memory = Memory.MAY_FORWARD

    inputs = Operand(PLAIN, variadic=True)
    inits = Operand(PLAIN, variadic=True)
    dimension = Attribute(I64)
    scan_dim_size = Attribute(I64, None)
    is_reverse = Attribute(BOOL, False)
    is_associative = Attribute(BOOL, None)
    body = Region()
    outputs = Result(PLAIN, variadic=True)
    carries = Result(PLAIN, variadic=True)

    @property
    def _scanned(self) -> dict[str, TensorType]:
        """The types that have the scanned dimension, by name."""
        named = {f"inputs[{index}]": type for index, type in enumerate(self.inputs)}
        named.update({f"outputs[{index}]": type for index, type in enumerate(self.outputs)})
        return named

    @constraint
    def C1(self) -> str | None:
        """0 < size(inputs) + size(outputs)"""
        return None if self._scanned else "there are neither inputs nor outputs"

    @constraint
    def C2(self) -> str | None:
        """0 <= dimension < rank of each input and output"""
        return rules.first(
            *(
                rules.in_range("dimension", [self.dimension], 0, type.rank, f"the rank of {name}")
                for name, type in self._scanned.items()
            )
        )

    @constraint
    def C3(self) -> str | None:
        """0 <= scan_dim_size"""
        size = self.scan_dim_size
        return None if size is None or size >= 0 else f"scan_dim_size is {size}"

    @constraint
    def C4(self) -> str | None:
        """dim(inputs..., dimension) = dim(outputs..., dimension) = scan_dim_size"""
        size, source = self.scan_dim_size, "scan_dim_size"
        for name, type in self._scanned.items():
            own = type.shape[self.dimension]
            if size is not None and not rules.sizes_agree(own, size):
                return f"{name} has size {own} in dimension {self.dimension}, but {source} has {size}"
            if size is None and own != DYNAMIC:
                size, source = own, name
        return None

    @constraint
    def C5(self) -> str | None:
        """input_types(body) = slices of inputs + type(inits...)"""
        expected = [*map(self._slice, self.inputs), *self.inits]
        return _types_are("inputs of body", self.body.type.inputs, expected)

    @constraint
    def C6(self) -> str | None:
        """output_types(body) = slices of outputs + type(carries...)"""
        expected = [*map(self._slice, self.outputs), *self.carries]
        return _types_are("outputs of body", self.body.type.results, expected)

    @constraint
    def C7(self) -> str | None:
        """type(carries...) = type(inits...)"""
        return _types_are("carries", self.carries, self.inits)

    def _slice(self, type: TensorType) -> TensorType:
        return type.with_shape((*type.shape[: self.dimension], *type.shape[self.dimension + 1 :]))

    def infer(self) -> list[Type]:
        sizes = [self.scan_dim_size, *(type.shape[self.dimension] for type in self.inputs)]
        size = next((size for size in sizes if size not in (None, DYNAMIC)), DYNAMIC)
        returned: list[Any] = list(self.body.type.results)
        count = len(returned) - len(self.inits)
        outputs: list[Type] = [
            slice.with_shape((*slice.shape[: self.dimension], size, *slice.shape[self.dimension :]))
            for slice in returned[:count]
        ]
        return outputs + returned[count:]

    def reference(self, *operands: Array, body: Evaluate) -> tuple[Array, ...]:
        count = len(self.inputs)
        slices = [np.moveaxis(array, self.dimension, 0) for array in operands[:count]]
        carried: tuple[Array, ...] = operands[count:]
        size = len(slices[0]) if slices else self._size()
        outputs: tuple[Array, ...] = ()
        for position in reversed(range(size)) if self.is_reverse else range(size):
            returned = body(*[array[position, ...] for array in slices], *carried)
            produced, carried = returned[: len(self.outputs)], returned[len(self.outputs) :]
            if not outputs:
                outputs = self._allocate(size, produced)
            for output, slice in zip(outputs, produced, strict=True):
                np.moveaxis(output, self.dimension, 0)[position] = slice
        if not size:
            outputs = tuple([np.empty(type.shape, type.dtype) for type in self.outputs])
        return (*outputs, *carried)

    def _size(self) -> int:
        """The number of slices, if there are no inputs."""
        size = self.outputs[0].shape[self.dimension]
        return int(size if self.scan_dim_size is None else self.scan_dim_size)

    def _allocate(self, size: int, slices: Sequence[Array]) -> tuple[Array, ...]:
        """Uninitialized outputs for the slices that a body has returned."""
        at = self.dimension
        shapes = [(*np.shape(slice)[:at], size, *np.shape(slice)[at:]) for slice in slices]
        return tuple([np.empty(shape, type.dtype) for shape, type in zip(shapes, self.outputs, strict=True)])


def _types_are(name: str, actual: Sequence[Type], expected: Sequence[Type]) -> str | None:
    """Types must agree pairwise."""
    if rules.all_types_agree(actual, expected):
        return None
    return f"{name} are [{', '.join(map(str, actual))}], but must be [{', '.join(map(str, expected))}]"
