"""Which of the results that backends returned the specification allows, and which operation is wrong:
`nimblehlo judge`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from ..api import load
from ..errors import ExecutionError, NimbleError
from ..execution.array_archives import read_archive
from ..options import Options
from ..program.ir import Module, source_line
from ..program.ops.test_dialects.array_files import for_file, from_file
from ..types import Array, Type
from .backends import Backend, BackendError
from .backends.constant_inputs import with_constant_inputs
from .conformance.verdicts import Verdict, verdict_on
from .differences import FaultyOperation
from .differences.extraction import main_block, operations_before, returning_alone, static_program
from .differences.search import faulty_prefix, first_faulty_operation, same_values
from .error_bounds import Accuracy, BoundViolation, accuracy
from .error_bounds.bounds import violations as exceeding
from .error_bounds.monte_carlo import converted
from .minimizer import minimize
from .minimizer.oracles import by_backend

MAX_CONSTANT_BYTES: Final = 1 << 20
"""Bytes of inputs that may become constants of a program: their text has several digits a byte."""
MINIMIZER_SECONDS: Final = 120.0
"""Seconds in which a program is made smaller."""
SURE_EXCESS: Final = 10.0
"""Results that lie so many times beyond their bounds are wrong, if an operation is: the bounds of few random
runs are off by some 20 %."""
MAX_SUSPECTS: Final = 10
"""Operations that a judgement names if no backend runs the program again."""


@dataclass(frozen=True)
class JudgedResults:
    """The judgement on the results that one backend returned.

    Attributes:
        name: what they are called, such as their file.
        verdict: within, open or outside.
        violations: the results that are outside.
        is_reproduced: whether the backend, which ran the program again, gave the same results; None: there is
            no backend.
        first: the first operation whose result exceeds its bound in that backend.
        suspects: without a backend: the operations on which a result that is outside depends, and none that
            is within, the first ones first.
        program: the smaller program that shows what is wrong; None: nothing is.
        inputs: the inputs of that program.
    """

    name: str
    verdict: Verdict
    violations: Sequence[BoundViolation] = ()
    is_reproduced: bool | None = None
    first: FaultyOperation | None = None
    suspects: Sequence[str] = ()
    program: Module | None = None
    inputs: Sequence[Array] = ()

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.verdict}"]
        lines += [f"  {one}" for one in self.violations]
        if self.is_reproduced is not None:
            same = "gives the same results" if self.is_reproduced else "gives other results"
            lines.append(f"  the backend, run again, {same}")
        if self.first is not None:
            lines.append(f"  first: {self.first}")
        elif self.violations and self.is_reproduced is not None:
            lines.append("  no operation exceeds its bound by itself or in a prefix of the program")
        if self.suspects:
            shown = ", ".join(self.suspects[:MAX_SUSPECTS])
            more = len(self.suspects) - MAX_SUSPECTS
            lines.append(f"  one of: {shown}{f' and {more} more' if more > 0 else ''}")
        return "\n".join(lines)

    def save(self, folder: Path) -> None:
        """Write the smaller program as ``program.mlir``, and its inputs as ``input_0.npy``, ..."""
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "program.mlir").write_text(str(self.program), encoding="utf-8")
        for index, array in enumerate(self.inputs):
            np.save(folder / f"input_{index}.npy", for_file(array))


def read_results(file: str, types: Sequence[Type]) -> list[Any]:
    """The results in a file: ``result_0``, ..., as `nimblehlo run` names them, or ``arr_0``, ..., as
    `numpy.savez` does.

    Args:
        file: an .npz or .safetensors file.
        types: the types of the program's results.

    Raises:
        ExecutionError: it is no such file, or lacks a result.
    """
    arrays = read_archive(file)
    prefix = next((one for one in ("result_", "arr_") if f"{one}0" in arrays), None)
    names = [f"{prefix}{index}" for index in range(len(types))]
    missing = [name for name in names if name not in arrays]
    if missing and types:
        raise ExecutionError(f"{file} must have {len(types)} arrays, result_0, ... or arr_0, ...")
    return [from_file(arrays[name], type) for name, type in zip(names, types, strict=True)]


def judge_results(
    module: object,
    inputs: Sequence[object],
    results: Mapping[str, Sequence[Any]],
    against: Sequence[str | Backend] = (),
    *,
    entry: str = "main",
    options: Options | None = None,
    seconds: float = MINIMIZER_SECONDS,
) -> list[JudgedResults]:
    """Judge the results that one or several backends returned for a program.

    Args:
        module: what `nimblehlo.load` takes.
        inputs: what `nimblehlo.execute` takes.
        results: the results by the names of what returned them.
        against: the backends that returned them, in the same order, to run the program again and find the
            first wrong operation; none: the results alone are judged.
        entry: the function that was run.
        options: of the run with which results are compared, such as ``Options(reference=True)``.
        seconds: the time in which the program of a wrong operation is made smaller.

    Raises:
        ValueError: there are backends, but not one for each of the results.
        NimbleError: what `nimblehlo.execute` raises.
        BackendError: a backend does not run the program.
    """
    if against and len(against) != len(results):
        raise ValueError(f"there are {len(against)} backends for {len(results)} results")
    loaded = load(module)
    arguments = converted(loaded, entry, inputs)
    program = static_program(loaded, entry, arguments)
    allowed = accuracy(program, arguments, options=options)
    judged = []
    for index, (name, returned) in enumerate(results.items()):
        arrays = [np.asarray(one) for one in returned]
        if not exceeding(allowed.results, arrays):
            judged.append(JudgedResults(name, verdict_on(allowed, arrays)[0]))
        elif against:
            judged.append(_run_again(program, arguments, allowed, name, arrays, against[index], seconds))
        else:
            judged.append(_judged_alone(program, arguments, allowed, name, arrays))
    return judged


def _run_again(
    program: Module,
    inputs: Sequence[Array],
    allowed: Accuracy,
    name: str,
    results: Sequence[Array],
    against: str | Backend,
    seconds: float,
) -> JudgedResults:
    """The judgement on results that seem wrong, with the operation that is wrong.

    The bounds of few random runs are compared first. More of them take minutes for a large program, and are
    made where these bounds and the search for the operation do not decide.
    """
    from .backends import IsolatedBackend

    other = IsolatedBackend(against) if isinstance(against, str) else against
    again = [np.asarray(one) for one in other.run(program, inputs)]
    is_same = len(again) == len(results) and all(map(same_values, results, again))
    first = first_faulty_operation(program, inputs, other) if exceeding(allowed.results, again) else None
    violations = exceeding(allowed.results, results)
    if first is None or max(one.excess for one in violations) < SURE_EXCESS:
        violations = allowed.violations(results)
    if not violations:
        return JudgedResults(name, verdict_on(allowed, results)[0], is_reproduced=is_same)
    if first is None and (wrong_again := allowed.violations(again)):
        first = faulty_prefix(program, inputs, other, wrong_again[0].result)
    if first is None:
        return JudgedResults(name, Verdict.OUTSIDE, violations, is_same, program=program, inputs=inputs)
    smaller, arguments = _minimized(first, against, seconds)
    return JudgedResults(name, Verdict.OUTSIDE, violations, is_same, first, program=smaller, inputs=arguments)


def _minimized(
    first: FaultyOperation, against: str | Backend, seconds: float
) -> tuple[Module, Sequence[Array]]:
    """The program of a wrong operation, made smaller, and its inputs."""
    if sum(one.nbytes for one in first.inputs) > MAX_CONSTANT_BYTES:
        return first.module, first.inputs
    for hides_constants in (False, True):
        try:
            closed = with_constant_inputs(first.module, first.inputs, hides_constants=hides_constants)
            return minimize(closed, by_backend(against), seconds=seconds).module, ()
        except (BackendError, NimbleError):
            # The backend computes constants in another way than what it is given.
            continue
    return first.module, first.inputs


def _judged_alone(
    program: Module, inputs: Sequence[Array], allowed: Accuracy, name: str, results: Sequence[Array]
) -> JudgedResults:
    """The judgement on results that seem wrong, of a backend that is not there."""
    violations = allowed.violations(results)
    if not violations:
        return JudgedResults(name, verdict_on(allowed, results)[0])
    returned = main_block(program).terminator.operands
    wrong = {one.result for one in violations}
    if max(wrong) >= len(returned) or any(one.index is None for one in violations):
        return JudgedResults(name, Verdict.OUTSIDE, violations, program=program, inputs=inputs)
    before = {value: operations_before(value) for value in returned}
    right = {one for index, value in enumerate(returned) if index not in wrong for one in before[value]}
    suspects = {one: None for index in sorted(wrong) for one in before[returned[index]] if one not in right}
    ordered = [one for one in main_block(program).operations if one in suspects]
    names = [
        f"{one.name} at {source_line(one.location) or one.location}"
        for one in ordered
        if one.constant_value is None
    ]
    smaller = returning_alone(program, [returned[index] for index in sorted(wrong)])
    return JudgedResults(name, Verdict.OUTSIDE, violations, suspects=names, program=smaller, inputs=inputs)
