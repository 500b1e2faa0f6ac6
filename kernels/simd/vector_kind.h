/* One kind of `vector_kinds.h`: its types, and VECTOR_CODE for it. */

typedef ITEM NAME(Vector) __attribute__((vector_size(VECTOR_BYTES)));
typedef ITEM NAME(Loose) __attribute__((vector_size(VECTOR_BYTES), aligned(1), may_alias));
typedef ITEM NAME(Item) __attribute__((aligned(1), may_alias));

#ifndef __x86_64__
/* The first elements, and zeros. */
INLINE VECTOR NAME(some)(const char *address, int64_t count) {
    VECTOR some = {0};
    __builtin_memcpy(&some, address, count * sizeof(ITEM));
    return some;
}
#endif

#include VECTOR_CODE

#undef ITEM
#undef LANES
#undef NAME
#undef REPEATED
#undef FUSED
#undef SOME
#undef LEAVE
