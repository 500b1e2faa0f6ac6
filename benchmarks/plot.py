"""Measure every program against every peer; write the figures, the README's plot and the documents' table.

    python -m benchmarks.plot            measure (some minutes) and write docs/performance.json, then the rest
    python -m benchmarks.plot --stored   the plot and the table from docs/performance.json as it stands

Each family of programs is measured in a process of its own. Needs the extra `bench`.
"""

from __future__ import annotations

import argparse
import datetime
import json
import math
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from nimblehlo.inspection.profiling.bound import WON

from .machine import machine
from .measuring import figures
from .peers import bound_share, first_result_ratio, ratios
from .programs import PROGRAMS, SIZES, representatives
from .summary_picture import summary_picture

DOCUMENTS = Path(__file__).resolve().parent.parent / "docs"
FIGURES = DOCUMENTS / "performance.json"
PLOT = DOCUMENTS / "images" / "performance.svg"
TABLE = DOCUMENTS / "performance.md"
BEGIN, END = "<!-- table: python -m benchmarks.plot -->\n", "<!-- end of table -->\n"

LARGEST, SMALLEST = SIZES[-1], SIZES[0]
COLUMNS = {
    f"xla {LARGEST}": "XLA:CPU, large",
    f"xla {SMALLEST}": "XLA:CPU, small",
    f"first {SMALLEST}": "XLA:CPU, first result",
    f"numpy {LARGEST}": "NumPy, large",
    f"interpreter {SMALLEST}": "reference interpreter, small",
    f"memory {LARGEST}": "of copy bandwidth, large",
    f"bound {LARGEST}": "of its bound, large",
}

Figures = dict[str, dict[str, float | None]]


def measure(family: str) -> Figures:
    """The ratios of a family's programs, by the keys of `COLUMNS`; failures are printed and left out."""
    found: Figures = {}
    for program in PROGRAMS.values():
        if program.family == family:
            row: dict[str, float | None] = {}
            for size, peers in ((LARGEST, ["xla", "numpy", "memory"]), (SMALLEST, ["xla", "interpreter"])):
                try:
                    measured = ratios(peers, program, size)
                except Exception:
                    print(f"{program.name}, {size}:", file=sys.stderr)
                    traceback.print_exc()
                else:
                    row |= {f"{peer} {size}": value for peer, value in measured.items()}
            row[f"bound {LARGEST}"] = bound_share(program, LARGEST)
            if program.name in representatives():
                row[f"first {SMALLEST}"] = first_result_ratio(program, SMALLEST, pairs=1)
            found[program.name] = row
    return found


def measure_all() -> dict[str, Any]:
    """The ratios of all programs, and the machine; reports progress on standard error."""
    rows: Figures = {}
    for family in dict.fromkeys(program.family for program in PROGRAMS.values()):
        print(family, file=sys.stderr, flush=True)
        rows |= figures([sys.executable, "-m", "benchmarks.plot", "--family", family], {})
    return {"date": datetime.date.today().isoformat(), "machine": machine(), "programs": rows}


def mean(values: Iterable[float | None]) -> float:
    """The geometric mean of the values that are neither None nor 0; NaN if there are none."""
    logarithms = [math.log(value) for value in values if value]
    return math.exp(sum(logarithms) / len(logarithms)) if logarithms else math.nan


def formatted(value: float | None) -> str:
    """The value with two or three digits; a dash if there is none."""
    if value is None or math.isnan(value):
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:#.2g}".rstrip(".")


def table(found: dict[str, Any]) -> str:
    """The table in Markdown: each program, and the geometric means."""
    rows: Figures = found["programs"]
    lines = [f"Measured on {found['date']}: {found['machine']}.", ""]
    lines += ["| program | " + " | ".join(COLUMNS.values()) + " |", "|---|" + "---:|" * len(COLUMNS)]
    for name, row in rows.items():
        lines.append(f"| `{name}` | " + " | ".join(formatted(row.get(key)) for key in COLUMNS) + " |")
    means = [formatted(mean(row.get(key) for row in rows.values())) for key in COLUMNS]
    lines.append("| **geometric mean** | " + " | ".join(f"**{value}**" for value in means) + " |")
    ahead = [sum((row.get(key) or 0) >= 1 for row in rows.values()) for key in list(COLUMNS)[:2]]
    counts = f"Not slower than XLA:CPU: {ahead[0]} of {len(rows)} programs when large, {ahead[1]} when small."
    shares = [share for row in rows.values() if (share := row.get(f"bound {LARGEST}")) is not None]
    if shares:
        won = sum(share >= WON for share in shares)
        counts += f" Within 5 % of their bounds, which counts as won: {won} of {len(shares)} when large."
    lines += ["", counts]
    return "\n".join(lines) + "\n"


def write_table(found: dict[str, Any]) -> None:
    """Put the table between its marks."""
    from tools.marked_text import replace_marked

    replace_marked(TABLE, BEGIN, table(found), END)


def draw(found: dict[str, Any]) -> None:
    """Write the picture."""
    families = {name: program.family for name, program in PROGRAMS.items()}
    summary_picture(found, families).save(PLOT)


def main() -> None:
    """Measure unless told not to, and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stored", action="store_true", help="measure nothing")
    parser.add_argument("--family", help="print the figures of one family of programs, and write nothing")
    options = parser.parse_args()
    if options.family is not None:
        print("FIGURES", json.dumps(measure(options.family)))
        return
    found = json.loads(FIGURES.read_text()) if options.stored else measure_all()
    if not options.stored:
        FIGURES.write_text(json.dumps(found, indent=1) + "\n")
    write_table(found)
    draw(found)


if __name__ == "__main__":
    main()
