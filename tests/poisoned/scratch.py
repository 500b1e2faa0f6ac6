"""Fills what generated code and Numba's put on the stack with NaNs, by a change of llvmlite in this process.

The code copies them from memory at an address that is the same in each process, so that it may be kept on
disk: in a folder of its own (`NIMBLEHLO_CACHE_DIR`), for it runs nowhere else.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np
from llvmlite import binding, ir

from nimblehlo.compiler.loops.arrays.emitter import ArrayEmitter
from nimblehlo.compiler.loops.scalars import Storage
from nimblehlo.types import TensorType

ADDRESS = 0x6E0000000000
BYTES = 1 << 22
"""Of the memory that is copied from. More than this nothing puts on the stack."""
WORD = 0x7FF5
"""A NaN as bf16, f16, f32 and f64 alike, and a large number as an integer."""

_PROT_READ_AND_WRITE, _MAP_PRIVATE_ANONYMOUS, _MAP_FIXED_NOREPLACE = 3, 0x22, 0x100000
_I64, _BYTE_POINTER = ir.IntType(64), ir.IntType(8).as_pointer()
_alloca = ir.IRBuilder.alloca
_allocate_scratch = ArrayEmitter.allocate_scratch


def poison_scratch() -> None:
    """From now on, what is compiled fills what it allocates on the stack.

    Raises:
        OSError: the memory that it copies from cannot be had.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    flags = _MAP_PRIVATE_ANONYMOUS | _MAP_FIXED_NOREPLACE
    if libc.mmap(ADDRESS, BYTES, _PROT_READ_AND_WRITE, flags, -1, 0) != ADDRESS:
        raise OSError(ctypes.get_errno(), "no memory at the address of what scratch is filled with")
    words = (ctypes.c_uint16 * (BYTES // 2)).from_address(ADDRESS)
    np.frombuffer(words, np.uint16)[:] = WORD
    ir.IRBuilder.alloca = _filled
    ArrayEmitter.allocate_scratch = _filled_scratch  # type: ignore[method-assign]
    # What is filled here is written to, so that it cannot be given back.
    ArrayEmitter.release_unwritten = _kept  # type: ignore[method-assign]


def _filled(builder: ir.IRBuilder, type: Any, size: Any = None, name: str = "") -> Any:
    """What `IRBuilder.alloca` gives, filled."""
    room = _alloca(builder, type, size, name)
    count = 1
    if size is not None:
        count = size if isinstance(size, int) else getattr(size, "constant", None)
    _fill(builder, room, _size_of(str(type), type) * count)
    return room


def _filled_scratch(emitter: ArrayEmitter, type: TensorType) -> Storage:
    """The storage that `ArrayEmitter.allocate_scratch` gives, filled again at each step of a loop."""
    storage = _allocate_scratch(emitter, type)
    _fill(emitter.builder, storage.pointer, type.size * type.dtype.itemsize)
    return storage


def _kept(emitter: ArrayEmitter, storage: Storage, alias: Storage) -> None:
    """In the place of `ArrayEmitter.release_unwritten`: nothing is given back."""


def _fill(builder: ir.IRBuilder, pointer: Any, nbytes: int) -> None:
    assert nbytes <= BYTES
    copy = builder.module.declare_intrinsic("llvm.memcpy", [_BYTE_POINTER, _BYTE_POINTER, _I64])
    source = ir.Constant(_I64, ADDRESS).inttoptr(_BYTE_POINTER)
    arguments = [builder.bitcast(pointer, _BYTE_POINTER), source, _I64(nbytes), ir.IntType(1)(0)]
    builder.call(copy, arguments)


@functools.cache
def _sizes() -> Any:
    machine = binding.Target.from_default_triple().create_target_machine()
    return binding.create_target_data(str(machine.target_data))


def _size_of(text: str, type: Any) -> int:
    """The bytes of an element of a type, which the text stands for."""
    if text not in _known:
        _known[text] = type.get_abi_size(_sizes())
    return _known[text]


_known: dict[str, int] = {}
