"""Runs the processes of a grid in one process of the operating system.

A process of the grid is a coroutine: it runs the steps of the plan, which all processes share, until it has
to wait for another process or for the host. One thread runs the processes in turn, always in the same order,
so that nothing depends on timing, there may be any number of processes, and a deadlock is known at once: no
process is ready.

- `process`: what a program sees of the grid;
- `program`: a plan as a coroutine;
- `scheduler`: runs the coroutines of a grid;
- `transport`: how values get from process to process;
- `host`: Python queues as the other end of infeed, outfeed and host transfers;
- `runner`: what a `nimblehlo.Executable` calls.
"""
