/* arrayanswer.c - one line for equal answers about tasks of an array; see arrayanswer.h.  Pure. */
#include "cli/query/arrayanswer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bitmap.h"
#include "base/cleanup.h"
#include "base/strbuf.h"
#include "cli/base/cli.h"
#include "wire/errors.h"

#define TASKS_NAMED_MAX (1u << 22)
#define GROUPS_MAX 32u /* different answers; the last takes the rest */

struct group {
    const char *text; /* NULL = done */
    struct bitmap *tasks;
};

struct answer {
    struct group groups[GROUPS_MAX];
    size_t n;
};

static struct group *group_of(struct answer *a, const char *text)
{
    for (size_t i = 0; i < a->n; i++)
        if (a->groups[i].text == text ||
            (text && a->groups[i].text && strcmp(a->groups[i].text, text) == 0))
            return &a->groups[i];
    if (a->n == GROUPS_MAX)
        return &a->groups[GROUPS_MAX - 1];
    a->groups[a->n].text = text;
    check_mem_or_die(bitmap_new(TASKS_NAMED_MAX, &a->groups[a->n].tasks));
    return &a->groups[a->n++];
}

/* "0-2,4-8:2%3": numbers, ranges and steps up to the throttle.  False: it is none. */
static bool set_tasks(struct bitmap *bm, const char *text)
{
    for (const char *p = text; *p && *p != '%'; p += *p == ',') {
        char *end;
        unsigned long first = strtoul(p, &end, 10), last = first, step = 1;

        if (end == p)
            return false;
        if (*end == '-')
            last = strtoul(end + 1, &end, 10);
        if (*end == ':')
            step = strtoul(end + 1, &end, 10);
        if ((*end && *end != ',' && *end != '%') || last < first || last >= TASKS_NAMED_MAX ||
            !step)
            return false;
        for (; first <= last; first += step)
            bitmap_set(bm, (uint32_t)first);
        p = end;
    }
    return true;
}

static void add_tasks(struct answer *a, const char *text, const char *tasks)
{
    (void)set_tasks(group_of(a, text)->tasks, tasks); /* the controller's own text */
}

char *arrayanswer_unknown(Pst__JobActionResult *const *results, size_t n)
{
    const char *set = strstr(results[0]->id, "_[");
    _cleanup_free_ char *tasks = NULL;
    struct bitmap *wanted = NULL, *known = NULL;
    char *left = NULL;

    if (!set)
        return NULL;
    tasks = xasprintf_or_die("%.*s", (int)strcspn(set + 2, "]%"), set + 2);
    check_mem_or_die(bitmap_new(TASKS_NAMED_MAX, &wanted));
    check_mem_or_die(bitmap_new(TASKS_NAMED_MAX, &known));
    for (size_t i = 0; i < n; i++)
        if (results[i]->tasks)
            (void)set_tasks(known, results[i]->tasks); /* the controller's own text */
    if (set_tasks(wanted, tasks)) {
        bitmap_andnot(wanted, known);
        if (!bitmap_empty(wanted))
            check_mem_or_die(bitmap_format(wanted, &left));
    }
    bitmap_free(known);
    bitmap_free(wanted);
    return left;
}

static int by_lowest(const void *pa, const void *pb)
{
    const struct group *a = pa, *b = pb;
    uint32_t x = bitmap_next(a->tasks, 0), y = bitmap_next(b->tasks, 0);

    return (x > y) - (x < y);
}

static char *write_lines(struct answer *a, const char *id, bool good)
{
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;
    bool failed = false;

    qsort(a->groups, a->n, sizeof(*a->groups), by_lowest);
    for (size_t i = 0; i < a->n; i++) {
        _cleanup_free_ char *tasks = NULL;

        failed |= a->groups[i].text != NULL;
        if (!a->groups[i].text && !good)
            continue;
        check_mem_or_die(bitmap_format(a->groups[i].tasks, &tasks));
        strbuf_addf(&sb, "%s%.*s_[%s]: %s", sb.len ? "\n" : "", (int)strcspn(id, "_"), id, tasks,
                    a->groups[i].text ? a->groups[i].text : slurm_err_text(0));
    }
    if (failed)
        check_mem_or_die(strbuf_detach(&sb, &text));
    strbuf_done(&sb);
    return text;
}

size_t arrayanswer_run(Pst__JobActionResult *const *results, size_t n)
{
    size_t run = 0;

    while (run < n && results[run]->id && results[run]->tasks &&
           strcmp(results[run]->id, results[0]->id) == 0)
        run++;
    return run;
}

char *arrayanswer_lines(Pst__JobActionResult *const *results, size_t n, bool good)
{
    struct answer a = { .n = 0 };
    _cleanup_free_ char *unknown = arrayanswer_unknown(results, n);
    char *text;

    for (size_t i = 0; i < n; i++) {
        const Pst__JobActionResult *r = results[i];

        add_tasks(&a, !r->code ? NULL : r->text ? r->text : slurm_err_text(r->code), r->tasks);
    }
    if (unknown)
        add_tasks(&a, slurm_err_text(ESLURM_INVALID_JOB_ID), unknown);
    text = write_lines(&a, results[0]->id, good);
    for (size_t i = 0; i < a.n; i++)
        bitmap_free(a.groups[i].tasks);
    return text;
}
