"""Runs the processes of one grid in several processes of the operating system, over MPI.

The extra ``nimblehlo[mpi]`` brings mpi4py and MPICH; another MPI of the system serves as well.

- `launch`: the functions that users call;
- `transport`: how values get to processes elsewhere, and how a run ends everywhere;
- `messages`: messages with arrays;
- `liveness`: detects ranks that have died.
"""

from .launch import MPIExecutable, compile, execute

__all__ = ["MPIExecutable", "compile", "execute"]
