"""``nimblehlo profile`` and ``nimblehlo explain``."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..api import compile
from ..errors import NimbleError
from ..inspection.plan_page import read_profile
from ..inspection.profiling.profile import duration
from ..inspection.tables import Table, Terminal, coloured, fitted, terminal, wrapped
from .model_explorer import add_model_explorer, store_graphs, store_profile
from .shared import add_open_behaviour, add_program, add_settings, add_wide, inputs_of, options_of, program_of


def add(commands: Any) -> None:
    """Add the parsers of both commands to those of the command line."""
    profile = commands.add_parser("profile", help="print the time of each step, the slowest first")
    add_program(profile)
    profile.add_argument(
        "--calls", type=int, default=1, metavar="N", help="number of profiled calls (default: 1)"
    )
    profile.add_argument(
        "--warm-up", type=int, default=0, metavar="N", help="number of calls before these (default: 0)"
    )
    profile.add_argument(
        "--rows", type=int, default=30, metavar="N", help="maximum number of printed steps (default: 30)"
    )
    profile.add_argument("--json", metavar="FILE", help="store all figures")
    profile.add_argument(
        "--html", metavar="FILE", help="store the page of nimblehlo explain with these times"
    )
    profile.add_argument(
        "--before", metavar="RUN.json", help="for the page an earlier profile, whose times stand beside these"
    )
    add_model_explorer(profile, "the times of steps, their shares of the bound and their memory")
    profile.add_argument("--perfetto", metavar="FILE", help="store a trace for https://ui.perfetto.dev")
    profile.set_defaults(command=_profile)
    explain = commands.add_parser("explain", help="print how each operation runs, and why")
    add_program(explain)
    explain.add_argument(
        "--what",
        choices=("all", "source", "passes", "program", "plan"),
        default="plan",
        help="the program as given, after each pass, after specialization, the plan, or all except for the "
        "passes (default: plan)",
    )
    explain.add_argument(
        "--html", metavar="FILE", help="store a page: the plan as a graph, its memory, and the program"
    )
    explain.add_argument(
        "--profile",
        nargs="+",
        default=[],
        metavar="RUN.json",
        help="for the page one profile that nimblehlo profile --json stored, or two to compare",
    )
    add_model_explorer(explain, "the plan as a graph")
    explain.set_defaults(command=_explain)
    for command in (profile, explain):
        add_wide(command)
        add_settings(command)
        add_open_behaviour(command)


def _profile(options: argparse.Namespace) -> int:
    module = program_of(options)
    start = time.perf_counter()
    executable = compile(module, entry=options.entry, options=options_of(options))
    compiled_seconds = time.perf_counter() - start
    inputs = inputs_of(executable, options)
    try:
        profile = executable.profile(inputs, calls=options.calls, warm_up=options.warm_up)
    except ValueError as error:
        raise NimbleError(str(error)) from None
    print(f"compiled in {duration(compiled_seconds)}, before the first call")
    print(profile.table(options.rows, terminal(options.wide)))
    if options.json:
        profile.to_json(options.json)
    if options.perfetto:
        profile.to_perfetto(options.perfetto)
    if options.model_explorer:
        store_profile(options.model_explorer, executable, profile)
    if options.html:
        before = {Path(options.before).stem: read_profile(options.before)} if options.before else {}
        page = executable.explain(html=True, runs={"this run": profile, **before})
        Path(options.html).write_text(page, encoding="utf-8")
    return 0


def _explain(options: argparse.Namespace) -> int:
    executable = compile(program_of(options), entry=options.entry, options=options_of(options))
    if options.input or options.random is not None:
        executable(*inputs_of(executable, options))
    if options.model_explorer:
        store_graphs(options.model_explorer, executable, options.file)
    if options.html:
        runs = {_label(path, options.profile): read_profile(path) for path in options.profile}
        try:
            page = executable.explain(html=True, runs=runs)
        except ValueError as error:
            raise NimbleError(str(error)) from None
        Path(options.html).write_text(page, encoding="utf-8")
    if options.html or options.model_explorer:
        return 0
    output = terminal(options.wide)
    if options.what == "plan" and output.width is not None:
        shown = [_plan_lines(*each, output) for each in executable.plan_tables()]
    else:
        shown = [_section_lines(*each, output) for each in executable.explain_sections(options.what)]
    print("\n\n".join(map("\n".join, shown)))
    return 0


def _section_lines(heading: str, text: str, output: Terminal) -> list[str]:
    lines = [fitted(line, output) for line in text.splitlines()]
    return [coloured(fitted(heading, output), "head", output), *lines] if heading else lines


def _plan_lines(heading: str, table: Table, output: Terminal) -> list[str]:
    title, *lines = heading.splitlines()
    return [
        coloured(fitted(title, output), "head", output),
        *[line for text in lines for line in wrapped(text, output)],
        *table.lines(output),
    ]


def _label(path: str, paths: Sequence[str]) -> str:
    """The name of a profile on the page: that of the file, or its path where two files have the same name."""
    stem = Path(path).stem
    return stem if [Path(other).stem for other in paths].count(stem) == 1 else path
