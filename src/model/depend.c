/* depend.c - job dependencies; see depend.h. */
#include "model/depend.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "model/array.h"
#include "model/job.h"

static const char *const type_names[] = {
    [DEPEND_AFTER] = "after",         [DEPEND_AFTERANY] = "afterany",
    [DEPEND_AFTEROK] = "afterok",     [DEPEND_AFTERNOTOK] = "afternotok",
    [DEPEND_AFTERCORR] = "aftercorr", [DEPEND_AFTERBURSTBUFFER] = "afterburstbuffer",
    [DEPEND_SINGLETON] = "singleton",
};

static bool take_u32(const char **p, uint32_t *ret)
{
    uint64_t v = 0;
    const char *s = *p;

    for (; isdigit((unsigned char)*s) && v < UINT32_MAX; s++)
        v = v * 10 + (uint64_t)(*s - '0');
    if (s == *p || v >= UINT32_MAX)
        return false;
    *p = s;
    *ret = (uint32_t)v;
    return true;
}

static int add_item(struct depends *d, const struct depend_item *item)
{
    struct depend_item *bigger;

    if (d->n >= DEPEND_MAX_ITEMS)
        return -E2BIG;
    bigger = realloc(d->items, (d->n + 1) * sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    d->items = bigger;
    d->items[d->n++] = *item;
    return 0;
}

/* The mark of the stored form, if there is one. */
static bool take_mark(const char **p, bool *failed)
{
    static const char wait[] = "(unfulfilled)", fail[] = "(failed)";

    *failed = false;
    if (**p != '(')
        return true;
    if (strncmp(*p, wait, sizeof(wait) - 1) == 0) {
        *p += sizeof(wait) - 1;
        return true;
    }
    if (strncmp(*p, fail, sizeof(fail) - 1) == 0) {
        *p += sizeof(fail) - 1;
        *failed = true;
        return true;
    }
    return false;
}

/* "ID[_TASK][+MIN]" with mark. */
static bool take_target(const char **p, struct depend_item *item)
{
    if (!take_u32(p, &item->job_id) || item->job_id == 0)
        return false;
    if (**p == '_') {
        (*p)++;
        item->has_task = **p != '*';
        item->whole_array = !item->has_task;
        if (!item->has_task)
            (*p)++;
        else if (!take_u32(p, &item->task))
            return false;
    }
    if (**p == '+') {
        (*p)++;
        if (!take_u32(p, &item->delay_min) || !item->delay_min)
            return false;
    }
    return take_mark(p, &item->failed);
}

static bool take_type(const char **p, enum depend_type *ret)
{
    size_t len = strcspn(*p, ":,?(");

    for (size_t t = 0; t < ARRAY_SIZE(type_names); t++) {
        if (strlen(type_names[t]) == len && strncasecmp(*p, type_names[t], len) == 0) {
            *p += len;
            *ret = (enum depend_type)t;
            return true;
        }
    }
    return false;
}

/* "ID_[1-2,4]": an item for each task.  0 taken, 1 no such text, -EINVAL, -E2BIG, -ENOMEM. */
static int take_range(const char **p, struct depends *d, enum depend_type type)
{
    struct depend_item item = { .type = type, .has_task = true };
    const char *s = *p;

    if (!take_u32(&s, &item.job_id) || s[0] != '_' || s[1] != '[')
        return 1;
    s += 2;
    do {
        uint32_t lo, hi;
        int r = 0;

        if (!take_u32(&s, &lo))
            return -EINVAL;
        hi = lo;
        if (*s == '-' && (s++, !take_u32(&s, &hi)))
            return -EINVAL;
        for (uint64_t task = lo; task <= hi && r == 0; task++) {
            item.task = (uint32_t)task;
            r = add_item(d, &item);
        }
        if (r < 0 || hi < lo)
            return r < 0 ? r : -EINVAL;
    } while (*s == ',' && s++);
    if (*s++ != ']' || !item.job_id)
        return -EINVAL;
    *p = s;
    return 0;
}

static int parse_entry(const char **p, struct depends *d)
{
    struct depend_item item = { .type = DEPEND_AFTERANY };
    int r;

    if (isdigit((unsigned char)**p)) {
        if (!take_target(p, &item))
            return -EINVAL;
        return add_item(d, &item);
    }
    if (!take_type(p, &item.type))
        return -EINVAL;
    if (item.type == DEPEND_SINGLETON)
        return take_mark(p, &item.failed) ? add_item(d, &item) : -EINVAL;
    if (**p != ':')
        return -EINVAL;
    while (**p == ':') {
        struct depend_item one = { .type = item.type };

        (*p)++;
        *p += strspn(*p, " ");
        r = take_range(p, d, item.type);
        if (r == 0)
            continue;
        if (r < 0 || !take_target(p, &one))
            return -EINVAL;
        r = add_item(d, &one);
        if (r < 0)
            return r;
    }
    return 0;
}

int depends_parse(const char *text, struct depends *ret, struct err *err)
{
    struct depends d = { 0 };
    const char *p = text;
    char joiner = 0;
    int r = 0;

    while (*p) {
        r = parse_entry(&p, &d);
        if (r < 0)
            break;
        if (!*p)
            break;
        if ((*p != ',' && *p != '?') || (joiner && joiner != *p) || !p[1]) {
            r = -EINVAL;
            break;
        }
        joiner = *p++;
    }
    if (r < 0) {
        depends_done(&d);
        return err_set(err, r, "Job dependency problem");
    }
    d.any = joiner == '?';
    *ret = d;
    return 0;
}

void depends_uniq(struct depends *d)
{
    size_t kept = 0;

    for (size_t i = 0; i < d->n; i++) {
        const struct depend_item *it = &d->items[i];
        bool twice = false;

        for (size_t k = 0; k < kept && !twice; k++)
            twice = d->items[k].type == it->type && d->items[k].job_id == it->job_id &&
                    d->items[k].has_task == it->has_task && d->items[k].task == it->task;
        if (!twice)
            d->items[kept++] = *it;
    }
    d->n = kept;
}

void depends_done(struct depends *d)
{
    free(d->items);
    *d = (struct depends){ 0 };
}

int depends_format(const struct depends *d, char **ret_text)
{
    struct strbuf sb = STRBUF_INIT;

    for (size_t i = 0; i < d->n; i++) {
        const struct depend_item *it = &d->items[i];

        if (i)
            strbuf_addc(&sb, d->any ? '?' : ',');
        strbuf_add(&sb, type_names[it->type]);
        if (it->type != DEPEND_SINGLETON)
            strbuf_addf(&sb, ":%u", it->job_id);
        if (it->has_task)
            strbuf_addf(&sb, "_%u", it->task);
        else if (it->whole_array)
            strbuf_add(&sb, "_*");
        if (it->delay_min)
            strbuf_addf(&sb, "+%u", it->delay_min);
        strbuf_add(&sb, it->failed ? "(failed)" : "(unfulfilled)");
    }
    return strbuf_detach(&sb, ret_text);
}

/* ---- evaluation ------------------------------------------------------------------------------ */

struct target { /* what is known of the jobs an item names */
    uint32_t found, open, started, failed, ended;
    int64_t last_start_us;
};

static bool ended_well(const Pst__JobRecord *r)
{
    return job_state(r) == JOB_STATE(COMPLETED);
}

static void target_add(struct target *t, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;

    t->found++;
    if (job_is_ended(r) && job_has_flag(r, JOB_FLAG(REQUEUED))) {
        t->open++; /* it goes back to the queue once it is clean: no end that counts */
    } else if (job_is_ended(r) && !job_has_flag(r, JOB_FLAG(COMPLETING))) {
        t->ended++;
        t->failed += !ended_well(r);
    } else {
        t->open++;
        /* A failed end is known before the cleaning is over. */
        t->failed += job_is_ended(r) && !ended_well(r);
    }
    if (!job_is_pending(r)) {
        t->started++;
        if (r->has_start_us && r->start_us > t->last_start_us)
            t->last_start_us = r->start_us;
    }
}

static struct target target_of(const struct cluster *c, const struct depend_item *it,
                               const struct job *job)
{
    struct target t = { 0 };
    const struct job *j;
    const uint32_t *ids;
    size_t n = cluster_array_jobs(c, it->job_id, &ids);
    bool one = it->has_task || (it->type == DEPEND_AFTERCORR && job && job->rec->has_array_task_id);

    if (n && one) {
        j = cluster_array_task(c, it->job_id, it->has_task ? it->task : job->rec->array_task_id);
        if (j)
            target_add(&t, j);
    } else if (n) {
        struct array_tally all = cluster_array_tally(c, it->job_id);

        t = (struct target){ .found = (uint32_t)n,
                             .open = all.open,
                             .started = all.started,
                             .failed = all.failed,
                             .ended = (uint32_t)n - all.open,
                             .last_start_us = all.last_start_us };
        j = cluster_job(c, it->job_id); /* it is there as long as the array waits */
        t.failed += j && j->rec->has_array_dropped && j->rec->array_dropped;
    } else if ((j = cluster_job(c, it->job_id))) {
        target_add(&t, j);
        for (uint32_t k = 1; j->rec->het_job_id == it->job_id && k < j->rec->het_count; k++) {
            const struct job *part = cluster_job(c, it->job_id + k); /* of the heterogeneous job */

            if (part && part->rec->het_job_id == it->job_id)
                target_add(&t, part);
        }
    }
    return t;
}

/* Has one of array job's tasks an ended counterpart in the array that the item names? */
static bool has_counterpart(const struct cluster *c, const struct depend_item *it,
                            const struct job *job)
{
    const uint32_t *ids;
    size_t n = it->has_task ? 0 : cluster_array_jobs(c, it->job_id, &ids);

    for (size_t i = 0; i < n; i++) {
        const struct job *j = cluster_job(c, ids[i]);

        if (j && j->rec->has_array_task_id &&
            array_contains(job->rec->array_tasks, j->rec->array_task_id))
            return true;
    }
    return false;
}

/* No other job of the user has this name, but later ones.  The job itself may not be made yet. */
static bool singleton_free(const struct cluster *c, const struct job *job)
{
    uint32_t active;
    const struct job *first;

    if (!job->rec->name)
        return true;
    first = cluster_named_first(c, job->rec->uid, job->rec->name, &active);
    return !active && (!first || (job->rec->has_job_id && job->rec->job_id <= first->rec->job_id));
}

/* aftercorr of a job that nobody knows is met: it is over, however it ended. */
static bool is_forgotten(const struct cluster *c, const struct depend_item *it)
{
    const uint32_t *ids;

    return it->type == DEPEND_AFTERCORR && !cluster_job(c, it->job_id) &&
           !cluster_array_jobs(c, it->job_id, &ids);
}

/* Is one item met, and can it still be? */
static enum depend_result item_eval(const struct depend_item *it, const struct cluster *c,
                                    const struct job *job, int64_t now_us, int64_t *until_us)
{
    struct target t;

    if (it->failed)
        return DEPEND_NEVER;
    if (it->type == DEPEND_SINGLETON) /* of a held job it is looked at when that is released */
        return !job_is_held(job->rec) && singleton_free(c, job) ? DEPEND_MET : DEPEND_WAIT;
    t = target_of(c, it, job);
    switch (it->type) {
    case DEPEND_AFTER:
        if (t.found > t.started)
            return DEPEND_WAIT;
        if (t.last_start_us && it->delay_min) {
            int64_t due = t.last_start_us + (int64_t)it->delay_min * 60 * USEC_PER_SEC;

            if (due > now_us) {
                *until_us = MIN(*until_us, due);
                return DEPEND_WAIT;
            }
        }
        return DEPEND_MET;
    case DEPEND_AFTERCORR:
        /* Each task for itself; what is left of the array waits until its tasks have been split
         * off. */
        if (job && job_is_array(job->rec) && (t.open || has_counterpart(c, it, job)))
            return DEPEND_WAIT;
        /* A task without a counterpart hears so when the array has ended. */
        if (!t.found && !it->has_task && cluster_array_tally(c, it->job_id).open)
            return DEPEND_WAIT;
        /* fall through */
    case DEPEND_AFTEROK:
        if (t.failed || (!t.found && !is_forgotten(c, it)))
            return DEPEND_NEVER;
        return t.open ? DEPEND_WAIT : DEPEND_MET;
    case DEPEND_AFTERNOTOK:
        if (t.open)
            return DEPEND_WAIT;
        return t.failed ? DEPEND_MET : DEPEND_NEVER;
    default:
        return t.open ? DEPEND_WAIT : DEPEND_MET;
    }
}

enum depend_result depends_eval(struct depends *d, const struct cluster *c, const struct job *job,
                                int64_t now_us, bool *ret_changed, int64_t *ret_until_us)
{
    size_t kept = 0, never = 0;
    bool met_one = false;

    *ret_changed = false;
    *ret_until_us = INT64_MAX;
    if (!d->n)
        return DEPEND_MET;
    for (size_t i = 0; i < d->n; i++) {
        struct depend_item it = d->items[i];
        /* One that must hold cannot any more: the rest is not looked at. */
        enum depend_result r =
            never && !d->any ? DEPEND_WAIT : item_eval(&it, c, job, now_us, ret_until_us);
        const uint32_t *ids;

        if (it.type != DEPEND_SINGLETON && !it.has_task && cluster_array_jobs(c, it.job_id, &ids))
            it.whole_array = true;

        if (r == DEPEND_MET) {
            met_one = true;
            *ret_changed = true;
            continue;
        }
        if (r == DEPEND_NEVER && !it.failed) {
            it.failed = true;
            *ret_changed = true;
        }
        never += r == DEPEND_NEVER;
        d->items[kept++] = it;
    }
    d->n = kept;
    if (!kept || (d->any && met_one)) {
        d->n = 0;
        return DEPEND_MET;
    }
    return (d->any ? never == kept : never > 0) ? DEPEND_NEVER : DEPEND_WAIT;
}

/* ---- cycles ---------------------------------------------------------------------------------- */

/* A longer circle is not found; its jobs wait until one is cancelled or changed. */
#define SEARCH_MAX 100000u

struct search { /* breadth first over what jobs wait for; each target is looked at once */
    const struct cluster *c;
    const struct job *job; /* the one that must not be met, NULL when it is not made yet */
    uint32_t job_id;
    struct idmap seen; /* by key_of() */
    struct depend_item *queue;
    size_t n, cap;
    size_t looked; /* items and jobs looked at */
};

static uint64_t key_of(const struct depend_item *it)
{
    return (uint64_t)it->job_id << 32 | (it->has_task ? it->task + 1 : 0);
}

static int search_add(struct search *s, const struct depend_item *it)
{
    int r;

    s->looked++;
    if (it->type == DEPEND_SINGLETON || idmap_get(&s->seen, key_of(it)))
        return 0;
    if (s->n == s->cap) {
        size_t cap = s->cap ? s->cap * 2 : 16;
        struct depend_item *bigger = realloc(s->queue, cap * sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        s->queue = bigger;
        s->cap = cap;
    }
    r = idmap_put(&s->seen, key_of(it), s);
    if (r == 0)
        s->queue[s->n++] = *it;
    return r;
}

/* Is the job itself among those the item names? */
static bool names_itself(const struct search *s, const struct depend_item *it)
{
    const Pst__JobRecord *r = s->job ? s->job->rec : NULL;

    if (r && r->has_array_job_id && r->array_job_id == it->job_id)
        return !it->has_task || (r->has_array_task_id ? r->array_task_id == it->task
                                                      : array_contains(r->array_tasks, it->task));
    return it->job_id == s->job_id;
}

static int add_targets(struct search *s, const struct job *j)
{
    struct depends d;
    int r = 0;

    if (!j || !j->rec->dependency || !job_is_pending(j->rec) ||
        depends_parse(j->rec->dependency, &d, NULL) < 0)
        return 0;
    for (size_t i = 0; r == 0 && i < d.n; i++)
        r = search_add(s, &d.items[i]);
    depends_done(&d);
    return r;
}

/* What the jobs that an item names wait for themselves. */
static int add_next(struct search *s, const struct depend_item *it)
{
    const uint32_t *ids;
    size_t n = cluster_array_jobs(s->c, it->job_id, &ids);
    int r = 0;

    if (!n)
        return add_targets(s, cluster_job(s->c, it->job_id));
    if (it->has_task)
        return add_targets(s, cluster_array_task(s->c, it->job_id, it->task));
    for (size_t i = 0; r == 0 && i < n && s->looked++ < SEARCH_MAX; i++)
        r = add_targets(s, cluster_job(s->c, ids[i]));
    return r;
}

/* -ELOOP: the job waits for itself, in the end. */
static int find_cycle(const struct depends *d, const struct cluster *c, uint32_t job_id,
                      unsigned max_depth)
{
    struct search s = { .c = c, .job = cluster_job(c, job_id), .job_id = job_id };
    size_t done = 0, level_end;
    int r = 0;

    for (size_t i = 0; r == 0 && i < d->n; i++)
        r = search_add(&s, &d->items[i]);
    for (unsigned depth = 0; r == 0 && done < s.n && depth <= max_depth; depth++) {
        for (level_end = s.n; r == 0 && done < level_end && s.looked < SEARCH_MAX; done++) {
            struct depend_item it = s.queue[done];

            r = names_itself(&s, &it) ? -ELOOP : depth < max_depth ? add_next(&s, &it) : 0;
        }
    }
    idmap_done(&s.seen);
    free(s.queue);
    return r;
}

/* Has the job that the item names tasks? */
static bool is_array(const struct cluster *c, const struct depend_item *it)
{
    const uint32_t *ids;

    return cluster_array_jobs(c, it->job_id, &ids) > 0;
}

int depends_check(const struct depends *d, const struct cluster *c, uint32_t job_id,
                  unsigned max_depth)
{
    int r;

    for (size_t i = 0; job_id && i < d->n; i++)
        if (d->items[i].type != DEPEND_SINGLETON && d->items[i].job_id == job_id &&
            !cluster_array_tally(c, job_id).living)
            return -EINVAL; /* itself: no circle of several */
    r = job_id ? find_cycle(d, c, job_id, max_depth) : 0;
    if (r < 0)
        return r;
    for (size_t i = 0; i < d->n; i++) {
        const struct depend_item *it = &d->items[i];
        struct target t;

        if (it->type == DEPEND_SINGLETON)
            continue;
        t = target_of(c, it, NULL);
        if (!t.found && (it->type == DEPEND_AFTEROK || it->type == DEPEND_AFTERNOTOK ||
                         cluster_job(c, it->job_id)))
            return -ENOENT;
        if ((it->has_task || it->whole_array) && t.found && !is_array(c, it))
            return -ENOENT;
    }
    return 0;
}
