"""Control flow: `while`, `if`, `case`, calls, terminators, barriers and tokens.

Source: specification, sections "while", "if", "case", "optimization_barrier", "after_all";
the `func` dialect for calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from ....types import (
    BOOLEAN,
    BUFFER,
    ELEMENT_TYPES,
    SIGNED,
    TENSOR,
    TOKEN,
    TOKEN_VALUE,
    TUPLE,
    Array,
    FunctionType,
    TensorType,
    TokenType,
    Type,
)
from ..framework.accuracy import Rounding
from ..framework.attribute_kinds import SYMBOL
from ..framework.declaration import Attribute, Evaluate, Op, Operand, Region, Result, constraint
from ..framework.facts import Finiteness
from ..framework.rules import all_types_agree, first, function_type_is, types_text
from ..framework.traits import Memory, RegionRole

VALUE: Final = TENSOR | TOKEN | TUPLE | BUFFER
"""Any value that control flow passes on."""


def results_are(actual: Sequence[Type], expected: Sequence[Type], source: str) -> str | None:
    """Declared result types must agree with the expected ones; `source` names the source of the latter."""
    if all_types_agree(actual, expected):
        return None
    return f"results are {types_text(actual)}, but {source} {types_text(expected)}"


class ControlFlow(Op):
    """Base of operations that decide which of their regions run."""

    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    memory = Memory.MAY_FORWARD
    may_be_hoisted = False
    takes_stored_values = True


class While(ControlFlow, name="stablehlo.while", assembly="custom(while)"):
    """Runs `body` repeatedly while `cond` returns true."""

    unused_results = "loop"
    region_role = RegionRole.LOOP
    block_rule = "scalars.control.WHILE"

    operand = Operand(VALUE, variadic=True)
    cond = Region()
    body = Region()
    results = Result(VALUE, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """cond has type (T0, ..., TN-1) -> tensor<i1>, where Ti = type(operand[i])"""
        return function_type_is("cond", self.cond, self.operand, [TensorType((), ELEMENT_TYPES["i1"])])

    @constraint
    def C2(self) -> str | None:
        """body has type (T0, ..., TN-1) -> (T0, ..., TN-1), where Ti = type(operand[i])"""
        return function_type_is("body", self.body, self.operand, self.operand)

    @constraint
    def C3(self) -> str | None:
        """type(results...) = type(operand...)"""
        return results_are(self.results, self.operand, "operand is")

    def infer(self) -> list[Type]:
        return list(self.operand)

    def reference(self, *operand: Any, cond: Evaluate, body: Evaluate) -> tuple[Any, ...]:
        while cond(*operand)[0]:
            operand = body(*operand)
        return operand


class If(ControlFlow, name="stablehlo.if"):
    """Runs one of two branches."""

    unused_results = "branches"
    region_role = RegionRole.BRANCHES
    block_rule = "scalars.control.IF"

    pred = Operand(BOOLEAN, rank=0)
    true_branch = Region()
    false_branch = Region()
    results = Result(VALUE, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """input_types(true_branch) = input_types(false_branch) = []"""
        branches = {"true_branch": self.true_branch.type, "false_branch": self.false_branch.type}
        return first(*(_takes_nothing(name, type) for name, type in branches.items()))

    @constraint
    def C2(self) -> str | None:
        """output_types(true_branch) = output_types(false_branch)"""
        outputs = self.true_branch.type.results
        return _returns("false_branch", self.false_branch.type, outputs, "true_branch")

    @constraint
    def C3(self) -> str | None:
        """type(results...) = output_types(true_branch)"""
        return results_are(self.results, self.true_branch.type.results, "true_branch returns")

    def reference(self, pred: Array, true_branch: Evaluate, false_branch: Evaluate) -> tuple[Any, ...]:
        return true_branch() if pred else false_branch()


class Case(ControlFlow, name="stablehlo.case"):
    """Runs the branch that `index` selects, the last one where `index` is out of range."""

    unused_results = "branches"
    region_role = RegionRole.BRANCHES
    block_rule = "scalars.control.CASE"

    index = Operand(SIGNED, rank=0)
    branches = Region(variadic=True)
    results = Result(VALUE, variadic=True)

    @constraint
    def I1(self) -> str | None:
        """index is a 0-dimensional tensor of type i32"""
        element_type = self.index.plain_element_type
        return None if element_type.name == "i32" else f"index has elements {element_type}"

    @constraint
    def C1(self) -> str | None:
        """0 < size(branches)"""
        return None if self.branches else "there are no branches"

    @constraint
    def C2(self) -> str | None:
        """input_types(branches...) = []"""
        named = {f"branches[{index}]": branch.type for index, branch in enumerate(self.branches)}
        return first(*(_takes_nothing(name, type) for name, type in named.items()))

    @constraint
    def C3(self) -> str | None:
        """same(output_types(branches...))"""
        outputs = self.branches[0].type.results
        named = {f"branches[{index}]": branch.type for index, branch in enumerate(self.branches)}
        return first(*(_returns(name, type, outputs, "branches[0]") for name, type in named.items()))

    @constraint
    def C4(self) -> str | None:
        """type(results...) = output_types(branches[0])"""
        return results_are(self.results, self.branches[0].type.results, "branches[0] returns")

    def reference(self, index: Array, branches: Sequence[Evaluate]) -> tuple[Any, ...]:
        selected = int(index)
        return branches[selected if 0 <= selected < len(branches) else -1]()


def _takes_nothing(name: str, actual: FunctionType) -> str | None:
    """A branch must take no inputs."""
    return f"{name} has the inputs {types_text(actual.inputs)}, but must have none" if actual.inputs else None


def _returns(name: str, actual: FunctionType, outputs: Sequence[Type], other: str) -> str | None:
    """A branch must return as many values as another one, of the same types."""
    if all_types_agree(actual.results, outputs):
        return None
    return f"{name} returns {types_text(actual.results)}, but {other} returns {types_text(outputs)}"


class Call(Op, name="func.call", assembly="custom(call)"):
    """A call of a function of the module; specialization inlines the function's body."""

    partition = "refuse"
    may_be_hoisted = False

    operands = Operand(VALUE, variadic=True)
    callee = Attribute(SYMBOL)
    results = Result(VALUE, variadic=True)


class Return(Op, name="stablehlo.return", assembly="$results attr-dict ( : types($results) )?"):
    """Ends a region and returns its results."""

    wider = "carrier"
    is_terminator = True

    results = Operand(VALUE, variadic=True)

    def reference(self, *results: Any) -> tuple[Any, ...]:
        return results


class FunctionReturn(Op, name="func.return", assembly="attr-dict ( $operands : types($operands) )?"):
    """Ends a function and returns its results."""

    partition = "refuse"
    wider = "carrier"
    is_terminator = True

    operands = Operand(VALUE, variadic=True)

    def reference(self, *operands: Any) -> tuple[Any, ...]:
        return operands


class OptimizationBarrier(
    Op, name="stablehlo.optimization_barrier", assembly="attr-dict ( $operand : pairwise-types )?"
):
    """Returns its operands after all of them have been computed."""

    partition = "barrier"
    rounding = Rounding.EXACT
    wider = "carrier"
    finiteness = Finiteness.MOVED
    memory = Memory.FORWARDS
    may_be_folded = False
    may_be_hoisted = False
    block_rule = "scalars.movement.FORWARD"

    takes_stored_values = True
    operand = Operand(TENSOR | TOKEN, variadic=True)
    result = Result(TENSOR | TOKEN, variadic=True)

    @constraint
    def C1(self) -> str | None:
        """type(operand...) = type(result...)"""
        return results_are(self.result, self.operand, "operand is")

    def infer(self) -> list[Type]:
        return list(self.operand)

    def reference(self, *operand: Any) -> tuple[Any, ...]:
        return operand


class AfterAll(Op, name="stablehlo.after_all", assembly="$inputs attr-dict : same-type"):
    """Joins tokens."""

    partition = "refuse"

    inputs = Operand(TOKEN, variadic=True)
    result = Result(TOKEN)

    def infer(self) -> list[Type]:
        return [TokenType()]

    def reference(self, *inputs: Any) -> Any:
        return TOKEN_VALUE


class CreateToken(Op, name="stablehlo.create_token", assembly="attr-dict : type($output)"):
    """Makes a token. Not in the specification."""

    is_specified = False
    partition = "refuse"

    output = Result(TOKEN)

    def infer(self) -> list[Type]:
        return [TokenType()]

    def reference(self) -> Any:
        return TOKEN_VALUE
