"""How arrays are divided among devices."""

from __future__ import annotations

import numpy as np

from nimblehlo.jax.pjrt import wire
from nimblehlo.jax.pjrt.shards import REPLICATED, Shards
from nimblehlo.program.ir.sharding import AxisRef, DimensionSharding, Mesh, MeshAxis, TensorSharding

MESH = Mesh((MeshAxis("x", 2), MeshAxis("y", 2)))
WHOLE = np.arange(8, dtype=np.float32).reshape(4, 2)


def test_devices_hold_terms_of_an_unreduced_array() -> None:
    sharding = TensorSharding(
        MESH,
        (DimensionSharding((AxisRef("x"),), True), DimensionSharding((), True)),
        unreduced=(AxisRef("y"),),
    )
    shards = Shards((4, 2), sharding, {}, 4)
    cut = shards.cut(WHOLE)
    assert [shard.shape for shard in cut] == [(2, 2)] * 4
    assert np.array_equal(cut[0] + cut[1], WHOLE[:2])
    assert not cut[3].any()
    assert np.array_equal(shards.assembled(cut), WHOLE)
    # xla/xla_data.proto: OTHER, tile_assignment_dimensions and _devices, last_tile_dims = [UNREDUCED]
    fields = [(1, 3), (3, wire.pack([2, 1, 2])), (4, wire.pack([0, 1, 2, 3])), (8, wire.pack([6]))]
    assert shards.op_sharding == wire.encode(fields)
    terms = [np.full((2, 2), 2.0**device, np.float32) for device in range(4)]
    assert shards.assembled(terms).tolist() == [[3, 3]] * 2 + [[12, 12]] * 2


def test_an_unreduced_scalar() -> None:
    sharding = TensorSharding(MESH, (), unreduced=(AxisRef("x"), AxisRef("y")))
    shards = Shards((), sharding, {}, 4)
    assert shards.assembled([np.array(number) for number in range(4)]) == 6
    assert [float(shard) for shard in shards.cut(np.array(6.0))] == [6, 0, 0, 0]


def test_partial_maxima_are_named_and_may_all_be_the_maximum() -> None:
    sharding = TensorSharding(MESH, (), unreduced=(AxisRef("x"), AxisRef("y")), reduction="max")
    shards = Shards((), sharding, {}, 4)
    assert [float(shard) for shard in shards.cut(np.array(6.0))] == [6] * 4
    assert shards.assembled([np.array(number) for number in range(4)]) == 3
    # xla/xla_data.proto: metadata, whose op_type and op_name are the key and the value
    metadata = wire.encode([(1, b"sdy::reduction_op"), (2, b"MAX")])
    fields = [(1, 3), (3, wire.pack([4])), (4, wire.pack([0, 1, 2, 3])), (7, metadata), (8, wire.pack([6]))]
    assert shards.op_sharding == wire.encode(fields)


def test_a_mesh_without_axes_divides_nothing() -> None:
    sharding = TensorSharding(Mesh(()), (DimensionSharding((), True),))
    shards = Shards((4,), sharding, {}, 2)
    assert shards.shard_shape == (4,)
    assert shards.op_sharding == REPLICATED
