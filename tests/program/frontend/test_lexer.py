"""The cursor's rules for literals."""

import pytest

from nimblehlo.program.frontend.lexer import Cursor


@pytest.mark.parametrize(
    ("literal", "text", "rest"),
    [
        ("->", "-> x", " x"),
        ("->", " \n\t-> x", " x"),
        ("->", "// comment -> \n // another\n->x", "x"),
        ("(", "((", "("),
        ("dense", "dense<", "<"),
        ("dense", " dense", ""),
        ("dense", "densé", None),
        ("dense", "dense\u00e9", "\u00e9"),
        ("dense", "dense_resource<", None),
        ("dense", "dense.x", None),
        ("dense", "dense$", None),
        ("dense", "dens", None),
        ("init :", "init// comment\n :", ""),
        ("init :", "init:", ""),
        ("init :", "init", None),
        ("across dimensions", " across\ndimensions =", " ="),
        ("across dimensions", "acrossdimensions", ""),
        ("across dimensions", "across dimensionsx", None),
        ("x", "", None),
        ("x", " // x", None),
    ],
)
def test_literals_come_after_white_space_and_do_not_run_on(literal: str, text: str, rest: str | None) -> None:
    # What is used often is found by an expression.
    for _ in range(40):
        cursor = Cursor(text, "<text>")
        assert cursor.at(literal) == (rest is not None)
        assert cursor.accept(literal) == (rest is not None)
        assert text[cursor.position :] == (text if rest is None else rest)


@pytest.mark.parametrize(
    ("text", "blanked"),
    [
        ("a / b", "a / b"),
        ("a // b\nc", "a     \nc"),
        ("//", "  "),
        ('"a // b" // c', '"a // b"     '),
        (r'"\"// a" b', r'"\"// a" b'),
        (r'"\\"// a', r'"\\"    '),
        ('// "a\n"b"', '     \n"b"'),
        ('"a // b\n', '"a     \n'),
    ],
)
def test_comments_are_blanked_outside_of_strings(text: str, blanked: str) -> None:
    assert Cursor(text, "<text>").text == blanked
