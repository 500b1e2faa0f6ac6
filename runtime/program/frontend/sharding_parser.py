"""Parse the attributes of the sdy dialect: meshes, shardings, sharding rules.

Source: the sdy dialect's attributes, in the forms in which MLIR prints them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, TypeVar

from ..ir import Attribute
from ..ir.sharding import (
    AllToAllParameter,
    AllToAllParameters,
    AxisList,
    AxisLists,
    AxisRef,
    DimensionSharding,
    ManualAxes,
    Mesh,
    MeshAxis,
    SdyAttribute,
    ShardingPerValue,
    SubAxis,
    TensorSharding,
    mesh_of,
)
from ..ir.sharding_rules import (
    FIRST_FACTOR,
    LAST_LETTER,
    AxisPropagation,
    EdgeValue,
    PropagationEdges,
    PropagationStep,
    ShardingRule,
    TensorMapping,
    factor_name,
)
from .lexer import Cursor

_I64: Final = range(-(1 << 63), 1 << 63)

T = TypeVar("T", bound=SdyAttribute)


class ShardingParser:
    """Parses attributes of the sdy dialect.

    Args:
        cursor: the cursor of the parser that owns the text.
        parse_attribute: consumes an attribute in its full form, ``#sdy.mesh<...>`` or an alias.
    """

    def __init__(self, cursor: Cursor, parse_attribute: Callable[[], Attribute]) -> None:
        self.cursor = cursor
        self.parse_attribute = parse_attribute

    def body(self, mnemonic: str) -> SdyAttribute | None:
        """Consume the text after a mnemonic; None, consuming nothing, if ir has no class for the mnemonic."""
        parse = _BODIES.get(mnemonic)
        return None if parse is None else parse(self)

    def bare(self, kind: type[T]) -> T:
        """Consume an attribute without its mnemonic, or in its full form.

        Args:
            kind: the class of the attribute. Assembly formats omit the angle brackets of a
                `ShardingPerValue`.
        """
        if self.cursor.peek() != "#":
            parsed = self.sharding_list() if kind is ShardingPerValue else self.body(kind.mnemonic)
            assert isinstance(parsed, kind)
            return parsed
        position = self.cursor.position
        attribute = self.parse_attribute()
        if not isinstance(attribute, kind):
            self.cursor.fail_expecting(f"an attribute #sdy.{kind.mnemonic}", position)
        return attribute

    def integer(self) -> int:
        """Consume an integer in the range of i64."""
        position = self.cursor.skip()
        value = self.cursor.integer()
        if value not in _I64:
            self.cursor.fail("the integer is out of the range of i64", position)
        return value

    def _list(self, kind: type[T], opening: str, closing: str) -> tuple[T, ...]:
        self.cursor.expect(opening)
        return tuple([self.bare(kind) for _ in self.cursor.items(closing)])

    def _integers(self) -> tuple[int, ...]:
        """``[1, 2]`` with at least one integer."""
        self.cursor.expect("[")
        values = [self.integer()]
        while self.cursor.accept(","):
            values.append(self.integer())
        self.cursor.expect("]")
        return tuple(values)

    def mesh(self) -> Mesh:
        """``<["x"=2, "y"=4], device_ids=[...]>``; the device ids 0, 1, ... are omitted."""
        cursor = self.cursor
        cursor.expect("<")
        axes = self._list(MeshAxis, "[", "]")
        device_ids: tuple[int, ...] = ()
        if cursor.accept(","):
            cursor.expect("device_ids")
            cursor.expect("=")
            device_ids = self._integers()
        cursor.expect(">")
        return mesh_of(axes, device_ids)

    def mesh_axis(self) -> MeshAxis:
        """``"x"=2``."""
        name = self.cursor.string()
        self.cursor.expect("=")
        return MeshAxis(name, self.integer())

    def sub_axis(self) -> SubAxis:
        """``(1)2``."""
        self.cursor.expect("(")
        pre_size = self.integer()
        self.cursor.expect(")")
        return SubAxis(pre_size, self.integer())

    def axis_ref(self) -> AxisRef:
        """``"x"`` or ``"x":(1)2``."""
        name = self.cursor.string()
        return AxisRef(name, self.bare(SubAxis) if self.cursor.accept(":") else None)

    def dimension(self) -> DimensionSharding:
        """``{"x", ?}p1``."""
        cursor = self.cursor
        cursor.expect("{")
        axes: list[AxisRef] = []
        is_closed = True
        while not cursor.accept("}"):
            if axes:
                cursor.expect(",")
            if cursor.accept("?"):
                is_closed = False
                cursor.expect("}")
                break
            axes.append(self.bare(AxisRef))
        return DimensionSharding(tuple(axes), is_closed, self._priority())

    def _priority(self) -> int | None:
        cursor = self.cursor
        position = cursor.skip()
        word = cursor.optional_keyword()
        if word is None:
            return None
        digits = word[1:]
        is_number = digits.isascii() and digits.isdigit()
        if word[0] != "p" or not is_number or str(_bounded_int(digits)) != digits:
            cursor.fail(f"expected a priority such as 'p1', found '{word[:40]}'", position)
        priority = _bounded_int(digits)
        if priority not in _I64:
            cursor.fail("the priority is out of the range of i64", position)
        return priority

    def mesh_or_symbol(self) -> str | Mesh:
        """``@mesh`` or ``mesh<[...]>``."""
        return self.bare(Mesh) if self.cursor.accept("mesh") else self.cursor.symbol()

    def sharding(self) -> TensorSharding:
        """``<@mesh, [{"x"}, {?}], replicated={"y"}, unreduced={"z"}>``."""
        cursor = self.cursor
        cursor.expect("<")
        mesh = self.mesh_or_symbol()
        cursor.expect(",")
        dimensions = self._list(DimensionSharding, "[", "]")
        replicated: tuple[AxisRef, ...] = ()
        unreduced: tuple[AxisRef, ...] = ()
        reduction = "sum"
        while cursor.accept(","):
            if not replicated and cursor.accept("replicated"):
                cursor.expect("=")
                replicated = self._axes()
            elif not unreduced and cursor.accept("unreduced"):
                if cursor.accept("="):
                    reduction = next((word for word in ("sum", "max", "min") if cursor.accept(word)), "sum")
                unreduced = self._axes()
            else:
                cursor.fail_expecting("'replicated' or 'unreduced', each at most once")
        cursor.expect(">")
        return TensorSharding(mesh, dimensions, replicated, unreduced, reduction)

    def _axes(self) -> tuple[AxisRef, ...]:
        """``{"x", "y"}`` with at least one axis."""
        if not (axes := self._list(AxisRef, "{", "}")):
            self.cursor.fail_expecting("an axis such as '\"x\"'", self.cursor.position - 1)
        return axes

    def per_value(self) -> ShardingPerValue:
        """``<[<@mesh, [{}]>, ...]>``."""
        self.cursor.expect("<")
        shardings = self.sharding_list()
        self.cursor.expect(">")
        return shardings

    def sharding_list(self) -> ShardingPerValue:
        """``[<@mesh, [{}]>, ...]``."""
        return ShardingPerValue(self._list(TensorSharding, "[", "]"))

    def manual_axes(self) -> ManualAxes:
        """``{"x", "y"}``."""
        self.cursor.expect("{")
        return ManualAxes(tuple([self.cursor.string() for _ in self.cursor.items("}")]))

    def axis_list(self) -> AxisList:
        """``{"x", "y":(1)2}``."""
        return AxisList(self._list(AxisRef, "{", "}"))

    def axis_lists(self) -> AxisLists:
        """``[{"x"}, {}]``."""
        return AxisLists(self._list(AxisList, "[", "]"))

    def all_to_all(self) -> AllToAllParameter:
        """``{"x"}: 0->2``."""
        axes = self._axes()
        self.cursor.expect(":")
        source = self.integer()
        self.cursor.expect("->")
        return AllToAllParameter(axes, source, self.integer())

    def all_to_alls(self) -> AllToAllParameters:
        """``[{"x"}: 0->2, ...]``."""
        return AllToAllParameters(self._list(AllToAllParameter, "[", "]"))

    def sharding_rule(self) -> ShardingRule:
        """``<([i, k], [k, j])->([i, j]) {i=8, j=16, k=4} reduction={k}, custom>``."""
        cursor = self.cursor
        cursor.expect("<")
        operands = self._mappings()
        cursor.expect("->")
        results = self._mappings()
        sizes = self._factor_sizes()
        reduction, need_replication, permutation, blocked = [
            self._factors() if cursor.accept(f"{name} =") else ()
            for name in ("reduction", "need_replication", "permutation", "blocked_propagation")
        ]
        is_custom = cursor.accept(",")
        if is_custom:
            cursor.expect("custom")
        cursor.expect(">")
        return ShardingRule(
            sizes, operands, results, reduction, need_replication, permutation, blocked, is_custom
        )

    def _mappings(self) -> tuple[TensorMapping, ...]:
        self.cursor.expect("(")
        return tuple([self._mapping() for _ in self.cursor.items(")")])

    def _mapping(self) -> TensorMapping:
        """``[i, jk]``."""
        self.cursor.expect("[")
        return TensorMapping(tuple([self._factor_list() for _ in self.cursor.items("]")]))

    def _factor_list(self) -> tuple[int, ...]:
        """``ijz_1``: factors without a separator."""
        start = self.cursor.skip()
        word = self.cursor.optional_keyword() or ""
        factors = []
        position = 0
        while position < len(word):
            factor, position = self._factor(word, position, start)
            factors.append(factor)
        return tuple(factors)

    def _factor(self, word: str, position: int, start: int) -> tuple[int, int]:
        """Parse a factor of `word`, whose offset is `start`; the factor and the position after it."""
        if not word.startswith("z_", position):
            factor = ord(word[position]) - FIRST_FACTOR
            if not 0 <= factor <= LAST_LETTER:
                self.cursor.fail("expected a factor from 'i' to 'z' or such as 'z_1'", start + position)
            return factor, position + 1
        end = position + 2
        while end < len(word) and word[end] in "0123456789":
            end += 1
        digits = word[position + 2 : end]
        if not digits or digits.startswith("0") or _bounded_int(digits) not in _I64:
            self.cursor.fail("expected a positive number after 'z_'", start + position)
        return LAST_LETTER + _bounded_int(digits), end

    def _factor_sizes(self) -> tuple[int, ...]:
        """``{i=8, j=16}``: the factors in order."""
        cursor = self.cursor
        sizes: list[int] = []
        if not cursor.accept("{"):
            return ()
        for _ in cursor.items("}"):
            position = cursor.skip()
            if self._factor_list() != (len(sizes),):
                cursor.fail(f"expected the factor {factor_name(len(sizes))}", position)
            cursor.expect("=")
            sizes.append(self.integer())
        return tuple(sizes)

    def _factors(self) -> tuple[int, ...]:
        """``{i, k}``."""
        factors: list[int] = []
        self.cursor.expect("{")
        for _ in self.cursor.items("}"):
            position = self.cursor.skip()
            parsed = self._factor_list()
            if len(parsed) != 1:
                self.cursor.fail("expected one factor", position)
            factors += parsed
        return tuple(factors)

    def propagation_edges(self) -> PropagationEdges:
        """``<[{step-0 = [{"x" = operand-0 -> [result-0]}]}]>``."""
        self.cursor.expect("<")
        steps = self._nonempty_list(self._propagation_step)
        self.cursor.expect(">")
        return PropagationEdges(steps)

    def _nonempty_list(self, parse_item: Callable[[], T]) -> tuple[T, ...]:
        """``[a, b]`` with at least one item."""
        self.cursor.expect("[")
        items = [parse_item()]
        while self.cursor.accept(","):
            items.append(parse_item())
        self.cursor.expect("]")
        return tuple(items)

    def _propagation_step(self) -> PropagationStep:
        cursor = self.cursor
        cursor.expect("{")
        cursor.expect("step")
        cursor.expect("-")
        index = self.integer()
        cursor.expect("=")
        axes = self._nonempty_list(self._axis_propagation)
        cursor.expect("}")
        return PropagationStep(index, axes)

    def _axis_propagation(self) -> AxisPropagation:
        cursor = self.cursor
        cursor.expect("{")
        axis = self.bare(AxisRef)
        cursor.expect("=")
        source = self._edge_value()
        cursor.expect("->")
        targets = self._nonempty_list(self._edge_value)
        cursor.expect("}")
        return AxisPropagation(axis, source, targets)

    def _edge_value(self) -> EdgeValue:
        position = self.cursor.skip()
        kind = self.cursor.keyword("operand or result")
        if kind not in ("operand", "result"):
            self.cursor.fail_expecting("operand or result", position)
        self.cursor.expect("-")
        return EdgeValue(kind, self.integer())


def _bounded_int(digits: str) -> int:
    """The value of decimal digits, or 2^63 if there are more digits than an i64 can have."""
    return int(digits) if len(digits) < 20 else 1 << 63


_BODIES: Final[dict[str, Callable[[ShardingParser], SdyAttribute]]] = {
    "mesh": ShardingParser.mesh,
    "mesh_axis": ShardingParser.mesh_axis,
    "sub_axis_info": ShardingParser.sub_axis,
    "axis_ref": ShardingParser.axis_ref,
    "dimension_sharding": ShardingParser.dimension,
    "sharding": ShardingParser.sharding,
    "sharding_per_value": ShardingParser.per_value,
    "manual_axes": ShardingParser.manual_axes,
    "axis_ref_list": ShardingParser.axis_list,
    "list_of_axis_ref_lists": ShardingParser.axis_lists,
    "all_to_all_param": ShardingParser.all_to_all,
    "all_to_all_param_list": ShardingParser.all_to_alls,
    "op_sharding_rule": ShardingParser.sharding_rule,
    "propagation_edges": ShardingParser.propagation_edges,
}
"""The method that consumes the body of an attribute, by its mnemonic."""
