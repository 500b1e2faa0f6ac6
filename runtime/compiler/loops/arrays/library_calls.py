"""Calls of linear-algebra routines on small problems; references call the same routines.

Generated code refers to a prepared call and to its solver by symbols, which are defined when the code is
loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from llvmlite import ir

from ....kernels.launch.cache_files import digest
from ....program.ir import Operation
from ....program.ops.framework.declaration import Op
from ....types import Array
from ..description import operations_description
from ..llvm.functions import opaque, outside_address
from ..llvm.values import I64, POINTER
from ..scalars import Binding, Mode
from ..scalars.emitter import EmitRule, emit_rule_of
from ..scalars.movement import outside_constant
from .emitter import ArrayEmitter

_SOLVE_TYPE = ir.FunctionType(ir.VoidType(), [POINTER] * 3)
"""The type of `void solve(call, operands, results)`."""

_calls: dict[str, Any] = {}
"""Maps symbols to prepared calls, which are never freed because loaded code has their addresses."""

_constants: dict[str, Array] = {}
"""Maps symbols to the elements of constants, which are never freed either."""


def library_symbols(operations: Sequence[Operation]) -> dict[str, int]:
    """Maps the symbols that the code of operations and their regions needs to addresses.

    They are those of routines and of large constants.
    """
    symbols: dict[str, int] = {}
    for operation in [inner for outer in operations for inner in outer.walk()]:
        constant = outside_constant(operation)
        if constant is not None:
            symbol, array = constant
            symbols[symbol] = _constants.setdefault(symbol, array).ctypes.data
        # An operation without such a call is launched (`launches`).
        new_call = _native_call(operation) if emit_rule_of(operation) is LIBRARY_CALL else None
        if new_call is None:
            continue
        symbol, solve = _symbols(operation)
        # Another thread may prepare the same call meanwhile.
        call = _calls.get(symbol) or _calls.setdefault(symbol, new_call())
        symbols[symbol], symbols[solve] = id(call), call.solver
    return symbols


def _native_call(operation: Operation) -> Any:
    """See `native_call` of the declarations."""
    view: Any = Op.of(operation)
    return view.native_call()


def _symbols(operation: Operation) -> tuple[str, str]:
    """The symbols of an operation's prepared call and of its solver, which equal operations share."""
    name = digest(operations_description([operation]).encode()).hex()[:32]
    return f"call_{name}", f"solve_{name}"


def _check(operation: Operation, mode: Mode) -> str | None:
    return None if _native_call(operation) is not None else "is not generated"


def _emit(emitter: ArrayEmitter, operation: Operation) -> Sequence[Binding]:
    builder = emitter.builder
    sources = [emitter.storage(operand).pointer for operand in operation.operands]
    targets = [emitter.allocate_result(result) for result in operation.results]
    symbol, solve_symbol = _symbols(operation)
    solve = solver_function(builder.module, _SOLVE_TYPE, solve_symbol)
    arrays = [pointer_array(builder, sources), pointer_array(builder, [target.pointer for target in targets])]
    builder.call(solve, [outside_address(builder, symbol), *arrays])
    return [emitter.result(target) for target in targets]


def solver_function(module: ir.Module, type: ir.FunctionType, symbol: str) -> ir.Function:
    """The function of a symbol outside of the module."""
    return module.globals.get(symbol) or ir.Function(module, type, symbol)


def pointer_array(builder: ir.IRBuilder, values: Sequence[ir.Value]) -> ir.Value:
    """An array on the stack that holds these pointers."""
    with builder.goto_entry_block():
        array = builder.alloca(ir.ArrayType(I64, len(values)))
    for index, value in enumerate(values):
        address = opaque(builder.gep(array, [I64(0), I64(index)], inbounds=True))
        builder.store(builder.ptrtoint(value, I64), address)
    return opaque(builder.gep(array, [I64(0), I64(0)], inbounds=True))


LIBRARY_CALL: Final = EmitRule(_check, _emit)
