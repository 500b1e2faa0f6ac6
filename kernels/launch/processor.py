"""Properties of the target processor that decide between implementations, derived from its CPU features.

That is this machine's processor, with all of its features, unless NIMBLEHLO_CPU names a level of x86-64:
`x86-64-v2` (SSE4.2), `x86-64-v3` (AVX2, FMA) or `x86-64-v4` (AVX-512), as the x86-64 psABI defines them. Code
then uses the instructions of that level alone, as on a processor that has no others. `native` is the default.
The variable is read once, at the first use; C code reads it in `simd/processor_level.h`.

`processor_features` tells the features of this machine, without LLVM where that is possible.
"""

import functools
import os
import platform

from . import processor_features

__all__ = [
    "ENVIRONMENT_VARIABLE",
    "LEVELS",
    "NATIVE",
    "avoids_software_prefetch",
    "converts_halves",
    "has",
    "has_conversions_of_i64",
    "has_fast_gather",
    "has_fast_memory_operands",
    "has_full_speed_avx512",
    "has_range",
    "has_rsqrt14",
    "has_scalef",
    "has_two_register_permute",
    "identity",
    "level",
    "limit_numba",
    "llvm_target",
    "nontemporal_store_bytes",
    "prefers_scalar_gather",
    "prefetch_distance_bytes",
    "prefetches_ascending_only",
    "register_bytes",
    "vector_bytes",
]


ENVIRONMENT_VARIABLE = "NIMBLEHLO_CPU"

NATIVE = "native"

_V2 = ("cx16", "sahf", "popcnt", "sse3", "sse4.1", "sse4.2", "ssse3")
_V3 = (*_V2, "avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave")
_V4 = (*_V3, "avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")

LEVELS = {"x86-64-v2": _V2, "x86-64-v3": _V3, "x86-64-v4": _V4}
"""The features of each level of x86-64, by LLVM's names. Source: x86-64 psABI, section 3.1.1."""


@functools.cache
def level() -> str:
    """The level of x86-64 that code is made for, or `native`.

    Raises:
        ValueError: NIMBLEHLO_CPU is no level, or one that this processor does not have.
    """
    name = os.environ.get(ENVIRONMENT_VARIABLE) or NATIVE
    if name == NATIVE:
        return name
    if name not in LEVELS:
        names = ", ".join((*LEVELS, NATIVE))
        raise ValueError(f"{ENVIRONMENT_VARIABLE} is {name!r}, but must be one of {names}")
    missing = [feature for feature in LEVELS[name] if not processor_features.features().get(feature)]
    if missing:
        raise ValueError(
            f"{ENVIRONMENT_VARIABLE} is {name!r}, but this processor does not have {', '.join(missing)}"
        )
    return name


def llvm_target() -> tuple[str, str]:
    """The name and the features of the processor that code is made for, as LLVM takes them."""
    import llvmlite.binding as llvm

    name = level()
    if name == NATIVE:
        return str(llvm.get_host_cpu_name()), str(llvm.get_host_cpu_features().flatten())
    return name, ""


@functools.cache
def limit_numba() -> None:
    """Have Numba make code for `level`, if that is not `native`; called before Numba compiles anything.

    Numba has one target for a process: it makes other libraries' code for this level as well.
    """
    name = level()
    if name != NATIVE:
        import numba

        numba.config.CPU_NAME, numba.config.CPU_FEATURES = llvm_target()


def identity() -> str:
    """A text that differs where `llvm_target` does; LLVM is not loaded where that is possible."""
    name = level()
    return processor_features.identity() if name == NATIVE else name


@functools.cache
def _features() -> dict[str, bool]:
    name = level()
    return processor_features.features() if name == NATIVE else dict.fromkeys(LEVELS[name], True)


def has(feature: str) -> bool:
    """Whether this processor has a CPU feature, by LLVM's name."""
    return bool(_features().get(feature))


def _is_amd() -> bool:
    """Whether this is an AMD processor: no other has this feature."""
    return has("sse4a")


def has_full_speed_avx512() -> bool:
    """Whether 512-bit vectors run at full speed; LLVM avoids them otherwise."""
    return has("avx512vbmi2")


def has_fast_gather() -> bool:
    """Whether gathering from a small table is faster than computing its entries."""
    return has("avx512fp16")


def has_two_register_permute() -> bool:
    """Whether one instruction permutes the 64-bit lanes of two registers (vpermt2pd)."""
    return has("avx512f")


def has_conversions_of_i64() -> bool:
    """Whether vectors of i64 are converted to f64 and back, and multiplied (vcvtuqq2pd, vpmullq)."""
    return has("avx512dq") and has("avx512vl")


def has_rsqrt14() -> bool:
    """Whether an instruction estimates inverse square roots of f64 to 14 bits (vrsqrt14pd)."""
    return has("avx512f")


def has_range() -> bool:
    """Whether one instruction selects the greater or lesser of two floats, of zeros by sign (vrangeps)."""
    return has("avx512dq") and has("avx512vl")


def has_fast_memory_operands() -> bool:
    """Whether memory operands are as fast as registers, of which there are only 16."""
    return has("avx2") and not has("avx512f")


def converts_halves() -> bool:
    """Whether instructions convert f16 from and to f32; else LLVM calls functions of compiler-rt, which a
    process need not have."""
    return platform.machine() not in ("x86_64", "AMD64") or has("f16c")


def prefers_scalar_gather() -> bool:
    """Whether scalar loads are faster than a gather instruction."""
    return _is_amd()


def has_scalef() -> bool:
    """Whether one instruction (vscalefpd) implements `llvm.ldexp`."""
    return has("avx512f")


def has_slow_subnormals() -> bool:
    """Whether an instruction takes hundreds of cycles where its result is subnormal or underflows."""
    return platform.machine() in ("x86_64", "AMD64") and not _is_amd()


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


def vector_bytes() -> int:
    """Bytes of the vectors that loops load and compute: possibly more than one register."""
    return 32 if has("avx2") and not has("avx512f") else 64


def register_bytes() -> int:
    """Bytes of all vector registers."""
    return 2048 if has_full_speed_avx512() else 512
