/* Fills memory with patterns, and finds writes beyond blocks and to freed ones: see `memory.pyx`. */

#ifndef NIMBLEHLO_MEMORY_POISON_H
#define NIMBLEHLO_MEMORY_POISON_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* NaNs as bf16, f16, f32 and f64 alike, and large numbers as integers. */
enum { NEW_WORD = 0x7ff5, FREED_WORD = 0xfff7, GUARD_BYTE = 0xa5, GUARD_BYTES = 64 };
enum { PATTERN_BYTES = 1 << 12 };
static uint16_t new_words[PATTERN_BYTES / 2], freed_words[PATTERN_BYTES / 2];
static const char *pattern(uint16_t word) { return (const char *)(word == NEW_WORD ? new_words : freed_words); }
static void make_patterns(void) {
    for (int index = 0; index < PATTERN_BYTES / 2; index++)
        new_words[index] = NEW_WORD, freed_words[index] = FREED_WORD;
}
static size_t chunk_bytes(size_t left) { return left < PATTERN_BYTES ? left : PATTERN_BYTES; }
static void poison(void *data, size_t bytes, uint16_t word) {
    for (size_t done = 0; done < bytes; done += PATTERN_BYTES)
        memcpy((char *)data + done, pattern(word), chunk_bytes(bytes - done));
}
static void expect(int holds, const char *reason, void *data, size_t bytes) {
    if (holds) return;
    fprintf(stderr, "nimblehlo: %s, of %zu bytes at %p\n", reason, bytes, data);
    fflush(stderr);
    abort();
}
static void set_guard(void *data, size_t bytes) { memset((char *)data + bytes, GUARD_BYTE, GUARD_BYTES); }
static void check_guard(void *data, size_t bytes) {
    const unsigned char *guard = (const unsigned char *)data + bytes;
    for (size_t index = 0; index < GUARD_BYTES; index++)
        expect(guard[index] == GUARD_BYTE, "memory was written behind a block", data, bytes);
}
static void check_freed(void *data, size_t bytes) {
    for (size_t done = 0; done < bytes; done += PATTERN_BYTES)
        expect(!memcmp((char *)data + done, pattern(FREED_WORD), chunk_bytes(bytes - done)),
               "a freed block was written to", data, bytes);
}

#endif
