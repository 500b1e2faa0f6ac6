"""Replaces text between two marks of a document."""

from pathlib import Path


def replace_marked(document: Path, begin: str, text: str, end: str) -> None:
    """Replace what stands between the marks `begin` and `end` of a document."""
    before, _, rest = document.read_text(encoding="utf-8").partition(begin)
    _, _, after = rest.partition(end)
    document.write_text(before + begin + text + end + after, encoding="utf-8")
