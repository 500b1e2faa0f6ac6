"""Gather, scatter and copies: index arithmetic and the loops around it."""
