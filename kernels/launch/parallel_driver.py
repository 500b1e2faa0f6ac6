"""Native code that runs tasks: the parallel driver, and the closure that carries a kernel's arguments to it.

A task is a native function `void (int64 task, void *closure)`. Everything that runs in parallel goes through
`drive`, which is compiled once: a kernel itself is compiled serially, and the same code serves one thread and
many. Importing this module imports Numba; `compilation` does it at the first call of a kernel.
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
    """A function of Numba's thread pool, called by its symbol: with its address, the driver could not be kept
    on disk.

    All are taken as `int32 (int32)`, which C's calling conventions allow. They are kept out of the function
    that has the loop, because Numba declares them there with types of its own.
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


def _field(builder: Any, structure: Any, number: int) -> Any:
    return builder.gep(structure, [ir.IntType(32)(0), ir.IntType(32)(number)], inbounds=True)


def _trampoline(context: Any, module: Any, compiled: Any, structure: Any) -> Any:
    """A task that reads the arguments from the closure, calls the compiled function, and notes a failure
    there."""
    task = ir.Function(module, _TASK, name=module.get_unique_name("task"))
    task.linkage = "internal"
    builder = ir.IRBuilder(task.append_basic_block("entry"))
    closure = builder.bitcast(task.args[1], structure.as_pointer())
    arguments = [
        builder.load(_field(builder, closure, number)) for number in range(1, len(structure.elements))
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


def _uncounted(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    """An argument; of an array, also one in a tuple, a copy to which tasks count no references, which would
    have them wait for each other. The caller keeps its owner."""
    if isinstance(kind, types.BaseTuple):
        members = zip(kind.types, cgutils.unpack_tuple(builder, value), strict=True)
        uncounted = [_uncounted(context, builder, *member) for member in members]
        return context.make_tuple(builder, kind, uncounted)
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    return array._getvalue()


@intrinsic
def run_tasks(typing_context: Any, body: Any, driver: Any, threads: Any, tasks: Any, arguments: Any) -> Any:
    """`body(task, *arguments)` for each task, through the driver at that address or, where it is 0, in this
    thread.

    Returns 0, 1 where a task raised (memory could not be had), or what else the driver noted.
    """
    body_signature = body.get_call_type(typing_context, (types.intp, *arguments.types), {})

    def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        compiled = body.dispatcher.get_compile_result(body_signature)
        context.add_linking_libs([compiled.library])
        _, driver_address, thread_count, task_count, packed = values
        given = zip(arguments.types, cgutils.unpack_tuple(builder, packed), strict=True)
        unpacked = [_uncounted(context, builder, kind, value) for kind, value in given]
        structure = ir.LiteralStructType([_INT64, *(value.type for value in unpacked)])
        slot = cgutils.alloca_once(builder, structure)
        for number, value in enumerate([_INT64(0), *unpacked]):
            builder.store(value, _field(builder, slot, number))
        task = _trampoline(context, builder.module, compiled, structure)
        closure = builder.bitcast(slot, _POINTER)
        with builder.if_else(builder.icmp_signed("==", driver_address, _INT64(0))) as (here, by_driver):
            with here, cgutils.for_range(builder, task_count, intp=_INT64) as loop:
                builder.call(task, [loop.index, closure])
            with by_driver:
                function = builder.inttoptr(driver_address, _DRIVER.as_pointer())
                addresses = [builder.ptrtoint(pointer, _INT64) for pointer in (task, closure)]
                builder.call(function, [*addresses, task_count, thread_count])
        return builder.load(_field(builder, slot, 0))

    return types.intp(body, types.intp, types.intp, types.intp, arguments), generate


class Form(enum.Enum):
    """How a closure of 64-bit words tells of an argument.

    Its first words are addresses of arrays, in the order of the arguments to which they belong; the words of
    all arguments follow, and then one that is not 0 once a task has failed.
    """

    VALUE = "an integer: its value"
    KEPT = "an array that stays the same: its address and shape"
    GIVEN = "an array of which the next one of the first words is the address: its shape"
    ADDRESSES = "the array that the next ones of the first words are: nothing"


class Argument(NamedTuple):
    """An argument's Numba type, its form, and how many of the first words it has."""

    kind: Any
    form: Form
    addresses: int = 0


Arguments = tuple["Argument | tuple[Argument, ...]", ...]
"""What a closure tells of: arguments, or tuples of them."""


def from_closure(body: Any, arguments: Arguments) -> Callable[[int, int], None]:
    """A task that reads the arguments of a dispatcher's function from a closure (`Form`).

    The dispatcher's function takes the task's number before the arguments.
    """
    kinds = tuple([_kind_of(argument) for argument in arguments])

    @intrinsic
    def call(typing_context: Any, task: Any, closure: Any) -> Any:
        body_signature = numba.typeof(body).get_call_type(typing_context, (types.intp, *kinds), {})

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            compiled = body.get_compile_result(body_signature)
            context.add_linking_libs([compiled.library])
            words = _Words(context, builder, values[1], arguments)
            unpacked = [values[0], *[words.argument(argument) for argument in arguments]]
            function = context.declare_function(builder.module, compiled.fndesc)
            kind = compiled.signature
            status, _ = context.call_conv.call_function(
                builder, function, kind.return_type, kind.args, unpacked
            )
            with cgutils.if_unlikely(builder, status.is_error):
                builder.store(_INT64(1), words.next_address())
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), generate

    def run_task(task, closure):
        call(task, closure)

    return run_task


def _kind_of(argument: Argument | tuple[Argument, ...]) -> Any:
    if isinstance(argument, Argument):
        return argument.kind
    return types.BaseTuple.from_types(tuple([member.kind for member in argument]))


class _Words:
    """Code that reads the words of a closure, one after the other."""

    def __init__(self, context: Any, builder: Any, closure: Any, arguments: Arguments) -> None:
        members = itertools.chain(*[(one,) if isinstance(one, Argument) else one for one in arguments])
        self._context = context
        self._builder = builder
        self._words = builder.inttoptr(closure, _INT64.as_pointer())
        self._given = 0
        self._next = sum(member.addresses for member in members)

    def argument(self, argument: Argument | tuple[Argument, ...]) -> Any:
        """The argument whose words are next."""
        if not isinstance(argument, Argument):
            members = [self.argument(member) for member in argument]
            return self._context.make_tuple(self._builder, _kind_of(argument), members)
        kind, form, addresses = argument
        if form is Form.VALUE:
            return self._value()
        first = self._builder.gep(self._words, [_INT64(self._given)])
        self._given += addresses
        if form is Form.ADDRESSES:
            return self._array(kind, self._builder.ptrtoint(first, _INT64), [_INT64(addresses)])
        address = self._builder.load(first) if form is Form.GIVEN else self._value()
        return self._array(kind, address, [self._value() for _ in range(kind.ndim)])

    def next_address(self) -> Any:
        """Where the word lies that is next."""
        self._next += 1
        return self._builder.gep(self._words, [_INT64(self._next - 1)])

    def _value(self) -> Any:
        return self._builder.load(self.next_address())

    def _array(self, kind: Any, address: Any, shape: list[Any]) -> Any:
        """An array of that type over memory that it does not own."""
        array = self._context.make_array(kind)(self._context, self._builder)
        item = _INT64(self._context.get_abi_sizeof(self._context.get_data_type(kind.dtype)))
        strides = [item]
        for size in reversed(shape[1:]):
            strides.insert(0, self._builder.mul(strides[0], size))
        data = self._builder.inttoptr(address, array.data.type)
        arrayobj.populate_array(array, data, shape, strides, item, None)
        return array._getvalue()
