"""Shardings as XLA writes them: the strings of the attribute ``mhlo.sharding`` (GSPMD).

A *tiled* sharding lists the devices in row-major order of its tiles: into how many tiles each dimension is
divided, then the sizes of subgroups, within which devices hold the same tile.

    {replicated}  {manual}  {unknown}  {unreduced}  {maximal device=3}
    {devices=[2,1,2]0,1,2,3 last_tile_dim_replicate}
    {devices=[4,1,2]<=[2,4]T(1,0) last_tile_dims={manual, replicated}}

Source: XLA, the text of HloSharding; ``iota(N).reshape(R).transpose(P)`` stands behind ``<=[R]T(P)``.
"""

from __future__ import annotations

import math
import re
from typing import Final

import numpy as np

from ...errors import counted
from ...kernels.named_tuples import NamedTuple

MAX_DEVICES: Final = 1 << 20
"""Devices of one sharding: texts of a few bytes name more than memory holds."""

MAX_LISTED_DEVICES: Final = 1 << 23
"""Devices that the shardings of one text, or of one program, list in all: 300 MB of Python's integers."""

TILED: Final = "tiled"
_WHOLE_KINDS: Final = frozenset({"replicated", "manual", "unknown", "unreduced"})
_SUBGROUP_KINDS: Final = frozenset({"replicated", "manual", "unreduced"})
_GROUPED: Final = frozenset({"shard_as", "shard_like"})
_TOKEN: Final = re.compile(r'\s*(<=|[A-Za-z_]\w*|\d+|"(?:[^"\\]|\\.)*"|\S)')
_MAX_DIGITS: Final = 18
_MAX_IOTA_RANK: Final = 20
"""Maximum rank: MAX_DEVICES devices have fewer dimensions of size above 1, and NumPy has at most 32."""


class HloSharding(NamedTuple):
    """The sharding of one tensor.

    Attributes:
        kind: ``"tiled"``, ``"replicated"``, ``"manual"``, ``"unknown"``, ``"unreduced"`` or ``"maximal"``.
        tiles: of a tiled sharding, into how many tiles each dimension is divided.
        subgroups: of a tiled sharding, the kind and size of each subgroup: ``"replicated"``, ``"manual"`` or
            ``"unreduced"``.
        devices: of a tiled sharding the devices in row-major order of tiles and subgroups, a permutation of
            0, 1, ...; of a maximal one the device that has the tensor.
    """

    kind: str
    tiles: tuple[int, ...] = ()
    subgroups: tuple[tuple[str, int], ...] = ()
    devices: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of tiles and subgroups."""
        return (*self.tiles, *(size for _, size in self.subgroups))

    @property
    def is_manual(self) -> bool:
        """Whether the value is that of a device, along all axes or along those of a subgroup."""
        return self.kind == "manual" or any(kind == "manual" for kind, _ in self.subgroups)


def parse_hlo_sharding(text: str) -> tuple[HloSharding, ...]:
    """The sharding of each element of a tuple, or of a tensor.

    Args:
        text: see the module.

    Raises:
        ValueError: the text is not a sharding, or names more than MAX_DEVICES devices, or more than
            MAX_LISTED_DEVICES in all; says why.
    """
    if not text:
        # An OpSharding message without fields, as older JAX serializes it; its type 0 is REPLICATED.
        return (HloSharding("replicated"),)
    reader = _Reader(text)
    shardings = reader.shardings()
    reader.require_end()
    return shardings


class _Reader:
    """Reads tokens of a text."""

    def __init__(self, text: str) -> None:
        self._tokens = _TOKEN.findall(text)
        self._position = 0
        self._listed_devices = 0

    def peek(self) -> str:
        """The next token; empty at the end."""
        return self._tokens[self._position] if self._position < len(self._tokens) else ""

    def take(self) -> str:
        """Consume the next token."""
        token = self.peek()
        self._position += 1
        return token

    def take_if(self, token: str) -> bool:
        """Consume a token if it comes next."""
        if self.peek() != token:
            return False
        self._position += 1
        return True

    def expect(self, token: str) -> None:
        """Consume a token that must come next."""
        got = self.take()
        if got != token:
            raise ValueError(f"has {got!r} where {token!r} is expected")

    def require_end(self) -> None:
        """Nothing may be left."""
        if self.peek():
            raise ValueError(f"has {self.peek()!r} after its end")

    def integer(self) -> int:
        """Consume a number."""
        token = self.take()
        if not token.isascii() or not token.isdigit() or len(token) > _MAX_DIGITS:
            raise ValueError(f"has {token!r} where a number is expected")
        return int(token)

    def integers(self, end: str) -> list[int]:
        """Consume numbers up to a token, which is consumed as well."""
        values: list[int] = []
        while not self.take_if(end):
            if values:
                self.expect(",")
            values.append(self.integer())
        return values

    def shardings(self) -> tuple[HloSharding, ...]:
        """A sharding, or those of a tuple."""
        self.expect("{")
        if self.peek() != "{":
            return (self.sharding(),)
        shardings = []
        while True:
            self.expect("{")
            shardings.append(self.sharding())
            if self.take_if("}"):
                return tuple(shardings)
            self.expect(",")

    def sharding(self) -> HloSharding:
        """Parse the sharding after the opening brace."""
        kind = ""
        sizes: list[int] = []
        devices: tuple[int, ...] = ()
        subgroups: list[str] = []
        while not self.take_if("}"):
            token = self.take()
            if token in _WHOLE_KINDS or token == "maximal":
                kind = self.only(kind, token)
            elif token == "device" and kind in ("", "maximal"):
                self.expect("=")
                kind, devices = "maximal", (self.integer(),)
            elif token == "devices":
                kind = self.only(kind, TILED)
                sizes, devices = self.tile_assignment()
            elif token == "last_tile_dim_replicate":
                subgroups.append("replicated")
            elif token == "last_tile_dims":
                self.expect("=")
                subgroups += self.subgroup_kinds()
            elif token == "metadata":
                self.expect("=")
                self.skip_braces()
            elif token in _GROUPED:
                self.integer()
            elif token != ",":
                raise ValueError(f"has {token!r}, which is not part of a sharding")
        return _hlo_sharding(kind, sizes, devices, subgroups)

    def only(self, before: str, kind: str) -> str:
        """The kind, unless there is one already."""
        if before:
            raise ValueError(f"is both {before} and {kind}")
        return kind

    def tile_assignment(self) -> tuple[list[int], tuple[int, ...]]:
        """``=[2,2]0,1,2,3`` or ``=[2,2]<=[4]``: the sizes, and the devices in row-major order."""
        self.expect("=")
        self.expect("[")
        sizes = self.integers("]")
        count = math.prod(sizes)
        if not 0 < count <= MAX_DEVICES:
            raise ValueError(f"is of {counted(count, 'device')}, which must be 1 to {MAX_DEVICES}")
        self._listed_devices += count
        if self._listed_devices > MAX_LISTED_DEVICES:
            raise ValueError(f"lists more than {MAX_LISTED_DEVICES} devices in all")
        if self.take_if("<="):
            return sizes, self.iota(count)
        devices = [self.integer()]
        while self.take_if(","):
            devices.append(self.integer())
        if sorted(devices) != list(range(count)):
            raise ValueError(f"must list each of the devices 0 to {count - 1} once")
        return sizes, tuple(devices)

    def iota(self, count: int) -> tuple[int, ...]:
        """``[2,4]T(1,0)``: the devices 0, 1, ... reshaped, and transposed."""
        self.expect("[")
        shape = self.integers("]")
        permutation = list(range(len(shape)))
        if self.take_if("T"):
            self.expect("(")
            permutation = self.integers(")")
        if math.prod(shape) != count:
            raise ValueError(f"reshapes {counted(count, 'device')} to {shape}")
        if sorted(permutation) != list(range(len(shape))):
            raise ValueError(f"transposes {counted(len(shape), 'dimension')} by {permutation}")
        if len(shape) > _MAX_IOTA_RANK:
            raise ValueError(
                f"reshapes the devices to {len(shape)} dimensions; at most {_MAX_IOTA_RANK} are supported"
            )
        devices = np.arange(count).reshape(shape).transpose(permutation)
        return tuple(devices.reshape(-1).tolist())

    def subgroup_kinds(self) -> list[str]:
        """``{manual, replicated}``."""
        self.expect("{")
        kinds: list[str] = []
        while not self.take_if("}"):
            if kinds:
                self.expect(",")
            kinds.append(self.take())
            if kinds[-1] not in _SUBGROUP_KINDS:
                raise ValueError(f"has a subgroup of the kind {kinds[-1]!r}")
        return kinds

    def skip_braces(self) -> None:
        """Consume a balanced pair of braces."""
        depth = 0
        while True:
            token = self.take()
            if not token:
                raise ValueError("has a brace that does not end")
            depth += (token == "{") - (token == "}")
            if depth == 0:
                return


def _hlo_sharding(
    kind: str, sizes: list[int], devices: tuple[int, ...], subgroup_kinds: list[str]
) -> HloSharding:
    """The sharding with the parsed components."""
    if kind == "maximal" and not devices:
        raise ValueError("is maximal, but names no device")
    if not kind:
        raise ValueError("states no sharding")
    if kind != TILED:
        if subgroup_kinds:
            raise ValueError(f"is {kind}, which cannot have subgroups")
        return HloSharding(kind, devices=devices)
    if len(subgroup_kinds) > len(sizes):
        raise ValueError(
            f"has {counted(len(sizes), 'dimension')}, but {counted(len(subgroup_kinds), 'subgroup')}"
        )
    rank = len(sizes) - len(subgroup_kinds)
    subgroups = tuple(zip(subgroup_kinds, sizes[rank:], strict=True))
    return HloSharding(TILED, tuple(sizes[:rank]), subgroups, devices)
