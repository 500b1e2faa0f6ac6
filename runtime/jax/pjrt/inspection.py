"""`jax.debug.inspect_array_sharding` in programs for several devices.

JAX's lowering makes a custom call that holds a key for the function that inspects a sharding. XLA calls
it while it partitions the program; here it is called when the shardings have been propagated, and the custom
call is taken out of the program.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterator
from typing import Any, Final

from ...program.frontend import jax_names as compatibility
from ...program.ir import Block, Module, Operation, Region, StringAttribute
from ...program.ops.framework.rules import call_target
from ...program.ops.sharding.scope import meshes_of
from ...types import TensorType
from .partitioned import sharding_of
from .shards import Shards

TARGET: Final = "InspectSharding"

_INSPECTORS: weakref.WeakValueDictionary[str, Callable[[Any], None]] = weakref.WeakValueDictionary()
"""Functions that inspect shardings, which lowered programs keep alive, by their keys as text."""


def install() -> None:
    """Wrap JAX's lowering to record the functions behind its keys."""
    compatibility.wrap(compatibility.ENCODE_INSPECTOR, _wrap_encode_inspector)


def _wrap_encode_inspector(encode: Callable[[Any], bytes]) -> Callable[[Any], bytes]:
    def encode_inspect_sharding_callback(function: Any) -> bytes:
        key = encode(function)
        _INSPECTORS[_text(key)] = function
        return key

    return encode_inspect_sharding_callback


def _text(key: bytes | str) -> str:
    """A key as the text that programs contain."""
    return key if isinstance(key, str) else key.decode("utf-8", "surrogateescape")


def report_shardings(module: Module) -> None:
    """Call the functions that inspect the shardings of a program's values, and remove their custom calls.

    Args:
        module: with the shardings that propagation gives.
    """
    meshes = meshes_of(module)
    partitions = max((mesh.total_size for mesh in meshes.values()), default=1)
    for block, is_manual in _blocks(module):
        inspected = [operation for operation in block.operations if _is_inspection(operation)]
        for operation in inspected:
            (value,) = operation.operands
            key = operation.attributes.get("backend_config")
            inspector = _INSPECTORS.get(key.value) if isinstance(key, StringAttribute) else None
            if inspector is None or not isinstance(value.type, TensorType):
                continue
            if is_manual:
                inspector(compatibility.HLO_SHARDING.get().manual())
                continue
            shards = Shards(value.type.shape, sharding_of(value, module), meshes, partitions)
            sharding = compatibility.OP_SHARDING.get()()
            sharding.ParseFromString(shards.op_sharding)
            inspector(compatibility.HLO_SHARDING.get().from_proto(sharding))
        if inspected:
            block.operations[:] = [one for one in block.operations if one not in inspected]


def _is_inspection(operation: Operation) -> bool:
    return call_target(operation) == TARGET


def _blocks(module: Module) -> Iterator[tuple[Block, bool]]:
    """The blocks of a program, each with whether it is of a manual computation, whose values are shards."""
    for function in module.functions.values():
        if function.body is not None:
            yield from _blocks_of(function.body, False)


def _blocks_of(region: Region, is_manual: bool) -> Iterator[tuple[Block, bool]]:
    for block in region.blocks:
        yield block, is_manual
        for operation in block.operations:
            for inner in operation.regions:
                yield from _blocks_of(inner, is_manual or operation.name == "sdy.manual_computation")
