"""Write docs/operations.md from the declarations: operations, element types, and kernels.

python tools/operations_table.py
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from nimblehlo import types
from nimblehlo.program.ops.chlo.broadcast import BroadcastBinary
from nimblehlo.program.ops.elementwise.base import Elementwise
from nimblehlo.program.ops.framework.declaration import Op, Operand, declarations
from nimblehlo.types import ELEMENT_TYPES
from tools.kernel_probes import operations_with_kernels, served_element_types

DOCUMENT = Path(__file__).resolve().parent.parent / "docs" / "operations.md"

GROUPS = {
    "i1": types.BOOLEAN,
    "i": types.SIGNED,
    "ui": types.UNSIGNED,
    "f": types.FLOAT,
    "c": types.COMPLEX,
    "q": types.QUANTIZED_PER_TENSOR,
    "qa": types.QUANTIZED_PER_AXIS,
}
"""The columns: categories of element types."""

DIALECTS = {
    "stablehlo": "",
    "chlo": "",
    "check": "Comparisons for programs that test themselves.",
    "interpreter": "Operations that print or save intermediate values.",
    "func": "",
    "sdy": (
        "The partitioning of a program among devices (Shardy). Programs run unpartitioned, so these "
        "operations cost nothing, except `manual_computation`, whose body runs for each device along its "
        "axes. For operations that reduce along axes of several devices or make them unreduced, compilation "
        "raises an `UnsupportedError`."
    ),
    "shape": "Exporters use this dialect and the next two in computations of shapes.",
    "tensor": "",
    "arith": "",
    "nimblehlo": "Internal operations, for JAX's custom calls with dynamic sizes and for rewritten programs.",
}
"""The sections and their introductions; a dialect that is not here comes last."""

INTRODUCTION = """\
# Operations

`python tools/operations_table.py` writes this document from the declarations in `runtime/program/ops/`;
do not edit it.

An operation runs on the element types of its columns:
**i1**; **i**: {signed}; **ui**: {unsigned}; **f**: {floats};
**c**: {complexes}; **q** and **qa**: quantized per tensor and per axis.

In the columns, `x` means that operands and results may have such elements, `in` that only operands may, and
`out` that only results may. Operands that are indices or sizes count too. The constraints of an operation say
which types must be equal; some of them exclude element types of a column: `fft` supports only f32 and f64 of
the floats. A range such as `i8..i64` is in the order of the lists above.

Each operation has a *reference*, the specification's text in Python, and what gives the same bits with
*NumPy*, without compilation, also for unknown sizes. The last column lists the element types for which there
is a hand-written *kernel*. A kernel serves known sizes and, if the operation has a body, a common one (a sum,
a product, a minimum or maximum, a bitwise operation, a comparison). Elementwise operations, data movement,
gathers, reductions and other bodies run in *generated* loops, which the table does not list.
`Executable.explain("plan")` prints how each step of a program runs, and why.
"""


def _names(category: int) -> str:
    return ", ".join(name for name, type in ELEMENT_TYPES.items() if type.category & category)


def introduction() -> str:
    """The text ahead of the tables."""
    return INTRODUCTION.format(
        signed=_names(types.SIGNED),
        unsigned=_names(types.UNSIGNED),
        floats=_names(types.FLOAT),
        complexes=_names(types.COMPLEX),
    )


def short_list(elements: Sequence[str]) -> str:
    """Names of element types, whole groups as their column's heading, neighbours of a group as a range."""
    names = []
    for heading, category in GROUPS.items():
        group = [name for name, type in ELEMENT_TYPES.items() if type.category & category]
        chosen = [name for name in group if name in elements]
        if len(chosen) > 1 and chosen == group:
            names.append(heading)
        elif len(chosen) > 2 and chosen == group[group.index(chosen[0]) :][: len(chosen)]:
            names.append(f"{chosen[0]}..{chosen[-1]}")
        else:
            names += chosen
    return "all" if len(elements) == len(ELEMENT_TYPES) else ", ".join(names)


def _categories(operands: Iterable[Operand]) -> int:
    allowed = 0
    for operand in operands:
        allowed |= operand.categories
    return allowed


def marks(declaration: type[Op]) -> list[str]:
    """A mark for each column."""
    typed: type[Op] = declaration.elementwise if issubclass(declaration, BroadcastBinary) else declaration
    operands, results = _categories(typed.declared_operands), _categories(typed.declared_results)
    cells = []
    for category in GROUPS.values():
        taken, given = bool(operands & category), bool(results & category)
        mark = {(True, True): "x", (True, False): "in", (False, True): "out"}.get((taken, given), "")
        if mark == "out" and not typed.declared_operands:
            mark = "x"
        if mark and issubclass(typed, Elementwise):
            mark = _defined(typed, category, mark)
        cells.append(mark)
    return cells


def _defined(declaration: type[Elementwise], category: int, mark: str) -> str:
    """The mark, or the element types of the category on which alone an elementwise operation is defined."""
    group = [type for type in ELEMENT_TYPES.values() if type.category & category]
    if mark == "out" or not group:
        return mark
    defined = [type.name for type in group if declaration.is_defined(type)]
    return mark if len(defined) == len(group) else f"{mark} {', '.join(defined)}" if defined else ""


def is_supported(declaration: type[Op]) -> bool:
    """Whether the operation runs; some are declared so that their constraints are judged, and no more."""
    is_inlined = declaration.name == "func.call" or declaration.name.startswith("sdy.")
    return is_inlined or declaration.reference is not Op.reference


def row(declaration: type[Op], with_kernels: set[str]) -> str:
    """The operation's line of a table."""
    name = f"`{declaration.name.partition('.')[2]}`"
    cells = [name, *marks(declaration)]
    if not is_supported(declaration):
        cells.append("not supported")
    elif declaration.name in with_kernels:
        cells.append(short_list(served_element_types(declaration.name)))
    else:
        cells.append("")
    return "| " + " | ".join(cells) + " |"


def section(dialect: str, members: Sequence[type[Op]], with_kernels: set[str]) -> str:
    """The heading and the table of one dialect."""
    headings = ["operation", *GROUPS, "kernel"]
    lines = [f"## {dialect}", ""]
    if DIALECTS.get(dialect):
        lines += [DIALECTS[dialect], ""]
    lines += ["| " + " | ".join(headings) + " |", "|---" * len(headings) + "|"]
    lines += [row(declaration, with_kernels) for declaration in members]
    return "\n".join(lines)


def document() -> str:
    """The whole text of docs/operations.md."""
    by_dialect: dict[str, list[type[Op]]] = {dialect: [] for dialect in DIALECTS}
    for declaration in sorted(declarations(), key=lambda declaration: declaration.name):
        by_dialect.setdefault(declaration.name.partition(".")[0], []).append(declaration)
    with_kernels = operations_with_kernels()
    sections = [section(dialect, members, with_kernels) for dialect, members in by_dialect.items() if members]
    return "\n\n".join([introduction().rstrip(), *sections]) + "\n"


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    DOCUMENT.write_text(document(), encoding="utf-8")
    print(f"{DOCUMENT.name}: {len(list(declarations()))} operations")
