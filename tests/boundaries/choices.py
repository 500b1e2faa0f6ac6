"""Decisions whose numbers may be any without changing a bit: they choose between ways of computing.

They are set to other numbers, in a process of its own, so that programs of any size take both sides.
"""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Mapping
from pathlib import Path

from . import recording, sources
from .sources import Number


def modules() -> list[str]:
    """The package's modules of Python."""
    found = []
    for path in sources.files(".py"):
        folder, *parts = path.relative_to(sources.ROOT).with_suffix("").parts
        names = ["nimblehlo", *(["kernels"] if folder == "kernels" else []), *parts]
        if names[-1] not in ("__main__", "__init__"):
            found.append(".".join(names))
    return found


@functools.cache
def places() -> dict[str, list[tuple[str, str]]]:
    """Where Python finds each decision's number: modules and names in them."""
    found: dict[str, list[tuple[str, str]]] = {}
    for module in modules():
        try:
            file = getattr(importlib.import_module(module), "__file__", None)
        except ImportError:
            continue
        path = Path(file).resolve() if file else None
        if path is None or path.suffix != ".py" or not path.is_relative_to(sources.ROOT):
            continue
        for name, decision in recording.names_in(path).items():
            if "." not in name and hasattr(sys.modules[module], name):
                found.setdefault(decision, []).append((module, name))
    return found


def set_numbers(numbers: Mapping[str, Number]) -> None:
    """Let decisions have these numbers, for the rest of this process."""
    for decision, found in places().items():
        if decision in numbers:
            for module, name in found:
                setattr(sys.modules[module], name, numbers[decision])


def other(name: str, factor: float) -> Number:
    """A decision's number times a factor, at least 1 where it is a whole number."""
    value = sources.decisions()[name].value
    return value * factor if isinstance(value, float) else max(1, int(value * factor))
