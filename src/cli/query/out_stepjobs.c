/* out_stepjobs.c - the jobs of listed steps; see out_stepjobs.h. */
#include "cli/query/out_stepjobs.h"

#include <stdlib.h>
#include <string.h>

#include "base/pb/pbutil.h"
#include "cli/base/cli.h"
#include "cli/query/out_job.h"
#include "model/words/names.h"

void step_jobs_add(struct step_jobs *t, const Pst__JobRecord *job)
{
    if (t->n == t->cap) {
        t->cap = t->cap ? t->cap * 2 : 256;
        t->items = xrealloc_or_die(t->items, t->cap, sizeof(*t->items));
    }
    t->items[t->n++] = (struct step_job){
        .job_id = job->job_id,
        .array_job_id = job->array_job_id,
        .group_id = job_group_id(job),
        .array_task_id = job->array_task_id,
        .has_task = job->has_array_task_id,
        .user = xstrdup_or_die(job->user_name),
        .partition = xstrdup_or_die(job->partition),
        .sluid = xstrdup_or_die(job->sluid),
    };
}

static int compare_ids(const void *pa, const void *pb)
{
    const struct step_job *a = pa, *b = pb;

    return a->job_id < b->job_id ? -1 : a->job_id > b->job_id;
}

void step_jobs_sort(struct step_jobs *t)
{
    if (t->n)
        qsort(t->items, t->n, sizeof(*t->items), compare_ids);
}

const struct step_job *step_jobs_find(const struct step_jobs *t, uint32_t job_id)
{
    struct step_job key = { .job_id = job_id };

    return t->n ? bsearch(&key, t->items, t->n, sizeof(key), compare_ids) : NULL;
}

void step_jobs_done(struct step_jobs *t)
{
    for (size_t i = 0; i < t->n; i++) {
        free(t->items[i].user);
        free(t->items[i].partition);
        free(t->items[i].sluid);
    }
    free(t->items);
    memset(t, 0, sizeof(*t));
}

int step_jobs_last(struct step_jobs *t, const struct query_info *info, query_fn *fn, void *ctx)
{
    Pst__StepRecord *batch = t->batch;
    int r;

    if (!batch)
        return 0;
    t->batch = NULL;
    r = fn(ctx, &batch->base, info);
    pst__step_record__free_unpacked(batch, NULL);
    return r;
}

int step_jobs_in_order(struct step_jobs *t, const Pst__StepRecord *step,
                       const struct query_info *info, query_fn *fn, void *ctx)
{
    ProtobufCMessage *copy;
    int r = 0;

    if (t->batch && (t->batch->job_id != step->job_id || step->step_id != NAMES_STEP_EXTERN))
        r = step_jobs_last(t, info, fn, ctx);
    if (r == 0 && step->step_id == NAMES_STEP_BATCH) {
        check_mem_or_die(pb_dup(&step->base, &copy));
        t->batch = (Pst__StepRecord *)copy;
        return 0;
    }
    if (r == 0)
        r = fn(ctx, &step->base, info);
    return r < 0 ? r : step_jobs_last(t, info, fn, ctx);
}
