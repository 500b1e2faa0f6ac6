"""The `interpreter` dialect: operations that print or store intermediate values.

Source: the definition of the dialect in the StableHLO project's reference interpreter.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from ....errors import counted
from ....types import BOOLEAN, COMPLEX, FLOAT, TENSOR, Array, TensorType, Type
from ..framework.attribute_kinds import STRING
from ..framework.call_state import call_state, uses_call_state
from ..framework.declaration import Attribute, Op, Operand, Result, constraint
from ..framework.rules import same_type
from ..framework.traits import Memory
from .array_files import for_file, from_file

INDEX_FILE: Final = "index.csv"
"""The file with a line for each probe that a call has written: its name, type and file."""

_PRINTING: Final = threading.Lock()


class Print(Op, name="interpreter.print", assembly="$operand attr-dict : type($operand)", pure=False):
    """Prints a tensor to the standard output; without its name in the text, which programs do not keep."""

    operand = Operand(TENSOR)
    takes_stored_values = True

    def reference(self, operand: Array) -> tuple[()]:
        text = tensor_text(self.operand, operand)
        with _PRINTING:
            print(text, flush=True)
        return ()


@uses_call_state
class Probe(
    Op,
    name="interpreter.probe",
    assembly="$operand , probe_id = $probe_id attr-dict : type($result)",
    pure=False,
):
    """Writes a tensor to a file ``probeN.npy``, a line to the index, and hands the tensor on.

    N counts the probes of a call from 1. The first one of a call begins a new index.
    """

    memory = Memory.MAY_FORWARD

    operand = Operand(TENSOR)
    probe_id = Attribute(STRING)
    result = Result(TENSOR)
    takes_stored_values = True

    @constraint
    def C1(self) -> str | None:
        """type(operand) = type(result)"""
        return same_type("operand", self.operand, "result", self.result)

    def infer(self) -> list[Type]:
        return [self.operand]

    def reference(self, operand: Array) -> Array:
        import csv

        call = call_state()
        folder = probe_folder(self)
        file = folder / f"probe{len(call.probes) + 1}.npy"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            with file.open("wb") as stream:
                np.save(stream, for_file(operand), allow_pickle=False)
            with (folder / INDEX_FILE).open(
                "a" if call.probes else "w", encoding="utf-8", newline=""
            ) as index:
                csv.writer(index, lineterminator="\n").writerow([self.probe_id, str(self.operand), str(file)])
        except OSError as error:
            raise self.execution_error(str(error)) from None
        call.probes.append((self.probe_id, str(file)))
        return operand


def probe_folder(view: Op) -> Path:
    """The folder of the present call's probes.

    Raises:
        ExecutionError: the options name none.
    """
    folder = call_state().options.probe_directory
    if folder is None:
        raise view.execution_error("Options has no probe_directory")
    return Path(folder)


def read_probe(view: Op, probe_id: str, iteration: int, type: TensorType) -> Array:
    """The output of a probe of that name at its run number `iteration`, counted from 0.

    The present call's probes are meant or, where it has none, those in the index.

    Raises:
        ExecutionError: there is no such probe, or its file cannot be read.
    """
    folder = probe_folder(view)
    try:
        written = call_state().probes or list(_indexed(folder))
        files = [file for name, file in written if name == probe_id]
        if not 0 <= iteration < len(files):
            raise view.execution_error(
                f"the probe {probe_id!r} has {counted(len(files), 'value')}, "
                f"but iteration {iteration} needs one"
            )
        array: Array = from_file(np.load(files[iteration], allow_pickle=False), type)
    except (OSError, ValueError, EOFError) as error:
        raise view.execution_error(f"the probe {probe_id!r} cannot be read: {error}") from None
    return array


def _indexed(folder: Path) -> Iterator[tuple[str, str]]:
    """The name and the file of each probe in the index."""
    import csv

    with (folder / INDEX_FILE).open(encoding="utf-8", newline="") as index:
        for row in csv.reader(index):
            if len(row) == 3:
                yield row[0], row[2]


def tensor_text(type: TensorType, array: Array) -> str:
    """A tensor as the reference interpreter prints it: its type, then nested lists in braces."""
    shown = TensorType(array.shape, type.element_type)
    if array.ndim == 0:
        return f"{shown} {{{_element_text(array[()], shown)}}}"
    return "\n".join([f"{shown} {{", *_lines(array, shown, 1), "}"])


def _lines(array: Array, type: TensorType, depth: int) -> list[str]:
    """The lines of a list, indented."""
    indent = "  " * depth
    if array.ndim == 1 or not len(array):
        return [f"{indent}[{', '.join(_element_text(element, type) for element in array)}]"]
    lines = [indent + "["]
    for position in range(len(array)):
        lines += _lines(array[position], type, depth + 1)
        if position < len(array) - 1:
            lines[-1] += ","
    return [*lines, indent + "]"]


def _element_text(element: Any, type: TensorType) -> str:
    if type.category & COMPLEX:
        return f"[{_float_text(element.real)}, {_float_text(element.imag)}]"
    if type.category & FLOAT:
        return _float_text(element)
    return str(element).lower() if type.category & BOOLEAN else str(int(element))


def _float_text(element: Any) -> str:
    """The text of a number, with six decimals or as many as represent it exactly."""
    value = float(element)
    short = f"{value:.6e}"
    if not np.isfinite(value) or element.dtype.type(float(short)) == element:
        return short
    return np.format_float_scientific(value, exp_digits=2)
