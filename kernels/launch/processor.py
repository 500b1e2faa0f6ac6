"""What this processor does well, told by its features.

LLVM is asked once, when the first answer is needed.
"""

import functools

__all__ = [
    "computes_from_memory",
    "divides_lines",
    "divides_quickly",
    "estimates_inverse_roots",
    "follows_upwards_only",
    "follows_without_asking",
    "gathers_one_by_one",
    "gathers_quickly",
    "has",
    "is_wide_at_full_speed",
    "kept_bytes",
    "permutes_two_registers",
    "places_in_turn",
    "read_ahead_bytes",
    "register_bytes",
    "scales",
    "vector_bytes",
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


def _is_narrow_of_amd() -> bool:
    """Whether it is AMD's, with vectors of 256 bits at most."""
    return _is_of_amd() and not has("avx512f")


def is_wide_at_full_speed() -> bool:
    """Whether it does not slow down for vectors of 512 bits, which LLVM avoids otherwise."""
    return has("avx512vbmi2")


def gathers_quickly() -> bool:
    """Whether it reads entries of a small table, one for each lane, quicker than it computes them."""
    return has("avx512fp16")


def permutes_two_registers() -> bool:
    """Whether one instruction picks, for each lane of 64 bits, one of the 16 that two registers hold."""
    return has("avx512f")


def estimates_inverse_roots() -> bool:
    """Whether it has an instruction for 14 bits of the inverse square roots of f64."""
    return has("avx512f")


def computes_from_memory() -> bool:
    """Whether it computes with numbers in memory as quickly as with those in its registers, which are few."""
    return has("avx2") and not has("avx512f")


def divides_quickly() -> bool:
    """Whether dividing vectors of f32 takes it no longer than multiplying them in f64, and rounding."""
    return has("avx2") and not has("avx512f")


def gathers_one_by_one() -> bool:
    """Whether it reads values at places of their own quicker one after the other than by one instruction."""
    return _is_of_amd()


def scales() -> bool:
    """Whether it has an instruction for `llvm.ldexp`, which multiplies by powers of two, whatever their
    exponents."""
    return has("avx512f")


def read_ahead_bytes() -> int:
    """How far ahead to fetch memory that is read in order.

    Most processors do not look past a page. AMD's do, but have room for more under way than they ask for.
    """
    return 16384 if _is_of_amd() else 2048


def kept_bytes(gathered: bool) -> int:
    """Results of how many bytes the last cache holds until they are read: of what is gathered, mostly from
    less, more than of what is as large as what it is made from. Larger ones go past the caches."""
    if not _is_of_amd():
        return 1 << 22
    return 3 << 23 if gathered else 1 << 23


def follows_upwards_only() -> bool:
    """Whether it sees only of memory that is read upwards what will be read next, line by line."""
    return _is_of_amd() and not has("avx512vp2intersect")


def follows_without_asking() -> bool:
    """Whether it fetches what folds read one after the other sooner where it is not asked to: AMD's that are
    wide, before Zen 5."""
    return follows_upwards_only() and has("avx512f")


def divides_lines() -> bool:
    """Whether threads that each read some lines of the same rows are quicker than those that choose rows of
    their own, as on AMD's that are narrow."""
    return _is_narrow_of_amd()


def places_in_turn() -> int:
    """At how many places to read memory in turn: several where it fetches too little ahead of one, as AMD's
    do that are narrow."""
    return 4 if _is_narrow_of_amd() else 1


def vector_bytes() -> int:
    """Bytes of the vectors that loops read and compute at a time: more than a register may hold."""
    return 32 if has("avx2") and not has("avx512f") else 64


def register_bytes() -> int:
    """Bytes of all registers that hold vectors."""
    return 2048 if is_wide_at_full_speed() else 512
