"""The structure with which types of states are registered: it is read only if its size is right."""

from __future__ import annotations

import ctypes

import pytest

from nimblehlo.errors import UnsupportedError

handlers = pytest.importorskip("nimblehlo.jax.ffi.handlers")

DELETER = 0x7F0000001000
BYTES = 24
"""A size, a list of extensions and a function."""


class TypeInfo(ctypes.Structure):
    """XLA_FFI_TypeInfo of xla/ffi/api/c_api.h."""

    _fields_ = (
        ("size", ctypes.c_size_t),
        ("extensions", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


@pytest.mark.parametrize("size", [BYTES, BYTES + 8, 4096])
def test_the_function_is_read_from_structures_that_hold_it(size: int) -> None:
    info = TypeInfo(size, None, DELETER)
    assert handlers.deleter_of("counter", ctypes.addressof(info)) == DELETER
    info.deleter = None
    assert handlers.deleter_of("counter", ctypes.addressof(info)) == 0


@pytest.mark.parametrize("size", [0, 8, BYTES - 1, 4097, DELETER])
def test_other_structures_are_refused(size: int) -> None:
    # The whole structure of an interface without sizes: nothing behind it may be read.
    info = ctypes.c_size_t(size)
    with pytest.raises(UnsupportedError, match=rf"type information of counter begins with {size}, which is"):
        handlers.deleter_of("counter", ctypes.addressof(info))
