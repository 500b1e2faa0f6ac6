"""How many values the loops of reductions and scans take at a time.

The deciding modules divide work by these numbers, and the loops are compiled with them. All but
SCAN_GROUP and SCAN_BLOCK may be changed without changing a bit of any result.
"""

SHORT_ROW = 48  # rows of fewer values are folded side by side
BATCH = 64  # such rows at a time
ROW_BLOCK = 32768  # neighbouring values that become one partial result: a power of two
RUN_BLOCK = 4096  # the same where they are collected from several runs first
COLUMN_BLOCK = 256  # rows that become one row of partial results, at least: a power of two
COLUMN_CHUNK = 1024  # columns at a time, so that partial rows stay in the first cache
ARGUMENT_BLOCK = 4096  # neighbouring values searched at a time
ARGUMENT_CHUNK = 512  # columns searched at a time
SCAN_GROUP = 16  # values of a scan that are folded from the left
SCAN_BLOCK = 256  # values of a scan, the groups of which are folded from the left
SCAN_LANES = 16  # lines of a scan side by side
SCAN_PANEL = SCAN_LANES * SCAN_BLOCK  # values of so many lines
SCAN_CHUNK = 512  # columns scanned at a time
CACHE_LINE = 64  # bytes
NONTEMPORAL_BYTES = 1 << 22  # a scatter's result of so many bytes is written past the caches
INTERLEAVED_TABLES = 4  # tables that a task of a scatter fills at the same time, if not one
