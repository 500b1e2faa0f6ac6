"""Operations that multiply and sum: products, convolutions, Fourier transforms, linear algebra."""
