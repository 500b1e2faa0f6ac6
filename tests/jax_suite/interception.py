"""Sees each computation that JAX executes on its CPU backend: the program, its inputs and its results.

JAX calls executables in two ways: by `ExecuteReplicated.__call__` in Python, and from the second call on by a
fast path in C++. The fast path is switched off, so that every call passes through an `_ObservedExecutable`.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from unittest import mock

import numpy as np
from jax._src import compiler, pjit
from jax._src.interpreters import pxla

Array = np.ndarray[Any, Any]


@dataclass(frozen=True)
class Computation:
    """A program that JAX has compiled.

    Attributes:
        text: the module as MLIR text without locations.
        devices: how many devices it runs on.
        has_effects: it takes tokens, or calls back into Python.
    """

    text: str
    devices: int
    has_effects: bool


class Observer(Protocol):
    """What is called after each execution."""

    def __call__(self, computation: Computation, inputs: Sequence[Array], results: Sequence[Array]) -> None:
        """Args: the program, the values that it was executed with, and XLA's results."""


@contextlib.contextmanager
def intercepted(observe: Observer) -> Iterator[None]:
    """Call `observe` for each computation that JAX executes within the context; not where XLA fails."""
    observers = [observe]  # empty after the context: executables made within live longer
    texts: dict[int, tuple[Any, str]] = {}
    compile_original = compiler.backend_compile_and_load
    init_original = pxla.ExecuteReplicated.__init__

    def compile_and_note(backend: Any, module: Any, *arguments: Any, **keywords: Any) -> Any:
        text = module.operation.get_asm(enable_debug_info=False)
        executable = compile_original(backend, module, *arguments, **keywords)
        texts[id(executable)] = executable, text  # holding the executable keeps its id from being used again
        return executable

    def init_and_observe(self: Any, xla_executable: Any, *arguments: Any, **keywords: Any) -> None:
        init_original(self, xla_executable, *arguments, **keywords)
        noted = texts.get(id(xla_executable))
        if noted is None:
            return
        effects = bool(self.ordered_effects or self.has_unordered_effects or self.has_host_callbacks)
        computation = Computation(noted[1], len(xla_executable.local_devices()), effects)
        self.xla_executable = _ObservedExecutable(xla_executable, computation, observers)

    with (
        mock.patch.object(compiler, "backend_compile_and_load", compile_and_note),
        mock.patch.object(pxla.ExecuteReplicated, "__init__", init_and_observe),
        mock.patch.object(pxla.MeshExecutable, "create_cpp_call", _no_fast_path),
        mock.patch.object(pjit, "_get_fastpath_data", _no_fast_path),
    ):
        try:
            yield
        finally:
            observers.clear()


def _no_fast_path(*arguments: Any, **keywords: Any) -> None:
    """Nothing, from a function that keeps no arguments: a Mock's record of calls is a leak to JAX's tests."""


class _ObservedExecutable:
    """An executable of XLA's, each execution of which is shown to observers."""

    def __init__(self, executable: Any, computation: Computation, observers: Sequence[Observer]) -> None:
        self._executable = executable
        self._computation = computation
        self._observers = observers

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executable, name)

    def execute_sharded(self, buffers: Sequence[Any], **keywords: Any) -> Any:
        """Copies the inputs before the execution, which may overwrite donated ones."""
        if not self._observers or self._computation.devices > 1 or self._computation.has_effects:
            self._observe([], [])
            return self._executable.execute_sharded(buffers, **keywords)
        inputs = [_copied(buffer) for buffer in buffers]
        results = self._executable.execute_sharded(buffers, **keywords)
        return _ObservedResults(results, lambda arrays: self._observe(inputs, arrays))

    def _observe(self, inputs: Sequence[Array], results: Sequence[Array]) -> None:
        for observe in self._observers:
            observe(self._computation, inputs, results)


class _ObservedResults:
    """XLA's results, shown to an observer before JAX makes arrays of its own types of them."""

    def __init__(self, results: Any, observe: Callable[[list[Array]], None]) -> None:
        self._results = results
        self._observe = observe

    def __getattr__(self, name: str) -> Any:
        return getattr(self._results, name)

    def consume_with_handlers(self, handlers: Sequence[Any]) -> list[Any]:
        """What `handlers` make of the results: random keys, float0 and types of a test's own among them."""
        buffers: dict[int, Array] = {}

        def note(index: int, array: Any) -> Any:
            buffers[index] = _copied(array)
            return array

        if all(hasattr(handler, "pre_wrap") for handler in handlers):
            wrapped = [
                handler.pre_wrap(functools.partial(note, index)) for index, handler in enumerate(handlers)
            ]
            outcome = self._results.consume_with_handlers(wrapped)
        else:  # JAX before 0.8
            outcome = self._results.consume_with_handlers(handlers)
            for index, array in enumerate(outcome):
                note(index, array)
        self._observe([buffers[index] for index in range(len(handlers))])
        return list(outcome)


def _copied(array: Any) -> Array:
    """The values of a JAX array, of random keys their words."""
    return np.array(getattr(array, "_base_array", array))
