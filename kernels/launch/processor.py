"""What this processor does fast, derived from its CPU features.

LLVM is asked for the features once, at the first use.
"""

import functools

__all__ = [
    "avoids_software_prefetch",
    "has",
    "has_fast_gather",
    "has_fast_memory_operands",
    "has_full_speed_avx512",
    "has_rsqrt14",
    "has_scalef",
    "has_two_register_permute",
    "nontemporal_store_bytes",
    "prefers_scalar_gather",
    "prefetch_distance_bytes",
    "prefetches_ascending_only",
    "read_streams",
    "register_bytes",
    "vector_bytes",
]


@functools.cache
def _features() -> dict[str, bool]:
    import llvmlite.binding as llvm

    return dict(llvm.get_host_cpu_features())


def has(feature: str) -> bool:
    """Whether this processor has a CPU feature, by LLVM's name."""
    return bool(_features().get(feature))


def _is_amd() -> bool:
    """Whether this is an AMD processor: no other has this feature."""
    return has("sse4a")


def _is_amd_without_avx512() -> bool:
    """Whether this is an AMD processor with vectors of at most 256 bits (before Zen 4)."""
    return _is_amd() and not has("avx512f")


def has_full_speed_avx512() -> bool:
    """Whether 512-bit vectors run at full speed; LLVM avoids them otherwise."""
    return has("avx512vbmi2")


def has_fast_gather() -> bool:
    """Whether gathering from a small table is faster than computing its entries."""
    return has("avx512fp16")


def has_two_register_permute() -> bool:
    """Whether one instruction permutes the 64-bit lanes of two registers (vpermt2pd)."""
    return has("avx512f")


def has_rsqrt14() -> bool:
    """Whether an instruction estimates inverse square roots of f64 to 14 bits (vrsqrt14pd)."""
    return has("avx512f")


def has_fast_memory_operands() -> bool:
    """Whether memory operands are as fast as registers, of which there are only 16."""
    return has("avx2") and not has("avx512f")


def prefers_scalar_gather() -> bool:
    """Whether scalar loads are faster than a gather instruction."""
    return _is_amd()


def has_scalef() -> bool:
    """Whether one instruction (vscalefpd) implements `llvm.ldexp`."""
    return has("avx512f")


def prefetch_distance_bytes() -> int:
    """The software prefetch distance of sequential reads, in bytes.

    Most hardware prefetchers stop at the end of a page. AMD's do not, but could have more loads in flight.
    """
    return 16384 if _is_amd() else 2048


def nontemporal_store_bytes(gathered: bool) -> int:
    """Results of more bytes are written by nontemporal stores: the last-level cache cannot hold them until
    they are read. Gathered results mostly come from smaller operands, which leave more of that cache."""
    if not _is_amd():
        return 1 << 22
    return 3 << 23 if gathered else 1 << 23


def prefetches_ascending_only() -> bool:
    """Whether the hardware prefetcher only follows ascending addresses."""
    return _is_amd() and not has("avx512vp2intersect")


def avoids_software_prefetch() -> bool:
    """Zen 4: software prefetching slows sequential reductions down."""
    return prefetches_ascending_only() and has("avx512f")


def read_streams() -> int:
    """Number of ascending ranges to read interleaved: AMD before Zen 4 prefetches too little for one."""
    return 4 if _is_amd_without_avx512() else 1


def vector_bytes() -> int:
    """Bytes of the vectors that loops load and compute: possibly more than one register."""
    return 32 if has("avx2") and not has("avx512f") else 64


def register_bytes() -> int:
    """Bytes of all vector registers."""
    return 2048 if has_full_speed_avx512() else 512
