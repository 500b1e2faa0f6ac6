"""Resolves the mesh axes that operations of sdy name; rejects operations that need several devices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from ...errors import VerifyError
from ...program.ir import Attribute, BoolAttribute, Module, Operation, StructAttribute, SymbolAttribute
from ...program.ir.sharding import AxisList, AxisRef, Mesh, TensorSharding
from ...program.ops.collectives.replica_groups import resolved_groups
from ...program.ops.framework.declaration import Op
from ...program.ops.sharding.checks import common_mesh
from ...program.ops.sharding.collectives import SdyCollective, SdyReducing
from ...program.ops.sharding.operations import Reduction, SdyManualComputation
from ...program.ops.sharding.scope import Scope, mesh_of, meshes_of


def require_one_device(operation: Operation, module: Module, scope: Scope) -> None:
    """Check that one device can do what an operation of sdy asks for.

    A program holds the reduced value of an unreduced tensor, so a collective that reduces along unreduced
    axes returns its operand. So does a maximum or minimum of equal values.

    Args:
        operation: the operation, verified.
        module: the module with the meshes that the operation names.
        scope: the function around the operation.

    Raises:
        UnsupportedError: it needs several devices.
    """
    view = Op.of(operation)
    if isinstance(view, SdyManualComputation):
        axes = [AxisRef(name) for name in view.manual_axes.names]
        shardings = [*view.in_shardings.shardings, *view.out_shardings.shardings]
        what = "its body is for each device along the axes"
    elif isinstance(view, SdyCollective):
        if isinstance(view, SdyReducing) and view.reduction_op is not Reduction.sum:
            return
        view.scope = scope
        unreduced = view.before().unreduced
        axes = [axis for axis in view.reduced_axes() if not any(each.contains(axis) for each in unreduced)]
        shardings = [view.out_sharding]
        what = "each device has a partial result along the axes"
    else:
        raise AssertionError(operation.name)
    if not axes:
        return
    mesh, text = _mesh(shardings, meshes_of(module))
    if mesh is None or math.prod([axis.size(mesh) for axis in axes]) > 1:
        devices = "" if mesh is None else f"{mesh.total_size} "
        raise view.unsupported(
            f"needs the {devices}devices of {text}, since {what} {AxisList(tuple(axes)).body()}; only "
            "the body of a sdy.manual_computation on a mesh of the module runs on several devices"
        )


def _mesh(shardings: Iterable[TensorSharding], meshes: Mapping[str, Mesh]) -> tuple[Mesh | None, str]:
    """The mesh of all shardings, None if there are no shardings; and what errors call it."""
    shardings = list(shardings)
    if not shardings:
        return None, "a mesh (it does not name one)"
    matches = [mesh for sharding in shardings if (mesh := mesh_of(sharding, meshes)) is not None]
    mesh = common_mesh(matches)
    named = next((each for each in shardings if mesh_of(each, meshes) == mesh), shardings[0])
    body = f" = {mesh.body()}" if mesh is not None and isinstance(named.mesh, str) else ""
    return mesh, f"the mesh {named.mesh_text}{body}"


def runs_on_devices(operation: Operation, module: Module) -> bool:
    """Whether the body of a `sdy.manual_computation` runs on several devices of a mesh that is known."""
    view = Op.of(operation)
    assert isinstance(view, SdyManualComputation)
    mesh = _manual_mesh(view, module)
    return mesh is not None and math.prod([mesh.sizes[name] for name in view.manual_axes.names]) > 1


def manual_attributes(operation: Operation, module: Module, *, is_nested: bool) -> Mapping[str, Attribute]:
    """The attributes of the `nimblehlo.manual_computation` that a `sdy.manual_computation` becomes."""
    view = Op.of(operation)
    assert isinstance(view, SdyManualComputation)
    mesh = _manual_mesh(view, module)
    assert mesh is not None
    return {
        "mesh": mesh,
        "in_shardings": view.in_shardings,
        "out_shardings": view.out_shardings,
        "manual_axes": view.manual_axes,
        "is_nested": BoolAttribute(is_nested),
    }


def _manual_mesh(view: SdyManualComputation, module: Module) -> Mesh | None:
    """The mesh of a manual computation; None if no sharding names one with the manual axes."""
    shardings = [*view.in_shardings.shardings, *view.out_shardings.shardings]
    mesh, _ = _mesh(shardings, meshes_of(module))
    names = set(view.manual_axes.names)
    return mesh if mesh is not None and names <= mesh.sizes.keys() else None


def attributes_with_known_groups(operation: Operation, module: Module) -> Mapping[str, Attribute]:
    """The attributes of a collective, with lists of ids where its groups are axes of a mesh of the module.

    Raises:
        VerifyError: the module has no such mesh, or the mesh has no such axes.
    """
    groups = operation.attributes.get("replica_groups")
    symbol = groups.fields.get("mesh") if isinstance(groups, StructAttribute) else None
    if not isinstance(groups, StructAttribute) or not isinstance(symbol, SymbolAttribute):
        return operation.attributes
    mesh = meshes_of(module).get(str(symbol))
    try:
        if mesh is None:
            raise ValueError(f"names the mesh @{symbol}, which the module does not declare")
        return {**operation.attributes, "replica_groups": resolved_groups(groups, mesh)}
    except ValueError as error:
        raise VerifyError(
            f"replica_groups {error}", operation=operation.name, location=operation.location
        ) from None
