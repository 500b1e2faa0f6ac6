"""Programs run twice: as usual, and in a process in which memory that nothing has written holds NaNs.

In that process each block of memory is filled with NaNs when it is handed out and with other NaNs when it
is freed: arrays by `NIMBLEHLO_POISON_MEMORY`, all that malloc gives by `allocator.c`, what compiled code puts
on the stack by `scratch.py`. Blocks are guarded, so that what is written beside them ends the process. A
result that differs shows that something reads what it has not written, or writes what belongs to something
else.
"""
