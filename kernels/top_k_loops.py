"""The loop of `top_k` for few values."""

from typing import Any

from .arithmetic import get, put
from .compilation import kernel
from .searches import first_above
from .sort_encoding import SIGNED, UNSIGNED


@kernel(inline=True)
def code_of(mode: int, ones: Any, sign: Any, bits: Any) -> Any:
    """The unsigned integer whose order is that of the element, of the element's own width."""
    if mode == UNSIGNED:
        return bits
    if mode == SIGNED:
        return bits ^ sign
    return bits ^ (ones if bits & sign else sign)


@kernel(parallel=True)
def few(
    task: int,
    size: int,
    rows: int,
    length: int,
    k: int,
    mode: int,
    ones: Any,
    sign: Any,
    best: Any,
    operand: Any,
    indices: Any,
) -> None:
    """The places of the k largest of each row; `best` has room for their codes."""
    narrow = best.dtype.type
    all_bits, sign_bit = narrow(ones), narrow(sign)
    flipped = sign_bit if mode == UNSIGNED else narrow(0)
    folded = narrow(0) if mode in (UNSIGNED, SIGNED) else narrow(all_bits ^ sign_bit)
    own = task * k
    for row in range(task * size, min((task + 1) * size, rows)):
        held = 0
        position, end = row * length, (row + 1) * length
        while position < end:
            if held == k:
                least = narrow(get(best, own + k - 1) ^ sign_bit)
                position = first_above(operand, position, end, flipped, folded, least)
                if position == end:
                    break
            code = narrow(code_of(mode, all_bits, sign_bit, get(operand, position)))
            slot = held if held < k else k - 1
            while slot > 0 and get(best, own + slot - 1) < code:
                put(best, own + slot, get(best, own + slot - 1))
                put(indices, row * k + slot, get(indices, row * k + slot - 1))
                slot -= 1
            put(best, own + slot, code)
            put(indices, row * k + slot, indices.dtype.type(position - row * length))
            held = min(held + 1, k)
            position += 1
