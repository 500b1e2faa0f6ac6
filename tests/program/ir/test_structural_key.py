"""The keys that tell blocks apart by which objects they hold."""

import pytest

from nimblehlo import load
from nimblehlo.program.ir import Block, IntegerAttribute
from nimblehlo.program.ir.structural_key import structural_key
from nimblehlo.types import ELEMENT_TYPES, Type

TEXT = """
func.func @main(%a: tensor<4x8xf32>, %b: tensor<4x8xf32>) -> tensor<4xf32> {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %sum = stablehlo.add %a, %b : tensor<4x8xf32>
  %0 = stablehlo.reduce(%sum init: %zero) applies stablehlo.add across dimensions = [1]
      : (tensor<4x8xf32>, tensor<f32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""


def block_of(text: str) -> Block:
    body = load(text).functions["main"].body
    assert body is not None
    return body.block


def pair(change: tuple[str, str]) -> list[Block]:
    """The blocks of the text and of a changed one; what is equal in them is the same object."""
    types: dict[str, Type] = {}
    blocks = [block_of(TEXT), block_of(TEXT.replace(*change))]
    first = blocks[0].operations
    for block in blocks:
        share_types(block, types)
        for one, other in zip(first, block.operations, strict=True):
            for name, attribute in one.attributes.items():
                if other.attributes.get(name) == attribute:
                    other.attributes = {**other.attributes, name: attribute}
    return blocks


def share_types(block: Block, types: dict[str, Type]) -> None:
    for value in (*block.arguments, *(value for one in block.operations for value in one.results)):
        value.type = types.setdefault(str(value.type), value.type)
    for operation in block.operations:
        for region in operation.regions:
            share_types(region.block, types)


def test_blocks_with_the_same_objects_have_equal_keys() -> None:
    ours, theirs = pair(("", ""))
    assert structural_key(ours)[0] == structural_key(theirs)[0]


@pytest.mark.parametrize(
    "change",
    [
        ("stablehlo.add %a, %b", "stablehlo.add %b, %a"),
        ("stablehlo.add %a, %b", "stablehlo.add %a, %a"),
        ("stablehlo.add %a", "stablehlo.multiply %a"),
        ("applies stablehlo.add", "applies stablehlo.maximum"),
        ("dense<0.0>", "dense<1.0>"),
        ("f32", "f64"),
        ("4x8", "4x9"),
    ],
)
def test_blocks_that_differ_have_different_keys(change: tuple[str, str]) -> None:
    ours, theirs = pair(change)
    assert structural_key(ours)[0] != structural_key(theirs)[0]


def test_a_key_keeps_what_it_stands_for() -> None:
    block = block_of(TEXT)
    key, kept = structural_key(block)
    attribute = IntegerAttribute(1, ELEMENT_TYPES["i64"])
    block.operations[1].attributes = {**block.operations[1].attributes, "other": attribute}
    assert structural_key(block)[0] != key
    assert {id(one) for one in kept} >= {part for part in key if isinstance(part, int) and part > 1 << 16}
