"""`convolution` and `dynamic_conv`, against the specification's formula in Python."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import nimblehlo
from nimblehlo.errors import ExecutionError, VerifyError
from nimblehlo.program.ops.contraction import convolution, convolution_algorithms
from nimblehlo.program.ops.contraction.convolution import Convolution, DynamicConv
from nimblehlo.program.ops.framework.declaration import Op
from nimblehlo.types import ELEMENT_TYPES
from tests.program.ops.references import evaluate
from tests.program.ops.rejections import (
    assert_complete,
    assert_inputs_rejected,
    assert_rejected,
    parse_and_verify,
    program,
    rows,
)
from tests.program.ops.texts import array, tensor
from tests.support.running import run_every_way, same_bits

Array = np.ndarray[Any, Any]


@dataclasses.dataclass(frozen=True)
class Case:
    """A convolution: sizes in the order batch, spatial, feature, and where each dimension lies."""

    batch: int = 1
    features: int = 2
    outputs: int = 3
    spatial: tuple[int, ...] = (4, 5)
    kernel: tuple[int, ...] = (2, 3)
    strides: tuple[int, ...] = (1, 1)
    padding: tuple[tuple[int, int], ...] = ((0, 0), (0, 0))
    lhs_dilation: tuple[int, ...] = (1, 1)
    rhs_dilation: tuple[int, ...] = (1, 1)
    reversal: tuple[bool, ...] = (False, False)
    feature_groups: int = 1
    batch_groups: int = 1
    places: tuple[tuple[int, ...], ...] = ((0, 1, 2, 3), (0, 1, 2, 3), (0, 1, 2, 3))

    def lhs_shape(self) -> tuple[int, ...]:
        return self._placed(
            0, (self.batch * self.batch_groups, *self.spatial, self.features * self.feature_groups)
        )

    def rhs_shape(self) -> tuple[int, ...]:
        groups = self.feature_groups * self.batch_groups
        return self._placed(1, (*self.kernel, self.features, self.outputs * groups))

    def windows(self) -> list[int]:
        counts = []
        for axis, size in enumerate(self.spatial):
            low, high = self.padding[axis]
            padded = low + (size - 1) * self.lhs_dilation[axis] * (size > 0) + (size > 0) + high
            span = (self.kernel[axis] - 1) * self.rhs_dilation[axis] + 1
            counts.append(0 if padded <= 0 or span > padded else (padded - span) // self.strides[axis] + 1)
        return counts

    def result_shape(self) -> tuple[int, ...]:
        groups = self.feature_groups * self.batch_groups
        return self._placed(2, (self.batch, *self.windows(), self.outputs * groups))

    def _placed(self, which: int, sizes: Sequence[int]) -> tuple[int, ...]:
        shape = [0] * len(sizes)
        for place, size in zip(self.places[which], sizes, strict=True):
            shape[place] = size
        return tuple(shape)

    def attributes(self, with_padding: bool = True, **changed: str) -> str:
        lhs, rhs, out = self.places
        fields = {
            "input_batch_dimension": lhs[0],
            "input_feature_dimension": lhs[-1],
            "input_spatial_dimensions": list(lhs[1:-1]),
            "kernel_input_feature_dimension": rhs[-2],
            "kernel_output_feature_dimension": rhs[-1],
            "kernel_spatial_dimensions": list(rhs[:-2]),
            "output_batch_dimension": out[0],
            "output_feature_dimension": out[-1],
            "output_spatial_dimensions": list(out[1:-1]),
        }
        numbers = ", ".join(f"{name} = {changed.pop(name, value)}" for name, value in fields.items())
        pairs = (
            "[" + ", ".join(f"[{low}, {high}]" for low, high in self.padding) + "]" if self.padding else ""
        )
        values = {
            "window_strides": array(*self.strides),
            "padding": f"dense<{pairs}> : tensor<{len(self.padding)}x2xi64>",
            "lhs_dilation": array(*self.lhs_dilation),
            "rhs_dilation": array(*self.rhs_dilation),
            "window_reversal": "array<i1"
            + ": " * bool(self.reversal)
            + ", ".join(str(r).lower() for r in self.reversal)
            + ">",
            "dimension_numbers": f"#stablehlo.conv<raw {numbers}>",
            "feature_group_count": f"{self.feature_groups} : i64",
            "batch_group_count": f"{self.batch_groups} : i64",
            **changed,
        }
        if not with_padding:
            del values["padding"]
        return ", ".join(f"{name} = {value}" for name, value in values.items())

    def text(self, name: str = "f32", result: str | None = None, **changed: str) -> str:
        operands = [tensor(self.lhs_shape(), name), tensor(self.rhs_shape(), name)]
        result = result or tensor(self.result_shape(), name)
        return program("stablehlo.convolution", operands, [result], self.attributes(**changed))

    def dynamic_text(self, padding: str, result: str | None = None, **changed: str) -> str:
        operands = [tensor(self.lhs_shape()), tensor(self.rhs_shape()), padding]
        result = result or tensor(self.result_shape())
        return program("stablehlo.dynamic_conv", operands, [result], self.attributes(False, **changed))


def expected(case: Case, lhs: Array, rhs: Array) -> Array:
    """The formula, one product at a time, on Python numbers."""
    x = lhs.transpose(case.places[0]).astype(object)
    w = rhs.transpose(case.places[1]).astype(object)
    groups = case.feature_groups * case.batch_groups
    result = np.zeros((case.batch, *case.windows(), case.outputs * groups), object)
    for index in np.ndindex(*result.shape):
        batch, *window, output = index
        group = output // case.outputs
        first = group * case.features if case.feature_groups > 1 else 0
        row = batch + group * case.batch if case.batch_groups > 1 else batch
        for position in np.ndindex(*case.kernel):
            place = []
            for axis, at in enumerate(position):
                offset = (
                    window[axis] * case.strides[axis] + at * case.rhs_dilation[axis] - case.padding[axis][0]
                )
                element, rest = divmod(offset, case.lhs_dilation[axis])
                place.append(element if not rest and 0 <= element < case.spatial[axis] else None)
            if None in place:
                continue
            turned = tuple(
                size - 1 - at if reverse else at
                for at, size, reverse in zip(position, case.kernel, case.reversal, strict=True)
            )
            for feature in range(case.features):
                result[index] += x[(row, *place, first + feature)] * w[(*turned, feature, output)]
    return result.transpose(np.argsort(case.places[2]))


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rank = draw(st.integers(0, 2))

    def each(values: st.SearchStrategy[Any]) -> tuple[Any, ...]:
        return tuple(draw(st.lists(values, min_size=rank, max_size=rank)))

    feature_groups, batch_groups = draw(st.sampled_from([(1, 1), (1, 1), (2, 1), (3, 1), (1, 2)]))
    small = st.integers(1, 2)
    return Case(
        batch=draw(st.integers(0, 2)),
        features=draw(small),
        outputs=draw(small),
        spatial=each(st.integers(0, 5)),
        kernel=each(st.integers(1, 3)),
        strides=each(st.integers(1, 3)),
        padding=each(st.tuples(st.integers(-2, 3), st.integers(-2, 3))),
        lhs_dilation=each(st.integers(1, 3)),
        rhs_dilation=each(st.integers(1, 3)),
        reversal=each(st.booleans()),
        feature_groups=feature_groups,
        batch_groups=batch_groups,
        places=tuple(tuple(draw(st.permutations(range(rank + 2)))) for _ in range(3)),
    )


def operands(case: Case, name: str, seed: int = 0) -> tuple[Array, Array]:
    random = np.random.default_rng(seed)
    dtype = ELEMENT_TYPES[name].dtype
    return tuple(
        random.integers(-3, 4, shape).astype(dtype) for shape in (case.lhs_shape(), case.rhs_shape())
    )


@given(cases(), st.sampled_from(["f32", "i8", "bf16", "complex<f32>", "f64", "i4", "f8E5M2"]))
def test_convolution(case: Case, name: str) -> None:
    lhs, rhs = operands(case, name)
    (result,) = evaluate(case.text(name), lhs, rhs)
    wanted = expected(case, lhs.astype(np.complex128), rhs.astype(np.complex128)).astype(np.complex128)
    if name == "i4":
        wanted = (wanted.real + 8) % 16 - 8
    if name == "f8E5M2":
        wanted = wanted.real.astype("f").astype(result.dtype).astype(np.complex128)
    np.testing.assert_array_equal(result.astype(np.complex128), wanted)


@given(cases())
def test_dynamic_conv(case: Case) -> None:
    lhs, rhs = operands(case, "f32")
    rank = len(case.spatial)
    padding = np.array(case.padding, np.int32).reshape(rank, 2)
    (result,) = evaluate(case.dynamic_text(tensor((rank, 2), "i32")), lhs, rhs, padding)
    (other,) = evaluate(case.text(), lhs, rhs)
    assert result.tobytes() == other.tobytes()


TILES = Case(features=16, outputs=8, spatial=(10, 9), kernel=(3, 3), padding=((1, 1), (1, 1)))
"""Sizes of which Winograd's algorithm serves no smaller ones."""
HIGH = "[#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]"


def uses_winograd(text: str) -> bool:
    view: Any = Op.of(parse_and_verify(text).functions["main"].body.block.operations[0])
    return bool(view.uses_winograd(*(np.zeros(type.shape, type.dtype) for type in (view.lhs, view.rhs))))


@pytest.mark.parametrize(
    ("case", "chooses"),
    [
        (TILES, True),
        (dataclasses.replace(TILES, padding=((2, 2), (0, 0)), batch=2), True),
        (dataclasses.replace(TILES, reversal=(True, False)), True),
        (dataclasses.replace(TILES, places=((0, 2, 3, 1), (2, 3, 1, 0), (0, 2, 3, 1))), True),
        (dataclasses.replace(TILES, spatial=(8, 9)), False),
        (dataclasses.replace(TILES, features=15), False),
        (dataclasses.replace(TILES, outputs=7), False),
        (dataclasses.replace(TILES, kernel=(3, 2), spatial=(30, 30)), False),
        (dataclasses.replace(TILES, strides=(1, 2), spatial=(30, 30)), False),
        (dataclasses.replace(TILES, lhs_dilation=(2, 1)), False),
        (dataclasses.replace(TILES, rhs_dilation=(1, 2), spatial=(30, 30)), False),
        (dataclasses.replace(TILES, feature_groups=2), False),
        (dataclasses.replace(TILES, batch_groups=2), False),
    ],
)
def test_sizes_and_attributes_choose_the_algorithm(case: Case, chooses: bool) -> None:
    assert uses_winograd(case.text()) == chooses
    assert not uses_winograd(case.text(precision_config=HIGH))
    lhs, rhs = operands(case, "f32")
    (result,) = evaluate(case.text(), lhs, rhs)
    (other,) = evaluate(case.text(precision_config=HIGH), lhs, rhs)
    np.testing.assert_array_equal(result, other)


@pytest.mark.parametrize("name", ["f64", "bf16", "f16"])
def test_other_types_are_convolved_directly(name: str) -> None:
    assert not uses_winograd(TILES.text(name))


DEFAULT = "[#stablehlo<precision DEFAULT>, #stablehlo<precision DEFAULT>]"


@pytest.mark.parametrize("precision", ["[]", DEFAULT])
def test_precisions_that_allow_winograds_algorithm(precision: str) -> None:
    assert uses_winograd(TILES.text(precision_config=precision))


def main_of(case: Case, rhs: Array | None = None, **changed: str) -> str:
    """A program that returns the convolution of its arguments, or of one with a constant rhs."""
    types = [tensor(shape) for shape in (case.lhs_shape(), case.rhs_shape(), case.result_shape())]
    parameters, constant = f"%lhs: {types[0]}, %rhs: {types[1]}", ""
    if rhs is not None:
        parameters = f"%lhs: {types[0]}"
        constant = f"%rhs = stablehlo.constant dense<\"0x{rhs.tobytes().hex().upper()}\"> : {types[1]}"
    return f"""func.func @main({parameters}) -> {types[2]} {{
  {constant}
  %result = "stablehlo.convolution"(%lhs, %rhs) <{{{case.attributes(**changed)}}}>
    : ({types[0]}, {types[1]}) -> {types[2]}
  return %result : {types[2]}
}}"""


@pytest.mark.parametrize("special", [1.0, np.inf])
def test_winograds_algorithm_has_the_same_bits_in_every_way(special: float) -> None:
    random = np.random.default_rng(0)
    case = dataclasses.replace(TILES, spatial=(19, 30), outputs=70)
    lhs, rhs = (random.standard_normal(shape, np.float32) for shape in (case.lhs_shape(), case.rhs_shape()))
    lhs[0, 3, 4, 5] = special
    (result,) = run_every_way(main_of(case), lhs, rhs)
    (constant,) = run_every_way(main_of(case, rhs), lhs)
    (dynamic,) = evaluate(case.dynamic_text("tensor<2x2xi64>"), lhs, rhs, np.array(case.padding))
    assert all(same_bits(np.asarray(other), np.asarray(result)) for other in (constant, dynamic))


def test_explain_names_winograds_algorithm() -> None:
    case = dataclasses.replace(TILES, spatial=(40, 40))
    for precision, name in (("[]", "Winograd's algorithm"), (HIGH, "direct convolution")):
        explained = nimblehlo.compile(main_of(case, precision_config=precision)).explain()
        assert name in explained or "no loops for this processor" in explained


def test_dynamic_conv_checks_the_padding_it_is_given() -> None:
    case = Case()
    with pytest.raises(ExecutionError) as caught:
        evaluate(case.dynamic_text("tensor<2x2xi64>"), *operands(case, "f32"), np.ones((2, 2), int))
    assert (caught.value.label, caught.value.operation) == ("C25", "stablehlo.dynamic_conv")


@pytest.mark.parametrize(
    "case", [Case(batch=3), Case(batch=2, feature_groups=2), Case(kernel=(4, 5), outputs=1)]
)
@pytest.mark.parametrize("limit", [1, 40, 100])
def test_blocks_of_patches_change_nothing(case: Case, limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    lhs, rhs = operands(case, "i32")
    monkeypatch.setattr(convolution_algorithms, "MAX_PATCH_ELEMENTS", limit)
    (result,) = evaluate(case.text("i32"), lhs, rhs)
    np.testing.assert_array_equal(result, expected(case, lhs, rhs).astype(np.int32))


@pytest.mark.parametrize("weight", [np.inf, np.nan])
def test_padding_times_what_is_not_finite_is_nan(weight: float) -> None:
    case = Case(features=1, outputs=1, feature_groups=2, padding=((1, 1), (1, 1)))
    lhs, _ = operands(case, "f32")
    (result,) = evaluate(case.text(), lhs, np.full(case.rhs_shape(), weight, "f"))
    assert np.isnan(result[0, 0, 0]).all()


@pytest.mark.parametrize(
    ("name", "result"), [("i8", "i32"), ("bf16", "f32"), ("f16", "f64"), ("f8E4M3FN", "f32")]
)
def test_results_of_a_wider_type(name: str, result: str) -> None:
    case = Case(batch=2, features=40, padding=((1, 0), (0, 2)))
    lhs, rhs = operands(case, name)
    (found,) = evaluate(case.text(name, tensor(case.result_shape(), result)), lhs, rhs)
    wanted = expected(case, lhs.astype(np.int64), rhs.astype(np.int64))
    np.testing.assert_array_equal(found.astype(object), wanted)
    assert found.dtype == ELEMENT_TYPES[result].dtype


def test_absent_attributes_have_their_defaults() -> None:
    case = Case()
    short = "dimension_numbers = #stablehlo.conv<[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]>, "
    short += "feature_group_count = 1 : i64, batch_group_count = 1 : i64"
    types = [tensor(case.lhs_shape()), tensor(case.rhs_shape())]
    text = program("stablehlo.convolution", types, [tensor(case.result_shape())], short)
    values = operands(case, "f32")
    assert evaluate(text, *values)[0].tobytes() == evaluate(case.text(), *values)[0].tobytes()


def quantized(shape: Sequence[int], storage: str = "i8", expressed: str = "f32") -> str:
    return tensor(shape, f"!quant.uniform<{storage}:{expressed}, 0.5>")


def along(shape: Sequence[int], axis: int, expressed: str = "f32") -> str:
    scales = ", ".join(["0.5"] * shape[axis])
    return tensor(shape, f"!quant.uniform<i8:{expressed}:{axis}, {{{scales}}}>")


BASE = Case()
LHS, RHS, OUT = BASE.lhs_shape(), BASE.rhs_shape(), BASE.result_shape()
OTHER = {"i1": "array<i1: false>", "one": array(1), "bad": array(1, 0)}
PADDING = "dense<0> : tensor<2x2xi64>"


def typed(lhs: str, rhs: str, result: str, name: str = "stablehlo.convolution", **changed: str) -> str:
    """The base case with other types."""
    dynamic = name.endswith("dynamic_conv")
    inputs = [lhs, rhs, PADDING] if dynamic else [lhs, rhs]
    return program(name, inputs, [result], BASE.attributes(not dynamic, **changed))


def rejected_by(name: str) -> dict[str, str]:
    """Programs that both convolutions reject."""

    def text(**changed: str) -> str:
        return typed(tensor(LHS), tensor(RHS), tensor(OUT), name, **changed)

    def types(lhs: str = "", rhs: str = "", result: str = "") -> str:
        return typed(lhs or tensor(LHS), rhs or tensor(RHS), result or tensor(OUT), name)

    return {
        "C1": types(rhs="tensor<2x3x2xf32>"),
        "C2": text(window_strides=OTHER["one"]),
        "C3": text(window_strides=OTHER["bad"]),
        "C4": text(padding="dense<0> : tensor<1x2xi64>"),
        "C5": text(lhs_dilation=OTHER["one"]),
        "C6": text(lhs_dilation=OTHER["bad"]),
        "C7": text(rhs_dilation=OTHER["one"]),
        "C8": text(rhs_dilation=OTHER["bad"]),
        "C9": text(window_reversal=OTHER["i1"]),
        "C10": text(batch_group_count="2 : i64"),
        "C11": text(feature_group_count="3 : i64"),
        "C12": text(input_spatial_dimensions="[1]"),
        "C13": text(input_spatial_dimensions="[1, 1]"),
        "C14": types(rhs=tensor((2, 3, 1, 3))),
        "C15": typed(tensor((2, 4, 5, 2)), tensor(RHS), tensor(OUT), name, batch_group_count="2 : i64"),
        "C16": typed(tensor(LHS), tensor((2, 3, 1, 3)), tensor(OUT), name, feature_group_count="2 : i64"),
        "C17": text(kernel_spatial_dimensions="[0, 1, 2]"),
        "C18": text(kernel_spatial_dimensions="[0, 4]"),
        "C19": text(output_spatial_dimensions="[]"),
        "C20": text(output_spatial_dimensions="[-1, 1]"),
        "C21": text(feature_group_count="0 : i64"),
        "C22": text(batch_group_count="-1 : i64"),
        "C23": typed(
            tensor((2, 4, 5, 2)),
            tensor((2, 3, 1, 4)),
            tensor((1, 3, 3, 4)),
            name,
            feature_group_count="2 : i64",
            batch_group_count="2 : i64",
        ),
        "C24": text(precision_config="[#stablehlo<precision HIGH>]"),
        "C25": types(result=tensor((1, 3, 3, 4))),
        "C26": types(result=tensor((1, 3, 9))),
        "C27": types(rhs=tensor(RHS, "i32")),
        "C28": types(quantized(LHS), quantized(RHS)),
        "C29": types(quantized(LHS), along(RHS, 0), quantized(OUT)),
        "C30": types(quantized(LHS), along(RHS, 3), along(OUT, 1)),
        "C31": types(quantized(LHS, "i16"), quantized(RHS), quantized(OUT)),
        "C32": types(quantized(LHS, expressed="f16"), quantized(RHS), quantized(OUT)),
        "C33": types(quantized(LHS), quantized(RHS), along(OUT, 3)),
        "C34": types(tensor(LHS, "f64"), quantized(RHS)),
    }


DYNAMIC_CASE = typed(tensor(LHS), tensor(RHS), tensor(OUT), "stablehlo.dynamic_conv")
REJECTED: dict[type[Op], dict[str, str]] = {
    Convolution: rejected_by("stablehlo.convolution"),
    DynamicConv: {
        **rejected_by("stablehlo.dynamic_conv"),
        "C4": DYNAMIC_CASE.replace("2x2xi64", "3x2xi64"),
    },
}

ACCEPTED = [
    BASE.text(precision_config="[#stablehlo<precision HIGH>, #stablehlo<precision DEFAULT>]"),
    BASE.dynamic_text(PADDING),
    BASE.dynamic_text("tensor<2x2xi8>"),
    typed("tensor<?x4x?x2xf32>", tensor(RHS), "tensor<?x3x?x3xf32>"),
    typed(quantized(LHS), along(RHS, 3), along(OUT, 3)),
    typed(tensor(LHS), along(RHS, 3), tensor(OUT)),
]


@pytest.mark.parametrize(("declaration", "label", "text"), rows(REJECTED))
def test_rejected(declaration: type[Op], label: str, text: str) -> None:
    assert_rejected(declaration, label, text)


def test_each_label_has_a_rejected_program() -> None:
    assert_complete(REJECTED, convolution)


@pytest.mark.parametrize("text", ACCEPTED)
def test_inputs(text: str) -> None:
    assert_inputs_rejected(text)


def test_padding_that_is_a_constant_is_judged_before_running() -> None:
    assert_rejected(DynamicConv, "C25", DYNAMIC_CASE.replace("dense<0>", "dense<1>"))


@pytest.mark.parametrize(
    "change", [("input_batch_dimension = 0", "input_batch_dimension = [0]"), ("[1, 2]", "1")]
)
def test_fields_of_other_kinds_are_rejected(change: tuple[str, str]) -> None:
    text = BASE.text()
    assert change[0] in text
    with pytest.raises(VerifyError, match="must be"):
        parse_and_verify(text.replace(*change))
