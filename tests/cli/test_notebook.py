"""What notebooks show, and the magic ``%%stablehlo``."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo import Options
from nimblehlo.checks.differences import find_faulty_operation
from nimblehlo.checks.fuzzing.report import FuzzReport, Outcome
from nimblehlo.inspection import progress
from tests.support import browser

ADD = """func.func @main(%x: tensor<3xf32>, %y: tensor<3xf32>) -> tensor<3xf32> {
  %0 = stablehlo.add %x, %y : tensor<3xf32>
  return %0 : tensor<3xf32>
}"""
X = np.array([1, 2, 3], np.float32)

needs_ipython = pytest.mark.skipif(
    importlib.util.find_spec("IPython") is None, reason="needs IPython, the extra 'notebook'"
)


def reports() -> dict[str, Any]:
    """A value of each type that a notebook shows."""
    executable = nimblehlo.compile(ADD)
    scatter = """func.func @main(%x: tensor<2xf32>, %i: tensor<3x1xi32>, %u: tensor<3xf32>) -> tensor<2xf32> {
  %0 = "stablehlo.scatter"(%x, %i, %u) <{scatter_dimension_numbers = #stablehlo.scatter<
    inserted_window_dims = [0], scatter_dims_to_operand_dims = [0], index_vector_dim = 1>}> ({
    ^bb0(%a: tensor<f32>, %b: tensor<f32>):
      stablehlo.return %b : tensor<f32>
  }) : (tensor<2xf32>, tensor<3x1xi32>, tensor<3xf32>) -> tensor<2xf32>
  return %0 : tensor<2xf32>
}"""
    order = nimblehlo.explore(scatter, [X[:2], np.zeros((3, 1), np.int32), X])
    sanitized = nimblehlo.compile(ADD, options=Options(sanitize=True, sanitize_action="collect"))
    sanitized(*[np.full(3, 3e38, np.float32)] * 2)
    found = FuzzReport("jax:cpu", 0)
    found.add(Outcome(3, "finding", "a <title>", "1 != 2", "program", "why"))
    return {
        "module": nimblehlo.load(ADD),
        "executable": executable,
        "profile": executable.profile([X, X], calls=2, warm_up=1),
        "difference": find_faulty_operation(ADD, [X, X], lambda module, inputs: [inputs[0] - inputs[1]]),
        "accuracy": nimblehlo.accuracy(ADD, [X, X]),
        "exploration": order,
        "findings": sanitized.findings,
        "fuzzing": found,
    }


def test_reports_are_html() -> None:
    shown = {name: value._repr_html_() for name, value in reports().items()}
    assert "stablehlo.add" in shown["executable"] and "arguments 24" in shown["executable"]
    assert "1 warm-up call in" in shown["profile"] and "<table>" in shown["profile"]
    assert "beyond the bounds" in shown["difference"] and '<tr class="bad">' in shown["difference"]
    assert "ulp" in shown["accuracy"]
    assert (
        "1 of 1 results depend" in shown["exploration"]
        and "responsible: stablehlo.scatter" in shown["exploration"]
    )
    assert "non_finite" in shown["findings"]
    assert "a &lt;title&gt;" in shown["fuzzing"] and "a <title>" not in shown["fuzzing"]


def test_an_executable_of_unknown_sizes_has_plans_once_it_was_called() -> None:
    text = ADD.replace("tensor<3xf32>", "tensor<?xf32>")
    executable = nimblehlo.compile(text)
    assert "Sizes are unknown" in executable._repr_html_()
    executable(X, X)
    assert "tensor&lt;3xf32&gt;" in executable._repr_html_()


@browser.needs_browser
def test_nothing_is_cut_off(tmp_path: Path) -> None:
    colours = "background: light-dark(white, black); color: light-dark(black, white)"
    style = f"body {{ color-scheme: light dark; {colours} }}"
    path = tmp_path / "notebook.html"
    cells = "".join(value._repr_html_() for value in reports().values())
    path.write_text(f"<!doctype html><meta charset=utf-8><style>{style}</style>{cells}", encoding="utf-8")
    assert not browser.faults([path])


@needs_ipython
def test_cells_of_programs() -> None:
    from IPython.core.error import UsageError
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    shell.run_line_magic("load_ext", "nimblehlo")
    shell.user_ns["x"] = X
    (result,) = shell.run_cell_magic("stablehlo", "x x", ADD)
    assert result.tolist() == [2, 4, 6]
    assert shell.run_cell_magic("stablehlo", "--random 0 --to r --executable e", ADD) is None
    assert shell.user_ns["r"][0].shape == (3,)
    assert shell.user_ns["e"](X, X)[0].tolist() == [2, 4, 6]
    for line, cell, told in (
        ("x", ADD, "takes 2 inputs"),
        ("x z", ADD, "no variable z"),
        ('x "y', ADD, 'No closing quotation: x "y'),
        ("x --random 1", ADD, "names some too"),
        ("--nonsense", ADD, "unrecognized"),
        ("x x", ADD.replace("add", "sum"), "stablehlo.sum"),
    ):
        with pytest.raises(UsageError, match=told):
            shell.run_cell_magic("stablehlo", line, cell)


def test_without_ipython_the_extra_is_named() -> None:
    script = """
import sys
sys.modules["IPython"] = sys.modules["IPython.core"] = sys.modules["IPython.core.error"] = None
import nimblehlo
try:
    nimblehlo.load_ipython_extension(None)
except nimblehlo.UnsupportedError as error:
    print(error)
"""
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert "nimblehlo[notebook]" in shown.stdout


class _Handle:
    """What IPython's `display` returns."""

    def __init__(self, shown: list[str]) -> None:
        self.shown = shown

    def update(self, bundle: dict[str, str], raw: bool) -> None:
        self.shown.append(bundle["text/plain"])


def test_progress_in_a_notebook(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shown: list[str] = []

    def display(bundle: dict[str, str], raw: bool, display_id: bool) -> _Handle:
        shown.append(bundle["text/html"])
        return _Handle(shown)

    shell = SimpleNamespace(has_trait=lambda name: name == "kernel")
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    bar = progress.Progress(4)
    bar.advance()
    assert not shown
    bar.start -= 2
    bar.advance()
    bar.advance()
    bar.clear()
    assert shown == [f"<code>[{'#' * 20}{'.' * 20}] 2/4</code>", f"[{'#' * 30}{'.' * 10}] 3/4", ""]
    assert not capsys.readouterr().err
