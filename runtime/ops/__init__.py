"""The operations, each declared once; importing this package fills the registry."""

import importlib

from .declaration import Op, declarations, lookup

_FAMILIES = (
    "elementwise",
    "bitwise",
    "comparison",
    "conversion",
    "creation",
    "movement",
    "slicing",
    "broadcasting",
    "dynamic_shapes",
    "shape_dialects",
    "indexing",
    "gather",
    "column_gather",
    "column_scatter",
    "scatter",
    "whole_windows",
    "reduction",
    "position_reduction",
    "window",
    "sorting",
    "position_sorting",
    "contraction",
    "convolution",
    "fourier",
    "linalg",
    "random",
    "control",
    "cluster",
    "composite",
    "tuples",
    "batch_norm",
    "shape_custom_calls",
    "custom_call",
    "chlo",
    "chlo_broadcast",
    "chlo_scan",
    "chlo_ragged_dot",
    "interpreter",
    "check",
)

for _family in _FAMILIES:
    importlib.import_module(f".{_family}", __name__)

__all__ = ["Op", "declarations", "lookup"]
