"""The operations, each declared once; the module that declares one is imported when it is looked up."""

from .framework.declaration import Op, declarations, lookup

__all__ = ["Op", "declarations", "lookup"]
