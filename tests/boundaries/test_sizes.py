"""Sizes on both sides of each decision of native loops: right, and the same bits in every way of running.

``python -m tests.boundaries sizes`` does so for more element types and layouts.
"""

from __future__ import annotations

import pytest

from .crossings import FAMILIES, differences
from .products import LAYOUTS

NAMES = [(family, name) for family, table in FAMILIES.items() for name in table]
LONG = frozenset(
    f"kernels/{name}"
    for name in (
        "matmul/low_precision_matmul.pyx:MAX_TASKS",
        "matmul/matmul.pyx:MAX_TASKS",
        "matmul/low_precision_matmul.pyx:TARGET_WORK_ITEMS",
        "matmul/matrix_unit.h:AMX_K_TILES",
        "indexing/scatter_loops.py:FAR_BYTES",
        "simd/block_sizes.py:INTERLEAVED_TABLES",
        "simd/block_sizes.py:SCAN_PANEL",
        "simd/searches.py:_UNROLL",
        "reduction/select_and_scatter_rows.py:FARTHEST",
    )
)
"""Left to the campaign: their programs take a second or more."""


@pytest.mark.parametrize(
    ("family", "name"), [pair for pair in NAMES if pair[1] not in LONG], ids=lambda value: value
)
def test_both_sides(family: str, name: str) -> None:
    assert differences(family, name, "f32", LAYOUTS[len(name) % len(LAYOUTS)]) == []
