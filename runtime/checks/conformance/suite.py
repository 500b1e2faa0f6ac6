"""The programs of the suite: for each operation and element type those that must run, and those that must be
refused.
"""

from __future__ import annotations

import difflib
import functools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final

from ...api import load
from ...errors import UnsupportedError, VerifyError
from ...program.ops import declarations, lookup
from ...program.ops.collectives.base import CommunicatingOp
from ...program.ops.collectives.process_grid import ONE_PROCESS, Grid
from ...program.ops.framework.accuracy import Rounding
from ...program.ops.framework.declaration import Op
from ...types import Array, QuantizedType
from ..error_bounds.operation_kinds import base_name, is_correctly_rounded, is_exact
from ..error_bounds.reduction_bounds import is_exact_body
from .generators import templates
from .illegal import inputs_of_text, stored
from .per_axis_types import per_axis_templates
from .special_values import variants_of
from .template import ELEMENT_TYPE_CHOICES, PER_AXIS, Template, name_of, view_of
from .values import inputs_of

SUITE_VERSION: Final = "3.2"
"""Changes with the programs: the second number if some are added, the first if an id or inputs change."""

SMOKE, FULL = LEVELS = ("smoke", "full")
DIALECTS: Final = ("stablehlo", "chlo")


@dataclass(frozen=True)
class Program:
    """A program of the suite.

    Attributes:
        id: its name, which stays the same between versions of the suite.
        operation: the operation that it tests.
        element_type: the name of the element type; empty for a program that must be refused.
        text: the module.
        inputs: an array for each argument, of each process in turn.
        label: the constraint that the program breaks; empty for a program that must run.
        rule: that constraint in words.
        has_signed_zeros: whether the specification says which sign results have that are zero.
        grid: the processes that run the program at the same time.
    """

    id: str
    operation: str
    element_type: str
    text: str
    inputs: Sequence[Array]
    label: str = ""
    rule: str = ""
    has_signed_zeros: bool = False
    grid: Grid = ONE_PROCESS

    @property
    def inputs_by_process(self) -> list[Sequence[Array]]:
        """The inputs of each process."""
        count = len(self.inputs) // self.grid.size
        return [self.inputs[number * count : (number + 1) * count] for number in range(self.grid.size)]


def operations() -> list[type[Op]]:
    """The declarations of the operations that the suite is about: StableHLO's and CHLO's."""
    return [one for one in declarations() if one.name.partition(".")[0] in DIALECTS and not one.is_internal]


def programs(names: Iterable[str] | None = None, level: str = FULL) -> Iterator[Program]:
    """The programs of operations, in a fixed order.

    Args:
        names: of operations; None: all.
        level: one of LEVELS.

    Raises:
        UnsupportedError: there is no such operation in the suite.
    """
    known = [one.name for one in operations()]
    chosen = known if names is None else list(names)
    for name in chosen:
        if name not in known:
            near = ", ".join(difflib.get_close_matches(name, known))
            hint = f"; near are {near}" if near else ""
            raise UnsupportedError(f"the conformance suite has no operation {name!r}{hint}")
        yield from legal_programs(name, level)
        yield from illegal_programs(name)


def illegal_programs(operation: str) -> Iterator[Program]:
    """The programs of an operation that must be refused, one for each constraint."""
    for broken in stored().get(operation, ()):
        inputs = inputs_of_text(broken.text)
        id = f"{operation}/{broken.label}"
        yield Program(id, operation, "", broken.text, inputs, broken.label, broken.rule)


def legal_programs(operation: str, level: str = FULL) -> Iterator[Program]:
    """The programs of an operation that must run."""
    first: str | None = None
    seen: set[tuple[str, str]] = set()
    for element_type in ELEMENT_TYPE_CHOICES:
        name = name_of(element_type)
        if level == SMOKE and first is not None and name not in _MAIN_TYPES:
            continue
        legal = legal_templates(operation, name)
        first = first or (name if legal else None)
        is_main = name == first or name in _MAIN_TYPES
        has_special = is_main or isinstance(element_type, QuantizedType)
        special = variants_of(legal) if level == FULL and has_special else ()
        for template in chain(legal, special):
            has_all = is_main or template.each_type or name == name_of(PER_AXIS)
            is_chosen = template.is_basic or (level == FULL and has_all)
            if not template.runs or not is_chosen:
                continue
            text = str(template.module())
            # Operations whose templates do not depend on the element type have each once.
            if name != first and (text, template.variant) in seen:
                continue
            seen.add((text, template.variant))
            id = f"{operation}/{name}/{template.variant}"
            signs = has_signed_zeros(template)
            inputs = inputs_of(template)
            yield Program(id, operation, name, text, inputs, has_signed_zeros=signs, grid=template.grid)


def has_signed_zeros(template: Template) -> bool:
    """Whether the specification says which sign results of a template have that are zero.

    It does for operations of IEEE 754 whose results have one correct value, for data movement, and for
    operations whose regions consist of such. CHLO's definitions are no specification, except that a
    broadcasting operation is one of StableHLO after the broadcast. The sign is open for sums and functions.
    """
    operation = template.isolated()
    declaration = lookup(f"stablehlo.{base_name(operation)}")
    if declaration is None or not declaration.is_specified:
        return False
    if declaration.rounding is Rounding.BODY:
        return all(map(is_exact_body, operation.regions))
    return is_exact(operation) or is_correctly_rounded(operation)


_MAIN_TYPES: Final = ("f32", "i32")
"""The element types in which all templates are tried, beside the first one that an operation accepts."""


@functools.lru_cache(maxsize=64)
def legal_templates(operation: str, element_type: str) -> Sequence[Template]:
    """The templates of an operation for an element type that verify."""
    (chosen,) = [one for one in ELEMENT_TYPE_CHOICES if name_of(one) == element_type]
    if chosen == PER_AXIS:
        return tuple(per_axis_templates(operation, _is_legal))
    return tuple(one for one in templates(operation, chosen) if _is_legal(one))


def _is_legal(template: Template) -> bool:
    """Whether a template verifies, and NimbleHLO supports it."""
    try:
        view = view_of(template)
        view.verify()
        if template.grid.size > 1 and isinstance(view, CommunicatingOp):
            view.check_grid(template.grid)
        load(str(template.module()))
    except (UnsupportedError, VerifyError):
        return False
    return True
