/* squeue_arrays.c - arrays whose waiting tasks are in several records; see squeue_arrays.h */
#include "cli/squeue/squeue_arrays.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "base/strbuf.h"
#include "cli/query/out_filter.h"

/* As the controller writes sets: a step is told of tasks farther apart than this. */
#define LISTED_SPAN 10u

struct array_line {
    struct job_row row; /* its job is ours */
    ProtobufCMessage *job;
    struct strbuf more;    /* tasks of the other records: ",2,5-6" */
    struct strbuf reasons; /* those that the array's record has not: ",JobHeldUser" */
};

static void line_free(struct array_line *l)
{
    if (l->job)
        protobuf_c_message_free_unpacked(l->job, NULL);
    strbuf_done(&l->more);
    strbuf_done(&l->reasons);
    free(l);
}

static bool row_waits(const struct job_row *row)
{
    return job_is_pending(row) &&
           !(row->job->state_flags & (1u << PST__JOB_FLAG__JOB_FLAG_COMPLETING)) &&
           row->job->array_job_id && !row->job->het_job_id;
}

/* Where the array's line is, or belongs. */
static size_t place_of(const struct job_arrays *a, uint32_t array)
{
    size_t low = 0, high = a->n;

    while (low < high) {
        size_t mid = (low + high) / 2;

        if (a->lines[mid]->row.job->array_job_id < array)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static struct array_line *line_of(const struct job_arrays *a, uint32_t array)
{
    size_t at = place_of(a, array);

    return at < a->n && a->lines[at]->row.job->array_job_id == array ? a->lines[at] : NULL;
}

static int make_room(struct job_arrays *a)
{
    size_t cap = a->cap ? a->cap * 2 : 16;
    struct array_line **more =
        a->n < a->cap ? a->lines : reallocarray(a->lines, cap, sizeof(*more));

    if (!more)
        return -ENOMEM;
    a->cap = a->n < a->cap ? a->cap : cap;
    a->lines = more;
    return 0;
}

/* The array's own record opens a line. */
static int open_line(struct job_arrays *a, const struct job_row *row)
{
    struct array_line *l = calloc(1, sizeof(*l));
    size_t at = place_of(a, row->job->array_job_id);

    if (!l || make_room(a) < 0 || pb_dup(&row->job->base, &l->job) < 0) {
        if (l)
            line_free(l);
        return -ENOMEM;
    }
    memmove(a->lines + at + 1, a->lines + at, (a->n++ - at) * sizeof(*a->lines));
    a->lines[at] = l;
    l->row = *row;
    l->row.job = PB_AS(job_record, l->job);
    return 1;
}

static bool says_reason(const struct array_line *l, const char *reason)
{
    const char *p = strbuf_str(&l->reasons);
    size_t len = strlen(reason);

    if (strcmp(job_reason(&l->row), reason) == 0)
        return true;
    for (; *p; p += strcspn(p, ",")) {
        p++;
        if (strcspn(p, ",") == len && memcmp(p, reason, len) == 0)
            return true;
    }
    return false;
}

int job_arrays_take(struct job_arrays *a, const struct job_row *row)
{
    const Pst__JobRecord *j = row->job;
    struct array_line *l;

    if (!row_waits(row))
        return 0;
    if (j->job_id == j->array_job_id)
        return j->array_tasks ? open_line(a, row) : 0;
    l = line_of(a, j->array_job_id);
    if (!l || !same_text(j->name, l->row.job->name) ||
        !same_text(j->partition, l->row.job->partition))
        return 0;
    if (j->array_tasks)
        strbuf_addf(&l->more, ",%.*s", (int)strcspn(j->array_tasks, "%"), j->array_tasks);
    else
        strbuf_addf(&l->more, ",%u", j->array_task_id);
    if (!says_reason(l, job_reason(row)))
        strbuf_addf(&l->reasons, ",%s", job_reason(row));
    return l->more.failed || l->reasons.failed ? -ENOMEM : 1;
}

struct tasks {
    uint32_t *list;
    size_t n, cap;
};

static int add_task(void *ctx, uint32_t task)
{
    struct tasks *t = ctx;

    if (t->n == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        uint32_t *more = reallocarray(t->list, cap, sizeof(*more));

        if (!more)
            return -ENOMEM;
        t->list = more;
        t->cap = cap;
    }
    t->list[t->n++] = task;
    return 0;
}

/* "1-3,7"; tasks at one distance from each other, over some way, are "0-20:4". */
static void put_tasks(struct strbuf *sb, const struct tasks *t)
{
    uint32_t first = t->list[0], last = t->list[t->n - 1];
    uint32_t step = t->n > 2 ? t->list[1] - first : 1;

    for (size_t i = 1; i < t->n && step > 1; i++)
        if (t->list[i] - t->list[i - 1] != step)
            step = 1;
    if (step > 1 && last - first > LISTED_SPAN) {
        strbuf_addf(sb, "%u-%u:%u", first, last, step);
        return;
    }
    for (size_t i = 0, end; i < t->n; i = end + 1) {
        for (end = i; end + 1 < t->n && t->list[end + 1] == t->list[end] + 1;)
            end++;
        strbuf_addf(sb, "%s%u", i ? "," : "", t->list[i]);
        if (end > i)
            strbuf_addf(sb, "-%u", t->list[end]);
    }
}

/* The tasks of all records; the limit on running ones is not told of such a set. */
static int join_tasks(struct array_line *l)
{
    Pst__JobRecord *j = PB_AS(job_record, l->job);
    _cleanup_val_(strbuf_done) struct strbuf all = STRBUF_INIT, text = STRBUF_INIT;
    struct tasks t = { 0 };
    int r;

    strbuf_addn(&all, j->array_tasks, strcspn(j->array_tasks, "%"));
    strbuf_add(&all, strbuf_str(&l->more));
    r = all.failed ? -ENOMEM : filter_each_task(strbuf_str(&all), add_task, &t);
    if (r == 0 && t.n) {
        qsort(t.list, t.n, sizeof(*t.list), order_u32);
        put_tasks(&text, &t);
        r = text.failed ? -ENOMEM : pb_set_str(&j->array_tasks, strbuf_str(&text));
    }
    free(t.list);
    return r;
}

int job_arrays_end(struct job_arrays *a, void (*fn)(void *ctx, struct job_row *row), void *ctx)
{
    int r = 0;

    for (size_t i = 0; i < a->n; i++) {
        struct array_line *l = a->lines[i];

        if (r == 0 && l->more.len)
            r = join_tasks(l);
        l->row.more_reasons = l->reasons.len ? strbuf_str(&l->reasons) : NULL;
        if (r == 0)
            fn(ctx, &l->row);
        line_free(l);
    }
    free(a->lines);
    *a = (struct job_arrays){ 0 };
    return r;
}

bool job_is_split_set(const Pst__JobRecord *j)
{
    return j->array_tasks && j->array_job_id && j->job_id != j->array_job_id;
}
