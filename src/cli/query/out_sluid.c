/* out_sluid.c - see out_sluid.h.  One query for all SLUIDs, one for a task. */
#include "cli/query/out_sluid.h"

#include <stdlib.h>
#include <string.h>

#include "cli/base/cli.h"
#include "cli/query/out_query.h"
#include "wire/ops.h"

#define NO_JOB UINT32_MAX

static int on_run(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct filter_ids *ids = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    for (size_t i = 0; i < ids->n; i++)
        if (j->sluid && strcmp(ids->ids[i].sluid, j->sluid) == 0)
            ids->ids[i].job_id = j->job_id;
    return 0;
}

int sluids_find(struct client *client, struct filter_ids *ids)
{
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct pb_fieldset set = { 0 };
    int r;

    for (size_t i = 0; i < ids->n; i++) {
        if (!ids->ids[i].sluid[0])
            continue;
        filter.sluids = xrealloc_or_die(filter.sluids, filter.n_sluids + 1, sizeof(*filter.sluids));
        filter.sluids[filter.n_sluids++] = ids->ids[i].sluid;
        ids->ids[i].job_id = NO_JOB;
    }
    if (!filter.n_sluids)
        return 0;
    request.jobs = &filter;
    query_need_names("job_id sluid", &pst__job_record__descriptor, &set);
    check_mem_or_die(query_fields(&set, &request.fields, &request.n_fields));
    r = query_run(client, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_run, ids,
                  NULL);
    free(request.fields);
    free(filter.sluids);
    return r;
}

/* ---- tasks of arrays ------------------------------------------------------------------------- */

struct sought {
    uint32_t array_id, task, job_id; /* job_id 0: not found */
};

static int on_task(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct sought *s = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    if (j->array_job_id == s->array_id && j->has_array_task_id && j->array_task_id == s->task)
        s->job_id = j->job_id;
    return 0;
}

int sluids_task_job(struct client *client, uint32_t array_id, uint32_t task, uint32_t *ret_job_id)
{
    struct sought sought = { .array_id = array_id, .task = task };
    int r = query_job(client, array_id, "job_id array_job_id array_task_id", on_task, &sought);

    if (r >= 0)
        *ret_job_id = sought.job_id;
    return r;
}
