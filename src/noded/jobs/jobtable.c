/* jobtable.c - the table of jobs and steps on this node; see jobtable.h
 *
 * Hashed by job id; a job's few steps are a list.  A requeued job may be here twice for a moment,
 * with different runs.  Main thread only. */
#include "noded/jobs/jobtable.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "stepd/shared/spool.h"

static void free_handle(uv_handle_t *h)
{
    free(h);
}

void job_unhold(struct njob *job)
{
    if (job->hold)
        uv_close((uv_handle_t *)job->hold, free_handle);
    job->hold = NULL;
    if (job->held)
        pst__step_order__free_unpacked(job->held, NULL);
    job->held = NULL;
}

static struct njob **bucket_of(struct jobs *jobs, uint32_t job_id)
{
    return &jobs->buckets[job_id % JOB_BUCKETS];
}

struct njob *jobs_find(struct jobs *jobs, uint32_t job_id, uint64_t run_id)
{
    for (struct njob *j = *bucket_of(jobs, job_id); j; j = j->next)
        if (j->job_id == job_id && (!run_id || j->run_id == run_id))
            return j;
    return NULL;
}

int jobs_add_take(struct jobs *jobs, Pst__JobOnNode *on, struct njob **ret_job)
{
    struct njob *j = calloc(1, sizeof(*j));

    if (!j)
        return -ENOMEM;
    j->job_id = on->job->job_id;
    j->run_id = on->run_id;
    j->ns_fd = j->ns_pid_fd = j->x11_fd = -1;
    j->on = on;
    for (size_t i = 0; i < jobs->nsuspended; i++)
        j->suspended = j->suspended || jobs->suspended[i] == j->run_id;
    jobs_note_suspended(jobs, j->run_id, false); /* the job itself says so from now on */
    j->next = *bucket_of(jobs, j->job_id);
    *bucket_of(jobs, j->job_id) = j;
    jobs->count++;
    *ret_job = j;
    return 0;
}

void jobs_note_suspended(struct jobs *jobs, uint64_t run_id, bool suspended)
{
    uint64_t *grown;

    for (size_t i = 0; i < jobs->nsuspended; i++) {
        if (jobs->suspended[i] != run_id)
            continue;
        if (!suspended)
            jobs->suspended[i] = jobs->suspended[--jobs->nsuspended];
        return;
    }
    if (!suspended)
        return;
    grown = realloc(jobs->suspended, (jobs->nsuspended + 1) * sizeof(*grown));
    if (!grown)
        return; /* its first step runs on until the next order */
    jobs->suspended = grown;
    grown[jobs->nsuspended++] = run_id;
}

static void step_free(struct nstep *s)
{
    if (s->poll)
        uv_close((uv_handle_t *)s->poll, free_handle);
    if (s->ctl_fd >= 0)
        (void)close(s->ctl_fd);
    if (s->srun_fd >= 0)
        (void)close(s->srun_fd);
    if (s->waiting) {
        s->waiting->job = NULL; /* the job's own */
        pst__step_file__free_unpacked(s->waiting, NULL);
    }
    if (s->end)
        pst__step_end__free_unpacked(s->end, NULL);
    free(s);
}

void jobs_remove(struct jobs *jobs, struct njob *job)
{
    struct njob **p = bucket_of(jobs, job->job_id);

    while (*p != job)
        p = &(*p)->next;
    *p = job->next;
    jobs->count--;
    job_unhold(job);
    while (job->steps) {
        struct nstep *s = job->steps;

        job->steps = s->next;
        step_free(s);
    }
    if (job->ns_fd >= 0)
        (void)close(job->ns_fd);
    if (job->ns_pid_fd >= 0)
        (void)close(job->ns_pid_fd);
    if (job->x11_order)
        pst__step_order__free_unpacked(job->x11_order, NULL);
    if (job->x11_fd >= 0)
        (void)close(job->x11_fd); /* its owner sees the end of the connection */
    pst__job_on_node__free_unpacked(job->on, NULL);
    free(job);
}

struct nstep *job_find_step(struct njob *job, uint32_t step_id)
{
    for (struct nstep *s = job->steps; s; s = s->next)
        if (s->step_id == step_id)
            return s;
    return NULL;
}

int job_add_step(struct njob *job, uint32_t step_id, struct nstep **ret_step)
{
    struct nstep *s = calloc(1, sizeof(*s));

    if (!s)
        return -ENOMEM;
    *s = (struct nstep){
        .next = job->steps, .job = job, .step_id = step_id, .ctl_fd = -1, .srun_fd = -1
    };
    job->steps = s;
    *ret_step = s;
    return 0;
}

void job_remove_step(struct njob *job, struct nstep *step)
{
    struct nstep **p = &job->steps;

    while (*p != step)
        p = &(*p)->next;
    *p = step->next;
    step_free(step);
}

bool job_has_live_steps(const struct njob *job)
{
    for (const struct nstep *s = job->steps; s; s = s->next)
        if (s->phase != STEP_ENDED)
            return true;
    return false;
}

bool job_has_live_work(const struct njob *job)
{
    for (const struct nstep *s = job->steps; s; s = s->next)
        if (s->phase != STEP_ENDED && s->step_id != STEP_ID_EXTERN)
            return true;
    return false;
}

void jobs_each(struct jobs *jobs, void (*fn)(void *ctx, struct njob *job), void *ctx)
{
    for (size_t i = 0; i < JOB_BUCKETS; i++) {
        struct njob *next;

        for (struct njob *j = jobs->buckets[i]; j; j = next) {
            next = j->next; /* fn may remove j */
            fn(ctx, j);
        }
    }
}

struct nstep *jobs_find_pid(struct jobs *jobs, pid_t pid)
{
    for (size_t i = 0; i < JOB_BUCKETS; i++)
        for (struct njob *j = jobs->buckets[i]; j; j = j->next)
            for (struct nstep *s = j->steps; s; s = s->next)
                if (s->pid == pid)
                    return s;
    return NULL;
}
