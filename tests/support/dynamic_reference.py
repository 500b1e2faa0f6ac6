"""StableHLO's own refinement and interpreter, for programs with unknown sizes.

Both are those of jaxlib, and run in a child process, since the interpreter aborts on some programs. Run as a
module, this is that child: it answers pickled requests on its standard input.
"""

from __future__ import annotations

import functools
import pickle
import re
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

import nimblehlo
from nimblehlo.types import ELEMENT_TYPES

Array = np.ndarray[Any, Any]

_MAIN = re.compile(
    r"func\.func (?:public )?@main\((.*?)\) -> (\(.*?\)|tensor<[^{]*>)(?: attributes.*?)? \{\n"
)
_TENSOR = re.compile(r"tensor<(?:[^<>]|<[^<>]*>)*>")
_SIZE_ARGUMENT = "tensor<i64>"


class Rejected(Exception):
    """The program is not valid for these sizes."""


class Aborted(Exception):
    """The interpreter ended its process, or cannot run the program."""


def signature(text: str) -> tuple[list[str], list[str]]:
    """The types of the arguments and results of @main, as text."""
    found = _MAIN.search(text)
    assert found is not None
    return _TENSOR.findall(found[1]), _TENSOR.findall(found[2])


def inputs_of(text: str, size: int, seed: int = 0) -> list[Array]:
    """Inputs for @main with each unknown size, and each argument that says one, being `size`.

    Floats are multiples of 1/16: sums, and sums of products, are exact in any order.
    """
    generator = np.random.default_rng(seed)
    inputs = []
    for type in signature(text)[0]:
        if type == _SIZE_ARGUMENT:
            inputs.append(np.array(size, np.int64))
            continue
        *sizes, element_type = type[len("tensor<") : -1].split("x", type.count("x") - ("complex" in type))
        shape = [size if one == "?" else int(one) for one in sizes]
        dtype = ELEMENT_TYPES[element_type].dtype
        if dtype.kind in "biu":
            inputs.append(generator.integers(-3 if dtype.kind == "i" else 0, 4, shape).astype(dtype))
        else:
            values = generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
            values = np.round(values * 16) / 16
            inputs.append((values if dtype.kind == "c" else values.real).astype(dtype))
    return inputs


def called_with(text: str, inputs: Sequence[Array]) -> str:
    """The program whose @main takes nothing, and calls what was @main with `inputs` as constants."""
    arguments, results = signature(text)
    operations = []
    for index, (type, value) in enumerate(zip(arguments, inputs, strict=True)):
        static = (
            f"tensor<{''.join(f'{size}x' for size in value.shape)}{type[7:-1].split('x', value.ndim)[-1]}>"
        )
        operations.append(f"%s{index} = stablehlo.constant dense<{_values(value)}> : {static}")
        operations.append(f"%c{index} = stablehlo.convert %s{index} : ({static}) -> {type}")
    operands = ", ".join(f"%c{index}" for index in range(len(arguments)))
    types = ", ".join(results)
    several = f":{len(results)}" if len(results) > 1 else ""
    operations.append(f"%r{several} = call @inner({operands}) : ({', '.join(arguments)}) -> ({types})")
    names = ", ".join(f"%r#{index}" for index in range(len(results))) if several else "%r"
    operations.append(f"return {names} : {types}")
    body = "\n  ".join(operations)
    inner = re.sub(r"func\.func (public )?@main", "func.func private @inner", text, count=1)
    end = inner.rindex("}")
    return f"{inner[:end]}func.func public @main() -> ({types}) {{\n  {body}\n}}\n{inner[end:]}"


def _values(array: Array) -> str:
    """The values of a dense attribute."""
    if array.dtype == np.bool_:
        return str(array.tolist()).lower() if array.size else ""
    return f'"0x{array.tobytes().hex()}"' if array.size else ""


class StableHLO:
    """The child process, which is started again where a program has ended it."""

    def __init__(self) -> None:
        self.child: subprocess.Popen[bytes] | None = None

    def stop(self) -> None:
        """End the child."""
        if self.child is not None:
            self.child.kill()
            self.child.communicate()
            self.child = None

    def refine(self, text: str) -> str:
        """The static program of one whose @main takes nothing.

        Raises:
            Rejected: it is not valid for its sizes.
        """
        refined: str = self._ask("refine", text)
        return refined

    def evaluate(self, text: str) -> list[Array]:
        """The results of a static program whose @main takes nothing.

        Raises:
            Aborted: the interpreter cannot run it.
        """
        values: list[str] = self._ask("evaluate", text)
        types = [value.rpartition(" : ")[2] for value in values]
        constants = "".join(f"%{index} = stablehlo.constant {value}\n" for index, value in enumerate(values))
        names = ", ".join(f"%{index}" for index in range(len(values)))
        joined = ", ".join(types)
        return nimblehlo.execute(
            f"func.func @main() -> ({joined}) {{\n{constants} return {names} : {joined}\n}}"
        )

    def _ask(self, request: str, text: str) -> Any:
        if self.child is None:
            command = [sys.executable, "-m", "tests.support.dynamic_reference"]
            self.child = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        assert self.child.stdin is not None and self.child.stdout is not None
        try:
            pickle.dump((request, text), self.child.stdin)
            self.child.stdin.flush()
            kind, answer = pickle.load(self.child.stdout)
        except (EOFError, BrokenPipeError):
            self.stop()
            raise Aborted("the process ended") from None
        if kind != "answer":
            raise Rejected(answer) if request == "refine" else Aborted(answer)
        return answer


@functools.cache
def _context() -> Any:
    """One context for all programs: making one takes longer than most programs do."""
    from jax._src.interpreters import mlir

    return mlir.make_ir_context()


def _refine(text: str) -> str:
    from jax._src.interpreters import mlir
    from jax._src.lib import _jax
    from jaxlib.mlir import ir

    with _context():
        bytecode = mlir.module_to_bytecode(ir.Module.parse(text))
        return str(ir.Module.parse(_jax.mlir.refine_polymorphic_shapes(bytecode, True, True)))


def _evaluate(text: str) -> list[str]:
    from jaxlib.mlir import ir
    from jaxlib.mlir.dialects import stablehlo

    with _context():
        return list(map(str, stablehlo.eval_module(ir.Module.parse(text), [])))


def _serve() -> None:
    """Answer requests until the standard input ends."""
    requests = {"refine": _refine, "evaluate": _evaluate}
    while True:
        try:
            request, text = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        try:
            answer: tuple[str, Any] = ("answer", requests[request](text))
        except Exception as error:  # the parent tells what an error means
            answer = ("error", f"{type(error).__name__}: {error}")
        pickle.dump(answer, sys.stdout.buffer)
        sys.stdout.buffer.flush()


if __name__ == "__main__":
    _serve()
