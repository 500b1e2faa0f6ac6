"""A plan as a page of HTML: each step is linked to the line of the program that it comes from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from ...compiler.explanation import BriefPrinter
from ...compiler.plan import MemoryEstimate, Plan
from ...program.ir import Function, Module, Operation

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --marked: #ffd54a55; }
body { margin: 0; font: 14px/1.45 system-ui, sans-serif; display: grid; grid-template-columns: 1fr 1fr; }
body > * { height: 100vh; overflow: auto; box-sizing: border-box; padding: 1rem; }
h1 { font-size: 1.1rem; } h2 { font-size: 1rem; }
table { border-collapse: collapse; } td, th { text-align: left; vertical-align: top;
padding: .15rem .6rem .15rem 0; border-bottom: 1px solid var(--line); }
td.path, div.types, .program { font-family: ui-monospace, monospace; }
div.types { font-size: 12px; overflow-wrap: anywhere; } td.reason { font-size: 12px; opacity: .8; }
.program { border-left: 1px solid var(--line); font-size: 12px; white-space: pre; counter-reset: line; }
.program div::before { counter-increment: line; content: counter(line); display: inline-block; width: 3.5em;
opacity: .45; } .program div:target { background: var(--marked); }
"""


class _LinePrinter(BriefPrinter):
    """Notes the line on which each operation begins, by its location."""

    def __init__(self) -> None:
        super().__init__()
        self.line_of: dict[str, int] = {}

    def operation(self, operation: Operation) -> None:
        self.line_of.setdefault(str(operation.location), len(self.lines) + 1)
        super().operation(operation)


def plan_page(title: str, module: Module, plans: Sequence[tuple[Function, Plan, MemoryEstimate]]) -> str:
    """The page of a program's plans.

    Args:
        title: name and type of the function.
        module: the program as it was given.
        plans: for each combination of sizes the specialized function, its plan and what that takes.

    Returns:
        HTML that needs no other file.
    """
    printer = _LinePrinter()
    printer.module(module)
    program = "".join(
        f'<div id="L{number}">{escape(text)}</div>' for number, text in enumerate(printer.lines, 1)
    )
    sections = "".join(_section(function, plan, memory, printer.line_of) for function, plan, memory in plans)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head>\n<body><main><h1>{escape(title)}</h1>{sections}</main>"
        f'<div class="program">{program}</div></body></html>\n'
    )


def _section(function: Function, plan: Plan, memory: MemoryEstimate, line_of: dict[str, int]) -> str:
    figures = ", ".join(f"{name} {count:,}" for name, count in memory.figures().items())
    rows = "".join(_rows(plan, "", line_of))
    return (
        f"<h2>{escape(f'@{function.name} : {function.type}')}</h2><p>bytes: {figures}</p>"
        "<table><thead><tr><th>step</th><th>operation</th><th>line</th><th colspan=2>how it runs</th></tr>"
        "</thead>"
        f"<tbody>{rows}</tbody></table>"
    )


def _rows(plan: Plan, prefix: str, line_of: dict[str, int]) -> Iterator[str]:
    for number, step in enumerate(plan.steps):
        path, location = f"{prefix}{number}", str(step.location)
        line = line_of.get(location)
        link = escape(location) if line is None else f'<a href="#L{line}">{escape(location)}</a>'
        how = f"{step.implementation.kind}</td><td class=reason>{escape(step.implementation.reason)}"
        types = f"<div class=types>{escape(step.detail)}</div>"
        yield (
            f"<tr><td class=path>{path}</td><td>{escape(step.operation)}{types}</td>"
            f"<td>{link}</td><td>{how}</td></tr>"
        )
        for name, region in step.region_plans():
            yield from _rows(region, f"{path}.{name}.", line_of)
