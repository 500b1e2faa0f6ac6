"""Classifies operations by what their declarations state: effects, control flow, data movement."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ....program.ir import Block, Operation
from ....program.ops.framework.declaration import declaration_of, lookup
from ....program.ops.framework.traits import Memory, Movement, Product, RegionRole

if TYPE_CHECKING:
    from ....program.ops.contraction.base import Contraction


def is_control_flow(operation: Operation) -> bool:
    """Whether an operation's regions are programs of their own, not computations on elements."""
    return bool(operation.regions) and declaration_of(operation).region_role.is_control_flow


def is_fusion(operation: Operation) -> bool:
    """Whether an operation is a fusion that becomes one loop nest."""
    return declaration_of(operation).region_role is RegionRole.FUSION


def is_movement(operation: Operation) -> bool:
    """Whether a result has only elements of the operands, at indices that attributes determine."""
    return declaration_of(operation).movement is not None


def is_view(operation: Operation) -> bool:
    """Whether a result has only elements of the first operand, at indices that attributes determine.

    It costs nothing, unless its elements are needed in order.
    """
    movement = declaration_of(operation).movement
    return movement is not None and movement.has_one_source


def is_broadcast(operation: Operation) -> bool:
    """Whether an operation is a `broadcast_in_dim` or its older form."""
    return declaration_of(operation).movement is Movement.BROADCAST


def is_reshape(operation: Operation) -> bool:
    """Whether an operation is a `reshape`."""
    return declaration_of(operation).movement is Movement.RESHAPE


def is_gather(operation: Operation) -> bool:
    """Whether an operation is a `gather`."""
    return declaration_of(operation).gathers


def is_iota(operation: Operation) -> bool:
    """Whether an operation is an `iota`."""
    return declaration_of(operation).is_iota


def is_reduction(operation: Operation) -> bool:
    """Whether an operation is a `reduce`."""
    return bool(operation.regions) and declaration_of(operation).reduces


def creates(operation: Operation) -> bool:
    """Whether a result depends on attributes alone."""
    return declaration_of(operation).memory is Memory.CREATES


def is_matmul(operation: Operation) -> bool:
    """Whether an operation is a product that `nimblehlo.program.ops.contraction.base.Contraction`
    describes.
    """
    return declaration_of(operation).product is Product.MATMUL


def contraction(operation: Operation) -> Contraction:
    """The view of a product of tensors."""
    from ....program.ops.contraction.base import Contraction  # here, as many programs have no products

    return Contraction.of(operation)


def is_pure(block: Block) -> bool:
    """Whether no operation of a block, nested ones included, has an effect beyond its results."""
    return all(map(has_no_effect, block.operations))


def has_no_effect(operation: Operation) -> bool:
    """Whether an operation may be removed if its results are unused, or run once instead of twice."""
    declaration = lookup(operation.name)
    if declaration is None or not declaration.pure:
        return False
    if declaration.is_pure_by_call and not declaration(operation).pure:
        return False
    regions = operation.regions
    return not regions or all(is_pure(region.block) for region in regions)
