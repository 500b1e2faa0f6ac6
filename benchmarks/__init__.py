"""Benchmarks for asv: see CONTRIBUTING.md."""
