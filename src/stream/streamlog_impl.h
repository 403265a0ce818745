/* streamlog_impl.h - the object of streamlog.c and streampeer.c */
#pragma once

#include <pthread.h>
#include <time.h>

#include "base/timefmt.h"
#include "stream/streamid.h"
#include "stream/streamlog.h"
#include "stream/witcall.h"
#include "wire/shared.h"

struct client;

struct stream_peer {
    struct streamlog *l;
    char host[PACT_HOST_BYTES], addr[STREAM_HOST_MAX];
    pthread_t thread;
    bool started;
    /* under the log's lock */
    struct client *client; /* while a call is under way, or NULL: shut down to end it */
    int index;             /* in pact; -1: it does not follow */
    uint64_t acked_bytes;  /* of l->bytes, when it last had everything */
    int64_t current_us;    /* when that was; 0: never */
    struct aside aside;    /* as it told last */
    uint64_t told;         /* what it was told to be acknowledged */
    char why[STREAMLOG_WHY_BYTES];
    /* the thread's */
    uint64_t session, next, pushed_lsn;
    int64_t sent_us, again_us;
    uint8_t *buf; /* records that were read from files */
    size_t buf_cap;
    int part_fd; /* of the snapshot that is sent, else -1 */
    uint64_t part_lsn, part_at, part_total;
};

struct streamlog {
    struct journal_remote remote;
    struct streamlog_config config; /* dir is ours */
    int dir_fd;
    struct streamid id;
    uint64_t begin;       /* the first record of our term */
    struct witcall *call; /* the keeper's */
    struct stream_peer peers[PACT_SET_MAX];
    size_t n_peers;
    pthread_t keeper;
    bool started;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* something under the lock */
    pthread_cond_t keep;    /* to the keeper: the end */
    /* under lock */
    bool stop, begun;
    struct pact pact;
    int64_t confirmed_us[PACT_PEERS_MAX]; /* when what was answered last was asked */
    struct shared_bytes *offer;           /* the batch that is under way, or NULL */
    uint64_t offer_first, offer_last;
    uint64_t bytes; /* offered in all */
    uint64_t push_lsn, push_keep;
    uint64_t witness_errors;
    bool witness_answers;
    struct aside aside;
};

/* Wait up to a moment of CLOCK_MONOTONIC; with the lock.  The caller looks again at what it waits
 * for. */
static inline void streamlog_wait_cond(struct streamlog *l, pthread_cond_t *cond,
                                       int64_t until_mono_us)
{
    struct timespec until = { .tv_sec = until_mono_us / USEC_PER_SEC,
                              .tv_nsec = until_mono_us % USEC_PER_SEC * 1000 };

    (void)pthread_cond_timedwait(cond, &l->lock, &until); /* the time is over: as good */
}

static inline void streamlog_wait(struct streamlog *l, int64_t until_mono_us)
{
    streamlog_wait_cond(l, &l->changed, until_mono_us);
}
