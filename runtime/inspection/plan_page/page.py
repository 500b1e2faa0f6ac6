"""The page of a plan: a template, styles and scripts, which are files beside this one, and data as JSON."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from html import escape
from importlib.resources import files
from typing import Any, Final

from ...compiler.implementation import ImplementationKind
from ...compiler.plan import MemoryEstimate, Plan, memory_timeline
from ...program.ir import Function, Module
from ..script_json import script_json
from .graph import InnerOperation, PlanGraph, plan_graph
from .program_lines import ProgramLines
from .runs import RunTimes, run_times

IMPLEMENTATION_WORDS: Final = {
    ImplementationKind.REFERENCE: "the text of the specification, element by element",
    ImplementationKind.NUMPY: "functions of NumPy and prepared native functions; nothing is compiled",
    ImplementationKind.KERNEL: "a hand-written loop over the arrays",
    ImplementationKind.GENERATED: "native code that was generated for this step",
    ImplementationKind.UFUNC_PROGRAM: "NumPy's inner loops over blocks of rows, until compiling pays",
    ImplementationKind.TIERED: "starts without compiled code, and goes on with native code once that pays",
    ImplementationKind.COMMUNICATION: "an exchange between processes",
    ImplementationKind.EXPLORED: "a schedule of the explorer",
    ImplementationKind.WIDER: "a computation in wider types",
}
"""How a step runs, in words."""

SCRIPTS: Final = ("format.js", "list.js", "layout.js", "graph.js", "memory.js", "details.js", "page.js")
"""The scripts in the order in which they run; each defines what later ones use."""


def plan_page(
    title: str,
    module: Module,
    plans: Sequence[tuple[Function, Plan, MemoryEstimate]],
    *,
    donated: Collection[int] = (),
    runs: Sequence[tuple[str, Mapping[str, Any]]] = (),
) -> str:
    """The page of a program's plans.

    Args:
        title: name and type of the function.
        module: the program as it was given.
        plans: for each combination of sizes the specialized function, its plan and the memory that it needs.
        donated: numbers of the arguments that a run may consume.
        runs: labels and profiles (`Profile.as_dict`) whose times are shown, the first one as the run itself
            and a second one beside it.

    Returns:
        HTML that needs no other file.
    """
    lines = ProgramLines(module)
    texts = _Texts()
    shown = []
    for function, plan, memory in plans:
        graph = plan_graph(function, plan, memory_timeline(plan, donated), lines)
        times = [run_times(graph, profile, label) for label, profile in runs]
        name = f"@{function.name} : {function.type}"
        shown.append({"name": name, "memory": memory.figures(), **_graph_data(graph, times, texts)})
    data = {
        "title": title,
        "program": lines.lines,
        "plans": shown,
        "texts": texts.listed,
        "words": IMPLEMENTATION_WORDS,
    }
    return _filled(
        _asset("page.html"),
        title=escape(title),
        style=_asset("page.css"),
        script="\n".join(map(_asset, SCRIPTS)),
        data=script_json(data),
    )


def _asset(name: str) -> str:
    return files(__package__).joinpath("assets", name).read_text(encoding="utf-8")


def _filled(template: str, **values: str) -> str:
    """A template with each ``{{name}}`` replaced once; what is put in is not searched."""
    parts = template.split("{{")
    filled = [parts[0]]
    for part in parts[1:]:
        name, _, rest = part.partition("}}")
        filled += [values[name], rest]
    return "".join(filled)


class _Texts:
    """Numbers texts that occur often, such as types."""

    def __init__(self) -> None:
        self.listed: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        """The number of a text."""
        number = self._numbers.get(text)
        if number is None:
            number = self._numbers[text] = len(self.listed)
            self.listed.append(text)
        return number

    def numbers(self, texts: Sequence[str]) -> list[int]:
        """The numbers of texts."""
        return [self.number(text) for text in texts]


def _graph_data(graph: PlanGraph, times: Sequence[RunTimes], texts: _Texts) -> dict[str, Any]:
    """A graph and its times as columns."""
    steps = graph.steps
    return {
        "path": [step.path for step in steps],
        "parent": [step.parent for step in steps],
        "operation": [texts.number(step.operation) for step in steps],
        "operands": [texts.numbers(step.operands) for step in steps],
        "results": [texts.numbers(step.results) for step in steps],
        "inputs": [step.inputs for step in steps],
        "implementation": [texts.number(step.implementation) for step in steps],
        "reason": [texts.number(step.reason) for step in steps],
        "location": [texts.number(step.location) for step in steps],
        "lines": [step.lines for step in steps],
        "inner": [[_inner_data(one, texts) for one in step.inner] for step in steps],
        "peaks": graph.peaks,
        "allocations": [[one.slot, one.bytes, one.first, one.last] for one in graph.allocations],
        "runs": [
            {
                "label": run.label,
                "calls": run.calls,
                "seconds": run.seconds,
                "own": run.own_seconds,
                "shares": run.shares,
                "unmatched": run.unmatched,
                "bound": run.bound,
            }
            for run in times
        ],
    }


def _inner_data(one: InnerOperation, texts: _Texts) -> list[Any]:
    return [texts.number(one.operation), texts.numbers(one.results), one.lines]
