"""The text of `Executable.explain`: a program before and after specialization, its passes, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ..options import Options
from ..program.ir import Function, Module
from ..program.ir.printer import BriefPrinter
from . import passes
from .plan import MemoryEstimate, Plan
from .plan.fusion_passes import fuse_operations, fuses


def module_text(module: Module) -> str:
    """A module as text, large constants shortened."""
    printer = BriefPrinter()
    printer.module(module)
    return "\n".join(printer.lines)


def function_text(function: Function) -> str:
    """A function and those that it calls as text, large constants shortened."""
    printer = BriefPrinter()
    for called in (function, *function.callees):
        printer.function(called)
    return "\n".join(printer.lines)


def passes_text(specialized: Callable[[passes.Observe], Function], options: Options) -> str:
    """What each pass makes of a program: a line for the pass, and the function if the pass changed it.

    A stage without passes under these options has a line that says why.

    Args:
        specialized: specializes the program once more, and tells its argument each pass.
        options: those of the program.
    """
    lines, last = [], ""

    def observe(each: passes.Pass, function: Function) -> None:
        nonlocal last
        text = function_text(function)
        told = "" if text != last else " (changes nothing)"
        lines.append(f"{each.name}{told}: {each.promises}")
        if text != last:
            lines.append(text)
        last = text

    fuse_operations(specialized(observe), options, observe)
    if fuses(options):
        joins = [each for each in passes.PASSES if each.stage == "join"]
        enabled = [each for each in joins if passes.is_enabled(each.name, options.last_pass)]
        lines += [f"{each.name} (see the plan): {each.promises}" for each in enabled]
    else:  # what would be joined are fusions too
        lines += [f"{stage}: off, compile is {options.compile!r}" for stage in ("fuse", "join")]
    return "\n".join(lines)


def plan_text(plan: Plan, memory: MemoryEstimate) -> str:
    """A plan's memory use, and a line for each step: operation, types, implementation and its reason."""
    figures = ", ".join(f"{name} {bytes}" for name, bytes in memory.figures().items())
    return "\n".join([f"  bytes: {figures}", *_step_lines(plan, "")])


def _step_lines(plan: Plan, indent: str) -> Iterator[str]:
    for number, step in enumerate(plan.steps):
        how = f"[{step.implementation.kind}: {step.implementation.reason}]"
        yield f"{indent}{number:4d}  {step.operation} {step.detail}  {how}"
        for name, called in step.region_plans():
            yield f"{indent}      {name}:"
            yield from _step_lines(called, indent + "        ")
