"""Looks at a program while it runs: times, and values that no program should depend on."""
