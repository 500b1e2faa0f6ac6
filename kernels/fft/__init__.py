"""Fft transforms."""
