"""Data for scripts of a page."""

from __future__ import annotations

import json


def script_json(data: object) -> str:
    """JSON for an element ``<script>``: no text in it can end the element or open a comment.

    Raises:
        ValueError: a number is not finite, which JSON lacks.
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029")
