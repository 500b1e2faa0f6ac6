"""Emits elementwise operations for one element."""
