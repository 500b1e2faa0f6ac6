"""Parse the file metadata at the end of a text: ``{-# dialect_resources: {builtin: {name: "0x..."}} #-}``.

Source: MLIR language reference, "File metadata dictionary".
"""

from __future__ import annotations

from .lexer import Cursor

OPENING = "{-#"
CLOSING = "#-}"


def parse_resources(cursor: Cursor) -> dict[str, tuple[int, int]]:
    """Consume a metadata dictionary; the offsets (start, end) of the digits of each builtin blob, by name."""
    spans: dict[str, tuple[int, int]] = {}
    cursor.expect(OPENING)
    for _ in cursor.items(CLOSING):
        kind = cursor.keyword("a section's name")
        cursor.expect(":")
        _parse_section(cursor, spans if kind == "dialect_resources" else {})
    return spans


def _parse_section(cursor: Cursor, spans: dict[str, tuple[int, int]]) -> None:
    cursor.expect("{")
    for _ in cursor.items("}"):
        dialect = cursor.string() if cursor.peek() == '"' else cursor.keyword("a dialect's name")
        cursor.expect(":")
        _parse_entries(cursor, spans if dialect == "builtin" else {})


def _parse_entries(cursor: Cursor, spans: dict[str, tuple[int, int]]) -> None:
    cursor.expect("{")
    for _ in cursor.items("}"):
        name = cursor.string() if cursor.peek() == '"' else cursor.keyword("a resource's name")
        cursor.expect(":")
        if cursor.peek() != '"':
            cursor.keyword("a resource's value")
            continue
        start = cursor.position + 1
        end = cursor.string_end(start)
        cursor.position = end
        if cursor.text.startswith("0x", start):
            spans[name] = (start + 2, end - 1)
