"""What users call: `load`, `compile`, `execute` and the Executable."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from .boundary import fit_as_they_are, memory_of, owned
from .errors import ExecutionError, VerifyError
from .executor import Runner
from .frontend.forms import load_ir
from .inputs import convert_input
from .ir import Function, Module
from .ops.call_state import needs_call_state, new_call
from .ops.verify import verify
from .options import Options
from .plan import Plan, all_steps, lower
from .specialize import entry_function, specialize
from .types import FunctionType, TensorType, Type

Array = np.ndarray[Any, Any]

MOST_SPECIALIZATIONS = 64
"""How many combinations of argument sizes an Executable keeps a program for."""


def load(module: object) -> Module:
    """Parse and verify a program.

    Args:
        module: text in any form that MLIR prints, a path, MLIR bytecode or a VHLO portable artifact as
            bytes, a jaxlib ``ir.Module``, a ``jax.stages.Lowered`` or a ``jax.export.Exported``. A `Module`
            that `load` returned is returned as it is.

    Raises:
        ParseError: the text or bytecode is malformed.
        VerifyError: a constraint of the specification does not hold.
        UnsupportedError: the program uses something that is not offered.
    """
    if isinstance(module, Module):
        return module
    loaded = load_ir(module)
    try:
        verify(loaded)
    except RecursionError:
        raise VerifyError("regions or types are nested too deeply") from None
    return loaded


def compile(module: object, *, entry: str = "main", options: Options | None = None) -> Executable:
    """Prepare a program, so that calling it only runs its steps.

    Args:
        module: what `load` takes.
        entry: name of the function to run.
        options: see `Options`.

    Raises:
        NimbleError: what `load` raises, or there is no such function.
    """
    return Executable(load(module), entry, options or Options())


def execute(
    module: object, inputs: Sequence[Any] = (), *, entry: str = "main", options: Options | None = None
) -> list[Array]:
    """Run a program once.

    Args:
        module: what `load` takes.
        inputs: one for each argument of `entry`: NumPy or ml_dtypes arrays of the argument's type and shape,
            Python scalars, or anything with ``__dlpack__`` or ``__array__``. They are not written to.
        entry: name of the function to run.
        options: see `Options`.

    Returns:
        An array for each result, which belongs to the caller. Tuples come as tuples of arrays.

    Raises:
        NimbleError: what `load` raises.
        ExecutionError: inputs do not fit, or the run failed.
    """
    return compile(module, entry=entry, options=options)(*inputs)


class Executable:
    """A program that is ready to run. Many threads may call it at the same time.

    A program with unknown argument sizes is specialized once for each combination of sizes that it meets; the
    MOST_SPECIALIZATIONS used last are kept.

    Attributes:
        input_types, output_types: types of the arguments and results.
        options: those that it was compiled with.
    """

    def __init__(self, module: Module, entry: str, options: Options) -> None:
        function = entry_function(module, entry)
        self.options = options
        self.input_types = function.type.inputs
        self.output_types = function.type.results
        tensors = [type if isinstance(type, TensorType) else None for type in self.input_types]
        self._dtypes = tuple([type.dtype if type else None for type in tensors])
        self._shapes = tuple([type.shape if type else None for type in tensors])
        self._module = module
        self._entry = entry
        self._lock = threading.Lock()
        self._programs: OrderedDict[tuple[Type, ...], Program] = OrderedDict()
        static = all(not isinstance(type, TensorType) or type.is_static for type in self.input_types)
        self._only = self._specialize(self.input_types) if static else None

    def __call__(self, *inputs: Any) -> list[Any]:
        """Run it.

        Args:
            inputs: see `execute`.

        Raises:
            ExecutionError: inputs do not fit, or the run failed.
        """
        types = self.input_types
        if len(inputs) != len(types):
            raise ExecutionError(f"@{self._entry} takes {len(types)} inputs, but got {len(inputs)}")
        if fit_as_they_are(inputs, self._dtypes, self._shapes):
            arguments = inputs
        else:
            arguments = tuple(
                [convert_input(value, types[index], index) for index, value in enumerate(inputs)]
            )
        program = self._only or self._program_for(arguments)
        return program.run(arguments)

    def _program_for(self, arguments: tuple[Any, ...]) -> Program:
        """The program for the arguments' sizes."""
        key = tuple(
            [
                type.with_shape(value.shape) if isinstance(type, TensorType) else type
                for value, type in zip(arguments, self.input_types, strict=True)
            ]
        )
        with self._lock:
            program = self._programs.get(key)
            if program is None:
                program = self._programs[key] = self._specialize(key)
                if len(self._programs) > MOST_SPECIALIZATIONS:
                    self._programs.popitem(last=False)
            else:
                self._programs.move_to_end(key)
            return program

    def _specialize(self, types: Sequence[Type]) -> Program:
        try:
            return Program(specialize(self._module, self._entry, types), self.options)
        except MemoryError as error:
            raise ExecutionError(f"@{self._entry} cannot be compiled: {error}") from None

    def explain(self) -> str:
        """The plan as text: each step with its types, its way and why; for each combination of sizes met."""
        programs = [self._only] if self._only else list(self._programs.values())
        return "\n".join(program.explain() for program in programs)

    def __repr__(self) -> str:
        return f"Executable(@{self._entry} : {FunctionType(self.input_types, self.output_types)})"


class Program:
    """A specialized function, lowered.

    Args:
        function: what `nimblehlo.specialize.specialize` returned.
        options: says which ways are open.
    """

    def __init__(self, function: Function, options: Options) -> None:
        self.type = function.type
        self._plan = lower(function, options)
        self._options = options
        self._has_call_state = any(needs_call_state(step.operation) for step in all_steps(self._plan))
        self._runner = Runner(self._plan)
        self._constants = memory_of(self._plan.constants.values())

    def run(self, arguments: tuple[Any, ...]) -> list[Any]:
        """The results, which belong to the caller, for arguments that fit."""
        with np.errstate(all="ignore"):
            if self._has_call_state:
                with new_call(self._options):
                    results = self._runner.run(arguments)
            else:
                results = self._runner.run(arguments)
        try:
            return owned(results, self.type.results, memory_of(arguments) | self._constants)
        except MemoryError as error:
            raise ExecutionError(f"no memory for the results: {error}") from error

    def explain(self) -> str:
        """Its signature and its steps as text."""
        lines = [f"@main : {self.type}"]
        _explain(self._plan, "", lines)
        return "\n".join(lines)


def _explain(plan: Plan, indent: str, lines: list[str]) -> None:
    for number, step in enumerate(plan.steps):
        lines.append(f"{indent}{number:4d}  {step.operation} {step.detail}  [{step.way}: {step.reason}]")
        for name, region in step.regions.items():
            for one in [region] if isinstance(region, Plan) else region:
                lines.append(f"{indent}      {name}:")
                _explain(one, indent + "        ", lines)
