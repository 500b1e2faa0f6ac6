"""The steps of a plan as a table for terminals and notebooks."""

from __future__ import annotations

from collections.abc import Iterator

from ...compiler.plan import Plan
from ..tables import STEP_COLUMNS, Column, Table


def plan_table(plan: Plan) -> Table:
    """A row for each step, those of regions after the step that has them."""
    columns = (*STEP_COLUMNS, Column("how"), Column("why", shrinks=True, least=25))
    return Table(columns, list(_rows(plan, "")))


def _rows(plan: Plan, prefix: str) -> Iterator[tuple[str, ...]]:
    for index, step in enumerate(plan.steps):
        path, how = f"{prefix}{index}", step.implementation
        yield path, step.operation, step.detail, str(how.kind), how.reason
        for name, region in step.region_plans():
            yield from _rows(region, f"{path}.{name}.")
