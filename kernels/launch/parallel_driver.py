"""Native code that runs tasks: the parallel driver, and the closures that pass a kernel's arguments to it.

A task is a native function `void (int64 task, void *closure)`. All parallel loops go through `drive`, which
is compiled once: a kernel is compiled as serial code, which serves one thread and many. Importing this module
imports Numba; `compilation` imports it at the first call of a kernel.
"""

import enum
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np import arrayobj

_INT64 = ir.IntType(64)
_POINTER = ir.IntType(8).as_pointer()
_TASK = ir.FunctionType(ir.VoidType(), [_INT64, _POINTER])
_DRIVER = ir.FunctionType(ir.VoidType(), [_INT64] * 4)


@intrinsic
def _call_task(typing_context: Any, address: Any, task: Any, closure: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        function = builder.inttoptr(arguments[0], _TASK.as_pointer())
        builder.call(function, [arguments[1], builder.inttoptr(arguments[2], _POINTER)])
        return context.get_dummy_value()

    return types.void(types.intp, types.intp, types.intp), generate


def _pool_function(name: str) -> Any:
    """A function of Numba's thread pool, called by symbol: a driver that held its address could not be cached
    on disk.

    Each function is declared as `int32 (int32)`, which C's calling conventions allow. The function with the
    parallel loop must not call them, because Numba declares them there with types of its own.
    """

    @intrinsic
    def call(typing_context: Any, value: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            int32 = ir.IntType(32)
            function = cgutils.get_or_insert_function(builder.module, ir.FunctionType(int32, [int32]), name)
            return builder.sext(builder.call(function, [builder.trunc(arguments[0], int32)]), _INT64)

        return types.intp(types.intp), generate

    return call


_get_num_threads = _pool_function("get_num_threads")
_get_parallel_chunksize = _pool_function("get_parallel_chunksize")
_set_num_threads = _pool_function("set_num_threads")
_set_parallel_chunksize = _pool_function("set_parallel_chunksize")


@numba.njit(parallel=True, nogil=True)
def _loop(address: int, closure: int, tasks: int) -> None:
    for task in numba.prange(tasks):
        _call_task(address, task, closure)


def drive(address: int, closure: int, tasks: int, threads: int) -> None:
    """Run tasks 0 to tasks - 1 of the native function at `address`, by at most `threads` threads."""
    threads_before = _get_num_threads(0)
    chunk_before = _get_parallel_chunksize(0)
    _set_num_threads(threads)
    _set_parallel_chunksize(max(1, tasks // (threads * 8)))
    _loop(address, closure, tasks)
    _set_parallel_chunksize(chunk_before)
    _set_num_threads(threads_before)


def _field(builder: Any, structure: Any, index: int) -> Any:
    return builder.gep(structure, [ir.IntType(32)(0), ir.IntType(32)(index)], inbounds=True)


def _trampoline(context: Any, module: Any, compiled: Any, structure: Any) -> Any:
    """A task that loads the arguments from the closure, calls the compiled function, and stores its failure
    there."""
    task = ir.Function(module, _TASK, name=module.get_unique_name("task"))
    task.linkage = "internal"
    builder = ir.IRBuilder(task.append_basic_block("entry"))
    closure = builder.bitcast(task.args[1], structure.as_pointer())
    arguments = [
        builder.load(_field(builder, closure, index)) for index in range(1, len(structure.elements))
    ]
    signature = compiled.signature
    function = context.declare_function(module, compiled.fndesc)
    status, _ = context.call_conv.call_function(
        builder, function, signature.return_type, signature.args, [task.args[0], *arguments]
    )
    with cgutils.if_unlikely(builder, status.is_error):
        builder.store(_INT64(1), _field(builder, closure, 0))
    builder.ret_void()
    return task


def _without_refcount(context: Any, builder: Any, numba_type: Any, value: Any) -> Any:
    """An argument whose arrays, also those in a tuple, have no reference count: tasks would contend for it.
    The caller keeps the arrays alive."""
    if isinstance(numba_type, types.BaseTuple):
        members = zip(numba_type.types, cgutils.unpack_tuple(builder, value), strict=True)
        without_refcounts = [_without_refcount(context, builder, *member) for member in members]
        return context.make_tuple(builder, numba_type, without_refcounts)
    if not isinstance(numba_type, types.Array):
        return value
    array = context.make_array(numba_type)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    return array._getvalue()


@intrinsic
def run_tasks(typing_context: Any, body: Any, driver: Any, threads: Any, tasks: Any, arguments: Any) -> Any:
    """Run `body(task, *arguments)` for each task, by the driver at address `driver`; 0: in this thread.

    Returns 0 for success, 1 if a task raised (it could not allocate memory), or the driver's failure code.
    """
    body_signature = body.get_call_type(typing_context, (types.intp, *arguments.types), {})

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        compiled = body.dispatcher.get_compile_result(body_signature)
        context.add_linking_libs([compiled.library])
        _, driver_address, thread_count, task_count, packed = values
        typed = zip(arguments.types, cgutils.unpack_tuple(builder, packed), strict=True)
        unpacked = [_without_refcount(context, builder, numba_type, value) for numba_type, value in typed]
        structure = ir.LiteralStructType([_INT64, *(value.type for value in unpacked)])
        slot = cgutils.alloca_once(builder, structure)
        for index, value in enumerate([_INT64(0), *unpacked]):
            builder.store(value, _field(builder, slot, index))
        task = _trampoline(context, builder.module, compiled, structure)
        closure = builder.bitcast(slot, _POINTER)
        with builder.if_else(builder.icmp_signed("==", driver_address, _INT64(0))) as (serial, parallel):
            with serial, cgutils.for_range(builder, task_count, intp=_INT64) as loop:
                builder.call(task, [loop.index, closure])
            with parallel:
                function = builder.inttoptr(driver_address, _DRIVER.as_pointer())
                addresses = [builder.ptrtoint(pointer, _INT64) for pointer in (task, closure)]
                builder.call(function, [*addresses, task_count, thread_count])
        return builder.load(_field(builder, slot, 0))

    return types.intp(body, types.intp, types.intp, types.intp, arguments), generate


class Encoding(enum.Enum):
    """How a closure, an array of 64-bit values, encodes an argument.

    The closure begins with the addresses of arrays, in the order of the arguments. The values of all
    arguments follow, and then a failure flag: it is not 0 once a task has failed.
    """

    VALUE = "an integer: its value"
    CONSTANT_ARRAY = "an array that is the same for all calls: the values are its address and shape"
    ARRAY_PARAM = "an array whose address is the next one of the addresses: the values are its shape"
    ADDRESS_TABLE = "an array that consists of the next ones of the addresses: no values"


class Argument(NamedTuple):
    """An argument's Numba type, its encoding, and the number of addresses that it has in the closure."""

    numba_type: Any
    encoding: Encoding
    addresses: int = 0


Arguments = tuple["Argument | tuple[Argument, ...]", ...]
"""The arguments that a closure encodes; members of tuples are encoded one by one."""


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
        return argument.numba_type
    return types.BaseTuple.from_types(tuple([member.numba_type for member in argument]))


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
        numba_type, encoding, addresses = argument
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
