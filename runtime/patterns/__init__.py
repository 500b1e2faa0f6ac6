"""Parallel patterns: gathers, scatters, and lambdas over arrays, composed in Python and run as StableHLO.

Called on arrays, a pattern computes; called within another pattern's lambda it becomes a part of that one's
program; `trace` gives the program itself. docs/patterns.md tells what each does, under which constraints.
"""

from .element_types import get_int_or_float_bit_width, get_int_type
from .indexing import sn_gather, sn_scatter
from .programs import trace
from .zipmapreduce import sn_imm, sn_iteridx, sn_select, sn_zipmapreduce

__all__ = [
    "get_int_or_float_bit_width",
    "get_int_type",
    "sn_gather",
    "sn_imm",
    "sn_iteridx",
    "sn_scatter",
    "sn_select",
    "sn_zipmapreduce",
    "trace",
]
