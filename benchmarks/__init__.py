"""Benchmarks for asv: see CONTRIBUTING.md."""

import sys
from pathlib import Path

# asv imports this package alone, and not the folder that has `tools` too.
if (ROOT := str(Path(__file__).resolve().parent.parent)) not in sys.path:
    sys.path.append(ROOT)
