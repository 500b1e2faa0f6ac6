"""Operations that read or update elements at indices given at run time."""
