"""The error of kernels that do not serve their operands."""


class NoKernel(ValueError):
    """Raised by `prepare` where no kernel supports the operands: another implementation has to run."""
