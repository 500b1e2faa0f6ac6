"""Operations that compute each result element from the operands' elements at the same index."""
