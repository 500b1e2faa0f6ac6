"""The variants of templates with special values."""

from __future__ import annotations

import numpy as np

from nimblehlo.checks.conformance import suite
from nimblehlo.checks.conformance.special_values import MIN_ELEMENTS, variants_of
from nimblehlo.checks.conformance.suite import legal_templates
from nimblehlo.checks.conformance.template import Template, make, tensor


def variants(operation: str, element_type: str = "f32") -> dict[str, Template]:
    return {one.variant: one for one in variants_of(legal_templates(operation, element_type))}


def test_each_operand_holds_each_kind_of_value() -> None:
    found = variants("stablehlo.triangular_solve")
    kinds = ("nan", "infinity", "zeros", "close")
    assert {name.removeprefix("left_lower_any_TRANSPOSE_") for name in found} >= {
        *[f"{kind}_in_{index}" for kind in kinds for index in (0, 1)],
        "whole_numbers",
    }
    (name,) = [one for one in found if one.endswith("TRANSPOSE_nan_in_1")]
    array = found[name].inputs[1]
    assert np.isnan(array).sum() == 1 and not np.isnan(array.reshape(-1)[0])


def test_close_numbers_agree_in_half_of_their_digits() -> None:
    found = variants("stablehlo.select_and_scatter")
    array = next(one.inputs[0] for name, one in found.items() if "close_in_0" in name)
    halves = (array.view(np.uint32) >> 12).reshape(-1)
    assert len(set(halves)) == 1 and len(set(array.reshape(-1))) >= 4


def test_integers_are_extreme_and_indices_stay() -> None:
    found = variants("stablehlo.gather", "i32")
    operands = {int(name.rpartition("_")[2]) for name in found}
    assert operands and all("extremes" in name for name in found)
    (first, *_) = found.values()
    assert set(np.unique(first.inputs[min(operands)])) == {-(2**31), 2**31 - 1}
    assert all(name.endswith(("_in_0", "whole_numbers")) for name in variants("stablehlo.dynamic_slice"))


def test_loops_and_few_elements_have_none() -> None:
    assert variants("stablehlo.while", "i32") == {}
    for count, expected in ((MIN_ELEMENTS - 1, 0), (MIN_ELEMENTS, 7)):
        template = make("stablehlo.floor", "few", [tensor("f32", count)], is_basic=True)
        assert len(list(variants_of([template]))) == expected


def test_they_belong_to_the_full_level() -> None:
    names = [
        {one.id.rpartition("/")[2] for one in suite.legal_programs("stablehlo.cholesky", level)}
        for level in suite.LEVELS
    ]
    assert not any("infinity_in_0" in name for name in names[0])
    assert any("infinity_in_0" in name for name in names[1])
