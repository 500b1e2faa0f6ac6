"""Why the frontend and jaxlib's parser differ on a program."""

from __future__ import annotations

import re
from typing import Final

UNEXPLAINED: Final = "unexplained"
OTHER_DIALECT: Final = "it has operations of a dialect of which the runtime offers few operations or none"

_COMMENT: Final = re.compile(r"//[^\n]*")
_FOREIGN: Final = re.compile(
    r"(?<![\w.#!@%$])\"?(?:acc|affine|amdgpu|arith|arm_\w+|async|bufferization|builtin|cf|complex|emitc|gpu|index"
    r"|irdl|linalg|llvm|math|memref|mhlo|ml_program|mpmd|nvgpu|nvvm|omp|pdl\w*|rocdl|scf|shape|sparse_tensor|spirv"
    r"|tensor|tosa|transform|ub|vector|vhlo|x86\w*)\.[a-z]|func\.constant"
)


def is_foreign(program: str) -> bool:
    """Whether a program has operations of dialects of which the runtime offers few operations or none."""
    return _FOREIGN.search(_COMMENT.sub("", program)) is not None


def refused_there(message: str) -> str:
    """Why jaxlib refuses a program that the frontend accepts."""
    return next((reason for pattern, reason in ONLY_FRONTEND if re.search(pattern, message)), UNEXPLAINED)


def refused_here(message: str, foreign: bool) -> str:
    """Why the frontend refuses a program that jaxlib accepts."""
    if foreign:
        return OTHER_DIALECT
    return next((reason for pattern, reason in ONLY_JAXLIB if re.search(pattern, message)), UNEXPLAINED)


ONLY_FRONTEND: Final[tuple[tuple[str, str], ...]] = (
    (r"!\"quant\"<", "jaxlib does not register the dialect quant, whose types StableHLO uses"),
    (
        r"Dialect `(?:check|interpreter)'",
        "jaxlib does not register the interpreter's dialects check and interpreter",
    ),
    (
        r"unregistered dialect|Dialect `\w+' not found",
        "types, attributes and generic operations of other dialects stay text until an operation needs them",
    ),
    (r"process ended", "jaxlib ends the process"),
    (
        r"promotable from the op's|'stablehlo\.reduce(_window)?' op inferred type|compatible element type\.",
        "element types differ between operands, or from the body's: the runtime converts, as XLA does",
    ),
    (
        r"inferred type\(s\).*bounds.*incompatible|mesh symbol .* not found|at least one data operand",
        "the rule is checked when the program runs, where sizes, meshes and processes are known",
    ),
    (r"commutative binary-op", "the order of a reduction is defined, so its operation need not commute"),
    (
        r"IRFFT requires|must be statically shaped|statically shaped or single bounded",
        "sizes that are not known when the program is loaded are checked once they are",
    ),
    (r"layout-attribute", "the layout of infeed is for devices; it changes no result"),
    (r"channel_id must be positive", "the specification states this rule for other collectives"),
    (r"one of: `lhs_batching_dimensions`", "fields of a struct may be separated by commas alone"),
    (r"window-dimensions size ==", "window_dimensions is optional: each is 1"),
    (r"future element type|unknown stablehlo type", "types that no operation uses are not checked"),
    (r"VHLO", "attributes of VHLO are those of another dialect"),
    (r"must be signless", "si32 is the specification's name of what MLIR prints as i32"),
)
"""Patterns of jaxlib's messages, and why the frontend accepts such programs."""

ONLY_JAXLIB: Final[tuple[tuple[str, str], ...]] = (
    (r"returns \(.*declared to return", "a function returns values of other types than it declares"),
    (
        r"indices_of_shape_operands|@stablehlo\.dynamic_",
        "custom calls that JAX guarantees are verified as the operations that they stand for",
    ),
    (r"there is no target @", "the runtime has no such custom call target, and no user registered one"),
    (r"unranked types", "the specification has no unranked tensors"),
    (
        r"operands must be any, but (?:is|are) |unknown sizes, but buffers",
        "a value of a type that the specification lacks",
    ),
    (
        r"\((?:C|I)\d+\)|einsum_config|precision_config has|calls itself",
        "the frontend checks a constraint of the specification that jaxlib does not check",
    ),
)
"""Patterns of the frontend's messages, and why it refuses such programs."""
