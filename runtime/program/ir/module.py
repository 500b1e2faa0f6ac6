"""Modules: whole programs.

Source: specification, section "Programs".
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Mapping

from .attributes import Attribute
from .location import UNKNOWN, Location
from .operation import Function, Operation


class Module:
    """A program: functions, nested modules and operations of other dialects (such as ``sdy.mesh``).

    Attributes:
        name: its symbol, or None.
        attributes: its attributes.
        body: its functions, nested modules and other operations, in the order of the text.
        producer: the framework whose object it was loaded from (``"JAX"``); None for text and bytecode.
        is_unverified: whether it was loaded without verification, which happens before it runs.
    """

    __slots__ = ("attributes", "body", "is_unverified", "location", "name", "producer")

    def __init__(
        self,
        body: Iterable[Function | Module | Operation] = (),
        *,
        name: str | None = None,
        attributes: Mapping[str, Attribute] | None = None,
        location: Location = UNKNOWN,
        producer: str | None = None,
    ) -> None:
        self.name = name
        self.attributes = dict(attributes) if attributes else {}
        self.body = list(body)
        self.location = location
        self.producer = producer
        self.is_unverified = False

    @property
    def functions(self) -> dict[str, Function]:
        """The functions of the module itself, by name."""
        return {item.name: item for item in self.body if isinstance(item, Function)}

    def walk(self) -> Iterator[Operation]:
        """Iterate over all operations of its functions and nested modules."""
        for item in self.body:
            if isinstance(item, Function):
                if item.body is not None:
                    yield from item.body.walk()
            else:
                yield from item.walk()

    def serialize(self, version: str | None = None) -> bytes:
        """Write the program as a portable artifact of StableHLO; equal programs give equal bytes.

        Args:
            version: the version of StableHLO whose readers, and later ones, read the artifact, such as
                ``"1.9.0"``; None: the latest one that this package knows.

        Raises:
            UnsupportedError: the version has no portable artifacts, or does not have what the program uses.
                The error names the operation, attribute or type, and the version that introduced it.

        Source: StableHLO, "VHLO: versioned StableHLO".
        """
        # The writer depends on this package.
        bytecode = importlib.import_module("..frontend.bytecode", __package__)
        artifact: bytes = bytecode.write_artifact(self, version)
        return artifact

    def __str__(self) -> str:
        from .printer import print_module

        return print_module(self)

    def _repr_html_(self) -> str:
        """The text for a notebook: highlighted, the elements of large constants folded."""
        from .highlighting import module_html

        return module_html(self)

    def __repr__(self) -> str:
        return f"Module({', '.join('@' + name for name in self.functions)})"
