/* workload.c - see workload.h */
#include "sim/workload.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MINUTE_US INT64_C(60000000)

int workload_new(struct workload **ret_w)
{
    struct workload *w = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->began_us = WORKLOAD_EPOCH_US;
    *ret_w = w;
    return 0;
}

static void table_done(struct name_table *t)
{
    for (uint32_t i = 0; i < t->n; i++)
        free(t->names[i]);
    free(t->names);
    free(t->slots);
}

struct workload *workload_free(struct workload *w)
{
    if (!w)
        return NULL;
    table_done(&w->users);
    table_done(&w->parts);
    free(w->jobs);
    free(w);
    return NULL;
}

int workload_add(struct workload *w, const struct sim_job *job)
{
    if (w->n >= WORKLOAD_MAX_JOBS)
        return -E2BIG;
    if (!job->tasks || job->tasks > WORKLOAD_MAX_TASKS || !job->cpus_per_task ||
        job->cpus_per_task > WORKLOAD_MAX_TASKS || job->run_us < 0)
        return -EINVAL;
    if (w->n == w->cap) {
        size_t cap = w->cap ? w->cap * 2 : 1024;
        struct sim_job *grown = realloc(w->jobs, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        w->jobs = grown;
        w->cap = cap;
    }
    w->jobs[w->n++] = *job;
    return 0;
}

/* ---- names --------------------------------------------------------------------------------------
 */

static uint32_t hash(const char *name, size_t len)
{
    uint32_t h = 2166136261u;

    for (size_t i = 0; i < len; i++)
        h = (h ^ (uint8_t)name[i]) * 16777619u;
    return h;
}

/* The slot that holds the name, or the empty one where it belongs. */
static uint32_t find_slot(const struct name_table *t, const char *name, size_t len)
{
    uint32_t i = hash(name, len) & (t->nslots - 1);

    while (t->slots[i]) {
        const char *have = t->names[t->slots[i] - 1];

        if (strncmp(have, name, len) == 0 && !have[len])
            return i;
        i = (i + 1) & (t->nslots - 1);
    }
    return i;
}

static int table_grow(struct name_table *t)
{
    uint32_t cap = t->cap ? t->cap * 2 : 16;
    char **names = realloc(t->names, cap * sizeof(*names));
    uint32_t *slots;

    if (!names)
        return -ENOMEM;
    t->names = names;
    slots = calloc((size_t)cap * 2, sizeof(*slots));
    if (!slots)
        return -ENOMEM;
    free(t->slots);
    t->slots = slots;
    t->nslots = cap * 2;
    t->cap = cap;
    for (uint32_t i = 0; i < t->n; i++)
        t->slots[find_slot(t, t->names[i], strlen(t->names[i]))] = i + 1;
    return 0;
}

int name_index(struct name_table *t, const char *name, size_t len, uint32_t *ret_index)
{
    uint32_t slot;
    char *copy;

    if (len > WORKLOAD_MAX_NAME || memchr(name, '\0', len))
        return -E2BIG;
    if (t->n == t->cap) {
        int r = t->n >= WORKLOAD_MAX_NAMES ? -E2BIG : table_grow(t);

        if (r < 0)
            return r;
    }
    slot = find_slot(t, name, len);
    if (t->slots[slot]) {
        *ret_index = t->slots[slot] - 1;
        return 0;
    }
    copy = strndup(name, len);
    if (!copy)
        return -ENOMEM;
    t->names[t->n] = copy;
    t->slots[slot] = t->n + 1;
    *ret_index = t->n++;
    return 0;
}

const char *name_nth(const struct name_table *t, uint32_t i)
{
    return i < t->n ? t->names[i] : "?";
}

/* ---- times --------------------------------------------------------------------------------------
 */

struct keyed { /* qsort is not stable: the place breaks ties */
    struct sim_job job;
    size_t place;
};

static int by_submit(const void *a, const void *b)
{
    const struct keyed *x = a, *y = b;

    if (x->job.submit_us != y->job.submit_us)
        return x->job.submit_us < y->job.submit_us ? -1 : 1;
    return (x->place > y->place) - (x->place < y->place);
}

void workload_sort(struct workload *w)
{
    struct keyed *keyed;
    size_t i = 1;

    while (i < w->n && w->jobs[i - 1].submit_us <= w->jobs[i].submit_us)
        i++;
    if (i >= w->n)
        return; /* as traces mostly are */
    keyed = malloc(w->n * sizeof(*keyed));
    if (!keyed)
        abort(); /* a few hundred bytes a job, at start */
    for (i = 0; i < w->n; i++)
        keyed[i] = (struct keyed){ w->jobs[i], i };
    qsort(keyed, w->n, sizeof(*keyed), by_submit);
    for (i = 0; i < w->n; i++)
        w->jobs[i] = keyed[i].job;
    free(keyed);
}

void workload_scale(struct workload *w, double factor)
{
    int64_t first = w->n ? w->jobs[0].submit_us : 0;

    for (size_t i = 0; i < w->n; i++)
        w->jobs[i].submit_us = first + (int64_t)((double)(w->jobs[i].submit_us - first) / factor);
}

uint64_t sim_job_cpus(const struct sim_job *job)
{
    return (uint64_t)job->tasks * job->cpus_per_task;
}

int64_t sim_job_length_us(const struct sim_job *job)
{
    if (job->limit_min == SCHED_UNLIMITED)
        return job->run_us;
    return MIN(job->run_us, job->limit_min * MINUTE_US);
}

double workload_cpu_seconds(const struct workload *w)
{
    double sum = 0;

    for (size_t i = 0; i < w->n; i++)
        sum += (double)sim_job_cpus(&w->jobs[i]) * (double)sim_job_length_us(&w->jobs[i]) * 1e-6;
    return sum;
}
