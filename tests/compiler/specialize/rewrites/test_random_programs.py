"""Random programs give the same bits with and without rewrites."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("jaxlib")

import nimblehlo
from nimblehlo.checks.fuzzing.programs import random_program
from nimblehlo.compiler.specialize import LAST_WITHOUT_REWRITES, specialize
from nimblehlo.errors import NimbleError
from nimblehlo.program.ops.framework.declaration import Op, declaration_of
from tests.checks.fuzzing import rules
from tests.checks.fuzzing.variants import for_runtime, text_of
from tests.compiler.specialize.simplified import INTERNAL, run

SAMPLE = 300


def outcome(module: Any, inputs: list[np.ndarray[Any, Any]], *, rewrite: bool) -> Any:
    """The results of a program, or the error that it ends with."""
    try:
        made = specialize(module, "main", last_pass=None if rewrite else LAST_WITHOUT_REWRITES)
        assert made.body is not None
        for operation in made.body.walk():
            if not declaration_of(operation).is_terminator and not operation.name.startswith(INTERNAL):
                Op.of(operation).verify()
        return run(made, inputs)
    except NimbleError as error:
        return str(error)


CONSTANTS = ("constants as inputs", "constants in the program")


@pytest.mark.parametrize("constants", CONSTANTS)
def test_random_programs_keep_their_bits(constants: str, is_campaign: bool) -> None:
    """Each program has its constants in one of the two places, in campaigns in both."""
    for seed in range(SAMPLE) if is_campaign else range(CONSTANTS.index(constants), SAMPLE, len(CONSTANTS)):
        program = random_program(seed)
        module, inputs = for_runtime(program, program.results, {})
        if constants == "constants in the program":
            module, inputs = nimblehlo.load(text_of(program)), []
        plain, made = (outcome(module, inputs, rewrite=rewrite) for rewrite in (False, True))
        if isinstance(plain, str) or isinstance(made, str):
            assert plain == made, f"seed {seed}"
            continue
        for got, want in zip(made, plain, strict=True):
            assert rules.same_but_for_nan(got, want), f"seed {seed}: {rules.first_difference(want, got)}"
