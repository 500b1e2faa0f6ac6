"""Faults inside models that JAX exports: each kind is found, at its own line, and nothing else."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import ExecutionError, Options, UndefinedBehaviorError

jax = pytest.importorskip("jax")
jnp, lax = jax.numpy, jax.lax

Fault = Callable[[Any], Any]
WEIGHTS = np.linspace(-0.3, 0.3, 3 * 8 * 8, dtype=np.float32).reshape(3, 8, 8)
INPUT = np.linspace(0.1, 0.9, 32, dtype=np.float32).reshape(4, 8)


def model(fault: Fault) -> Callable[[Any, Any], Any]:
    """Three layers in a loop; the fault is in a branch of each layer."""

    def layer(hidden: Any, weights: Any) -> tuple[Any, None]:
        mixed = jnp.tanh(hidden @ weights) + hidden
        return lax.cond(mixed[0, 0] > -10, fault, lambda x: x, mixed), None

    def run(x: Any, weights: Any) -> Any:
        hidden, _ = lax.scan(layer, x, weights)
        return jax.nn.softmax(hidden).sum(axis=0)

    return run


def zero(x: Any) -> Any:
    """The integer 0, which no compiler knows."""
    return (jnp.abs(x[0, 0]) * 0).astype(jnp.int32)


def repeated(x: Any) -> Any:
    places = jnp.array([1, 2, 1]) + zero(x)
    return x.at[places].set(x[:3], unique_indices=True)  # FAULT


def descending(x: Any) -> Any:
    places = jnp.array([1, 3, 2]) + zero(x)
    return x.at[places].add(x[:3], indices_are_sorted=True)  # FAULT


def clamped(x: Any) -> Any:
    places = jnp.array([1, 4]) + zero(x)
    picked = x.at[places].get(mode="promise_in_bounds")  # FAULT
    return x + picked.sum(axis=0)


def dropped(x: Any) -> Any:
    places = jnp.array([1, 4]) + zero(x)
    return x.at[places].add(x[:2], mode="drop")  # FAULT


def divided_by_zero(x: Any) -> Any:
    quotient = lax.div(jnp.int32(7), zero(x))  # FAULT
    return x + quotient.astype(jnp.float32) * 0


def overflowing(x: Any) -> Any:
    quotient = lax.div(zero(x) + np.int32(-(2**31)), zero(x) - 1)  # FAULT
    return x + quotient.astype(jnp.float32) * 0


def shifted(x: Any) -> Any:
    bits = lax.shift_left(zero(x) + 1, zero(x) + 32)  # FAULT
    return x + bits.astype(jnp.float32) * 0


def converted(x: Any) -> Any:
    bytes_ = (x * 0 + 300).astype(jnp.int8)  # FAULT
    return x + bytes_ * 0


def saturated(x: Any) -> Any:
    return lax.floor(x * 0 + 40)  # FAULT


def infinite(x: Any) -> Any:
    logarithm = jnp.log(x[0] * 0)  # FAULT
    return x + jnp.where(jnp.isfinite(logarithm), logarithm, 0)


def unwritten(x: Any) -> Any:
    buffer = jax.ffi.ffi_call("AllocateBuffer", jax.ShapeDtypeStruct((4, 8), np.float32))()
    buffer = lax.dynamic_update_slice(buffer, x[:3], (zero(x), zero(x)))
    return x + buffer * 0  # FAULT


def fine(x: Any) -> Any:
    places = jnp.array([1, 2, 3]) + zero(x)
    return x.at[places].set(x[:3], unique_indices=True, indices_are_sorted=True)


FAULTS = {
    "unique_indices": (repeated, "stablehlo.scatter"),
    "indices_are_sorted": (descending, "stablehlo.scatter"),
    "clamped_indices": (clamped, "stablehlo.gather"),
    "dropped_updates": (dropped, "stablehlo.scatter"),
    "division_by_zero": (divided_by_zero, "stablehlo.divide"),
    "division_overflow": (overflowing, "stablehlo.divide"),
    "shift_amount": (shifted, "stablehlo.shift_left"),
    "float_to_integer": (converted, "stablehlo.convert"),
    "quantized_saturation": (saturated, "stablehlo.floor"),
    "non_finite": (infinite, "stablehlo.log"),
    "uninitialized_memory": (unwritten, "stablehlo.multiply"),
}


def exported(fault: Fault) -> str:
    """The text of the model with its locations; JAX has no quantized types, so floor gets them here."""
    lowered = jax.jit(model(fault)).lower(INPUT, WEIGHTS)
    lines = []
    for line in lowered.as_text(debug_info=True).splitlines():
        if "stablehlo.floor" not in line:
            lines.append(line)
            continue
        name, operand = line.split("=")[0].strip(), line.split("floor")[1].split(":")[0].strip()
        location = line[line.index("loc(") :]
        tensor, quantized = "tensor<4x8xf32>", "tensor<4x8x!quant.uniform<i8:f32, 1.0>>"
        lines += [
            f"%low = stablehlo.uniform_quantize {operand} : ({tensor}) -> {quantized}",
            f"%twice = stablehlo.add %low, %low : {quantized}",
            f"%more = stablehlo.add %twice, %twice : {quantized} {location}",
            f"{name} = stablehlo.uniform_dequantize %low : ({quantized}) -> {tensor}",
        ]
    return "\n".join(lines)


def line_of_fault(fault: Fault) -> int:
    lines, first = inspect.getsourcelines(fault)
    return first + next(number for number, line in enumerate(lines) if "# FAULT" in line)


@pytest.mark.parametrize("check", FAULTS)
def test_a_fault_is_found_where_it_is(check: str) -> None:
    fault, operation = FAULTS[check]
    operation = "stablehlo.add" if check == "quantized_saturation" else operation
    executable = nimblehlo.compile(exported(fault), options=Options(sanitize=True, sanitize_action="collect"))
    executable(INPUT, WEIGHTS)
    assert {(finding.check, finding.operation) for finding in executable.findings} == {(check, operation)}
    assert len(executable.findings) == len(WEIGHTS)
    assert all(f"test_models.py:{line_of_fault(fault)}:" in one.location for one in executable.findings)
    with pytest.raises(UndefinedBehaviorError, match=check) as error:
        nimblehlo.execute(exported(fault), [INPUT, WEIGHTS], options=Options(sanitize=True))
    assert error.value.operation == operation


def test_a_model_without_faults_has_no_findings() -> None:
    text = exported(fine)
    executable = nimblehlo.compile(text, options=Options(sanitize=True))
    (found,) = executable(INPUT, WEIGHTS)
    (expected,) = nimblehlo.execute(text, [INPUT, WEIGHTS])
    np.testing.assert_array_equal(found, expected)
    assert not executable.findings


def test_a_shape_that_does_not_fit_is_found() -> None:
    symbolic = jax.export.symbolic_shape("b, 8")
    wanted = [jax.ShapeDtypeStruct(symbolic, np.float32)] * 2

    def paired(x: Any, y: Any) -> Any:
        return jnp.tanh(x) + y

    module = jax.export.export(jax.jit(paired))(*wanted)
    executable = nimblehlo.compile(module, options=Options(sanitize=True, sanitize_action="collect"))
    executable(INPUT, INPUT)
    assert not executable.findings
    with pytest.raises(ExecutionError):
        executable(INPUT, INPUT[:2])
    (finding,) = executable.findings
    assert finding.check == "shape_mismatch"
    assert "b" in finding.message or "shape" in finding.message
