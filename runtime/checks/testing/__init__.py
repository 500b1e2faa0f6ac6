"""Tools of test suites: the pytest plugin, goldens, and the judgement of another implementation's results."""

from .jax_programs import program
from .matching import assert_matches

__all__ = ["assert_matches", "program"]
