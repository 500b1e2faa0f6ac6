"""The conversions of PyTorch's operations, a module for each family."""
