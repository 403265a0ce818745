/* fedbook.h - who is in the federation, and which jobs other clusters may have to hear of
 *
 * What the files of this room share; docs/design/0019-federation.md.  Core thread. */
#pragma once

#include "ctld/fed/fedlink.h"
#include "ctld/policy/fedset.h"
#include "model/tables/idmap.h"

#define FED_LOCK_KEEP_US (15 * USEC_PER_SEC) /* a right to start that is not used goes back */
#define FED_MARK ((void *)1)                 /* value of a map that is a set */
#define FED_RETRY_US (1 * USEC_PER_SEC)      /* until the origin is asked again */

struct fed_peer {
    struct fedlink *link; /* NULL: not there, or not registered yet */
    struct idmap todo;    /* jobs of which it may have to be told something */
    size_t todo_at;       /* of fed_take() */
    struct idmap asked;   /* jobs about which a request is under way */
    int64_t heard_us;     /* its last request to us */
};

struct fed {
    struct ctld *ctld;
    struct fedset set; /* as of `generation` */
    uint64_t generation;
    char *met; /* fedset_text() of the members that were met last; NULL: none were */
    struct fed_peer peers[FED_CLUSTERS_MAX + 1];   /* by number */
    struct fedlink *retired[2 * FED_CLUSTERS_MAX]; /* told to stop, not joined yet */
    size_t n_retired;
    struct idmap changed;     /* own jobs that changed since their version was sent */
    size_t changed_at;        /* of fed_take() */
    struct idmap orphans;     /* jobs that are to end: their origin has left */
    size_t orphans_at;        /* of fed_take() */
    struct idmap renamed;     /* own jobs whose owner came back under another number */
    size_t renamed_at;        /* of fed_take() */
    struct idmap wishes;      /* jobs that could start here and wait for the lock */
    struct idmap later;       /* jobs whose origin is asked again, or told again, at that time */
    struct idmap granted;     /* jobs that this cluster may start, since when */
    uint32_t leave_waits;     /* of DRAIN+REMOVE: a job that was not over at the last look */
    int64_t leave_us;         /* ... when slurmdbd was last asked; 0: never */
    void (*work)(void *ctld); /* does what is noted, as a command of its own */
    bool posted;              /* work is queued */
    bool moved;               /* members may have come or gone */
    bool recovering;          /* ... or the controller is new: every job is told again */
};

/* The members as they are now; NULL: this cluster is in no federation. */
const struct fedset *fed_members(struct fed *f);
/* The member that the job was submitted to, by its name: its number may be another by now than the
 * job has.  0: it is no member. */
uint32_t fed_origin(struct fed *f, const Pst__JobRecord *r);
/* There may be something to tell about the job: to the clusters that have it, of a job of another
 * cluster to its origin. */
void fed_note(struct fed *f, const Pst__JobRecord *r);
/* Have `work` called, once. */
void fed_work_later(struct fed *f);
/* Put a job into a map.  Ends the process when memory is gone. */
void fed_mark(struct idmap *m, uint32_t job_id, void *value);
/* Take up to max jobs out of a map.  *at is where the last call ended, so that taking all costs one
 * walk in the end; the map is given up with its last job.  Gives how many. */
size_t fed_take(struct idmap *m, size_t *at, uint32_t *ids, size_t max);
