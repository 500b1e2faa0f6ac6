"""What passes, plans and generated code ask the declaration of an operation, beside its semantics.

A declaration states its answers as attributes of its class (`Op`), so that no list of operations elsewhere
repeats them. This module has the possible answers, and what follows from each.
"""

from __future__ import annotations

import enum


class Memory(enum.Enum):
    """The memory of an operation's results, as `Op.bind` and all implementations that may alias leave it."""

    COPY = enum.auto()
    """New arrays."""
    CREATES = enum.auto()
    """New arrays that depend on attributes alone: computing them again costs less than keeping them."""
    FLAT_VIEW = enum.auto()
    """The first operand's memory, with its elements in the same order; a copy if that memory is strided."""
    STRIDED_VIEW = enum.auto()
    """The first operand's memory, with some of its elements, or with them in another order."""
    FORWARDS = enum.auto()
    """The operands themselves."""
    MAY_FORWARD = enum.auto()
    """Operands, captured values, views of these or new arrays, as types and values decide."""
    UPDATES = enum.auto()
    """The first operands' memory if nothing reads it later, with some elements replaced; otherwise a copy."""

    @property
    def keeps_order(self) -> bool:
        """Whether results have the elements of operands in their order, in their memory if it is flat."""
        return self in (Memory.FLAT_VIEW, Memory.FORWARDS)


class Movement(enum.Enum):
    """How the elements of a static result lie in the operands (`program/ops/shape/movement.py` has the
    indices).
    """

    BROADCAST = enum.auto()
    RESHAPE = enum.auto()
    REVERSE = enum.auto()
    TRANSPOSE = enum.auto()
    SLICE = enum.auto()
    JOIN = enum.auto()
    """Boxes of the result are elements of several operands."""

    @property
    def has_one_source(self) -> bool:
        """Whether all elements are those of the first operand, so that loops need not write the result."""
        return self is not Movement.JOIN

    @property
    def keeps_all_elements(self) -> bool:
        """Whether no element of the operand is dropped.

        Generated code on small arrays reads such a result in the operand's memory. It copies a slice, for
        which it would have to keep more memory than the slice has.
        """
        return self.has_one_source and self is not Movement.SLICE

    @property
    def keeps_rows(self) -> bool:
        """Whether elements that are contiguous in the operand stay neighbours in the result.

        Loops over contiguous slices read through such a result. They read through no reshape, which costs
        nothing in memory.
        """
        return self in (Movement.BROADCAST, Movement.REVERSE, Movement.SLICE)

    @property
    def is_cheap_view(self) -> bool:
        """Whether the step is one method of an array (0.1 us), so that it costs half of other steps.

        A broadcast of few elements and a reversal of floats are copies.
        """
        return self in (Movement.RESHAPE, Movement.SLICE, Movement.TRANSPOSE)


class Product(enum.Enum):
    """Which sums of products an operation computes: it may combine each element of two operands."""

    MATMUL = enum.auto()
    """Sums over contracting dimensions of two operands (`program/ops/contraction/base.py`)."""
    RAGGED_MATMUL = enum.auto()
    """The same, group by group."""
    EINSUM = enum.auto()
    """Sums over named dimensions."""
    CONVOLUTION = enum.auto()
    """Sums over windows."""


class RegionRole(enum.Enum):
    """What an operation's regions are for."""

    COMPUTATION = enum.auto()
    """They are applied to elements or slices, or there are none."""
    BRANCHES = enum.auto()
    """One of them runs."""
    LOOP = enum.auto()
    """They run until the first one says stop."""
    PROCESSES = enum.auto()
    """They are programs of processes, which communicate."""
    FUSION = enum.auto()
    """The one region runs once, as one loop nest, in place of the operation."""
    STEPS = enum.auto()
    """The one region runs once, operation by operation, in place of the operation."""

    @property
    def is_control_flow(self) -> bool:
        """Whether the regions are programs of their own, for passes to enter, rather than computations."""
        return self in (RegionRole.BRANCHES, RegionRole.LOOP, RegionRole.PROCESSES)

    @property
    def runs_once(self) -> bool:
        """Whether the one region runs once, in place of the operation."""
        return self in (RegionRole.FUSION, RegionRole.STEPS)

    @property
    def is_block(self) -> bool:
        """Whether the regions work on whole tensors, rather than on elements, in one process."""
        return self.runs_once or self in (RegionRole.BRANCHES, RegionRole.LOOP)
