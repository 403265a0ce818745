/* squeue_watch.c - follow the changes of jobs, and explain why they wait; see squeue.h */
#include <stdlib.h>

#include "cli/query/explainprint.h"
#include "cli/squeue/squeue.h"
#include "cli/query/watchfollow.h"
#include "model/words/names.h"
#include "wire/errors.h"
#include "wire/ops.h"

/* --watch: the filters that the controller applies to changes. */
int squeue_watch(struct squeue *q)
{
    const Pst__JobFilter *f = &q->filter.request;
    struct watch_options o = { .cli = &q->cli,
                               .entities = 1u << PST__WATCH_ENTITY__WATCH_JOB,
                               .jobs = &q->filter.request,
                               .all_states = !q->filter.have_states || q->filter.states.all,
                               .ids = q->filter.ids.n ? &q->filter.ids : NULL,
                               .json = q->json.wanted,
                               .changes_only = q->changes_only,
                               .since = q->since };

    if (f->n_accounts || f->n_qos || f->n_reservations || f->nodes || q->filter.licenses ||
        q->filter.notme || q->filter.have_over || q->filter.have_under || q->steps || q->iterate_s)
        cli_die(CLI_EXIT_FAILED,
                "--watch goes with --jobs, --me, --name, --partition, --states and --user "
                "only");
    if (q->filter.ids.n && q->filter.have_states && !q->filter.states.all)
        jobfilter_ask_states(&q->filter);
    return watch_follow(&o);
}

/* --explain: every pending job that the filters choose. */
static int explain_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct squeue *q = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    struct job_row row = { .job = j, .now_us = info->now_us };
    bool named = filter_ids_match(&q->filter.ids, j->job_id, j->array_job_id, j->has_array_task_id,
                                  j->array_task_id) ||
                 filter_ids_match_whole(&q->filter.ids, j->job_id, j->array_job_id);

    if (named && (q->filter.ids.n || (job_is_pending(&row) && squeue_wanted(q, &row))))
        filter_add_number(&q->explained, &q->n_explained, j->job_id);
    return 0;
}

int squeue_explain(struct squeue *q)
{
    struct pb_fieldset set = { 0 };
    struct query_info info = { 0 };
    bool ok = true;

    query_need_names(
        "job_id array_job_id array_task_id array_tasks state state_flags uid licenses partition",
        &pst__job_record__descriptor, &set);
    squeue_load_hidden(q);
    squeue_query(q, OP_QUERY_JOBS, &pst__job_record__descriptor, &set, explain_job, &info);
    if (q->filter.ids.n && !q->n_explained) {
        (void)fprintf(stderr, "slurm_load_jobs error: %s\n", slurm_err_text(ESLURM_INVALID_JOB_ID));
        return CLI_EXIT_FAILED;
    }
    for (size_t i = 0; i < q->n_explained; i++)
        ok &= explain_print(q->client, q->explained[i], q->json.wanted, i > 0) >= 0;
    free(q->explained);
    return ok ? CLI_EXIT_OK : CLI_EXIT_FAILED;
}
