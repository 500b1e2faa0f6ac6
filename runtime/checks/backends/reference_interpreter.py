"""StableHLO's reference interpreter, which jaxlib has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from ...api import load
from ...program.ir import Builder, Module, Value
from ...types import COMPLEX, ELEMENT_TYPES, Array, TensorType
from .backend import Backend, BackendError
from .constant_inputs import with_constant_inputs


class InProcessInterpreter(Backend):
    """The interpreter in this process, which it ends on some errors: `backend` isolates it."""

    name = "interpreter"

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        types = module.functions["main"].type.results
        # Attributes of complex numbers cannot be printed where a component is not finite.
        closed = with_constant_inputs(module, inputs, _all_components)
        texts = _evaluated(str(closed))
        constants = "".join(f"%{index} = stablehlo.constant {text}\n" for index, text in enumerate(texts))
        function = load(f"func.func @main() {{\n{constants}return\n}}").functions["main"]
        assert function.body is not None
        values: list[Any] = [one.attributes["value"] for one in function.body.block.operations[:-1]]
        return _joined([np.array(value.array) for value in values], types)


def _evaluated(text: str) -> list[str]:
    """The results of a program without arguments as MLIR prints them."""
    stablehlo.register_stablehlo_passes()
    with mlir.make_ir_context() as context:
        context.enable_multithreading(False)
        try:
            module = ir.Module.parse(text)
            if "chlo." in text:
                passes = PassManager.parse("builtin.module(func.func(chlo-legalize-to-stablehlo))")
                passes.run(module.operation)
        except ir.MLIRError as error:
            raise BackendError(f"the interpreter rejects the program: {error}") from None
        return [str(value) for value in stablehlo.eval_module(module, [])]


def _all_components(builder: Builder, values: Sequence[Value]) -> list[Value]:
    return [component for value in values for component in _components(builder, value)]


def _components(builder: Builder, value: Value) -> list[Value]:
    if not isinstance(value.type, TensorType) or value.type.category != COMPLEX:
        return [value]
    component = value.type.with_element_type(ELEMENT_TYPES[f"f{value.type.element_type.width // 2}"])
    return [builder.create(f"stablehlo.{name}", [value], [component]).result for name in ("real", "imag")]


def _joined(arrays: Sequence[Array], types: Sequence[Any]) -> list[Array]:
    """The results, complex ones put together again."""
    remaining = iter(arrays)
    results = []
    for type in types:
        array = next(remaining)
        if type.category == COMPLEX:
            joined = np.empty(array.shape, type.dtype)
            joined.real, joined.imag = array, next(remaining)
            array = joined
        results.append(array)
    return results
