"""Programs of all kinds, run with the decisions' numbers as they are, smaller and larger, and noted."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from . import recording

recording.install()

import nimblehlo  # noqa: E402
from nimblehlo import Options  # noqa: E402

from . import choices, sources, table  # noqa: E402
from . import operations as op  # noqa: E402
from .operations import Case  # noqa: E402

MODES = {"never": Options(compile="never"), "eager": Options(compile="eager"), "auto": Options()}
FACTORS = (1, 1 / 65536, 65536)
"""How many times as large numbers are: those that decide by size take one side and the other."""


def cases() -> list[Case]:
    """Programs of one operation each, of few elements."""
    return [
        op.dot("f32", "reversed", 2, 3, 4, 5),
        op.dot("i32", "plain", 9, 30, 40, 50),
        op.dot("i8", "plain", 1, 30, 40, 50, result="i32"),
        op.dot("bf16", "plain", 2, 33, 64, 40, result="f32"),
        op.reduce("f32", "transposed", (50, 490), [1]),
        op.reduce("f32", "plain", (500, 49), [0]),
        op.reduce("f32", "plain", (4, 9000), [1]),
        op.argmax("f32", "sliced", (40, 33), 1),
        op.cumulative("f32", "plain", (30, 400), 1),
        op.cumulative("f32", "plain", (300, 40), 0),
        op.window("f32", "reversed", (30, 40), (3, 5), (1, 2)),
        op.select_and_scatter("f32", "plain", (80, 40), (2, 5), (2, 5)),
        op.select_and_scatter("f32", "plain", (80, 40), (3, 5), (2, 2)),
        op.gather("f32", "transposed", 9, 17, 200),
        op.gather("f32", "plain", 9, 1700, 20),
        op.scatter("f32", "plain", 90, 17, 300),
        op.scatter("f32", "plain", 90, 65, 3000),
        op.scatter("f32", "plain", 900, 1, 3000),
        op.scatter("i32", "plain", 9, 1, 3000),
        op.scatter("f32", "plain", 90, 17, 80, "", True),
        op.sort("f32", "transposed", (50, 400), 1),
        op.sort("f32", "plain", (1, 5000), 1),
        op.top_k("f32", "plain", (3, 1000), 5),
        op.top_k("f32", "plain", (3, 1000), 100),
        op.top_k("f64", "plain", (3, 1000), 100),
        op.transpose("f32", "plain", (70, 65), (1, 0)),
        op.transpose("f32", "plain", (7, 65, 3), (2, 1, 0)),
        op.concatenate("f32", "sliced", [(30, 40), (30, 50)], 1),
        op.elementwise("f64", "reversed", (30, 40), ["exponential", "add", "tanh"]),
        op.elementwise("f32", "transposed", (300, 40), ["exponential", "add", "sine", "multiply"]),
        op.convolution("f32", "plain", 2, 20, 3, 3, 16),
        op.convolution("i8", "plain", 2, 20, 3, 3, 16),
        op.convolution("f32", "plain", 2, 20, 16, 3, 16, 16),
        op.convolution("bf16", "plain", 2, 20, 16, 3, 16),
        op.fft("f32", "plain", (3, 12)),
        op.fft("f32", "plain", (3, 8192 * 3), "RFFT"),
    ]


def numbers(factor: float) -> dict[str, sources.Number]:
    """The decisions whose numbers may be so many times as large, and these."""
    changed: dict[str, sources.Number] = {}
    for name in sources.decisions():
        kind = table.kind_of(name)
        if kind == "choice" or (kind == "limit" and factor < 1):
            changed[name] = choices.other(name, factor)
    return changed


def differences(factor: float, programs: list[Case]) -> list[str]:
    """Run programs with other numbers; where ways of running differ, or another computation."""
    choices.set_numbers(numbers(factor))
    found: list[str] = []
    for case in programs:
        wanted: list[np.ndarray] = []
        for mode, options in MODES.items():
            executable = nimblehlo.compile(case.text, options=options)
            results = executable(*case.inputs)
            results = list(results) if isinstance(results, tuple | list) else [results]
            wanted = wanted or results
            for number, (a, b) in enumerate(zip(wanted, results, strict=True)):
                if a.tobytes() != b.tobytes():
                    found.append(
                        f"numbers times {factor}, {case.name}: result {number} differs in mode {mode}"
                    )
        reason = case.differs(wanted[0]) if case.differs else None
        if reason is not None:
            found.append(f"numbers times {factor}, {case.name}: {reason}")
    return found


def main(output: Path) -> int:
    """Run all with numbers as they are, smaller and larger; write the sides and what differs."""
    found = [difference for factor in FACTORS for difference in differences(factor, cases())]
    sides = {name: sorted(side) for name, side in recording.sides.items()}
    output.write_text(json.dumps({"sides": sides, "differences": found}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
