/* malloc and its kin for a process under test, put before the C library's by LD_PRELOAD.

   Each block is filled with NaNs when it is handed out, with other NaNs when it is freed, and has guards before and
   behind it that are checked then. Where the environment variable POISON_PAGES has a number of bytes, blocks of so
   many and more end where a page begins that nobody may touch, and are not to be touched any more once they are freed:
   a read or a write there ends the process. Blocks of Python's own and of LLVM have no such pages: these are too many.

   glibc alone: its own functions are called by the names that it has for them. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void *__libc_memalign(size_t alignment, size_t bytes);
void __libc_free(void *block);

enum {
    PAGE = 4096,
    GUARD_BYTES = 32,
    GUARD_BYTE = 0xa5,
    PATTERN_BYTES = 4096,
    MOST_PAGED = 12000, /* blocks with pages of their own: the kernel keeps 65,530 areas of a process apart */
    KEPT_BACK = 4096,   /* freed ones whose pages stay forbidden */
    NEW_WORD = 0x7ff5,
    FREED_WORD = 0xfff7,
};
static const uint64_t LIVE = 0x6c69766520626c6bu, PAGED = 0x7061676520626c6bu, FREED = 0x6672656564626c6bu;

/* Stands before a block and the guard in front of it. */
typedef struct {
    uint64_t state;
    size_t bytes;
    void *memory;   /* what the block was cut from */
    size_t mapped;  /* bytes of the pages that may be touched */
} Header;

typedef struct {
    void *memory;
    size_t mapped;
} Pages;

static uint16_t new_words[PATTERN_BYTES / 2], freed_words[PATTERN_BYTES / 2];
static unsigned char guard[GUARD_BYTES];
static size_t least_paged = SIZE_MAX;
static atomic_int ready, paged;
static Pages kept_back[KEPT_BACK];
static size_t next_kept_back;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void set_up(void) {
    if (atomic_load(&ready)) return;
    for (int index = 0; index < PATTERN_BYTES / 2; index++) new_words[index] = NEW_WORD, freed_words[index] = FREED_WORD;
    memset(guard, GUARD_BYTE, GUARD_BYTES);
    for (char **entry = environ; entry && *entry; entry++)
        if (!strncmp(*entry, "POISON_PAGES=", 13)) least_paged = strtoull(*entry + 13, NULL, 10);
    atomic_store(&ready, 1);
}

static void fill(void *data, size_t bytes, const uint16_t *words) {
    for (size_t done = 0; done < bytes; done += PATTERN_BYTES) {
        size_t left = bytes - done;
        memcpy((char *)data + done, words, left < PATTERN_BYTES ? left : PATTERN_BYTES);
    }
}

static void fail(const char *reason, void *data, size_t bytes) {
    char text[200];
    int count = snprintf(text, sizeof text, "poisoned: %s, a block of %zu bytes at %p\n", reason, bytes, data);
    if (write(2, text, count) < 0) _exit(3);
    abort();
}

static Header *header_of(void *data) { return (Header *)((char *)data - GUARD_BYTES - sizeof(Header)); }

static void enter(void *data, Header header) {
    memcpy((char *)data - GUARD_BYTES, guard, GUARD_BYTES);
    *header_of(data) = header;
    fill(data, header.bytes, new_words);
}

/* A block that ends where a page ends which may not be touched; NULL where there are too many. */
static void *with_pages(size_t alignment, size_t bytes) {
    size_t whole = (bytes + alignment - 1) / alignment * alignment;
    size_t front = (sizeof(Header) + GUARD_BYTES + alignment - 1) / alignment * alignment;
    size_t mapped = (front + whole + PAGE - 1) / PAGE * PAGE;
    char *memory, *data;
    if (alignment > PAGE || atomic_load(&paged) >= MOST_PAGED) return NULL;
    memory = mmap(NULL, mapped + PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return NULL;
    mprotect(memory + mapped, PAGE, PROT_NONE);
    atomic_fetch_add(&paged, 1);
    data = memory + mapped - whole;
    enter(data, (Header){PAGED, bytes, memory, mapped});
    memset(data + bytes, GUARD_BYTE, whole - bytes);
    return data;
}

enum { CALLERS = 4096 };
static atomic_size_t callers[CALLERS]; /* pages of code that allocate, and in the lowest bit the answer */

/* Whether blocks that this code allocates are guarded by pages. */
static int is_guarded(void *caller) {
    static const char *without[] = {"libLLVM", "libllvmlite", "libstdc++", "libpython", "bin/python"};
    size_t page = (size_t)caller / PAGE * PAGE, known = atomic_load(&callers[page / PAGE % CALLERS]);
    Dl_info found;
    int answer = 1;
    if ((known & ~(size_t)1) == page && page) return known & 1;
    if (dladdr(caller, &found) && found.dli_fname)
        for (size_t index = 0; index < sizeof without / sizeof *without; index++)
            if (strstr(found.dli_fname, without[index])) answer = 0;
    atomic_store(&callers[page / PAGE % CALLERS], page | answer);
    return answer;
}

static void *take(size_t alignment, size_t bytes, void *caller) {
    char *memory, *data;
    set_up();
    if (alignment < 16) alignment = 16;
    if (bytes > SIZE_MAX / 4) return errno = ENOMEM, NULL;
    if (bytes >= least_paged && is_guarded(caller) && (data = with_pages(alignment, bytes))) return data;
    size_t front = (sizeof(Header) + GUARD_BYTES + alignment - 1) / alignment * alignment;
    memory = __libc_memalign(alignment, front + bytes + GUARD_BYTES);
    if (!memory) return NULL;
    data = memory + front;
    enter(data, (Header){LIVE, bytes, memory, 0});
    memcpy(data + bytes, guard, GUARD_BYTES);
    return data;
}

static void forbid(Header header) {
    Pages old;
    mprotect(header.memory, header.mapped, PROT_NONE);
    pthread_mutex_lock(&lock);
    old = kept_back[next_kept_back];
    kept_back[next_kept_back] = (Pages){header.memory, header.mapped + PAGE};
    next_kept_back = (next_kept_back + 1) % KEPT_BACK;
    pthread_mutex_unlock(&lock);
    atomic_fetch_sub(&paged, 1);
    if (old.memory) munmap(old.memory, old.mapped);
}

static Header checked(void *data) {
    Header header = *header_of(data);
    const char *end = (const char *)data + header.bytes;
    if (header.state == FREED) fail("freed twice", data, header.bytes);
    if (header.state != LIVE && header.state != PAGED) fail("written before its beginning", data, 0);
    if (memcmp((char *)data - GUARD_BYTES, guard, GUARD_BYTES))
        fail("written before its beginning", data, header.bytes);
    size_t slack = header.state == LIVE ? GUARD_BYTES : (size_t)((char *)header.memory + header.mapped - end);
    for (size_t index = 0; index < slack; index++)
        if ((unsigned char)end[index] != GUARD_BYTE) fail("written behind its end", data, header.bytes);
    return header;
}

void free(void *data) {
    int error = errno;
    if (!data) return;
    Header header = checked(data);
    if (header.state == PAGED) {
        forbid(header);
    } else {
        fill(data, header.bytes, freed_words);
        header_of(data)->state = FREED;
        __libc_free(header.memory);
    }
    errno = error;
}

void *malloc(size_t bytes) { return take(16, bytes, __builtin_return_address(0)); }

void *calloc(size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
    void *data = take(16, bytes, __builtin_return_address(0));
    return data ? memset(data, 0, bytes) : NULL;
}

void *realloc(void *data, size_t bytes) {
    if (!data) return take(16, bytes, __builtin_return_address(0));
    if (!bytes) return free(data), NULL;
    size_t before = checked(data).bytes;
    void *moved = take(16, bytes, __builtin_return_address(0));
    if (moved) {
        memcpy(moved, data, before < bytes ? before : bytes);
        free(data);
    }
    return moved;
}

void *reallocarray(void *data, size_t count, size_t size) {
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) return errno = ENOMEM, NULL;
    return realloc(data, bytes);
}

void *memalign(size_t alignment, size_t bytes) { return take(alignment, bytes, __builtin_return_address(0)); }
void *aligned_alloc(size_t alignment, size_t bytes) { return take(alignment, bytes, __builtin_return_address(0)); }
void *valloc(size_t bytes) { return take(PAGE, bytes, __builtin_return_address(0)); }
void *pvalloc(size_t bytes) { return take(PAGE, (bytes + PAGE - 1) / PAGE * PAGE, __builtin_return_address(0)); }

int posix_memalign(void **result, size_t alignment, size_t bytes) {
    void *data = take(alignment, bytes, __builtin_return_address(0));
    if (!data) return ENOMEM;
    *result = data;
    return 0;
}

size_t malloc_usable_size(void *data) { return data ? header_of(data)->bytes : 0; }
