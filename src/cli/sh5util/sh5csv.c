/* sh5csv.c - see sh5csv.h
 *
 * The file is its owner's, who may have written anything into it: names are quoted, and columns
 * that are no numbers are passed over. */
#include "cli/sh5util/sh5csv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "h5/h5image.h"

#define COLUMNS_MAX 64u
#define NAME_SIZE 256u
#define BLOCK 1024u /* rows read at a time */

struct walk {
    const struct h5_api *api;
    const struct sh5ids *ids;
    const struct sh5series *which;
    FILE *to;
    bool items; /* their names alone */
    char *last; /* the columns of the series before */
    const char *step, *node;
    bool found, failed;
};

int sh5series_read(const char *text, struct sh5series *s)
{
    static const char task[] = "Task_";
    size_t digits;

    s->one_task = false;
    for (unsigned k = 0; k < H5_KINDS; k++)
        s->kinds[k] = !text || strcasecmp(text, h5_tables[k].name) == 0;
    if (!text)
        return 0;
    if (strcasecmp(text, "Tasks") == 0)
        s->kinds[H5_TASK] = true;
    if (strcasecmp(text, "Lustre") == 0)
        s->kinds[H5_FILESYSTEM] = true;
    if (strncasecmp(text, task, strlen(task)) == 0) {
        text += strlen(task);
        digits = strspn(text, "0123456789");
        if (!digits || text[digits] || digits >= sizeof(s->task))
            return -EINVAL;
        s->kinds[H5_TASK] = s->one_task = true;
        (void)snprintf(s->task, sizeof(s->task), "%s", text); /* it has room */
    }
    for (unsigned k = 0; k < H5_KINDS; k++)
        if (s->kinds[k])
            return 0;
    return -EINVAL;
}

/* ---- text ------------------------------------------------------------------------------------ */

static void put_name(FILE *to, const char *name)
{
    bool quoted = strpbrk(name, ",\"") != NULL;

    if (quoted)
        (void)fputc('"', to);
    for (const char *p = name; *p; p++) {
        if (*p == '"')
            (void)fputc('"', to);
        (void)fputc((unsigned char)*p < ' ' || *p == 0x7f ? '?' : *p, to);
    }
    if (quoted)
        (void)fputc('"', to);
}

struct columns {
    char names[COLUMNS_MAX][NAME_SIZE];
    bool real[COLUMNS_MAX];
    size_t n;
    h5_id type; /* in memory: cells of 8 bytes */
};

static int read_columns(const struct h5_api *api, h5_id data, struct columns *c)
{
    h5_id type = api->d_type(data);
    int n = type >= 0 && api->t_class(type) == H5_COMPOUND ? api->t_members(type) : 0;

    c->n = 0;
    for (unsigned i = 0; n > 0 && i < (unsigned)n && c->n < COLUMNS_MAX; i++) {
        int class_id = api->t_member_class(type, i);
        char *name = api->t_member_name(type, i);

        if (name && strlen(name) < NAME_SIZE &&
            (class_id == H5_CLASS_INT || class_id == H5_CLASS_REAL)) {
            (void)snprintf(c->names[c->n], NAME_SIZE, "%s", name);
            c->real[c->n++] = class_id == H5_CLASS_REAL;
        }
        (void)api->free_memory(name);
    }
    if (type >= 0)
        (void)api->t_close(type);
    c->type = c->n ? api->t_create(H5_COMPOUND, c->n * sizeof(union h5_cell)) : -1;
    for (size_t i = 0; c->type >= 0 && i < c->n; i++)
        if (api->t_insert(c->type, c->names[i], i * sizeof(union h5_cell),
                          c->real[i] ? *api->real : *api->uint64) < 0) {
            (void)api->t_close(c->type);
            c->type = -1;
        }
    return c->type < 0 ? -EIO : 0;
}

static int put_heading(struct walk *w, const struct columns *c)
{
    char *text = NULL;
    size_t len = 0;
    FILE *f = open_memstream(&text, &len);

    if (!f)
        return -ENOMEM;
    if (!w->items)
        (void)fputs("Step,Node,Series", f);
    for (size_t i = 0; i < c->n; i++) {
        if (!w->items)
            (void)fputc(',', f);
        put_name(f, c->names[i]);
        if (w->items)
            (void)fputc('\n', f);
    }
    if (fclose(f) != 0) {
        free(text);
        return -ENOMEM;
    }
    if (!w->last || strcmp(w->last, text) != 0)
        (void)fprintf(w->to, w->items ? "%s" : "%s\n", text);
    free(w->last);
    w->last = text;
    return 0;
}

static void put_rows(struct walk *w, const struct columns *c, const char *series,
                     const union h5_cell *cells, size_t rows)
{
    for (size_t i = 0; i < rows; i++) {
        put_name(w->to, w->step);
        (void)fputc(',', w->to);
        put_name(w->to, w->node);
        (void)fputc(',', w->to);
        put_name(w->to, series);
        for (size_t k = 0; k < c->n; k++, cells++)
            if (c->real[k])
                (void)fprintf(w->to, ",%.9g", cells->real);
            else
                (void)fprintf(w->to, ",%" PRIu64, cells->count);
        (void)fputc('\n', w->to);
    }
}

/* ---- a series -------------------------------------------------------------------------------- */

static int copy_rows(struct walk *w, h5_id data, const struct columns *c, const char *series)
{
    const struct h5_api *api = w->api;
    h5_id space = api->d_space(data);
    _cleanup_free_ union h5_cell *cells = calloc(BLOCK * c->n, sizeof(*cells));
    int64_t rows = space >= 0 && api->s_rank(space) == 1 ? api->s_points(space) : -1;
    int r = !cells ? -ENOMEM : rows < 0 ? -EIO : 0;

    for (h5_size at = 0; r == 0 && at < (h5_size)rows; at += BLOCK) {
        h5_size n = MIN((h5_size)rows - at, (h5_size)BLOCK);
        h5_id block = api->s_create(1, &n, NULL);

        if (block < 0 || api->s_select(space, H5_SELECT_SET, &at, NULL, &n, NULL) < 0 ||
            api->d_read(data, c->type, block, space, H5_DEFAULT, cells) < 0)
            r = -EIO;
        else
            put_rows(w, c, series, cells, (size_t)n);
        if (block >= 0)
            (void)api->s_close(block);
    }
    if (space >= 0)
        (void)api->s_close(space);
    return r;
}

static void put_series(struct walk *w, h5_id at, const char *name, const char *series)
{
    _cleanup_free_ struct columns *c = calloc(1, sizeof(*c));
    h5_id data = w->api->d_open(at, name, H5_DEFAULT);
    int r = data < 0 || !c ? -EIO : read_columns(w->api, data, c);

    if (r == 0) {
        r = put_heading(w, c);
        if (r == 0 && !w->items)
            r = copy_rows(w, data, c, series);
        (void)w->api->t_close(c->type);
    }
    w->found = true;
    w->failed = w->failed || r < 0;
    if (data >= 0)
        (void)w->api->d_close(data);
}

/* ---- the groups ------------------------------------------------------------------------------ */

typedef void each_fn(struct walk *w, h5_id at, const char *name);

static void each_name(struct walk *w, h5_id group, each_fn *fn)
{
    struct h5_group_info info = { 0 };
    char name[NAME_SIZE];

    if (w->api->g_info(group, &info) < 0)
        w->failed = true;
    for (h5_size i = 0; i < info.links; i++) {
        ssize_t len = w->api->l_name(group, ".", H5_BY_NAME, H5_INCREASING, i, name, sizeof(name),
                                     H5_DEFAULT);

        if (len > 0 && (size_t)len < sizeof(name))
            fn(w, group, name);
    }
}

static void in_group(struct walk *w, h5_id at, const char *name, each_fn *fn)
{
    h5_id group =
        w->api->l_exists(at, name, H5_DEFAULT) > 0 ? w->api->g_open(at, name, H5_DEFAULT) : -1;

    if (group < 0)
        return;
    each_name(w, group, fn);
    (void)w->api->g_close(group);
}

static void on_task(struct walk *w, h5_id at, const char *name)
{
    char series[NAME_SIZE + 8];

    if (w->which->one_task && strcmp(name, w->which->task) != 0)
        return;
    (void)snprintf(series, sizeof(series), "Task_%s", name);
    put_series(w, at, name, series);
}

static void on_series(struct walk *w, h5_id at, const char *name)
{
    if (strcmp(name, H5_TASKS) == 0 && w->which->kinds[H5_TASK])
        in_group(w, at, name, on_task);
    for (unsigned k = H5_ENERGY; k < H5_KINDS; k++)
        if (w->which->kinds[k] && strcmp(name, h5_tables[k].name) == 0)
            put_series(w, at, name, name);
}

static void on_node(struct walk *w, h5_id at, const char *name)
{
    if (w->which->node && strcmp(name, w->which->node) != 0)
        return;
    w->node = name;
    in_group(w, at, name, on_series);
}

static void on_nodes(struct walk *w, h5_id at, const char *name)
{
    if (strcmp(name, H5_NODES) == 0)
        in_group(w, at, name, on_node);
}

static void on_step(struct walk *w, h5_id at, const char *name)
{
    if (!sh5ids_has(w->ids, name))
        return;
    w->step = name;
    in_group(w, at, name, on_nodes);
}

static int walk_file(struct walk *w, h5_id file, struct err *err)
{
    in_group(w, file, H5_STEPS, on_step);
    free(w->last);
    if (w->failed)
        return err_set(err, -EIO, "a series could not be read");
    if (!w->found)
        return err_set(err, -ENOENT, "there is no such series in the file");
    return 0;
}

int sh5csv_write(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err)
{
    struct walk w = { .api = api, .ids = ids, .which = which, .to = to };

    return walk_file(&w, file, err);
}

int sh5csv_items(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
                 const struct sh5series *which, FILE *to, struct err *err)
{
    struct walk w = { .api = api, .ids = ids, .which = which, .to = to, .items = true };

    return walk_file(&w, file, err);
}
