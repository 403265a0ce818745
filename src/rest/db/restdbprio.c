/* restdbprio.c - see restdbprio.h */
#include "rest/db/restdbprio.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "cli/format/json_job.h"
#include "cli/query/out_job.h"
#include "cli/query/out_query.h"
#include "wire/ops.h"

#define SINGLE_MAX 8u
#define SOURCE "slurmdb_jobs_get"

void restdbprio_done(struct restdbprio *p)
{
    free(p->known);
    p->known = NULL;
    p->n = p->cap = 0;
}

static int note_priority(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct restdbprio *p = ctx;
    const struct job_row row = { .job = (const Pst__JobRecord *)record, .now_us = info->now_us };
    size_t cap = p->cap ? p->cap * 2 : 16;

    if (p->n == p->cap) {
        struct restdbprio_known *more = reallocarray(p->known, cap, sizeof(*more));

        if (!more)
            return -ENOMEM;
        p->known = more;
        p->cap = cap;
    }
    p->known[p->n++] = (struct restdbprio_known){ row.job->job_id, job_priority(&row) };
    return 0;
}

static int by_number(const void *va, const void *vb)
{
    const struct restdbprio_known *a = va, *b = vb;

    return a->job_id < b->job_id ? -1 : a->job_id > b->job_id;
}

/* Of one job (and those of its array), or of all that wait when job_id is 0. */
static int ask_ctld(struct restdbprio *p, uint32_t job_id)
{
    static const char fields[] = "job_id cur_priority priority";
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    Pst__JobFilter filter = PST__JOB_FILTER__INIT;
    uint32_t pending = PST__JOB_STATE__JOB_PENDING;
    struct pb_fieldset set = { 0 };
    struct client *c = rest_ctld(p->call, SOURCE);
    int r = c ? 0 : -EREMOTEIO;

    p->n = 0;
    filter.states = &pending;
    filter.n_states = 1;
    filter.job_ids = &job_id;
    filter.n_job_ids = job_id ? 1 : 0;
    request.jobs = &filter;
    query_need_names(fields, &pst__job_record__descriptor, &set);
    if (r == 0)
        r = query_fields(&set, &request.fields, &request.n_fields);
    if (r == 0)
        r = query_run(c, OP_QUERY_JOBS, &request.base, &pst__job_record__descriptor, note_priority,
                      p, NULL);
    free(request.fields);
    if (r == 0 && p->n)
        qsort(p->known, p->n, sizeof(*p->known), by_number);
    return r;
}

/* Accounting answers without slurmctld: its absence is no error here. */
static void ask_quietly(struct restdbprio *p, uint32_t job_id)
{
    struct rest_fault fault;
    bool had_error = rest_has_error(p->call);

    p->failed = ask_ctld(p, job_id) < 0;
    if (p->failed && !had_error && rest_has_error(p->call)) {
        rest_take_fault(p->call, &fault);
        rest_fault_done(&fault);
    }
}

static const struct restdbprio_known *find_known(const struct restdbprio *p, uint32_t job_id)
{
    const struct restdbprio_known want = { .job_id = job_id };

    return p->n ? bsearch(&want, p->known, p->n, sizeof(want), by_number) : NULL;
}

void restdbprio_fill(struct restdbprio *p, Pst__JobRecord *job)
{
    const struct restdbprio_known *known;

    if (job->state != PST__JOB_STATE__JOB_PENDING || job->has_priority || p->failed)
        return;
    if (p->single < SINGLE_MAX) {
        p->single++;
        ask_quietly(p, job->job_id);
    } else if (p->single == SINGLE_MAX) {
        p->single++;
        ask_quietly(p, 0);
    }
    known = p->failed ? NULL : find_known(p, job->job_id);
    job->has_start_priority = known != NULL;
    job->start_priority = known ? known->priority : 0;
}
