"""What this processor does well, told by its features.

LLVM is asked once, when the first answer is needed.
"""

import functools

__all__ = [
    "fetches_past_pages",
    "gathers_one_by_one",
    "gathers_quickly",
    "has",
    "is_wide_at_full_speed",
    "register_bytes",
    "scales",
]


@functools.cache
def _features() -> dict[str, bool]:
    import llvmlite.binding as llvm

    return dict(llvm.get_host_cpu_features())


def has(feature: str) -> bool:
    """Whether this processor has a feature, under LLVM's name for it."""
    return bool(_features().get(feature))


def _is_of_amd() -> bool:
    """Whether AMD made it: no other processor has this feature."""
    return has("sse4a")


def is_wide_at_full_speed() -> bool:
    """Whether it does not slow down for vectors of 512 bits, which LLVM avoids otherwise."""
    return has("avx512vbmi2")


def gathers_quickly() -> bool:
    """Whether it reads entries of a small table, one for each lane, quicker than it computes them."""
    return has("avx512fp16")


def gathers_one_by_one() -> bool:
    """Whether it reads values at places of their own quicker one after the other than by one instruction."""
    return _is_of_amd()


def scales() -> bool:
    """Whether it has an instruction for `llvm.ldexp`, which multiplies by powers of two, whatever their
    exponents."""
    return has("avx512f")


def fetches_past_pages() -> bool:
    """Whether it fetches what is read in order by itself, beyond the end of a page too, so that to ask for it
    is slower."""
    return _is_of_amd()


def register_bytes() -> int:
    """Bytes of all registers that hold vectors."""
    return 2048 if is_wide_at_full_speed() else 512
