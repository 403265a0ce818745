/* fedbook.h - the members of the federation, and the jobs about which other clusters may have to be
 * told something
 *
 * The files of this room share this state; see docs/design/0019-federation.md.  Core thread. */
#pragma once

#include "ctld/fed/fedlink.h"
#include "ctld/policy/fedset.h"
#include "model/tables/idmap.h"

#define FED_LOCK_KEEP_US (15 * USEC_PER_SEC) /* a right to start that is not used goes back */
#define FED_MARK ((void *)1)                 /* value of a map that is a set */
#define FED_RETRY_US (1 * USEC_PER_SEC)      /* until the origin is asked again */

struct fed_peer {
    struct fedlink *link; /* NULL: no member has this number, or it has not registered yet */
    struct idmap todo;    /* jobs about which the peer may have to be told something */
    size_t todo_at;       /* of fed_take() */
    struct idmap asked;   /* jobs about which a request to the peer is under way */
    int64_t heard_us;     /* when the peer last sent us a request */
};

struct fed {
    struct ctld *ctld;
    struct fedset set; /* as of `generation` */
    uint64_t generation;
    char *met; /* fedset_text() of the members for which links were last made; NULL: none yet */
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
    struct idmap granted;     /* jobs that this cluster may start -> since when */
    uint32_t leave_waits;     /* with DRAIN+REMOVE: a job that was not over at the last look */
    int64_t leave_us;         /* ... when slurmdbd was last asked to remove us; 0: never */
    void (*work)(void *ctld); /* handles all that is noted in these maps, as a command of its own */
    bool posted;              /* `work` is queued */
    bool moved;               /* members may have come or gone */
    bool recovering;          /* ... or the controller has started: tell about every job again */
};

/* The members as they are now; NULL: this cluster is in no federation. */
const struct fedset *fed_members(struct fed *f);
/* The number of the member that the job was submitted to.  It is looked up by the cluster's name,
 * because the cluster may have another number now than in the job's id.  0: it is no member. */
uint32_t fed_origin(struct fed *f, const Pst__JobRecord *r);
/* There may be something to tell about the job: to the clusters that have copies of it or, when the
 * job was submitted to another cluster, to that cluster. */
void fed_note(struct fed *f, const Pst__JobRecord *r);
/* Queue a call of `work`, unless one is queued already. */
void fed_work_later(struct fed *f);
/* Put a job into a map.  Ends the process when memory is gone. */
void fed_mark(struct idmap *m, uint32_t job_id, void *value);
/* Take up to max jobs out of a map; gives how many.  *at: where the last call stopped, so that all
 * calls together walk over the map once.  The memory of the map is freed with its last job. */
size_t fed_take(struct idmap *m, size_t *at, uint32_t *ids, size_t max);
