"""Inlines calls, and composites for which no function is registered, so that a program is one function.

Operations and attributes of the sdy dialect are dropped, except for manual computations, whose bodies run for
each device.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from ...errors import UnsupportedError, VerifyError
from ...program.ir import (
    ArrayAttribute,
    Attribute,
    Block,
    Builder,
    CallSiteLocation,
    Function,
    Location,
    Module,
    Operation,
    Region,
    SymbolAttribute,
    Value,
    referenced_functions,
)
from ...program.ir.location import names_line
from ...program.ir.record import Record
from ...program.ops.framework.op_registry import (
    COMMUNICATING,
    MANUAL_COMPUTATION,
    MODULE_OF_OPERATION,
    RUN_PARALLEL,
    SHARDING_ATTRIBUTES,
)
from ...program.ops.framework.rules import call_target
from ...types import TupleType

if TYPE_CHECKING:
    from ...program.ops.custom_calls.replaced_targets import ReplacedTarget
    from ...program.ops.sharding.scope import Scope

MAX_REGION_DEPTH = 128
"""Maximum nesting of regions, as in the text parser."""

MAX_INLINED_OPERATIONS = 5_000_000
"""Maximum operations of the result: a chain of functions that each call the next twice grows
exponentially."""

_CALLS: Final = frozenset(
    {
        "func.call",
        "stablehlo.composite",
        "stablehlo.custom_call",
        *COMMUNICATING,
        *(name for name in MODULE_OF_OPERATION if name.startswith("sdy.")),
    }
)
"""Operations that may become others."""
_CALLEES: Final = frozenset({"callee", "decomposition"})
"""Attributes that name the function which replaces a call."""
MANUAL: Final = "sdy.manual_computation"
MULTI_DEVICE_OPERATIONS: Final = frozenset({"sdy.all_reduce", "sdy.manual_computation", "sdy.reduce_scatter"})
"""Operations of sdy that may need several devices."""


def inline_calls(module: Module, function: Function) -> Function:
    """A copy of `function` in which the body of each callee replaces its call.

    Raises:
        UnsupportedError: the result would have more than MAX_INLINED_OPERATIONS operations.
    """
    assert function.body is not None
    return function.with_body(_Inliner(module).inlined(function.body))


def with_inlined_calls(module: Module, is_inlined: Callable[[Operation], bool] = bool) -> Module:
    """A module whose function `main` calls no other one, with the annotations of the sdy dialect.

    Shardings that the called functions give their arguments and results are dropped: they are hints.

    Args:
        module: the module; it is not changed.
        is_inlined: whether a call is inlined that is in `main` or has been inlined there; all are by default.

    Raises:
        UnsupportedError: the result would have more than MAX_INLINED_OPERATIONS operations.
    """
    main = module.functions["main"]
    assert main.body is not None
    function = main.with_body(_AnnotatedInliner(module, is_inlined).inlined(main.body))
    assert function.body is not None
    items: list[Function | Operation] = [item for item in module.body if isinstance(item, Operation)]
    items += [function, *referenced_functions(function.body, module.functions)]
    return Module(
        items,
        name=module.name,
        attributes=module.attributes,
        location=module.location,
        producer=module.producer,
    )


def contains_calls(module: Module) -> bool:
    """Whether a function of a module calls another one, or contains a composite, which names its own."""
    return any(not _CALLEES.isdisjoint(operation.attributes) for operation in module.walk())


class _Frame(Record):
    """A block that is being copied.

    Attributes:
        call: the call that the block replaces; None if it replaces none.
        block: the original block.
        operations: the operations that are not copied yet.
        values: the copies of the original values.
        outer_location: the location of the call around it, if that names a source line.
    """

    call: Operation | None
    block: Block
    operations: Iterator[Operation]
    values: dict[Value, Value]
    outer_location: Location | None


class _Inliner:
    """Copies regions, and replaces calls."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.functions: Mapping[str, Function] = module.functions
        self.depth = 0
        self.manual_depth = 0
        self.call_location: Location | None = None

    @functools.cached_property
    def scopes(self) -> Mapping[Operation, Scope]:
        """The functions around operations of sdy that may need several devices."""
        from ...program.ops.sharding.scope import scopes_of

        return scopes_of(self.module, MULTI_DEVICE_OPERATIONS)

    def inlined(self, body: Region) -> Region:
        """A copy of a function's body without its calls.

        Raises:
            UnsupportedError: it would have more than MAX_INLINED_OPERATIONS operations.
        """
        if len(self.functions) > 1 and self.inlined_operations(body) > MAX_INLINED_OPERATIONS:
            raise UnsupportedError(
                f"the program has more than {MAX_INLINED_OPERATIONS} operations with its calls inlined"
            )
        return self.copy_region(body, {})

    def inlined_operations(self, body: Region) -> float:
        """The number of operations of the copy of a function's body, without copying anything.

        Each function is counted once, as the copies may be more than the memory holds.
        """
        called: dict[Region, list[Region]] = {}
        counts: dict[Region, float] = {}
        pending = [body]
        while pending:
            region = pending[-1]
            if region not in counts:
                called[region] = [one for inner in region.walk() for one in self.called_bodies(inner)]
                # What a function that calls itself would have; verified modules have none.
                counts[region] = math.inf
                pending += [one for one in dict.fromkeys(called[region]) if one not in counts]
                continue
            pending.pop()
            own = sum(1 for _ in region.walk())
            counts[region] = own + sum([counts[one] for one in called[region]])
        return counts[body]

    def called_bodies(self, operation: Operation) -> Sequence[Region]:
        """The bodies of functions that copies of an operation contain."""
        if operation.name not in _CALLS:
            return ()
        callee = self.callee(operation)
        if callee is not None:
            return [callee.body] if callee.body is not None else ()
        symbols: Sequence[str] = ()
        if operation.name == RUN_PARALLEL:
            symbols = _parallel_symbols(operation)
        elif _target(operation) is not None:
            symbols = _called_symbols(operation)
        functions = [self.functions[symbol] for symbol in symbols if symbol in self.functions]
        return [function.body for function in functions if function.body is not None]

    def copy_region(self, region: Region, values: dict[Value, Value]) -> Region:
        """A copy of a region; `values` maps the values that it captures."""
        block = region.block
        new = Block([argument.type for argument in block.arguments])
        values.update(zip(block.arguments, new.arguments, strict=True))
        self.depth += 1
        if self.depth > MAX_REGION_DEPTH:
            raise UnsupportedError(
                f"regions are nested deeper than {MAX_REGION_DEPTH} levels with calls inlined"
            )
        self.copy_operations(block, Builder(new), values)
        self.depth -= 1
        return Region([new])

    def copy_operations(self, block: Block, builder: Builder, values: dict[Value, Value]) -> None:
        """Append copies of a block's operations.

        A list has the open calls instead of Python's stack, so that calls may nest to any depth.
        """
        frames = [self.frame(None, block, values)]
        while frames:
            frame = frames[-1]
            call, block, values = frame.call, frame.block, frame.values
            inner = self.copy_until_call(frame.operations, builder, values)
            if inner is not None:
                called, body = inner
                arguments = [values[operand] for operand in called.operands]
                frames.append(self.frame(called, body, dict(zip(body.arguments, arguments, strict=True))))
                if names_line(called.location):
                    self.call_location = called.location
                continue
            self.call_location = frames.pop().outer_location
            if call is not None:
                returned = [values[operand] for operand in block.terminator.operands]
                frames[-1].values.update(zip(call.results, returned, strict=True))

    def frame(self, call: Operation | None, block: Block, values: dict[Value, Value]) -> _Frame:
        """The state of copying a block, which replaces `call` if there is one."""
        operations = block.operations if call is None else block.operations[:-1]
        return _Frame(call, block, iter(operations), values, self.call_location)

    def copy_until_call(
        self, operations: Iterator[Operation], builder: Builder, values: dict[Value, Value]
    ) -> tuple[Operation, Block] | None:
        """Append copies of operations up to a call, which is returned with the block that takes its place."""
        append = builder.block.operations.append
        for operation in operations:
            if operation.name not in _CALLS:
                operands = tuple([values[operand] for operand in operation.operands])
                regions = [self.copy_region(region, values) for region in operation.regions]
                copied = operation.clone(operands, regions)
                if not SHARDING_ATTRIBUTES.isdisjoint(copied.attributes):
                    copied.attributes = without_shardings(copied.attributes)
                if self.call_location is not None:
                    self.locate(copied)
                append(copied)
                values.update(zip(operation.results, copied.results, strict=True))
                continue
            block = self.block_in_place_of(operation)
            if block is not None:
                return operation, block
            if operation.name == MANUAL:
                self.copy_manual(operation, builder, values)
            elif operation.name == "sdy.return":
                returned = tuple([values[operand] for operand in operation.operands])
                append(Operation("stablehlo.return", returned, location=operation.location))
            elif operation.name.startswith("sdy."):
                self.drop_sharding(operation, builder, values)
            else:
                first = len(builder.block.operations)
                self.copy_call(operation, builder, values)
                if self.call_location is not None:
                    for copied in builder.block.operations[first:]:
                        self.locate(copied)
        return None

    def locate(self, copied: Operation) -> None:
        """Give an operation without a source line the location of the call that it replaces.

        Operations within functions of JAX's library have no source line; the caller has the user's.
        """
        if not names_line(copied.location):
            assert self.call_location is not None
            copied.location = CallSiteLocation(copied.location, self.call_location)

    def block_in_place_of(self, operation: Operation) -> Block | None:
        """The block that replaces an operation; None if there is none."""
        if operation.name.startswith("sdy."):
            if operation.name in MULTI_DEVICE_OPERATIONS:
                from .sharding import require_one_device, runs_on_devices

                if operation.name == MANUAL and runs_on_devices(operation, self.module):
                    return None
                require_one_device(operation, self.module, self.scopes[operation])
            return operation.regions[0].block if operation.regions else None
        callee = self.callee(operation)
        if callee is None:
            return None
        assert callee.body is not None
        return callee.body.block

    def copy_call(self, call: Operation, builder: Builder, values: dict[Value, Value]) -> None:
        """Append the operations that replace a custom call, or a copy of the call."""
        target = _target(call)
        operands = [values[operand] for operand in call.operands]
        if target is None:
            if call.name == RUN_PARALLEL:
                regions = self.parallel_regions(call)
            else:
                regions = [self.copy_region(region, values) for region in call.regions]
            copied = (_recomposed(call) or call).clone(tuple(operands), regions)
            if call.name in COMMUNICATING:
                from .sharding import attributes_with_known_groups

                copied.attributes = attributes_with_known_groups(call, self.module)
            builder.block.operations.append(copied)
            results: Sequence[Value] = copied.results
        else:
            created = target.replacement(call, operands, self.called_regions(call))
            builder.block.operations.append(created)
            results = created.results
            if len(call.results) == 1 and isinstance(call.results[0].type, TupleType):
                types = [call.results[0].type]
                results = builder.create("stablehlo.tuple", results, types, {}, (), call.location).results
        values.update(zip(call.results, results, strict=True))

    def copy_manual(self, operation: Operation, builder: Builder, values: dict[Value, Value]) -> None:
        """Append the operation that replaces a manual computation on several devices."""
        from .sharding import manual_attributes

        attributes = manual_attributes(operation, self.module, is_nested=self.manual_depth > 0)
        self.manual_depth += 1
        body = self.copy_region(operation.regions[0], {})
        self.manual_depth -= 1
        operands = [values[operand] for operand in operation.operands]
        types = [result.type for result in operation.results]
        copied = Operation(MANUAL_COMPUTATION, operands, types, attributes, [body], operation.location)
        builder.block.operations.append(copied)
        values.update(zip(operation.results, copied.results, strict=True))

    def drop_sharding(self, operation: Operation, builder: Builder, values: dict[Value, Value]) -> None:
        """Replace the results of an operation by its operands."""
        if operation.name == "sdy.constant":
            attributes = {"value": operation.attributes["value"]}
            types = [result.type for result in operation.results]
            location = operation.location
            created = builder.create("stablehlo.constant", (), types, attributes, location=location)
            results: Sequence[Value] = created.results
        else:
            results = [values[operand] for operand in operation.operands[: len(operation.results)]]
        values.update(zip(operation.results, results, strict=True))

    def callee(self, operation: Operation) -> Function | None:
        """The function whose body replaces an operation; None if there is none."""
        if operation.name == "func.call":
            return self.functions[_symbol(operation, "callee")]
        if operation.name == "stablehlo.composite":
            from ...program.ops.control.composite import Composite

            if Composite(operation).registered is None and _recomposed(operation) is None:
                return self.functions[_symbol(operation, "decomposition")]
        return None

    def called_regions(self, call: Operation) -> list[Region]:
        """Copies of the bodies of the functions that a custom call names, as regions."""
        return [self.function_region(call, symbol) for symbol in _called_symbols(call)]

    def parallel_regions(self, call: Operation) -> list[Region]:
        """Copies of the bodies of the functions that `interpreter.run_parallel` names, as regions."""
        return [self.function_region(call, symbol) for symbol in _parallel_symbols(call)]

    def function_region(self, call: Operation, symbol: str) -> Region:
        """A copy of a function's body as a region.

        Raises:
            VerifyError: there is no such function.
        """
        function = self.functions.get(symbol)
        if function is None or function.body is None:
            raise VerifyError(f"there is no function @{symbol}", operation=call.name, location=call.location)
        region = self.copy_region(function.body, {})
        region.block.terminator.name = "stablehlo.return"
        return region


class _AnnotatedInliner(_Inliner):
    """Replaces calls of functions alone, and keeps annotations."""

    def __init__(self, module: Module, is_inlined: Callable[[Operation], bool]) -> None:
        super().__init__(module)
        self.is_inlined = is_inlined

    def called_bodies(self, operation: Operation) -> Sequence[Region]:
        callee = self.inlined_callee(operation)
        return [callee.body] if callee is not None and callee.body is not None else ()

    def inlined_callee(self, operation: Operation) -> Function | None:
        """The function whose body replaces a call; None if there is none."""
        is_inlined = operation.name == "func.call" and self.is_inlined(operation)
        return self.callee(operation) if is_inlined else None

    def copy_until_call(
        self, operations: Iterator[Operation], builder: Builder, values: dict[Value, Value]
    ) -> tuple[Operation, Block] | None:
        for operation in operations:
            callee = self.inlined_callee(operation)
            if callee is not None and callee.body is not None:
                return operation, callee.body.block
            operands = tuple([values[operand] for operand in operation.operands])
            copied = operation.clone(operands, [self.copy_region(each, values) for each in operation.regions])
            builder.block.operations.append(copied)
            values.update(zip(operation.results, copied.results, strict=True))
        return None


def without_shardings(attributes: Mapping[str, Attribute]) -> dict[str, Attribute]:
    """The attributes without those of the sdy dialect."""
    return {name: value for name, value in attributes.items() if not name.startswith("sdy.")}


def _recomposed(operation: Operation) -> Operation | None:
    """The operation that the name of a composite means; None for all other operations."""
    if operation.name != "stablehlo.composite":
        return None
    from .replace_calls import recomposed

    return recomposed(operation)


def _target(operation: Operation) -> ReplacedTarget | None:
    """The target of a custom call that an operation replaces; None for other operations."""
    if call_target(operation) is None:
        return None
    from ...program.ops.custom_calls.replaced_targets import replaced_target

    return replaced_target(operation)


def _called_symbols(call: Operation) -> Sequence[str]:
    """The names of the functions that a custom call calls."""
    called = call.attributes.get("called_computations")
    return [str(symbol) for symbol in called.values] if isinstance(called, ArrayAttribute) else ()


def _parallel_symbols(call: Operation) -> Sequence[str]:
    """The names of the functions that `interpreter.run_parallel` runs."""
    from ...program.ops.collectives.parallel import RunParallel

    return RunParallel(call).symbols


def _symbol(operation: Operation, key: str) -> str:
    attribute = operation.attributes[key]
    assert isinstance(attribute, SymbolAttribute)
    return str(attribute)
