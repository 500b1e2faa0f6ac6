"""Operations that apply bodies along dimensions or over windows: reduce, windows, sort."""
