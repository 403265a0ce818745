/* scontrol_explain.c - scontrol explain: why jobs wait */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "base/cleanup.h"
#include "cli/query/explainprint.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "cli/scontrol/scontrol.h"
#include "wire/errors.h"
#include "wire/ops.h"
#include "fields.h"

/* The records that the ids name: tasks of an array have numbers of their own. */
struct named {
    const struct filter_ids *ids;
    uint32_t *list;
    size_t n;
    const Pst__JobRecord *job; /* the record looked at */
};

static int on_task(void *ctx, uint32_t task)
{
    struct named *named = ctx;

    return filter_ids_match(named->ids, named->job->job_id, named->job->array_job_id, true, task)
               ? -EEXIST
               : 0;
}

/* Does an id name the record, or one of the tasks that it still holds? */
static bool is_named(struct named *named, const Pst__JobRecord *j)
{
    if (!j->array_tasks)
        return filter_ids_match(named->ids, j->job_id, j->array_job_id, j->has_array_task_id,
                                j->array_task_id);
    named->job = j;
    return filter_ids_match_whole(named->ids, j->job_id, j->array_job_id) ||
           filter_each_task(j->array_tasks, on_task, named) == -EEXIST;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct named *named = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;

    (void)info;
    if (is_named(named, j))
        filter_add_number(&named->list, &named->n, j->job_id);
    return 0;
}

static void explain_jobs(struct scontrol *s, const char *word, bool again)
{
    uint32_t fields[] = { JOB_F_JOB_ID, JOB_F_ARRAY_JOB_ID, JOB_F_ARRAY_TASK_ID,
                          JOB_F_ARRAY_TASKS };
    Pst__QueryRequest request = query_to_print();
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    struct filter_ids ids = { 0 };
    struct named named = { .ids = &ids };
    struct client *c = scontrol_client(s, "slurm_load_jobs");
    struct err err = { .text = "" };
    int r;

    if (filter_parse_ids(word, &ids, &err) < 0) {
        scontrol_fail(s, "%s", err.text);
        return;
    }
    filter_ids_numbers(&ids, &filter.job_ids, &filter.n_job_ids);
    request.jobs = &filter;
    request.fields = fields;
    request.n_fields = ARRAY_SIZE(fields);
    r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, on_job, &named,
                  NULL);
    if (r < 0)
        scontrol_fail(s, "slurm_load_jobs error: %s", client_strerror(c, r));
    else if (!named.n)
        scontrol_fail(s, "%s for job %s", slurm_err_text(ESLURM_INVALID_JOB_ID), word);
    for (size_t i = 0; i < named.n; i++)
        if (explain_print(c, named.list[i], s->json.wanted, again || i) < 0)
            s->status = CLI_EXIT_FAILED;
    free(named.list);
    filter_ids_done(&ids);
    filter_done(&filter);
}

void scontrol_explain(struct scontrol *s, int argc, char **argv)
{
    int first = argc > 0 && (strcasecmp(argv[0], "job") == 0 || strcasecmp(argv[0], "jobs") == 0);

    if (argc <= first)
        scontrol_missing(s, stderr, "too few arguments for keyword:explain");
    for (int i = first; i < argc; i++)
        explain_jobs(s, argv[i], i > first);
}
