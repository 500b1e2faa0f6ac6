"""The pictures of the documents: well-formed, readable, and those that the stored figures give."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.pictures import FONT, WIDTH, Picture
from benchmarks.summary_picture import summary_picture

IMAGES = ("calls", "difference", "order", "performance")


@pytest.mark.parametrize("name", IMAGES)
def test_pictures_are_readable_on_a_phone(project_root: Path, name: str) -> None:
    text = (project_root / "docs" / "images" / f"{name}.svg").read_text(encoding="utf-8")
    picture = ElementTree.fromstring(text)
    width, height = (float(picture.attrib[key]) for key in ("width", "height"))
    # A page of 400 pixels shows it in 364 of them.
    assert width == WIDTH and float(picture.attrib["font-size"]) * 364 / width >= 11 * 96 / 72
    assert "prefers-color-scheme: dark" in text
    for shape in picture.iter():
        for key, limit in (("x", width), ("cx", width), ("y", height), ("cy", height)):
            assert 0 <= float(shape.attrib.get(key, 0)) <= limit
        if shape.tag.endswith("text"):
            # Letters are about half as wide as high.
            length = 0.52 * FONT * len(shape.text or "")
            start = {"start": 0.0, "middle": -length / 2, "end": -length}[shape.attrib["text-anchor"]]
            left = float(shape.attrib["x"]) + start
            assert left >= -2 and left + length <= width + 2, shape.text


def test_the_summary_has_medians_and_ranges() -> None:
    found = {
        "date": "2026-01-01",
        "machine": "a machine, " + "NimbleHLO 0.1.0, " * 4,
        "programs": {
            "a": {"xla large": 1.0, "interpreter small": 1000.0, "bound large": 0.5},
            "b": {"xla large": 100.0, "interpreter small": 1000.0, "bound large": 0.7},
            "c": {"xla large": 10.0, "numpy large": None},
        },
    }
    text = summary_picture(found, {"a": "one", "b": "one", "c": "<two>"}).svg()
    ElementTree.fromstring(text)
    assert ">2026-01-01: a machine, NimbleHLO 0.1.0,<" in text
    assert "60 % of bound" in text and "&lt;two&gt;" in text and "NumPy" in text
    lines = re.findall(r'<polyline class="ours-line" points="([\d.]+),[\d.]+ ([\d.]+),', text)
    (first, last), (left, right) = [tuple(map(float, line)) for line in lines]
    assert first < left == right < last
    dots = [float(x) for x in re.findall(r'<circle class="ours" cx="([\d.]+)" cy="[\d.]+" r="5"', text)]
    # The median of 1 and 100 is 50.5.
    assert left < dots[0] < last and dots[1] == left


def test_the_picture_of_the_stored_figures_is_up_to_date(project_root: Path) -> None:
    pytest.importorskip("jax")
    from benchmarks.programs import PROGRAMS

    found = json.loads((project_root / "docs" / "performance.json").read_text())
    families = {name: program.family for name, program in PROGRAMS.items()}
    stored = (project_root / "docs" / "images" / "performance.svg").read_text(encoding="utf-8")
    assert stored == summary_picture(found, families).svg(), "run python -m benchmarks.plot --stored"


def test_texts_of_a_picture_are_escaped() -> None:
    picture = Picture("<title>", 30)
    picture.text(0, 20, "a < b & c")
    assert "a &lt; b &amp; c" in picture.svg() and "&lt;title&gt;" in picture.svg()
