"""A plugin of pytest: writes which sides decisions took in each test to the file $NIMBLEHLO_DECISIONS.

``python -m pytest -p tests.boundaries.plugin``
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from . import recording

recording.install()
_written = Path(os.environ["NIMBLEHLO_DECISIONS"])


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_protocol(item: Any) -> Iterator[None]:
    """Note the sides of one test."""
    recording.sides.clear()
    start = time.perf_counter()
    yield
    taken = {name: "".join(sorted(side[0] for side in sides)) for name, sides in recording.sides.items()}
    line = {"test": item.nodeid, "seconds": time.perf_counter() - start, "sides": taken}
    with _written.open("a") as file:
        file.write(json.dumps(line) + "\n")
