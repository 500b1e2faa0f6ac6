"""Every decision that the code takes by a size, a rank, a width or a time, and the tests that cross each.

`sources` finds the decisions in the code, `recording` notes which side each of them takes while a test
runs, and `table` says which test takes both.
"""
