"""Operations that multiply and sum: products and convolutions."""
