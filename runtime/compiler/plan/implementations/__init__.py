"""The implementations of operations: references, kernels, generated loops."""
