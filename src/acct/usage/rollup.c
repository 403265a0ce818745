/* rollup.c - usage summed up by hour, day and month; see rollup.h.
 *
 * A window of hours is summed in memory: every run, node period and pending time that overlaps it
 * is cut at the hours.  Then the window's rows are replaced, the days and months that it touches
 * are summed from their parts, and the mark moves, all in one transaction that holds the source's
 * row, so that records which come meanwhile set the mark back after it.  Times are cut to whole
 * seconds, as people see them. */
#include "acct/usage/rollup.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "acct/sql/db.h"
#include "acct/usage/rollsums.h"
#include "base/strbuf.h"
#include "base/timefmt.h"

#define WINDOW_HOURS 168 /* at most in one go */
#define SUM_ROWS 32u     /* written at once */
#define SUM_VALUES 5u

/* ---- writing --------------------------------------------------------------------------------- */

static int drop_rows(struct roll *w, const char *table, unsigned unit, int64_t from, int64_t to)
{
    char text[200];

    (void)snprintf(
        text, sizeof(text),
        "DELETE FROM %s WHERE source=%lld AND unit=%u AND start_s>=%lld AND start_s<%lld", table,
        (long long)w->source, unit, (long long)from, (long long)to);
    return sql_exec(w->db, text);
}

/* "INSERT ..." with n rows of values. */
static int prepare_insert(struct roll *w, unsigned n, struct sql_stmt **ret)
{
    _cleanup_free_ char *text = NULL;
    struct strbuf sb = STRBUF_INIT;
    int r;

    strbuf_add(&sb, "INSERT INTO usage_sums VALUES");
    for (unsigned i = 0; i < n; i++)
        strbuf_add(&sb, i ? ",(?,0,?,?,?,?)" : "(?,0,?,?,?,?)");
    r = strbuf_detach(&sb, &text);
    return r < 0 ? r : sql_prepare(w->db, text, ret);
}

static void bind_sum(const struct roll *w, struct sql_stmt *stmt, unsigned at, const struct sum *s)
{
    sql_bind(stmt, at, w->source);
    sql_bind(stmt, at + 1, w->from + ((int64_t)(s->key >> 48) - 1) * HOUR);
    sql_bind(stmt, at + 2, w->who[s->key >> 8 & 0xffffffffff].id);
    sql_bind(stmt, at + 3, w->tres_ids[s->key & 0xff]);
    sql_bind(stmt, at + 4, (int64_t)s->secs);
}

static int write_sums(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *one = NULL;
    _cleanup_(sql_free) struct sql_stmt *many = NULL;
    const struct sum *waiting[SUM_ROWS];
    unsigned n = 0;
    int r = drop_rows(w, "usage_sums", 0, w->from, w->to);

    if (r == 0)
        r = prepare_insert(w, 1, &one);
    if (r == 0)
        r = prepare_insert(w, SUM_ROWS, &many);
    for (size_t i = 0; r == 0 && i < w->sums_cap; i++) {
        if (!w->sums[i].key || !w->sums[i].secs)
            continue;
        waiting[n] = &w->sums[i];
        bind_sum(w, many, n++ * SUM_VALUES, &w->sums[i]);
        if (n == SUM_ROWS) {
            r = sql_run(many);
            n = 0;
        }
    }
    for (unsigned i = 0; r == 0 && i < n; i++) {
        bind_sum(w, one, 0, waiting[i]);
        r = sql_run(one);
    }
    return r;
}

/* What was neither used nor away was idle, or down while there was no controller
 * (TrackSlurmctldDown); what waited while something was idle was planned; and where more was
 * used than there was, the excess is "over". */
static void bind_fate(struct sql_stmt *stmt, const struct fate *f)
{
    uint64_t used = f->alloc + f->down + f->pdown;
    uint64_t left = f->total > used ? f->total - used : 0;
    uint64_t gone = f->gone > 0 ? MIN((uint64_t)f->gone, left) : 0,
             plan = MIN(f->plan, left - gone);

    sql_bind(stmt, 3, (int64_t)f->count);
    sql_bind(stmt, 4, (int64_t)f->alloc);
    sql_bind(stmt, 5, (int64_t)(f->down + gone));
    sql_bind(stmt, 6, (int64_t)f->pdown);
    sql_bind(stmt, 7, (int64_t)(left - gone - plan));
    sql_bind(stmt, 8, (int64_t)plan);
    sql_bind(stmt, 9, (int64_t)(used > f->total ? used - f->total : 0));
}

static int write_fates(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = drop_rows(w, "usage_cluster", 0, w->from, w->to);

    if (r == 0)
        r = sql_prepare(w->db, "INSERT INTO usage_cluster VALUES(?,0,?,?,?,?,?,?,?,?,?)", &stmt);
    for (unsigned hour = 0; r == 0 && hour < w->hours; hour++) {
        for (unsigned t = 0; r == 0 && t < w->ntres; t++) {
            const struct fate *f = roll_fate(w, hour, t);

            if (!f->total && !f->alloc)
                continue;
            sql_bind(stmt, 0, w->source);
            sql_bind(stmt, 1, w->from + (int64_t)hour * HOUR);
            sql_bind(stmt, 2, w->tres_ids[t]);
            bind_fate(stmt, f);
            r = sql_run(stmt);
        }
    }
    return r;
}

/* Midnight of the day, or the first of the month, that holds t; next: the one after. */
static int64_t unit_start(int64_t t, unsigned unit, bool next)
{
    time_t at = (time_t)t;
    struct tm tm;

    (void)localtime_r(&at, &tm); /* fails for no year that hours reach */
    tm.tm_hour = tm.tm_min = tm.tm_sec = 0;
    tm.tm_isdst = -1;
    if (unit == 2)
        tm.tm_mday = 1;
    if (next && unit == 2)
        tm.tm_mon++;
    else if (next)
        tm.tm_mday++;
    return mktime(&tm);
}

/* One day or month from its parts. */
static int sum_unit(struct roll *w, unsigned unit, int64_t from, int64_t to)
{
    char text[700];
    int r = drop_rows(w, "usage_sums", unit, from, to);

    if (r == 0)
        r = drop_rows(w, "usage_cluster", unit, from, to);
    if (r < 0)
        return r;
    (void)snprintf(
        text, sizeof(text),
        "INSERT INTO usage_sums SELECT source, %u, %lld, who, tres, sum(alloc_s) FROM usage_sums "
        "WHERE"
        " source=%lld AND unit=%u AND start_s>=%lld AND start_s<%lld GROUP BY source, who, tres;"
        "INSERT INTO usage_cluster SELECT source, %u, %lld, tres, max(total), sum(alloc_s), "
        "sum(down_s),"
        " sum(pdown_s), sum(idle_s), sum(plan_s), sum(over_s) FROM usage_cluster WHERE"
        " source=%lld AND unit=%u AND start_s>=%lld AND start_s<%lld GROUP BY source, tres",
        unit, (long long)from, (long long)w->source, unit - 1, (long long)from, (long long)to, unit,
        (long long)from, (long long)w->source, unit - 1, (long long)from, (long long)to);
    return sql_exec(w->db, text);
}

static int write_units(struct roll *w)
{
    int r = 0;

    for (unsigned unit = 1; unit <= 2; unit++)
        for (int64_t t = unit_start(w->from, unit, false); r == 0 && t < w->to;
             t = unit_start(t, unit, true))
            r = sum_unit(w, unit, t, unit_start(t, unit, true));
    return r;
}

/* ---- one source ------------------------------------------------------------------------------ */

static void roll_done(struct roll *w)
{
    roll_resv_done(w);
    for (size_t i = 0; i < w->nwho; i++)
        free(w->who[i].key);
    namemap_done(&w->who_by_key);
    free(w->who);
    free(w->sums);
    free(w->fates);
    free(w->gone);
}

static int set_mark(struct roll *w, int64_t to_us)
{
    char text[128];

    (void)snprintf(text, sizeof(text), "UPDATE sources SET rolled_us=%lld WHERE id=%lld",
                   (long long)to_us, (long long)w->source);
    return sql_exec(w->db, text);
}

static int roll_source(struct roll *w)
{
    int r;

    w->hours = (unsigned)((w->to - w->from) / HOUR);
    w->fates = calloc((size_t)w->hours * TRES_MAX, sizeof(*w->fates));
    if (!w->fates)
        return -ENOMEM;
    r = set_mark(w, w->to *
                        USEC_PER_SEC); /* first: it holds the row against those who bring records */
    if (r == 0)
        r = roll_load_tres(w);
    if (r == 0)
        r = roll_load_who(w);
    if (r == 0)
        r = roll_resv_load(w);
    if (r == 0)
        r = roll_rows(w);
    if (r == 0)
        r = roll_resv_settle(w);
    if (r == 0)
        r = write_sums(w);
    if (r == 0)
        r = write_fates(w);
    return r < 0 ? r : write_units(w);
}

/* A source that has complete hours: from and to of the window; 1: there is one. */
static int find_due(struct roll *w)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int64_t rolled_us = 0, fed_us = 0, first_us = 0;
    char text[256];
    int r =
        sql_prepare(w->db,
                    "SELECT id, rolled_us, fed_us FROM sources WHERE fed_us-rolled_us>=3600000000"
                    " ORDER BY rolled_us DESC",
                    &stmt);

    if (r == 0)
        r = sql_step(stmt);
    if (r <= 0)
        return r;
    w->source = sql_int(stmt, 0);
    rolled_us = sql_int(stmt, 1);
    fed_us = sql_int(stmt, 2);
    sql_reset(stmt);
    w->to = fed_us / USEC_PER_SEC / HOUR * HOUR;
    (void)snprintf(
        text, sizeof(text),
        "SELECT min(at) FROM (SELECT min(begun_us) AS at FROM jobs WHERE run>=%lld AND run<%lld"
        " UNION ALL SELECT min(start_us) FROM events WHERE source=%lld) x",
        (long long)ACCT_RUNS_OF(w->source), (long long)ACCT_RUNS_OF(w->source + 1),
        (long long)w->source);
    if (rolled_us == 0)
        r = sql_get(w->db, text, fed_us, &first_us);
    if (r < 0)
        return r;
    w->from = MAX(rolled_us, first_us) / USEC_PER_SEC / HOUR * HOUR;
    return 1;
}

int acct_roll_up(struct sql *db, struct err *err)
{
    struct roll w = { .db = db };
    int64_t end;
    int r = find_due(&w);

    if (r == 0)
        return 0;
    if (r == 1)
        r = sql_begin(db);
    if (r == 0) {
        end = w.to;
        w.to = MIN(w.to, w.from + (int64_t)WINDOW_HOURS * HOUR);
        r = w.to > w.from ? roll_source(&w) : set_mark(&w, w.to * USEC_PER_SEC);
        if (r == 0)
            r = sql_commit(db);
        if (r == 0)
            r = w.to < end;
        if (r < 0)
            sql_rollback(db);
    }
    roll_done(&w);
    return r < 0 ? err_set(err, r, "usage cannot be summed up: %s",
                           r == -ENOMEM ? strerrordesc_np(-r) : sql_error(db))
                 : r;
}
