/* Relocatable object files of ELF, as LLVM writes them for the small code model: x86-64 and AArch64, little-endian.

   An object becomes two blocks of memory: code, with constants and the addresses of far symbols, which is never written
   again, and data. The blocks must lie so close together that displacements of 32 bits reach from one to the other.
   Nothing in a file is trusted: each offset, size and number is compared with what it refers to, and whatever is not
   known here makes the functions return a text that says so. Source: System V ABI, chapter 4; its supplements for AMD64
   and for the Arm 64-bit architecture (AAELF64). */

#ifndef NIMBLEHLO_OBJECT_FILE_H
#define NIMBLEHLO_OBJECT_FILE_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "relocations.h"

enum { MIN_BLOCK_ALIGNMENT = 64 };

/* Bytes of a block at most: far less than displacements of 32 bits reach. */
#define MAX_BLOCK_BYTES ((uint64_t)1 << 28)

/* An open file, which must outlive this. Symbols that are neither undefined nor in a section are `fixed`. */
typedef struct {
    const uint8_t *bytes;
    uint64_t size;
#if HAS_OBJECT_FILES
    const Elf64_Shdr *sections;
    const Elf64_Sym *symbols;
#endif
    const char *names;
    uint64_t section_count, symbol_count, names_size;
    /* Of each section and of each common symbol: where it lies in its block. */
    uint64_t *section_offsets, *common_offsets;
    /* Of each symbol: whether an entry with its address is needed, and where that lies in the block of code. */
    uint64_t *entry_offsets;
    /* The sizes of the blocks, and the largest alignment in them. */
    uint64_t code_bytes, data_bytes, alignment;
} ObjectFile;

#define NO_ENTRY UINT64_MAX
#define NOT_LOADED UINT64_MAX

static const char *const OUT_OF_MEMORY = "there is no memory for its tables";

static void close_object(ObjectFile *object) {
    free(object->section_offsets);
    object->section_offsets = object->common_offsets = object->entry_offsets = NULL;
}

#if HAS_OBJECT_FILES

/* Whether `size` bytes from `offset` on lie in `bytes` bytes. */
static int lies_within(uint64_t offset, uint64_t size, uint64_t bytes) {
    return offset <= bytes && size <= bytes - offset;
}

static int is_power_of_two(uint64_t number) { return number && !(number & (number - 1)); }

static uint64_t align_up(uint64_t offset, uint64_t alignment) { return (offset + alignment - 1) & ~(alignment - 1); }

#ifdef __x86_64__
enum { THIS_MACHINE = EM_X86_64 };
#else
enum { THIS_MACHINE = EM_AARCH64 };
#endif

static const char *section_name(const ObjectFile *object, const Elf64_Ehdr *header, const Elf64_Shdr *section) {
    const Elf64_Shdr *names = object->sections + header->e_shstrndx;
    const char *name = (const char *)object->bytes + names->sh_offset + section->sh_name;
    return section->sh_name < names->sh_size ? name : "";
}

static int is_table_of_names(const ObjectFile *object, uint64_t index) {
    const Elf64_Shdr *section = object->sections + index;
    return index < object->section_count && section->sh_type == SHT_STRTAB && section->sh_size &&
           !object->bytes[section->sh_offset + section->sh_size - 1];
}

static int is_loaded(const ObjectFile *object, uint64_t index) { return object->section_offsets[index] != NOT_LOADED; }

static int is_code(const Elf64_Shdr *section) { return !(section->sh_flags & SHF_WRITE); }

static const char *read_header(ObjectFile *object) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object->bytes;
    if (object->size < sizeof *header || memcmp(header->e_ident, ELFMAG, SELFMAG)) return "it is no ELF file";
    if (header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
        header->e_type != ET_REL || header->e_machine != THIS_MACHINE)
        return "it is no relocatable object file for this processor";
    object->section_count = header->e_shnum;
    if (header->e_shentsize != sizeof(Elf64_Shdr) || !header->e_shnum || header->e_shoff % 8 ||
        !lies_within(header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr), object->size))
        return "its table of sections is not in the file";
    object->sections = (const Elf64_Shdr *)(object->bytes + header->e_shoff);
    for (uint64_t i = 0; i < object->section_count; ++i) {
        const Elf64_Shdr *section = object->sections + i;
        if (section->sh_type == SHT_NOBITS || section->sh_type == SHT_NULL) continue;
        if (section->sh_offset % 8 && (section->sh_type == SHT_RELA || section->sh_type == SHT_SYMTAB))
            return "a table is not aligned";
        if (!lies_within(section->sh_offset, section->sh_size, object->size)) return "a section is not in the file";
    }
    return is_table_of_names(object, header->e_shstrndx) ? NULL : "its sections have no names";
}

static const char *read_symbols(ObjectFile *object) {
    for (uint64_t i = 0; i < object->section_count; ++i) {
        const Elf64_Shdr *section = object->sections + i;
        if (section->sh_type != SHT_SYMTAB) continue;
        if (object->symbols) return "it has two tables of symbols";
        if (section->sh_entsize != sizeof(Elf64_Sym) || !section->sh_size || section->sh_size % sizeof(Elf64_Sym) ||
            !is_table_of_names(object, section->sh_link))
            return "its table of symbols is malformed";
        object->symbols = (const Elf64_Sym *)(object->bytes + section->sh_offset);
        object->symbol_count = section->sh_size / sizeof(Elf64_Sym);
        object->names = (const char *)object->bytes + object->sections[section->sh_link].sh_offset;
        object->names_size = object->sections[section->sh_link].sh_size;
    }
    if (!object->symbols) return "it has no table of symbols";
    for (uint64_t i = 0; i < object->symbol_count; ++i) {
        const Elf64_Sym *symbol = object->symbols + i;
        int type = ELF64_ST_TYPE(symbol->st_info);
        if (symbol->st_name >= object->names_size) return "a symbol has no name";
        if (type == STT_GNU_IFUNC || type == STT_TLS) return "it has symbols of an unknown kind";
        if (symbol->st_shndx < object->section_count) {
            const Elf64_Shdr *section = object->sections + symbol->st_shndx;
            if (symbol->st_shndx && !lies_within(symbol->st_value, symbol->st_size, section->sh_size))
                return "a symbol is not in its section";
        } else if (symbol->st_shndx == SHN_COMMON) {
            if (!is_power_of_two(symbol->st_value)) return "a common symbol has no alignment";
        } else if (symbol->st_shndx != SHN_ABS) {
            return "a symbol is in no section";
        }
    }
    return NULL;
}

/* Adds bytes to a block; their offset, or NOT_LOADED if the block becomes too large. */
static uint64_t extend_block(ObjectFile *object, uint64_t *block, uint64_t bytes, uint64_t alignment) {
    uint64_t offset = align_up(*block, alignment);
    if (bytes > MAX_BLOCK_BYTES || offset + bytes > MAX_BLOCK_BYTES) return NOT_LOADED;
    *block = offset + bytes;
    if (alignment > object->alignment) object->alignment = alignment;
    return offset;
}

static const char *place_sections(ObjectFile *object, uint64_t max_alignment) {
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)object->bytes;
    for (uint64_t i = 0; i < object->section_count; ++i) {
        const Elf64_Shdr *section = object->sections + i;
        uint64_t alignment = section->sh_addralign ? section->sh_addralign : 1;
        const char *name = section_name(object, header, section);
        object->section_offsets[i] = NOT_LOADED;
        /* Nothing unwinds through the code. */
        if (!(section->sh_flags & SHF_ALLOC) || !strcmp(name, ".eh_frame")) continue;
        uint32_t type = section->sh_type;
        int is_known = type == SHT_PROGBITS || type == SHT_NOBITS || type == SHT_NOTE;
        if (!is_known || section->sh_flags & (SHF_TLS | SHF_COMPRESSED) || !strncmp(name, ".ctors", 6) ||
            !strncmp(name, ".dtors", 6))
            return "it has sections of an unknown kind";
        if (!is_power_of_two(alignment) || alignment > max_alignment) return "a section has an unknown alignment";
        if (is_code(section) && section->sh_type == SHT_NOBITS) return "it has constants without values";
        uint64_t *block = is_code(section) ? &object->code_bytes : &object->data_bytes;
        object->section_offsets[i] = extend_block(object, block, section->sh_size, alignment);
        if (!is_loaded(object, i)) return "it is too large";
    }
    for (uint64_t i = 0; i < object->symbol_count; ++i) {
        const Elf64_Sym *symbol = object->symbols + i;
        object->entry_offsets[i] = object->common_offsets[i] = NO_ENTRY;
        if (symbol->st_shndx != SHN_COMMON) continue;
        if (symbol->st_value > max_alignment) return "a symbol has an unknown alignment";
        object->common_offsets[i] = extend_block(object, &object->data_bytes, symbol->st_size, symbol->st_value);
        if (object->common_offsets[i] == NOT_LOADED) return "it is too large";
    }
    return NULL;
}

/* The section that a table of relocations is for, if that is loaded; else NULL. */
static const Elf64_Shdr *relocated_section(const ObjectFile *object, const Elf64_Shdr *table) {
    if (table->sh_type != SHT_RELA && table->sh_type != SHT_REL) return NULL;
    if (table->sh_info >= object->section_count || !is_loaded(object, table->sh_info)) return NULL;
    return object->sections + table->sh_info;
}

static int is_far(const ObjectFile *object, uint64_t symbol) {
    return object->symbols[symbol].st_shndx == SHN_UNDEF || object->symbols[symbol].st_shndx == SHN_ABS;
}

static const char *read_relocations(ObjectFile *object) {
    for (uint64_t i = 0; i < object->section_count; ++i) {
        const Elf64_Shdr *table = object->sections + i, *section = relocated_section(object, table);
        if (!section) continue;
        if (table->sh_type != SHT_RELA || table->sh_entsize != sizeof(Elf64_Rela) || section->sh_type == SHT_NOBITS ||
            table->sh_size % sizeof(Elf64_Rela))
            return "its relocations are malformed";
        const Elf64_Rela *relocations = (const Elf64_Rela *)(object->bytes + table->sh_offset);
        for (uint64_t j = 0; j < table->sh_size / sizeof(Elf64_Rela); ++j) {
            uint32_t type = (uint32_t)ELF64_R_TYPE(relocations[j].r_info);
            uint64_t symbol = ELF64_R_SYM(relocations[j].r_info);
            Target target = target_of(THIS_MACHINE, type);
            if (target == TARGET_UNKNOWN) return "it has relocations of an unknown kind";
            if (target == TARGET_NONE) continue;
            if (symbol >= object->symbol_count) return "a relocation has no symbol";
            if (!lies_within(relocations[j].r_offset, field_bytes(THIS_MACHINE, type), section->sh_size))
                return "a relocation is not in its section";
            uint16_t index = object->symbols[symbol].st_shndx;
            if (index && index < object->section_count && !is_loaded(object, index))
                return "it refers to a section that is not loaded";
            if (target == TARGET_ENTRY || (target == TARGET_CODE && is_far(object, symbol)))
                object->entry_offsets[symbol] = 0;
        }
    }
    /* An entry for each of them, with a stub behind it. */
    for (uint64_t i = 0; i < object->symbol_count; ++i) {
        if (object->entry_offsets[i] == NO_ENTRY) continue;
        object->entry_offsets[i] = extend_block(object, &object->code_bytes, ENTRY_BYTES + STUB_BYTES, ENTRY_BYTES);
        if (object->entry_offsets[i] == NOT_LOADED) return "it is too large";
    }
    return NULL;
}

/* Opens a file, whose bytes are aligned to 8; NULL, or why it cannot be loaded.

   `max_alignment` is that of the blocks. `close_object` must follow in any case. */
static const char *open_object(ObjectFile *object, const uint8_t *bytes, uint64_t size, uint64_t max_alignment) {
    memset(object, 0, sizeof *object);
    object->bytes = bytes;
    object->size = size;
    object->alignment = MIN_BLOCK_ALIGNMENT;
    const char *reason = read_header(object);
    if (!reason) reason = read_symbols(object);
    if (reason) return reason;
    object->section_offsets = malloc((object->section_count + 2 * object->symbol_count) * sizeof(uint64_t));
    if (!object->section_offsets) return OUT_OF_MEMORY;
    object->common_offsets = object->section_offsets + object->section_count;
    object->entry_offsets = object->common_offsets + object->symbol_count;
    reason = place_sections(object, max_alignment);
    return reason ? reason : read_relocations(object);
}

/* The name of a symbol that is defined elsewhere; NULL if the symbol is in the file, or has no name. */
static const char *undefined_symbol(const ObjectFile *object, uint64_t symbol) {
    const char *name = object->names + object->symbols[symbol].st_name;
    return object->symbols[symbol].st_shndx == SHN_UNDEF && *name ? name : NULL;
}

/* The name of a symbol of the file that others may use; NULL if it has none. */
static const char *exported_symbol(const ObjectFile *object, uint64_t symbol) {
    const Elf64_Sym *one = object->symbols + symbol;
    if (one->st_shndx == SHN_UNDEF || one->st_shndx >= object->section_count || !is_loaded(object, one->st_shndx))
        return NULL;
    return ELF64_ST_BIND(one->st_info) != STB_LOCAL ? object->names + one->st_name : NULL;
}

/* The address of a symbol. `code` and `data` are the blocks, `undefined` has the addresses of undefined symbols. */
static uint64_t address_of(const ObjectFile *object, uint64_t symbol, const uint8_t *code, const uint8_t *data,
                           const uint64_t *undefined) {
    const Elf64_Sym *one = object->symbols + symbol;
    if (one->st_shndx == SHN_UNDEF) return undefined[symbol];
    if (one->st_shndx == SHN_ABS) return one->st_value;
    if (one->st_shndx == SHN_COMMON) return (uint64_t)(uintptr_t)data + object->common_offsets[symbol];
    const uint8_t *block = is_code(object->sections + one->st_shndx) ? code : data;
    return (uint64_t)(uintptr_t)block + object->section_offsets[one->st_shndx] + one->st_value;
}

static const char *write_relocations(const ObjectFile *object, const Elf64_Shdr *table, uint8_t *code, uint8_t *data,
                                     const uint64_t *undefined) {
    const Elf64_Rela *relocations = (const Elf64_Rela *)(object->bytes + table->sh_offset);
    uint8_t *block = is_code(object->sections + table->sh_info) ? code : data;
    uint8_t *section = block + object->section_offsets[table->sh_info];
    for (uint64_t i = 0; i < table->sh_size / sizeof(Elf64_Rela); ++i) {
        uint32_t type = (uint32_t)ELF64_R_TYPE(relocations[i].r_info);
        uint64_t symbol = ELF64_R_SYM(relocations[i].r_info);
        Target target = target_of(THIS_MACHINE, type);
        if (target == TARGET_NONE) continue;
        uint8_t *field = section + relocations[i].r_offset;
        uint64_t place = (uint64_t)(uintptr_t)field, value;
        uint64_t entry = (uint64_t)(uintptr_t)code + object->entry_offsets[symbol];
        if (target == TARGET_ENTRY) value = entry;
        else if (target == TARGET_CODE && is_far(object, symbol)) value = entry + ENTRY_BYTES;
        else value = address_of(object, symbol, code, data, undefined);
        if (!relocate(THIS_MACHINE, type, field, place, value + (uint64_t)relocations[i].r_addend))
            return "a displacement does not reach its target";
    }
    return NULL;
}

/* Writes a file into zeroed blocks of memory at their final addresses; NULL, or why it cannot be loaded. */
static const char *write_object(const ObjectFile *object, uint8_t *code, uint8_t *data, const uint64_t *undefined) {
    for (uint64_t i = 0; i < object->section_count; ++i) {
        const Elf64_Shdr *section = object->sections + i;
        if (!is_loaded(object, i) || section->sh_type == SHT_NOBITS) continue;
        memcpy((is_code(section) ? code : data) + object->section_offsets[i], object->bytes + section->sh_offset,
               section->sh_size);
    }
    for (uint64_t i = 0; i < object->symbol_count; ++i) {
        if (object->entry_offsets[i] == NO_ENTRY) continue;
        uint8_t *entry = code + object->entry_offsets[i];
        store_64(entry, address_of(object, i, code, data, undefined));
        if (!write_stub(THIS_MACHINE, entry + ENTRY_BYTES, (uint64_t)(uintptr_t)entry + ENTRY_BYTES,
                        (uint64_t)(uintptr_t)entry))
            return "a stub does not reach its entry";
    }
    for (uint64_t i = 0; i < object->section_count; ++i) {
        const char *reason = relocated_section(object, object->sections + i)
                                 ? write_relocations(object, object->sections + i, code, data, undefined)
                                 : NULL;
        if (reason) return reason;
    }
    return NULL;
}

#else

static const char *open_object(ObjectFile *object, const uint8_t *bytes, uint64_t size, uint64_t max_alignment) {
    (void)bytes, (void)size, (void)max_alignment;
    memset(object, 0, sizeof *object);
    return "this system has other object files";
}

static const char *undefined_symbol(const ObjectFile *object, uint64_t symbol) {
    (void)object, (void)symbol;
    return NULL;
}

static const char *exported_symbol(const ObjectFile *object, uint64_t symbol) {
    (void)object, (void)symbol;
    return NULL;
}

static uint64_t address_of(const ObjectFile *object, uint64_t symbol, const uint8_t *code, const uint8_t *data,
                           const uint64_t *undefined) {
    (void)object, (void)symbol, (void)code, (void)data, (void)undefined;
    return 0;
}

static const char *write_object(const ObjectFile *object, uint8_t *code, uint8_t *data, const uint64_t *undefined) {
    (void)object, (void)code, (void)data, (void)undefined;
    return "this system has other object files";
}

#endif
#endif
