"""Functions written in JAX, lowered at test time; needs the extra `jax`.

Each module holds one family. `MODELS` maps the name of each function to its `Model`.
"""

from . import (
    contractions,
    control_flow,
    convolutions,
    dynamic_shapes,
    element_types,
    indexing,
    linear_algebra,
    movement,
    networks,
    random_keys,
    random_numbers,
    reductions,
    special_functions,
)
from .model import MODELS, Model

FAMILIES = (
    contractions,
    control_flow,
    convolutions,
    dynamic_shapes,
    element_types,
    indexing,
    linear_algebra,
    movement,
    networks,
    random_keys,
    random_numbers,
    reductions,
    special_functions,
)

__all__ = ["FAMILIES", "MODELS", "Model"]
