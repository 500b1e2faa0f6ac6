/* Memory for machine code: pages that are written first and then made executable, never both at once.

   The code of a file gets pages of its own, since no page may be written again while threads run the code on it. Its
   data, which stay writable, share pages with those of others. Both come from an arena, code from its start and data
   from its end, so that the code reaches its data by displacements of 32 bits, and arenas of any number of files have
   three mappings each. Pages that are not touched take no memory. */

#ifndef NIMBLEHLO_CODE_MEMORY_H
#define NIMBLEHLO_CODE_MEMORY_H

#include <stdint.h>
#include <string.h>

#include "object_file.h"

/* Bytes of an arena: 4 MB are the code of some 800 functions. */
#define ARENA_BYTES ((uint64_t)1 << 22)

/* The present arena: code lies below `code_end`, data from `data_start` on. Addresses are numbers. */
static uint64_t arena_code_end, arena_data_start;

#if HAS_OBJECT_FILES

#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t page_bytes(void) { return (uint64_t)sysconf(_SC_PAGESIZE); }

/* Finds free bytes in the arena, or in a new one, which only `seal_code` takes; 0 where the system gives no memory. */
static int find_blocks(const ObjectFile *object, uint8_t **code, uint8_t **data) {
    uint64_t page = page_bytes();
    uint64_t code_bytes = align_up(object->code_bytes, page);
    uint64_t data_bytes = align_up(object->data_bytes, object->alignment);
    uint64_t data_end = arena_data_start & ~(object->alignment - 1);
    if (data_end < data_bytes || ((data_end - data_bytes) & ~(page - 1)) < arena_code_end + code_bytes) {
        uint64_t bytes = code_bytes + align_up(data_bytes, page);
        if (bytes < ARENA_BYTES) bytes = ARENA_BYTES;
        void *arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (arena == MAP_FAILED) return 0;
#ifdef MADV_NOHUGEPAGE
        /* The first page would otherwise take 2 MB. */
        madvise(arena, bytes, MADV_NOHUGEPAGE);
#endif
        arena_code_end = (uint64_t)(uintptr_t)arena;
        data_end = arena_data_start = arena_code_end + bytes;
    }
    *code = (uint8_t *)(uintptr_t)arena_code_end;
    *data = (uint8_t *)(uintptr_t)(data_end - data_bytes);
    return 1;
}

/* Zeroes blocks that are not taken, for the next file. */
static void clear_blocks(const ObjectFile *object, uint8_t *code, uint8_t *data) {
    memset(code, 0, object->code_bytes);
    memset(data, 0, object->data_bytes);
}

/* Takes the blocks of `find_blocks`, and makes the code executable; 0 where the system does not allow that. */
static int seal_code(const ObjectFile *object, uint8_t *code, uint8_t *data) {
    uint64_t bytes = align_up(object->code_bytes, page_bytes());
    if (bytes && mprotect(code, bytes, PROT_READ | PROT_EXEC)) return 0;
    __builtin___clear_cache((char *)code, (char *)code + bytes);
    arena_code_end = (uint64_t)(uintptr_t)code + bytes;
    arena_data_start = (uint64_t)(uintptr_t)data;
    return 1;
}

/* The address of a function of the libraries that the process has loaded; 0 if there is none. */
static uint64_t address_in_process(const char *name) { return (uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, name); }

#else

static uint64_t page_bytes(void) { return 4096; }

static int find_blocks(const ObjectFile *object, uint8_t **code, uint8_t **data) {
    (void)object, (void)code, (void)data;
    return 0;
}

static void clear_blocks(const ObjectFile *object, uint8_t *code, uint8_t *data) {
    (void)object, (void)code, (void)data;
}

static int seal_code(const ObjectFile *object, uint8_t *code, uint8_t *data) {
    (void)object, (void)code, (void)data;
    return 0;
}

static uint64_t address_in_process(const char *name) {
    (void)name;
    return 0;
}

#endif
#endif
