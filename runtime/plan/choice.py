"""Which way each operation runs: its reference, or a kernel where one serves it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..ops.declaration import Op
from ..options import Options
from .kernels import kernel_for
from .tiering import Tiered


@dataclass(frozen=True, slots=True)
class Choice:
    """How an operation runs.

    Attributes:
        function: what the step calls.
        way: ``"reference"``, ``"kernel"`` or ``"tiered"`` (reference first, kernel once hot).
        reason: why.
        needs_regions: whether `function` takes the operation's regions.
    """

    function: Callable[..., Any]
    way: str
    reason: str
    needs_regions: bool = True


def choose(view: Op, options: Options) -> Choice:
    """The way for one operation under the given options."""
    if options.compile == "never":
        return Choice(view.bind(), "reference", "compilation is off")
    prepare, reason = kernel_for(view, options.threads)
    if prepare is None:
        return Choice(view.bind(), "reference", reason)
    if options.compile == "eager":
        return Choice(prepare(), "kernel", reason, needs_regions=False)
    return Choice(Tiered(view.bind(), prepare), "tiered", f"{reason}, once hot")
