/* patience.c - see patience.h */
#include "dbd/patience.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "acct/sql/sql.h"
#include "base/cleanup.h"
#include "base/log.h"

#define LOOK_MS 200 /* while something ends */

struct patience {
    pthread_t thread;
    int signals; /* readable while one waits to be taken, which this object never does */
    int wake;
    pthread_mutex_t lock;
    bool over, ends, hung_up; /* under the lock */
    int64_t since_us;         /* the thread's own; 0: nothing ends */
};

/* The lock is held. */
static bool has_end(const struct patience *p)
{
    struct pollfd fd = { .fd = p->signals, .events = POLLIN };

    return p->ends || poll(&fd, 1, 0) > 0;
}

/* How long to wait then. */
static int look_around(struct patience *p)
{
    int64_t now = now_mono_us();

    if (!has_end(p)) {
        p->since_us = 0;
        return -1;
    }
    if (!p->since_us)
        p->since_us = now;
    if (!p->hung_up && now - p->since_us >= PATIENCE_US) {
        log_info("the database has not answered for %d seconds: leaving it",
                 (int)(PATIENCE_US / USEC_PER_SEC));
        sql_hang_up(true);
        p->hung_up = true;
    }
    return LOOK_MS;
}

static void *watch_ends(void *arg)
{
    struct patience *p = arg;
    int wait_ms = -1;

    for (;;) {
        /* a signal that waits would be seen at once, again and again */
        struct pollfd fds[] = { { .fd = p->wake, .events = POLLIN },
                                { .fd = p->signals, .events = POLLIN } };
        uint64_t n;
        bool over;

        (void)poll(fds, wait_ms < 0 ? 2 : 1, wait_ms); /* looks again either way */
        (void)!read(p->wake, &n, sizeof(n));           /* does not block */
        pthread_mutex_lock(&p->lock);
        over = p->over;
        wait_ms = over ? 0 : look_around(p);
        pthread_mutex_unlock(&p->lock);
        if (over)
            return NULL;
    }
}

static void wake_thread(struct patience *p)
{
    const uint64_t one = 1;

    (void)!write(p->wake, &one, sizeof(one)); /* fails when it is awake already */
}

int patience_new(struct patience **ret)
{
    struct patience *p = calloc(1, sizeof(*p));
    sigset_t set;
    int r;

    if (!p)
        return -ENOMEM;
    sigemptyset(&set);
    sigaddset(&set, SIGTERM); /* both are valid signals */
    sigaddset(&set, SIGINT);
    pthread_mutex_init(&p->lock, NULL);
    p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    r = p->wake < 0 || p->signals < 0 ? -errno : -pthread_create(&p->thread, NULL, watch_ends, p);
    if (r < 0) {
        p->over = true; /* there is no thread */
        (void)patience_free(p);
        return r;
    }
    (void)pthread_setname_np(p->thread, "patience"); /* a label for people */
    *ret = p;
    return 0;
}

struct patience *patience_free(struct patience *p)
{
    bool runs;

    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    runs = !p->over;
    p->over = true;
    pthread_mutex_unlock(&p->lock);
    if (runs) {
        wake_thread(p);
        pthread_join(p->thread, NULL);
    }
    if (p->wake >= 0)
        (void)close(p->wake); /* nothing was written that matters, as in the next */
    if (p->signals >= 0)
        (void)close(p->signals);
    pthread_mutex_destroy(&p->lock);
    free(p);
    return NULL;
}

static void set_ends(struct patience *p, bool ends)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->ends = ends;
    if (!ends && p->hung_up) {
        sql_hang_up(false);
        p->hung_up = false;
    }
    pthread_mutex_unlock(&p->lock);
    wake_thread(p);
}

void patience_begin(struct patience *p)
{
    set_ends(p, true);
}

void patience_end(struct patience *p)
{
    set_ends(p, false);
}
