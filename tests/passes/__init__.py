"""Programs that are compiled up to each pass give the same results, bit by bit.

`python -m tests.passes` stops each model of `tests/models/`, and each of `programs`, after every pass that
changes it.
"""
