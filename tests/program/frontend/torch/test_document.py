"""The page on PyTorch lists the conversions that there are."""

from __future__ import annotations

from tools.torch_operations import BEGIN, DOCUMENT, END, table


def test_the_table_is_up_to_date() -> None:
    _, _, rest = DOCUMENT.read_text(encoding="utf-8").partition(BEGIN)
    assert rest.partition(END)[0] == table(), "run python tools/torch_operations.py"
