"""Other implementations of StableHLO, as functions from a module and inputs to results.

`backend` finds one by its name. The results of a program on a backend are judged by `nimblehlo.accuracy` and
`nimblehlo.checks.testing.assert_matches`; `nimblehlo diff` and `nimblehlo fuzz` compare whole programs.
"""

from .backend import Backend, BackendError, BackendExit, BackendTimeout, CallableBackend, Description
from .isolation import IsolatedBackend
from .names import backend

__all__ = [
    "Backend",
    "BackendError",
    "BackendExit",
    "BackendTimeout",
    "CallableBackend",
    "Description",
    "IsolatedBackend",
    "backend",
]
