"""The processor's features by LLVM's names, and what identifies it, without LLVM where that is possible.

On x86-64 they are read from the processor (`processor_registers.pyx`), as `getHostCPUFeatures` of LLVM does
(lib/TargetParser/Host.cpp); elsewhere LLVM is loaded for them.
"""

import functools
from typing import Final

from . import processor_registers

_EAX, _EBX, _ECX, _EDX = range(4)
_BASIC, _EXTENDED, _AMD = (1, 0), (7, 0), (0x80000001, 0)

_BITS: Final = {
    "sse3": (_BASIC, _ECX, 0),
    "ssse3": (_BASIC, _ECX, 9),
    "cx16": (_BASIC, _ECX, 13),
    "sse4.1": (_BASIC, _ECX, 19),
    "sse4.2": (_BASIC, _ECX, 20),
    "movbe": (_BASIC, _ECX, 22),
    "popcnt": (_BASIC, _ECX, 23),
    "sahf": (_AMD, _ECX, 0),
    "lzcnt": (_AMD, _ECX, 5),
    "sse4a": (_AMD, _ECX, 6),
    "bmi": (_EXTENDED, _EBX, 3),
    "bmi2": (_EXTENDED, _EBX, 8),
}
"""The leaf, register and bit that tell of a feature."""
_BITS_OF_256: Final = {
    "fma": (_BASIC, _ECX, 12),
    "xsave": (_BASIC, _ECX, 26),
    "avx": (_BASIC, _ECX, 28),
    "f16c": (_BASIC, _ECX, 29),
    "avx2": (_EXTENDED, _EBX, 5),
}
"""Of features that need the operating system to save registers of 256 bits."""
_BITS_OF_512: Final = {
    "avx512f": (_EXTENDED, _EBX, 16),
    "avx512dq": (_EXTENDED, _EBX, 17),
    "avx512cd": (_EXTENDED, _EBX, 28),
    "avx512bw": (_EXTENDED, _EBX, 30),
    "avx512vl": (_EXTENDED, _EBX, 31),
    "avx512vbmi2": (_EXTENDED, _ECX, 6),
    "avx512vp2intersect": (_EXTENDED, _EDX, 8),
    "avx512fp16": (_EXTENDED, _EDX, 23),
}
"""Of features that need the operating system to save registers of 512 bits."""
_SAVES_REGISTERS = (_BASIC, _ECX, 27)
_SAVED_256, _SAVED_512 = 0x6, 0xE6
"""The bits of XCR0 of registers of 256 and of 512 bits."""

_IDENTITY: Final = (
    ((0, 0), (_EAX, _EBX, _ECX, _EDX)),
    (_BASIC, (_EAX, _ECX, _EDX)),
    (_EXTENDED, (_EBX, _ECX, _EDX)),
    ((7, 1), (_EAX, _EBX, _ECX, _EDX)),
    ((0xD, 1), (_EAX,)),
    ((0x14, 0), (_EBX,)),
    ((0x19, 0), (_EBX,)),
    ((0x1E, 1), (_EAX,)),
    ((0x24, 0), (_EBX,)),
    (_AMD, (_ECX, _EDX)),
    ((0x80000008, 0), (_EBX,)),
)
"""The leaves and registers that LLVM reads the processor's name and features from. EBX of leaf 1 is left out:
it has the number of the processor."""


def _has_bit(feature: tuple[tuple[int, int], int, int]) -> bool:
    leaf, register, bit = feature
    return bool(processor_registers.leaf(*leaf)[register] >> bit & 1)


def _saved_registers() -> int:
    """The register XCR0; 0 where the operating system does not use it."""
    return processor_registers.enabled_state() if _has_bit(_SAVES_REGISTERS) else 0


@functools.cache
def features() -> dict[str, bool]:
    """Whether this machine's processor has a feature, by LLVM's names: those that the package asks about."""
    if not processor_registers.has_registers():
        import llvmlite.binding as llvm

        return dict(llvm.get_host_cpu_features())
    saved = _saved_registers()
    found = {name: _has_bit(bit) for name, bit in _BITS.items()}
    for bits, registers in ((_BITS_OF_256, _SAVED_256), (_BITS_OF_512, _SAVED_512)):
        is_saved = saved & registers == registers
        found.update({name: is_saved and _has_bit(bit) for name, bit in bits.items()})
    return found


@functools.cache
def identity() -> str:
    """What LLVM's name and features of this machine's processor depend on."""
    if not processor_registers.has_registers():
        import llvmlite.binding as llvm

        return repr((llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()))
    saved = _saved_registers()
    leaves = [(processor_registers.leaf(*leaf), registers) for leaf, registers in _IDENTITY]
    numbers = [leaf[register] for leaf, registers in leaves for register in registers]
    return " ".join(f"{number:x}" for number in [*numbers, saved])
