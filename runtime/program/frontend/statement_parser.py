"""Statements, regions and blocks: operations in generic form, and the rules that assembly formats share.

Source: MLIR language reference, "Operations", "Regions", "Blocks".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from ...errors import counted
from ...types import FLOAT, ElementType, Type
from ..ir import Attribute, Block, IntegerAttribute, NameLocation, Operation, Region, Value
from .attribute_parser import AttributeParser
from .lexer import BARE_IDENTIFIER, SKIP, VALUE_NAME, VALUE_USE, token_pattern
from .repeated_statements import RepeatedStatements, StatementText, statement_text_at

STATEMENT: Final = token_pattern(
    rf"(?:((?:{VALUE_NAME}(?:{SKIP}:{SKIP}\d++)?+{SKIP}(?:,{SKIP})?+)++)={SKIP})?+"
    rf'(?:({BARE_IDENTIFIER})|"([^"\\\n]*+)")'
)
_OPERAND: Final = token_pattern(f"({VALUE_USE})")
_OPERANDS: Final = token_pattern(rf"({VALUE_USE}(?:[ \t]*+,[ \t]*+{VALUE_USE})*+)")
_RESULT: Final = token_pattern(rf"({VALUE_NAME})(?:{SKIP}:{SKIP}(\d++))?+")
NAME: Final = token_pattern(f"({VALUE_NAME})")
_LABEL: Final = token_pattern(r"\^([\w$.\-]++)")

BUILTIN_NAMES: Final = {
    "module": "builtin.module",
    "func": "func.func",
    "return": "func.return",
    "call": "func.call",
}


class OperationState:
    """An operation while it is parsed.

    Attributes:
        name, position: its name, and the offset of the name in the text.
        operands: all operands parsed so far, in order.
        groups: the operands of each operand of the declaration, by its declared name.
        result_types, attributes, regions: those parsed so far.
    """

    __slots__ = ("attributes", "groups", "name", "operands", "position", "regions", "result_types")

    def __init__(self, name: str, position: int) -> None:
        self.name = name
        self.position = position
        self.operands: list[Value] = []
        self.groups: dict[str, list[Value]] = {}
        self.result_types: Sequence[Type] = ()
        self.attributes: dict[str, Attribute] = {}
        self.regions: list[Region] = []


class StatementParser(AttributeParser):
    """Parses operations.

    Attributes:
        values: the values in scope, by name.
        defined: the names that the innermost region defines.
        argument_names: the names that the locations of block arguments give.
    """

    def __init__(self, text: str, name: str) -> None:
        super().__init__(text, name)
        self.values: dict[str, Value] = {}
        self.defined: list[str] = []
        self.argument_names: dict[Value, str] = {}
        self._argument_names_at: dict[int, str] = {}
        self._repeated = RepeatedStatements()

    def region(self, arguments: Sequence[tuple[str, int, Type]] = ()) -> Region:
        """Consume ``{...}``.

        Args:
            arguments: (name, offset, type) of each argument that the operation's assembly format defines.
        """
        self.descend()
        self.expect("{")
        outer = self.defined
        self.defined = []
        region = Region()
        if arguments or self.peek() != "^":
            block = self._begin_block(arguments)
            region.blocks.append(block)
            self._statements(block)
        while self.peek() == "^":
            region.blocks.append(self._labelled_block())
        self.expect("}")
        if len(region.blocks) == 1 and not region.blocks[0].operations and not region.blocks[0].arguments:
            region.blocks.clear()
        for name in self.defined:
            del self.values[name]
        self.defined = outer
        self.nesting -= 1
        return region

    def isolated_region(self, arguments: Sequence[tuple[str, int, Type]] = ()) -> Region:
        """Consume ``{...}`` of a region that sees no values from outside, such as a function's body."""
        outer = self.enter_isolated()
        region = self.region(arguments)
        self.leave_isolated(outer)
        return region

    def enter_isolated(self) -> tuple[dict[str, Value], list[str]]:
        """Begin a region that sees no values from outside; the scope around it, for `leave_isolated`."""
        outer = self.values, self.defined
        self.values, self.defined = {}, []
        return outer

    def leave_isolated(self, outer: tuple[dict[str, Value], list[str]]) -> None:
        """End a region that sees no values from outside, and restore the scope around it."""
        self.values, self.defined = outer

    def _labelled_block(self) -> Block:
        if self.match(_LABEL) is None:
            self.fail_expecting("a block's label")
        arguments: list[tuple[str, int, Type]] = []
        if self.accept("("):
            arguments = [self.block_argument() for _ in self.items(")")]
        self.expect(":")
        block = self._begin_block(arguments)
        self._statements(block)
        return block

    def block_argument(self) -> tuple[str, int, Type]:
        """Consume ``%name: type loc(...)``."""
        name, position = self.value_name()
        self.expect(":")
        type = self.type()
        self.argument_location(position)
        return name, position, type

    def argument_location(self, position: int) -> None:
        """Consume the location, if there is one, of the argument at an offset; only its name is kept."""
        location = self.optional_location()
        if isinstance(location, NameLocation):
            self._argument_names_at[position] = location.name

    def value_name(self) -> tuple[str, int]:
        """Consume a value's name and return it with its offset."""
        match = self.match(NAME)
        if match is None:
            self.fail_expecting("a value's name such as '%0'")
        return match.group(1), match.start(1)

    def _begin_block(self, arguments: Sequence[tuple[str, int, Type]]) -> Block:
        block = Block([type for _, _, type in arguments])
        for (name, position, _), value in zip(arguments, block.arguments, strict=True):
            self._define_value(name, value, position)
            if position in self._argument_names_at:
                self.argument_names[value] = self._argument_names_at[position]
        return block

    def _define_value(self, name: str, value: Value, position: int) -> None:
        if name in self.values:
            self.fail(f"{name} is defined twice", position)
        self.values[name] = value
        self.defined.append(name)

    def _statements(self, block: Block) -> None:
        append = block.operations.append
        while (operation := self.operation()) is not None:
            append(operation)
        if self.peek() not in ("}", "^"):
            self.fail_expecting("an operation or '}'")

    def operation(self) -> Operation | None:
        """Consume an operation with its results' names and its location; None if no operation is next."""
        match = STATEMENT.match(self.text, self.position)
        if match is None:
            return None
        results, name, quoted = match.groups()
        start = match.start(3) - 1 if name is None else match.start(2)
        statement = statement_text_at(self.text, start)
        operation = None if statement is None else self._repeated.replay(statement, self.values, start)
        if statement is None or operation is None:
            self.position = match.end()
            operation = self._new_operation(name, quoted, start, statement)
        else:
            self.position = statement.end
        if statement is None or self.position != statement.end or not statement.has_no_location:
            operation.location = self.optional_location() or self.location_at(start)
        else:
            operation.location = self.location_at(start)
        if results is None:
            return operation
        if ":" not in results and "," not in results and len(operation.results) == 1:
            self._define_value(results.split()[0], operation.results[0], match.start(1))
        else:
            self._define_results(operation, match.start(1))
        return operation

    def _new_operation(
        self, name: str | None, quoted: str, start: int, statement: StatementText | None
    ) -> Operation:
        """Consume what follows an operation's name, which is bare or quoted."""
        if name is None:
            state = OperationState(quoted, start)
            self.parse_generic(state)
        else:
            state = OperationState(name if "." in name else BUILTIN_NAMES.get(name, name), start)
            self.parse_pretty(state)
        operation = Operation(state.name, state.operands, state.result_types, state.attributes, state.regions)
        if statement is not None and self.position == statement.end:
            self._repeated.store(statement, self.values, operation, start)
        return operation

    def parse_pretty(self, state: OperationState) -> None:
        """Consume what follows the name in the pretty form."""
        raise NotImplementedError

    def _define_results(self, operation: Operation, position: int) -> None:
        """Bind ``%a, %b:2`` to an operation's results."""
        end = self.position
        self.position = position
        values = operation.results
        bound = 0
        while True:
            match = self.match(_RESULT)
            if match is None:
                self.fail_expecting("a result's name")
            count = self.integer_value(match.group(2), match.start(2)) if match.group(2) else 1
            if not 0 < count <= len(values) - bound:
                self.fail(
                    f"expected names for {counted(len(values), 'result')} of {operation.name}", position
                )
            self._define_value(match.group(1), values[bound], match.start(1))
            if count > 1:
                for index in range(count):
                    self._define_value(f"{match.group(1)}#{index}", values[bound + index], match.start(1))
            bound += count
            if not self.accept(","):
                break
        if bound != len(values):
            self.fail(f"expected names for {counted(len(values), 'result')} of {operation.name}", position)
        self.position = end

    def operand(self) -> Value:
        """Consume the use of one value."""
        match = self.match(_OPERAND)
        if match is None:
            self.fail_expecting("an operand such as '%0'")
        value = self.values.get(match.group(1))
        return value if value is not None else self._resolve(match.group(1), match.start(1))

    def operands(self) -> list[Value]:
        """Consume a comma-separated list of operands, which may be empty."""
        match = _OPERANDS.match(self.text, self.position)
        if match is None:
            return []
        self.position = match.end()
        names = match.group(1)
        values: list[Value] = []
        for name in names.replace("\t", " ").split(","):
            value = self.values.get(name.strip())
            values.append(value if value is not None else self._resolve(name.strip(), match.start(1)))
        while self.accept(","):
            values.append(self.operand())
        return values

    def _resolve(self, name: str, position: int) -> Value:
        """Resolve a name that `values` lacks: ``%x#0`` names the only result of an operation.

        Raises:
            ParseError: the value is not defined.
        """
        base, _, index = name.partition("#")
        value = self.values.get(base)
        if value is not None and index == "0":
            return value
        if value is not None:
            self.fail(f"{base} has no result number {index}", position)
        self.fail(f"expected a value that is defined before its use; {name} is not", position)

    def parse_generic(self, state: OperationState) -> None:
        """Consume what follows the name in the generic form.

        ``(operands) <{properties}> ({regions}) {attributes} : functional-type``
        """
        self.expect("(")
        state.operands += self.operands()
        self.expect(")")
        if self.peek() == "[":
            self.unsupported("successors are not supported", state.name, self.position)
        if self.accept("<"):
            self.add_attributes(state.attributes, self.attribute_dictionary())
            self.expect(">")
        if self.accept("("):
            state.regions += [self.region() for _ in self.items(")")]
        if self.peek() == "{":
            self.add_attributes(state.attributes, self.attribute_dictionary())
        self.expect(":")
        self.functional_type(state)

    def functional_type(self, state: OperationState) -> None:
        """Consume ``(types) -> types``: the types of the operands, which are checked, and of the results."""
        position = self.position
        type = self.function_type()
        self.check_operand_types(state.operands, type.inputs, position)
        state.result_types = type.results

    def check_operand_types(self, operands: Sequence[Value], types: Sequence[Type], position: int) -> None:
        """Check the operands against the types that the text at `position` states.

        Raises:
            ParseError: an operand has another type, or the numbers differ.
        """
        if len(operands) != len(types):
            self.fail_expecting(f"{counted(len(operands), 'operand type')}, found {len(types)}", position)
        for operand, type in zip(operands, types, strict=True):
            if operand.type is not type and operand.type != type:
                self.fail_expecting(f"an operand of type {type}, found one of type {operand.type}", position)

    def add_attributes(self, attributes: dict[str, Attribute], more: Mapping[str, Attribute]) -> None:
        """Add the attributes `more` to `attributes`.

        Raises:
            ParseError: `attributes` has one of them already.
        """
        for name in more:
            if name in attributes:
                self.fail(f"attribute {name} is given twice", self.position)
        attributes.update(more)

    def boolean(self) -> bool:
        """Consume ``true`` or ``1``, ``false`` or ``0``."""
        if self.accept("true") or self.accept("1"):
            return True
        if self.accept("false") or self.accept("0"):
            return False
        self.fail_expecting("true or false")

    def booleans(self) -> tuple[bool, ...]:
        """Consume ``[true, false]``."""
        self.expect("[")
        return tuple([self.boolean() for _ in self.items("]")])

    def int64_array(self, values: Sequence[Sequence[int]]) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
        """Convert lists of integers of equal length to an i64 array of rank 2.

        Raises:
            ParseError: a value is out of the range of i64.
        """
        try:
            return np.array(values, np.int64)
        except OverflowError:
            self.fail("an integer is out of the range of i64", self.position)

    def bare_number(self, type: ElementType) -> Attribute:
        """Consume a number of the given type, which the text need not state."""
        if type.category == FLOAT:
            return self.number(type)
        position = self.skip()
        return IntegerAttribute(self.in_range(self.integer(), type, position), type)
