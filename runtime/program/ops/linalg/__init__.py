"""Factors of matrices and triangular systems."""
