"""Assembly formats of the operations of the sdy dialect (`nimblehlo.ops.sharding`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from ..ir import IntegerAttribute, StringAttribute
from ..ir.sharding import (
    AllToAllParameters,
    AxisList,
    AxisLists,
    ManualAxes,
    Mesh,
    SdyAttribute,
    ShardingPerValue,
    TensorSharding,
)
from ..ops.sharding.operations import Direction, Reduction
from ..types import ELEMENT_TYPES, Type
from .assembly import AssemblyFormat, compile_assembly
from .signature import ParseAction, Signature
from .statement_parser import OperationState, StatementParser

_I32: Final = ELEMENT_TYPES["i32"]
_I64: Final = ELEMENT_TYPES["i64"]


def _attribute(name: str, kind: type[SdyAttribute]) -> ParseAction:
    """An attribute without its mnemonic, or in its full spelling."""

    def action(parser: StatementParser, state: OperationState) -> None:
        state.attributes[name] = parser.sharding_reader().bare(kind)

    return action


def _name(parser: StatementParser, state: OperationState) -> None:
    """``@name``."""
    state.attributes["sym_name"] = parser.symbol_name()


def _computation_name(parser: StatementParser, state: OperationState) -> None:
    """``<"name">``."""
    parser.expect("<")
    state.attributes["name"] = StringAttribute(parser.string())
    parser.expect(">")


def _group_id(parser: StatementParser, state: OperationState) -> None:
    """``group_id=3``."""
    parser.expect("group_id =")
    state.attributes["group_id"] = IntegerAttribute(parser.sharding_reader().integer(), _I64)


def _direction(parser: StatementParser, state: OperationState) -> None:
    """``allowed_direction=FORWARD``."""
    parser.expect("allowed_direction =")
    position = parser.skip()
    keyword = parser.keyword("a direction such as 'FORWARD'")
    if keyword not in Direction.__members__:
        parser.fail(f"one of {', '.join(Direction.__members__)}", position)
    state.attributes["allowed_direction"] = IntegerAttribute(Direction[keyword].value, _I32)


def _reduction(parser: StatementParser, state: OperationState) -> None:
    """``max``, which may be left out."""
    keyword = next((member for member in Reduction.__members__ if parser.accept(member)), None)
    if keyword is not None:
        state.attributes["reduction_op"] = IntegerAttribute(Reduction[keyword].value, _I32)


def _keyed(
    key: str, name: str, parse: Callable[[StatementParser], SdyAttribute], optional: bool
) -> ParseAction:
    """``key=attribute``."""

    def action(parser: StatementParser, state: OperationState) -> None:
        if parser.accept(f"{key} ="):
            state.attributes[name] = parse(parser)
        elif not optional:
            parser.fail(f"'{key}='")

    return action


def _out_sharding(parser: StatementParser) -> SdyAttribute:
    return parser.sharding_reader().bare(TensorSharding)


def _sharding_list(parser: StatementParser) -> ShardingPerValue:
    return parser.sharding_reader().sharding_list()


def _manual_axes(parser: StatementParser) -> SdyAttribute:
    return parser.sharding_reader().bare(ManualAxes)


def _body(parser: StatementParser, state: OperationState) -> None:
    """``(%a: tensor<2xf32>, ...) {...}``: the arguments of the only block have no label."""
    arguments: list[tuple[str, int, Type]] = []
    parser.expect("(")
    for _ in parser.items(")"):
        name, position = parser.value_name()
        parser.expect(":")
        arguments.append((name, position, parser.type()))
        parser.optional_attribute_dictionary()
        parser.optional_location()
    state.regions.append(parser.isolated_region(arguments))


def _actions(assembly: str, operands: dict[str, bool] | None = None) -> Sequence[ParseAction]:
    return compile_assembly(assembly, Signature(operands)).actions


_END: Final = _actions("attr-dict : same-type")
_INPUT: Final = _actions("$input", {"input": False})
_SHARDED: Final = AssemblyFormat([*_INPUT, _attribute("sharding", TensorSharding), *_END])
_SHARDINGS: Final = ("in_shardings", "out_shardings")


def _collective(*actions: ParseAction) -> AssemblyFormat:
    """Axes, the operand, ``out_sharding=...``."""
    out_sharding = _keyed("out_sharding", "out_sharding", _out_sharding, False)
    return AssemblyFormat([*actions, *_INPUT, out_sharding, *_END])


def _no_result(parser: StatementParser, state: OperationState) -> None:
    state.result_types = ()


FORMATS: Final = {
    "sdy.mesh": AssemblyFormat([_name, *_actions("="), _attribute("mesh", Mesh), *_actions("attr-dict")]),
    "sdy.sharding_constraint": _SHARDED,
    "sdy.reshard": _SHARDED,
    "sdy.return": AssemblyFormat(_actions("attr-dict ( $results : types($results) )?", {"results": True})),
    "sdy.sharding_group": AssemblyFormat([*_INPUT, _group_id, *_END, _no_result]),
    "sdy.constant": AssemblyFormat(_actions("custom(constant)")),
    "sdy.data_flow_edge": AssemblyFormat(
        [*_INPUT, _keyed("sharding", "sharding", _out_sharding, True), *_END]
    ),
    "sdy.func_data_flow_edge": AssemblyFormat([*_INPUT, *_END]),
    "sdy.propagation_barrier": AssemblyFormat([*_INPUT, _direction, *_END]),
    "sdy.manual_computation": AssemblyFormat(
        [
            *_actions("( $operands )", {"operands": True}),
            *[_keyed(key, key, _sharding_list, False) for key in _SHARDINGS],
            _keyed("manual_axes", "manual_axes", _manual_axes, False),
            _body,
            *_actions("attr-dict : functional-type"),
        ]
    ),
    "sdy.named_computation": AssemblyFormat(
        [
            _computation_name,
            *_actions("( $operands )", {"operands": True}),
            *[_keyed(key, key, _sharding_list, True) for key in _SHARDINGS],
            _body,
            *_actions("attr-dict : functional-type"),
        ]
    ),
    "sdy.all_gather": _collective(_attribute("gathering_axes", AxisLists)),
    "sdy.all_slice": _collective(_attribute("slicing_axes", AxisLists)),
    "sdy.all_to_all": _collective(_attribute("params", AllToAllParameters)),
    "sdy.collective_permute": _collective(),
    "sdy.all_reduce": _collective(_reduction, _attribute("reduction_axes", AxisList)),
    "sdy.reduce_scatter": _collective(_reduction, _attribute("reduce_scatter_axes", AxisLists)),
    "sdy.sharded_to_unreduced": _collective(_attribute("axes", AxisLists)),
    "sdy.replicated_to_unreduced": _collective(_attribute("axes", AxisList)),
}
"""The assembly format of each operation by name."""
