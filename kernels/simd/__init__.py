"""Vectors, atomic updates, searches, combining two elements: what the loops of other packages share."""
