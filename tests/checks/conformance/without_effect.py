"""Why a fault has no effect that the specification lets anybody see.

A fault is a change of a reference by a rule that knows the operation's declaration alone, so that it may
change nothing: it swaps the operands of a sum, or takes NaN from integers. Each reason is an argument for all
inputs, not for those of the suite.
"""

from __future__ import annotations

import re
from typing import Final

_BITS: Final = r"(and|or|xor|not|shift_left|shift_right_arithmetic|shift_right_logical|popcnt)"
_NO_FLOAT_FAULTS: Final = (
    r"(NaN.*|infinity clamped|sign lost|sign of zero lost|lost digits|.* in fewer digits)"
)

_MOVES: Final = (
    r"(reshape|transpose|broadcast_in_dim|broadcast|slice|dynamic_slice|dynamic_update_slice|pad|concatenate"
    r"|reverse|gather|custom_call|optimization_barrier|select|broadcast_select)"
)

REASONS: Final[tuple[tuple[str, str, str], ...]] = (
    (
        r"(broadcast_)?(add|multiply|and|or|xor|maximum|minimum|mulhi)",
        r"swapped operands",
        "the operation is commutative; NaN has no digits, and the order of two NaNs is open",
    ),
    (
        r"(broadcast_)?" + _BITS,
        _NO_FLOAT_FAULTS,
        "its operands and results are integers, which the fault leaves",
    ),
    (
        r"(broadcast_)?(atan2|complex|next_after|polygamma|zeta)",
        r"(off by one|extreme integers clamped|[lr]hs one too large)",
        "its operands and results are floats, which the fault leaves",
    ),
    (
        r"(broadcast_)?complex",
        r"(sign lost|sign of zero lost|infinity clamped)",
        "its result is complex, which the fault leaves",
    ),
    (
        r"fft",
        r"(infinity clamped|sign of zero lost|sign lost)",
        "the fault changes real results alone, of open bounds",
    ),
    (
        r"(abs|exponential|logistic|sqrt|cosh|erfc|square)",
        r"(sign lost|sign of zero lost)",
        "no real result has a sign: the function is positive or zero",
    ),
    (
        r"(logistic|tanh|sine|cosine|sign|erf|atan|(broadcast_)?atan2|asin|acos|_asin_acos_kernel|bessel_i1e|reduce_precision)",
        r"infinity clamped",
        "no result is infinite for any real operand",
    ),
    (
        r"(broadcast_)?remainder",
        r"(infinity|the largest stored value) clamped",
        "the remainder is smaller than the divisor, or NaN",
    ),
    (
        r"broadcast_atan2",
        r"the (largest|smallest) stored value clamped",
        "an angle is at most pi, far from the extremes of the types of the suite",
    ),
    (
        r"uniform_dequantize",
        r"(infinity clamped|NaN.*)",
        "a quantized element has a finite value that is no NaN",
    ),
    (r"get_dimension_size", r".*", "the result depends on the operand's shape alone, and has one element"),
    (
        r"constant_like",
        r".*",
        "the result depends on the operand's shape alone, and has equal finite positive elements",
    ),
    (
        r"set_dimension_size",
        r".*(size|operands|sign of zero|infinity|NaN).*",
        "the size is one integer; operands differ in type",
    ),
    (r"(reverse|reduce|map)", r"rotated dimensions", "the order of the dimensions has no meaning"),
    (
        r"(is_inf|is_pos_inf|is_neg_inf|is_finite)",
        r"NaN of operand lost",
        "zero and NaN are both not infinite",
    ),
    (
        r"(is_inf|is_pos_inf|is_neg_inf|is_finite)",
        r"(operand|x) in fewer digits",
        "infinity has no digits, and other numbers stay finite",
    ),
    (
        r"mulhi",
        r"extreme integers clamped",
        "the high half of a product is not extreme, except for zero",
    ),
    (
        r"(sign|popcnt|count_leading_zeros)",
        r"extreme integers clamped",
        "results are between -1 and 64, far from the extremes of types that the fault changes",
    ),
    (
        r"(broadcast_)?zeta",
        r"NaN of (x|lhs) lost",
        "zeta is NaN for numbers below 1, such as the zero in place of NaN",
    ),
    (r"clamp", r"operand without its last element", "bounds that are scalars decide"),
    (
        r"(broadcast_)?remainder",
        r"NaN of rhs lost",
        "the remainder by zero is NaN as well as that by NaN",
    ),
    (
        r"(select_and_scatter|reduce|reduce_window|pad)",
        r"(init_values?|padding_value) without its last element",
        "an initial value, and that of the padding, has one element",
    ),
    (
        _MOVES,
        r"(the (scale|zero point) of the (next|first) slice|slices without zero points)",
        "the parameters by which a stored value becomes a number make the same stored value of it again",
    ),
    (
        r"(all_reduce|reduce_scatter|collective_reduce)",
        r"the values of two members exchanged",
        "the reductions of the suite are commutative: XLA requires it of them",
    ),
    (
        r"all_reduce",
        r"(groups reversed|groups rotated|replicas before partitions)",
        "the members of a group have the same result, and the reductions of the suite are commutative",
    ),
    (
        r"(all_gather|all_reduce|collective_broadcast)",
        r"the results of the next member",
        "the members of a group have the same result",
    ),
)
"""The name of an operation without dialect, the kind of a fault, and why it has no effect."""


def reason(operation: str, kind: str) -> str:
    """Why a fault without effect has none; empty: nobody knows."""
    name = operation.partition(".")[2]
    for operations, kinds, text in REASONS:
        if re.fullmatch(operations, name) and re.fullmatch(kinds, kind):
            return text
    return ""
