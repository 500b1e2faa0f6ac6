/* Words of the generators Threefry2x32 and Philox4x32, many counters side by side.

   Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */

#ifndef NIMBLEHLO_RANDOM_WORDS_H
#define NIMBLEHLO_RANDOM_WORDS_H

#include <stdint.h>

/* Counters that are encrypted side by side. */
enum { RANDOM_LANES = 32 };

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define RANDOM_CODE __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define RANDOM_CODE
#endif

/* Two words for each of `count` counters from `counter` on. */
RANDOM_CODE static void three_fry_words(uint64_t key, uint64_t counter, int64_t count, uint32_t *words) {
    static const int distances[2][4] = {{13, 15, 26, 6}, {17, 29, 16, 24}};
    uint32_t keys[3] = {(uint32_t)key, (uint32_t)(key >> 32), 0};
    keys[2] = keys[0] ^ keys[1] ^ 0x1BD11BDA;
    for (int64_t start = 0; start < count; start += RANDOM_LANES) {
        uint32_t x[RANDOM_LANES], y[RANDOM_LANES];
        int64_t lanes = count - start < RANDOM_LANES ? count - start : RANDOM_LANES;
        for (int lane = 0; lane < RANDOM_LANES; lane++) {
            uint64_t number = counter + (uint64_t)start + (uint64_t)lane;
            x[lane] = (uint32_t)number + keys[0];
            y[lane] = (uint32_t)(number >> 32) + keys[1];
        }
        for (uint32_t injection = 0; injection < 5; injection++) {
            for (int round = 0; round < 4; round++) {
                int distance = distances[injection % 2][round];
                for (int lane = 0; lane < RANDOM_LANES; lane++) {
                    x[lane] += y[lane];
                    y[lane] = ((y[lane] << distance) | (y[lane] >> (32 - distance))) ^ x[lane];
                }
            }
            for (int lane = 0; lane < RANDOM_LANES; lane++) {
                x[lane] += keys[(injection + 1) % 3];
                y[lane] += keys[(injection + 2) % 3] + injection + 1;
            }
        }
        for (int64_t lane = 0; lane < lanes; lane++) {
            words[2 * (start + lane)] = x[lane];
            words[2 * (start + lane) + 1] = y[lane];
        }
    }
}

/* Four words for each of `count` 128-bit counters from `high`, `counter` on. */
RANDOM_CODE static void philox_words(
    uint64_t key, uint64_t counter, uint64_t high, int64_t count, uint32_t *words) {
    for (int64_t start = 0; start < count; start += RANDOM_LANES) {
        uint64_t x[4][RANDOM_LANES];
        int64_t lanes = count - start < RANDOM_LANES ? count - start : RANDOM_LANES;
        uint32_t first = (uint32_t)key, second = (uint32_t)(key >> 32);
        for (int lane = 0; lane < RANDOM_LANES; lane++) {
            uint64_t number = counter + (uint64_t)start + (uint64_t)lane;
            uint64_t above = high + (number < counter);
            x[0][lane] = (uint32_t)number;
            x[1][lane] = number >> 32;
            x[2][lane] = (uint32_t)above;
            x[3][lane] = above >> 32;
        }
        for (int round = 0; round < 10; round++) {
            for (int lane = 0; lane < RANDOM_LANES; lane++) {
                uint64_t low = x[0][lane] * 0xD2511F53, middle = x[2][lane] * 0xCD9E8D57;
                x[0][lane] = (middle >> 32) ^ x[1][lane] ^ first;
                x[1][lane] = (uint32_t)middle;
                x[2][lane] = (low >> 32) ^ x[3][lane] ^ second;
                x[3][lane] = (uint32_t)low;
            }
            first += 0x9E3779B9;
            second += 0xBB67AE85;
        }
        for (int64_t lane = 0; lane < lanes; lane++)
            for (int position = 0; position < 4; position++)
                words[4 * (start + lane) + position] = (uint32_t)x[position][lane];
    }
}

#endif
