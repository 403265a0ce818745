/* reign.c - claiming a term and renewing its lease; see reign.h.
 *
 * Owns the one thread that renews.  Invariant: until_us is moved only while the lease holds, by a
 * renewal whose write ended while it held.  So whoever sees no renewal for a whole lease, and then
 * takes the next term, can be sure that ours is over. */
#include "journal/reign.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/process/failpoint.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"

#define RENEW_PART 4             /* of a lease */
#define TELL_US 250000           /* a standby hears of a log that grows so often */
#define FOREVER_LOOK_US 60000000 /* without a lease there is nothing to renew */

struct reign {
    struct reign_config config; /* config.record: the thread's, while it runs */
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under lock */
    _Atomic int64_t until_us;
    atomic_bool lost;
};

/* The planted fault that a check of histories has to find: a writer to whom its term never ends. */
static bool is_deaf(void)
{
    return failpoint("journal.term.ignored");
}

bool reign_holds(struct reign *r)
{
    if (is_deaf())
        return true;
    return !atomic_load(&r->lost) && lease_holds(atomic_load(&r->until_us), term_clock_us()) &&
           !r->config.store.is_over(r->config.store.ctx, r->config.record.term);
}

int64_t reign_left_us(struct reign *r)
{
    int64_t until = atomic_load(&r->until_us);

    if (is_deaf())
        return INT64_MAX;
    return until == INT64_MAX ? until : until - term_clock_us();
}

/* Write the record again.  0, or why the reign is lost. */
static const char *renew_lease(struct reign *r)
{
    struct term_record *t = &r->config.record;
    int64_t began = term_clock_us();
    int err;

    t->renewal++;
    t->durable = r->config.durable(r->config.ctx);
    err = r->config.store.renew(r->config.store.ctx, t);
    if (err < 0)
        log_limited(LOG_ERROR, "the lease of term %u cannot be renewed: %s", t->term,
                    strerrordesc_np(-err));
    if (!lease_holds(atomic_load(&r->until_us), term_clock_us()))
        return "the lease ran out before it was renewed";
    if (r->config.store.is_over(r->config.store.ctx, t->term))
        return "another controller has taken the next term";
    if (err == 0)
        atomic_store(&r->until_us, lease_until_us(t, began));
    return NULL;
}

/* Wait for so long; false: the end was asked for. */
static bool wait_us(struct reign *r, int64_t us)
{
    struct timespec until;
    bool stop;

    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_sec += us / USEC_PER_SEC;
    until.tv_nsec += us % USEC_PER_SEC * 1000;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    (void)pthread_mutex_lock(&r->lock); /* a plain mutex, held by no one for long */
    while (!r->stop && pthread_cond_timedwait(&r->wake, &r->lock, &until) != ETIMEDOUT)
        ;
    stop = r->stop;
    (void)pthread_mutex_unlock(&r->lock);
    return !stop;
}

static void *renew_main(void *arg)
{
    struct reign *r = arg;
    int64_t renewed = term_clock_us(), renew_us, tell_us;
    const char *why = NULL;

    threadname_set(pthread_self(), "lease");
    renew_us = r->config.record.lease_ms ? (int64_t)r->config.record.lease_ms * 1000 / RENEW_PART
                                         : FOREVER_LOOK_US;
    tell_us = MIN(renew_us, (int64_t)TELL_US);
    while (!why && wait_us(r, tell_us)) {
        bool grew = r->config.durable(r->config.ctx) != r->config.record.durable;

        if (!grew && term_clock_us() - renewed < renew_us)
            continue;
        renewed = term_clock_us();
        why = renew_lease(r);
        if (why && is_deaf())
            why = NULL;
    }
    if (why) {
        atomic_store(&r->lost, true);
        r->config.lost(r->config.ctx, why);
    }
    return NULL;
}

static int start_thread(struct reign *r)
{
    pthread_condattr_t attr;
    int e = pthread_condattr_init(&attr);

    if (e)
        return -e;
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC); /* cannot fail: valid arguments */
    (void)pthread_mutex_init(&r->lock, NULL);                /* cannot fail with these attributes */
    (void)pthread_cond_init(&r->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    return -pthread_create(&r->thread, NULL, renew_main, r);
}

int reign_begin(const struct reign_config *config, struct reign **ret_reign)
{
    struct reign *r = calloc(1, sizeof(*r));
    int64_t began = term_clock_us();
    int e;

    if (!r)
        return -ENOMEM;
    r->config = *config;
    r->config.record.durable = config->durable(config->ctx);
    atomic_store(&r->until_us, lease_until_us(&config->record, began));
    e = config->store.claim(config->store.ctx, &r->config.record);
    if (e == 0) {
        config->store.forget(config->store.ctx, config->record.term);
        e = start_thread(r);
    }
    if (e < 0) {
        free(r);
        return e;
    }
    *ret_reign = r;
    return 0;
}

struct reign *reign_end(struct reign *r, const char *successor)
{
    struct term_record *t;

    if (!r)
        return NULL;
    (void)pthread_mutex_lock(&r->lock);
    r->stop = true;
    (void)pthread_cond_signal(&r->wake);
    (void)pthread_mutex_unlock(&r->lock);
    (void)pthread_join(r->thread, NULL); /* our own thread, joined once */
    t = &r->config.record;
    if (reign_holds(r)) {
        t->renewal++;
        t->flags |= TERM_RELEASED;
        t->durable = r->config.durable(r->config.ctx);
        (void)snprintf(t->successor, sizeof(t->successor), "%s", successor ? successor : "");
        if (r->config.store.renew(r->config.store.ctx, t) < 0)
            log_error("term %u cannot be released: its lease runs out instead", t->term);
    }
    (void)pthread_cond_destroy(&r->wake);
    (void)pthread_mutex_destroy(&r->lock);
    free(r);
    return NULL;
}
