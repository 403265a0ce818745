/* chart_alloc.c - who holds the nodes over time
 *
 * A raster of time by nodes.  A cell has the colour of the user who has most of it, paler where
 * much of it is free; cells of equal look in a row are one stroke, and all strokes of a look are
 * one path. */
#include <stdio.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "sim/report.h"

#define ALLOC_W 760
#define LEFT 58
#define RIGHT 14
#define TOP 48
#define BOTTOM 34
#define COLS 229u /* three units wide each */
#define COL_W 3
#define MAX_ROWS 120u
#define USERS 9u
#define SHADES 3u
#define LOOKS ((USERS + 1) * SHADES)
#define BLANK LOOKS

static const char *const user_colours[USERS + 1] = { "#2563eb", "#f59e0b", "#10b981", "#ef4444",
                                                     "#8b5cf6", "#06b6d4", "#ec4899", "#84cc16",
                                                     "#f97316", "#94a3b8" };
static const char *const opacities[SHADES] = { ".3", ".6", ".95" };

struct cell {
    float used, best; /* CPU seconds: of all, of the one that has most */
    uint32_t who;     /* of the best: place among the users shown */
};

struct raster {
    const struct report *rp;
    const struct sim_result *r;
    struct cell *cells; /* row by row */
    uint32_t *places;   /* of a user: 0 .. USERS */
    uint32_t order[USERS], norder;
    uint32_t rows, per_row;
    double col_us;
};

/* The users with most CPU time get colours of their own. */
static void choose_users(struct raster *ra)
{
    const struct workload *w = ra->rp->workload;
    _cleanup_free_ double *sum = calloc(w->users.n + 1, sizeof(*sum));

    for (uint32_t u = 0; u < w->users.n; u++)
        ra->places[u] = USERS;
    if (!sum)
        return; /* all in one colour */
    for (size_t i = 0; i < w->n; i++) {
        const struct sim_outcome *o = &ra->r->jobs[i];

        if (o->start_us && o->end_us != INT64_MAX && w->jobs[i].user < w->users.n)
            sum[w->jobs[i].user] += (double)o->cpus * (double)(o->end_us - o->start_us);
    }
    while (ra->norder < USERS) {
        uint32_t best = 0;

        for (uint32_t u = 1; u < w->users.n; u++)
            if (sum[u] > sum[best])
                best = u;
        if (!w->users.n || sum[best] <= 0)
            break;
        sum[best] = -1;
        ra->places[best] = ra->norder;
        ra->order[ra->norder++] = best;
    }
}

static void paint_span(struct raster *ra, const struct sim_span *span, uint32_t who, double from,
                       double to)
{
    uint32_t c0 = (uint32_t)(from / ra->col_us), c1 = MIN((uint32_t)(to / ra->col_us), COLS - 1);

    for (uint32_t row = span->first / ra->per_row;
         row <= span->last / ra->per_row && row < ra->rows; row++) {
        uint32_t lo = MAX(span->first, row * ra->per_row),
                 hi = MIN(span->last, (row + 1) * ra->per_row - 1);

        for (uint32_t c = c0; c <= c1; c++) {
            struct cell *cell = &ra->cells[row * COLS + c];
            double t0 = MAX(from, c * ra->col_us), t1 = MIN(to, (c + 1) * ra->col_us);
            float add = (float)((t1 - t0) * (hi - lo + 1) * span->cpus);

            cell->used += add;
            if (add > cell->best) {
                cell->best = add;
                cell->who = who;
            }
        }
    }
}

static void paint_all(struct raster *ra)
{
    const struct workload *w = ra->rp->workload;

    for (size_t i = 0; i < w->n; i++) {
        const struct sim_outcome *o = &ra->r->jobs[i];
        uint32_t who = w->jobs[i].user < w->users.n ? ra->places[w->jobs[i].user] : USERS;
        int64_t end = MIN(o->end_us, ra->r->end_us);

        if (!o->start_us || end <= o->start_us)
            continue;
        for (uint32_t s = 0; s < o->nspans; s++)
            paint_span(ra, &ra->r->spans[o->span + s], who,
                       (double)(MAX(o->start_us, ra->r->begin_us) - ra->r->begin_us),
                       (double)(end - ra->r->begin_us));
    }
}

/* Which look a cell has: colour and shade, or BLANK. */
static uint32_t look_of(const struct raster *ra, uint32_t row, uint32_t col)
{
    const struct cell *c = &ra->cells[row * COLS + col];
    double can = 0, share;

    for (uint32_t n = row * ra->per_row; n < (row + 1) * ra->per_row && n < ra->rp->machine->nnodes;
         n++)
        can += ra->rp->machine->nodes[n].cpus;
    share = can > 0 ? c->used / (can * ra->col_us) : 0;
    if (share < 0.02)
        return BLANK;
    return c->who * SHADES + (share > 0.75 ? 2 : share > 0.35 ? 1 : 0);
}

static void emit_runs(const struct raster *ra, const uint8_t *looks, double row_h,
                      struct strbuf *out)
{
    for (uint32_t look = 0; look < LOOKS; look++) {
        bool any = false;

        for (uint32_t row = 0; row < ra->rows; row++) {
            int last_x = -1;

            for (uint32_t c = 0; c < COLS;) {
                uint32_t end = c;

                while (end < COLS && looks[row * COLS + end] == look)
                    end++;
                if (end == c) {
                    c++;
                    continue;
                }
                if (!any)
                    strbuf_addf(out, "<path stroke=\"%s\" stroke-opacity=\"%s\" d=\"",
                                user_colours[look / SHADES], opacities[look % SHADES]);
                any = true;
                if (last_x < 0)
                    strbuf_addf(out, "M%u %.4g", LEFT + c * COL_W, TOP + (row + 0.5) * row_h);
                else
                    strbuf_addf(out, "m%d 0", (int)(c * COL_W) - last_x);
                strbuf_addf(out, "h%u", (end - c) * COL_W);
                last_x = (int)(end * COL_W);
                c = end;
            }
        }
        if (any)
            strbuf_add(out, "\"/>\n");
    }
}

static void draw_labels(const struct raster *ra, int h, size_t run, struct strbuf *out)
{
    const struct report *rp = ra->rp;
    uint32_t x = LEFT, last = rp->machine->nnodes - 1;
    char length[32];

    strbuf_addf(out,
                "<text x=\"%d\" y=\"20\" font-size=\"13\" font-weight=\"600\" fill=\"#0f172a\">Who "
                "holds the nodes",
                LEFT);
    if (rp->nruns > 1) {
        strbuf_add(out, ": ");
        report_escape(out, rp->runs[run].name);
    }
    strbuf_add(out, "</text>");
    for (uint32_t i = 0; i <= ra->norder; i++) {
        const char *name = i < ra->norder ? name_nth(&rp->workload->users, ra->order[i]) : "others";

        if (i == ra->norder && rp->workload->users.n <= ra->norder)
            break;
        strbuf_addf(out,
                    "<rect x=\"%u\" y=\"29\" width=\"9\" height=\"9\" rx=\"2\" fill=\"%s\"/><text "
                    "x=\"%u\" y=\"37\" font-size=\"10\">",
                    x, user_colours[i < ra->norder ? i : USERS], x + 12);
        report_escape(out, name);
        strbuf_add(out, "</text>");
        x += 70;
    }
    strbuf_addf(out,
                "<text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#64748b\" font-size=\"10\">",
                LEFT - 6, TOP + 9);
    report_escape(out, rp->machine->nodes[0].name);
    strbuf_addf(
        out,
        "</text><text x=\"%d\" y=\"%d\" text-anchor=\"end\" fill=\"#64748b\" font-size=\"10\">",
        LEFT - 6, h - BOTTOM - 2);
    report_escape(out, rp->machine->nodes[last].name);
    strbuf_add(out, "</text>");
    for (int i = 0; i <= 4; i++) {
        report_time((double)(ra->r->end_us - ra->r->begin_us) * 1e-6 * i / 4, length,
                    sizeof(length));
        strbuf_addf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"%s\" fill=\"#64748b\">%s</text>",
                    LEFT + COLS * COL_W * i / 4.0, h - BOTTOM + 18,
                    i == 0   ? "start"
                    : i == 4 ? "end"
                             : "middle",
                    i ? length : "0");
    }
    strbuf_add(out, "\n");
}

void chart_allocation(const struct report *rp, size_t run, struct strbuf *out)
{
    const struct sim_result *r = rp->runs[run].result;
    struct raster ra = { .rp = rp, .r = r };
    _cleanup_free_ struct cell *cells = NULL;
    _cleanup_free_ uint32_t *places = calloc(rp->workload->users.n + 1, sizeof(*places));
    _cleanup_free_ uint8_t *looks = NULL;
    uint32_t nodes = rp->machine->nnodes;
    double row_h;
    int h;

    if (!nodes || r->end_us <= r->begin_us)
        return; /* nothing ran */
    ra.per_row = (nodes + MAX_ROWS - 1) / MAX_ROWS;
    ra.rows = (nodes + ra.per_row - 1) / ra.per_row;
    ra.col_us = (double)(r->end_us - r->begin_us) / COLS;
    ra.cells = cells = calloc((size_t)ra.rows * COLS, sizeof(*cells));
    ra.places = places;
    looks = malloc((size_t)ra.rows * COLS);
    if (!cells || !places || !looks) {
        out->failed = true;
        return;
    }
    choose_users(&ra);
    paint_all(&ra);
    for (uint32_t i = 0; i < ra.rows * COLS; i++)
        looks[i] = (uint8_t)look_of(&ra, i / COLS, i % COLS);
    row_h = MIN(MAX(300.0 / ra.rows, 2.0), 16.0);
    h = TOP + BOTTOM + (int)(row_h * ra.rows + 0.5);
    strbuf_addf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %d\" width=\"%d\" "
        "height=\"%d\" "
        "font-family=\"system-ui,sans-serif\" font-size=\"11\" fill=\"#334155\" role=\"img\">"
        "<rect width=\"%d\" height=\"%d\" rx=\"8\" fill=\"#fff\"/>"
        "<rect x=\"%d\" y=\"%d\" width=\"%u\" height=\"%.1f\" fill=\"#f1f5f9\"/>\n",
        ALLOC_W, h, ALLOC_W, h, ALLOC_W, h, LEFT, TOP, COLS * COL_W, row_h * ra.rows);
    strbuf_addf(out, "<g fill=\"none\" stroke-width=\"%.2f\" shape-rendering=\"crispEdges\">\n",
                row_h > 4 ? row_h - 1 : row_h);
    emit_runs(&ra, looks, row_h, out);
    strbuf_add(out, "</g>\n");
    draw_labels(&ra, h, run, out);
    strbuf_add(out, "</svg>\n");
}
