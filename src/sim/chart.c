/* chart.c - the charts of a report, as SVG
 *
 * Every chart stands alone: sizes, colours and fonts are its own.  Coordinates have one decimal at
 * most, so that a page of charts stays small. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "sim/report.h"

#define CHART_W 760
#define CHART_H 260
#define LEFT 58
#define RIGHT 14
#define TOP 34
#define BOTTOM 34
#define PLOT_W (CHART_W - LEFT - RIGHT)

static const char *const colours[REPORT_MAX_RUNS] = { "#2563eb", "#ea580c", "#059669", "#9333ea",
                                                      "#dc2626", "#0891b2", "#ca8a04", "#475569" };

struct frame {
    int h;              /* of the whole chart */
    double span_s, top; /* what the axes end at */
};

static int plot_h(const struct frame *f)
{
    return f->h - TOP - BOTTOM;
}

static void begin_chart(struct strbuf *out, int h, const char *title)
{
    strbuf_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" "
        "font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"#334155\" role=\"img\">"
        "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#fff\"/>"
        "<text x=\"%d\" y=\"20\" font-size=\"13\" font-weight=\"600\" fill=\"#0f172a\">",
        CHART_W, h, CHART_W, h, CHART_W, h, LEFT);
    report_escape(out, title);
    strbuf_add(out, "</text>\n");
}

/* ---- axes ------------------------------------------------------------------------------------ */

static void time_label(double seconds, double step, char *buf, size_t size)
{
    if (step >= 86400)
        (void)snprintf(buf, size, "%.0f d", seconds / 86400);
    else if (step >= 3600)
        (void)snprintf(buf, size, "%.0f h", seconds / 3600);
    else if (step >= 60)
        (void)snprintf(buf, size, "%.0f min", seconds / 60);
    else
        (void)snprintf(buf, size, "%.0f s", seconds);
}

static void time_axis(struct strbuf *out, const struct frame *f)
{
    static const double steps[] = { 1,      5,      10,     30,      60,      300,    600,
                                    1800,   3600,   7200,   14400,   21600,   43200,  86400,
                                    172800, 432000, 864000, 1728000, 4320000, 8640000 };
    double step = steps[0];
    char label[32];

    for (size_t i = 0; i < ARRAY_SIZE(steps) && f->span_s / step > 10; i++)
        step = steps[i];
    while (f->span_s / step > 10)
        step *= 2;
    for (double t = 0; t <= f->span_s; t += step) {
        double x = LEFT + PLOT_W * t / f->span_s;

        time_label(t, step, label, sizeof(label));
        strbuf_addf(out,
                    "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#64748b\">%s</text>",
                    x, f->h - BOTTOM + 18, label);
        strbuf_addf(out, "<path d=\"M%.1f %dv4\" stroke=\"#94a3b8\"/>", x, f->h - BOTTOM);
    }
    strbuf_add(out, "\n");
}

/* A round number at or above v: 1, 2 or 5 times a power of ten. */
static double round_up(double v)
{
    double unit = pow(10, floor(log10(v)));

    return v <= unit ? unit : v <= 2 * unit ? 2 * unit : v <= 5 * unit ? 5 * unit : 10 * unit;
}

static void value_axis(struct strbuf *out, const struct frame *f, bool percent)
{
    for (int i = 0; i <= 4; i++) {
        double v = f->top * i / 4;
        double y = f->h - BOTTOM - plot_h(f) * i / 4.0;

        strbuf_addf(out, "<path d=\"M%d %.1fh%d\" stroke=\"%s\"/>", LEFT, y, PLOT_W,
                    i ? "#e2e8f0" : "#94a3b8");
        strbuf_addf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"#64748b\">",
                    LEFT - 7, y + 4);
        strbuf_addf(out, percent ? "%.0f%%" : "%.6g", percent ? 100 * v : v);
        strbuf_add(out, "</text>");
    }
    strbuf_add(out, "\n");
}

static void draw_legend(struct strbuf *out, const struct report *rp)
{
    int x = CHART_W - RIGHT;

    if (rp->nruns < 2)
        return;
    for (size_t i = rp->nruns; i--;) {
        x -= (int)strlen(rp->runs[i].name) * 7 + 24;
        strbuf_addf(out,
                    "<rect x=\"%d\" y=\"11\" width=\"10\" height=\"10\" rx=\"2\" "
                    "fill=\"%s\"/><text x=\"%d\" y=\"20\">",
                    x, colours[i], x + 14);
        report_escape(out, rp->runs[i].name);
        strbuf_add(out, "</text>");
    }
    strbuf_add(out, "\n");
}

static double span_of(const struct report *rp)
{
    double span = 1;

    for (size_t i = 0; i < rp->nruns; i++)
        span = MAX(span, rp->runs[i].stats->makespan_s);
    return span;
}

/* ---- lines over time ------------------------------------------------------------------------- */

#define LINE_POINTS 350u

/* Mean of the bins that lie in the p-th of LINE_POINTS parts of the axis. */
static double line_value(const struct series *s, enum series_kind kind, double span_s, uint32_t p)
{
    double width = (double)s->width_us * 1e-6, sum = 0;
    uint32_t bins = series_used_bins(s), from = (uint32_t)(span_s * p / LINE_POINTS / width);
    uint32_t to = MAX((uint32_t)(span_s * (p + 1) / LINE_POINTS / width), from + 1);

    for (uint32_t i = from; i < to && i < bins; i++)
        sum += series_mean(s, kind, i);
    return sum / (to - from);
}

static void draw_line(struct strbuf *out, const struct frame *f, const struct series *s,
                      enum series_kind kind, double scale, size_t run, bool fill)
{
    double base = f->h - BOTTOM;

    if (fill)
        strbuf_addf(out, "<path fill=\"%s\" fill-opacity=\".13\" stroke=\"none\" d=\"M%d %.1fL",
                    colours[run], LEFT, base);
    else
        strbuf_addf(out,
                    "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\" "
                    "stroke-linejoin=\"round\" d=\"M",
                    colours[run]);
    for (uint32_t p = 0; p < LINE_POINTS; p++) {
        double v = MIN(line_value(s, kind, f->span_s, p) * scale / f->top, 1.0);

        strbuf_addf(out, "%.1f %.1f ", LEFT + PLOT_W * (p + 0.5) / LINE_POINTS,
                    base - plot_h(f) * v);
    }
    if (fill)
        strbuf_addf(out, "L%d %.1fZ", CHART_W - RIGHT, base);
    strbuf_add(out, "\"/>\n");
}

static void over_time(const struct report *rp, struct strbuf *out, const char *title,
                      enum series_kind kind, double scale, double top, bool percent)
{
    struct frame f = { .h = CHART_H, .span_s = span_of(rp), .top = top };

    begin_chart(out, f.h, title);
    value_axis(out, &f, percent);
    for (size_t i = 0; i < rp->nruns; i++) {
        if (rp->nruns == 1)
            draw_line(out, &f, rp->runs[i].result->series, kind, scale, i, true);
        draw_line(out, &f, rp->runs[i].result->series, kind, scale, i, false);
    }
    time_axis(out, &f);
    draw_legend(out, rp);
    strbuf_add(out, "</svg>\n");
}

void chart_utilisation(const struct report *rp, struct strbuf *out)
{
    over_time(rp, out, "CPUs in use", SERIES_USED,
              1.0 / (double)MAX(rp->machine->cpus, UINT64_C(1)), 1, true);
}

void chart_queue(const struct report *rp, struct strbuf *out)
{
    double span_s = span_of(rp), most = 0;

    for (size_t i = 0; i < rp->nruns; i++)
        for (uint32_t p = 0; p < LINE_POINTS; p++)
            most = MAX(most, line_value(rp->runs[i].result->series, SERIES_QUEUE, span_s, p));
    over_time(rp, out, "Jobs waiting", SERIES_QUEUE, 1, most > 4 ? round_up(most) : 4, false);
}

void chart_fragmentation(const struct report *rp, struct strbuf *out)
{
    double most = 0;

    for (size_t i = 0; i < rp->nruns; i++)
        most = MAX(most, rp->runs[i].stats->broken_max);
    over_time(rp, out, "Fragmentation of blocks (sizes of blocks that no job could have whole)",
              SERIES_BROKEN, 1, most > 4 ? round_up(most) : 4, false);
}

/* ---- bars ------------------------------------------------------------------------------------ */

struct bars {
    uint32_t n;
    double top;
    const char *(*name)(const struct report *rp, uint32_t bin);
    double (*value)(const struct report *rp, const struct report_run *run, uint32_t bin);
};

static void draw_bars(const struct report *rp, struct strbuf *out, const char *title,
                      const struct bars *b, bool percent)
{
    struct frame f = { .h = CHART_H, .top = b->top };
    double group = (double)PLOT_W / b->n, w = group * 0.8 / (double)rp->nruns;

    begin_chart(out, f.h, title);
    value_axis(out, &f, percent);
    for (uint32_t k = 0; k < b->n; k++) {
        double x = LEFT + group * (k + 0.1);

        for (size_t i = 0; i < rp->nruns; i++) {
            double v = b->value(rp, &rp->runs[i], k), h = plot_h(&f) * MIN(v / b->top, 1.0);

            if (h > 0)
                strbuf_addf(out,
                            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"1.5\" "
                            "fill=\"%s\"/>",
                            x + (double)i * w, f.h - BOTTOM - h, w * 0.92, h, colours[i]);
        }
        strbuf_addf(
            out,
            "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" fill=\"#64748b\" font-size=\"10\">",
            x + group * 0.4, f.h - BOTTOM + 16);
        report_escape(out, b->name(rp, k));
        strbuf_add(out, "</text>\n");
    }
    draw_legend(out, rp);
    strbuf_add(out, "</svg>\n");
}

static const char *wait_name(const struct report *rp, uint32_t bin)
{
    (void)rp;
    return stats_wait_names[bin];
}

static double wait_value(const struct report *rp, const struct report_run *run, uint32_t bin)
{
    (void)rp;
    return run->stats->wait_s.n ? (double)run->stats->waits[bin] / (double)run->stats->wait_s.n : 0;
}

void chart_waits(const struct report *rp, struct strbuf *out)
{
    struct bars b = { .n = STATS_WAIT_BINS, .name = wait_name, .value = wait_value };

    for (size_t i = 0; i < rp->nruns; i++)
        for (uint32_t k = 0; k < b.n; k++)
            b.top = MAX(b.top, wait_value(rp, &rp->runs[i], k));
    b.top = b.top > 0 ? MIN(ceil(b.top * 10) / 10, 1.0) : 1;
    draw_bars(rp, out, "How long jobs wait (share of the jobs)", &b, true);
}

static const char *size_name(const struct report *rp, uint32_t bin)
{
    return rp->runs[0].stats->by_size.items[bin].name;
}

static double size_value(const struct report *rp, const struct report_run *run, uint32_t bin)
{
    const struct stats_classes *c = &run->stats->by_size;

    for (uint32_t i = 0; i < c->n; i++)
        if (strcmp(c->items[i].name, size_name(rp, bin)) == 0)
            return c->items[i].slowdown.mean;
    return 0;
}

void chart_slowdown(const struct report *rp, struct strbuf *out)
{
    struct bars b = { .n = rp->runs[0].stats->by_size.n, .name = size_name, .value = size_value };

    if (!b.n)
        return;
    for (size_t i = 0; i < rp->nruns; i++)
        for (uint32_t k = 0; k < b.n; k++)
            b.top = MAX(b.top, size_value(rp, &rp->runs[i], k));
    b.top = round_up(MAX(b.top, 1.0));
    draw_bars(rp, out, "Mean bounded slowdown by the size of jobs", &b, false);
}
