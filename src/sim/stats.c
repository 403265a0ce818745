/* stats.c - see stats.h */
#include "sim/stats.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timefmt.h"

const int64_t stats_wait_edges_s[STATS_WAIT_BINS] = {
    1, 10, 60, 300, 900, 3600, 14400, 43200, 86400, 259200, 604800, INT64_MAX
};
const char *const stats_wait_names[STATS_WAIT_BINS] = { "at once",  "< 10 s", "< 1 min", "< 5 min",
                                                        "< 15 min", "< 1 h",  "< 4 h",   "< 12 h",
                                                        "< 1 d",    "< 3 d",  "< 7 d",   "longer" };

struct row {      /* one job that ran */
    uint32_t key; /* of the class */
    double wait_s, slowdown, cpu_hours;
};

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* values are sorted here. */
static struct stats_dist make_dist(double *values, size_t n)
{
    struct stats_dist d = { .n = n };
    double sum = 0;

    if (!n)
        return d;
    qsort(values, n, sizeof(*values), by_value);
    for (size_t i = 0; i < n; i++)
        sum += values[i];
    d.mean = sum / (double)n;
    d.median = n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
    d.p95 = values[(size_t)ceil(0.95 * (double)n) - 1];
    d.max = values[n - 1];
    return d;
}

static void make_dists(const struct row *rows, size_t n, double *scratch,
                       struct stats_dist *ret_wait, struct stats_dist *ret_slow)
{
    for (size_t i = 0; i < n; i++)
        scratch[i] = rows[i].wait_s;
    *ret_wait = make_dist(scratch, n);
    for (size_t i = 0; i < n; i++)
        scratch[i] = rows[i].slowdown;
    *ret_slow = make_dist(scratch, n);
}

/* ---- classes --------------------------------------------------------------------------------- */

typedef uint32_t key_fn(const struct sim_job *j, const struct sim_outcome *o);
typedef void name_fn(const struct workload *w, uint32_t key, char *buf, size_t size);

static uint32_t size_key(const struct sim_job *j, const struct sim_outcome *o)
{
    uint32_t k = 0;

    (void)j;
    while (k < 31 && (UINT32_C(1) << k) < o->cpus)
        k++;
    return (k + 1) / 2; /* 1, 2-4, 5-16, 17-64 ... */
}

static void size_name(const struct workload *w, uint32_t key, char *buf, size_t size)
{
    (void)w;
    if (!key)
        (void)snprintf(buf, size, "1 CPU");
    else
        (void)snprintf(buf, size, "%llu-%llu CPUs", (1ULL << (2 * key - 2)) + 1, 1ULL << 2 * key);
}

static const struct {
    uint32_t below_min;
    const char *name;
} limits[] = { { 16, "<= 15 min" },       { 61, "<= 1 h" },     { 241, "<= 4 h" },
               { 721, "<= 12 h" },        { 1441, "<= 1 day" }, { 4321, "<= 3 days" },
               { UINT32_MAX, "> 3 days" } };

static uint32_t limit_key(const struct sim_job *j, const struct sim_outcome *o)
{
    uint32_t k = 0;

    (void)o;
    while (k + 1 < ARRAY_SIZE(limits) && j->limit_min >= limits[k].below_min)
        k++;
    return k;
}

static void limit_name(const struct workload *w, uint32_t key, char *buf, size_t size)
{
    (void)w;
    (void)snprintf(buf, size, "%s", limits[key].name);
}

static uint32_t user_key(const struct sim_job *j, const struct sim_outcome *o)
{
    (void)o;
    return j->user;
}

static void user_name(const struct workload *w, uint32_t key, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s", name_nth(&w->users, key));
}

static uint32_t part_key(const struct sim_job *j, const struct sim_outcome *o)
{
    (void)o;
    return j->part == WORKLOAD_NO_PART ? 0 : j->part + 1;
}

static void part_name(const struct workload *w, uint32_t key, char *buf, size_t size)
{
    (void)snprintf(buf, size, "%s", key ? name_nth(&w->parts, key - 1) : "(default)");
}

/* Number of segments, by powers of two. */
static uint32_t segments_key(const struct sim_job *j, const struct sim_outcome *o)
{
    uint32_t n = j->segment && j->nodes > j->segment ? j->nodes / j->segment : 0, k = 0;

    (void)o;
    while (n >> k)
        k++;
    return k;
}

static void segments_name(const struct workload *w, uint32_t key, char *buf, size_t size)
{
    (void)w;
    if (!key)
        (void)snprintf(buf, size, "one, or none");
    else
        (void)snprintf(buf, size, "%llu-%llu segments", 1ULL << (key - 1), (1ULL << key) - 1);
}

static int by_key(const void *a, const void *b)
{
    const struct row *x = a, *y = b;

    return (x->key > y->key) - (x->key < y->key);
}

static int make_classes(const struct workload *w, struct row *rows, size_t n, double *scratch,
                        name_fn *name, struct stats_classes *ret)
{
    size_t groups = 0;

    qsort(rows, n, sizeof(*rows), by_key);
    for (size_t i = 0; i < n; i++)
        groups += !i || rows[i].key != rows[i - 1].key;
    ret->items = calloc(groups + 1, sizeof(*ret->items));
    if (!ret->items)
        return -ENOMEM;
    for (size_t i = 0, end; i < n; i = end) {
        struct stats_class *c = &ret->items[ret->n++];

        for (end = i; end < n && rows[end].key == rows[i].key; end++)
            c->cpu_hours += rows[end].cpu_hours;
        name(w, rows[i].key, c->name, sizeof(c->name));
        make_dists(rows + i, end - i, scratch, &c->wait_s, &c->slowdown);
    }
    return 0;
}

void stats_done(struct stats *s)
{
    free(s->by_size.items);
    free(s->by_limit.items);
    free(s->by_user.items);
    free(s->by_part.items);
    free(s->by_segments.items);
    *s = (struct stats){ 0 };
}

/* ---- the whole ------------------------------------------------------------------------------- */

static double jain_index(const struct stats_classes *users)
{
    double sum = 0, squares = 0;

    for (uint32_t i = 0; i < users->n; i++) {
        sum += users->items[i].slowdown.mean;
        squares += users->items[i].slowdown.mean * users->items[i].slowdown.mean;
    }
    return squares > 0 ? sum * sum / (squares * users->n) : 1;
}

static size_t fill_rows(const struct workload *w, const struct sim_result *r, key_fn *key,
                        struct row *rows)
{
    size_t n = 0;

    for (size_t i = 0; i < w->n; i++) {
        const struct sim_outcome *o = &r->jobs[i];
        double wait, run;

        if (!o->start_us || o->end_us == INT64_MAX)
            continue;
        wait = (double)(o->start_us - w->jobs[i].submit_us) * 1e-6;
        run = (double)(o->end_us - o->start_us) * 1e-6;
        rows[n++] = (struct row){ .key = key(&w->jobs[i], o),
                                  .wait_s = wait,
                                  .slowdown = MAX(
                                      (wait + run) / MAX(run, (double)STATS_BOUND_US * 1e-6), 1.0),
                                  .cpu_hours = o->cpus * run / 3600.0 };
    }
    return n;
}

static void sum_whole(const struct sim_machine *m, const struct workload *w,
                      const struct sim_result *r, struct stats *s)
{
    const struct series *t = r->series;
    double until = w->n ? (double)(w->jobs[w->n - 1].submit_us - r->begin_us) * 1e-6 : 0, used = 0;
    double free_s = series_total(t, SERIES_FREE), starts = 0;

    s->makespan_s = (double)(r->end_us - r->begin_us) * 1e-6;
    if (s->makespan_s > 0 && m->cpus)
        s->utilisation = series_total(t, SERIES_USED) / ((double)m->cpus * s->makespan_s);
    for (uint32_t i = 0; i < series_used_bins(t); i++) {
        double part = MIN(MAX(until - (double)i * (double)t->width_us * 1e-6, 0.0) /
                              ((double)t->width_us * 1e-6),
                          1.0);

        used += t->sum[i][SERIES_USED] * part;
    }
    s->work_utilisation = until > 0 && m->cpus ? used / ((double)m->cpus * until) : 0;
    s->stranded = free_s > 0 ? series_total(t, SERIES_STRANDED) / free_s : 0;
    s->queue_mean = s->makespan_s > 0 ? series_total(t, SERIES_QUEUE) / s->makespan_s : 0;
    s->queue_max = t->most[SERIES_QUEUE];
    s->broken_mean = s->makespan_s > 0 ? series_total(t, SERIES_BROKEN) / s->makespan_s : 0;
    s->broken_max = t->most[SERIES_BROKEN];
    for (size_t i = 0; i < w->n; i++) {
        starts += r->jobs[i].start_us != 0;
        s->backfilled += r->jobs[i].start_us && r->jobs[i].backfilled;
        s->at_limit += r->jobs[i].start_us && r->jobs[i].limit_min != SCHED_UNLIMITED &&
                       w->jobs[i].run_us > (int64_t)r->jobs[i].limit_min * 60 * USEC_PER_SEC;
    }
    s->backfilled = starts > 0 ? s->backfilled / starts : 0;
    s->fairness = jain_index(&s->by_user);
}

int stats_make(const struct sim_machine *m, const struct workload *w, const struct sim_result *r,
               struct stats *ret)
{
    _cleanup_free_ struct row *rows = calloc(w->n + 1, sizeof(*rows));
    _cleanup_free_ double *scratch = calloc(w->n + 1, sizeof(*scratch));
    struct stats s = { 0 };
    struct {
        key_fn *key;
        name_fn *name;
        struct stats_classes *to;
    } kinds[] = { { size_key, size_name, &s.by_size },
                  { limit_key, limit_name, &s.by_limit },
                  { user_key, user_name, &s.by_user },
                  { part_key, part_name, &s.by_part },
                  { segments_key, segments_name, &s.by_segments } };
    int e = rows && scratch ? 0 : -ENOMEM;
    size_t n = 0;

    for (size_t k = 0; e == 0 && k < ARRAY_SIZE(kinds); k++) {
        n = fill_rows(w, r, kinds[k].key, rows);
        e = make_classes(w, rows, n, scratch, kinds[k].name, kinds[k].to);
    }
    if (e < 0) {
        stats_done(&s);
        return e;
    }
    for (size_t i = 0; i < n; i++) {
        uint32_t bin = 0;

        while (rows[i].wait_s >= (double)stats_wait_edges_s[bin])
            bin++;
        s.waits[bin]++;
    }
    make_dists(rows, n, scratch, &s.wait_s, &s.slowdown);
    sum_whole(m, w, r, &s);
    *ret = s;
    return 0;
}
