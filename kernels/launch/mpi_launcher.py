"""The environment variables that MPI launchers set; the module does not import MPI."""

from __future__ import annotations

import os
from typing import Final

_SIZE_VARIABLES: Final = ("PMI_SIZE", "OMPI_COMM_WORLD_SIZE", "MV2_COMM_WORLD_SIZE")
"""The variables of MPICH and derived libraries, of Open MPI, and of MVAPICH."""


def launched_ranks() -> int:
    """The number of ranks that the launcher states; 1 without a launcher."""
    for variable in _SIZE_VARIABLES:
        value = os.environ.get(variable, "")
        if value.isdecimal():
            return int(value)
    return 1
