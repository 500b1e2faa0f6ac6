"""Meshes for the shardings of GSPMD, which number devices and name no axes.

Device numbers are written in a mixed radix. In most tiled shardings each dimension is selected by some of the
digits; a mesh with one axis for each digit expresses them all. Shardings whose digits do not fit together,
such as 2 x 3 and 3 x 2 devices, get meshes of their own. An order of devices that no digits give gets a mesh
that lists its devices.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from typing import Final

from ....errors import counted
from ....kernels.named_tuples import NamedTuple
from ....program.ir.hlo_sharding import TILED, HloSharding
from ....program.ir.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding

_AXIS: Final = "_axis_{}"


class _Digit(NamedTuple):
    """A digit of device numbers: ``number // stride % size``."""

    size: int
    stride: int


class MeshAxes(NamedTuple):
    """The mesh axes that a sharding uses.

    Attributes:
        mesh: the symbol of the mesh.
        dimensions: the axes along which each dimension is divided, from major to minor.
        subgroups: for each kind of subgroup its axes.
    """

    mesh: str
    dimensions: tuple[tuple[str, ...], ...]
    subgroups: dict[str, tuple[str, ...]]


class Meshes:
    """The meshes of a module.

    Args:
        shardings: all shardings of the module.
        count: the number of devices.
        used_names: symbols that the module has already.
    """

    def __init__(self, shardings: Iterable[HloSharding], count: int, used_names: Iterable[str]) -> None:
        self.meshes: dict[str, Mesh] = {}
        self._count = count
        self._used_names = set(used_names)
        self._digits: dict[HloSharding, list[list[_Digit]]] = {}
        self._bounds: list[set[int]] = []
        self._bounds_of: dict[HloSharding, int] = {}
        own: list[HloSharding] = []
        for sharding in dict.fromkeys(shardings):
            if sharding.kind == TILED:
                digits = _digits_of_dimensions(sharding)
                if digits is None:
                    own.append(sharding)
                else:
                    self._digits[sharding] = digits
                    self._bounds_of[sharding] = self._add_digits(digits)
        if not self._bounds:
            self._bounds.append({1, count})
        self._names = [self._declare(_mesh(sorted(bounds))) for bounds in self._bounds]
        self._own = {
            sharding: self._declare(Mesh(tuple(_numbered_axes(list(sharding.sizes))), sharding.devices))
            for sharding in own
        }

    def _add_digits(self, digits: Sequence[Sequence[_Digit]]) -> int:
        """Add digits to the first set of bounds that can hold them, or a new one; returns its index."""
        new = {1, self._count}
        for digit in (digit for of_dimension in digits for digit in of_dimension):
            new |= {digit.stride, digit.stride * digit.size}
        for index, bounds in enumerate(self._bounds):
            ordered = sorted(bounds | new)
            if all(b % a == 0 for a, b in itertools.pairwise(ordered)):
                bounds |= new
                return index
        self._bounds.append(new)
        return len(self._bounds) - 1

    def _declare(self, mesh: Mesh) -> str:
        name, number = "gspmd_mesh", 0
        while name in self._used_names:
            number += 1
            name = f"gspmd_mesh_{number}"
        self._used_names.add(name)
        self.meshes[name] = mesh
        return name

    @property
    def default(self) -> str:
        """The mesh of values that are not divided."""
        return self._names[0]

    def axes(self, sharding: HloSharding) -> MeshAxes:
        """The mesh axes of a tiled sharding."""
        groups: list[tuple[str, ...]]
        if sharding in self._own:
            mesh = self._own[sharding]
            groups = [(axis.name,) if axis.size > 1 else () for axis in self.meshes[mesh].axes]
        else:
            mesh = self._names[self._bounds_of[sharding]]
            groups = [
                tuple([name for digit in digits for name in self._axes_of(mesh, digit)])
                for digits in self._digits[sharding]
            ]
        rank = len(sharding.tiles)
        subgroups: dict[str, tuple[str, ...]] = {}
        for (kind, _), names in zip(sharding.subgroups, groups[rank:], strict=True):
            subgroups[kind] = (*subgroups.get(kind, ()), *names)
        return MeshAxes(mesh, tuple(groups[:rank]), subgroups)

    def _axes_of(self, mesh: str, digit: _Digit) -> list[str]:
        """The axes that are a digit, from major to minor."""
        names = []
        stride = self._count
        for axis in self.meshes[mesh].axes:
            stride //= axis.size
            if digit.stride <= stride < digit.stride * digit.size and axis.size > 1:
                names.append(axis.name)
        return names

    def manual_axes(self, sharding: HloSharding, mesh: str) -> frozenset[str]:
        """The axes along which a value is that of a device."""
        if sharding.kind == "manual":
            return frozenset(axis.name for axis in self.meshes[mesh].axes)
        if sharding.kind != TILED:
            return frozenset()
        return frozenset(self.axes(sharding).subgroups.get("manual", ()))

    def tensor_sharding(
        self, sharding: HloSharding, rank: int, mesh: str, open_dimensions: Iterable[int] = ()
    ) -> TensorSharding:
        """A tiled or replicated sharding as one of the sdy dialect.

        Args:
            sharding: the sharding.
            rank: that of the tensor.
            mesh: the mesh, where it is replicated.
            open_dimensions: those that may be divided further.
        """
        dimensions: Sequence[tuple[str, ...]] = [()] * rank
        unreduced: tuple[str, ...] = ()
        if sharding.kind == TILED:
            axes = self.axes(sharding)
            mesh, dimensions = axes.mesh, axes.dimensions
            order = [axis.name for axis in self.meshes[mesh].axes]
            unreduced = tuple(sorted(axes.subgroups.get("unreduced", ()), key=order.index))
        open_dims = set(open_dimensions)
        return TensorSharding(
            mesh,
            tuple(
                [
                    DimensionSharding(tuple(map(AxisRef, names)), index not in open_dims)
                    for index, names in enumerate(dimensions)
                ]
            ),
            (),
            tuple(map(AxisRef, unreduced)),
        )


def _mesh(bounds: Sequence[int]) -> Mesh:
    """A mesh whose axes are the digits between bounds."""
    sizes = [above // below for below, above in itertools.pairwise(bounds)]
    return Mesh(tuple(_numbered_axes(sizes[::-1])))


def _numbered_axes(sizes: Sequence[int]) -> list[MeshAxis]:
    return [MeshAxis(_AXIS.format(index), size) for index, size in enumerate(sizes)]


def _digits_of_dimensions(sharding: HloSharding) -> list[list[_Digit]] | None:
    """The digits of the device numbers that tell the tile of each dimension, then of each subgroup.

    Returns:
        From major to minor; None if no digits give the order of the devices.
    """
    digits = _digits(list(sharding.devices))
    if digits is None:
        return None
    digits.reverse()
    groups = []
    for size in sharding.sizes:
        group = []
        while size > 1:
            digit = digits.pop()
            if size % digit.size == 0:
                group.append(digit)
                size //= digit.size
            elif digit.size % size == 0:
                rest = digit.size // size
                group.append(_Digit(size, digit.stride * rest))
                digits.append(_Digit(rest, digit.stride))
                size = 1
            else:
                return None
        groups.append(group)
    return groups


def _digits(devices: list[int]) -> list[_Digit] | None:
    """The digits that give a permutation of 0, 1, ..., from major to minor; None if no digits give it."""
    digits: list[_Digit] = []
    while len(devices) > 1:
        stride = devices[1] - devices[0]
        size = 1
        while size < len(devices) and devices[size] == devices[0] + size * stride:
            size += 1
        while size > 1 and len(devices) % size:
            size -= 1
        if stride <= 0 or size == 1:
            return None
        firsts = devices[::size]
        if any(
            devices[index] != firsts[index // size] + index % size * stride for index in range(len(devices))
        ):
            return None
        digits.insert(0, _Digit(size, stride))
        devices = firsts
    bounds = 1
    for digit in sorted(digits, key=lambda digit: digit.stride):
        if digit.stride != bounds:
            return None
        bounds *= digit.size
    return digits


def device_count(shardings: Iterable[HloSharding]) -> int:
    """The number of devices of tiled shardings; 0 where there are none.

    Raises:
        ValueError: they have different numbers.
    """
    counts = {math.prod(sharding.sizes) for sharding in shardings if sharding.kind == TILED}
    if len(counts) > 1:
        raise ValueError(f"shardings are of {min(counts)} and of {counted(max(counts), 'device')}")
    return max(counts, default=0)
