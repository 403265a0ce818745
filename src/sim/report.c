/* report.c - simulated runs as text and as JSON; see report.h */
#include "sim/report.h"

#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"

void report_time(double seconds, char *buf, size_t size)
{
    time_fmt_short((int64_t)(seconds + 0.5), buf, size);
}

/* ---- text ------------------------------------------------------------------------------------ */

enum unit { U_PLAIN, U_PERCENT, U_TIME, U_COUNT };

static void add_value(struct strbuf *out, enum unit unit, double v, int width)
{
    char text[32];

    if (unit == U_TIME)
        report_time(v, text, sizeof(text));
    else if (unit == U_PERCENT)
        (void)snprintf(text, sizeof(text), "%.1f%%", 100 * v);
    else
        (void)snprintf(text, sizeof(text), unit == U_COUNT ? "%.0f" : "%.2f", v);
    strbuf_addf(out, "%*s", width, text);
}

struct figure {
    const char *name, *json;
    enum unit unit;
    double (*get)(const struct report_run *r);
    enum { ALWAYS, MEASURED, BLOCKS } when; /* passes were measured; there are blocks */
};

#define GET(fn, expr)                                                                              \
    static double fn(const struct report_run *r)                                                   \
    {                                                                                              \
        return (double)(expr);                                                                     \
    }
GET(get_ended, r->result->ended)
GET(get_never, r->result->never)
GET(get_at_limit, r->stats->at_limit)
GET(get_makespan, r->stats->makespan_s)
GET(get_util, r->stats->utilisation)
GET(get_work_util, r->stats->work_utilisation)
GET(get_stranded, r->stats->stranded)
GET(get_queue_mean, r->stats->queue_mean)
GET(get_queue_max, r->stats->queue_max)
GET(get_wait_mean, r->stats->wait_s.mean)
GET(get_wait_median, r->stats->wait_s.median)
GET(get_wait_p95, r->stats->wait_s.p95)
GET(get_wait_max, r->stats->wait_s.max)
GET(get_broken_mean, r->stats->broken_mean)
GET(get_broken_max, r->stats->broken_max)
GET(get_slow_mean, r->stats->slowdown.mean)
GET(get_slow_median, r->stats->slowdown.median)
GET(get_slow_p95, r->stats->slowdown.p95)
GET(get_fairness, r->stats->fairness)
GET(get_backfilled, r->stats->backfilled)
GET(get_passes, r->result->quick.n)
GET(get_tested,
    r->result->quick.n ? (double)r->result->quick.tested / (double)r->result->quick.n : 0)
GET(get_bf, r->result->backfill.n)
GET(get_bf_tested,
    r->result->backfill.n ? (double)r->result->backfill.tested / (double)r->result->backfill.n : 0)
GET(get_cost,
    r->result->quick.n ? (double)r->result->quick.cost_us / (double)r->result->quick.n : 0)
GET(get_worst, r->result->quick.worst_us)
GET(get_bf_cost,
    r->result->backfill.n ? (double)r->result->backfill.cost_us / (double)r->result->backfill.n : 0)
GET(get_bf_worst, r->result->backfill.worst_us)
#undef GET

static const struct figure figures[] = {
    { "jobs ended", "jobs_ended", U_COUNT, get_ended, ALWAYS },
    { "jobs that fit nowhere", "jobs_never_started", U_COUNT, get_never, ALWAYS },
    { "jobs ended by their limit", "jobs_at_limit", U_COUNT, get_at_limit, ALWAYS },
    { "makespan", "makespan_s", U_TIME, get_makespan, ALWAYS },
    { "utilisation", "utilisation", U_PERCENT, get_util, ALWAYS },
    { "  until the last submission", "utilisation_loaded", U_PERCENT, get_work_util, ALWAYS },
    { "stranded share of free CPUs", "stranded", U_PERCENT, get_stranded, ALWAYS },
    { "fragmentation, mean", "fragmentation_mean", U_COUNT, get_broken_mean, BLOCKS },
    { "fragmentation, highest", "fragmentation_max", U_COUNT, get_broken_max, BLOCKS },
    { "queue, mean", "queue_mean", U_PLAIN, get_queue_mean, ALWAYS },
    { "queue, longest", "queue_max", U_COUNT, get_queue_max, ALWAYS },
    { "wait, mean", "wait_mean_s", U_TIME, get_wait_mean, ALWAYS },
    { "wait, median", "wait_median_s", U_TIME, get_wait_median, ALWAYS },
    { "wait, 95%", "wait_p95_s", U_TIME, get_wait_p95, ALWAYS },
    { "wait, longest", "wait_max_s", U_TIME, get_wait_max, ALWAYS },
    { "bounded slowdown, mean", "slowdown_mean", U_PLAIN, get_slow_mean, ALWAYS },
    { "bounded slowdown, median", "slowdown_median", U_PLAIN, get_slow_median, ALWAYS },
    { "bounded slowdown, 95%", "slowdown_p95", U_PLAIN, get_slow_p95, ALWAYS },
    { "fairness between users", "fairness", U_PLAIN, get_fairness, ALWAYS },
    { "started by backfill", "backfilled", U_PERCENT, get_backfilled, ALWAYS },
    { "quick passes", "passes", U_COUNT, get_passes, ALWAYS },
    { "  jobs tested in one", "pass_tested", U_PLAIN, get_tested, ALWAYS },
    { "backfill passes", "backfills", U_COUNT, get_bf, ALWAYS },
    { "  jobs tested in one", "backfill_tested", U_PLAIN, get_bf_tested, ALWAYS },
    { "quick pass, mean us", "pass_us", U_PLAIN, get_cost, MEASURED },
    { "  worst us", "pass_worst_us", U_COUNT, get_worst, MEASURED },
    { "backfill, mean us", "backfill_us", U_PLAIN, get_bf_cost, MEASURED },
    { "  worst us", "backfill_worst_us", U_COUNT, get_bf_worst, MEASURED },
};

static bool has_blocks(const struct report *rp)
{
    return rp->runs[0].result->nblocks > 0;
}

static bool is_shown(const struct figure *f, const struct report *rp)
{
    return f->when == ALWAYS || (f->when == MEASURED ? rp->costs : has_blocks(rp));
}

static const struct class_table {
    const char *name, *json;
    size_t offset; /* of its struct stats_classes in struct stats */
} class_tables[] = {
    { "size", "by_size", offsetof(struct stats, by_size) },
    { "time limit", "by_limit", offsetof(struct stats, by_limit) },
    { "partition", "by_partition", offsetof(struct stats, by_part) },
    { "user", "by_user", offsetof(struct stats, by_user) },
    { "segments", "by_segments", offsetof(struct stats, by_segments) },
};

static const struct stats_classes *table_of(const struct stats *s, const struct class_table *t)
{
    return (const struct stats_classes *)((const char *)s + t->offset);
}

#define TEXT_USERS 12u

static void text_classes(const struct report_run *run, struct strbuf *out)
{
    for (size_t t = 0; t < ARRAY_SIZE(class_tables); t++) {
        const struct stats_classes *c = table_of(run->stats, &class_tables[t]);

        if (c == &run->stats->by_segments && c->n < 2)
            continue; /* no job has any */
        strbuf_addf(out, "\nby %-18s %9s %11s %11s %11s %9s %9s %11s\n", class_tables[t].name,
                    "jobs", "wait mean", "median", "95%", "slowdown", "95%", "CPU hours");
        for (uint32_t i = 0; i < c->n && i < TEXT_USERS; i++) {
            const struct stats_class *k = &c->items[i];

            strbuf_addf(out, "%-21.21s %9llu", k->name, (unsigned long long)k->wait_s.n);
            add_value(out, U_TIME, k->wait_s.mean, 12);
            add_value(out, U_TIME, k->wait_s.median, 12);
            add_value(out, U_TIME, k->wait_s.p95, 12);
            add_value(out, U_PLAIN, k->slowdown.mean, 10);
            add_value(out, U_PLAIN, k->slowdown.p95, 10);
            add_value(out, U_COUNT, k->cpu_hours, 12);
            strbuf_add(out, "\n");
        }
        if (c->n > TEXT_USERS)
            strbuf_addf(out, "(%u more; all of them: --json)\n", c->n - TEXT_USERS);
    }
}

/* Base blocks that broke the score most: places, the worst first. */
size_t report_worst_blocks(const struct sim_result *r, uint32_t *ret, size_t most)
{
    size_t n = 0;

    for (uint32_t i = 0; i < r->nblocks; i++) {
        size_t at = n;

        while (at > 0 && r->block_score[ret[at - 1]] < r->block_score[i])
            at--;
        if (at == most)
            continue;
        n = MIN(n + 1, most);
        memmove(&ret[at + 1], &ret[at], (n - at - 1) * sizeof(*ret));
        ret[at] = i;
    }
    return n;
}

static void text_blocks(const struct report *rp, const struct report_run *run, struct strbuf *out)
{
    uint32_t worst[TEXT_USERS];
    size_t n = report_worst_blocks(run->result, worst, ARRAY_SIZE(worst));

    if (n)
        strbuf_addf(out, "\n%-21s %14s\n", "worst blocks", "fragmentation");
    for (size_t i = 0; i < n; i++)
        strbuf_addf(out, "%-21.21s %14.1f\n",
                    topo_get_spec(machine_topology(rp->machine))->units[worst[i]].name,
                    run->result->block_score[worst[i]]);
}

void report_text(const struct report *rp, struct strbuf *out)
{
    strbuf_addf(out, "%s\n%zu jobs of %u users on %u nodes, %llu CPUs", rp->title, rp->workload->n,
                rp->workload->users.n, rp->machine->nnodes, (unsigned long long)rp->machine->cpus);
    if (rp->workload->skipped)
        strbuf_addf(out, "; %zu records of the trace describe no run", rp->workload->skipped);
    strbuf_add(out, "\n\n");
    if (rp->nruns > 1) {
        strbuf_addf(out, "%-28s", "");
        for (size_t i = 0; i < rp->nruns; i++)
            strbuf_addf(out, "%14s", rp->runs[i].name);
        strbuf_add(out, "\n");
    }
    for (size_t f = 0; f < ARRAY_SIZE(figures); f++) {
        if (!is_shown(&figures[f], rp))
            continue;
        strbuf_addf(out, "%-28s", figures[f].name);
        for (size_t i = 0; i < rp->nruns; i++)
            add_value(out, figures[f].unit, figures[f].get(&rp->runs[i]), 14);
        strbuf_add(out, "\n");
    }
    for (size_t i = 0; i < rp->nruns; i++) {
        if (rp->nruns > 1)
            strbuf_addf(out, "\n== %s\n", rp->runs[i].name);
        text_classes(&rp->runs[i], out);
        text_blocks(rp, &rp->runs[i], out);
    }
}

/* ---- JSON ------------------------------------------------------------------------------------ */

void report_json_string(struct strbuf *out, const char *text)
{
    strbuf_addc(out, '"');
    for (const char *p = text; *p; p++) {
        if (*p == '"' || *p == '\\')
            strbuf_addf(out, "\\%c", *p);
        else if ((unsigned char)*p < 32)
            strbuf_addf(out, "\\u%04x", (unsigned)*p);
        else
            strbuf_addc(out, *p);
    }
    strbuf_addc(out, '"');
}

static void json_dist(struct strbuf *out, const char *name, const struct stats_dist *d)
{
    strbuf_addf(out, "\"%s\":{\"mean\":%.6g,\"median\":%.6g,\"p95\":%.6g,\"max\":%.6g}", name,
                d->mean, d->median, d->p95, d->max);
}

static void json_classes(struct strbuf *out, const struct report_run *run)
{
    for (size_t t = 0; t < ARRAY_SIZE(class_tables); t++) {
        const struct stats_classes *c = table_of(run->stats, &class_tables[t]);

        strbuf_addf(out, ",\"%s\":[", class_tables[t].json);
        for (uint32_t i = 0; i < c->n; i++) {
            strbuf_add(out, i ? ",{\"name\":" : "{\"name\":");
            report_json_string(out, c->items[i].name);
            strbuf_addf(out, ",\"jobs\":%llu,\"cpu_hours\":%.6g,",
                        (unsigned long long)c->items[i].wait_s.n, c->items[i].cpu_hours);
            json_dist(out, "wait_s", &c->items[i].wait_s);
            strbuf_addc(out, ',');
            json_dist(out, "slowdown", &c->items[i].slowdown);
            strbuf_addc(out, '}');
        }
        strbuf_addc(out, ']');
    }
}

#define JSON_SERIES 256u

static void json_series(struct strbuf *out, const struct report *rp, const struct report_run *run)
{
    const struct series *s = run->result->series;
    uint32_t bins = series_used_bins(s), step = bins / JSON_SERIES + 1;

    strbuf_addf(out, ",\"series\":{\"step_s\":%.6g,\"utilisation\":[", (double)s->width_us * 1e-6);
    for (uint32_t i = 0; i < bins; i += step)
        strbuf_addf(out, "%s%.4f", i ? "," : "",
                    series_mean(s, SERIES_USED, i) / (double)MAX(rp->machine->cpus, UINT64_C(1)));
    strbuf_add(out, "],\"queue\":[");
    for (uint32_t i = 0; i < bins; i += step)
        strbuf_addf(out, "%s%.6g", i ? "," : "", series_mean(s, SERIES_QUEUE, i));
    if (has_blocks(rp)) {
        strbuf_add(out, "],\"fragmentation\":[");
        for (uint32_t i = 0; i < bins; i += step)
            strbuf_addf(out, "%s%.6g", i ? "," : "", series_mean(s, SERIES_BROKEN, i));
    }
    strbuf_addf(out, "],\"bins_between\":%u}", step);
}

static void json_waits(struct strbuf *out, const struct stats *s)
{
    strbuf_add(out, ",\"waits\":[");
    for (uint32_t i = 0; i < STATS_WAIT_BINS; i++)
        strbuf_addf(out, "%s{\"name\":\"%s\",\"jobs\":%llu}", i ? "," : "", stats_wait_names[i],
                    (unsigned long long)s->waits[i]);
    strbuf_addc(out, ']');
}

static void json_blocks(struct strbuf *out, const struct report *rp, const struct report_run *run)
{
    if (!has_blocks(rp))
        return;
    strbuf_add(out, ",\"by_block\":[");
    for (size_t i = 0; i < run->result->nblocks; i++) {
        strbuf_add(out, i ? ",{\"name\":" : "{\"name\":");
        report_json_string(out, topo_get_spec(machine_topology(rp->machine))->units[i].name);
        strbuf_addf(out, ",\"fragmentation\":%.6g}", run->result->block_score[i]);
    }
    strbuf_addc(out, ']');
}

void report_json(const struct report *rp, struct strbuf *out)
{
    strbuf_add(out, "{\"title\":");
    report_json_string(out, rp->title);
    strbuf_addf(out,
                ",\"jobs\":%zu,\"skipped\":%zu,\"users\":%u,\"nodes\":%u,\"cpus\":%llu,\"runs\":[",
                rp->workload->n, rp->workload->skipped, rp->workload->users.n, rp->machine->nnodes,
                (unsigned long long)rp->machine->cpus);
    for (size_t i = 0; i < rp->nruns; i++) {
        strbuf_add(out, i ? ",\n{\"policy\":" : "\n{\"policy\":");
        report_json_string(out, rp->runs[i].name);
        for (size_t f = 0; f < ARRAY_SIZE(figures); f++)
            if (is_shown(&figures[f], rp))
                strbuf_addf(out, ",\"%s\":%.8g", figures[f].json, figures[f].get(&rp->runs[i]));
        json_classes(out, &rp->runs[i]);
        json_waits(out, rp->runs[i].stats);
        json_blocks(out, rp, &rp->runs[i]);
        json_series(out, rp, &rp->runs[i]);
        strbuf_addc(out, '}');
    }
    strbuf_add(out, "\n]}\n");
}

void report_escape(struct strbuf *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            strbuf_add(out, "&lt;");
        else if (*text == '>')
            strbuf_add(out, "&gt;");
        else if (*text == '&')
            strbuf_add(out, "&amp;");
        else if (*text == '"')
            strbuf_add(out, "&quot;");
        else if ((unsigned char)*text >= 32)
            strbuf_addc(out, *text);
    }
}
