"""Runs the processes of one grid in several processes of the operating system, over MPI.

The extra ``nimblehlo[mpi]`` brings mpi4py and MPICH; another MPI of the system serves as well.

- `launch`: what users call;
- `transport`: how values get to processes elsewhere, and how a run ends everywhere;
- `messages`: messages with arrays;
- `liveness`: notices ranks that have died.
"""

from .launch import MPIExecutable, compile, execute

__all__ = ["MPIExecutable", "compile", "execute"]
