"""Constants and regions that passes make."""

from __future__ import annotations

import numpy as np
import pytest

from nimblehlo.program.ir import Block, Builder, Operation, constant_operation
from nimblehlo.program.ir.builder import binary_region
from nimblehlo.types import ELEMENT_TYPES, TensorType

PAIR = TensorType((2,), ELEMENT_TYPES["f32"])


@pytest.mark.parametrize("value", [3, np.float32(3), np.array([3, 3]), np.array([3.0, 3.0], np.float32)])
def test_a_constant_has_the_elements_of_its_type(value: object) -> None:
    operation = constant_operation(PAIR, value)
    assert operation.is_constant and operation.constant_value is operation.result.constant_value
    attribute = operation.constant_value
    assert attribute is not None and attribute.type == PAIR
    assert attribute.array.dtype == np.float32 and attribute.array.tolist() == [3, 3]


def test_the_array_of_a_constant_stays_writable() -> None:
    array = np.zeros(2, np.float32)
    attribute = constant_operation(PAIR, array).constant_value
    assert attribute is not None and not attribute.array.flags.writeable
    array[0] = 1


def test_a_constant_keeps_an_attribute() -> None:
    attribute = constant_operation(PAIR, 1).constant_value
    assert constant_operation(PAIR, attribute).constant_value is attribute


def test_other_values_are_no_constants() -> None:
    block = Block([PAIR])
    operation = Operation("stablehlo.negate", block.arguments, [PAIR], {"value": "other"})
    assert block.arguments[0].constant_value is None and operation.result.constant_value is None
    assert not operation.is_constant


def test_a_region_ends_with_a_return() -> None:
    builder = Builder(Block([PAIR]))
    constant = builder.constant(PAIR, 2)
    region = builder.region([constant])
    assert region.block is builder.block and region.type.results == (PAIR,)
    assert [operation.name for operation in region.walk()] == ["stablehlo.constant", "stablehlo.return"]


def test_a_binary_region_applies_the_operation_to_scalars() -> None:
    region = binary_region("stablehlo.add", PAIR.element_type)
    applied, end = region.block.operations
    assert applied.name == "stablehlo.add" and tuple(applied.operands) == region.block.arguments
    assert end.operands == applied.results
    assert {argument.type for argument in region.block.arguments} == {PAIR.with_shape(())}
