/* h5image.c - see h5image.h */
#include "h5/h5image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"

#define STEP_BYTES (1u << 20) /* by which the image grows */

h5_id h5image_group(const struct h5_api *api, h5_id at, const char *name)
{
    if (api->l_exists(at, name, H5_DEFAULT) > 0)
        return api->g_open(at, name, H5_DEFAULT);
    return api->g_create(at, name, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT);
}

static bool put_text(const struct h5_api *api, h5_id at, const char *name, const char *value)
{
    h5_size one = 1;
    h5_id type = api->t_copy(*api->text), space = api->s_create(1, &one, NULL), a = -1;
    bool fine = type >= 0 && space >= 0 && api->t_set_size(type, strlen(value) + 1) >= 0 &&
                (a = api->a_create(at, name, type, space, H5_DEFAULT, H5_DEFAULT)) >= 0 &&
                api->a_write(a, type, value) >= 0;

    if (a >= 0)
        (void)api->a_close(a);
    if (space >= 0)
        (void)api->s_close(space);
    if (type >= 0)
        (void)api->t_close(type);
    return fine;
}

static h5_id make_type(const struct h5_api *api, const struct h5_table *t)
{
    h5_id type = api->t_create(H5_COMPOUND, t->n * sizeof(union h5_cell));

    for (size_t i = 0; type >= 0 && i < t->n; i++)
        if (api->t_insert(type, t->columns[i].name, i * sizeof(union h5_cell),
                          t->columns[i].real ? *api->real : *api->uint64) < 0) {
            (void)api->t_close(type);
            return -1;
        }
    return type;
}

static bool put_series(const struct h5_api *api, h5_id at, const char *name,
                       const struct h5_series *x)
{
    h5_size rows = x->rows;
    h5_id type = make_type(api, &h5_tables[x->kind]), space = api->s_create(1, &rows, NULL), d = -1;
    bool fine =
        type >= 0 && space >= 0 &&
        (d = api->d_create(at, name, type, space, H5_DEFAULT, H5_DEFAULT, H5_DEFAULT)) >= 0 &&
        api->d_write(d, type, 0, 0, H5_DEFAULT, x->cells) >= 0;

    if (d >= 0)
        (void)api->d_close(d);
    if (space >= 0)
        (void)api->s_close(space);
    if (type >= 0)
        (void)api->t_close(type);
    return fine;
}

static bool put_all(const struct h5_api *api, h5_id node, const struct h5_samples *s)
{
    h5_id tasks = -1;
    bool fine = true;
    char rank[16];

    for (size_t i = 0; fine && i < s->n; i++) {
        const struct h5_series *x = &s->series[i];

        if (!x->rows)
            continue;
        if (x->kind != H5_TASK) {
            fine = put_series(api, node, h5_tables[x->kind].name, x);
            continue;
        }
        if (tasks < 0)
            tasks = h5image_group(api, node, H5_TASKS);
        (void)snprintf(rank, sizeof(rank), "%u", x->task);
        fine = tasks >= 0 && put_series(api, tasks, rank, x);
    }
    if (tasks >= 0)
        (void)api->g_close(tasks);
    return fine;
}

static bool put_start(const struct h5_api *api, h5_id node, int64_t ms)
{
    time_t at = (time_t)(ms / 1000);
    char text[32];
    struct tm tm;

    if (!gmtime_r(&at, &tm) || !strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm))
        return false;
    return put_text(api, node, "Start Time", text);
}

static bool fill_file(const struct h5_api *api, h5_id file, const struct h5name *name,
                      const struct h5_samples *s)
{
    const char *const words[] = { H5_STEPS, name->step, H5_NODES, name->node };
    h5_id groups[ARRAY_SIZE(words)], at = file;
    size_t n = 0;
    bool fine;

    for (; n < ARRAY_SIZE(words) && at >= 0; n++)
        at = groups[n] = h5image_group(api, at, words[n]);
    fine = at >= 0 && put_text(api, at, "Node Name", name->node) &&
           (!s->begun || put_start(api, at, s->first_ms)) && put_all(api, at, s);
    while (n > 0)
        if (groups[--n] >= 0)
            (void)api->g_close(groups[n]);
    return fine && api->f_flush(file, H5_GLOBAL) >= 0;
}

/* The file's bytes. */
static int copy_image(const struct h5_api *api, h5_id file, void **ret_image, size_t *ret_len)
{
    ssize_t len = api->f_image(file, NULL, 0);
    void *image = len > 0 ? malloc((size_t)len) : NULL;

    if (len <= 0)
        return -EIO;
    if (!image)
        return -ENOMEM;
    if (api->f_image(file, image, (size_t)len) != len) {
        free(image);
        return -EIO;
    }
    *ret_image = image;
    *ret_len = (size_t)len;
    return 0;
}

int h5image_make(const struct h5_api *api, const struct h5name *name, const struct h5_samples *s,
                 void **ret_image, size_t *ret_len, struct err *err)
{
    h5_id access = api->p_create(*api->file_access), file = -1;
    int r = -EIO;

    if (access >= 0 && api->p_set_core(access, STEP_BYTES, false) >= 0)
        file = api->f_create("profile", H5_TRUNCATE, H5_DEFAULT, access);
    if (file >= 0 && fill_file(api, file, name, s))
        r = copy_image(api, file, ret_image, ret_len);
    if (file >= 0)
        (void)api->f_close(file);
    if (access >= 0)
        (void)api->p_close(access);
    return r < 0 ? err_set(err, r, "libhdf5 did not make the file: %s", strerror(-r)) : 0;
}
