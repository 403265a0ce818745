/* report_html.c - one self-contained page: figures, charts, tables; no script, nothing from
 * elsewhere */
#include <stdio.h>

#include "base/cleanup.h"
#include "sim/report.h"

static const char style[] =
    "body{margin:0;background:#f1f5f9;color:#1e293b;font:14px/1.5 system-ui,sans-serif}"
    "main{max-width:1580px;margin:0 auto;padding:28px 20px 60px}"
    "h1{font-size:23px;margin:0 0 2px}h2{font-size:16px;margin:34px 0 "
    "10px}p{margin:0;color:#64748b}"
    ".grid{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,520px),1fr));gap:"
    "16px}"
    "svg{width:100%;height:auto;display:block;border-radius:8px;box-shadow:0 1px 3px #0f172a1f}"
    "table{border-collapse:collapse;background:#fff;border-radius:8px;box-shadow:0 1px 3px "
    "#0f172a1f;width:100%}"
    "th,td{padding:5px 12px;text-align:right;border-bottom:1px solid "
    "#e2e8f0;font-variant-numeric:tabular-nums}"
    "th{font-weight:600;color:#475569}th:first-child,td:first-child{text-align:left}tr:last-child "
    "td{border:0}"
    "td.best{color:#047857;font-weight:600}.scroll{overflow-x:auto}";

static void time_cell(struct strbuf *out, double seconds, bool best)
{
    char text[32];

    report_time(seconds, text, sizeof(text));
    strbuf_addf(out, "<td%s>%s</td>", best ? " class=best" : "", text);
}

/* One row: a value of each run; the best is marked when there are several. */
enum row_kind { ROW_TIME, ROW_PERCENT, ROW_PLAIN, ROW_COUNT };

static void add_row(const struct report *rp, struct strbuf *out, const char *name,
                    enum row_kind kind, int better, const double *v)
{
    double best = v[0];

    for (size_t i = 1; i < rp->nruns; i++)
        best = better > 0 ? MAX(best, v[i]) : MIN(best, v[i]);
    strbuf_addf(out, "<tr><td>%s</td>", name);
    for (size_t i = 0; i < rp->nruns; i++) {
        bool mark = better && rp->nruns > 1 && !(v[i] > best) && !(v[i] < best);

        if (kind == ROW_TIME)
            time_cell(out, v[i], mark);
        else
            strbuf_addf(out,
                        kind == ROW_PERCENT ? "<td%s>%.1f%%</td>"
                        : kind == ROW_PLAIN ? "<td%s>%.2f</td>"
                                            : "<td%s>%.0f</td>",
                        mark ? " class=best" : "", kind == ROW_PERCENT ? 100 * v[i] : v[i]);
    }
    strbuf_add(out, "</tr>\n");
}

#define ROW(name, kind, better, expr)                                                              \
    do {                                                                                           \
        for (size_t i = 0; i < rp->nruns; i++) {                                                   \
            const struct stats *s = rp->runs[i].stats;                                             \
            const struct sim_result *x = rp->runs[i].result;                                       \
            (void)s, (void)x;                                                                      \
            v[i] = (double)(expr);                                                                 \
        }                                                                                          \
        add_row(rp, out, name, kind, better, v);                                                   \
    } while (0)

static void add_summary(const struct report *rp, struct strbuf *out)
{
    double v[REPORT_MAX_RUNS];

    strbuf_add(out, "<div class=scroll><table><tr><th></th>");
    for (size_t i = 0; i < rp->nruns; i++) {
        strbuf_add(out, "<th>");
        report_escape(out, rp->runs[i].name);
        strbuf_add(out, "</th>");
    }
    strbuf_add(out, "</tr>\n");
    ROW("Utilisation until the last submission", ROW_PERCENT, 1, s->work_utilisation);
    ROW("Utilisation to the end", ROW_PERCENT, 1, s->utilisation);
    ROW("Makespan", ROW_TIME, -1, s->makespan_s);
    ROW("Wait, mean", ROW_TIME, -1, s->wait_s.mean);
    ROW("Wait, median", ROW_TIME, -1, s->wait_s.median);
    ROW("Wait, 95%", ROW_TIME, -1, s->wait_s.p95);
    ROW("Wait, longest", ROW_TIME, -1, s->wait_s.max);
    ROW("Bounded slowdown, mean", ROW_PLAIN, -1, s->slowdown.mean);
    ROW("Bounded slowdown, 95%", ROW_PLAIN, -1, s->slowdown.p95);
    ROW("Fairness between users (1 = all alike)", ROW_PLAIN, 1, s->fairness);
    if (rp->runs[0].result->nblocks)
        ROW("Fragmentation of blocks, mean", ROW_COUNT, -1, s->broken_mean);
    ROW("Queue, mean", ROW_PLAIN, -1, s->queue_mean);
    ROW("Queue, longest", ROW_COUNT, -1, s->queue_max);
    ROW("Free CPUs stranded beside other jobs", ROW_PERCENT, -1, s->stranded);
    ROW("Started by backfill", ROW_PERCENT, 0, s->backfilled);
    ROW("Jobs ended by their limit", ROW_COUNT, 0, s->at_limit);
    ROW("Jobs that fit nowhere", ROW_COUNT, 0, x->never);
    ROW("Quick passes", ROW_COUNT, 0, x->quick.n);
    ROW("Backfill passes", ROW_COUNT, 0, x->backfill.n);
    if (rp->costs) {
        ROW("Quick pass, mean microseconds", ROW_PLAIN, -1,
            x->quick.n ? (double)x->quick.cost_us / (double)x->quick.n : 0);
        ROW("Backfill, mean microseconds", ROW_PLAIN, -1,
            x->backfill.n ? (double)x->backfill.cost_us / (double)x->backfill.n : 0);
    }
    strbuf_add(out, "</table></div>\n");
}

#define CLASS_ROWS 40u

static void class_table(struct strbuf *out, const char *title, const struct stats_classes *c)
{
    strbuf_addf(
        out,
        "<div "
        "class=scroll><table><tr><th>%s</th><th>Jobs</th><th>Wait</th><th>Median</th><th>95%%</th>"
        "<th>Slowdown</th><th>CPU hours</th></tr>\n",
        title);
    for (uint32_t i = 0; i < c->n && i < CLASS_ROWS; i++) {
        const struct stats_class *k = &c->items[i];

        strbuf_add(out, "<tr><td>");
        report_escape(out, k->name);
        strbuf_addf(out, "</td><td>%llu</td>", (unsigned long long)k->wait_s.n);
        time_cell(out, k->wait_s.mean, false);
        time_cell(out, k->wait_s.median, false);
        time_cell(out, k->wait_s.p95, false);
        strbuf_addf(out, "<td>%.2f</td><td>%.0f</td></tr>\n", k->slowdown.mean, k->cpu_hours);
    }
    strbuf_add(out, "</table></div>\n");
}

static void block_table(const struct report *rp, const struct sim_result *r, struct strbuf *out)
{
    uint32_t worst[CLASS_ROWS];
    size_t n = report_worst_blocks(r, worst, CLASS_ROWS);

    if (!n)
        return;
    strbuf_add(out,
               "<div class=scroll><table><tr><th>Worst blocks</th><th>Fragmentation</th></tr>\n");
    for (size_t i = 0; i < n; i++) {
        strbuf_add(out, "<tr><td>");
        report_escape(out, topo_get_spec(machine_topology(rp->machine))->units[worst[i]].name);
        strbuf_addf(out, "</td><td>%.1f</td></tr>\n", r->block_score[worst[i]]);
    }
    strbuf_add(out, "</table></div>\n");
}

void report_html(const struct report *rp, struct strbuf *out)
{
    strbuf_add(out, "<!DOCTYPE html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
                    "content=\"width=device-width,initial-scale=1\"><title>");
    report_escape(out, rp->title);
    strbuf_addf(out, "</title><style>%s</style>\n<main><h1>", style);
    report_escape(out, rp->title);
    strbuf_addf(
        out, "</h1><p>%zu jobs of %u users on %u nodes with %llu CPUs</p>\n<h2>In figures</h2>\n",
        rp->workload->n, rp->workload->users.n, rp->machine->nnodes,
        (unsigned long long)rp->machine->cpus);
    add_summary(rp, out);
    strbuf_add(out, "<h2>Over time</h2><div class=grid>\n");
    chart_utilisation(rp, out);
    chart_queue(rp, out);
    if (rp->runs[0].result->nblocks)
        chart_fragmentation(rp, out);
    strbuf_add(out, "</div>\n<h2>Nodes</h2><div class=grid>\n");
    for (size_t i = 0; i < rp->nruns; i++)
        chart_allocation(rp, i, out);
    strbuf_add(out, "</div>\n<h2>Waiting</h2><div class=grid>\n");
    chart_waits(rp, out);
    chart_slowdown(rp, out);
    strbuf_add(out, "</div>\n");
    for (size_t i = 0; i < rp->nruns; i++) {
        strbuf_add(out, "<h2>Classes: ");
        report_escape(out, rp->runs[i].name);
        strbuf_add(out, "</h2><div class=grid>\n");
        class_table(out, "Size", &rp->runs[i].stats->by_size);
        class_table(out, "Time limit", &rp->runs[i].stats->by_limit);
        class_table(out, "Partition", &rp->runs[i].stats->by_part);
        class_table(out, "User", &rp->runs[i].stats->by_user);
        if (rp->runs[i].stats->by_segments.n > 1)
            class_table(out, "Segments", &rp->runs[i].stats->by_segments);
        block_table(rp, rp->runs[i].result, out);
        strbuf_add(out, "</div>\n");
    }
    strbuf_add(out, "</main></html>\n");
}
