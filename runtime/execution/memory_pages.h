/* Memory from the system for the pool of arrays (`memory.pyx`): aligned blocks, in huge pages where there are any. */

#ifndef NIMBLEHLO_MEMORY_PAGES_H
#define NIMBLEHLO_MEMORY_PAGES_H

#include <stdlib.h>
#if defined(_WIN32)
#include <malloc.h>
static void *aligned_block(size_t alignment, size_t bytes) { return _aligned_malloc(bytes, alignment); }
static void free_aligned(void *block) { _aligned_free(block); }
static void forget_pages(void *first, size_t bytes) { (void)first; (void)bytes; }
static void watch_forks(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    (void)before; (void)in_parent; (void)in_child;
}
#else
#include <pthread.h>
static void watch_forks(void (*before)(void), void (*in_parent)(void), void (*in_child)(void)) {
    pthread_atfork(before, in_parent, in_child);
}
#include <sys/mman.h>
enum { SMALL_PAGE = 4096 };
static void *aligned_block(size_t alignment, size_t bytes) {
    void *block = NULL;
    if (posix_memalign(&block, alignment, bytes) != 0) return NULL;
#if defined(MADV_HUGEPAGE)
    if (alignment > SMALL_PAGE) madvise(block, bytes & ~(alignment - 1), MADV_HUGEPAGE);
#endif
    return block;
}
static void free_aligned(void *block) { free(block); }
static void forget_pages(void *first, size_t bytes) { madvise(first, bytes, MADV_DONTNEED); }
#endif

#if defined(MADV_HUGEPAGE)
enum { HAS_HUGE_PAGES = 1 };
#else
enum { HAS_HUGE_PAGES = 0 };
#endif

#endif
