"""Block sizes of the loops of argument searches, scans and scatters.

The planning modules divide work by these sizes, and the loops are compiled with them. Only SCAN_GROUP and
SCAN_BLOCK affect the bits of results.
"""

ARGUMENT_BLOCK = 4096  # contiguous values per block of arg_reduce
ARGUMENT_GROUP = 64  # of these values that are compared with the best ones at a time, at most
SCAN_GROUP = 16  # values of a scan that are combined from left to right
SCAN_BLOCK = 256  # values of a scan whose groups are combined from left to right
SCAN_LANES = 16  # fibers scanned in parallel, one per lane
SCAN_PANEL = SCAN_LANES * SCAN_BLOCK  # values of SCAN_LANES fibers
SCAN_CHUNK = 512  # columns per chunk of a scan
SEARCH_BLOCK = 64  # elements that one call of `searches.which_above` compares
SCAN_FLAGS = 8  # the index of the first flag of `scan_loops.scan_blocks`, after the number of the next panel
CACHE_LINE_BYTES = 64  # as on all x86-64 processors and most of aarch64
NONTEMPORAL_BYTES = 1 << 22  # of results that are stored past the caches, unless a kernel has a limit
INTERLEAVED_TABLES = 4  # tables that a scatter task fills in turn, if not one
