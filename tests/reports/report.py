"""A program of a report, what is right for it, and the verdict."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

import nimblehlo
from nimblehlo import NimbleError, errors
from nimblehlo.checks.backends import Backend, BackendExit, BackendTimeout
from nimblehlo.program.frontend import parse_attributes, split
from nimblehlo.program.ir import Attribute, DenseElementsAttribute
from tests.support.running import MODES, same_bits

Array = np.ndarray[Any, Any]

PROGRAMS: Final = Path(__file__).parent / "programs"

TEMPLATE: Final = """\
// Report: what went wrong, on which kind of system
// Rule: specification, "add": the sentence from which the right results follow.
// Input: dense<[1.0, 2.0]> : tensor<2xf32>
// Right: dense<[2.0, 4.0]> : tensor<2xf32>
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = stablehlo.add %x, %x : tensor<2xf32>
  return %0 : tensor<2xf32>
}
"""

_HEADER: Final = re.compile(r"// (Report|Rule|Input|Right): (.+)")
_ERROR: Final = re.compile(r"(\w+Error)(?: \((\w+)\))?$")


class MalformedReport(Exception):
    """The first lines of a program do not say what is right."""


@dataclass(frozen=True)
class Report:
    """One program and its first lines.

    Attributes:
        where: the file and the number of the program's first line.
        subject, rule: what was reported, and from which sentence of the specification the results follow.
        inputs: of the function ``@main``.
        results: the right results, with exact bits except for those of NaNs; None if the program must fail.
        error: the kind of error and the constraint's label where the program must fail.
        text: the program.
    """

    where: str
    subject: str
    rule: str
    inputs: Sequence[Array]
    results: Sequence[Array] | None
    error: tuple[str, str | None] | None
    text: str

    def verdicts(self) -> Iterator[str]:
        """What is wrong in each mode of execution; nothing if all are right."""
        for mode, options in MODES.items():
            reason = self._judge(
                lambda options=options: nimblehlo.execute(self.text, self.inputs, options=options)
            )
            if reason is not None:
                yield f"{self.where}: {mode}: {reason}"

    def verdict_of(self, backend: Backend) -> str | None:
        """What is wrong on a backend, which reads the program itself, and may refuse a wrong one with any
        error, but must not end its process.
        """
        try:
            reason = self.wrong_results(backend.run_text(self.text, self.inputs))
        except NimbleError as error:
            is_refused = self.error is not None and not isinstance(error, (BackendExit, BackendTimeout))
            reason = None if is_refused else f"fails: {error}"
        return None if reason is None else f"{self.where}: {backend.name}: {reason}"

    def _judge(self, run: Any) -> str | None:
        try:
            results = run()
        except NimbleError as error:
            return self._judge_error(error)
        return self.wrong_results(results)

    def wrong_results(self, results: Sequence[Any]) -> str | None:
        """What is wrong with the results of a run; None if nothing is."""
        if self.results is None:
            return f"runs, but must fail with {self.error}"
        if len(results) != len(self.results):
            return f"{len(results)} results, but {len(self.results)} are right"
        for index, (result, right) in enumerate(zip(results, self.results, strict=True)):
            with np.errstate(invalid="ignore"):  # NaNs of narrow types are converted
                is_right = same_bits(np.asarray(result), right)
            if not is_right:
                return f"result {index} is {_shown(result)}, but {_shown(right)} is right"
        return None

    def _judge_error(self, error: NimbleError) -> str | None:
        if self.error is None:
            return f"fails: {error}"
        kind, label = self.error
        if isinstance(error, getattr(errors, kind)) and label in (None, error.label):
            return None
        return f"fails with another error than {kind} {label or ''}: {error!r}"


def _shown(array: object) -> str:
    return f"{np.asarray(array).dtype}{np.asarray(array).tolist()}"


def reports_in(folder: Path) -> list[Report]:
    """The programs of all files of a folder, which ``// -----`` separates in a file."""
    return [
        _report(f"{path.name}:{line + 1}", text)
        for path in sorted(folder.rglob("*.mlir"))
        for line, text in split(path.read_text("utf-8"))
    ]


def _report(where: str, text: str) -> Report:
    header: dict[str, str] = {}
    for line in text.strip().splitlines():
        match = _HEADER.match(line)
        if match is None:
            break
        header[match[1]] = f"{header[match[1]]}, {match[2]}" if match[1] in header else match[2]
    missing = {"Report", "Rule", "Right"} - header.keys()
    if missing:
        raise MalformedReport(f"{where}: has no line '// {min(missing)}: ...'")
    if '"' not in header["Rule"] and "docs/" not in header["Rule"]:
        raise MalformedReport(f"{where}: the rule names no section of the specification, nor a document")
    failure = _ERROR.match(header["Right"])
    inputs = _arrays(where, parse_attributes(header.get("Input", "")))
    results = None if failure else _arrays(where, parse_attributes(header["Right"]))
    error = (failure[1], failure[2]) if failure else None
    return Report(where, header["Report"], header["Rule"], inputs, results, error, text)


def _arrays(where: str, attributes: Iterable[Attribute]) -> list[Array]:
    arrays = []
    for attribute in attributes:
        if not isinstance(attribute, DenseElementsAttribute):
            raise MalformedReport(f"{where}: inputs and results must be like dense<1> : tensor<i32>")
        arrays.append(np.ascontiguousarray(attribute.array).reshape(attribute.array.shape))
    return arrays
