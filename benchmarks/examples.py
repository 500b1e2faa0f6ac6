"""asv suites: compilation, first calls and warm calls of the example programs."""

from pathlib import Path

import numpy as np

import nimblehlo

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"


class Example:
    """One example at a time, by its name."""

    params = ("convolution_step", "graph_network", "kmeans", "transformer")
    param_names = ("program",)

    def setup(self, name: str) -> None:
        """Read the program and its inputs; make a warm executable, once for all timed calls of a process."""
        if hasattr(self, "executable"):
            return
        self.text = (EXAMPLES / f"{name}.mlir").read_text()
        self.inputs = [np.load(path) for path in sorted(EXAMPLES.glob(f"{name}.input*.npy"))]
        self.executable = nimblehlo.compile(self.text)
        for _ in range(3):
            self.executable(*self.inputs)

    def time_load(self, name: str) -> None:
        """Parse and verify."""
        nimblehlo.load(self.text)

    def time_first_result(self, name: str) -> None:
        """From text to results."""
        nimblehlo.execute(self.text, self.inputs)

    def time_call(self, name: str) -> None:
        """A call of an executable that has run before."""
        self.executable(*self.inputs)
