/* sh5walk.c - see sh5walk.h
 *
 * The file is its owner's, who may have written anything into it: names are quoted, and columns
 * that are no numbers are passed over. */
#include "cli/sh5util/sh5walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "h5/h5image.h"

#define BLOCK 1024u /* rows read at a time */

struct walk {
    const struct h5_api *api;
    const struct sh5ids *ids;
    const struct sh5series *which;
    sh5table_fn *fn;
    void *ctx;
    const char *step, *node;
    bool found;
    int r;
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

bool sh5series_many(const struct sh5series *s)
{
    unsigned n = s->kinds[H5_TASK] && !s->one_task; /* of tasks there are several */

    for (unsigned k = 0; k < H5_KINDS; k++)
        n += s->kinds[k];
    return n > 1;
}

/* ---- text ------------------------------------------------------------------------------------ */

void sh5walk_name(FILE *to, const char *name)
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

static int read_columns(const struct h5_api *api, h5_id data, struct sh5columns *c)
{
    h5_id type = api->d_type(data);
    int n = type >= 0 && api->t_class(type) == H5_COMPOUND ? api->t_members(type) : 0;

    c->n = 0;
    for (unsigned i = 0; n > 0 && i < (unsigned)n && c->n < SH5_COLUMNS_MAX; i++) {
        int class_id = api->t_member_class(type, i);
        char *name = api->t_member_name(type, i);

        if (name && strlen(name) < SH5_NAME_SIZE &&
            (class_id == H5_CLASS_INT || class_id == H5_CLASS_REAL)) {
            (void)snprintf(c->names[c->n], SH5_NAME_SIZE, "%s", name);
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

/* ---- a series -------------------------------------------------------------------------------- */

int sh5walk_rows(const struct sh5table *t, sh5rows_fn *fn, void *ctx)
{
    const struct h5_api *api = t->api;
    h5_id space = api->d_space(t->data);
    _cleanup_free_ union h5_cell *cells = calloc(BLOCK * t->columns->n, sizeof(*cells));
    int64_t rows = space >= 0 && api->s_rank(space) == 1 ? api->s_points(space) : -1;
    int r = !cells ? -ENOMEM : rows < 0 ? -EIO : 0;

    for (h5_size at = 0; r == 0 && at < (h5_size)rows; at += BLOCK) {
        h5_size n = MIN((h5_size)rows - at, (h5_size)BLOCK);
        h5_id block = api->s_create(1, &n, NULL);

        if (block < 0 || api->s_select(space, H5_SELECT_SET, &at, NULL, &n, NULL) < 0 ||
            api->d_read(t->data, t->columns->type, block, space, H5_DEFAULT, cells) < 0)
            r = -EIO;
        else
            fn(ctx, t, cells, (size_t)n);
        if (block >= 0)
            (void)api->s_close(block);
    }
    if (space >= 0)
        (void)api->s_close(space);
    return r;
}

static void on_table(struct walk *w, h5_id at, const char *name, const char *series)
{
    _cleanup_free_ struct sh5columns *c = calloc(1, sizeof(*c));
    h5_id data = w->api->d_open(at, name, H5_DEFAULT);
    int r = data < 0 || !c ? -EIO : read_columns(w->api, data, c);
    const struct sh5table t = {
        .api = w->api, .data = data, .step = w->step, .node = w->node, .name = series, .columns = c
    };

    w->found = true;
    if (r == 0) {
        r = w->fn(w->ctx, &t);
        (void)w->api->t_close(c->type);
    }
    w->r = w->r ?: r;
    if (data >= 0)
        (void)w->api->d_close(data);
}

/* ---- the groups ------------------------------------------------------------------------------ */

typedef void each_fn(struct walk *w, h5_id at, const char *name);

static void each_name(struct walk *w, h5_id group, each_fn *fn)
{
    struct h5_group_info info = { 0 };
    char name[SH5_NAME_SIZE];

    if (w->api->g_info(group, &info) < 0)
        w->r = w->r ?: -EIO;
    for (h5_size i = 0; i < info.links && w->r == 0; i++) {
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
    char series[SH5_NAME_SIZE + 8];

    if (w->which->one_task && strcmp(name, w->which->task) != 0)
        return;
    (void)snprintf(series, sizeof(series), "Task_%s", name);
    on_table(w, at, name, series);
}

static void on_series(struct walk *w, h5_id at, const char *name)
{
    if (strcmp(name, H5_TASKS) == 0 && w->which->kinds[H5_TASK])
        in_group(w, at, name, on_task);
    for (unsigned k = H5_ENERGY; k < H5_KINDS && w->r == 0; k++)
        if (w->which->kinds[k] && strcmp(name, h5_tables[k].name) == 0)
            on_table(w, at, name, name);
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

int sh5walk(const struct h5_api *api, h5_id file, const struct sh5ids *ids,
            const struct sh5series *which, sh5table_fn *fn, void *ctx, struct err *err)
{
    struct walk w = { .api = api, .ids = ids, .which = which, .fn = fn, .ctx = ctx };

    err->text[0] = '\0';
    in_group(&w, file, H5_STEPS, on_step);
    if (w.r < 0)
        return err->text[0] ? w.r : err_set(err, w.r, "a series could not be read");
    return w.found ? 0 : err_set(err, -ENOENT, "there is no such series in the file");
}
