"""Random bits: the published test vectors of both generators, and to the bit what XLA:CPU gives; `rng`."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.errors import ExecutionError, UndefinedBehaviorError, UnsupportedError
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.program.ops.random import random
from nimblehlo.types import BOOLEAN, ELEMENT_TYPES, FLOAT, INTEGER
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import declaration, tensor
from tests.support.running import run_xla

Array = np.ndarray[Any, Any]


def generator(
    algorithm: str, words: int | str, output: str, state_type: str = "ui64", result_words: int | None = None
) -> str:
    state = tensor((words,), state_type)
    new_state = tensor((words if result_words is None else result_words,), state_type)
    attributes = f"rng_algorithm = #stablehlo<rng_algorithm {algorithm}>"
    return program("stablehlo.rng_bit_generator", [state], [new_state, output], attributes)


def with_results(text: str, words: int, output: str) -> str:
    """The program with the generator's results as its own."""
    state = tensor((words,), "ui64")
    text = text.replace(") {\n", f") -> ({state}, {output}) {{\n", 1)
    return text.replace("  return", f"  return %result#0, %result#1 : {state}, {output}")


def word(low: int, high: int) -> np.uint64:
    return np.uint64(high << 32 | low)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x243F6A88, 0x85A308D3), (0x13198A2E, 0x03707344), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_three_fry_vectors(counter: Any, key: Any, expected: Any) -> None:
    """Source: known answers of Threefry2x32 with 20 rounds in the authors' library Random123."""
    state = np.array([word(*key), word(*counter)])
    new_state, output = evaluate(generator("THREE_FRY", 2, "tensor<1xui64>"), state)
    assert output[0] == word(*expected)
    assert new_state.tolist() == [int(state[0]), (int(state[1]) + 1) % 2**64]


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_vectors(counter: Any, key: Any, expected: Any) -> None:
    """Source: known answers of Philox4x32 with 10 rounds in the authors' library Random123."""
    state = np.array([word(*key), word(*counter[:2]), word(*counter[2:])])
    new_state, output = evaluate(generator("PHILOX", 3, "tensor<4xui32>"), state)
    assert output.tolist() == list(expected)
    number = (int(state[2]) << 64 | int(state[1])) + 1
    assert new_state.tolist() == [int(state[0]), number % 2**64, (number >> 64) % 2**64]


CASES = [
    (algorithm, words, element_type, shape)
    for algorithm, sizes in (("THREE_FRY", (2,)), ("PHILOX", (2, 3)), ("DEFAULT", (2, 3)))
    for words in sizes
    for element_type, shape in (
        ("ui32", ()),
        ("ui32", (1,)),
        ("ui32", (5, 3)),
        ("ui32", (3, 4, 2)),
        ("ui32", (0, 3)),
        ("ui32", (20001, 5)),
        ("ui64", ()),
        ("ui64", (7, 3)),
        ("ui64", (40000,)),
        ("ui16", (3, 5)),
        ("ui8", (4, 2)),
        ("ui4", (9,)),
    )
]


@pytest.mark.parametrize(("algorithm", "words", "element_type", "shape"), CASES)
def test_bits_are_those_of_xla(algorithm: str, words: int, element_type: str, shape: tuple[int, ...]) -> None:
    state = np.array([2**63 + 12345, 2**64 - 2, 77][:words], np.uint64)
    output = tensor(shape, element_type)
    text = generator(algorithm, words, output)
    got = evaluate(text, state)
    with jax.enable_x64(True):
        want = run_xla(with_results(text, words, output), state)
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        assert np.array_equal(a, b)


@pytest.mark.parametrize("algorithm", ["THREE_FRY", "PHILOX"])
@pytest.mark.parametrize(
    ("element_type", "unsigned", "dtype"),
    [
        ("i64", "ui64", np.uint64),
        ("f64", "ui64", np.uint64),
        ("i32", "ui32", np.uint32),
        ("f32", "ui32", np.uint32),
        ("i16", "ui16", np.uint16),
        ("f16", "ui16", np.uint16),
        ("bf16", "ui16", np.uint16),
        ("i8", "ui8", np.uint8),
        ("f8E5M2", "ui8", np.uint8),
        ("f8E4M3FN", "ui8", np.uint8),
    ],
)
def test_types_of_one_width_have_the_same_bits(
    algorithm: str, element_type: str, unsigned: str, dtype: Any
) -> None:
    state = np.array([1, 2], np.uint64)
    (_, elements), (_, bits) = (
        evaluate(generator(algorithm, 2, tensor((3, 7), name)), state) for name in (element_type, unsigned)
    )
    assert np.array_equal(elements.view(dtype), bits)


@pytest.mark.parametrize(
    ("element_type", "width", "signed"),
    [("i2", 2, True), ("ui2", 2, False), ("i4", 4, True), ("f4E2M1FN", 4, None), ("f6E3M2FN", 6, None)],
)
def test_narrow_types_take_the_lowest_bits(element_type: str, width: int, signed: bool | None) -> None:
    state = np.array([1, 2], np.uint64)
    (_, elements), (_, words) = (
        evaluate(generator("PHILOX", 2, tensor((200,), name)), state) for name in (element_type, "ui32")
    )
    low = (words & (2**width - 1)).astype(np.int64)
    if signed is None:
        assert np.array_equal(elements.view(np.uint8), low)
    else:
        expected = np.where(signed & (low >= 2 ** (width - 1)), low - 2**width, low)
        assert np.array_equal(elements.astype(np.int64), expected)


def test_the_state_goes_on_where_it_ended() -> None:
    state = np.array([3, 2**64 - 5, 9], np.uint64)
    _, whole = evaluate(generator("PHILOX", 3, "tensor<80xui32>"), state)
    between, first = evaluate(generator("PHILOX", 3, "tensor<32xui32>"), state)
    _, second = evaluate(generator("PHILOX", 3, "tensor<48xui32>"), between)
    assert np.array_equal(whole, np.concatenate([first, second]))


def rng(
    distribution: str, a: str = "f32", b: str = "f32", shape: str = "dense<[2, 3]>", result: str = "2x3xf32"
) -> str:
    operands = [f"tensor<{a}>", f"tensor<{b}>", f"{shape} : tensor<2xi64>"]
    attributes = f"rng_distribution = #stablehlo<rng_distribution {distribution}>"
    return program("stablehlo.rng", operands, [f"tensor<{result}>"], attributes)


def test_unsupported() -> None:
    with pytest.raises(UnsupportedError, match=r"output is .* must have a static shape"):
        parse_and_verify(generator("PHILOX", 2, "tensor<?xui32>"))


def drawing(distribution: str, element_type: str, size: int = 20000) -> str:
    """A program that draws between, or with the mean and deviation of, its inputs."""
    scalar, result = f"tensor<{element_type}>", f"tensor<{size}x{element_type}>"
    return f"""func.func @main(%a: {scalar}, %b: {scalar}) -> {result} {{
      %shape = stablehlo.constant dense<{size}> : tensor<1xi64>
      %0 = stablehlo.rng %a, %b, %shape, distribution = {distribution}
        : ({scalar}, {scalar}, tensor<1xi64>) -> {result}
      return %0 : {result}
    }}"""


def draw(distribution: str, element_type: str, a: float, b: float, **options: Any) -> Array:
    dtype = ELEMENT_TYPES[element_type].dtype
    inputs = [np.array(value).astype(dtype) for value in (a, b)]
    (values,) = nimblehlo.execute(drawing(distribution, element_type), inputs, options=Options(**options))
    assert values.dtype == dtype
    return values


INTEGER_BOUNDS = {"i2": (-2, 1), "ui2": (1, 3), "i1": (0, 1)}
"""Of narrow types; of others -5 to 7, or 3 to 7."""


@pytest.mark.parametrize("name", [n for n, t in ELEMENT_TYPES.items() if t.category & (INTEGER | BOOLEAN)])
def test_uniform_integers(name: str) -> None:
    low, high = INTEGER_BOUNDS.get(name, (3, 7) if name.startswith("u") else (-5, 7))
    values = draw("UNIFORM", name, low, high).astype(np.int64)
    numbers, counts = np.unique(values, return_counts=True)
    assert numbers.tolist() == list(range(low, high))
    expected = len(values) / (high - low)
    assert np.abs(counts - expected).max() < 5 * np.sqrt(expected)


@pytest.mark.parametrize("name", ["i64", "ui64"])
def test_the_widest_interval(name: str) -> None:
    limits = np.iinfo(ELEMENT_TYPES[name].dtype)
    dtype = ELEMENT_TYPES[name].dtype
    inputs = np.array(limits.min, dtype), np.array(limits.max, dtype)
    (values,) = nimblehlo.execute(drawing("UNIFORM", name), inputs)
    middle = (limits.min + limits.max) // 2
    assert abs(np.mean(values > middle) - 0.5) < 0.02


@pytest.mark.parametrize("name", [name for name, type in ELEMENT_TYPES.items() if type.category == FLOAT])
def test_uniform_floats(name: str) -> None:
    values = draw("UNIFORM", name, 1, 4).astype(np.float64)
    assert values.min() >= 1
    assert values.max() < 4
    step = float(np.diff([*np.unique(values), 4]).max())
    assert abs(values.mean() - 2.5) < 0.02 + step / 2


@pytest.mark.parametrize("name", ["bf16", "f16", "f32", "f64"])
def test_normal_floats(name: str) -> None:
    values = (draw("NORMAL", name, 10, 2).astype(np.float64) - 10) / 2
    assert abs(values.mean()) < 0.03
    assert abs(values.std() - 1) < 0.03
    for quantile, expected in ((0.1, -1.2816), (0.5, 0.0), (0.9, 1.2816)):
        assert abs(np.quantile(values, quantile) - expected) < 0.06


@pytest.mark.parametrize("distribution", ["UNIFORM", "NORMAL"])
def test_draws_are_fixed_by_the_seed(distribution: str) -> None:
    first = draw(distribution, "f32", 0, 1)
    for compile in ("never", "eager", "auto"):
        assert draw(distribution, "f32", 0, 1, compile=compile, threads=1).tobytes() == first.tobytes()
    assert draw(distribution, "f32", 0, 1, seed=0).tobytes() == first.tobytes()
    other = draw(distribution, "f32", 0, 1, seed=2**64 - 1)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.05


def test_each_draw_of_a_call_is_another_one_and_each_call_the_same() -> None:
    text = """func.func @main(%n: tensor<i32>) -> (tensor<2xf64>, tensor<2xf64>) {
      %a = stablehlo.constant dense<0.0> : tensor<f64>
      %b = stablehlo.constant dense<1.0> : tensor<f64>
      %s = stablehlo.constant dense<2> : tensor<1xi64>
      %zero = stablehlo.constant dense<0> : tensor<i32>
      %one = stablehlo.constant dense<1> : tensor<i32>
      %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM
        : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<2xf64>
      %1:2 = stablehlo.while(%i = %zero, %x = %0) : tensor<i32>, tensor<2xf64>
      cond {
        %2 = stablehlo.compare LT, %i, %n : (tensor<i32>, tensor<i32>) -> tensor<i1>
        stablehlo.return %2 : tensor<i1>
      } do {
        %2 = stablehlo.add %i, %one : tensor<i32>
        %3 = stablehlo.rng %a, %b, %s, distribution = UNIFORM
          : (tensor<f64>, tensor<f64>, tensor<1xi64>) -> tensor<2xf64>
        stablehlo.return %2, %3 : tensor<i32>, tensor<2xf64>
      }
      return %0, %1#1 : tensor<2xf64>, tensor<2xf64>
    }"""
    executable = nimblehlo.compile(text)
    seen = [executable(np.array(rounds, np.int32)) for rounds in (0, 1, 2, 2)]
    assert len({first.tobytes() for first, _ in seen}) == 1
    last = [values.tobytes() for _, values in seen]
    assert last[0] == seen[0][0].tobytes()
    assert len(set(last[:3])) == 3
    assert last[2] == last[3]


def test_shapes_that_are_known_when_running_only() -> None:
    text = """func.func @main(%s: tensor<2xi64>) -> tensor<?x?xi32> {
      %a = stablehlo.constant dense<0> : tensor<i32>
      %b = stablehlo.constant dense<9> : tensor<i32>
      %0 = stablehlo.rng %a, %b, %s, distribution = UNIFORM
        : (tensor<i32>, tensor<i32>, tensor<2xi64>) -> tensor<?x?xi32>
      return %0 : tensor<?x?xi32>
    }"""
    assert nimblehlo.execute(text, [np.array([2, 3])])[0].shape == (2, 3)
    for shape in ([-1, 2], [2**40, 2**20]):
        with pytest.raises(ExecutionError, match=r"stablehlo\.rng"):
            nimblehlo.execute(text, [np.array(shape)])


@pytest.mark.parametrize(("name", "a", "b"), [("i32", 2, 2), ("i8", 3, -1), ("f32", 1, 1)])
def test_empty_intervals_are_undefined(name: str, a: float, b: float) -> None:
    with pytest.raises(UndefinedBehaviorError, match=r"stablehlo\.rng: the interval"):
        draw("UNIFORM", name, a, b)


GENERATOR, RNG = declaration("rng_bit_generator"), declaration("rng")
REJECTED: dict[type[Op], dict[str, str]] = {
    GENERATOR: {
        "I2": generator("PHILOX", 2, "tensor<4xui32>", state_type="ui32"),
        "C1": generator("PHILOX", 2, "tensor<4xui32>", result_words=3),
        "C2": generator("THREE_FRY", 3, "tensor<4xui32>"),
    },
    RNG: {
        "C1": rng("UNIFORM", b="f64"),
        "C2": rng("NORMAL", a="i32", b="i32", result="2x3xi32"),
        "C3": rng("UNIFORM", result="2x4xf32"),
    },
}


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


@pytest.mark.parametrize("words", [1, 4])
@pytest.mark.parametrize("algorithm", ["PHILOX", "DEFAULT"])
def test_sizes_of_states_rejected(algorithm: str, words: int) -> None:
    assert_rejected(GENERATOR, "C2", generator(algorithm, words, "tensor<4xui32>"))


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, random)


def test_inputs() -> None:
    assert_inputs_rejected(generator("PHILOX", 2, "tensor<4xui32>"))
