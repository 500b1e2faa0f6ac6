"""Fast functions of f32, and what HIGHEST, a TOLERANCE or `Options(functions=...)` take instead."""

from __future__ import annotations

import hashlib
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.kernels.launch.threads import TASK_BYTES
from nimblehlo.program.ops.framework.declaration import declarations
from nimblehlo.program.ops.numerics.result_accuracy import FAST_ERROR
from nimblehlo.types import ELEMENT_TYPES
from tests.processors.levels import available_levels, environment
from tests.support.running import MODES, assert_same_bits
from tools import fast_functions
from tools.fast_functions import DECLARATIONS, arity, real_function
from tools.operand_pairs import edge_pairs

Array = np.ndarray[Any, Any]

CORRECTLY = "correctly_rounded"
VALUES = np.random.default_rng(0).uniform(0.01, 3, 5000).astype(np.float32)
INSIDE = VALUES / 4
ON_UNIT_INTERVAL = ("chlo.acos", "chlo.asin", "chlo.erf_inv")
"""The functions that have values between -1 and 1."""
_SPECIAL = """
    0.0 1e-45 1e-40 1.1754944e-38 2.9e-8 0.28768 0.4054 0.975 1.0 1.4142135 4.0 10.0 17.3 18.1 87.3 88.7
    88.73 89.1 89.41598 89.5 103.9 105.1 68850.37 8.1234001e17 1.1529215e18 8.7137679e32 16777216.0
    3.4028235e38 5.421011e-20 0.5 0.99662537 0.99999994 inf nan
"""
SPECIAL = np.array(_SPECIAL.split(), np.float32)
SPECIAL = np.concatenate([SPECIAL, -SPECIAL])


def accuracy(mode: str, ulps: int = 0, rtol: float = 0.0) -> str:
    """The attribute in braces."""
    return (
        f"{{result_accuracy = #stablehlo.result_accuracy<atol = 0.0, rtol = {rtol:.40f}, ulps = {ulps}, "
        f"mode = #stablehlo.result_accuracy_mode<{mode}>>}}"
    )


def operands_of(name: str, values: Array) -> list[Array]:
    """The values, and others for a function of two."""
    return [values, np.roll(values, 7)][: arity(name)]


def application(name: str, operand: str, type: str, attributes: str = "") -> str:
    """The operation on the values of this name, which have numbers."""
    operands = ", ".join(f"%{operand}{k}" for k in range(arity(name)))
    return f'"{name}"({operands}) {attributes} : ({", ".join([type] * arity(name))}) -> {type}'


def parameters(name: str, type: str) -> str:
    """The parameters of a program that has an operation's operands."""
    return ", ".join(f"%x{k}: {type}" for k in range(arity(name)))


def program(name: str, size: int, attributes: str = "", element: str = "f32") -> str:
    type = f"tensor<{size}x{element}>"
    return f"""func.func @main({parameters(name, type)}) -> {type} {{
      %y = {application(name, "x", type, attributes)}
      return %y : {type}
    }}"""


def apply(name: str, values: Array, attributes: str = "", **options: Any) -> Array:
    is_bf16 = values.itemsize == 2 and values.dtype != np.float16
    element = "bf16" if is_bf16 else f"f{8 * values.itemsize}"
    text = program(name, values.size, attributes, element)
    (result,) = nimblehlo.execute(text, operands_of(name, values), options=Options(**options))
    return np.asarray(result)


def fast(name: str, *operands: Array) -> Array:
    with np.errstate(all="ignore"):
        return np.asarray(real_function(name).fast(*operands))


def correct(name: str, *operands: Array) -> Array:
    with np.errstate(all="ignore"):
        true = real_function(name)(*[each.astype(np.float64) for each in operands])
        return np.asarray(true.astype(np.float32))


@pytest.mark.parametrize("name", DECLARATIONS)
def test_fast_and_correctly_rounded_values_differ(name: str) -> None:
    """Otherwise the other tests would show nothing."""
    operands = operands_of(name, INSIDE if name in ON_UNIT_INTERVAL else VALUES)
    assert np.count_nonzero(fast(name, *operands) != correct(name, *operands)) > 2


@pytest.mark.parametrize("name", DECLARATIONS)
def test_modes_choose_the_implementation(name: str) -> None:
    values = INSIDE if name in ON_UNIT_INTERVAL else VALUES
    operands = operands_of(name, values)
    assert_same_bits(apply(name, values), fast(name, *operands))
    assert_same_bits(apply(name, values, functions=CORRECTLY), correct(name, *operands))
    if "result_accuracy" not in {each.name for each in DECLARATIONS[name].declared_attributes}:
        return
    for attributes in (accuracy("DEFAULT"), accuracy("TOLERANCE", 1), accuracy("TOLERANCE", 0, 2.0**-23)):
        assert_same_bits(apply(name, values, attributes), fast(name, *operands))
        assert_same_bits(apply(name, values, attributes, functions=CORRECTLY), correct(name, *operands))
    for attributes in (accuracy("HIGHEST"), accuracy("TOLERANCE", 0, 0.99 * 2.0**-23)):
        assert_same_bits(apply(name, values, attributes), correct(name, *operands))


@pytest.mark.parametrize("functions", ["fast", CORRECTLY])
@pytest.mark.parametrize("name", DECLARATIONS)
def test_all_implementations_give_the_same_bits(name: str, functions: str) -> None:
    """Alone, fused, as a step on few elements, folded, and in the loops of references and of threads."""

    def expected(values: Array) -> Array:
        return (fast if functions == "fast" else correct)(name, *operands_of(name, values))

    large = np.resize(np.concatenate([SPECIAL, VALUES]), 4 * TASK_BYTES // 4 + 3)
    for mode in MODES.values():
        options = {"functions": functions, "compile": mode.compile, "threads": mode.threads}
        assert_same_bits(apply(name, large, **options), expected(large))
        assert_same_bits(apply(name, SPECIAL[:3], **options), expected(SPECIAL[:3]))
        (result,) = nimblehlo.execute(
            between_negations(name, large.size),
            operands_of(name, -large),
            options=Options(**options),  # type: ignore[arg-type]
        )
        assert_same_bits(np.asarray(result), -expected(large))
    assert_same_bits(apply(name, SPECIAL, functions=functions, reference=True), expected(SPECIAL))
    (folded,) = nimblehlo.execute(of_constants(name), [], options=Options(functions=functions))  # type: ignore[arg-type]
    assert_same_bits(np.asarray(folded), expected(VALUES[:4]))


def between_negations(name: str, size: int) -> str:
    """A program that applies a function to the negated operands, and negates its result."""
    type = f"tensor<{size}xf32>"
    negations = [f"%n{k} = stablehlo.negate %x{k} : {type}" for k in range(arity(name))]
    lines = (*negations, f"%y = {application(name, 'n', type)}", f"%z = stablehlo.negate %y : {type}")
    body = "\n".join((*lines, f"return %z : {type}"))
    return f"func.func @main({parameters(name, type)}) -> {type} {{\n{body}\n}}"


def of_constants(name: str) -> str:
    """A program that applies a function to the first four values."""
    type = "tensor<4xf32>"
    operands = enumerate(operands_of(name, VALUES[:4]))
    constants = [f"%c{k} = stablehlo.constant dense<{each.tolist()}> : {type}" for k, each in operands]
    body = "\n".join((*constants, f"%y = {application(name, 'c', type)}", f"return %y : {type}"))
    return f"func.func @main() -> {type} {{\n{body}\n}}"


@pytest.mark.sampled
@pytest.mark.parametrize("element", ["bf16", "f16", "f64"])
@pytest.mark.parametrize("name", DECLARATIONS)
def test_other_types_are_computed_as_they_were(name: str, element: str) -> None:
    type = ELEMENT_TYPES[element]
    values = VALUES.astype(type.dtype)
    with np.errstate(all="ignore"):
        expected = np.asarray(DECLARATIONS[name].function_of(type)(*operands_of(name, values)))
    for compile in ("never", "eager"):
        assert_same_bits(apply(name, values, compile=compile), expected)


def test_no_declaration_has_a_fast_function_that_is_not_measured() -> None:
    assert {one.name for one in declarations() if one.emit.fast_function} == DECLARATIONS.keys()


@pytest.mark.parametrize("name", DECLARATIONS)
def test_errors_are_those_that_the_document_states(name: str) -> None:
    text = fast_functions.DOCUMENT.read_text(encoding="utf-8")
    match = re.search(rf"^\| `{re.escape(name)}` \| (\S+) \| [^|]+ \| \S+ \| 0 \|", text, re.MULTILINE)
    assert match is not None, "run python tools/fast_functions.py --write"
    stated = float(match[1])
    assert stated <= FAST_ERROR
    measured = fast_functions.measure(name, stride=4001)
    assert measured.differing == 0
    assert stated / 2 < measured.error <= stated + 0.0005


@pytest.mark.parametrize("name", DECLARATIONS)
def test_special_values_are_those_of_correct_rounding(name: str) -> None:
    operands = (SPECIAL,) if arity(name) == 1 else edge_pairs()
    with np.errstate(all="ignore"):
        true = real_function(name)(*[each.astype(np.float64) for each in operands])
        assert fast_functions.errors(fast(name, *operands), true).max() <= FAST_ERROR


def test_errors_of_wrong_values() -> None:
    values = np.array([np.inf, np.nan, 0.0, 1.0, 3e-45, -0.0, 3.4028235e38], np.float32)
    true = np.array([1.0, 1.0, -0.0, 1 + 2.0**-23, 1.4e-45, -0.0, 1e39])
    errors = fast_functions.errors(values, true)
    assert errors[[0, 1, 2, 6]].tolist() == [np.inf] * 4
    assert errors[[3, 5]].tolist() == [1.0, 0.0]
    assert 1 < errors[4] < 1.2


def digest() -> str:
    """Of the bits of all fast functions, by ufuncs and generated loops."""
    bits = hashlib.sha256()
    codes = np.arange(1, 1 << 32, 400_009, dtype=np.uint64).astype(np.uint32)
    values = np.concatenate([SPECIAL, VALUES, codes.view(np.float32)])
    for name in DECLARATIONS:
        for result in (fast(name, *operands_of(name, values)), apply(name, values, compile="eager")):
            bits.update(np.where(np.isnan(result), np.float32(0), result).tobytes())
    return bits.hexdigest()


@pytest.mark.parametrize("level", available_levels())
def test_levels_have_the_same_bits(level: str) -> None:
    code = f"from {__name__} import digest; print(digest())"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=environment(level),
        cwd=Path(__file__).parents[4],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == digest()
