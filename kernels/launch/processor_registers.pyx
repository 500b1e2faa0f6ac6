# cython: language_level=3
"""What the processor says of itself, by the instructions CPUID and XGETBV (x86-64; GCC, Clang).

Intel's manual (volume 2A, CPUID) and AMD's (volume 3, appendix E) list the leaves and their bits.
"""

from libc.stdint cimport uint32_t, uint64_t

cdef extern from *:
    """
    #include <stdint.h>

    #if defined(__x86_64__) && defined(__GNUC__)
    #include <cpuid.h>

    enum { HAS_REGISTERS = 1 };

    static int read_leaf(uint32_t leaf, uint32_t subleaf, uint32_t *registers) {
        return __get_cpuid_count(leaf, subleaf, registers, registers + 1, registers + 2, registers + 3);
    }

    static uint64_t read_enabled_state(void) {
        uint32_t low, high;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
        return (uint64_t)high << 32 | low;
    }
    #else
    enum { HAS_REGISTERS = 0 };

    static int read_leaf(uint32_t leaf, uint32_t subleaf, uint32_t *registers) {
        (void)leaf, (void)subleaf, (void)registers;
        return 0;
    }

    static uint64_t read_enabled_state(void) { return 0; }
    #endif
    """
    enum:
        HAS_REGISTERS
    bint read_leaf(uint32_t leaf, uint32_t subleaf, uint32_t *registers)
    uint64_t read_enabled_state()


def has_registers():
    """Whether this processor, and the compiler of this module, have the instructions."""
    return bool(HAS_REGISTERS)


def leaf(uint32_t number, uint32_t subleaf):
    """EAX, EBX, ECX and EDX after CPUID; zeros where the processor does not have the leaf."""
    cdef uint32_t registers[4]
    if not read_leaf(number, subleaf, registers):
        return (0, 0, 0, 0)
    return (registers[0], registers[1], registers[2], registers[3])


def enabled_state():
    """The register XCR0: which registers the operating system saves. CPUID must say that XGETBV exists."""
    return read_enabled_state()
