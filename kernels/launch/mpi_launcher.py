"""The environment variables that MPI launchers set; the module does not import MPI."""

from __future__ import annotations

import os
from typing import Final

_SIZE_VARIABLES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""The variables of MPICH and derived libraries, of Open MPI, and of MVAPICH."""
_PMIX_RANK: Final = "PMIX_RANK"
"""The variable of each rank that a launcher starts by PMIx, which has none for the number of ranks."""
_SLURM_TASKS: Final = "SLURM_STEP_NUM_TASKS"
"""Slurm's variable for the number of processes that `srun` starts. Without PMIx they are no ranks."""


def launched_ranks() -> int:
    """The number of ranks that the launcher states; 1 without a launcher."""
    variables = (*_SIZE_VARIABLES, _SLURM_TASKS) if _PMIX_RANK in os.environ else _SIZE_VARIABLES
    for variable in variables:
        value = os.environ.get(variable, "")
        if value.isdecimal():
            return int(value)
    return 1
