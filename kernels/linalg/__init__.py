"""Decompositions of matrices and solutions of triangular systems."""
