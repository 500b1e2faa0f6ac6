"""What is known of programs that end a backend's process, by what it says before it ends."""

from __future__ import annotations

from typing import Final

ENDS: Final = (
    "The program is valid. A backend that does not run it has to say so by an error; this one ends its"
    " process."
)
"""The explanation of each crash, before what is known of it."""
_NO_SIX_BITS: Final = (
    "The program has numbers of 6 bits, f6E2M3FN or f6E3M2FN. Most operations on them are rejected by an"
    " error; here a part of XLA that has no case for them is reached before."
)
_MEMORY: Final = (
    "Memory is written where it is not the program's, as by sorts of integers of 2 or 4 bits, of which XLA"
    " stores several in a byte and addresses each as a byte."
)
REASONS: Final = {
    "Unhandled primitive type F6": _NO_SIX_BITS,
    "unsupported type": _NO_SIX_BITS,
    "unhandled type": _NO_SIX_BITS,
    "Invalid bitcast": "bitcast_convert between numbers of 6 bits and booleans, each of which takes a byte.",
    "num_elements()": _NO_SIX_BITS + " A constant's elements are counted by its bytes.",
    "param_instructions_[param_no] == nullptr": (
        "The body of a scatter, as that of select_and_scatter, returns an argument as it is. XLA copies the"
        " body into another computation, where two parameters get the same number."
    ),
    "bit_offset != nullptr": (
        "Integers of 2 bits are concatenated. XLA packs several in a byte, and has no address of parts."
    ),
    "bound >= N": (
        "An operand of select_and_scatter is empty. XLA makes a range of negative size of its windows."
    ),
    "computation->Accept(this) is OK": (
        "reduce_window with a negative padding. XLA makes a slice with another shape than the next operation"
        " expects, and the check of its own module stops the process."
    ),
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
    known = next((reason for part, reason in REASONS.items() if part in message), "")
    return f"{ENDS} {known}".rstrip()
