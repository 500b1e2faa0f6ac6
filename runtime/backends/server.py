"""The process of an isolated backend: ``python -m nimblehlo.backends.server NAME``."""

from __future__ import annotations

import sys

from .interpreter import InProcessInterpreter
from .isolation import serve
from .names import backend

if __name__ == "__main__":
    name = sys.argv[1]
    serve(InProcessInterpreter() if name == InProcessInterpreter.name else backend(name))
