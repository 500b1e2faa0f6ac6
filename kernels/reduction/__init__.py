"""Reductions, scans and windows."""
