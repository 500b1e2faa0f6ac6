"""Programs that break one constraint of an operation, which every implementation must refuse.

Each is a legal template with one part changed, sometimes two. Of all changes the first is taken after which
the constraint is violated and every other one holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from ...errors import NimbleError, VerifyError
from ...kernels.named_tuples import NamedTuple
from ...program.loading import load
from ...program.ops import lookup
from ...types import ELEMENT_TYPES
from .generators import templates
from .mutations import DEFECTS, mutations, retyped, with_dynamic_results
from .template import ELEMENT_TYPE_CHOICES, PER_TENSOR, Template, view_of

MAX_TEMPLATES: Final = 40
"""Templates of an operation whose changes are tried."""
MAX_RETYPED: Final = 12
"""Templates whose element types are replaced before they are changed."""
MAX_CHANGES: Final = 6000
"""Pairs of changes that are tried for the constraints that no single one breaks."""

_BASE_TYPES: Final = (
    *ELEMENT_TYPE_CHOICES[:1],
    PER_TENSOR,
    *[ELEMENT_TYPES[name] for name in ("i32", "i1", "complex<f32>")],
)
"""Element types of the templates that are changed."""


class Broken(NamedTuple):
    """A template that breaks a constraint.

    Attributes:
        label: the constraint.
        rule: the constraint in words.
        text: the program.
        is_alone: whether all other constraints hold. Otherwise this one implies others, or they cannot be
            judged where it does not hold.
    """

    label: str
    rule: str
    text: str
    is_alone: bool


def broken_programs(operation: str) -> list[Broken]:
    """A program for each constraint of an operation that a change of its templates breaks.

    Where no change breaks a constraint alone, it is a program of which verification names this constraint.
    """
    declaration = lookup(operation)
    assert declaration is not None
    rules = {one.label: one.rule for one in declaration.declared_constraints}
    alone: dict[str, Broken] = {}
    first: dict[str, Broken] = {}
    for candidate in _candidates(operation):
        labels, is_complete = violated(candidate)
        if not labels or labels[0] in alone:
            continue
        label = labels[0]
        is_alone = is_complete and len(labels) == 1
        if not is_alone and label in first:
            continue
        text = _refused_text(candidate, operation, label)
        if text is not None:
            (alone if is_alone else first)[label] = Broken(label, rules[label], text, is_alone)
        if len(alone) == len(rules):
            break
    return [{**first, **alone}[label] for label in rules if label in first or label in alone]


def _candidates(operation: str) -> Iterator[Template]:
    """Changed templates, the simplest first."""
    bases = _bases(operation)
    for base in bases:
        yield from mutations(base)
    for base in bases[:MAX_RETYPED]:
        for other in retyped(base):
            yield other
            yield from mutations(other)
    for base in bases[:2]:
        yield from islice(_twice(base), MAX_CHANGES)


def _bases(operation: str) -> list[Template]:
    """Legal templates: of the first element type that has any all, of some others few."""
    bases: list[Template] = []
    for element_type in _BASE_TYPES:
        legal = [one for one in templates(operation, element_type) if violated(one) == ([], True)]
        # Those with most operands first: constraints among operands of one kind need several.
        legal.sort(key=lambda one: -len(one.operands))
        bases += legal[: MAX_TEMPLATES if not bases else 2]
    dynamic = [one for base in bases[:2] for one in with_dynamic_results(base)]
    return bases + [one for one in dynamic if violated(one) == ([], True)]


def _twice(base: Template) -> Iterator[Template]:
    for first in mutations(base):
        labels, is_complete = violated(first)
        if is_complete and len(labels) == 1:
            yield from mutations(first)


def violated(template: Template) -> tuple[list[str], bool]:
    """The labels of the constraints that a template violates, and whether all could be judged."""
    labels = []
    try:
        view = view_of(template)
        for label, _, reason in view.constraints():
            if reason is not None:
                labels.append(label)
    except (NimbleError, *DEFECTS):
        return labels, False
    return labels, True


def _refused_text(template: Template, operation: str, label: str) -> str | None:
    """The program of a template, if verification refuses it for this constraint."""
    try:
        text = str(template.module())
        load(text)
    except VerifyError as error:
        return text if (error.operation, error.label) == (operation, label) else None
    except (NimbleError, *DEFECTS):
        return None
    return None
