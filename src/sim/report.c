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
    bool cost; /* only when passes were measured */
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
    { "jobs ended", "jobs_ended", U_COUNT, get_ended, false },
    { "jobs that fit nowhere", "jobs_never_started", U_COUNT, get_never, false },
    { "jobs ended by their limit", "jobs_at_limit", U_COUNT, get_at_limit, false },
    { "makespan", "makespan_s", U_TIME, get_makespan, false },
    { "utilisation", "utilisation", U_PERCENT, get_util, false },
    { "  until the last submission", "utilisation_loaded", U_PERCENT, get_work_util, false },
    { "stranded share of free CPUs", "stranded", U_PERCENT, get_stranded, false },
    { "queue, mean", "queue_mean", U_PLAIN, get_queue_mean, false },
    { "queue, longest", "queue_max", U_COUNT, get_queue_max, false },
    { "wait, mean", "wait_mean_s", U_TIME, get_wait_mean, false },
    { "wait, median", "wait_median_s", U_TIME, get_wait_median, false },
    { "wait, 95%", "wait_p95_s", U_TIME, get_wait_p95, false },
    { "wait, longest", "wait_max_s", U_TIME, get_wait_max, false },
    { "bounded slowdown, mean", "slowdown_mean", U_PLAIN, get_slow_mean, false },
    { "bounded slowdown, median", "slowdown_median", U_PLAIN, get_slow_median, false },
    { "bounded slowdown, 95%", "slowdown_p95", U_PLAIN, get_slow_p95, false },
    { "fairness between users", "fairness", U_PLAIN, get_fairness, false },
    { "started by backfill", "backfilled", U_PERCENT, get_backfilled, false },
    { "quick passes", "passes", U_COUNT, get_passes, false },
    { "  jobs tested in one", "pass_tested", U_PLAIN, get_tested, false },
    { "backfill passes", "backfills", U_COUNT, get_bf, false },
    { "  jobs tested in one", "backfill_tested", U_PLAIN, get_bf_tested, false },
    { "quick pass, mean us", "pass_us", U_PLAIN, get_cost, true },
    { "  worst us", "pass_worst_us", U_COUNT, get_worst, true },
    { "backfill, mean us", "backfill_us", U_PLAIN, get_bf_cost, true },
    { "  worst us", "backfill_worst_us", U_COUNT, get_bf_worst, true },
};

static const struct class_table {
    const char *name, *json;
    size_t offset; /* of its struct stats_classes in struct stats */
} class_tables[] = {
    { "size", "by_size", offsetof(struct stats, by_size) },
    { "time limit", "by_limit", offsetof(struct stats, by_limit) },
    { "partition", "by_partition", offsetof(struct stats, by_part) },
    { "user", "by_user", offsetof(struct stats, by_user) },
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
        if (figures[f].cost && !rp->costs)
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
            if (!figures[f].cost || rp->costs)
                strbuf_addf(out, ",\"%s\":%.8g", figures[f].json, figures[f].get(&rp->runs[i]));
        json_classes(out, &rp->runs[i]);
        json_waits(out, rp->runs[i].stats);
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
