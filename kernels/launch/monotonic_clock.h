/* The monotonic clock, by which launches and the loops of `rates` are timed. */

#ifndef NIMBLEHLO_MONOTONIC_CLOCK_H
#define NIMBLEHLO_MONOTONIC_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline int64_t monotonic_nanoseconds(void) {
    struct timespec now;
#if defined(_WIN32)
    timespec_get(&now, TIME_UTC);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

#endif
