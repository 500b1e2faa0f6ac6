"""Encoded attributes: in the form in which the dialects have them, which jaxlib reads."""

from __future__ import annotations

from typing import Any

import pytest

from nimblehlo.program.ir import ArrayAttribute, Block, Builder, EnumAttribute, UnitAttribute, main_module
from nimblehlo.program.ops.collectives.replica_groups import ReplicaGroups
from nimblehlo.program.ops.contraction.matmul import Precision
from nimblehlo.program.ops.framework.encoding import encode_attributes
from nimblehlo.types import ELEMENT_TYPES, TensorType

GATHER: dict[str, Any] = {
    "all_gather_dim": 0,
    "replica_groups": ReplicaGroups(((0, 1),)),
    "channel_id": 1,
    "channel_type": 1,
}
RAGGED: dict[str, Any] = {
    "lhs_contracting_dimensions": (1,),
    "rhs_contracting_dimensions": (1,),
    "lhs_ragged_dimensions": (0,),
    "rhs_group_dimensions": (0,),
    "precision_config": (Precision.HIGHEST, Precision.DEFAULT),
}


def test_a_flag_is_a_unit_attribute_or_absent() -> None:
    name = "use_global_device_ids"
    assert encode_attributes("stablehlo.all_gather", {**GATHER, name: True})[name] == UnitAttribute()
    assert name not in encode_attributes("stablehlo.all_gather", {**GATHER, name: False})


def test_a_boolean_is_a_boolean_attribute() -> None:
    assert "is_host_transfer" in encode_attributes("stablehlo.send", {"is_host_transfer": False})


def test_precision_is_of_the_dialect_of_the_operation() -> None:
    config = encode_attributes("chlo.ragged_dot", RAGGED)["precision_config"]
    assert isinstance(config, ArrayAttribute)
    assert config.values[0] == EnumAttribute("chlo", "precision", "HIGHEST")


@pytest.mark.parametrize(
    ("name", "shapes", "values"),
    [
        ("stablehlo.all_gather", [(2,), (4,)], {**GATHER, "use_global_device_ids": True}),
        ("chlo.ragged_dot", [(5, 2), (3, 2, 4), (3,), (5, 4)], RAGGED),
    ],
)
def test_jaxlib_reads_what_is_encoded(
    name: str, shapes: list[tuple[int, ...]], values: dict[str, Any]
) -> None:
    mlir = pytest.importorskip("jax.interpreters.mlir")
    types = [TensorType(shape, ELEMENT_TYPES["i32"]) for shape in shapes]
    block = Block(types[:-1])
    builder = Builder(block)
    result = builder.create(name, list(block.arguments), types[-1:], encode_attributes(name, values)).result
    text = str(main_module(builder, [result]))
    with mlir.make_ir_context():
        assert name in str(mlir.ir.Module.parse(text))
