"""The time without a strategy: of the kernels, and of generated code."""
