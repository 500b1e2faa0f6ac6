"""What no user may see: an exception that is none of the project's, bare or as text within one of them."""

from __future__ import annotations

import re

from nimblehlo import NimbleError

_NAMED = re.compile(r"failed with (\w+): ")


def internal_error(error: BaseException) -> str | None:
    """The name of the internal exception type that an error shows to a user, or None if it shows none."""
    if not isinstance(error, NimbleError):
        return type(error).__name__
    found = _NAMED.search(str(error))
    return found[1] if found else None
