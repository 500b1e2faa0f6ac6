"""Operations that create tensors, move elements, or change and compute shapes."""
