"""Integers to multiply."""

import numpy as np


def extreme(generator, dtype, shape):
    """Random integers of the whole range, the extreme ones among them."""
    info = np.iinfo(dtype)
    values = generator.integers(info.min, info.max, shape, dtype, endpoint=True)
    values[generator.random(shape) < 0.2] = info.min
    values[generator.random(shape) < 0.2] = info.max
    return values
