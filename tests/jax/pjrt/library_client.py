"""Loads the plugin as a library, without JAX, as other clients of PJRT do: by pypjrt, and by its table."""

from __future__ import annotations

import ctypes
import sys

import numpy as np
import pypjrt
import pytest
from pypjrt import extensions

PROGRAM = """
func.func @main(%a: tensor<2x3xf32>, %b: tensor<f32>) -> (tensor<3x2xf32>, tensor<f32>) {
  %0 = stablehlo.transpose %a, dims = [1, 0] : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %1 = stablehlo.add %b, %b : tensor<f32>
  return %0, %1 : tensor<3x2xf32>, tensor<f32>
}
"""

VOID = {0, 1}
"""Error_Destroy and Error_Message return nothing."""

NO_ARGUMENTS = {3, 113, 132}
"""Plugin_Initialize, Client_UpdateGlobalProcessInfo and Error_ForEachPayload read no argument."""


PLUGIN_ATTRIBUTES = 4


class Error(ctypes.Structure):
    """The head of PJRT_Error here: a table, then the code."""

    _fields_ = (("table", ctypes.c_void_p), ("code", ctypes.c_int))


def run_a_program(path: str) -> None:
    """Compile, run and fetch by pypjrt."""
    client = pypjrt.Client.create(path)
    values = np.arange(6, dtype=np.float32)
    executable = client.compile(PROGRAM)
    with client.device(0) as device:
        arguments = [
            client.buffer_from_host(values.copy(), 11, (2, 3), device),
            client.buffer_from_host(np.array([2.5], np.float32), 11, (), device),
        ]
    turned, doubled = executable(*arguments)
    assert turned.dimensions == (3, 2)
    np.testing.assert_array_equal(
        np.frombuffer(turned.to_host(), np.float32).reshape(3, 2), values.reshape(2, 3).T
    )
    assert np.frombuffer(doubled.to_host(), np.float32) == 5
    row_major = extensions.default_layout(client, 11, (2, 3))
    with extensions.buffer_layout(turned) as layout:
        assert layout.serialize() == b"{1,0}" == row_major.serialize()
    for which in ("parameters", "outputs"):
        layouts = extensions.executable_layouts(executable, which)
        assert [layout.serialize() for layout in layouts] == [b"{1,0}", b"{}"]
    with pytest.raises(pypjrt.errors.InvalidArgument, match="expected"):
        client.compile("func.func @main() { malformed }")


def call_every_function_with_a_short_structure(path: str) -> None:
    """No function reads or writes beyond the structure that it gets, nor ends the process."""
    library = ctypes.CDLL(path)
    library.GetPjrtApi.restype = ctypes.c_void_p
    table = library.GetPjrtApi()
    size = ctypes.c_size_t.from_address(table).value
    assert size == 40 + 138 * 8
    functions = [ctypes.c_void_p.from_address(table + 40 + 8 * slot).value for slot in range(138)]
    for slot, function in enumerate([*functions, *functions_of_extensions(table)]):
        structure = (ctypes.c_size_t * 64)(16)
        prototype = ctypes.CFUNCTYPE(None if slot in VOID else ctypes.POINTER(Error), ctypes.c_void_p)
        error = prototype(function)(ctypes.addressof(structure))
        assert list(structure) == [16] + [0] * 63, f"function {slot} writes"
        if slot not in VOID | NO_ARGUMENTS:
            assert error, f"function {slot} takes a structure without fields"
            assert error.contents.code in (3, 12), f"function {slot} fails with {error.contents.code}"


def act_as_a_client_of_a_later_version(path: str) -> None:
    """Longer structures are served, and functions beyond the table's end return errors."""
    library = ctypes.CDLL(path)
    library.GetPjrtApi.restype = ctypes.c_void_p
    table = library.GetPjrtApi()
    prototype = ctypes.CFUNCTYPE(ctypes.POINTER(Error), ctypes.c_void_p)
    structure = (ctypes.c_size_t * 64)(64 * 8)
    attributes = ctypes.c_void_p.from_address(table + 40 + 8 * PLUGIN_ATTRIBUTES).value
    assert not prototype(attributes)(ctypes.addressof(structure))
    assert structure[3] == 1 and list(structure)[4:] == [0] * 60
    for slot in range(138, 138 + 64):
        function = ctypes.c_void_p.from_address(table + 40 + 8 * slot).value
        assert prototype(function)(ctypes.addressof(structure)).contents.code == 12


def functions_of_extensions(table: int) -> list[int | None]:
    """The functions of all extensions, whose structures begin with their size, number and the next one."""
    functions = []
    extension = ctypes.c_void_p.from_address(table + 8).value
    while extension:
        size, _, following = (ctypes.c_size_t * 3).from_address(extension)
        functions += list((ctypes.c_void_p * ((size - 24) // 8)).from_address(extension + 24))
        extension = following
    assert len(functions) == 9
    return functions


if __name__ == "__main__":
    run_a_program(sys.argv[1])
    call_every_function_with_a_short_structure(sys.argv[1])
    act_as_a_client_of_a_later_version(sys.argv[1])
    assert "jax" not in sys.modules
