"""Programs after public bug reports: ``python -m tests.reports`` says whether each is right.

docs/how_to/learn_from_a_report.md describes the files.
"""
