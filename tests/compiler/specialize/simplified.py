"""How rewrites are tested: what a program becomes, and that its results keep their bits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from nimblehlo.compiler.specialize import LAST_WITHOUT_REWRITES, specialize
from nimblehlo.execution.program import Program
from nimblehlo.options import Options
from nimblehlo.program.frontend import parse
from nimblehlo.program.ir import Function
from nimblehlo.program.ops.framework.declaration import Op, declaration_of
from nimblehlo.program.ops.framework.verify import verify
from nimblehlo.types import BOOLEAN, COMPLEX, FLOAT, TensorType
from tests.program.ops.oracles import float_values, integer_values
from tests.support.running import same_bits

INTERNAL = "nimblehlo."
"""Operations that the specializer makes; no constraint of the specification is theirs."""


def function(arguments: str, results: str, body: str) -> str:
    """A program: ``%a: tensor<f32>`` and so on, result types, and lines the last of which returns."""
    return f"func.func @main({arguments}) -> ({results}) {{\n{body}\n}}"


def simplified(text: str, *, rewrite: bool = True) -> Function:
    """The specialized function, each of its operations verified again."""
    module = parse(text)
    verify(module)
    made = specialize(module, "main", last_pass=None if rewrite else LAST_WITHOUT_REWRITES)
    assert made.body is not None
    for operation in made.body.walk():
        if not declaration_of(operation).is_terminator and not operation.name.startswith(INTERNAL):
            Op.of(operation).verify()
    return made


def left(made: Function) -> list[str]:
    """The names of what is left, dialect stablehlo and constants aside."""
    assert made.body is not None
    names = [operation.name for operation in made.body.walk() if not declaration_of(operation).is_terminator]
    return [name.removeprefix("stablehlo.") for name in names if name != "stablehlo.constant"]


def edge_values(type: TensorType, seed: int = 0) -> np.ndarray[Any, Any]:
    """Values of a type: the edges first, then random ones."""
    random = np.random.default_rng(seed)
    if type.category == COMPLEX:
        part = np.resize(random.permutation(float_values("f32")), 2 * type.size)
        with np.errstate(invalid="ignore"):  # infinities times the real part of 1j
            return (part[: type.size] + 1j * part[type.size :]).astype(type.dtype).reshape(type.shape)
    if type.category == BOOLEAN:
        return random.integers(0, 2, type.shape).astype(bool)
    values = (
        float_values(str(type.element_type))
        if type.category == FLOAT
        else integer_values(str(type.element_type))
    )
    return np.resize(random.permutation(values), type.shape).astype(type.dtype)


def run(made: Function, inputs: Sequence[Any], compile: str = "never") -> list[np.ndarray[Any, Any]]:
    """The results of a specialized function."""
    arguments = tuple(map(np.asarray, inputs))
    return [np.asarray(result) for result in Program(made, Options(compile=compile)).run(arguments)]


def assert_becomes(text: str, expected: Sequence[str], *inputs: Any) -> Function:
    """A program has only the expected operations left, in any order, and gives the same bits as before."""
    made = simplified(text)
    assert Counter(left(made)) == Counter(expected), left(made)
    assert_same_bits(text, *inputs)
    return made


def assert_same_bits(text: str, *inputs: Any) -> None:
    """A program gives the same bits with and without rewrites, by reference steps and by kernels."""
    plain, made = simplified(text, rewrite=False), simplified(text)
    draws = [inputs] if inputs else [_arguments(plain, seed) for seed in range(3)]
    for arguments in draws:
        wanted = run(plain, arguments)
        for compile in ("never", "eager"):
            for got, want in zip(run(made, arguments, compile), wanted, strict=True):
                assert same_bits(got, want)


def _arguments(made: Function, seed: int) -> list[np.ndarray[Any, Any]]:
    types = [type for type in made.type.inputs if isinstance(type, TensorType)]
    return [edge_values(type, seed + index) for index, type in enumerate(types)]
