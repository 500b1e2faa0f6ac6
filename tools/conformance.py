"""Run the public programs of StableHLO, and write their results to docs/conformance.md.

    python tools/conformance.py STABLEHLO    # run, and write docs/conformance.json and docs/conformance.md
    python tools/conformance.py              # write docs/conformance.md from docs/conformance.json

STABLEHLO is the folder `stablehlo` of a checkout of the public project. For each program that fails, the
exact results are computed with mpmath (`exact_results.py`), and the errors of the expectation and of the
result here are measured against them. Takes some ten minutes, most of them for programs with unknown sizes,
which are compared with StableHLO's reference interpreter. Needs mpmath and jaxlib.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import nimblehlo
from nimblehlo.checks.checking import check_files
from nimblehlo.program.ir import Module, Operation
from nimblehlo.program.ops.custom_calls.targets import ALMOST_EQ_TOLERANCE, CLOSE_ULP_DIFFERENCES
from nimblehlo.program.ops.test_dialects.check import not_almost_equal, not_close
from nimblehlo.types import FunctionType

Array = np.ndarray[Any, Any]

ROOT = Path(__file__).resolve().parent.parent
DOCUMENT = ROOT / "docs" / "conformance.md"
RECORD = ROOT / "docs" / "conformance.json"

CHECKED = {
    "testdata/*.mlir": "`testdata`, sizes known",
    "testdata/quantized/*.mlir": "`testdata/quantized`",
    "tests/interpret/*.mlir": "`tests/interpret`, without `chlo`",
    "tests/interpret/chlo/*.mlir": "`tests/interpret/chlo`",
    "tests/math/*.mlir": "`tests/math`",
}
DYNAMIC = "testdata/dynamic/*.mlir"

_COMPARISONS = {
    "check.expect_close": not_close(*CLOSE_ULP_DIFFERENCES),
    "check.expect_almost_eq": not_almost_equal(ALMOST_EQ_TOLERANCE),
}


def check_of(module: Module) -> tuple[Operation, str]:
    """The first check of @main, which is a custom call, and its target."""
    for operation in module.functions["main"].body.block.operations:
        if operation.name == "stablehlo.custom_call":
            return operation, operation.attributes["call_target_name"].value
    raise ValueError("@main checks nothing")


def checked_values(module: Module, check: Operation) -> list[Array]:
    """NimbleHLO's values of a check's operands; changes the module's @main to return them."""
    main = module.functions["main"]
    block = main.body.block
    block.operations = [*block.operations[: block.operations.index(check)], block.terminator]
    block.terminator.operands = check.operands
    types = [operand.type for operand in check.operands]
    main.type, main.result_attributes = FunctionType([], types), ({},) * len(types)
    return nimblehlo.execute(module)


def errors(file: Path) -> dict[str, Any]:
    """How far the expectation and the result here are from the exact result of a program that fails."""
    from tools.exact_results import exact, exact_operands, norm, rounded

    module = nimblehlo.load(file)
    check, target = check_of(module)
    truth = exact_operands(module, check)[0]
    here, expected = checked_values(module, check)
    differs = _COMPARISONS[target]
    failing = np.flatnonzero(differs(here, expected))
    far_here, far_expected = (abs(exact(array) - truth).reshape(-1) for array in (here, expected))
    nearer = [index for index in failing if far_here[index] < far_expected[index]]
    worst = max(failing, key=lambda index: far_expected[index] / abs(truth.reshape(-1)[index]))
    size, digits = norm(truth), 9 if np.finfo(here.dtype).bits == 32 else 17
    return {
        "elements": int(here.size),
        "fails": len(failing),
        "exact_fails": int(np.count_nonzero(differs(rounded(truth, here.dtype), expected))),
        "nearer_here": len(nearer),
        "norm_error_here": float(norm(exact(here) - truth) / size),
        "norm_error_expected": float(norm(exact(expected) - truth) / size),
        "at": [int(index) for index in np.unravel_index(worst, here.shape)],
        "exact": _text(truth.reshape(-1)[worst], digits + 3),
        "expected": _text(expected.reshape(-1)[worst].item(), digits),
        "here": _text(here.reshape(-1)[worst].item(), digits),
    }


def _text(value: Any, digits: int) -> str:
    """A real or complex number with `digits` significant digits."""
    import mpmath

    number = mpmath.mpmathify(value)
    if isinstance(number, mpmath.mpf):
        return str(mpmath.nstr(number, digits))
    sign = "-" if number.imag < 0 else "+"
    return f"{mpmath.nstr(number.real, digits)} {sign} {mpmath.nstr(abs(number.imag), digits)}i"


def run(stablehlo: Path, jobs: int) -> dict[str, Any]:
    """The record of a run over a checkout's programs."""
    from tools.exact_results import PRECISION

    record: dict[str, Any] = {"version": _version(stablehlo), "precision": PRECISION}
    record.update(rows={}, failed={}, unsupported={})
    for pattern in CHECKED:
        files = sorted(map(str, stablehlo.glob(pattern)))
        cases = [case for results in check_files(files, jobs) for case in results]
        counts = dict.fromkeys(("passed", "unsupported", "failed"), 0)
        for case in cases:
            counts[case.status] += 1
            if case.status != "passed":
                name = str(Path(case.file).relative_to(stablehlo))
                reason = re.sub(r",? at \S+:\d+:\d+$", "", case.message)
                key = f"{name}, chunk {case.chunk}" if pattern.startswith("tests/") else name
                record[case.status][key] = {"message": reason}
        record["rows"][pattern] = {"files": len(files), "cases": len(cases), **counts}
        print(pattern, record["rows"][pattern], flush=True)
    for name, failure in record["failed"].items():
        failure.update(errors(stablehlo / name))
        print(name, failure, flush=True)
    record["rows"][DYNAMIC] = run_dynamic(stablehlo)
    print(DYNAMIC, record["rows"][DYNAMIC], flush=True)
    return record


def run_dynamic(stablehlo: Path) -> dict[str, int]:
    """The counts of programs with unknown sizes."""
    from tests.programs.test_dynamic_conformance import SIZES, disagreement
    from tests.support.dynamic_reference import StableHLO

    files, failed = sorted(stablehlo.glob(DYNAMIC)), 0
    interpreter = StableHLO()
    try:
        for file in files:
            found = [disagreement(file, size, interpreter) for size in SIZES]
            failed += any(found)
            if any(found):
                print(f"failed: {file.name}: {found}", flush=True)
    finally:
        interpreter.stop()
    count = len(files)
    return {"files": count, "cases": count, "passed": count - failed, "unsupported": 0, "failed": failed}


def _version(stablehlo: Path) -> str:
    text = (stablehlo / "dialect" / "Version.h").read_text(encoding="utf-8")
    found = re.search(r"getCurrentVersion\(\) \{ return Version\((\d+), (\d+)", text)
    assert found, "Version.h does not say which version this is"
    return f"{found[1]}.{found[2]}"


INTRODUCTION = """# Conformance

<!-- Written by tools/conformance.py from docs/conformance.json, the record of a run. -->

The results of the public programs of StableHLO {version}. A *case* is a program, or a chunk of a file
between `// -----` lines. The folders are those of the folder `stablehlo` of a checkout.

| programs | command | files | cases | passed | unsupported | failed |
|---|---|---|---|---|---|---|
"""

AFTER_COUNTS = """
`python tools/conformance.py STABLEHLO` runs all of them and writes this page. Files that the public project
has disabled (`RUN-DISABLED`) are run and counted, too. In its last line `nimblehlo check` counts unsupported
programs as failed.

Programs with unknown sizes have no expected results. Each must be accepted; its unknown sizes are then bound
to 3, 1 and 5 in turn. Its results must equal those of StableHLO's reference interpreter, or of XLA:CPU where
the interpreter aborts; if StableHLO rejects the refined program, NimbleHLO must reject it, too.

## Unsupported

| what | cases |
|---|---|
"""

AFTER_UNSUPPORTED = """
`api_input_arguments.mlir` gets its arguments, ones and twos, on the public tool's
command line; with them the result here is `[3, 3]`, as its text says.
"""

FAILED = """
## Failed

For each program that fails, `tools/exact_results.py` computes the exact results from the operands, with
{precision} bits. *Exact fails at* counts the elements at which the exact result, rounded once to the type,
also fails the check: there the expectation itself is wrong by more than the check allows. *Nearer* counts
the failing elements at which NimbleHLO's result is nearer to the exact value than the expectation is. Errors
are Euclidean norms of the distances from the exact results, relative to the norm of the exact results.

| program | fails at | exact fails at | nearer | NimbleHLO's error | error of the expectation |
|---|---|---|---|---|---|
"""

WORST = """
The failing element whose expectation is furthest from the exact value, relative to it:

| program | element | exact | expected | NimbleHLO |
|---|---|---|---|---|
"""

REASONS = {
    "conv_general": """- **Convolution**: enabled in the public project. Its interpreter rounds each of the
  three products of a sum before it adds them, and so does the expectation. NimbleHLO adds products by fused
  multiply-add, unrounded. Where a sum is small relative to its products, the rounding of a product exceeds
  the three ulps that the check allows.""",
    "cosh_": """- **cosh**, **sinh**: the checks allow 3 ulps, and {almost} whatever the size of the values.
  The expectations follow `exp(x + log(1/2)) + exp(-x + log(1/2))` and the same with a minus in f32, whose
  error grows with `x`: StableHLO's own pass decomposes these two of CHLO so, while CHLO defines them by the
  mathematical functions.""",
    "cumprod_complex": """- **cumprod**, **pow**, **sin** of complex numbers: the public project has
  disabled these files as inaccurate. The checks allow a difference of {almost} whatever the size of the
  values, which is less than one ulp of f32 from 16384 on.""",
    "fft_": """- **fft**: disabled in the public project, whose interpreter has no transforms. The
  expectations have the bits of SciPy (pocketfft). The check allows 3 ulps of each element, even if the
  element is small relative to the terms of its sum: any other order of additions fails it, and so do the
  exact results.""",
    "triangular_solve": """- **triangular_solve**: disabled in the public project. One of the two matrices
  has the condition number 191092, so that another order of additions exceeds the 3 ulps of the check.""",
}
"""Why programs fail whose names begin so."""


def _unsupported(record: dict[str, Any]) -> list[tuple[str, int]]:
    """The unsupported operations, or else files, and the number of cases of each."""
    counts: dict[str, int] = {}
    for name, case in record["unsupported"].items():
        operation = re.match(r"(\w+\.\w+): ", case["message"])
        what = f"`{operation[1]}`" if operation else f"`{name.split(',')[0]}`: {case['message']}"
        counts[what] = counts.get(what, 0) + 1
    return sorted(counts.items())


def document(record: dict[str, Any]) -> str:
    """The whole text of docs/conformance.md."""
    lines = [INTRODUCTION.format(version=record["version"]).rstrip()]
    for pattern, row in record["rows"].items():
        dynamic = pattern == DYNAMIC
        label = "`testdata/dynamic`, unknown sizes" if dynamic else CHECKED[pattern]
        command = "tools/conformance.py" if dynamic else f"nimblehlo check {pattern}"
        counts = [row[name] for name in ("files", "cases", "passed", "unsupported", "failed")]
        lines.append(f"| {label} | `{command}` | {' | '.join(map(str, counts))} |")
    lines.append(AFTER_COUNTS.rstrip())
    lines += [f"| {what} | {count} |" for what, count in _unsupported(record)]
    lines.append(AFTER_UNSUPPORTED.rstrip())
    lines.append(FAILED.format(precision=record["precision"]).rstrip())
    failed = {Path(name).stem: case for name, case in record["failed"].items()}
    for name, case in failed.items():
        lines.append(
            f"| `{name}` | {case['fails']} of {case['elements']} | {case['exact_fails']} | "
            f"{case['nearer_here']} of {case['fails']} | {case['norm_error_here']:.3g} | "
            f"{case['norm_error_expected']:.3g} |"
        )
    lines.append(WORST.rstrip())
    for name, case in failed.items():
        element = ", ".join(map(str, case["at"]))
        lines.append(f"| `{name}` | [{element}] | {case['exact']} | {case['expected']} | {case['here']} |")
    reasons = [text for start, text in REASONS.items() if any(name.startswith(start) for name in failed)]
    lines += ["", *[text.format(almost=ALMOST_EQ_TOLERANCE) for text in reasons]]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("stablehlo", nargs="?", type=Path, metavar="STABLEHLO")
    parser.add_argument("-j", "--jobs", type=int, default=1, metavar="N", help="processes (default: 1)")
    options = parser.parse_args(arguments)
    if options.stablehlo:
        record = run(options.stablehlo, options.jobs)
        RECORD.write_text(json.dumps(record, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    DOCUMENT.write_text(document(record), encoding="utf-8")
    print(f"{DOCUMENT.name}: {len(record['failed'])} programs fail")


if __name__ == "__main__":
    main()
