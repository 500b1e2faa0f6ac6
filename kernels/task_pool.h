/* Threads that share the tasks of one launch at a time.

   The calling thread takes tasks as well, and waits for no thread that has not taken one yet: on a machine that is
   busy otherwise it does all of them. To wake threads takes some 0.1 ms, which a short launch does not wait for
   unless it follows soon on another one: then the threads will still be awake for the next. A launch while another
   one runs is done by its caller alone. Threads start with the first launch, sleep between launches, and call
   nothing of Python's; a child process after a fork starts threads of its own. */

#ifndef NIMBLEHLO_TASK_POOL_H
#define NIMBLEHLO_TASK_POOL_H

#include <stdint.h>

typedef void (*PoolTask)(int64_t task, void *closure);

#if (defined(__unix__) || defined(__APPLE__)) && defined(__GNUC__)

#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

enum { POOL_MOST_THREADS = 256, POOL_SPINS = 1000, POOL_SOON_NANOSECONDS = 30000 };

static struct {
    pthread_mutex_t launching, lock;
    pthread_cond_t wake, left;
    pid_t process;
    int threads, sleeping;
    /* The launch: how many threads may still join it, and how many take part. */
    int64_t number;
    int may_join, active;
    PoolTask function;
    void *closure;
    int64_t tasks, next, ended;
} pool = {.launching = PTHREAD_MUTEX_INITIALIZER};

static void pool_do_tasks(void) {
    for (;;) {
        int64_t task = __atomic_fetch_add(&pool.next, 1, __ATOMIC_RELAXED);
        if (task >= pool.tasks) return;
        pool.function(task, pool.closure);
    }
}

static inline void pool_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static void *pool_thread(void *number) {
    int64_t seen = (int64_t)(intptr_t)number;
    for (;;) {
        for (int spin = 0; spin < POOL_SPINS && __atomic_load_n(&pool.number, __ATOMIC_RELAXED) == seen; spin++)
            pool_pause();
        pthread_mutex_lock(&pool.lock);
        while (pool.number == seen) {
            pool.sleeping++;
            pthread_cond_wait(&pool.wake, &pool.lock);
            pool.sleeping--;
        }
        seen = pool.number;
        if (pool.may_join > 0) {
            pool.may_join--;
            pool.active++;
            pthread_mutex_unlock(&pool.lock);
            pool_do_tasks();
            pthread_mutex_lock(&pool.lock);
            if (--pool.active == 0) pthread_cond_signal(&pool.left);
        }
        pthread_mutex_unlock(&pool.lock);
    }
    return NULL;
}

/* After a fork only the thread that forked is left, and no launch runs in the child. */
static void pool_after_fork(void) { pthread_mutex_init(&pool.launching, NULL); }

static void pool_watch_forks(void) { pthread_atfork(NULL, NULL, pool_after_fork); }

/* Have so many threads, or as many as the system gives. Signals stay with the threads of Python. */
static void pool_start(int threads) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    sigset_t all, before;
    pthread_once(&watched, pool_watch_forks);
    if (pool.process != getpid()) {
        pthread_mutex_init(&pool.lock, NULL);
        pthread_cond_init(&pool.wake, NULL);
        pthread_cond_init(&pool.left, NULL);
        pool.process = getpid();
        pool.threads = pool.sleeping = pool.may_join = pool.active = 0;
    }
    if (pool.threads >= threads) return;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (; pool.threads < threads && pool.threads < POOL_MOST_THREADS; pool.threads++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, pool_thread, (void *)(intptr_t)pool.number) != 0) break;
        pthread_detach(thread);
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

static int64_t pool_nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* Run all tasks by at most so many threads, the calling one among them. `is_long`: it pays to wake them. */
static void pool_run(PoolTask function, void *closure, int64_t tasks, int64_t threads, int is_long) {
    if (threads > tasks) threads = tasks;
    if (threads <= 1 || pthread_mutex_trylock(&pool.launching) != 0) {
        for (int64_t task = 0; task < tasks; task++) function(task, closure);
        return;
    }
    pool_start((int)threads - 1);
    pthread_mutex_lock(&pool.lock);
    pool.function = function;
    pool.closure = closure;
    pool.tasks = tasks;
    pool.next = 0;
    pool.may_join = (int)threads - 1;
    __atomic_store_n(&pool.number, pool.number + 1, __ATOMIC_RELAXED);
    if (pool.sleeping && (is_long || pool_nanoseconds() - pool.ended < POOL_SOON_NANOSECONDS))
        pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
    pool_do_tasks();
    pthread_mutex_lock(&pool.lock);
    pool.may_join = 0;
    pthread_mutex_unlock(&pool.lock);
    for (int spin = 0; spin < POOL_SPINS && __atomic_load_n(&pool.active, __ATOMIC_RELAXED); spin++)
        pool_pause();
    pthread_mutex_lock(&pool.lock);
    while (pool.active) pthread_cond_wait(&pool.left, &pool.lock);
    pool.ended = pool_nanoseconds();
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.launching);
}

static int pool_is_offered(void) { return 1; }

#else

static int pool_is_offered(void) { return 0; }
static void pool_run(PoolTask function, void *closure, int64_t tasks, int64_t threads, int is_long) {
    (void)threads, (void)is_long;
    for (int64_t task = 0; task < tasks; task++) function(task, closure);
}

#endif
#endif
