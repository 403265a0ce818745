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

struct workload *workload_free(struct workload *w)
{
    if (!w)
        return NULL;
    strtab_done(&w->users);
    strtab_done(&w->parts);
    strtab_done(&w->accounts);
    strtab_done(&w->qos);
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

/* ---- names ----------------------------------------------------------------------------------- */

int name_index(struct strtab *t, const char *name, size_t len, uint32_t *ret_index)
{
    char text[WORKLOAD_MAX_NAME + 1];
    uint32_t id;

    if (len > WORKLOAD_MAX_NAME || memchr(name, '\0', len))
        return -E2BIG;
    id = strtab_find(t, name, len);
    if (id == STRTAB_NONE) {
        if (t->n >= WORKLOAD_MAX_NAMES)
            return -E2BIG;
        memcpy(text, name, len);
        text[len] = '\0';
        return strtab_intern(t, text, ret_index);
    }
    *ret_index = id;
    return 0;
}

const char *name_nth(const struct strtab *t, uint32_t i)
{
    return i < t->n ? t->names[i] : "?";
}

/* ---- times ----------------------------------------------------------------------------------- */

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
