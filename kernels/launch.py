"""Native code that runs tasks: the parallel driver, and the closure that carries a kernel's arguments to it.

A task is a native function `void (int64 task, void *closure)`. Everything that runs in parallel goes through
`drive`, which is compiled once: a kernel itself is compiled serially, and the same code serves one thread and
many. Importing this module imports Numba; `compilation` does it at the first call of a kernel.
"""

import itertools
from collections.abc import Callable
from typing import Any

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


def from_closure(body: Any, arguments: tuple[tuple[Any, bool], ...]) -> Callable[[int, int], None]:
    """A task that reads the arguments of a dispatcher's function from a closure of 64-bit words.

    First the addresses of the arrays that are given stand there; then for each argument its value, of an
    array its size, before which the address of one that is not given stands.

    Args:
        body: the dispatcher; its function takes the task's number before the arguments, and raises nothing.
        arguments: for each its type, and whether it is an array that is given.
    """
    kinds = tuple([kind for kind, _ in arguments])
    given = sum(is_given for _, is_given in arguments)

    @intrinsic
    def call(typing_context: Any, task: Any, closure: Any) -> Any:
        body_signature = numba.typeof(body).get_call_type(typing_context, (types.intp, *kinds), {})

        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            compiled = body.get_compile_result(body_signature)
            context.add_linking_libs([compiled.library])
            words = builder.inttoptr(values[1], _INT64.as_pointer())
            addresses = iter(range(given))
            others = itertools.count(given)

            def word(number: int) -> Any:
                return builder.load(builder.gep(words, [_INT64(number)]))

            def argument(kind: Any, is_given: bool) -> Any:
                if not isinstance(kind, types.Array):
                    return word(next(others))
                address = word(next(addresses) if is_given else next(others))
                return _flat_array(context, builder, kind, address, word(next(others)))

            function = context.declare_function(builder.module, compiled.fndesc)
            kind = compiled.signature
            unpacked = [values[0], *[argument(*each) for each in arguments]]
            context.call_conv.call_function(builder, function, kind.return_type, kind.args, unpacked)
            return context.get_dummy_value()

        return types.void(types.intp, types.intp), generate

    def run_task(task, closure):
        call(task, closure)

    return run_task


def _flat_array(context: Any, builder: Any, kind: Any, address: Any, size: Any) -> Any:
    """An array of that type over memory that it does not own."""
    array = context.make_array(kind)(context, builder)
    item = _INT64(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    data = builder.inttoptr(address, array.data.type)
    arrayobj.populate_array(array, data, [size], [item], item, None)
    return array._getvalue()
