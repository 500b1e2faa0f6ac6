/* Threads that share the tasks of one launch at a time.

   The calling thread takes tasks as well, and waits for no thread that has not taken one yet: on a machine that is
   busy otherwise it does all of them. Each thread begins with a share of neighbouring tasks, so that it reads memory in
   order, and in a loop the same as before; then it takes what is left of the others' shares. Where tasks may wait for
   earlier ones, all are one share. To wake threads takes some 0.1 ms, for which launches do not wait that are not
   long, unless they follow soon on others: then the threads will still be awake for the next; brief ones only after
   many of them, as in a loop. Who knows that a long launch will follow can have them woken before. Threads that are
   awake share the tasks of all. A launch while another one runs is done
   by its caller alone. Threads start with the first launch, sleep between launches, and call nothing of Python's;
   where they are few, they keep off the caller's processor (Linux). A child process after a fork starts threads of its
   own.

   Between tasks the calling thread asks now and then whether to stop. Then no further task is taken; those that were
   taken end, and with them all that they may wait for. */

#ifndef NIMBLEHLO_TASK_POOL_H
#define NIMBLEHLO_TASK_POOL_H

#include <stdint.h>
#include <time.h>

typedef void (*PoolTask)(int64_t task, void *closure);

/* Whether to stop. */
typedef int (*PoolQuestion)(void);

/* Time between two questions. */
enum { POOL_PATIENCE_NANOSECONDS = 50000000 };

static int64_t pool_nanoseconds(void) {
    struct timespec now;
#if defined(_WIN32)
    timespec_get(&now, TIME_UTC);
#else
    clock_gettime(CLOCK_MONOTONIC, &now);
#endif
    return now.tv_sec * (int64_t)1000000000 + now.tv_nsec;
}

/* Ask where it is time to; whether to stop. */
static int pool_asks(PoolQuestion stops, int64_t *asked) {
    int64_t now = pool_nanoseconds();
    if (now - *asked < POOL_PATIENCE_NANOSECONDS) return 0;
    *asked = now;
    return stops();
}

/* All tasks, one after the other; whether they were stopped. */
static int pool_run_alone(PoolTask function, void *closure, int64_t tasks, PoolQuestion stops) {
    int64_t asked = stops && tasks > 1 ? pool_nanoseconds() : 0;
    for (int64_t task = 0; task < tasks; task++) {
        if (stops && task && pool_asks(stops, &asked)) return 1;
        function(task, closure);
    }
    return 0;
}

#if (defined(__unix__) || defined(__APPLE__)) && defined(__GNUC__)

#include <pthread.h>
#include <signal.h>
#if defined(__linux__)
#include <sched.h>
#endif

enum { POOL_MOST_THREADS = 256, POOL_SPINS = 1000, POOL_SOON_NANOSECONDS = 30000, POOL_BURST = 16 };

/* How many times as long threads wait for a launch that they were told of. */
enum { POOL_ALERT = 5 };

/* So many threads at most are kept off the caller's processor: with more, some processor is idle. */
enum { POOL_MOST_APART = 8 };

/* How long a launch takes. */
enum { POOL_BRIEF, POOL_SHORT, POOL_LONG };

/* Looks at what is waited for between pauses: pauses side by side are what a virtual machine takes for idling. */
enum { POOL_LOOKS = 32 };

#define POOL_LINE __attribute__((aligned(64)))

/* Tasks of which those from `next` on are not taken. */
typedef struct {
    POOL_LINE int64_t next;
    int64_t end;
} PoolShare;

/* What threads look at while others write has lines of cache of its own. */
static struct {
    pthread_mutex_t launching;
    int64_t ended, burst;
    int is_started, threads;
    pthread_t apart[POOL_MOST_APART];
    int apart_from;
    POOL_LINE pthread_mutex_t lock;
    pthread_cond_t wake, left;
    int sleeping, is_waiting, alerts;
    /* POOL_MOST_THREADS times the launch's number, and how many threads may still join it. */
    POOL_LINE int64_t launch;
    POOL_LINE PoolTask function;
    void *closure;
    int64_t shares;
    PoolShare share[POOL_MOST_THREADS];
    POOL_LINE int64_t finished;
} pool = {.launching = PTHREAD_MUTEX_INITIALIZER};

/* Tasks that nobody has taken, first those of one share; whether they were stopped. Without a question they are not. */
static int pool_do_tasks(int64_t first, PoolQuestion stops, int64_t asked) {
    for (int64_t number = 0; number < pool.shares; number++) {
        PoolShare *share = &pool.share[(first + number) % pool.shares];
        while (__atomic_load_n(&share->next, __ATOMIC_RELAXED) < share->end) {
            if (stops && pool_asks(stops, &asked)) {
                for (int64_t each = 0; each < pool.shares; each++)
                    __atomic_store_n(&pool.share[each].next, pool.share[each].end, __ATOMIC_RELAXED);
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

/* Wait a while for a number to change; whether it did. */
static int pool_changes(const int64_t *number, int64_t from, int64_t unit) {
    for (int spin = 0; spin < POOL_SPINS; spin++, pool_pause())
        for (int look = 0; look < POOL_LOOKS; look++)
            if (__atomic_load_n(number, __ATOMIC_ACQUIRE) / unit != from) return 1;
    return 0;
}

/* Join a launch if it still may be: a number for the thread, else 0, which is the caller's. */
static int64_t pool_joins(int64_t launch) {
    while (launch % POOL_MOST_THREADS)
        if (__atomic_compare_exchange_n(&pool.launch, &launch, launch - 1, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
            return launch % POOL_MOST_THREADS;
    return 0;
}

/* Sleep until a launch follows on the one that was seen, or is announced; how long to wait for it then. */
static int pool_sleep(int64_t seen) {
    int is_there, alerts;
    pthread_mutex_lock(&pool.lock);
    __atomic_fetch_add(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    for (alerts = pool.alerts;;) {
        is_there = __atomic_load_n(&pool.launch, __ATOMIC_SEQ_CST) / POOL_MOST_THREADS != seen;
        if (is_there || alerts != pool.alerts) break;
        pthread_cond_wait(&pool.wake, &pool.lock);
    }
    __atomic_fetch_sub(&pool.sleeping, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_unlock(&pool.lock);
    return is_there ? 1 : POOL_ALERT;
}

static void *pool_thread(void *last) {
    int64_t seen = (int64_t)(intptr_t)last;
    for (int times = 1;;) {
        int is_there = 0;
        for (; times && !is_there; times--) is_there = pool_changes(&pool.launch, seen, POOL_MOST_THREADS);
        times = is_there ? 1 : pool_sleep(seen);
        int64_t launch = __atomic_load_n(&pool.launch, __ATOMIC_SEQ_CST);
        if (launch / POOL_MOST_THREADS == seen) continue;
        seen = launch / POOL_MOST_THREADS;
        int64_t number = pool_joins(launch);
        if (!number) continue;
        pool_do_tasks(number, 0, 0);
        __atomic_fetch_add(&pool.finished, 1, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&pool.is_waiting, __ATOMIC_SEQ_CST)) {
            pthread_mutex_lock(&pool.lock);
            pthread_cond_signal(&pool.left);
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

/* Have so many threads, or as many as the system gives. Signals stay with the threads of Python. */
static void pool_start(int threads) {
    static pthread_once_t watched = PTHREAD_ONCE_INIT;
    sigset_t all, before;
    if (pool.is_started && pool.threads >= threads) return;
    pthread_once(&watched, pool_watch_forks);
    if (!pool.is_started) {
        pthread_mutex_init(&pool.lock, NULL);
        pthread_cond_init(&pool.wake, NULL);
        pthread_cond_init(&pool.left, NULL);
        pool.threads = pool.sleeping = pool.is_waiting = 0;
        pool.is_started = 1;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    for (; pool.threads < threads && pool.threads < POOL_MOST_THREADS - 1; pool.threads++) {
        pthread_t thread;
        void *last = (void *)(intptr_t)(__atomic_load_n(&pool.launch, __ATOMIC_RELAXED) / POOL_MOST_THREADS);
        if (pthread_create(&thread, NULL, pool_thread, last) != 0) break;
        pthread_detach(thread);
        if (pool.threads < POOL_MOST_APART) pool.apart[pool.threads] = thread;
        pool.apart_from = -1;
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

/* Let threads run on other processors than the caller's. Where the others have work as well, the system would wake
   some thread on the caller's, and the two would wait for each other, for milliseconds. */
static void pool_part(void) {
#if defined(__linux__) && defined(CPU_SET)
    cpu_set_t others;
    int here = sched_getcpu();
    if (pool.threads > POOL_MOST_APART || here < 0 || here == pool.apart_from) return;
    if (sched_getaffinity(0, sizeof others, &others) != 0) return;
    CPU_CLR(here, &others);
    if (CPU_COUNT(&others) == 0) return;
    pool.apart_from = here;
    for (int thread = 0; thread < pool.threads; thread++)
        pthread_setaffinity_np(pool.apart[thread], sizeof others, &others);
#endif
}

/* Wake all threads. */
static void pool_rouse(void) {
    pool_part();
    pthread_mutex_lock(&pool.lock);
    pool.alerts++;
    pthread_cond_broadcast(&pool.wake);
    pthread_mutex_unlock(&pool.lock);
}

/* Wake threads for a launch where that pays. */
static void pool_wake(int length) {
    if (!__atomic_load_n(&pool.sleeping, __ATOMIC_SEQ_CST)) return;
    pool.burst = pool_nanoseconds() - pool.ended < POOL_SOON_NANOSECONDS ? pool.burst + 1 : 0;
    if (length != POOL_LONG && pool.burst < (length == POOL_SHORT ? 1 : POOL_BURST)) return;
    pool_rouse();
}

/* Wake threads for a long launch that will follow soon. */
static void pool_alert(void) {
    if (!pool.is_started || !__atomic_load_n(&pool.sleeping, __ATOMIC_SEQ_CST)) return;
    if (pthread_mutex_trylock(&pool.launching) != 0) return;
    pool_rouse();
    pthread_mutex_unlock(&pool.launching);
}

/* Wait until so many threads have finished. */
static void pool_wait(int64_t joined) {
    for (int64_t finished; (finished = __atomic_load_n(&pool.finished, __ATOMIC_ACQUIRE)) < joined;)
        if (!pool_changes(&pool.finished, finished, 1)) {
            pthread_mutex_lock(&pool.lock);
            __atomic_store_n(&pool.is_waiting, 1, __ATOMIC_SEQ_CST);
            while (__atomic_load_n(&pool.finished, __ATOMIC_SEQ_CST) < joined)
                pthread_cond_wait(&pool.left, &pool.lock);
            __atomic_store_n(&pool.is_waiting, 0, __ATOMIC_SEQ_CST);
            pthread_mutex_unlock(&pool.lock);
        }
}

/* Divide the tasks behind the first one, which is the caller's, into shares. */
static void pool_share(int64_t tasks, int64_t shares) {
    pool.shares = shares;
    for (int64_t number = 0; number < shares; number++) {
        pool.share[number].next = number ? tasks * number / shares : 1;
        pool.share[number].end = tasks * (number + 1) / shares;
    }
}

/* Run all tasks by at most so many threads, the calling one among them; whether they were stopped.
   in_order: whether a task may wait for earlier ones, and is to be taken after them.
   stops: what the calling thread asks; none: they are not stopped. */
static int pool_run(
    PoolTask function, void *closure, int64_t tasks, int64_t threads, int length, int in_order, PoolQuestion stops
) {
    if (threads > tasks) threads = tasks;
    if (threads > POOL_MOST_THREADS) threads = POOL_MOST_THREADS;
    if (threads <= 1 || pthread_mutex_trylock(&pool.launching) != 0)
        return pool_run_alone(function, closure, tasks, stops);
    pool_start((int)threads - 1);
    pool.function = function;
    pool.closure = closure;
    pool_share(tasks, in_order ? 1 : threads);
    pool.finished = 0;
    int64_t launch = (__atomic_load_n(&pool.launch, __ATOMIC_RELAXED) / POOL_MOST_THREADS + 1) * POOL_MOST_THREADS;
    __atomic_store_n(&pool.launch, launch + threads - 1, __ATOMIC_SEQ_CST);
    pool_wake(length);
    int64_t asked = stops ? pool_nanoseconds() : 0;
    function(0, closure);
    int is_stopped = pool_do_tasks(0, stops, asked);
    pool_wait(launch + threads - 1 - __atomic_exchange_n(&pool.launch, launch, __ATOMIC_SEQ_CST));
    pool.ended = pool_nanoseconds();
    pthread_mutex_unlock(&pool.launching);
    return is_stopped;
}

static int pool_is_offered(void) { return 1; }

#else

static int pool_is_offered(void) { return 0; }
static void pool_alert(void) {}
static int pool_run(
    PoolTask function, void *closure, int64_t tasks, int64_t threads, int length, int in_order, PoolQuestion stops
) {
    (void)threads, (void)length, (void)in_order;
    return pool_run_alone(function, closure, tasks, stops);
}

#endif
#endif
