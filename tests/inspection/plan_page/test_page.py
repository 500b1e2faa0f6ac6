"""The page of a plan: one file that a browser shows without faults at every width, light and dark."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nimblehlo
from nimblehlo.inspection.script_json import script_json
from tests.support import browser

ROOT = Path(__file__).resolve().parents[3]
TRANSFORMER = ROOT / "examples" / "transformer.mlir"


def data_of(page: str) -> dict[str, Any]:
    (text,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    data: dict[str, Any] = json.loads(text)
    return data


def page_with_runs() -> str:
    executable = nimblehlo.compile(TRANSFORMER)
    profile = executable.profile([np.load(TRANSFORMER.with_suffix(".input0.npy"))])
    return executable.explain(html=True, runs={"now": profile, "before": profile.as_dict()})


def test_the_page_needs_no_other_file() -> None:
    page = page_with_runs()
    assert not re.findall(r'(?:src|href)="(?!#)|https?://|@import|url\(', page)
    data = data_of(page)
    (plan,) = data["plans"]
    columns = ("path", "parent", "operation", "inputs", "lines", "inner", "peaks")
    assert {len(plan[name]) for name in columns} == {len(plan["runs"][0]["own"])}
    assert [run["label"] for run in plan["runs"]] == ["now", "before"]
    assert "stablehlo.dot_general" in data["texts"]


def test_texts_of_a_program_are_data() -> None:
    """Names, attributes and locations cannot become markup or script."""
    text = """module @"</script><script>document.title='run'</script>" {
  func.func @main(%x: tensor<3xf32>) -> tensor<3xf32>
      attributes {note = "<img src=x onerror=alert(1)> {{data}}"} {
    %0 = stablehlo.negate %x : tensor<3xf32> loc("<!-- <script>")
    return %0 : tensor<3xf32>
  }
}"""
    page = nimblehlo.compile(text).explain(html=True)
    assert page.count("<script") == page.count("</script>") == 2 and "<img" not in page and "<!--" not in page
    data = data_of(page)
    assert any("</script><script>" in line for line in data["program"])
    assert any("{{data}}" in line for line in data["program"])


def test_json_in_a_script() -> None:
    value = {"a": "</script><!-- \u2028 &amp;"}
    text = script_json(value)
    assert "<" not in text and "\u2028" not in text and json.loads(text) == value


def test_runs_of_a_page_are_at_most_two() -> None:
    executable = nimblehlo.compile(TRANSFORMER)
    run = {"steps": [], "call_seconds": [1.0]}
    with pytest.raises(ValueError, match="at most 2"):
        executable.explain(html=True, runs={"a": run, "b": run, "c": run})


@browser.needs_browser
def test_nothing_is_cut_off(tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    path.write_text(page_with_runs(), encoding="utf-8")
    unknown = tmp_path / "unknown.html"
    dynamic = "func.func @main(%x: tensor<?xf32>) -> tensor<?xf32> { return %x : tensor<?xf32> }"
    unknown.write_text(nimblehlo.compile(dynamic).explain(html=True), encoding="utf-8")
    assert not browser.faults([path, unknown])


@browser.needs_browser
def test_a_click_shows_the_slowest_step_and_the_peak(tmp_path: Path) -> None:
    page = page_with_runs()
    path = tmp_path / "plan.html"
    path.write_text(page, encoding="utf-8")
    script = """["slowest", "peak"].map((button) => {
      view.document.getElementById(button).click();
      return view.document.getElementById("details").textContent;
    })"""
    (figures,) = browser.measure([path], [1300], expression=script)
    slowest, peak = figures["script"]
    (plan,) = data_of(page)["plans"]
    own = [seconds or 0.0 for seconds in plan["runs"][0]["own"]]
    assert f"Step {plan['path'][own.index(max(own))]}: " in slowest
    number = plan["peaks"].index(max(plan["peaks"]))
    alive = [one for one in plan["allocations"] if one[2] <= number <= one[3]]
    assert f"Step {plan['path'][number]}: " in peak and f"In memory during it: {len(alive)} value" in peak


@browser.needs_browser
def test_a_narrow_window_shows_the_step_that_was_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    path.write_text(page_with_runs(), encoding="utf-8")
    script = """(() => {
      view.document.getElementById("slowest").click();
      const top = view.document.getElementById("details").getBoundingClientRect().top;
      return top / view.innerHeight;
    })()"""
    for figures in browser.measure([path], [400, 800], expression=script):
        assert -0.1 < figures["script"] < 0.5


@browser.needs_browser
def test_a_step_is_selected_in_all_parts(tmp_path: Path) -> None:
    path = tmp_path / "plan.html"
    path.write_text(page_with_runs(), encoding="utf-8")
    script = """(() => {
      const page = view.eval("page"), document = view.document;
      const text = (id) => document.getElementById(id).textContent;
      page.setView("table");
      page.search("step_fusion");
      const rows = document.querySelectorAll("#table .row").length;
      page.nextMatch();
      return { rows, matches: text("matches"), details: text("details"), memory: text("memory-text"),
        marked: [...document.querySelectorAll("#program .marked")].map((one) => one.textContent),
        boxes: page.graph.layout.boxes.size, hash: view.location.hash };
    })()"""
    (figures,) = browser.measure([path], [1300], expression=script)
    shown = figures["script"]
    assert shown["rows"] == 1 and shown["matches"].startswith("1 step")
    assert "Step 0: nimblehlo.step_fusion" in shown["details"] and "Steps inside" in shown["details"]
    assert "tiered: starts without compiled code, and goes on with native code" in shown["details"]
    assert "one step for row_fusion" in shown["details"] and "% of the bound" in shown["details"]
    assert any("stablehlo.reduce" in line for line in shown["marked"])
    assert shown["boxes"] == 5 and shown["hash"] == "#step=0"
    assert "at most" in shown["memory"]


@browser.needs_browser
def test_a_plan_of_30000_steps_that_read_one_value(tmp_path: Path) -> None:
    """What is drawn and listed does not grow with the plan: one stub stands for readers far away."""
    count = 30_000
    adds = [f"  %{index + 1} = stablehlo.add %{index}, %0 : tensor<4xf32>" for index in range(count)]
    head = "func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {\n  %0 = stablehlo.sine %x : tensor<4xf32>"
    text = "\n".join([head, *adds, f"  return %{count} : tensor<4xf32>", "}"])
    path = tmp_path / "plan.html"
    executable = nimblehlo.compile(text, options=nimblehlo.Options(compile="never"))
    path.write_text(executable.explain(html=True), encoding="utf-8")
    script = """(() => {
      const page = view.eval("page"), graph = page.graph;
      let edges = 0;
      const draw = graph.drawEdge;
      graph.drawEdge = function (...all) { edges += 1; draw.apply(this, all); };
      page.select(0);
      edges = 0;
      graph.draw();
      const details = view.document.getElementById("details");
      const entries = () => details.querySelectorAll("li").length;
      const shown = { edges, steps: page.plan.path.length, entries: entries(), details: details.textContent,
        nodes: view.document.querySelectorAll("*").length };
      details.querySelector("ul + button").click();
      return { ...shown, added: entries() - shown.entries, then: details.textContent };
    })()"""
    (figures,) = browser.measure([path], [1300], expression=script)
    shown = figures["script"]
    assert shown["steps"] == count + 1 and "29,970 more" in shown["details"]
    assert 0 < shown["edges"] < 100 and shown["entries"] < 50 and shown["nodes"] < 1000
    assert shown["added"] == 300 and "29,670 more" in shown["then"]
