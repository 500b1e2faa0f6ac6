"""The environment of a process that computes as an older processor would."""

from __future__ import annotations

import os

from nimblehlo.kernels.launch.processor import LEVELS, has

OPENBLAS_KINDS = {"x86-64-v2": "Nehalem", "x86-64-v3": "Haswell", "x86-64-v4": "SkylakeX"}
"""OpenBLAS's kernels of each level, by its names."""

_NUMPY_LEVELS = {"x86-64-v2": 2, "x86-64-v3": 3, "x86-64-v4": 4}


def available_levels() -> list[str]:
    """The levels that this processor has."""
    return [level for level, features in LEVELS.items() if all(map(has, features))]


_GLIBC_LIMITS = {"x86-64-v2": {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-FMA4"}}
"""What keeps the C library, which chooses its functions when a process starts, from instructions above it.
Functions of one number have no variants above x86-64-v3."""


def environment(level: str) -> dict[str, str]:
    """The variables of a process that computes as a processor of a level of x86-64 would."""
    return {
        **os.environ,
        "NIMBLEHLO_CPU": level,
        **_GLIBC_LIMITS.get(level, {}),
        "NPY_DISABLE_CPU_FEATURES": " ".join(numpy_features_above(level)),
        "OPENBLAS_CORETYPE": OPENBLAS_KINDS[level],
    }


def numpy_features_above(level: str) -> list[str]:
    """What NumPy chooses between at run time that is above a level, by NumPy's names."""
    from numpy._core._multiarray_umath import __cpu_dispatch__

    return [feature for feature in __cpu_dispatch__ if _level_of(feature) > _NUMPY_LEVELS[level]]


def _level_of(feature: str) -> int:
    if feature.startswith("X86_V"):
        return int(feature.removeprefix("X86_V"))
    if feature in ("AVX512F", "AVX512CD", "AVX512_SKX"):
        return 4
    if feature.startswith("AVX512"):
        return 5
    return 3
