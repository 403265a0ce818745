/* threads.h - a daemon's threads one at a time, by a clock that the script moves
 *
 * A target that includes this links with --wrap for the functions below.  Threads that the code
 * under test starts run only while nobody else does, from threads_run() until they wait for a
 * condition; a condition that was signalled, or a time that has come, lets them go on.  The same
 * input thus means the same course, however busy the machine is. */
#pragma once

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"

#define FTHREADS_MAX 64u
#define CLOCK_START_US (INT64_C(1790000000) * 1000000)

static int64_t clock_us;  /* since the input's beginning */
static bool threads_ours; /* else they are the fuzzer's own */

int64_t __wrap_now_us(void);
int64_t __wrap_now_mono_us(void);
int __wrap_auth_random(void *buf, size_t len);
int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __wrap_pthread_join(pthread_t t, void **ret);
int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *ts);
int __wrap_pthread_cond_signal(pthread_cond_t *c);
int __wrap_pthread_cond_broadcast(pthread_cond_t *c);
int __real_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg);
int __real_pthread_join(pthread_t t, void **ret);
int __real_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m);
int __real_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *ts);
int __real_pthread_cond_signal(pthread_cond_t *c);
int __real_pthread_cond_broadcast(pthread_cond_t *c);

int64_t __wrap_now_us(void)
{
    return CLOCK_START_US + clock_us;
}

int64_t __wrap_now_mono_us(void)
{
    return USEC_PER_SEC * 1000 + clock_us;
}

static uint8_t random_next;

int __wrap_auth_random(void *buf, size_t len)
{
    memset(buf, ++random_next, len);
    return 0;
}

struct fthread {
    pthread_t id;
    void *(*fn)(void *arg);
    void *arg;
    sem_t go, back;
    enum { FT_FREE, FT_READY, FT_RUNS, FT_WAITS, FT_OVER } state;
    const pthread_cond_t *cond;
    int64_t until_us; /* monotonic */
    bool late;
};

static struct fthread fthreads[FTHREADS_MAX];
static __thread struct fthread *fthread_me;

static void *fthread_main(void *arg)
{
    struct fthread *t = arg;

    fthread_me = t;
    (void)sem_wait(&t->go);
    (void)t->fn(t->arg);
    t->state = FT_OVER;
    (void)sem_post(&t->back);
    return NULL;
}

static void wait_sem(sem_t *sem)
{
    while (sem_wait(sem) < 0)
        assert(errno == EINTR); /* the fuzzer's alarm */
}

static bool fthread_runs(struct fthread *t)
{
    if (t->state == FT_WAITS && __wrap_now_mono_us() >= t->until_us) {
        t->late = true;
        t->state = FT_READY;
    }
    if (t->state != FT_READY)
        return false;
    t->state = FT_RUNS;
    (void)sem_post(&t->go);
    wait_sem(&t->back);
    return true;
}

/* Let every thread run until all wait; false: none could. */
static bool threads_run(void)
{
    bool any = false, more = true;

    for (unsigned rounds = 0; more && rounds < 10000; rounds++) {
        more = false;
        for (unsigned i = 0; i < FTHREADS_MAX; i++)
            more |= fthread_runs(&fthreads[i]);
        any |= more;
    }
    assert(!more); /* threads that keep each other busy for ever */
    return any;
}

int __wrap_pthread_create(pthread_t *t, const pthread_attr_t *attr, void *(*fn)(void *), void *arg)
{
    struct fthread *f = fthreads;
    int r;

    if (!threads_ours)
        return __real_pthread_create(t, attr, fn, arg);
    while (f->state != FT_FREE)
        assert(++f < fthreads + FTHREADS_MAX);
    *f = (struct fthread){ .fn = fn, .arg = arg, .state = FT_READY };
    (void)sem_init(&f->go, 0, 0);
    (void)sem_init(&f->back, 0, 0);
    r = __real_pthread_create(&f->id, NULL, fthread_main, f);
    assert(r == 0);
    *t = f->id;
    return 0;
}

int __wrap_pthread_join(pthread_t id, void **ret)
{
    for (unsigned i = 0; threads_ours && i < FTHREADS_MAX; i++) {
        struct fthread *t = &fthreads[i];

        if (t->state == FT_FREE || !pthread_equal(t->id, id))
            continue;
        while (t->state != FT_OVER)
            if (!threads_run()) /* it waits for a time: that comes */
                clock_us = t->until_us - __wrap_now_mono_us() + clock_us;
        (void)__real_pthread_join(id, ret);
        (void)sem_destroy(&t->go);
        (void)sem_destroy(&t->back);
        t->state = FT_FREE;
        return 0;
    }
    return __real_pthread_join(id, ret);
}

static int fthread_wait(pthread_cond_t *c, pthread_mutex_t *m, int64_t until_us)
{
    struct fthread *t = fthread_me;
    bool late = false;

    (void)pthread_mutex_unlock(m);
    if (t) {
        t->cond = c;
        t->until_us = until_us;
        t->late = false;
        t->state = FT_WAITS;
        (void)sem_post(&t->back);
        wait_sem(&t->go);
        late = t->late;
    } else if (!threads_run()) {
        assert(until_us != INT64_MAX); /* nobody will ever wake it */
        late = true;
    }
    (void)pthread_mutex_lock(m);
    return late ? ETIMEDOUT : 0;
}

int __wrap_pthread_cond_wait(pthread_cond_t *c, pthread_mutex_t *m)
{
    return threads_ours ? fthread_wait(c, m, INT64_MAX) : __real_pthread_cond_wait(c, m);
}

int __wrap_pthread_cond_timedwait(pthread_cond_t *c, pthread_mutex_t *m, const struct timespec *ts)
{
    if (!threads_ours)
        return __real_pthread_cond_timedwait(c, m, ts);
    return fthread_wait(c, m, (int64_t)ts->tv_sec * USEC_PER_SEC + ts->tv_nsec / 1000);
}

static int fthread_wake(const pthread_cond_t *c)
{
    for (unsigned i = 0; i < FTHREADS_MAX; i++)
        if (fthreads[i].state == FT_WAITS && fthreads[i].cond == c)
            fthreads[i].state = FT_READY;
    return 0;
}

int __wrap_pthread_cond_signal(pthread_cond_t *c)
{
    return threads_ours ? fthread_wake(c) : __real_pthread_cond_signal(c);
}

int __wrap_pthread_cond_broadcast(pthread_cond_t *c)
{
    return threads_ours ? fthread_wake(c) : __real_pthread_cond_broadcast(c);
}

/* Many small pieces come and go: a long memory of freed ones and deep traces cost more than they
 * tell. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "malloc_context_size=12:quarantine_size_mb=32";
}
