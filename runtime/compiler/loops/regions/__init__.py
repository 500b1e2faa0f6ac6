"""Operations with bodies of any kind as native code."""
