"""Loop nests around reductions."""
