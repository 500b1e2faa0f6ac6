"""Calls of converted graphs: tensors in, tensors out, parameters and results without copies."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from ..compiler.lru_cache import LRUCache
from ..errors import ExecutionError, UnsupportedError, counted
from ..program.frontend.torch.conversion import (
    ConvertedGraph,
    ExportedProgram,
    GraphConversion,
    Sizes,
    is_tensor,
    symbols_of,
)
from ..program.frontend.torch.decompositions import decomposed
from ..program.frontend.torch.element_types import array_of
from ..program.ir import Module
from ..types import Array
from .dlpack import TensorExchange, to_dlpack

Compile = Callable[[Module], Callable[..., Sequence[Any]]]
"""Makes the function of arrays that runs a module."""


_Converted = tuple[ConvertedGraph, Callable[..., Sequence[Any]]]
"""A graph for some sizes, and the function of arrays that runs it."""

MAX_CONVERSIONS: Final = 64
"""Maximum number of combinations of sizes for which a graph keeps its program."""


class GraphExecutable:
    """A graph that is ready to run; one with symbolic sizes is converted for each combination of sizes.

    The MAX_CONVERSIONS that were used last are kept.

    Args:
        graph_module: a graph of functional ATen operations.
        compile: compiles its module.
    """

    def __init__(self, graph_module: Any, compile: Compile) -> None:
        self._graph_module = graph_module
        self._compile = compile
        self._programs: LRUCache[tuple[Any, ...], _Converted] = LRUCache(MAX_CONVERSIONS)
        values = [node.meta.get("val") for node in graph_module.graph.find_nodes(op="placeholder")]
        self._symbols = [
            (position, dim, symbol)
            for position, value in enumerate(values)
            for dim, symbol in symbols_of(value)
        ]
        self._static = None if self._symbols else self.program(Sizes({}))

    @property
    def is_dynamic(self) -> bool:
        """Whether sizes are symbols."""
        return bool(self._symbols)

    def _sizes_of(self, inputs: Sequence[Any]) -> Sizes:
        """The values that a call's inputs give the symbols."""
        return Sizes(
            {
                symbol: int(inputs[position] if dim is None else inputs[position].shape[dim])
                for position, dim, symbol in self._symbols
            }
        )

    def program(self, sizes: Sizes) -> _Converted:
        """The converted graph for some sizes, and the function that runs it."""
        key = tuple(sizes.values.values())

        def convert() -> _Converted:
            converted = GraphConversion(self._graph_module, sizes).convert()
            return converted, self._compile(converted.module)

        return self._programs.get(key) or self._programs.computed(key, convert)

    def __call__(self, inputs: Sequence[Any]) -> list[Any]:
        """Run the graph.

        Args:
            inputs: a tensor, an array or a number for each input of the graph.

        Returns:
            A tensor, a number or None for each output of the graph; an input that the graph returns as it is.
        """
        converted, run = self._static or self.program(self._sizes_of(inputs))
        arrays = arrays_of([inputs[position] for position in converted.inputs])
        if converted.takes_seed:
            arrays.append(_new_seed())
        results = tensors_of(run(*arrays))
        return [output.of(inputs, results) for output in converted.outputs]


def arrays_of(values: Sequence[Any]) -> list[Any]:
    """Tensors as arrays that share their memory and keep it alive; other values as they are.

    Raises:
        UnsupportedError: a tensor is on another device, or is not strided.
    """
    exchange = _exchange()
    return list(map(_array, values)) if exchange is None else exchange.arrays(values)


def tensors_of(arrays: Iterable[Array]) -> list[Any]:
    """Arrays as tensors that share their memory and keep it alive, by DLPack."""
    exchange = _exchange()
    if exchange is not None:
        return exchange.tensors(arrays)
    from torch.utils.dlpack import from_dlpack

    return [from_dlpack(to_dlpack(array).__dlpack__()) for array in arrays]


@functools.cache
def _exchange() -> TensorExchange | None:
    """The exchange of tensors in C; None for versions of PyTorch that have none."""
    import torch

    try:
        return TensorExchange((torch.Tensor, torch.nn.Parameter), torch.Tensor.is_neg, _array)
    except UnsupportedError:
        return None


def _array(value: Any) -> Any:
    return array_of(value) if is_tensor(value) else value


def _new_seed() -> np.ndarray[Any, Any]:
    """A seed from PyTorch's generator."""
    import torch

    seed: np.ndarray[Any, Any] = torch.randint(-(1 << 63), (1 << 63) - 1, (1,), dtype=torch.int64).numpy()
    return seed.view(np.uint64)


class ModelExecutable:
    """An exported model that is ready to run: it is called as the model is.

    Parameters and buffers are those of the exported program, and are read where they are: a change of them
    is seen by the next call. Buffers that the model writes to, such as running averages, are written to.

    Args:
        exported: a ``torch.export.ExportedProgram``.
        compile: compiles its module.

    Attributes:
        state: parameters, buffers and constants by name.
        graph: the function of these and the inputs, in the order of the exported program.
    """

    def __init__(self, exported: ExportedProgram, compile: Compile) -> None:
        program = decomposed(exported)
        self._signature = program.graph_signature
        self.state = {**program.constants, **program.state_dict}
        self._spec = program.call_spec
        self.graph = GraphExecutable(program.graph_module, compile)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run the model.

        Args:
            args, kwargs: the model's arguments; tensors, or arrays in place of them.

        Returns:
            What the model returns, in its structure: new tensors, and inputs that it returns as they are.

        Raises:
            ExecutionError: the arguments have another structure or other sizes than the exported ones, or the
                run failed.
        """
        from torch.utils._pytree import tree_unflatten

        user_inputs = iter(self._flat_inputs(args, kwargs))
        inputs = [self._input(spec, user_inputs) for spec in self._signature.input_specs]
        outputs = self.graph(inputs)
        returned = []
        for spec, output in zip(self._signature.output_specs, outputs, strict=True):
            if spec.kind.name == "USER_OUTPUT":
                returned.append(output)
            elif spec.kind.name != "TOKEN":
                self._write(spec, output, inputs)
        return tree_unflatten(returned, self._spec.out_spec)

    def _input(self, spec: Any, user_inputs: Iterator[Any]) -> Any:
        """An input of the graph; a token, which orders operations with effects, is None."""
        if spec.kind.name == "USER_INPUT":
            return next(user_inputs)
        return None if spec.kind.name == "TOKEN" else self.state[spec.target]

    def _flat_inputs(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> list[Any]:
        """The arguments in the order of the exported program."""
        from torch.utils._pytree import tree_flatten, tree_unflatten

        expected = self._spec.in_spec
        # How specifications name what they contain differs between versions of PyTorch.
        exported = tree_unflatten(list(range(expected.num_leaves)), expected)
        names = list(exported[1]) if expected.num_children == 2 else []
        if sorted(names) == sorted(kwargs):
            kwargs = {name: kwargs[name] for name in names}
        flat, spec = tree_flatten((args, kwargs))
        if spec != expected:
            raise ExecutionError(
                f"the model takes {counted(expected.num_leaves, 'input')} of the structure {expected}, "
                f"but got {spec}"
            )
        return list(flat)

    def _write(self, spec: Any, output: Any, inputs: Sequence[Any]) -> None:
        """Store a new value of a buffer, or of an input that the model writes to."""
        import torch

        if spec.kind.name in ("BUFFER_MUTATION", "PARAMETER_MUTATION"):
            target = self.state[spec.target]
        elif spec.kind.name == "USER_INPUT_MUTATION":
            names = [getattr(each.arg, "name", None) for each in self._signature.input_specs]
            target = inputs[names.index(spec.target)]
        else:
            raise UnsupportedError(f"outputs of the kind {spec.kind.name} are not supported")
        with torch.no_grad():
            target.copy_(output)
