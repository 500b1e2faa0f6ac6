"""Operations that order elements: sort, top_k."""
