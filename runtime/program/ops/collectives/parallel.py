"""`interpreter.run_parallel`: runs functions as the processes of a grid.

Source: the definition of the interpreter dialect in the StableHLO project's reference interpreter.
"""

from __future__ import annotations

from typing import Any

from ....types import TENSOR, TOKEN
from ..framework.attribute_kinds import SYMBOL, ArrayOf
from ..framework.declaration import Attribute, Operand, Region, Result, constraint
from ..framework.traits import RegionRole
from .base import CommunicatingOp
from .process_grid import Grid


class RunParallel(CommunicatingOp, name="interpreter.run_parallel"):
    """Runs `programs[replica][partition]` as process (replica, partition) of a grid.

    Its inputs and results are the concatenated inputs and results of all processes. The infeed hands out what
    the functions of `infeed` return, in order, to whichever process asks next. Specialization puts the
    functions there as regions, each of them once: first those of `programs`, then those of `infeed`.
    """

    region_role = RegionRole.PROCESSES

    inputs = Operand(TENSOR | TOKEN, variadic=True)
    infeed = Attribute(ArrayOf(SYMBOL), None)
    programs = Attribute(ArrayOf(ArrayOf(SYMBOL)))
    functions = Region(variadic=True)
    results = Result(TENSOR | TOKEN, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """0 < size(programs) and 0 < size(programs[0])"""
        return None if self.programs and self.programs[0] else "programs is empty"

    @constraint
    def C2(self) -> str | None:
        """same(size(programs...))"""
        sizes = sorted({len(row) for row in self.programs})
        return None if len(sizes) == 1 else f"programs has rows of {sizes[0]} and of {sizes[1]} functions"

    @constraint
    def C3(self) -> str | None:
        """0 < size(infeed) where infeed is given"""
        return "infeed is empty" if self.infeed == () else None

    @property
    def grid(self) -> Grid:
        return Grid(len(self.programs), len(self.programs[0]))

    @property
    def symbols(self) -> list[str]:
        """The functions in the order of `functions`."""
        names = [name for row in self.programs for name in row]
        return list(dict.fromkeys([*names, *(self.infeed or ())]))

    def reference(self, *inputs: Any, functions: Any) -> tuple[Any, ...]:
        raise self.unsupported("is only supported in a grid of processes")
