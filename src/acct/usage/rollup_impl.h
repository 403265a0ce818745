/* rollup_impl.h - what the parts of the roll-up share; for rollup*.c only */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "acct/sql/sql.h"
#include "acct/accttres.h"
#include "base/cleanup.h"
#include "job.pb-c.h"
#include "model/tables/idmap.h"

#define HOUR 3600
#define TRES_MAX 128u

/* What became of a TRES in an hour, seconds x count. */
struct fate {
    uint64_t total, alloc, down, pdown, plan, count;
    int64_t gone; /* without a controller, and not allocated then */
};

struct sum {
    uint64_t key; /* 0 = free */
    uint64_t secs;
};

struct who {
    int64_t id;
    char *key; /* account \x1f uid ... */
};

struct roll_resv;

struct span {
    int64_t start_s, end_s;
};

struct roll {
    struct sql *db;
    int64_t source, from, to; /* seconds */
    unsigned hours;
    char tres_names[TRES_MAX][TRES_NAME_MAX];
    int64_t tres_ids[TRES_MAX];
    unsigned ntres;
    struct fate *fates; /* [hour * TRES_MAX + tres] */
    struct who *who;
    size_t nwho, who_cap;
    struct namemap who_by_key; /* -> index + 1 */
    struct sum *sums;
    size_t nsums, sums_cap;
    struct span *gone; /* times without a controller */
    size_t ngone;
    struct roll_resv *resvs; /* periods of reservations that overlap the window */
    size_t nresvs;
};

static inline struct fate *roll_fate(const struct roll *w, unsigned hour, unsigned tres)
{
    return &w->fates[(size_t)hour * TRES_MAX + tres];
}

/* A time cut at the hours of the window: calls for each with its number and the seconds in it. */
struct cut {
    int64_t at, end, from;
};

static inline struct cut cut_begin(const struct roll *w, int64_t start_s, int64_t end_s)
{
    return (struct cut){ .at = MAX(start_s, w->from), .end = MIN(end_s, w->to), .from = w->from };
}

static inline bool cut_next(struct cut *c, unsigned *ret_hour, int64_t *ret_secs)
{
    int64_t next;

    if (c->at >= c->end)
        return false;
    *ret_hour = (unsigned)((c->at - c->from) / HOUR);
    next = MIN(c->end, c->from + ((int64_t)*ret_hour + 1) * HOUR);
    *ret_secs = next - c->at;
    c->at = next;
    return true;
}

/* ---- rollup_rows.c: what the rows of nodes, runs and suspensions add ------------------------- */

int roll_rows(struct roll *w);

/* ---- rollup_resv.c: reservations; loaded first, settled when all else is summed -------------- */

int roll_resv_load(struct roll *w);
void roll_resv_done(struct roll *w);
/* A run of the reservation held these TRES; minus: it was suspended. */
void roll_resv_used(struct roll *w, uint32_t resv_id, const char *tres, int64_t start_s,
                    int64_t end_s, bool minus);
/* A node was away. */
void roll_resv_away(struct roll *w, const char *node, const char *tres, int64_t start_s,
                    int64_t end_s, bool planned);
/* Idle time of a reservation is charged as allocated to the users and accounts that it names, or
 * counted as planned down. */
int roll_resv_settle(struct roll *w);
