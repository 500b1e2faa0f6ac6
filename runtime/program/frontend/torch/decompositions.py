"""PyTorch's own decompositions, for operations without a conversion of their own.

Source: PyTorch, ``torch.export.default_decompositions`` and ``torch._decomp.decomposition_table``.
"""

from __future__ import annotations

import functools
from typing import Any, Final

from .fast_paths import FAST_PATHS
from .table import conversions

_KEPT: Final = frozenset({"aten._local_scalar_dense.default"})
"""Operations that are not decomposed, though they have no conversion: the error is to name them."""


def without_onednn() -> Any:
    """A context in which PyTorch decomposes recurrent layers to matrix products, not to calls of oneDNN."""
    import torch

    return torch.backends.mkldnn.flags(enabled=False)


def decomposed(exported: Any) -> Any:
    """An exported program of operations that are converted, as far as PyTorch can decompose it."""
    with without_onednn():
        return exported.run_decompositions(export_decompositions())


def export_decompositions() -> Any:
    """The decompositions of an exported program: PyTorch's default ones, and `graph_decompositions`."""
    from torch.export import default_decompositions

    table = default_decompositions()
    known = conversions()
    for target in [target for target in table if str(target) in known]:
        table.pop(target)
    table.update(graph_decompositions())
    return table


@functools.cache
def graph_decompositions() -> dict[Any, Any]:
    """The decompositions of a graph that torch.compile makes: all of PyTorch's without a conversion here."""
    import torch
    from torch._decomp import decomposition_table
    from torch.export import default_decompositions

    known = conversions()
    # The default decompositions come second: they call what an operation of other operations stands for.
    tables = {**decomposition_table, **default_decompositions()}
    tables |= {getattr(torch.ops.aten, name).default: function for name, function in FAST_PATHS.items()}
    return {
        target: function
        for target, function in tables.items()
        if str(target) not in known and str(target) not in _KEPT
    }
