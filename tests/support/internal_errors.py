"""Finds internal exceptions that reach a user, raised or named in the text of a `NimbleError`."""

from __future__ import annotations

import re

from nimblehlo import NimbleError
from nimblehlo.errors import INTERNAL_ERROR

_NAMED = re.compile(re.escape(INTERNAL_ERROR) + r" \((\w+)")


def internal_error(error: BaseException) -> str | None:
    """The name of the internal exception type that an error shows to a user, or None if it shows none."""
    if not isinstance(error, NimbleError):
        return type(error).__name__
    found = _NAMED.search(str(error))
    return found[1] if found else None
