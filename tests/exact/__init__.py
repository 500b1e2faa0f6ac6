"""Exactly rounded results, worked out with fractions from the bits of each format, over all bit patterns.

``python -m tests.exact`` compares every conversion and every operation that has one right value; the parts:

- `formats`: which number each code of an element type is, and which code is nearest to a number;
- `operations`: what operations give, on numbers;
- `comparison`: running programs in every way, and comparing their results with these.

No NumPy or ml_dtypes arithmetic takes part in what is expected.
"""
