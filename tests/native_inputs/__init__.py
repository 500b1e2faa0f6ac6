"""Operations that reach native code, with inputs that it may not bear, in a process under malloc's checks."""
