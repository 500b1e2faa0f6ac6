"""StableHLO's reference interpreter, which jaxlib has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
from jaxlib.mlir.passmanager import PassManager

from ..api import load
from ..ir import Block, Builder, DenseElementsAttribute, Function, Module, Region, Value
from ..types import COMPLEX, ELEMENT_TYPES, FunctionType, TensorType
from .backend import Array, Backend, BackendError


class InProcessInterpreter(Backend):
    """The interpreter in this process, which it ends on some errors: `backend` isolates it."""

    name = "interpreter"

    def run(self, module: Module, inputs: Sequence[Array]) -> list[Array]:
        """See `Backend.run`."""
        closed, types = _closed(module, inputs)
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


def _closed(module: Module, inputs: Sequence[Array]) -> tuple[Module, Sequence[Any]]:
    """A program without arguments that calls @main on constants and returns components of complex results.

    The interpreter's attributes of complex numbers cannot be printed where a component is not finite.
    """
    main = module.functions["main"]
    block = Block()
    builder = Builder(block)
    operands = []
    for type, array in zip(main.type.inputs, inputs, strict=True):
        if not isinstance(type, TensorType):
            raise BackendError(f"the interpreter takes no argument of type {type}")
        constant = {"value": DenseElementsAttribute(type, np.asarray(array))}
        operands.append(builder.create("stablehlo.constant", [], [type], constant).result)
    values: dict[Value, Value] = {}
    assert main.body is not None
    old = main.body.block
    values.update(zip(old.arguments, operands, strict=True))
    for operation in old.operations[:-1]:
        builder.copy(operation, values)
    returned = [values[operand] for operand in old.terminator.operands]
    results = [part for value in returned for part in _components(builder, value)]
    builder.create("func.return", results)
    entry = Function("main", FunctionType([], [value.type for value in results]), Region([block]))
    others = [item for item in module.body if item is not main]
    return Module([*others, entry], attributes=module.attributes), main.type.results


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
