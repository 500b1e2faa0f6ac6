"""Decides whether scatters drop elements that are out of bounds, or windows that contain such elements.

The specification drops single elements, XLA drops windows. Under the option's value "auto" a program that was
made for XLA runs as XLA runs it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from ...options import Options
from ...program.ir import Function, Module
from ...program.ir.record import Record

XLA_DIALECTS: Final = ("jax.", "mhlo.", "tf.")
"""Prefixes of the attributes that JAX, and other front ends of XLA, put on modules and functions."""


class ScatterGranularity(Record):
    """The granularity at which a program's scatters drop updates that are out of bounds.

    Attributes:
        granularity: ``"element"`` or ``"window"``.
        reason: why this granularity applies.
    """

    granularity: Literal["element", "window"]
    reason: str

    def __str__(self) -> str:
        what = {"element": "the elements that lie outside", "window": "each window that lies partly outside"}
        return f"scatters leave out {what[self.granularity]}: {self.reason}"


def scatter_granularity(module: Module, options: Options) -> ScatterGranularity:
    """The granularity at which a module's scatters drop updates under `Options.scatter_out_of_bounds`."""
    chosen = options.scatter_out_of_bounds
    if chosen != "auto":
        return ScatterGranularity(chosen, f"Options(scatter_out_of_bounds={chosen!r})")
    mark = _xla_mark(module)
    if mark is not None:
        return ScatterGranularity("window", f"as by XLA, for which the program was made: {mark}")
    reason = "as the specification says; the program carries no attribute of JAX or XLA"
    return ScatterGranularity("element", reason)


def _xla_mark(module: Module) -> str | None:
    """The reason to treat a module as made for XLA; None without one."""
    if module.producer is not None:
        return f"it came as an object of {module.producer}"
    for name in module.attributes:
        if name.startswith(XLA_DIALECTS):
            return f"the module has {name}"
    for item in module.body:
        if isinstance(item, Function):
            mark = _function_mark(item)
        else:
            mark = _xla_mark(item) if isinstance(item, Module) else None
        if mark is not None:
            return mark
    return None


def _function_mark(function: Function) -> str | None:
    scopes: Iterable[tuple[str, Iterable[str]]] = (
        (f"@{function.name}", function.attributes),
        *[(f"argument {i} of @{function.name}", one) for i, one in enumerate(function.argument_attributes)],
        *[(f"result {i} of @{function.name}", one) for i, one in enumerate(function.result_attributes)],
    )
    for scope, attributes in scopes:
        for name in attributes:
            if name.startswith(XLA_DIALECTS):
                return f"{scope} has {name}"
    return None
