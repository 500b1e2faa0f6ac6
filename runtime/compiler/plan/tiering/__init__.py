"""Decides when a step is compiled, from the costs of running and compiling it, and compiles in background."""
