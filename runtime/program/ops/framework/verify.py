"""Verification of whole modules: structure, symbols, scopes, then each operation's own constraints.

Source: specification, sections "Programs", "Functions" and "Operations".
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Hashable, Iterator
from typing import Any, Final

from ....errors import NimbleError, UnsupportedError, VerifyError, raised_by_signal_handler
from ....types import ELEMENT_TYPES, FunctionType, TensorType, TupleType, Type, UnrankedTensorType
from ...ir import (
    ArrayAttribute,
    Attribute,
    Block,
    DenseElementsAttribute,
    Function,
    Module,
    Operation,
    Region,
    SymbolAttribute,
    Value,
)
from ...ir.structural_key import structural_key
from .declaration import Op, declaration_of, malformed
from .op_registry import MESH, RUN_PARALLEL, SHARDING_ATTRIBUTES, VERIFY_SHARDINGS
from .rules import all_accept, all_types_agree, types_text
from .type_constraints import violation

_CALLING: Final = frozenset({"callee", "decomposition", "called_computations"})
"""Attributes that name functions which an operation calls."""
_PLAIN_ELEMENTS = frozenset(ELEMENT_TYPES.values())


def verify(module: Module) -> None:
    """Check a module and everything in it.

    Raises:
        VerifyError: a constraint does not hold; says which, with the values and the location.
        UnsupportedError: an operation or type that this runtime does not offer.
    """
    _Verifier(module).verify()


class _Verifier:
    """Walks one module; nested modules get a verifier of their own."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions: dict[str, Function] = {}
        self.calls: dict[str, set[str]] = {}
        self.verified: set[Hashable] = set()
        self.has_shardings = False

    def verify(self) -> None:
        symbols: set[str] = set()
        for item in self.module.body:
            if isinstance(item, Function):
                if item.name in symbols:
                    raise _function_error(item, f"the symbol @{item.name} is defined twice")
                symbols.add(item.name)
                self.functions[item.name] = item
            elif isinstance(item, Operation):
                self.verify_mesh(item, symbols)
        for item in self.module.body:
            if isinstance(item, Function):
                self.verify_function(item)
            elif isinstance(item, Module):
                verify(item)
        if self.has_shardings:
            sharding = importlib.import_module(f"..{VERIFY_SHARDINGS}", __package__)
            sharding.verify_shardings(self.module, _verify_in_scope)
        self.reject_recursion()

    def verify_mesh(self, operation: Operation, symbols: set[str]) -> None:
        """An operation of the module itself, which must declare a mesh."""
        if operation.name != MESH:
            raise UnsupportedError(
                "is not supported outside of functions", operation=operation.name, location=operation.location
            )
        view: Any = Op.of(operation)
        view.verify()
        if view.sym_name in symbols:
            raise view.verify_error(f"the symbol @{view.sym_name} is defined twice")
        symbols.add(view.sym_name)
        self.has_shardings = True

    def verify_function(self, function: Function) -> None:
        """Types, terminator and operations of one function."""
        for type in (*function.type.inputs, *function.type.results):
            _verify_type(type, "func.func", function.location)
        each = (function.attributes, *function.argument_attributes, *function.result_attributes)
        self.has_shardings |= any("sdy.sharding" in attributes for attributes in each)
        self.calls[function.name] = set()
        if function.body is None:
            return
        block = _only_block(function.body, "func.func", function.location)
        inputs = [argument.type for argument in block.arguments]
        if not all_types_agree(inputs, function.type.inputs):
            raise _function_error(function, "the block's arguments differ from the function's inputs")
        outputs = [operand.type for operand in block.terminator.operands]
        if not all_accept(function.type.results, outputs):
            declared = ", ".join(map(str, function.type.results))
            returned = ", ".join(map(str, outputs))
            raise VerifyError(
                f"returns ({returned}), but @{function.name} is declared to return ({declared})",
                operation="func.return",
                location=block.terminator.location,
            )
        self.verify_block(block, set(), function)

    def verify_block(self, block: Block, visible: set[Value], function: Function) -> None:
        """Operations of a block; `visible` are the values defined around it (unchanged on return)."""
        own: list[Value] = [*block.arguments]
        visible.update(own)
        last = len(block.operations) - 1
        for index, operation in enumerate(block.operations):
            if not visible.issuperset(operation.operands):
                raise VerifyError(
                    "uses a value before or outside of its definition",
                    operation=operation.name,
                    location=operation.location,
                )
            if (declaration_of(operation).is_terminator) != (index == last):
                reason = "must be the last of its block" if index != last else "must be followed by a return"
                raise VerifyError(reason, operation=operation.name, location=operation.location)
            self.verify_operation(operation, visible, function)
            visible.update(operation.results)
            own += operation.results
        visible.difference_update(own)

    def verify_operation(self, operation: Operation, visible: set[Value], function: Function) -> None:
        """One operation: its regions from the inside out, then its own constraints."""
        if not SHARDING_ATTRIBUTES.isdisjoint(operation.attributes) or operation.name.startswith("sdy."):
            self.has_shardings = True
        key = _verification_key(operation)
        if key is not None and key in self.verified:
            return
        for region in operation.regions:
            block = _only_block(region, operation.name, operation.location)
            for argument in block.arguments:
                _verify_type(argument.type, operation.name, operation.location)
            self.verify_block(block, visible, function)
        for result in operation.results:
            _verify_type(result.type, operation.name, operation.location)
        view = Op.of(operation)
        if operation.name == MESH:
            raise view.verify_error("must be in a module, not in a function")
        verify_view(view, functools.partial(self.body_of, view, function))
        for symbol in _called_functions(operation):
            self.calls[function.name].add(symbol)
            if symbol not in self.functions:
                raise view.verify_error(f"there is no function @{symbol}")
        if operation.name == RUN_PARALLEL:
            self.verify_parallel(view)
        if operation.name in ("func.call", "stablehlo.composite"):
            self.verify_call(view, self.functions[next(iter(_called_functions(operation)))])
        if key is not None:
            self.verified.add(key)

    def body_of(self, view: Op, caller: Function, symbol: str) -> Region:
        """The body of a function that an operation in another function calls."""
        self.calls[caller.name].add(symbol)
        function = self.functions.get(symbol)
        if function is None or function.body is None:
            missing = f"there is no function @{symbol}" if function is None else f"@{symbol} has no body"
            raise view.verify_error(missing)
        return function.body

    def verify_call(self, view: Op, callee: Function) -> None:
        """Operands and results of a call must be the callee's inputs and outputs."""
        operation = view.operation
        actual = FunctionType([o.type for o in operation.operands], [r.type for r in operation.results])
        if callee.body is None:
            raise view.verify_error(f"@{callee.name} has no body")
        if not all_accept(callee.type.inputs, actual.inputs):
            raise view.verify_error(
                f"passes {types_text(actual.inputs)}, "
                f"but @{callee.name} takes {types_text(callee.type.inputs)}"
            )
        if not all_accept(actual.results, callee.type.results):
            raise view.verify_error(
                f"has results {types_text(actual.results)}, "
                f"but @{callee.name} returns {types_text(callee.type.results)}"
            )

    def verify_parallel(self, view: Any) -> None:
        """The inputs and results of `interpreter.run_parallel` must be those of all of its programs."""
        programs = [self.functions[name] for row in view.programs for name in row]
        feeds = [self.functions[name] for name in view.infeed or ()]
        for function in (*programs, *feeds):
            if function.body is None:
                raise view.verify_error(f"@{function.name} has no body")
        for feed in feeds:
            is_tensor = [isinstance(type, TensorType) for type in feed.type.results]
            if feed.type.inputs or is_tensor != [True]:
                raise view.verify_error(
                    f"@{feed.name} of infeed is {feed.type}, but must be () -> a tensor", "C6"
                )
        sides = (
            ("inputs", view.inputs, [type for program in programs for type in program.type.inputs], "C4"),
            ("results", view.results, [type for program in programs for type in program.type.results], "C5"),
        )
        for name, actual, expected, label in sides:
            if not all_types_agree(actual, expected):
                declared, inferred = types_text(actual), types_text(expected)
                raise view.verify_error(f"{name} are {declared}, but those of programs are {inferred}", label)

    def reject_recursion(self) -> None:
        """No function may call itself, directly or through others: programs are inlined."""
        done: set[str] = set()
        for start in self.calls:
            path: list[tuple[str, list[str]]] = [(start, sorted(self.calls[start]))]
            on_path = {start}
            while path:
                name, callees = path[-1]
                if not callees or name in done:
                    path.pop()
                    on_path.discard(name)
                    done.add(name)
                    continue
                callee = callees.pop()
                if callee in on_path:
                    raise UnsupportedError(
                        f"@{callee} calls itself",
                        operation="func.call",
                        location=self.functions[callee].location,
                    )
                path.append((callee, sorted(self.calls.get(callee, ()))))
                on_path.add(callee)


def verify_view(view: Op, body_of: Callable[[str], Region] | None = None) -> None:
    """Check a view's constraints and result types.

    Args:
        view: the view.
        body_of: gives the bodies of the functions that operations call; None: calls are not checked.

    Raises:
        NimbleError: one of them does not hold.
    """
    try:
        view.verify()
        verify_inferred(view)
        if body_of is not None:
            view.verify_calls(body_of)
    except NimbleError:
        raise
    except Exception as error:  # a defect of a check must not let the operation pass
        if raised_by_signal_handler(error):
            raise
        raise malformed(view.operation, error) from error


def _verify_in_scope(operation: Operation, scope: object) -> None:
    """Check the constraints of an operation of sdy, those that depend on the program around it included."""
    view: Any = Op.of(operation)
    view.scope = scope
    verify_view(view)


def verify_inferred(view: Op) -> None:
    """Declared result types must agree with the inferred ones.

    Raises:
        VerifyError: they do not.
    """
    inferred = view.infer()
    declared = [result.type for result in view.operation.results]
    if inferred is not None and not all_types_agree(declared, inferred):
        reason = f"the result is declared as {types_text(declared)}, but must be {types_text(inferred)}"
        raise view.verify_error(reason)


def _verification_key(operation: Operation) -> Hashable | None:
    """A key that is equal only for operations with equal verification results; None if the constraints read
    more than a key can hold.
    """
    operands, attributes = operation.operands, operation.attributes
    if _names_function(operation) or not (operands or _is_single(attributes.get("value"))):
        return None
    # By identity, which is faster than equality: the module keeps these objects alive.
    key: list[Hashable] = [operation.name, len(operands), *attributes, *map(id, attributes.values())]
    for operand in operands:
        key.append(id(operand.type))
        owner = operand.owner
        if isinstance(owner, Operation) and owner.is_constant:
            key.append(id(owner.attributes.get("value")))
    key += [id(result.type) for result in operation.results]
    for region in operation.regions:
        region_key = _region_key(region)
        if region_key is None:
            return None
        key.append(region_key)
    return tuple(key)


def _region_key(region: Region) -> Hashable | None:
    """The key of a region; None if it uses values from outside."""
    if len(region.blocks) != 1 or any(map(_names_function, region.walk())):
        return None
    try:
        return structural_key(region.block)[0]
    except KeyError:
        return None


def _names_function(operation: Operation) -> bool:
    return not _CALLING.isdisjoint(operation.attributes) or operation.name == RUN_PARALLEL


def _is_single(attribute: Attribute | None) -> bool:
    """Whether an attribute is a constant of one element, as programs often repeat."""
    return isinstance(attribute, DenseElementsAttribute) and attribute.array.size == 1


def _called_functions(operation: Operation) -> set[str]:
    """Functions of the module that an operation names as its callee, decomposition or programs."""
    names = set()
    for key in ("callee", "decomposition"):
        attribute = operation.attributes.get(key)
        if isinstance(attribute, SymbolAttribute):
            names.add(str(attribute))
    if operation.name == RUN_PARALLEL:
        for key in ("programs", "infeed"):
            names |= _symbols(operation.attributes.get(key))
    return names


def _symbols(attribute: Attribute | None) -> set[str]:
    """The symbols in nested lists."""
    if isinstance(attribute, ArrayAttribute):
        return {name for value in attribute.values for name in _symbols(value)}
    return {str(attribute)} if isinstance(attribute, SymbolAttribute) else set()


def _only_block(region: Region, operation: str, location: object) -> Block:
    if len(region.blocks) != 1 or not region.blocks[0].operations:
        raise VerifyError(
            "each region must be one block that ends with a terminator",
            operation=operation,
            location=location,
        )
    return region.block


def _verify_type(type: Type, operation: str, location: object) -> None:
    """A value's type must be supported and must satisfy the constraints on types."""
    if isinstance(type, TensorType) and type.bounds is None and type.element_type in _PLAIN_ELEMENTS:
        return
    for nested in _leaf_types(type):
        if isinstance(nested, UnrankedTensorType):
            reason = f"unranked types such as {nested} are not supported"
            raise UnsupportedError(reason, operation=operation, location=location)
    problem = violation(type)
    if problem is not None:
        raise VerifyError(problem.reason, label=problem.label, operation=operation, location=location)


def _leaf_types(type: Type) -> Iterator[Type]:
    """The type, or the types in a tuple."""
    if isinstance(type, TupleType):
        for nested in type.types:
            yield from _leaf_types(nested)
    else:
        yield type


def _function_error(function: Function, reason: str) -> VerifyError:
    return VerifyError(reason, operation="func.func", location=function.location)
