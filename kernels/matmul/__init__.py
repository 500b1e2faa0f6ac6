"""Products of matrices, and of matrices and vectors."""
