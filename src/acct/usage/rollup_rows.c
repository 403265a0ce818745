/* rollup_rows.c - periods of nodes, runs and suspensions into the sums of a window; see
 * rollup_impl.h.
 *
 * Rows are read first and added then, since what adding needs of the database waits for the end of
 * a statement. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/sql/db.h"
#include "acct/nodeevents.h"
#include "acct/usage/rollsums.h"
#include "base/timefmt.h"
#include "model/job.h"

#define RUNS_AT_ONCE 64u
#define SIXTEEN "?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"
#define RUNS_PARAMS SIXTEEN "," SIXTEEN "," SIXTEEN "," SIXTEEN

/* ---- nodes ----------------------------------------------------------------------------------- */

struct event {
    char *node, *tres; /* node empty: the cluster's */
    int64_t start_s, end_s, state;
};

static int read_event(void *item, struct sql_stmt *stmt)
{
    struct event *e = item;

    *e = (struct event){ .node = strdup(sql_text(stmt, 0)),
                         .start_s = sql_int(stmt, 1) / USEC_PER_SEC,
                         .end_s = sql_int(stmt, 2) / USEC_PER_SEC,
                         .state = sql_int(stmt, 3),
                         .tres = strdup(sql_text(stmt, 4) ? sql_text(stmt, 4) : "") };
    if (e->node && e->tres)
        return 1;
    free(e->node);
    free(e->tres);
    return -ENOMEM;
}

static int note_gone(struct roll *w, const struct event *e)
{
    struct span *bigger = reallocarray(w->gone, w->ngone + 1, sizeof(*bigger));

    if (!bigger)
        return -ENOMEM;
    w->gone = bigger;
    bigger[w->ngone++] = (struct span){ e->start_s, e->end_s };
    return 0;
}

/* The period of a node, or of the cluster. */
static int add_event(struct roll *w, const struct event *e)
{
    bool planned = nodes_away(e->state) == NODE_PLANNED_DOWN, gone = !e->node[0] && e->state;
    const char *tres = e->tres;
    struct tres_item item;

    if (gone && note_gone(w, e) < 0)
        return -ENOMEM;
    while (tres_next(&tres, &item)) {
        struct cut c = cut_begin(w, e->start_s, e->end_s);
        unsigned index, hour;
        int64_t secs;
        int r = roll_tres(w, item.name, &index);

        if (r < 0)
            return r;
        while (index < TRES_MAX && cut_next(&c, &hour, &secs)) {
            struct fate *f = roll_fate(w, hour, index);
            uint64_t amount = (uint64_t)secs * item.count;

            if (gone) {
                f->gone += (int64_t)amount;
            } else if (!e->node[0]) {
                f->total += amount;
                f->count = item.count;
            } else if (planned) {
                f->pdown += amount;
            } else {
                f->down += amount;
            }
        }
    }
    if (e->node[0])
        roll_resv_away(w, e->node, e->tres, e->start_s, e->end_s, planned);
    return 0;
}

static int add_events(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    struct event *events = NULL;
    size_t n = 0;
    int r = sql_prepare(
        w->db,
        "SELECT node, start_us, end_us, state, tres FROM events WHERE source=? AND start_us<?"
        " AND end_us>?",
        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, w->source);
    sql_bind(stmt, 1, w->to * USEC_PER_SEC);
    sql_bind(stmt, 2, w->from * USEC_PER_SEC);
    r = sql_collect(stmt, sizeof(*events), read_event, &events, &n);
    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            r = add_event(w, &events[i]);
        free(events[i].node);
        free(events[i].tres);
    }
    free(events);
    return r;
}

/* ---- runs ------------------------------------------------------------------------------------ */

/* What was allocated while there was no controller was not down. */
static void take_off_gone(struct roll *w, unsigned tres, uint64_t count, int64_t start_s,
                          int64_t end_s, bool minus)
{
    for (size_t i = 0; i < w->ngone; i++) {
        struct cut c = cut_begin(w, MAX(start_s, w->gone[i].start_s), MIN(end_s, w->gone[i].end_s));
        unsigned hour;
        int64_t secs;

        while (cut_next(&c, &hour, &secs))
            roll_fate(w, hour, tres)->gone -= (minus ? -secs : secs) * (int64_t)count;
    }
}

/* Seconds x count of a run's time, for whom, or as waiting (who SIZE_MAX); minus: of a
 * suspension. */
static int add_time(struct roll *w, const char *tres, int64_t start_s, int64_t end_s, size_t who,
                    bool minus)
{
    struct tres_item item;

    while (tres_next(&tres, &item)) {
        struct cut c = cut_begin(w, start_s, end_s);
        unsigned index, hour;
        int64_t secs;
        int r = roll_tres(w, item.name, &index);

        if (r == 0 && index < TRES_MAX && who != SIZE_MAX)
            take_off_gone(w, index, item.count, start_s, end_s, minus);
        while (r == 0 && index < TRES_MAX && cut_next(&c, &hour, &secs)) {
            uint64_t amount =
                (uint64_t)(minus ? -secs : secs) * item.count; /* sums wrap and come back */
            struct fate *f = roll_fate(w, hour, index);

            if (who == SIZE_MAX) {
                f->plan += amount;
            } else {
                f->alloc += amount;
                r = roll_add(w, hour, who, index, amount);
            }
        }
        if (r < 0)
            return r;
    }
    return 0;
}

/* A run, or with times of its own a suspension of it. */
struct run {
    Pst__JobRecord *rec;
    int64_t start_s, end_s;
};

static int64_t end_of(const Pst__JobRecord *rec)
{
    return job_is_ended(rec) ? rec->end_us / USEC_PER_SEC : INT64_MAX;
}

/* What it held, in a time. */
static int add_held(struct roll *w, const Pst__JobRecord *rec, int64_t start_s, int64_t end_s,
                    bool minus)
{
    size_t who;
    int r = roll_who(w, rec, &who);

    if (r < 0)
        return r;
    if (rec->has_resv_id && rec->resv_id)
        roll_resv_used(w, rec->resv_id, rec->alloc_tres, start_s, end_s, minus);
    return add_time(w, rec->alloc_tres, start_s, end_s, who, minus);
}

static int add_run(struct roll *w, const struct run *run)
{
    const Pst__JobRecord *rec = run->rec;
    bool started = rec->has_start_us && rec->alloc_tres;
    int64_t end = end_of(rec), start = rec->start_us / USEC_PER_SEC;
    int r = 0;

    /* that a job waited is told by its first record, which is older than its changes of size */
    if (rec->has_eligible_us && rec->req_tres && !rec->has_part_id)
        r = add_time(w, rec->req_tres, rec->eligible_us / USEC_PER_SEC, started ? start : end,
                     SIZE_MAX, false);
    return r < 0 || !started ? r : add_held(w, rec, start, end, false);
}

static int take_off_suspension(struct roll *w, const struct run *run)
{
    if (!run->rec->alloc_tres)
        return 0;
    return add_held(w, run->rec, run->start_s, MIN(run->end_s, end_of(run->rec)), true);
}

static int read_run(void *item, struct sql_stmt *stmt)
{
    struct run *run = item;
    size_t len;
    const void *data = sql_blob(stmt, 0, &len);

    run->start_s = sql_int(stmt, 1) / USEC_PER_SEC;
    run->end_s = sql_int(stmt, 2) / USEC_PER_SEC;
    run->rec = pst__job_record__unpack(NULL, len, data);
    return run->rec != NULL; /* one that is damaged counts for nothing */
}

/* All that a statement finds. */
static int add_found(struct roll *w, struct sql_stmt *stmt,
                     int (*add)(struct roll *w, const struct run *run))
{
    struct run *runs = NULL;
    size_t n = 0;
    int r = sql_collect(stmt, sizeof(*runs), read_run, &runs, &n);

    for (size_t i = 0; i < n; i++) {
        if (r == 0)
            r = add(w, &runs[i]);
        pst__job_record__free_unpacked(runs[i].rec, NULL);
    }
    free(runs);
    return r;
}

/* A select with the window and the source's runs as parameters. */
static int prepare_window(struct roll *w, const char *select, struct sql_stmt **ret)
{
    int r = sql_prepare(w->db, select, ret);

    if (r < 0)
        return r;
    sql_bind(*ret, 0, w->from * USEC_PER_SEC);
    sql_bind(*ret, 1, w->to * USEC_PER_SEC);
    sql_bind(*ret, 2, ACCT_RUNS_OF(w->source));
    sql_bind(*ret, 3, ACCT_RUNS_OF(w->source + 1));
    return 0;
}

static int read_id(void *item, struct sql_stmt *stmt)
{
    *(int64_t *)item = sql_int(stmt, 0);
    return 1;
}

/* The records of these runs, some at a time: a window may have many. */
static int add_records(struct roll *w, const int64_t *ids, size_t n)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r =
        sql_prepare(w->db, "SELECT record, 0, 0 FROM jobs WHERE run IN (" RUNS_PARAMS ")", &stmt);

    for (size_t at = 0; r == 0 && at < n; at += RUNS_AT_ONCE) {
        for (size_t i = 0; i < RUNS_AT_ONCE; i++)
            sql_bind(stmt, (unsigned)i, ids[MIN(at + i, n - 1)]);
        r = add_found(w, stmt, add_run);
    }
    return r;
}

/* Which runs is answered by the index of both times alone (+run is in none): most that ended later
 * began later too. */
static int add_runs(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    _cleanup_free_ int64_t *ids = NULL;
    size_t n = 0;
    int r = prepare_window(
        w, "SELECT run FROM jobs WHERE end_us>? AND begun_us<? AND +run>=? AND +run<?", &stmt);

    if (r == 0)
        r = sql_collect(stmt, sizeof(*ids), read_id, &ids, &n);
    return r < 0 ? r : add_records(w, ids, n);
}

static int add_suspensions(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = prepare_window(
        w,
        "SELECT j.record, s.start_us, s.end_us FROM suspensions s JOIN jobs j ON j.run=s.run"
        " WHERE s.end_us>? AND s.start_us<? AND s.run>=? AND s.run<?",
        &stmt);

    return r < 0 ? r : add_found(w, stmt, take_off_suspension);
}

int roll_rows(struct roll *w)
{
    int r = add_events(w);

    if (r == 0)
        r = add_runs(w);
    return r < 0 ? r : add_suspensions(w);
}
