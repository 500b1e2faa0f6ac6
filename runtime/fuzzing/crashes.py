"""Known causes of programs that end a backend's process, by its last message."""

from __future__ import annotations

from typing import Final

ENDS: Final = (
    "The program is valid. A backend that does not run it has to say so by an error; this one ends its"
    " process."
)
"""The explanation of every crash, which precedes the known cause."""
_NO_SIX_BITS: Final = (
    "The program has numbers of 6 bits, f6E2M3FN or f6E3M2FN. Most operations on them are rejected by an"
    " error; here a part of XLA that has no case for them is reached before."
)
_MEMORY: Final = (
    "The allocator finds its memory overwritten. The program has integers of 2 bits, of which XLA stores"
    " several in a byte; which operation writes beyond its array has not been found out."
)
_BITS: Final = (
    "Each of these alone ends the process: bitcast_convert between numbers of 6 bits and booleans or integers"
    " of 2 bits, and comparison of numbers of 6 bits in total order, which compares their bits. Programs"
    " without them sort integers of 2 bits, or scatter into one array as several inputs."
)
REASONS: Final = {
    "Unhandled primitive type F6": _NO_SIX_BITS,
    "unsupported type": _NO_SIX_BITS,
    "unhandled type": "bitcast_convert from a complex type to another one, two numbers to one or one to two.",
    "Invalid bitcast": _BITS,
    "num_elements()": (
        _NO_SIX_BITS + " The check compares the number of values that a literal is given with that of its"
        " elements: for constants of 6 bits it is given none."
    ),
    "param_instructions_[param_no] == nullptr": (
        "The constructor of XLA's HloComputation checks that no two parameters have one number. Each of these"
        " programs has a select_and_scatter whose second body returns an argument as it is; which pass builds"
        " a computation from it has not been found out."
    ),
    "bit_offset != nullptr": (
        "Integers of 2 bits are concatenated. XLA's IrArray needs a place for the offset of bits where it"
        " takes the address of an element of less than a byte, and is called without one."
    ),
    "bound >= N": (
        "Negative padding of select_and_scatter is larger than a dimension, which has no window then. XLA's"
        " functions for windows check that the padded dimension is not negative."
    ),
    "(INVALID_ARGUMENT: Window dimensions": (
        "A pass of XLA makes a convolution of integers whose window differs from the sizes of its kernel, and"
        " the check of XLA's own module stops the process."
    ),
    "computation->Accept(this) is OK": (
        "reduce_window with a negative padding. XLA replaces an operation by one of another shape, and the"
        " check of its own module stops the process."
    ),
    "RET_CHECK failure": _BITS + " The message is what XLA says of another operation before.",
    "std::length_error": (
        "The slice of a concatenation begins where an empty operand does. XLA makes a slice of that operand,"
        " of negative size."
    ),
    "invalid fastbin entry": _MEMORY,
    "double free": _MEMORY,
    "invalid next size": _MEMORY,
    "invalid pointer": _MEMORY,
    "corrupted": _MEMORY,
    "malloc": _MEMORY,
}
"""By a part of the message."""


def crash_explanation(message: str) -> str:
    """Why a program's crash is a fault, and what is known of its cause.

    Args:
        message: what the backend's process printed last.
    """
    reason = next((reason for part, reason in REASONS.items() if part in message), "")
    if message.rstrip().endswith("):"):
        # A segmentation fault: the process says nothing.
        reason = _BITS
    return f"{ENDS} {reason}".rstrip()
