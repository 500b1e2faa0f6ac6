"""What the suite covers: operations, element types and constraints, and the reasons for what it does not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ...api import load
from ...errors import UnsupportedError, VerifyError
from ...program.ops.framework.declaration import Op
from . import edges
from .generators import templates
from .illegal import stored
from .suite import legal_templates, operations
from .template import ELEMENT_TYPE_CHOICES, name_of, view_of


def reason_without_programs(declaration: type[Op]) -> str:
    """Why no program of an operation must run; empty: there are such programs."""
    if declaration.is_terminator:
        return "it ends the regions of the programs of other operations"
    (first, *_) = ELEMENT_TYPE_CHOICES
    made = legal_templates(declaration.name, name_of(first))
    if made and not any(template.runs for template in made):
        return "it needs a second process, or a host, at the other end"
    return ""


@dataclass(frozen=True)
class Coverage:
    """What the suite covers of an operation.

    Attributes:
        operation: its name.
        programs: templates of programs that must run, over all element types.
        element_types: the element types of these.
        refused_types: the element types that the declared categories of its operands admit and of which no
            program is legal, with the label of the constraint that refuses them, or why this implementation
            does; empty where the declared types do.
        alone: the constraints that a program breaks alone.
        with_others: those that programs break with others which they imply.
        missing: the constraints without a program.
    """

    operation: str
    programs: int
    element_types: tuple[str, ...]
    refused_types: dict[str, str]
    alone: tuple[str, ...]
    with_others: tuple[str, ...]
    missing: tuple[str, ...]


def coverage(declaration: type[Op]) -> Coverage:
    """What the suite covers of an operation."""
    runnable = {}
    for element_type in ELEMENT_TYPE_CHOICES:
        name = name_of(element_type)
        count = sum(template.runs for template in legal_templates(declaration.name, name))
        if count:
            runnable[name] = count
    categories = 0
    for one in declaration.declared_operands or declaration.declared_results:
        categories |= one.categories
    admitted = [name_of(one) for one in ELEMENT_TYPE_CHOICES if one.category & categories]
    broken = stored().get(declaration.name, [])
    labels = [one.label for one in declaration.declared_constraints]
    return Coverage(
        declaration.name,
        sum(runnable.values()),
        tuple(runnable),
        {one: _refusing_label(declaration.name, one) for one in admitted if one not in runnable},
        tuple(one.label for one in broken if one.is_alone),
        tuple(one.label for one in broken if not one.is_alone),
        tuple(label for label in labels if label not in {one.label for one in broken}),
    )


def _refusing_label(operation: str, element_type: str) -> str:
    """The label of the constraint by which the first template of an element type is not legal."""
    (chosen,) = [one for one in ELEMENT_TYPE_CHOICES if name_of(one) == element_type]
    for template in templates(operation, chosen):
        try:
            view_of(template).verify()
            load(str(template.module()))
        except VerifyError as error:
            return error.label or ""
        except UnsupportedError as error:
            return str(error).partition(", at ")[0]
    return ""


def table(names: Iterable[str] | None = None) -> str:
    """The coverage of operations as a table in Markdown, with the totals."""
    chosen = None if names is None else set(names)
    rows = [coverage(one) for one in operations() if chosen is None or one.name in chosen]
    lines = ["| operation | templates | element types | refused types | constraints | with others | none |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in rows:
        covered = len(row.alone) + len(row.with_others)
        total = covered + len(row.missing)
        missing = ", ".join(row.missing)
        lines.append(
            f"| `{row.operation}` | {row.programs} | {' '.join(row.element_types)} | {_refused(row)} "
            f"| {covered} of {total} | {', '.join(row.with_others)} | {missing} |"
        )
    reasons = {one.name: reason_without_programs(one) for one in operations()}
    lines += ["", *(f"- {line}" for line in totals(rows))]
    lines += [f"- `{row.operation}` has none: {reasons[row.operation]}" for row in rows if not row.programs]
    lines += ["", edges.table(row.operation for row in rows if row.programs)]
    return "\n".join(lines)


def _refused(row: Coverage) -> str:
    """The refused types by the constraint that refuses them."""
    by_label: dict[str, list[str]] = {}
    for name, label in row.refused_types.items():
        by_label.setdefault(label, []).append(name)
    return "; ".join(f"{' '.join(names)} ({label or 'types'})" for label, names in by_label.items())


def totals(rows: Iterable[Coverage]) -> list[str]:
    """The sums of the columns, in sentences."""
    rows = list(rows)
    alone = sum(len(row.alone) for row in rows)
    others = sum(len(row.with_others) for row in rows)
    missing = sum(len(row.missing) for row in rows)
    running = sum(row.programs > 0 for row in rows)
    types = sum(len(row.element_types) for row in rows)
    return [
        f"{running} of {len(rows)} operations have programs that must run",
        f"{types} pairs of an operation and an element type have such programs",
        f"{alone + others} of {alone + others + missing} constraints have a program that breaks them, "
        f"{alone} of these alone",
    ]
