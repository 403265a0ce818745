/* watch_impl.h - what watch.c, watchfilter.c and watchlate.c share */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "ctld/watch/watch.h"
#include "ctld/watch/watchproj.h"
#include "model/tables/idmap.h"
#include "wire/shared.h"

#define WATCH_BATCH_BYTES (128u * 1024)
#define WATCH_RING 4096u              /* batches */
#define WATCH_RING_BYTES (32u << 20)  /* of memory */
#define WATCH_OUT_BYTES (512u * 1024) /* queued to one watcher; more waits for its socket */
#define WATCH_GROUPS 16u              /* I/O threads */

struct watch_pos { /* everything up to and with it has been sent */
    uint64_t lsn;
    uint32_t index;
};

/* A change in a batch: what filters look at, and where its bytes are. */
struct watch_item {
    struct watch_pos pos;
    uint32_t entity, id, array_id, uid, states;
    uint32_t name, partition; /* offsets of strings in the batch's text */
    size_t at, len;           /* in body: tag, length, WatchChange */
};

struct watch_batch {
    atomic_uint refs;
    uint64_t first, last; /* records it covers */
    struct watch_item *items;
    size_t n, cap;
    char *text;
    size_t text_len, text_cap;
    uint8_t *bytes; /* while it is made */
    size_t len, bytes_cap;
    struct shared_bytes *body; /* the whole, as a WatchBatch */
};

struct watch_filter; /* watchfilter.c */

struct watcher {
    struct watcher *prev, *next; /* in its group */
    struct watcher *late_next;
    struct wgroup *group;
    struct conn *conn; /* held */
    uint32_t id;       /* of the request */
    struct watch_filter *filter;
    struct watch_pos pos;
    uint64_t seq, epoch;
    uint64_t sight;   /* by what rules he was let in */
    int64_t told_us;  /* when a batch was sent last */
    bool ready, late; /* late: the other thread has it */
    atomic_bool gone; /* connection closed while late */
};

struct wgroup { /* the watchers of one I/O thread; touched on that thread alone but for the flag */
    struct watch *watch;
    pthread_t thread; /* whose it is */
    struct watcher *head;
    struct idmap by_conn;
    struct conn *any; /* held; one watcher's connection, to reach the thread; under watch.lock */
    atomic_bool posted;
    _Atomic uint64_t slowest; /* of its watchers, at the last run; UINT64_MAX: none */
};

enum watch_state { WATCH_IDLE, WATCH_STARTING, WATCH_LIVE };

struct watch {
    struct ctld *ctld;
    char *dir;
    pthread_mutex_t lock;
    pthread_cond_t wake, late_wake;
    pthread_t thread, late_thread;
    bool running, late_running, stopping;
    atomic_bool active; /* there is a watcher */
    _Atomic uint64_t durable;
    struct journal *journal;
    enum watch_state state;
    uint64_t base;     /* the ring holds every change behind it */
    uint64_t position; /* projected up to here */
    uint64_t sight;    /* counts changes of what may be seen by whom */
    uint64_t rights;   /* digest of that; core thread */
    uint64_t epoch;    /* counts failed starts: watchers of an earlier one are reset */
    struct watch_batch *ring[WATCH_RING];
    uint64_t tail, head; /* sequence numbers: [tail, head) are in the ring */
    size_t ring_bytes;
    struct wgroup *groups[WATCH_GROUPS];
    unsigned ngroups, nwatchers;
    bool kick;           /* a watcher waits for the next run of its group */
    atomic_uint lagging; /* watchers that a run left behind */
    int64_t empty_since_us;
    struct watcher *late_head, **late_end;
    /* Of watch.c, for conn_run() with a watcher that was late: it has caught up; it cannot. */
    void (*late_back)(struct conn *c, void *watcher);
    void (*late_lost)(struct conn *c, void *watcher);
    _Atomic uint64_t late_at; /* where the one is that the other thread serves; UINT64_MAX: none */
};

/* watchfilter.c */
int watch_filter_new(const Pst__WatchRequest *req, struct watch_filter **ret, struct err *err);
struct watch_filter *watch_filter_free(struct watch_filter *f);
bool watch_filter_all(const struct watch_filter *f); /* lets every change of every entity pass */
bool watch_filter_match(const struct watch_filter *f, const struct watch_item *it,
                        const char *text);
struct watch_batch *watch_batch_new(uint64_t first);
void watch_batch_unref(struct watch_batch *b);
int watch_batch_add(struct watch_batch *b, const Pst__WatchChange *c, uint32_t states);
int watch_batch_seal(struct watch_batch *b, uint64_t last); /* makes body */
size_t watch_batch_size(const struct watch_batch *b);       /* bytes of memory, when sealed */
/* What a watcher behind pos gets of b: *ret is held, NULL = nothing. */
int watch_batch_cut(struct watch_batch *b, const struct watch_filter *f, struct watch_pos pos,
                    struct shared_bytes **ret);
bool watch_behind(struct watch_pos a, struct watch_pos b); /* a < b */

/* watch.c */
void watcher_free(struct watcher *w);
/* watchlate.c */
/* A batch without changes: where the watcher's place is. */
void watcher_send(struct watcher *w, bool ready, bool reset, bool more);
/* Lock held; takes the watcher over. */
int watchlate_add(struct watch *w, struct watcher *who);
