"""Which code computes an element of an elementwise operation, for each kind of element type.

The code is named, so that plans are made before any code generator is loaded.
"""

from __future__ import annotations

from typing import Final

from ....types import COMPLEX, FLOAT, INTEGER, ElementType
from ...ir.record import Record


class Emit(Record):
    """The emitters of an elementwise operation; an empty name: there is none.

    Attributes:
        integers: the function of `compiler/loops/elementwise/integers.py` for elements of `integer_types`.
        integer_types: the categories of integers and booleans that it serves.
        floats: the function of `compiler/loops/elementwise/floats.py` that computes floats in the carrier
            type; its result is rounded.
        keeps_digits: whether that result needs no more digits than operands have, and so no rounding.
        predicate: the function there that computes booleans from floats.
        complex_numbers: the function there for complex numbers.
        complex64, complex128: the functions of the modules of these names for complex numbers of this width.
        function: the module and function of `compiler/loops/mathematics/` for floats narrower than f64.
        fast_function: the same for f32 where an error of 1 ulp is allowed, which it computes in f32. The
            ufunc of `kernels/math/real_functions.pyx` with the prefix ``fast_`` gives the same bits.
        narrow_function: the same for those with few significant bits, which it computes in f32.
        half_function: the same for f16, where rounding what is computed in f32 gives the same bits for all of
            its values.
        f64_function: the same for f64, with the reference's bits: it calls `kernels/math`, or is emitted.
        by_attributes: if the code depends on attributes or on more than one element type, the key of two
            tables of `compiler/loops/elementwise/`: `rules.BY_ATTRIBUTES` has the rule, and
            `emitted_operations.CONDITIONS` whether it serves an operation. The other names are then empty.
    """

    integers: str = ""
    integer_types: int = INTEGER
    floats: str = ""
    keeps_digits: bool = False
    predicate: str = ""
    complex_numbers: str = ""
    complex64: str = ""
    complex128: str = ""
    function: str = ""
    fast_function: str = ""
    narrow_function: str = ""
    half_function: str = ""
    f64_function: str = ""
    by_attributes: str = ""

    def covers(self, type: ElementType) -> bool:
        """Whether there is code for elements of a type, where it depends on nothing else."""
        if type.category == COMPLEX:
            return bool(self.complex_numbers or (self.complex64 if type.width == 64 else self.complex128))
        if type.category != FLOAT:
            return bool(self.integers) and self.integer_types & type.category != 0
        function = self.f64_function if type.width == 64 else self.function
        return bool(self.floats or self.predicate or function)


NO_CODE: Final = Emit()
"""There is none."""
