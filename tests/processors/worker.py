"""The process that computes as on one level: compares with what `tests.poisoned.worker` recorded.

python -m tests.processors.worker FILE START
"""

from __future__ import annotations

import sys
from pathlib import Path

from tests.poisoned.worker import compare

if __name__ == "__main__":
    compare(Path(sys.argv[1]), int(sys.argv[2]))
