/* sh5item.c - see sh5item.h
 *
 * Columns, file and lines are those of Slurm's, whose heading misspells ElapsedTime. */
#include "cli/sh5util/sh5item.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

struct sample {
    union h5_cell value;
    double elapsed;
};

struct column {             /* of one node or task; all steps have the same columns */
    char *name;             /* "Energy n1" */
    struct sample *samples; /* of the step */
    size_t n, room;
};

struct item {
    const char *name;
    FILE *to, *said;
    struct err *err;
    bool many, real;
    char *step;
    struct column *columns;
    size_t n, room;
    /* what is read */
    struct column *into;
    size_t at, elapsed;
    bool failed;
};

/* ---- a step ---------------------------------------------------------------------------------- */

static void put_value(FILE *to, bool real, union h5_cell v)
{
    if (real)
        (void)fprintf(to, ",%f", v.real);
    else
        (void)fprintf(to, ",%" PRIu64, v.count);
}

static double as_real(bool real, union h5_cell v)
{
    return real ? v.real : (double)v.count;
}

struct over { /* one sample of all columns */
    const struct column *least, *most;
    union h5_cell sum;
    double mean, elapsed;
    size_t n;
};

static void look_at(const struct item *it, size_t i, struct over *o)
{
    *o = (struct over){ 0 };
    for (size_t k = 0; k < it->n; k++) {
        const struct column *c = &it->columns[k];

        if (i >= c->n)
            continue;
        if (!o->n++)
            o->elapsed = c->samples[i].elapsed;
        if (!o->least ||
            as_real(it->real, c->samples[i].value) < as_real(it->real, o->least->samples[i].value))
            o->least = c;
        if (!o->most ||
            as_real(it->real, c->samples[i].value) > as_real(it->real, o->most->samples[i].value))
            o->most = c;
        if (it->real)
            o->sum.real += c->samples[i].value.real;
        else
            o->sum.count += c->samples[i].value.count;
    }
    o->mean = o->n ? as_real(it->real, o->sum) / (double)o->n : 0;
}

/* The node's name; with its series where there are several. */
static const char *who_of(const struct item *it, const struct column *c)
{
    const char *space = strchr(c->name, ' ');

    return it->many || !space ? c->name : space + 1;
}

static void put_sample(const struct item *it, size_t i, const struct over *o)
{
    sh5walk_name(it->to, it->step);
    (void)fprintf(it->to, ",%.9g,", o->elapsed);
    sh5walk_name(it->to, who_of(it, o->least));
    put_value(it->to, it->real, o->least->samples[i].value);
    (void)fputc(',', it->to);
    sh5walk_name(it->to, who_of(it, o->most));
    put_value(it->to, it->real, o->most->samples[i].value);
    put_value(it->to, it->real, o->sum);
    (void)fprintf(it->to, ",%f,%zu", o->mean, o->n);
    for (size_t k = 0; k < it->n; k++)
        if (i < it->columns[k].n)
            put_value(it->to, it->real, it->columns[k].samples[i].value);
        else
            (void)fputc(',', it->to);
    (void)fputc('\n', it->to);
}

static void put_heading(const struct item *it)
{
    (void)fputs("Step,ElaspedTime,MinNode,MinValue,MaxNode,MaxValue,Sum,Avg,NumNodes", it->to);
    for (size_t k = 0; k < it->n; k++) {
        (void)fputc(',', it->to);
        sh5walk_name(it->to, it->columns[k].name);
    }
    (void)fputc('\n', it->to);
}

static void put_most(const struct item *it, const struct over *o)
{
    (void)fputs("    Step ", it->said);
    sh5walk_name(it->said, it->step);
    (void)fprintf(it->said, " Maximum accumulated %s Value (", it->name);
    if (it->real)
        (void)fprintf(it->said, "%f", o->sum.real);
    else
        (void)fprintf(it->said, "%" PRIu64, o->sum.count);
    (void)fprintf(it->said, ") occurred at Time=%.9g, Ave Node %f\n", o->elapsed, o->mean);
}

static void end_step(struct item *it)
{
    struct over o, most = { 0 };
    size_t i = 0;

    for (look_at(it, i, &o); o.n; look_at(it, ++i, &o)) {
        put_sample(it, i, &o);
        if (!most.n || as_real(it->real, o.sum) > as_real(it->real, most.sum))
            most = o;
    }
    if (most.n)
        put_most(it, &most);
    for (size_t k = 0; k < it->n; k++)
        it->columns[k].n = 0;
}

/* ---- its series ------------------------------------------------------------------------------ */

static void *grow_list(void *list, size_t n, size_t *room, size_t size)
{
    size_t more = n < *room ? *room : n ? 2 * n : 16;
    void *p = n < *room ? list : reallocarray(list, more, size);

    if (p)
        *room = more;
    return p;
}

static void take_rows(void *ctx, const struct sh5table *t, const union h5_cell *cells, size_t rows)
{
    struct item *it = ctx;
    struct column *c = it->into;
    const struct sh5columns *cols = t->columns;

    for (size_t i = 0; i < rows && !it->failed; i++, cells += cols->n) {
        struct sample *s = grow_list(c->samples, c->n, &c->room, sizeof(*s));

        if (!s) {
            it->failed = true;
            return;
        }
        c->samples = s;
        s[c->n++] = (struct sample){
            .value = cells[it->at],
            .elapsed =
                it->elapsed < cols->n ? as_real(cols->real[it->elapsed], cells[it->elapsed]) : 0,
        };
    }
}

static size_t find_column(const struct sh5columns *c, const char *name)
{
    size_t i = 0;

    while (i < c->n && strcasecmp(c->names[i], name) != 0)
        i++;
    return i;
}

static struct column *named_column(const struct item *it, const struct sh5table *t)
{
    size_t len = strlen(t->name);

    for (size_t k = 0; k < it->n; k++) {
        const char *name = it->columns[k].name;

        if (strncmp(name, t->name, len) == 0 && name[len] == ' ' &&
            strcmp(name + len + 1, t->node) == 0)
            return &it->columns[k];
    }
    return NULL;
}

/* The first walk: which columns there are. */
static int add_column(void *ctx, const struct sh5table *t)
{
    struct item *it = ctx;
    size_t at = find_column(t->columns, it->name);
    struct column *columns;
    char *name = NULL;

    if (at == t->columns->n)
        return err_set(it->err, -ENOENT, "series %s has no item %s: --list tells which there are",
                       t->name, it->name);
    if (it->n && it->real != t->columns->real[at])
        return err_set(it->err, -EINVAL, "item %s is a whole number in some series alone",
                       it->name);
    it->real = t->columns->real[at];
    if (named_column(it, t))
        return 0;
    columns = grow_list(it->columns, it->n, &it->room, sizeof(*columns));
    if (!columns)
        return -ENOMEM;
    it->columns = columns;
    if (asprintf(&name, "%s %s", t->name, t->node) < 0)
        return -ENOMEM;
    columns[it->n++] = (struct column){ .name = name };
    return 0;
}

/* The second walk. */
static int take_table(void *ctx, const struct sh5table *t)
{
    struct item *it = ctx;
    int r;

    if (it->step && strcmp(it->step, t->step) != 0) {
        end_step(it);
        free(it->step);
        it->step = NULL;
    }
    if (!it->step && !(it->step = strdup(t->step)))
        return -ENOMEM;
    it->into = named_column(it, t);
    it->at = find_column(t->columns, it->name);
    it->elapsed = find_column(t->columns, SH5_ELAPSED);
    if (!it->into || it->at == t->columns->n || it->real != t->columns->real[it->at])
        return -EIO; /* the file is written meanwhile */
    r = sh5walk_rows(t, take_rows, it);
    return r == 0 && it->failed ? -ENOMEM : r;
}

int sh5item_write(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                  const struct sh5series *which, const char *item, FILE *to, FILE *said,
                  struct err *err)
{
    struct item it = {
        .name = item, .to = to, .said = said, .err = err, .many = sh5series_many(which)
    };
    int r = sh5walk(api, file, ids, which, add_column, &it, err);

    if (r == 0) {
        put_heading(&it);
        r = sh5walk(api, file, ids, which, take_table, &it, err);
    }
    if (r == 0)
        end_step(&it);
    for (size_t k = 0; k < it.n; k++) {
        free(it.columns[k].name);
        free(it.columns[k].samples);
    }
    free(it.columns);
    free(it.step);
    return r;
}
