/* restwatch_impl.h - what the parts of the watch over HTTP share (private to rest/watch/)
 *
 * hub->lock guards the sources, their rings and the list of watchers.  A source belongs to its
 * thread, which frees it once nobody uses it; a watcher belongs to the loop's thread. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/strbuf.h"
#include "rest/restlink.h"
#include "rest/watch/watchring.h"
#include "rest/watch/watchwords.h"

#define WATCH_SOURCES_MAX 256u /* connections to slurmctld, each with a thread */
#define WATCH_SOURCES_OWN 16u  /* of one user, with as many tokens */
#define WATCH_STARTING_MAX 64u /* whose callers slurmctld has not believed yet */
#define WATCH_LATE_MAX 64u     /* of these: for watchers that begin further back */
#define WATCH_LATE_OWN 16u     /* ... of one caller */
#define WATCHERS_MAX 8192u
#define WATCHERS_OWN 4096u            /* of one caller */
#define WATCH_RINGS_BYTES (64u << 20) /* of all sources, in equal shares of at least ... */
#define WATCH_RING_LEAST (1u << 20)
#define WATCH_LATE_BYTES (256u << 10)

enum source_state { SOURCE_STARTING, SOURCE_LIVE, SOURCE_ENDED };

/* One connection to slurmctld: every change that its caller may see. */
struct watch_source {
    struct watch_source *next;
    struct watch_hub *hub;
    char *token, *name; /* the caller; NULL: none */
    char *user;         /* whom the token names; NULL: none */
    bool believed;      /* slurmctld said that it is so */
    /* For one watcher that is further back: waits for him when its ring is full.  Others drop the
     * oldest. */
    bool late;
    enum source_state state;
    unsigned status; /* of the answer when it ended: 401, 503 */
    char why[256];   /* likewise: the sentence */
    struct watch_ring ring;
    unsigned resets; /* so often changes were lost: the ring began anew */
    unsigned users;  /* watchers, and requests that wait for the start */
    int64_t unused_since_us;
    int64_t lost_us; /* since when slurmctld is not heard; 0: it is */
    bool wants_since;
    struct watch_at since; /* ask from here on */
    int fd;                /* to wake its thread from a read; -1: none */
    atomic_bool objects;   /* a watcher wants jobs beside their changes */
    bool stopping;
};

struct watch_hub {
    const struct conf *conf;
    struct rest_links *links;
    pthread_mutex_t lock;
    pthread_cond_t changed; /* a source started, ended or has room; the hub stops */
    struct watch_source *sources;
    unsigned n_sources, n_threads;
    struct watcher *watchers;
    unsigned n_watchers;
    bool stopping;
    int wake_fd, epoll_fd;
    bool loop_runs;
    pthread_t loop;
};

struct watcher {
    struct watcher *prev, *next;
    struct watch_source *source; /* used */
    struct watch_words words;
    int fd;
    bool sse; /* else a line of JSON for each */
    bool fresh, closing, dead, waits_out;
    bool away;          /* he was told that slurmctld is */
    struct watch_at at; /* sent, or not wanted, up to here */
    uint64_t seq;       /* the next item */
    unsigned resets;
    struct strbuf out; /* taken by the socket up to out_at */
    size_t out_at;
    int64_t sent_us; /* monotonic: the last byte that the socket took */
    size_t heard;    /* bytes that the other end sent meanwhile */
};

void watch_wake(struct watch_hub *hub); /* the loop looks at everybody (watchsource.c) */
