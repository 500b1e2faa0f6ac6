"""The loop of `top_k` for few values."""

from typing import Any

from .arithmetic import get, put
from .compilation import kernel
from .sort_encoding import SIGNED, UNSIGNED

_GLANCE = 64


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
    own = task * k
    for row in range(task * size, min((task + 1) * size, rows)):
        held = 0
        position = 0
        while position < length:
            end = min(position + _GLANCE, length)
            if held == k and end == position + _GLANCE:
                least = get(best, own + k - 1)
                better = 0
                for place in range(position, position + _GLANCE):
                    code = code_of(mode, all_bits, sign_bit, get(operand, row * length + place))
                    better += narrow(code) > least
                if better == 0:
                    position = end
                    continue
            for place in range(position, end):
                code = narrow(code_of(mode, all_bits, sign_bit, get(operand, row * length + place)))
                if held == k and code <= get(best, own + k - 1):
                    continue
                slot = held if held < k else k - 1
                while slot > 0 and get(best, own + slot - 1) < code:
                    put(best, own + slot, get(best, own + slot - 1))
                    put(indices, row * k + slot, get(indices, row * k + slot - 1))
                    slot -= 1
                put(best, own + slot, code)
                put(indices, row * k + slot, indices.dtype.type(place))
                held = min(held + 1, k)
            position = end
