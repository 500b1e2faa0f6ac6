"""The number of tasks of kernels that are compiled ahead of time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from nimblehlo.kernels.launch import threads

KERNELS = Path(__file__).resolve().parents[3] / "kernels"


@pytest.mark.parametrize(
    "source",
    [
        "convolution/convolution_tasks.pyx",
        "matmul/gemv.pyx",
        "matmul/low_precision_matmul.pyx",
        "matmul/matmul.pyx",
    ],
)
def test_kernels_have_at_most_as_many_tasks_as_other_launches(source: str) -> None:
    text = (KERNELS / source).read_text(encoding="utf-8")
    assert re.findall(r"^    MAX_TASKS = (\d+)$", text, re.MULTILINE) == [str(threads.MAX_TASKS)]
