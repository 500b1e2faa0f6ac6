"""The transport that counts what would travel between processes."""

from __future__ import annotations

import numpy as np

from nimblehlo import Grid
from tests.execution.grid.programs import all_reduce, function, groups
from tools.collective_traffic import Traffic
from tools.scale import all_reduce_costs, count


def test_traffic_is_counted_for_each_group() -> None:
    type = "tensor<6xf32>"
    text = function(
        f"%x: {type}",
        f"""{all_reduce(type, groups([[0, 1], [2, 3]]))}
        %g = "stablehlo.all_gather"(%r) {{all_gather_dim = 0 : i64, {groups([[0, 1, 2, 3]])}}}
          : ({type}) -> tensor<24xf32>
        %p = "stablehlo.collective_permute"(%x) {{
          source_target_pairs = dense<[[0, 1], [1, 2], [3, 3]]> : tensor<3x2xi64>}} : ({type}) -> {type}
        return %p : {type}""",
        type,
    )
    assert count(text, Grid(4)) == {
        Traffic("stablehlo.all_reduce", 2, 24, 24): 2,
        Traffic("stablehlo.all_gather", 4, 24, 96): 1,
        Traffic("stablehlo.collective_permute", 2, 24, 24): 3,
    }


def test_algorithms_send_as_few_bytes_as_can_be() -> None:
    """Each process sends what it does not keep, twice; a tree sends everything on each level."""
    costs = {cost.name.split()[0]: cost for cost in all_reduce_costs(8, 8000)}
    assert {cost.bytes for name, cost in costs.items() if name != "tree"} == {14000}
    assert costs["tree"].bytes == 3 * 8000
    assert costs["recursive"].rounds == 6 == 2 * int(np.log2(8))
