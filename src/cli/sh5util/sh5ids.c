/* sh5ids.c - see sh5ids.h */
#include "cli/sh5util/sh5ids.h"

#include <stdio.h>
#include <string.h>

#include "base/timefmt.h"
#include "h5/h5name.h"

/* "7.batch" by the rules of names of files. */
static int read_one(const char *text, size_t len, struct h5name *ret, bool *ret_all)
{
    char word[64], name[80];
    char *dot;

    if (!len || len >= sizeof(word) || memchr(text, '_', len)) /* which stands between parts */
        return -EINVAL;
    memcpy(word, text, len);
    word[len] = '\0';
    dot = strchr(word, '.');
    *ret_all = !dot;
    if (dot)
        *dot = '\0';
    (void)snprintf(name, sizeof(name), "%s_%s_n.h5", word, dot ? dot + 1 : "0");
    return h5name_read(name, ret);
}

int sh5ids_read(const char *text, struct sh5ids *ret, struct err *err)
{
    struct sh5ids ids = { 0 };
    bool all = false, whole;

    for (const char *p = text;; p++) {
        size_t len = strcspn(p, ",");
        struct h5name n;

        if (read_one(p, len, &n, &whole) < 0)
            return err_set(err, -EINVAL, "%.*s is no job or step: write 7, 7.0 or 7.batch",
                           (int)(len < 64 ? len : 64), p);
        if (ids.job_id && ids.job_id != n.job_id)
            return err_set(err, -EINVAL, "one job at a time: %u and %u are two", ids.job_id,
                           n.job_id);
        ids.job_id = n.job_id;
        all = all || whole;
        if (!whole && ids.n_steps == SH5_STEPS_MAX)
            return err_set(err, -EINVAL, "more than %u steps", SH5_STEPS_MAX);
        if (!whole)
            memcpy(ids.steps[ids.n_steps++], n.step, sizeof(n.step));
        p += len;
        if (!*p)
            break;
    }
    if (all)
        ids.n_steps = 0;
    *ret = ids;
    return 0;
}

bool sh5ids_has(const struct sh5ids *ids, const char *step)
{
    for (size_t i = 0; i < ids->n_steps; i++)
        if (strcmp(ids->steps[i], step) == 0)
            return true;
    return !ids->n_steps;
}
