"""The ways to run an operation: references, kernels, generated loops."""
