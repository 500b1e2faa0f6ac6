"""Operations that apply bodies along dimensions or over windows: reduce and windows."""
