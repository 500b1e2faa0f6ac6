"""The text of `Executable.explain`: a program before and after specialization, its passes, and its plan."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ..options import Options
from ..program.ir import Function, Module, Operation, Value
from ..program.ir.printer import BriefPrinter
from . import passes
from .implementation import operands_of
from .plan import MemoryEstimate, Plan
from .plan.fusion_passes import fuse_operations, fuses
from .plan.plan import Step

WhyNotFused = Mapping[tuple[Value, Operation], str]
"""Why an operation is not in one fusion with that of a value which it reads."""


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


def why_not_fused(function: Function, specialized: Callable[[], Function], options: Options) -> WhyNotFused:
    """Why operations of a plan's function are not in one fusion with those that they read.

    The function is specialized and fused once more, and the passes note what they refuse.

    Args:
        function: the fused function.
        specialized: specializes it once more.
        options: those of the program.

    Returns:
        The reasons; none if a function that was registered since then makes it another program.
    """
    if not fuses(options):
        return {}
    from .fusion.refusals import Refusals

    refusals, again = Refusals(), specialized()
    fuse_operations(again, options, refusals=refusals)
    reasons: dict[tuple[Value, Operation], str] = {}
    if _structure(function) != _structure(again):
        return reasons
    for operation, same in zip(_operations(function), _operations(again), strict=True):
        for value, same_value in zip(operation.operands, same.operands, strict=True):
            reason = refusals.reason(same_value, same)
            if reason is not None:
                reasons[value, operation] = reason
    return reasons


def _operations(function: Function) -> Iterator[Operation]:
    return (operation for body in function.bodies for operation in body.walk())


def _structure(function: Function) -> list[tuple[str, int]]:
    """The names of the operations and the numbers of their operands."""
    return [(operation.name, len(operation.operands)) for operation in _operations(function)]


def plan_text(plan: Plan, memory: MemoryEstimate, why: WhyNotFused) -> str:
    """A plan's memory use, and a line for each step: operation, types, implementation and its reason.

    Below it a line for each earlier step whose result it reads and could have computed, had a gate of the
    fusion passes not refused to join them.
    """
    figures = ", ".join(f"{name} {bytes}" for name, bytes in memory.figures().items())
    return "\n".join([f"  bytes: {figures}", *_step_lines(plan, why, "")])


def _step_lines(plan: Plan, why: WhyNotFused, indent: str) -> Iterator[str]:
    writers: dict[int, int] = {}
    for number, step in enumerate(plan.steps):
        how = f"[{step.implementation.kind}: {step.implementation.reason}]"
        yield f"{indent}{number:4d}  {step.operation} {step.detail}  {how}"
        for writer, reason in _refusals(step, writers, why).items():
            yield f"{indent}      not fused with step {writer}: {reason}"
        for name, called in step.region_plans():
            yield f"{indent}      {name}:"
            yield from _step_lines(called, why, indent + "        ")
        writers.update(dict.fromkeys(step.results, number))


def _refusals(step: Step, writers: Mapping[int, int], why: WhyNotFused) -> dict[int, str]:
    """The numbers of the steps whose results a step reads, with the reasons why these are not one.

    Args:
        writers: the number of the step that writes each slot.
    """
    if not step.sources:
        return {}
    reasons: dict[int, str] = {}
    for value, slot in zip(operands_of(step.implementation, step.sources[-1]), step.operands, strict=True):
        for reader in step.sources:
            reason = why.get((value, reader))
            if reason is not None and slot in writers:
                reasons[writers[slot]] = reason
    return dict(sorted(reasons.items()))
