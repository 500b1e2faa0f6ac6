"""Exchanges the values of a grid's processes between processes of the operating system, over MPI.

`nimblehlo.mpi` has the functions that users call.

- `transport`: how values get to processes elsewhere, and how a run ends everywhere;
- `messages`: messages with arrays;
- `liveness`: detects ranks that have died.
"""
