"""Known causes of programs that end a backend's process, by its last message."""

from __future__ import annotations

from typing import Final

ENDS: Final = (
    "The program is valid, so a backend must run it or return an error; this backend ends its process."
)
"""The explanation of every crash, which precedes the known cause."""
_NO_SIX_BITS: Final = (
    "The program has numbers of 6 bits, f6E2M3FN or f6E3M2FN. XLA rejects most operations on them by an"
    " error; here it first reaches code that does not handle them."
)
_MEMORY: Final = (
    "The allocator's memory was overwritten. The program has integers of 2 bits, several of which XLA"
    " stores in a byte; it is not known which operation writes beyond its array."
)
_BITS: Final = (
    "Each of these operations alone ends the process: bitcast_convert between numbers of 6 bits and"
    " booleans or integers of 2 bits, and comparison of numbers of 6 bits in total order, which compares"
    " their bits. Programs without these operations sort integers of 2 bits, or scatter into one array as"
    " several inputs."
)
REASONS: Final = {
    "Unhandled primitive type F6": _NO_SIX_BITS,
    "unsupported type": _NO_SIX_BITS,
    "unhandled type": "bitcast_convert converts between complex types of different widths.",
    "Invalid bitcast": _BITS,
    "num_elements()": (
        _NO_SIX_BITS
        + " The check compares the number of values of a literal with its number of elements: a constant of 6"
        " bits has no values."
    ),
    "param_instructions_[param_no] == nullptr": (
        "The constructor of XLA's HloComputation checks that parameters have different numbers. Each of"
        " these programs has a select_and_scatter whose second body returns an argument unchanged; it is not"
        " known which pass builds a computation from it."
    ),
    "bit_offset != nullptr": (
        "The program concatenates integers of 2 bits. XLA's IrArray needs a pointer to the bit offset to"
        " address an element smaller than a byte, and is called without one."
    ),
    "bound >= N": (
        "Negative padding of select_and_scatter is larger than a dimension, which then has no windows."
        " XLA's window functions check that the padded dimension is not negative."
    ),
    "(INVALID_ARGUMENT: Window dimensions": (
        "A pass of XLA creates a convolution of integers whose window differs from the sizes of its kernel,"
        " and XLA's verifier ends the process."
    ),
    "computation->Accept(this) is OK": (
        "reduce_window has negative padding. XLA replaces an operation by one of another shape, and XLA's"
        " verifier ends the process."
    ),
    "RET_CHECK failure": _BITS + " The message concerns another operation, before these.",
    "std::length_error": (
        "The slice of a concatenation begins where an empty operand does. XLA makes a slice of that"
        " operand, of negative size."
    ),
    "invalid fastbin entry": _MEMORY,
    "double free": _MEMORY,
    "invalid next size": _MEMORY,
    "invalid pointer": _MEMORY,
    "corrupted": _MEMORY,
    "malloc": _MEMORY,
}
"""The explanation of a crash, by a substring of its message."""


def crash_explanation(message: str) -> str:
    """Why a program's crash is a fault, and what is known of its cause.

    Args:
        message: what the backend's process printed last.
    """
    reason = next((reason for text, reason in REASONS.items() if text in message), "")
    if message.rstrip().endswith("):"):
        # A segmentation fault: the process says nothing.
        reason = _BITS
    return f"{ENDS} {reason}".rstrip()
