"""Modules as HTML: highlighted, folded and escaped."""

from __future__ import annotations

import re
from html import unescape

import numpy as np
import pytest

import nimblehlo
from nimblehlo.program.ir.highlighting import MAX_HTML_ELEMENTS, MAX_HTML_LINES


def text_of(shown: str) -> str:
    return unescape(re.sub(r"<[^>]*>", "", shown))


def program(elements: int) -> str:
    values = ", ".join(map(str, range(elements)))
    return f"""func.func @main() -> tensor<{elements}xi32> {{
  %0 = stablehlo.constant {{note = "</pre><script> \ue0000\ue001"}} dense<[{values}]> : tensor<{elements}xi32>
  return %0 : tensor<{elements}xi32>
}}"""


def test_small_programs_are_shown_whole() -> None:
    module = nimblehlo.load(program(16))
    shown = module._repr_html_()
    assert text_of(shown) == str(module).rstrip("\n")
    assert "<details" not in shown and "<script" not in shown
    assert re.findall(r"<span[^>]*>([^<]*)</span>", shown)[:2] == ["module", "func.func"]
    assert ">&quot;stablehlo.constant&quot;</span>" in shown and ">tensor&lt;16xi32&gt;</span>" in shown


@pytest.mark.parametrize("elements", [17, MAX_HTML_ELEMENTS - 1, MAX_HTML_ELEMENTS, MAX_HTML_ELEMENTS + 1])
def test_large_constants_are_folded(elements: int) -> None:
    shown = nimblehlo.load(program(elements))._repr_html_()
    (folded,) = re.findall(r"<details.*?</details>", shown)
    assert text_of(folded).startswith(f"dense<{elements} elements>")
    whole = np.arange(elements, dtype=np.int32).tobytes().hex().upper()
    if elements > MAX_HTML_ELEMENTS:
        assert folded.endswith("too many to show here</details>")
    elif elements > 64:
        assert whole in folded
    else:
        assert "[0, 1, 2, " in folded


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_long_programs_end_with_a_note(more: int) -> None:
    count = MAX_HTML_LINES - 5 + more
    lines = [f"%{index + 1} = stablehlo.negate %{index} : tensor<f32>" for index in range(count)]
    body = "\n".join(lines)
    module = nimblehlo.load(
        f"func.func @main(%0: tensor<f32>) -> tensor<f32> {{\n{body}\nreturn %{count} : tensor<f32>\n}}"
    )
    assert len(str(module).splitlines()) == MAX_HTML_LINES + more
    assert ("and 1 more lines" in module._repr_html_()) == (more == 1)
