/* A pool of threads that share the tasks of one launch at a time.

   The calling thread runs tasks as well, and waits for no thread that has not begun one: on a busy machine it runs
   all of them. Each thread begins with a share of consecutive tasks, so that it reads memory in order, and in a loop
   the same memory each time; then it takes what is left of the others' shares. If tasks may wait for earlier ones,
   all tasks are one share.

   Waking a thread takes about 0.1 ms. So only long launches wake threads; short ones do if they follow closely on
   others, because the threads stay awake for the next, and brief ones after a burst of POOL_BURST. A caller that
   knows of a long launch to come can wake the threads ahead of it. Threads that are awake join every launch. A
   launch while another one runs is run by its caller alone. Threads start with the first launch, sleep between
   launches, and never call Python; if there are at most POOL_MAX_SEPARATED, they keep off the caller's processor
   (Linux). No launch uses more threads than the process may use processors: further ones would take the time of
   those that have tasks, by waking, polling and waiting. A child process starts threads of its own after a fork.

   Between tasks the calling thread checks now and then whether to stop. Then no further task begins; those that have
   begun end, and with them all that they may wait for. */

#ifndef NIMBLEHLO_TASK_POOL_H
#define NIMBLEHLO_TASK_POOL_H

#include <stdint.h>

#include "monotonic_clock.h"

typedef void (*PoolTask)(int64_t task, void *closure);

/* Returns whether to stop. */
typedef int (*PoolStopCheck)(void);

/* Time between two checks. */
enum { POOL_STOP_CHECK_NANOSECONDS = 50000000 };

/* Check whether to stop, if it is time to. */
static int pool_should_stop(PoolStopCheck stop_check, int64_t *last_check) {
    int64_t now = monotonic_nanoseconds();
    if (now - *last_check < POOL_STOP_CHECK_NANOSECONDS) return 0;
    *last_check = now;
    return stop_check();
}

/* Run all tasks on this thread. Returns whether they were stopped. */
static int pool_run_alone(PoolTask function, void *closure, int64_t tasks, PoolStopCheck stop_check) {
    int64_t last_check = stop_check && tasks > 1 ? monotonic_nanoseconds() : 0;
    for (int64_t task = 0; task < tasks; task++) {
        if (stop_check && task && pool_should_stop(stop_check, &last_check)) return 1;
        function(task, closure);
    }
    return 0;
}

#if (defined(__unix__) || defined(__APPLE__)) && defined(__GNUC__)

#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sched.h>
#else
#include <unistd.h>
#endif

enum { POOL_MAX_THREADS = 256, POOL_SPINS = 1000, POOL_SOON_NANOSECONDS = 30000, POOL_BURST = 16 };

/* Launches after which the processors are counted again, because a system call takes 0.2 us. */
enum { POOL_RECOUNT = 64 };

/* The wait of threads that were woken ahead, as a multiple of the usual wait. */
enum { POOL_WAKE_AHEAD_WAITS = 5 };

/* With more threads than this, keeping them off the caller's processor would leave one idle. */
enum { POOL_MAX_SEPARATED = 8 };

/* Classes of launches by duration. */
enum { POOL_BRIEF, POOL_SHORT, POOL_LONG };

/* Polls between pauses: a virtual machine takes consecutive pauses for idling. */
enum { POOL_POLLS = 32 };

#define POOL_CACHE_ALIGNED __attribute__((aligned(64)))

/* Tasks of which those from `next` on have not begun. */
typedef struct {
    POOL_CACHE_ALIGNED int64_t next;
    int64_t end;
} PoolShare;

/* Members that some threads poll while others write have cache lines of their own. */
static struct {
    pthread_mutex_t launching;
    int64_t ended, burst;
    int is_started, threads, processors, assumed_processors, left_processors;
    pthread_t separated[POOL_MAX_SEPARATED];
    int avoided_cpu;
    POOL_CACHE_ALIGNED pthread_mutex_t lock;
    pthread_cond_t wake, worker_finished;
    int sleeping, is_waiting, wake_requests;
    /* POOL_MAX_THREADS times the launch's number, plus how many threads may still join it. */
    POOL_CACHE_ALIGNED int64_t launch;
    POOL_CACHE_ALIGNED PoolTask function;
    void *closure;
    int64_t shares;
    PoolShare share[POOL_MAX_THREADS];
    POOL_CACHE_ALIGNED int64_t finished;
} pool = {.launching = PTHREAD_MUTEX_INITIALIZER};

/* Run tasks that nobody has begun, first those of one share. Returns whether they were stopped; without `stop_check`
   they are not. */
static int pool_do_tasks(int64_t first, PoolStopCheck stop_check, int64_t last_check) {
    for (int64_t number = 0; number < pool.shares; number++) {
        PoolShare *share = &pool.share[(first + number) % pool.shares];
        while (__atomic_load_n(&share->next, __ATOMIC_RELAXED) < share->end) {
            if (stop_check && pool_should_stop(stop_check, &last_check)) {
                for (int64_t other = 0; other < pool.shares; other++)
                    __atomic_store_n(&pool.share[other].next, pool.share[other].end, __ATOMIC_RELAXED);
                return 1;
            }
            int64_t task = __atomic_fetch_add(&share->next, 1, __ATOMIC_RELAXED);
            if (task < share->end) pool.function(task, pool.closure);
        }
    }
    return 0;
}

static inline void pool_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Wait some time for a number, divided by `divisor`, to change. Returns whether it did. */
static int pool_wait_for_change(const int64_t *number, int64_t from, int64_t divisor) {
    for (int spin = 0; spin < POOL_SPINS; spin++, pool_pause())
        for (int poll = 0; poll < POOL_POLLS; poll++)
            if (__atomic_load_n(number, __ATOMIC_ACQUIRE) / divisor != from) return 1;
    return 0;
}

/* Join a launch if it is open. Returns a number for the thread, or 0, which is the caller's. */
static int64_t pool_join(int64_t launch) {
    while (launch % POOL_MAX_THREADS)
        if (__atomic_compare_exchange_n(&pool.launch, &launch, launch - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return launch % POOL_MAX_THREADS;
    return 0;
}

/* Sleep until there is a launch after `last_launch` or a wake request. Returns how many waits for the launch follow. */
static int pool_sleep(int64_t last_launch) {
    int has_launch, wake_requests;
    pthread_mutex_lock(&pool.lock);
    __atomic_fetch_add(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    for (wake_requests = pool.wake_requests;;) {
        has_launch = __atomic_load_n(&pool.launch, __ATOMIC_SEQ_CST) / POOL_MAX_THREADS != last_launch;
        if (has_launch || wake_requests != pool.wake_requests) break;
        pthread_cond_wait(&pool.wake, &pool.lock);
    }
    __atomic_fetch_sub(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool.lock);
    return has_launch ? 1 : POOL_WAKE_AHEAD_WAITS;
}

static void *pool_thread(void *last) {
    int64_t last_launch = (int64_t)(intptr_t)last;
    for (int waits = 1;;) {
        int has_launch = 0;
        for (; waits && !has_launch; waits--) has_launch =
            pool_wait_for_change(&pool.launch, last_launch, POOL_MAX_THREADS);
        waits = has_launch ? 1 : pool_sleep(last_launch);
        int64_t launch = __atomic_load_n(&pool.launch, __ATOMIC_SEQ_CST);
        if (launch / POOL_MAX_THREADS == last_launch) continue;
        last_launch = launch / POOL_MAX_THREADS;
        int64_t number = pool_join(launch);
        if (!number) continue;
        pool_do_tasks(number, 0, 0);
        __atomic_fetch_add(&pool.finished, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&pool.is_waiting, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.worker_finished);
            pthread_mutex_unlock(&pool.lock);
        }
    }
    return NULL;
}

/* After a fork only the thread that forked is left, and no launch runs in the child. */
static void pool_after_fork(void) {
    pthread_mutex_init(&pool.launching, NULL);
    pool.is_started = 0;
}

static void pool_watch_forks(void) { pthread_atfork(NULL, NULL, pool_after_fork); }

/* Start threads up to this number, or as many as the system allows. Signals stay with Python's threads. */
static void pool_start(int threads) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    sigset_t all, previous_mask;
    if (pool.is_started && pool.threads >= threads) return;
    pthread_once(&watched, pool_watch_forks);
    if (!pool.is_started) {
        pthread_mutex_init(&pool.lock, NULL);
        pthread_cond_init(&pool.wake, NULL);
        pthread_cond_init(&pool.worker_finished, NULL);
        pool.threads = pool.sleeping = pool.is_waiting = 0;
        pool.is_started = 1;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &previous_mask);
    for (; pool.threads < threads && pool.threads < POOL_MAX_THREADS - 1; pool.threads++) {
        pthread_t thread;
        void *last = (void *)(intptr_t)(__atomic_load_n(&pool.launch, __ATOMIC_RELAXED) / POOL_MAX_THREADS);
        if (pthread_create(&thread, NULL, pool_thread, last) != 0) break;
        pthread_detach(thread);
        if (pool.threads < POOL_MAX_SEPARATED) pool.separated[pool.threads] = thread;
        pool.avoided_cpu = -1;
    }
    pthread_sigmask(SIG_SETMASK, &previous_mask, NULL);
}

/* The number of processors that the calling thread may use; POOL_MAX_THREADS if the system does not say. */
static int pool_count_processors(void) {
#if defined(__linux__) && defined(CPU_SET)
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : POOL_MAX_THREADS;
#else
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < POOL_MAX_THREADS ? (int)online : POOL_MAX_THREADS;
#endif
}

/* The number of threads that have processors. Needs the mutex of launches. */
static int64_t pool_limit_threads(int64_t threads) {
    if (__atomic_load_n(&pool.launch, __ATOMIC_RELAXED) / POOL_MAX_THREADS % POOL_RECOUNT == 0 || !pool.processors)
        pool.processors = pool_count_processors();
    int processors = pool.assumed_processors ? pool.assumed_processors : pool.processors;
    processors -= __atomic_load_n(&pool.left_processors, __ATOMIC_RELAXED);
    return threads < processors ? threads : processors;
}

/* Have launches leave so many processors to other processes, from the next one on. */
static void pool_leave_processors(int processors) {
    __atomic_store_n(&pool.left_processors, processors, __ATOMIC_RELAXED);
}

/* Have launches use threads as if there were so many processors, so that tests see how threads interrupt each other;
   0: the number that there is. */
static void pool_assume_processors(int processors) {
    pthread_mutex_lock(&pool.launching);
    pool.assumed_processors = processors;
    pthread_mutex_unlock(&pool.launching);
}

/* Let threads run on other processors than the caller's. Where the others are busy as well, the system would wake a
   thread on the caller's, and the two would wait for each other for milliseconds. */
static void pool_avoid_caller_cpu(void) {
#if defined(__linux__) && defined(CPU_SET)
    cpu_set_t other_cpus;
    int caller_cpu = sched_getcpu();
    if (pool.threads > POOL_MAX_SEPARATED || caller_cpu < 0 || caller_cpu == pool.avoided_cpu) return;
    if (sched_getaffinity(0, sizeof other_cpus, &other_cpus) != 0) return;
    CPU_CLR(caller_cpu, &other_cpus);
    if (CPU_COUNT(&other_cpus) == 0) return;
    pool.avoided_cpu = caller_cpu;
    for (int thread = 0; thread < pool.threads; thread++)
        pthread_setaffinity_np(pool.separated[thread], sizeof other_cpus, &other_cpus);
#endif
}

/* Wake all threads. */
static void pool_wake_all(void) {
    pool_avoid_caller_cpu();
    pthread_mutex_lock(&pool.lock);
    pool.wake_requests++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

/* Wake threads for a launch where that pays. */
static void pool_wake(int length) {
    if (!__atomic_load_n(&pool.sleeping, __ATOMIC_SEQ_CST)) return;
    pool.burst = monotonic_nanoseconds() - pool.ended < POOL_SOON_NANOSECONDS ? pool.burst + 1 : 0;
    if (length != POOL_LONG && pool.burst < (length == POOL_SHORT ? 1 : POOL_BURST)) return;
    pool_wake_all();
}

/* Wake threads for a long launch that will follow soon. */
static void pool_wake_ahead(void) {
    if (!pool.is_started || !__atomic_load_n(&pool.sleeping, __ATOMIC_SEQ_CST)) return;
    if (pthread_mutex_trylock(&pool.launching) != 0) return;
    pool_wake_all();
    pthread_mutex_unlock(&pool.launching);
}

/* Wait until this many threads have finished. */
static void pool_wait(int64_t joined) {
    for (int64_t finished; (finished = __atomic_load_n(&pool.finished, __ATOMIC_ACQUIRE)) < joined;)
        if (!pool_wait_for_change(&pool.finished, finished, 1)) {
            pthread_mutex_lock(&pool.lock);
            __atomic_store_n(&pool.is_waiting, 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(&pool.finished, __ATOMIC_SEQ_CST) < joined)
                pthread_cond_wait(&pool.worker_finished, &pool.lock);
            __atomic_store_n(&pool.is_waiting, 0, __ATOMIC_SEQ_CST);
            pthread_mutex_unlock(&pool.lock);
        }
}

/* Divide all tasks but the first, which is the caller's, into shares. */
static void pool_share(int64_t tasks, int64_t shares) {
    pool.shares = shares;
    for (int64_t number = 0; number < shares; number++) {
        pool.share[number].next = number ? tasks * number / shares : 1;
        pool.share[number].end = tasks * (number + 1) / shares;
    }
}

/* Run all tasks by at most `threads` threads, the caller among them. Returns whether they were stopped. in_order:
   tasks begin in order, since one may wait for earlier ones. stop_check: what the caller polls, or NULL. */
static int pool_run(
    PoolTask function, void *closure, int64_t tasks, int64_t threads, int length, int in_order, PoolStopCheck stop_check
) {
    if (threads > tasks) threads = tasks;
    if (threads > POOL_MAX_THREADS) threads = POOL_MAX_THREADS;
    if (threads <= 1 || pthread_mutex_trylock(&pool.launching) != 0)
        return pool_run_alone(function, closure, tasks, stop_check);
    threads = pool_limit_threads(threads);
    if (threads <= 1) {
        pthread_mutex_unlock(&pool.launching);
        return pool_run_alone(function, closure, tasks, stop_check);
    }
    pool_start((int)threads - 1);
    pool.function = function;
    pool.closure = closure;
    pool_share(tasks, in_order ? 1 : threads);
    pool.finished = 0;
    int64_t launch = (__atomic_load_n(&pool.launch, __ATOMIC_RELAXED) / POOL_MAX_THREADS + 1) * POOL_MAX_THREADS;
    __atomic_store_n(&pool.launch, launch + threads - 1, __ATOMIC_SEQ_CST);
    pool_wake(length);
    int64_t last_check = stop_check ? monotonic_nanoseconds() : 0;
    function(0, closure);
    int is_stopped = pool_do_tasks(0, stop_check, last_check);
    pool_wait(launch + threads - 1 - __atomic_exchange_n(&pool.launch, launch, __ATOMIC_SEQ_CST));
    pool.ended = monotonic_nanoseconds();
    pthread_mutex_unlock(&pool.launching);
    return is_stopped;
}

static int pool_is_available(void) { return 1; }

#else

static int pool_is_available(void) { return 0; }
static void pool_wake_ahead(void) {}
static void pool_assume_processors(int processors) { (void)processors; }
static void pool_leave_processors(int processors) { (void)processors; }
static int pool_run(
    PoolTask function, void *closure, int64_t tasks, int64_t threads, int length, int in_order, PoolStopCheck stop_check
) {
    (void)threads, (void)length, (void)in_order;
    return pool_run_alone(function, closure, tasks, stop_check);
}

#endif
#endif
