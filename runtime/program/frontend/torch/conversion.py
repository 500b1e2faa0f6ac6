"""Converts a graph of PyTorch's operations to a module.

Source: PyTorch, "torch.export IR specification" and "Core ATen IR".
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from ....errors import (
    INTERNAL_ERROR,
    REPORT_IT,
    ExecutionError,
    NimbleError,
    UnsupportedError,
    failure_reason,
    raised_by_signal_handler,
)
from ....types import Array, TensorType
from ...ir import (
    UNKNOWN,
    Block,
    Builder,
    FileLocation,
    Function,
    Location,
    Module,
    NameLocation,
    Region,
    Value,
    tensor_type,
)
from .conversions.control import CHECKS, is_token
from .decompositions import decomposed
from .element_types import array_of, tensor_type_of
from .emitter import UI64
from .table import Conversion, NodeEmitter, conversions

_FRAME: Final = re.compile(r'File "([^"]+)", line (\d+)')
_KEY_STEP: Final = 0x9E3779B97F4A7C15
"""The distance of the keys of a program's random operations: 2^64 over the golden ratio, an odd number."""

_INLINED: Final = {
    "wrap_with_set_grad_enabled": (1, 2),
    "wrap_with_autocast": (4, 5),
    "invoke_subgraph": (0, 2),
}
"""Operations that call a graph; the positions of that graph and of its first operand in their arguments."""


_NUMBERS: Final[dict[str, Callable[[Any], Any]]] = {"SymInt": int, "SymFloat": float, "SymBool": bool}
"""Python's types of the numbers that PyTorch computes from sizes."""


class ExportedProgram(Protocol):
    """A ``torch.export.ExportedProgram``, as far as it is used here."""

    graph_signature: Any

    def run_decompositions(self, decomp_table: Any = ...) -> Any:
        """The program with its operations decomposed."""
        ...


class Sizes:
    """The values of the symbols in the sizes of a graph.

    Args:
        values: by symbol.
    """

    def __init__(self, values: Mapping[Any, int]) -> None:
        self.values = dict(values)

    def evaluate(self, size: Any) -> Any:
        """A size, or another number that PyTorch computes from sizes, as a number.

        Raises:
            UnsupportedError: it depends on the values of tensors.
        """
        if isinstance(size, (bool, int, float)) or not hasattr(size, "node"):
            return size
        expression = size.node.expr
        if hasattr(expression, "xreplace"):
            expression = expression.xreplace(self.values)
        if getattr(expression, "free_symbols", ()):
            raise UnsupportedError(f"has a size that depends on values: {size}")
        return _NUMBERS[type(size).__name__](expression)

    def integer(self, size: Any) -> int:
        """An integer that PyTorch computes from sizes."""
        return int(self.evaluate(size))


@dataclass(frozen=True)
class Output:
    """An output of a graph: a result of its module, one of the graph's inputs as it is, or a known value.

    Attributes:
        result: the number of the result, or None.
        input: the number of the graph's input, or None.
        value: what it is if it is neither.
    """

    result: int | None = None
    input: int | None = None
    value: Any = None

    def of(self, inputs: Sequence[Any], results: Sequence[Any]) -> Any:
        """The output of a call, from the graph's inputs and the module's results."""
        if self.result is not None:
            return results[self.result]
        return self.value if self.input is None else inputs[self.input]


@dataclass(frozen=True)
class ConvertedGraph:
    """A graph as a module.

    Attributes:
        module: its function ``main`` takes the tensors among the graph's inputs and, last, the seed.
        inputs: which inputs of the graph are tensors.
        outputs: what each output of the graph is.
        takes_seed: whether ``main`` takes a seed, a ``tensor<1xui64>``.
    """

    module: Module
    inputs: tuple[int, ...]
    outputs: tuple[Output, ...]
    takes_seed: bool


def is_tensor(value: object) -> bool:
    import torch

    return isinstance(value, torch.Tensor)


def operation_name(target: Any) -> str:
    """The name of what a node calls, with its overload: ``"aten.add.Tensor"``."""
    if hasattr(target, "_schema") or hasattr(target, "overloadpacket"):
        return str(target)
    return str(getattr(target, "__name__", target))


def model_location(node: Any) -> Location:
    """The line of the model that a node comes from, under the node's name."""
    frames = _FRAME.findall(node.meta.get("stack_trace") or "")
    if not frames:
        return NameLocation(node.name)
    file, line = frames[-1]
    return NameLocation(node.name, FileLocation(file, int(line), 1))


class GraphConversion:
    """Converts one graph for given sizes.

    Args:
        graph_module: the graph, of functional ATen operations.
        sizes: the symbols in its sizes.
    """

    def __init__(self, graph_module: Any, sizes: Sizes) -> None:
        self._root = graph_module
        self._sizes = sizes
        self._block = Block()
        self._emitter = NodeEmitter(self._block, self._next_key, self._run)
        self._seed: Value | None = None
        self._keys = 0
        self._table = conversions()

    def convert(self, *, passes_inputs: bool = True) -> ConvertedGraph:
        """The graph as a module, not verified yet.

        Args:
            passes_inputs: whether an input that the graph returns as it is, such as a parameter that PyTorch
                saves for the gradients, is no result of the module, which would be a copy.

        Raises:
            UnsupportedError: an operation has no conversion; the error names the model's line.
        """
        inputs: list[int] = []
        operands: list[Any] = []
        placeholders = list(self._root.graph.find_nodes(op="placeholder"))
        for number, node in enumerate(placeholders):
            value = node.meta.get("val")
            if is_token(node):
                operands.append(None)
            elif is_tensor(value):
                inputs.append(number)
                operands.append(self._argument(self._type_of(value, node)))
            else:
                operands.append(self._sizes.evaluate(value))
        returned = self._run(self._root, operands)
        positions = {placeholders[number]: number for number in inputs if passes_inputs}
        passed = [positions.get(node) for node in graph_outputs(self._root.graph)]
        return self._finish(inputs, returned, passed)

    def _finish(
        self, inputs: Sequence[int], returned: Sequence[Any], passed: Sequence[int | None]
    ) -> ConvertedGraph:
        """The module of what is returned; `passed` has the numbers of outputs that are inputs, or None."""
        results: list[Value] = []
        outputs = []
        for value, input in zip(returned, passed, strict=True):
            if input is None and isinstance(value, Value):
                outputs.append(Output(result=len(results)))
                results.append(value)
            else:
                outputs.append(Output(input=input, value=None if isinstance(value, Value) else value))
        if self._seed is not None:
            self._block.arguments = (*self._block.arguments, self._seed)
        Builder(self._block).create("func.return", results)
        region = Region([self._block])
        module = Module([Function("main", region.type, region, visibility="public")], producer="PyTorch")
        module.is_unverified = True
        return ConvertedGraph(module, tuple(inputs), tuple(outputs), self._seed is not None)

    def _argument(self, type: TensorType) -> Value:
        value = Value(type, self._block, len(self._block.arguments))
        self._block.arguments = (*self._block.arguments, value)
        return value

    def _next_key(self) -> Value:
        """The key of the next random operation, and a counter that starts at 0."""
        e = self._emitter
        if self._seed is None:
            # Its number among the arguments is known once there are no more of them.
            self._seed = Value(TensorType((1,), UI64), self._block, len(self._block.arguments))
        self._keys += 1
        step = np.array([self._keys * _KEY_STEP % (1 << 64)], np.uint64)
        return e.concatenate([e.add(self._seed, e.dense(step)), e.full(0, (1,), UI64)], 0)

    def _type_of(self, tensor: Any, node: Any) -> TensorType:
        try:
            return tensor_type_of(tensor, self._sizes.integer)
        except NimbleError as error:
            raise _located(error, node) from None

    def _run(self, graph_module: Any, operands: Sequence[Any]) -> list[Any]:
        """What a graph returns for some operands."""
        values: dict[Any, Any] = {}
        arguments = iter(operands)
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                values[node] = next(arguments)
            elif node.op == "output":
                returned = self._arguments(node.args[0], values)
                return list(returned) if isinstance(returned, (list, tuple)) else [returned]
            elif node.op == "get_attr":
                values[node] = self._attribute(graph_module, node)
            else:
                values[node] = self._call(graph_module, node, values)
        return []

    def _arguments(self, arguments: Any, values: Mapping[Any, Any]) -> Any:
        """Arguments with the values of nodes in their places."""
        from torch.fx.node import map_arg

        return map_arg(arguments, values.__getitem__)

    def _attribute(self, graph_module: Any, node: Any) -> Any:
        attribute = operator.attrgetter(node.target)(graph_module)
        if not is_tensor(attribute):
            return attribute
        type = self._type_of(attribute, node)
        return self._emitter.dense(_constant_array(attribute), type.plain_element_type)

    def _call(self, graph_module: Any, node: Any, values: Mapping[Any, Any]) -> Any:
        name = operation_name(node.target)
        arguments = self._arguments(node.args, values)
        if node.target is operator.getitem:
            return arguments[0][arguments[1]]
        if name in CHECKS:
            return None
        if name in _INLINED:
            graph, first = _INLINED[name]
            return self._run(arguments[graph], arguments[first:])
        result = node.meta.get("val")
        if _is_number(result):
            return self._number(result, node) if node.users else None
        return self._convert(name, node, arguments, self._arguments(node.kwargs, values))

    def _number(self, number: Any, node: Any) -> Any:
        """A number that PyTorch computes from sizes."""
        try:
            return self._sizes.evaluate(number)
        except NimbleError as error:
            raise _located(error, node) from None

    def _convert(self, name: str, node: Any, arguments: Any, named: Any) -> Any:
        conversion = self._table.get(name)
        if conversion is None:
            reason = "has no conversion to StableHLO"
            raise UnsupportedError(reason, operation=name, location=model_location(node))
        e = self._emitter
        e.location = model_location(node)
        results = node.meta.get("val")
        is_sequence = isinstance(results, (list, tuple))
        e.types = [
            self._type_of(each, node) if is_tensor(each) else None
            for each in (results if is_sequence else [results])
        ]
        e.used = used_results(node)
        e.is_contiguous = _is_contiguous(node)
        converted = converted_node(conversion, node, name, e, arguments, named)
        for value, type in zip(converted if is_sequence else [converted], e.types, strict=True):
            if isinstance(value, Value) and type is not None and tensor_type(value) != type:
                reason = f"was converted to {value.type}, but PyTorch says {type}"
                raise ExecutionError(
                    f"{INTERNAL_ERROR} ({reason}): {REPORT_IT}", operation=name, location=e.location
                )
        e.location = UNKNOWN
        return converted


def converted_node(
    conversion: Conversion, node: Any, name: str, e: NodeEmitter, arguments: Any, named: Any
) -> Any:
    """The values to which a node is converted.

    Raises:
        UnsupportedError: the conversion does not serve the arguments, or PyTorch has others in this version.
        ExecutionError: the conversion failed: a defect, whose cause the error names.
    """
    mismatch = argument_mismatch(conversion, (e, *arguments), named)
    if mismatch is not None:
        reason = f"has no conversion for these arguments ({mismatch})"
        raise UnsupportedError(reason, operation=name, location=model_location(node))
    try:
        return conversion(e, *arguments, **named)
    except NimbleError as error:
        raise _located(error, node) from error
    except Exception as error:
        if raised_by_signal_handler(error):
            raise
        location = model_location(node)
        raise ExecutionError(failure_reason(error), operation=name, location=location) from error


def _constant_array(tensor: Any) -> Array:
    """The elements of a constant of a graph; while torch.compile traces, tensors have none by default."""
    from torch._subclasses.fake_tensor import unset_fake_temporarily

    with unset_fake_temporarily():
        return array_of(tensor)


def argument_mismatch(
    conversion: Conversion, arguments: Sequence[Any], named: Mapping[str, Any]
) -> str | None:
    """How arguments differ from a conversion's parameters, which are those of one version of PyTorch."""
    try:
        inspect.signature(conversion).bind(*arguments, **named)
    except TypeError as error:
        return str(error)
    return None


def _located(error: NimbleError, node: Any) -> NimbleError:
    """An error with the operation and the model's line."""
    return type(error)(
        error.reason,
        operation=error.operation or operation_name(node.target),
        label=error.label,
        location=error.location or model_location(node),
    )


def _is_number(value: object) -> bool:
    """Whether a node computes sizes, not tensors."""
    return isinstance(value, (bool, int, float)) or type(value).__name__ in _NUMBERS


def _is_contiguous(node: Any) -> bool:
    """Whether PyTorch stores a node's first operand, if that is a tensor, in row-major order."""
    operand: Any = node.args[0] if node.args else None
    value: Any = operand.meta.get("val") if hasattr(operand, "meta") else None
    return not is_tensor(value) or bool(value.is_contiguous())


def graph_outputs(graph: Any) -> list[Any]:
    """What a graph returns: nodes, and values that are known."""
    (output,) = graph.find_nodes(op="output")
    returned = output.args[0]
    return list(returned) if isinstance(returned, (list, tuple)) else [returned]


def used_results(node: Any) -> frozenset[int]:
    """The numbers of the results of a node that others use."""
    return frozenset(
        user.args[1] for user in node.users if user.target is operator.getitem and (user.users or user.meta)
    )


def symbols_of(value: Any) -> list[tuple[int | None, Any]]:
    """The dimensions of an input whose sizes are symbols; None stands for the input itself."""
    sizes: list[tuple[int | None, Any]] = [(None, value)]
    if is_tensor(value):
        sizes = list(enumerate(value.shape))
    return [
        (dim, size.node.expr)
        for dim, size in sizes
        if hasattr(size, "node") and getattr(size.node.expr, "is_symbol", False)
    ]


def exported_module(exported: Any) -> Module:
    """An exported program as a module, whose arguments are the parameters, buffers, constants and inputs.

    Raises:
        UnsupportedError: sizes are symbols, or an operation has no conversion.
    """
    program = decomposed(exported)
    placeholders = program.graph_module.graph.find_nodes(op="placeholder")
    if any(symbols_of(node.meta.get("val")) for node in placeholders):
        raise UnsupportedError(
            "the exported program has sizes that are symbols: compile() makes a program for each combination "
            "of them, and load() takes what was exported without dynamic shapes"
        )
    return GraphConversion(program.graph_module, Sizes({})).convert(passes_inputs=False).module
