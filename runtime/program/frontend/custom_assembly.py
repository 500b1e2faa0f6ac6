"""The directives ``custom(name)`` of assembly formats: constants, reduce, while, slices, convolutions, calls.

Each directive is a parse action; its docstring shows the text that it consumes.

Source: the StableHLO dialect's printed forms.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ...types import ELEMENT_TYPES, TensorType, Type
from ..ir import (
    ArrayAttribute,
    BoolAttribute,
    DenseArrayAttribute,
    DenseElementsAttribute,
    DenseResourceAttribute,
    EnumAttribute,
    IntegerAttribute,
    Region,
    StringAttribute,
    StructAttribute,
)
from ..ir.attributes import FieldValue
from ..ir.builder import binary_region
from .lexer import token_pattern
from .operation_types import functional_type, pairwise_types
from .statement_parser import OperationState, StatementParser

_I1: Final = ELEMENT_TYPES["i1"]
_I32: Final = ELEMENT_TYPES["i32"]
_I64: Final = ELEMENT_TYPES["i64"]
_EXPONENT_MANTISSA: Final = token_pattern(r"e(\d{1,9})m(\d{1,9})(?![\w$.])")
_WINDOW_ATTRIBUTES: Final = {
    "stride": "window_strides",
    "pad": "padding",
    "lhs_dilate": "lhs_dilation",
    "rhs_dilate": "rhs_dilation",
    "reverse": "window_reversal",
}


def constant(parser: StatementParser, state: OperationState) -> None:
    """``{attributes} dense<...> : type``, or the generic form without quotes."""
    if parser.at("("):
        parser.parse_generic(state)
        return
    if parser.peek() == "{":
        parser.add_attributes(state.attributes, parser.attribute_dictionary())
    position = parser.skip()
    value = parser.attribute()
    if not isinstance(value, (DenseElementsAttribute, DenseResourceAttribute)):
        parser.fail_expecting("a constant such as 'dense<0> : tensor<2xi32>'", position)
    state.attributes["value"] = value
    state.result_types = (value.type,)


def number(parser: StatementParser, state: OperationState) -> None:
    """``2 : index``, ``true`` or ``dense<1> : tensor<2xindex>``."""
    position = parser.position
    value = parser.attribute()
    state.attributes["value"] = value
    if isinstance(value, BoolAttribute):
        state.result_types = (_I1,)
    elif isinstance(value, (DenseElementsAttribute, IntegerAttribute)):
        state.result_types = (value.type,)
    else:
        parser.fail_expecting("an integer or a dense constant", position)


def slice_ranges(parser: StatementParser, state: OperationState) -> None:
    """``[start:limit:stride, ...]``."""
    ranges: list[tuple[int, int, int]] = []
    parser.expect("[")
    for _ in parser.items("]"):
        start = parser.integer()
        parser.expect(":")
        limit = parser.integer()
        ranges.append((start, limit, parser.integer() if parser.accept(":") else 1))
    for index, name in enumerate(("start_indices", "limit_indices", "strides")):
        state.attributes[name] = DenseArrayAttribute(_I64, tuple(each[index] for each in ranges))


def variadic_operand_with_attribute(parser: StatementParser, state: OperationState) -> None:
    """``%0, %1,``: operands, each followed by a comma, before an attribute."""
    while parser.peek() == "%":
        state.operands.append(parser.operand())
        parser.expect(",")


def custom_call_target(parser: StatementParser, state: OperationState) -> None:
    """``@target``."""
    state.attributes["call_target_name"] = StringAttribute(parser.symbol())


def symbol_name(parser: StatementParser, state: OperationState) -> None:
    """``@name``, the symbol of the operation itself."""
    state.attributes["sym_name"] = StringAttribute(parser.symbol())


def computation_name(parser: StatementParser, state: OperationState) -> None:
    """``<"name">``."""
    parser.expect("<")
    state.attributes["name"] = StringAttribute(parser.string())
    parser.expect(">")


def exponent_mantissa(parser: StatementParser, state: OperationState) -> None:
    """``e5m10``."""
    match = parser.match(_EXPONENT_MANTISSA)
    if match is None:
        parser.fail_expecting("a format such as 'e5m10'")
    state.attributes["exponent_bits"] = IntegerAttribute(int(match.group(1)), _I32)
    state.attributes["mantissa_bits"] = IntegerAttribute(int(match.group(2)), _I32)


def dot_dimension_numbers(parser: StatementParser, state: OperationState) -> None:
    """``batching_dims = [0] x [0], contracting_dims = [2] x [1]``."""
    fields: dict[str, FieldValue] = {
        f"{side}_{kind}_dimensions": () for kind in ("batching", "contracting") for side in ("lhs", "rhs")
    }
    if parser.accept("batching_dims"):
        fields["lhs_batching_dimensions"], fields["rhs_batching_dimensions"] = _lhs_and_rhs(parser)
        parser.expect(",")
    parser.expect("contracting_dims")
    fields["lhs_contracting_dimensions"], fields["rhs_contracting_dimensions"] = _lhs_and_rhs(parser)
    state.attributes["dot_dimension_numbers"] = StructAttribute("stablehlo", "dot", fields)


def _lhs_and_rhs(parser: StatementParser) -> tuple[tuple[int, ...], tuple[int, ...]]:
    parser.expect("=")
    lhs = parser.integers()
    parser.expect("x")
    return lhs, parser.integers()


def precision_config(parser: StatementParser, state: OperationState) -> None:
    """``, precision = [DEFAULT, HIGHEST]``, or nothing."""
    if parser.accept(", precision"):
        _precision(parser, state)


def precision_config_and_algorithm(parser: StatementParser, state: OperationState) -> None:
    """``, precision = [...], algorithm = <...>``, each of which may be absent."""
    precision_config(parser, state)
    if parser.accept(", algorithm"):
        parser.expect("=")
        parser.expect("<")
        state.attributes["algorithm"] = parser.struct("stablehlo", "dot_algorithm")


def _precision(parser: StatementParser, state: OperationState) -> None:
    parser.expect("=")
    parser.expect("[")
    values = [parser.keyword("a precision") for _ in parser.items("]")]
    state.attributes["precision_config"] = ArrayAttribute(
        tuple([EnumAttribute("stablehlo", "precision", value) for value in values])
    )


def convolution_dimensions(parser: StatementParser, state: OperationState) -> None:
    """``[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]``."""
    from .convolution_dimensions import parse_convolution_dimensions

    fields = parse_convolution_dimensions(parser)
    state.attributes["dimension_numbers"] = StructAttribute("stablehlo", "conv", fields)


def window_attributes(parser: StatementParser, state: OperationState) -> None:
    """``stride = [1], pad = [[0, 0]], lhs_dilate = [1], rhs_dilate = [1], reverse = [false]``.

    A comma may follow the last one.
    """
    names: set[str] = set()
    while not parser.at("}") and (not names or parser.accept(",")) and not parser.at("}"):
        position = parser.skip()
        name = parser.keyword("'stride'")
        if name not in _WINDOW_ATTRIBUTES or name in names:
            parser.fail_expecting(f"one of {', '.join(_WINDOW_ATTRIBUTES)}, each at most once", position)
        names.add(name)
        parser.expect("=")
        state.attributes[_WINDOW_ATTRIBUTES[name]] = _window_value(parser, name)


def _window_value(parser: StatementParser, name: str) -> DenseArrayAttribute | DenseElementsAttribute:
    if name == "reverse":
        return DenseArrayAttribute(_I1, parser.booleans())
    if name != "pad":
        return DenseArrayAttribute(_I64, parser.integers())
    pairs: list[tuple[int, ...]] = []
    parser.expect("[")
    for _ in parser.items("]"):
        position = parser.skip()
        pairs.append(parser.integers())
        if len(pairs[-1]) != 2:
            parser.fail_expecting("a pair such as '[0, 1]'", position)
    array = parser.int64_array(pairs).reshape(len(pairs), 2)
    return DenseElementsAttribute(TensorType(array.shape, _I64), array)


def call(parser: StatementParser, state: OperationState) -> None:
    """``@callee(%0) {attributes} : functional-type``."""
    state.attributes["callee"] = parser.symbol_reference()
    parser.expect("(")
    state.operands += parser.operands()
    parser.expect(")")
    if parser.peek() == "{":
        parser.add_attributes(state.attributes, parser.attribute_dictionary())
    parser.expect(":")
    functional_type(parser, state)


def reduce(parser: StatementParser, state: OperationState) -> None:
    """``(%x init: %i), ... applies op across dimensions = [0] : type``, or with ``reducer(...) {...}``."""
    inputs, init_values = [], []
    while parser.accept("("):
        inputs.append(parser.operand())
        parser.expect("init")
        parser.expect(":")
        init_values.append(parser.operand())
        parser.expect(")")
        if not parser.accept(","):
            break
    state.operands += inputs + init_values
    position = parser.skip()
    inner = parser.keyword("an operation's name") if parser.accept("applies") else None
    parser.expect("across")
    parser.expect("dimensions")
    parser.expect("=")
    state.attributes["dimensions"] = DenseArrayAttribute(_I64, parser.integers())
    if parser.peek() == "{":
        parser.add_attributes(state.attributes, parser.attribute_dictionary())
    parser.expect(":")
    functional_type(parser, state)
    if inner is None:
        state.regions.append(_reducer_region(parser))
    else:
        state.regions.append(_implied_region(parser, state, inner, position))


def _reducer_region(parser: StatementParser) -> Region:
    """``reducer(%x: type, %accumulator: type) ... {...}`` with a pair of arguments for each input."""
    parser.expect("reducer")
    values, accumulators = [], []
    while parser.accept("("):
        values.append(parser.block_argument())
        parser.expect(",")
        accumulators.append(parser.block_argument())
        parser.expect(")")
    return parser.region(values + accumulators)


def _implied_region(parser: StatementParser, state: OperationState, name: str, position: int) -> Region:
    """The region that ``applies NAME`` implies: the operation on the two block arguments, and its return."""
    if not name.startswith("stablehlo.") or len(state.operands) != 2:
        parser.fail_expecting("'applies' an operation of stablehlo to one input", position)
    operand = state.operands[0].type
    if not isinstance(operand, TensorType):
        parser.fail_expecting("a tensor as input", position)
    return binary_region(name, operand.element_type, parser.location_at(state.position))


def while_(parser: StatementParser, state: OperationState) -> None:
    """``(%argument = %operand, ...) : types attributes {...} cond {...} do {...}``."""
    names: list[tuple[str, int]] = []
    parser.expect("(")
    for _ in parser.items(")"):
        names.append(parser.value_name())
        parser.expect("=")
        state.operands.append(parser.operand())
    if state.operands:
        parser.expect(":")
        pairwise_types(parser, state)
    if parser.accept("attributes"):
        parser.add_attributes(state.attributes, parser.attribute_dictionary())
    arguments = [
        (name, position, operand.type)
        for (name, position), operand in zip(names, state.operands, strict=True)
    ]
    parser.expect("cond")
    state.regions.append(parser.region(arguments))
    parser.expect("do")
    state.regions.append(parser.region(arguments))


def isolated_body(parser: StatementParser, state: OperationState) -> None:
    """``(%a: tensor<2xf32>, ...) {...}``: an isolated region of one block without a label."""
    arguments: list[tuple[str, int, Type]] = []
    parser.expect("(")
    for _ in parser.items(")"):
        name, position = parser.value_name()
        parser.expect(":")
        arguments.append((name, position, parser.type()))
        parser.optional_attribute_dictionary()
        parser.argument_location(position)
    state.regions.append(parser.isolated_region(arguments))


def scan(parser: StatementParser, state: OperationState) -> None:
    """``(%x) inits (%i) dimension=0 attributes {...} {...} : functional-type`` (CHLO)."""
    groups = []
    for keyword in ("", "inits"):
        if keyword:
            parser.expect(keyword)
        parser.expect("(")
        groups.append(parser.operands())
        parser.expect(")")
    state.operands += groups[0] + groups[1]
    parser.expect("dimension")
    parser.expect("=")
    state.attributes["dimension"] = IntegerAttribute(parser.integer(), _I64)
    if parser.accept("attributes"):
        parser.add_attributes(state.attributes, parser.attribute_dictionary())
    state.regions.append(parser.region())
    parser.expect(":")
    functional_type(parser, state)
    carries = len(groups[1])
    sizes = {"operandSegmentSizes": len(groups[0]), "resultSegmentSizes": len(state.result_types) - carries}
    for name, count in sizes.items():
        state.attributes[name] = DenseArrayAttribute(_I32, (count, carries))


DIRECTIVES: Final[dict[str, Callable[[StatementParser, OperationState], None]]] = {
    "call": call,
    "computation_name": computation_name,
    "constant": constant,
    "convolution_dimensions": convolution_dimensions,
    "custom_call_target": custom_call_target,
    "dot_dimension_numbers": dot_dimension_numbers,
    "exponent_mantissa": exponent_mantissa,
    "isolated_body": isolated_body,
    "number": number,
    "precision_config": precision_config,
    "precision_config_and_algorithm": precision_config_and_algorithm,
    "reduce": reduce,
    "scan": scan,
    "slice_ranges": slice_ranges,
    "symbol_name": symbol_name,
    "variadic_operand_with_attribute": variadic_operand_with_attribute,
    "while": while_,
    "window_attributes": window_attributes,
}
