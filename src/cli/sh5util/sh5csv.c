/* sh5csv.c - see sh5csv.h */
#include "cli/sh5util/sh5csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum form { SAMPLES, TOTALS, ITEMS };

struct csv {
    FILE *to;
    enum form form;
    bool many;  /* a column says which series */
    char *last; /* the columns of the series before */
};

static bool is_elapsed(const struct sh5columns *c, size_t i)
{
    return strcmp(c->names[i], SH5_ELAPSED) == 0;
}

static void put_column(const struct csv *csv, FILE *f, const struct sh5columns *c, size_t i)
{
    static const char *const of[] = { "Min", "Max", "Sum", "Avg" };
    char name[SH5_NAME_SIZE + 8];

    if (csv->form != TOTALS || is_elapsed(c, i)) {
        if (csv->form != ITEMS)
            (void)fputc(',', f);
        sh5walk_name(f, c->names[i]);
        if (csv->form == ITEMS)
            (void)fputc('\n', f);
        return;
    }
    for (size_t k = 0; k < ARRAY_SIZE(of); k++) {
        (void)snprintf(name, sizeof(name), "%s_%s", of[k], c->names[i]); /* it has room */
        (void)fputc(',', f);
        sh5walk_name(f, name);
    }
}

static int put_heading(struct csv *csv, const struct sh5columns *c)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return -ENOMEM;
    if (csv->form != ITEMS)
        (void)fputs(csv->many ? "Step,Node,Series" : "Step,Node", f);
    for (size_t i = 0; i < c->n; i++)
        put_column(csv, f, c, i);
    if (fclose(f) != 0) {
        free(text);
        return -ENOMEM;
    }
    if (!csv->last || strcmp(csv->last, text) != 0)
        (void)fprintf(csv->to, csv->form == ITEMS ? "%s" : "%s\n", text);
    free(csv->last);
    csv->last = text;
    return 0;
}

static void put_place(const struct csv *csv, const struct sh5table *t)
{
    sh5walk_name(csv->to, t->step);
    (void)fputc(',', csv->to);
    sh5walk_name(csv->to, t->node);
    if (!csv->many)
        return;
    (void)fputc(',', csv->to);
    sh5walk_name(csv->to, t->name);
}

static void put_rows(void *ctx, const struct sh5table *t, const union h5_cell *cells, size_t rows)
{
    const struct csv *csv = ctx;

    for (size_t i = 0; i < rows; i++) {
        put_place(csv, t);
        for (size_t k = 0; k < t->columns->n; k++, cells++)
            if (t->columns->real[k])
                (void)fprintf(csv->to, ",%.9g", cells->real);
            else
                (void)fprintf(csv->to, ",%" PRIu64, cells->count);
        (void)fputc('\n', csv->to);
    }
}

/* ---- totals ---------------------------------------------------------------------------------- */

struct totals {
    size_t rows;
    struct total {
        union h5_cell least, most, sum, last;
    } of[SH5_COLUMNS_MAX];
};

static void add_rows(void *ctx, const struct sh5table *t, const union h5_cell *cells, size_t rows)
{
    struct totals *all = ctx;
    size_t n = t->columns->n;

    for (size_t i = 0; i < rows; i++, all->rows++)
        for (size_t k = 0; k < n; k++, cells++) {
            struct total *s = &all->of[k];
            bool real = t->columns->real[k], first = all->rows == 0;

            if (first || (real ? cells->real < s->least.real : cells->count < s->least.count))
                s->least = *cells;
            if (first || (real ? cells->real > s->most.real : cells->count > s->most.count))
                s->most = *cells;
            if (real)
                s->sum.real += cells->real;
            else
                s->sum.count += cells->count;
            s->last = *cells;
        }
}

static void put_total(FILE *to, const struct total *s, bool real, size_t rows)
{
    double sum = real ? s->sum.real : (double)s->sum.count;

    if (real)
        (void)fprintf(to, ",%.9g,%.9g,%.9g", s->least.real, s->most.real, s->sum.real);
    else
        (void)fprintf(to, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64, s->least.count, s->most.count,
                      s->sum.count);
    (void)fprintf(to, ",%f", rows ? sum / (double)rows : 0);
}

static int put_totals(const struct csv *csv, const struct sh5table *t)
{
    _cleanup_free_ struct totals *all = calloc(1, sizeof(*all));
    int r = all ? sh5walk_rows(t, add_rows, all) : -ENOMEM;

    if (r < 0)
        return r;
    put_place(csv, t);
    for (size_t k = 0; k < t->columns->n; k++)
        if (!is_elapsed(t->columns, k))
            put_total(csv->to, &all->of[k], t->columns->real[k], all->rows);
        else if (t->columns->real[k])
            (void)fprintf(csv->to, ",%.9g", all->of[k].last.real);
        else
            (void)fprintf(csv->to, ",%" PRIu64, all->of[k].last.count);
    (void)fputc('\n', csv->to);
    return 0;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static int put_table(void *ctx, const struct sh5table *t)
{
    struct csv *csv = ctx;
    int r = put_heading(csv, t->columns);

    if (r < 0 || csv->form == ITEMS)
        return r;
    return csv->form == TOTALS ? put_totals(csv, t) : sh5walk_rows(t, put_rows, csv);
}

static int put_file(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                    const struct sh5series *which, enum form form, FILE *to, struct err *err)
{
    struct csv csv = { .to = to, .form = form, .many = sh5series_many(which) };
    int r = sh5walk(api, file, ids, which, put_table, &csv, err);

    free(csv.last);
    return r;
}

int sh5csv_write(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err)
{
    return put_file(api, file, ids, which, SAMPLES, to, err);
}

int sh5csv_totals(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                  const struct sh5series *which, FILE *to, struct err *err)
{
    return put_file(api, file, ids, which, TOTALS, to, err);
}

int sh5csv_items(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err)
{
    return put_file(api, file, ids, which, ITEMS, to, err);
}
