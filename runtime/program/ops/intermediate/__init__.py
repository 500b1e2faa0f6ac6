"""Operations that only the specializer creates."""
