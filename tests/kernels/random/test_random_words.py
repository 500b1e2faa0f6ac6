"""The words of generators, counters side by side: those of the references."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.kernels.random import random_words
from nimblehlo.program.ops.random import random

EDGES = [0, 1, 2**32 - 1, 2**32, 2**63, 2**64 - 5, 2**64 - 1, 0x0123456789ABCDEF]


@pytest.mark.parametrize("count", [0, 1, 31, 32, 33, 1000])
@pytest.mark.parametrize("key", EDGES)
def test_words_are_those_of_the_references(key: int, count: int) -> None:
    """Counters that run over 32 and 64 bits are among them."""
    for counter in EDGES:
        words = [np.uint64(key), np.uint64(counter)]
        with np.errstate(over="ignore"):
            expected = random._three_fry_words(*words, count)
        assert (random_words.three_fry(*words, count) == expected).all()
        for high in (0, 2**64 - 1, 12345):
            with np.errstate(over="ignore"):
                expected = random._philox_words(*words, np.uint64(high), count)
            assert (random_words.philox(*words, np.uint64(high), count) == expected).all()
