"""Loops that measure this machine: bandwidth, multiply-adds, functions, gathers, launches."""
