/* One element type and vector width of `vector_kinds.h`: its types, and VECTOR_CODE for it. */

typedef ITEM NAME(Vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef ITEM NAME(Unaligned) __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
typedef ITEM NAME(Item) __attribute__((aligned(1), may_alias));

#if VECTOR_BYTES == 16
/* Load `count` elements into the first lanes; the other lanes are zeros. */
INLINE VECTOR NAME(load_partial)(const char *address, int64_t count) {
    VECTOR result = {0};
    __builtin_memcpy(&result, address, count * sizeof(ITEM));
    return result;
}
#endif

#ifndef FMA
#define FMA(a, b, sum) ((a) * (b) + (sum))
#define HAS_INTEGER_ITEMS
#endif

#include VECTOR_CODE

#undef ITEM
#undef LANES
#undef NAME
#undef FMA
#undef HAS_INTEGER_ITEMS
