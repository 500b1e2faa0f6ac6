"""Kernels of the explorer of evaluation orders: updates grouped by element, comparisons of schedules."""
