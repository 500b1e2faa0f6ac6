"""Helpers that loops share: vectors, atomic updates, searches, combinations of two elements."""
