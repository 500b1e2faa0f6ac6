"""The code that loads a kernel's arguments from closures (`closure_arguments`).

A task is a native function `void (int64 task, void *closure)`. A kernel is compiled as serial code, and its
task loads the arguments from the closure. Importing this module imports Numba.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

from .closure_arguments import Argument, Arguments, Encoding

_INT64 = ir.IntType(64)


def closure_task(body: Any, arguments: Arguments) -> Callable[[int, int], None]:
    """A task that loads the arguments of a dispatcher's function from a closure (`Encoding`).

    The dispatcher's function takes the task's number before the arguments.
    """
    argument_types = tuple([_type_of(argument) for argument in arguments])

    @intrinsic
    def call(typing_context: Any, task: Any, closure: Any) -> Any:
        body_signature = numba.typeof(body).get_call_type(typing_context, (types.intp, *argument_types), {})

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            compiled = body.get_compile_result(body_signature)
            context.add_linking_libs([compiled.library])
            reader = _ClosureReader(context, builder, values[1], arguments)
            unpacked = [values[0], *[reader.argument(argument) for argument in arguments]]
            function = context.declare_function(builder.module, compiled.fndesc)
            callee = compiled.signature
            status, _ = context.call_conv.call_function(
                builder, function, callee.return_type, callee.args, unpacked
            )
            with cgutils.if_unlikely(builder, status.is_error):
                builder.store(_INT64(1), reader.next_address())
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), generate

    def run_task(task, closure):
        call(task, closure)

    return run_task


def _type_of(argument: Argument | tuple[Argument, ...]) -> Any:
    if isinstance(argument, Argument):
        if argument.array is None:
            return types.intp
        dtype, rank, is_written = argument.array
        return types.Array(numba.from_dtype(np.dtype(dtype)), rank, "C", readonly=not is_written)
    return types.BaseTuple.from_types(tuple([_type_of(member) for member in argument]))


class _ClosureReader:
    """Emits the code that loads arguments from a closure, in order."""

    def __init__(self, context: Any, builder: Any, closure: Any, arguments: Arguments) -> None:
        members = itertools.chain(*[(item,) if isinstance(item, Argument) else item for item in arguments])
        self._context = context
        self._builder = builder
        self._values = builder.inttoptr(closure, _INT64.as_pointer())
        self._next_array = 0
        self._next_value = sum(member.addresses for member in members)

    def argument(self, argument: Argument | tuple[Argument, ...]) -> Any:
        """Load the next argument."""
        if not isinstance(argument, Argument):
            members = [self.argument(member) for member in argument]
            return self._context.make_tuple(self._builder, _type_of(argument), members)
        numba_type, encoding, addresses = _type_of(argument), argument.encoding, argument.addresses
        if encoding is Encoding.VALUE:
            return self._value()
        first = self._builder.gep(self._values, [_INT64(self._next_array)])
        self._next_array += addresses
        if encoding is Encoding.ADDRESS_TABLE:
            return self._array(numba_type, self._builder.ptrtoint(first, _INT64), [_INT64(addresses)])
        address = self._builder.load(first) if encoding is Encoding.ARRAY_PARAM else self._value()
        return self._array(numba_type, address, [self._value() for _ in range(numba_type.ndim)])

    def next_address(self) -> Any:
        """The address of the next value."""
        self._next_value += 1
        return self._builder.gep(self._values, [_INT64(self._next_value - 1)])

    def _value(self) -> Any:
        return self._builder.load(self.next_address())

    def _array(self, numba_type: Any, address: Any, shape: list[Any]) -> Any:
        """An array over memory that it does not own."""
        array = self._context.make_array(numba_type)(self._context, self._builder)
        itemsize = _INT64(self._context.get_abi_sizeof(self._context.get_data_type(numba_type.dtype)))
        strides = [itemsize]
        for size in reversed(shape[1:]):
            strides.insert(0, self._builder.mul(strides[0], size))
        data = self._builder.inttoptr(address, array.data.type)
        arrayobj.populate_array(array, data, shape, strides, itemsize, None)
        return array._getvalue()
