/* Relocations of ELF's object files, of the kinds that LLVM emits for the small code model on x86-64 and AArch64.

   Sources: the supplements of the System V ABI for AMD64, and for the Arm 64-bit architecture (AAELF64). */

#ifndef NIMBLEHLO_RELOCATIONS_H
#define NIMBLEHLO_RELOCATIONS_H

#include <stdint.h>
#include <string.h>

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__)) && defined(__LP64__)
#define HAS_OBJECT_FILES 1
#include <elf.h>
#else
#define HAS_OBJECT_FILES 0
#endif

#ifndef R_X86_64_CODE_4_GOTPCRELX
#define R_X86_64_CODE_4_GOTPCRELX 43
#endif

enum { ENTRY_BYTES = 8, STUB_BYTES = 16 };

#if HAS_OBJECT_FILES

static int fits_signed(int64_t number, int bits) {
    return number >= -((int64_t)1 << (bits - 1)) && number < ((int64_t)1 << (bits - 1));
}

static void store_32(uint8_t *field, uint64_t number) {
    uint32_t low = (uint32_t)number;
    memcpy(field, &low, sizeof low);
}

static void store_64(uint8_t *field, uint64_t number) { memcpy(field, &number, sizeof number); }

/* What a relocation needs of its symbol. */
typedef enum { TARGET_UNKNOWN, TARGET_NONE, TARGET_ADDRESS, TARGET_CODE, TARGET_ENTRY } Target;

static Target target_of(int machine, uint32_t type) {
    if (machine == EM_X86_64) {
        switch (type) {
        case R_X86_64_NONE: return TARGET_NONE;
        case R_X86_64_64: case R_X86_64_PC32: case R_X86_64_PC64: return TARGET_ADDRESS;
        case R_X86_64_PLT32: return TARGET_CODE;
        case R_X86_64_GOTPCREL: case R_X86_64_GOTPCRELX: case R_X86_64_REX_GOTPCRELX:
        case R_X86_64_CODE_4_GOTPCRELX: return TARGET_ENTRY;
        default: return TARGET_UNKNOWN;
        }
    }
    switch (type) {
    case R_AARCH64_NONE: return TARGET_NONE;
    case R_AARCH64_ABS64: case R_AARCH64_PREL32: case R_AARCH64_PREL64: case R_AARCH64_ADR_PREL_PG_HI21:
    case R_AARCH64_ADD_ABS_LO12_NC: case R_AARCH64_LDST8_ABS_LO12_NC: case R_AARCH64_LDST16_ABS_LO12_NC:
    case R_AARCH64_LDST32_ABS_LO12_NC: case R_AARCH64_LDST64_ABS_LO12_NC: case R_AARCH64_LDST128_ABS_LO12_NC:
    case R_AARCH64_ADR_PREL_LO21: case R_AARCH64_TSTBR14: case R_AARCH64_CONDBR19: return TARGET_ADDRESS;
    case R_AARCH64_CALL26: case R_AARCH64_JUMP26: return TARGET_CODE;
    case R_AARCH64_ADR_GOT_PAGE: case R_AARCH64_LD64_GOT_LO12_NC: return TARGET_ENTRY;
    default: return TARGET_UNKNOWN;
    }
}

/* The bytes of a relocation's field. */
static uint64_t field_bytes(int machine, uint32_t type) {
    if (machine == EM_X86_64) return type == R_X86_64_64 || type == R_X86_64_PC64 ? 8 : 4;
    return type == R_AARCH64_ABS64 || type == R_AARCH64_PREL64 ? 8 : 4;
}

static int relocate_x86_64(uint32_t type, uint8_t *field, uint64_t place, uint64_t value) {
    int64_t displacement = (int64_t)(value - place);
    if (type == R_X86_64_64) store_64(field, value);
    else if (type == R_X86_64_PC64) store_64(field, (uint64_t)displacement);
    else if (fits_signed(displacement, 32)) store_32(field, (uint64_t)displacement);
    else return 0;
    return 1;
}

/* Puts bits of a number into an instruction. */
static int set_bits(uint8_t *field, int64_t number, int bits, int position) {
    uint32_t instruction, mask = (((uint32_t)1 << bits) - 1) << position;
    memcpy(&instruction, field, sizeof instruction);
    store_32(field, (instruction & ~mask) | (((uint32_t)(uint64_t)number << position) & mask));
    return 1;
}

/* Puts a displacement in instructions into a jump. */
static int set_jump(uint8_t *field, int64_t displacement, int bits, int position) {
    if (displacement & 3 || !fits_signed(displacement, bits + 2)) return 0;
    return set_bits(field, displacement >> 2, bits, position);
}

/* Puts a number of 21 bits into ADR or ADRP, which has its lowest two bits apart. */
static int set_address(uint8_t *field, int64_t number) {
    return fits_signed(number, 21) && set_bits(field, number, 2, 29) && set_bits(field, number >> 2, 19, 5);
}

/* Puts the last 12 bits of an address, in units of 2^shift bytes, into a load or a store. */
static int set_page_offset(uint8_t *field, uint64_t value, int shift) {
    uint64_t offset = value & 0xfff;
    return !(offset & (((uint64_t)1 << shift) - 1)) && set_bits(field, (int64_t)(offset >> shift), 12, 10);
}

static int relocate_aarch64(uint32_t type, uint8_t *field, uint64_t place, uint64_t value) {
    int64_t displacement = (int64_t)(value - place);
    int64_t pages = ((int64_t)(value & ~(uint64_t)0xfff) - (int64_t)(place & ~(uint64_t)0xfff)) >> 12;
    switch (type) {
    case R_AARCH64_ABS64: store_64(field, value); return 1;
    case R_AARCH64_PREL64: store_64(field, (uint64_t)displacement); return 1;
    case R_AARCH64_PREL32:
        if (!fits_signed(displacement, 32)) return 0;
        store_32(field, (uint64_t)displacement);
        return 1;
    case R_AARCH64_CALL26: case R_AARCH64_JUMP26: return set_jump(field, displacement, 26, 0);
    case R_AARCH64_CONDBR19: return set_jump(field, displacement, 19, 5);
    case R_AARCH64_TSTBR14: return set_jump(field, displacement, 14, 5);
    case R_AARCH64_ADR_PREL_LO21: return set_address(field, displacement);
    case R_AARCH64_ADR_PREL_PG_HI21: case R_AARCH64_ADR_GOT_PAGE: return set_address(field, pages);
    case R_AARCH64_ADD_ABS_LO12_NC: case R_AARCH64_LDST8_ABS_LO12_NC: return set_page_offset(field, value, 0);
    case R_AARCH64_LDST16_ABS_LO12_NC: return set_page_offset(field, value, 1);
    case R_AARCH64_LDST32_ABS_LO12_NC: return set_page_offset(field, value, 2);
    case R_AARCH64_LDST64_ABS_LO12_NC: case R_AARCH64_LD64_GOT_LO12_NC: return set_page_offset(field, value, 3);
    case R_AARCH64_LDST128_ABS_LO12_NC: return set_page_offset(field, value, 4);
    default: return 0;
    }
}

/* Writes a field at the address `place` for what a relocation refers to with its addend; 0 where that does not fit.
   For a type of `TARGET_ENTRY`, `value` is the entry's address. */
static int relocate(int machine, uint32_t type, uint8_t *field, uint64_t place, uint64_t value) {
    return (machine == EM_X86_64 ? relocate_x86_64 : relocate_aarch64)(type, field, place, value);
}

/* Writes a stub of STUB_BYTES at an address, which jumps to the address in an entry near it. */
static int write_stub(int machine, uint8_t *stub, uint64_t place, uint64_t entry) {
    static const uint8_t X86_64[] = {0xff, 0x25, 0, 0, 0, 0};            /* jmp *entry(%rip) */
    static const uint32_t AARCH64[] = {0x90000010, 0xf9400210, 0xd61f0200}; /* adrp x16; ldr x16, [x16]; br x16 */
    if (machine == EM_X86_64) {
        memcpy(stub, X86_64, sizeof X86_64);
        return relocate(machine, R_X86_64_PC32, stub + 2, place + 2, entry - 4);
    }
    memcpy(stub, AARCH64, sizeof AARCH64);
    return relocate(machine, R_AARCH64_ADR_GOT_PAGE, stub, place, entry) &&
           relocate(machine, R_AARCH64_LD64_GOT_LO12_NC, stub + 4, place + 4, entry);
}

#else

static int relocate(int machine, uint32_t type, uint8_t *field, uint64_t place, uint64_t value) {
    (void)machine, (void)type, (void)field, (void)place, (void)value;
    return 0;
}

static int write_stub(int machine, uint8_t *stub, uint64_t place, uint64_t entry) {
    (void)machine, (void)stub, (void)place, (void)entry;
    return 0;
}

#endif
#endif
