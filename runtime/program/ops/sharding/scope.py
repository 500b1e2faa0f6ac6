"""The program around an operation of sdy: meshes, manual axes, other shardings."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from typing import Final

from ...ir import Block, Function, Module, Operation, StringAttribute, Value, use_counts
from ...ir.sharding import Mesh, ShardingPerValue, TensorSharding, attached_sharding
from ..framework.attribute_kinds import DialectData
from ..framework.declaration import Op
from ..framework.op_registry import MESH

SHARDING_KIND: Final = DialectData(TensorSharding)
SHARDINGS: Final = DialectData(ShardingPerValue)

_OWN_SHARDING: Final = {
    "sdy.sharding_constraint": "sharding",
    "sdy.reshard": "sharding",
    "sdy.data_flow_edge": "sharding",
    **{
        f"sdy.{name}": "out_sharding"
        for name in (
            "all_gather",
            "all_slice",
            "all_to_all",
            "all_reduce",
            "collective_permute",
            "reduce_scatter",
            "replicated_to_unreduced",
            "sharded_to_unreduced",
        )
    },
}
"""The attribute that holds the sharding of an operation's result."""
COMPUTATIONS: Final = frozenset({"sdy.manual_computation", "sdy.named_computation"})
"""Operations whose body is a part of the function."""


def mesh_of(sharding: TensorSharding, meshes: Mapping[str, Mesh]) -> Mesh | None:
    """The mesh that a sharding refers to; None if there is none.

    Args:
        sharding: the sharding.
        meshes: the meshes of the module by name.
    """
    return meshes.get(sharding.mesh) if isinstance(sharding.mesh, str) else sharding.mesh


def meshes_of(module: Module) -> dict[str, Mesh]:
    """The meshes that a verified module declares, by name."""
    meshes = {}
    for item in module.body:
        if isinstance(item, Operation) and item.name == MESH:
            name, mesh = item.attributes["sym_name"], item.attributes["mesh"]
            assert isinstance(name, StringAttribute) and isinstance(mesh, Mesh)
            meshes[name.value] = mesh
    return meshes


class Scope:
    """One function, as the constraints of sdy operations see it.

    Args:
        meshes: the meshes of the module by name.
        function: the function.

    Attributes:
        owners: the operation in whose region a block is; the function's own block is not there.
        manual_axes: the axes of the manual computations around the operation that is verified.
    """

    def __init__(self, meshes: Mapping[str, Mesh], function: Function) -> None:
        self.meshes = meshes
        self.function = function
        self.owners: dict[Block, Operation] = {}
        self.manual_axes: frozenset[str] = frozenset()
        self._uses: Counter[Value] | None = None

    def mesh(self, sharding: TensorSharding) -> Mesh | None:
        """The mesh that a sharding refers to; None if there is none."""
        return mesh_of(sharding, self.meshes)

    def use_count(self, value: Value) -> int:
        """The number of operands in the function that are the value."""
        if self._uses is None:
            assert self.function.body is not None
            self._uses = use_counts(self.function.body)
        return self._uses[value]

    def sharding_of(self, value: Value) -> TensorSharding | None:
        """The sharding of a value in the program, or None."""
        owner = value.owner
        if isinstance(owner, Operation):
            return _sharding_of_result(owner, value.index)
        operation = self.owners.get(owner)
        if operation is None:
            return attached_sharding(self.function.argument_attributes[value.index])
        if operation.name == "stablehlo.while":
            return _sharding_of_result(operation, value.index)
        sharding = _at(operation.attributes.get("in_shardings"), value.index)
        if sharding is not None and operation.name == "sdy.manual_computation":
            manual = getattr(operation.attributes.get("manual_axes"), "names", ())
            return sharding.restricted_to({axis.name for axis in sharding.axes()}.difference(manual))
        return sharding


def _sharding_of_result(operation: Operation, index: int) -> TensorSharding | None:
    own = _OWN_SHARDING.get(operation.name)
    if own is not None:
        attribute = operation.attributes.get(own)
        return attribute if isinstance(attribute, TensorSharding) else None
    if operation.name in COMPUTATIONS:
        return _at(operation.attributes.get("out_shardings"), index)
    return attached_sharding(operation.attributes, index)


def _at(attribute: object, index: int) -> TensorSharding | None:
    """The sharding of one value of several."""
    shardings = attribute.shardings if isinstance(attribute, ShardingPerValue) else ()
    return shardings[index] if index < len(shardings) else None


def scopes_of(module: Module, names: Collection[str]) -> dict[Operation, Scope]:
    """The scope of each operation that has one of these names.

    Args:
        module: a verified module.
        names: full names of operations.
    """
    scopes = {}
    meshes = meshes_of(module)
    for function in module.functions.values():
        if function.body is None:
            continue
        scope = Scope(meshes, function)
        for operation in function.body.walk():
            scope.owners.update({region.block: operation for region in operation.regions})
            if operation.name in names:
                scopes[operation] = scope
    return scopes


class ShardingOp(Op):
    """Base of the operations of sdy.

    Attributes:
        scope: the program around it; None if that is not looked at, and the constraints that need it are
            not judged. `nimblehlo.program.ops.sharding.verify` judges all of them.
    """

    partition = "refuse"

    scope: Scope | None = None
