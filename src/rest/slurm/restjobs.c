/* restjobs.c - jobs as they are; see restjobs.h */
#include "rest/slurm/restjobs.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "cli/format/json_alloc.h"
#include "cli/format/json_job.h"
#include "cli/query/out_filter.h"
#include "cli/query/out_query.h"
#include "conf/conf.h"
#include "rest/restfresh.h"
#include "wire/errors.h"
#include "wire/ops.h"

typedef void job_emit_fn(struct json *js, const struct job_row *row);

struct listing {
    struct rest_call *call;
    int64_t since_us;      /* update_time; 0: none */
    uint32_t limit;        /* of a page; 0: all */
    uint64_t from;         /* where the page begins; 0: at the first */
    job_emit_fn *emit;     /* NULL: which ones there are is all that is asked */
    struct filter_ids ids; /* none: every job */
    struct job_row row;
    Pst__JobFilter filter;
    struct client *client;
    struct step_use *use; /* loaded with the first job that has nodes */
    bool has_use;
    bool whole;     /* all jobs that he may see: what slurmctld says of them is their version */
    bool all_tasks; /* each task of an array stands for itself */
    size_t shown;
    uint32_t last_id; /* of the record shown last */
};

static int put_job(struct listing *l)
{
    l->shown++;
    l->last_id = l->row.job->job_id;
    if (!l->emit)
        return 0;
    l->emit(&l->call->js, &l->row);
    return rest_flush(l->call);
}

static int on_task(void *ctx, uint32_t task)
{
    struct listing *l = ctx;
    const Pst__JobRecord *j = l->row.job;

    if (!l->all_tasks && !filter_ids_match(&l->ids, j->job_id, job_group_id(j), true, task))
        return 0;
    l->row.has_task = true;
    l->row.task = task;
    return put_job(l);
}

/* A job that waits has no steps: nothing is asked about it. */
static int load_use(struct listing *l, const Pst__JobRecord *j)
{
    int r;

    if (l->has_use || !j->alloc || l->emit != json_job)
        return 0;
    r = step_use_load(l->client, &l->filter, &l->use);
    l->has_use = r == 0;
    l->row.use = l->use;
    return r;
}

static int on_job(void *ctx, const ProtobufCMessage *record, const struct query_info *info)
{
    struct listing *l = ctx;
    const Pst__JobRecord *j = (const Pst__JobRecord *)record;
    int r = load_use(l, j);

    if (r < 0)
        return r;
    if (l->whole)
        l->call->edition = info->version;
    l->row.job = j;
    l->row.now_us = info->now_us;
    l->row.has_task = false;
    if (j->array_tasks && l->ids.n && !filter_ids_match_whole(&l->ids, j->job_id, job_group_id(j)))
        return filter_each_task(j->array_tasks, on_task, l);
    if (l->ids.n && !filter_ids_match(&l->ids, j->job_id, job_group_id(j), j->has_array_task_id,
                                      j->array_task_id))
        return 0;
    return put_job(l);
}

static void ask_page(const struct listing *l, Pst__QueryRequest *request)
{
    if (l->whole) {
        request->unless_version = rest_seen_version(l->call);
        request->has_unless_version = request->unless_version != 0;
    }
    request->changed_since_us = l->since_us;
    request->has_changed_since_us = l->since_us > 0;
    request->limit = l->limit;
    request->has_limit = l->limit > 0;
    request->start_at = l->from;
    request->has_start_at = l->from > 0;
}

static int query_jobs(struct listing *l, const char *source, struct query_info *info)
{
    Pst__QueryRequest request = PST__QUERY_REQUEST__INIT;
    int r = 0;

    l->client = rest_ctld(l->call, source);
    if (!l->client)
        return -EREMOTEIO;
    pst__job_filter__init(&l->filter);
    filter_ids_numbers(&l->ids, &l->filter.job_ids, &l->filter.n_job_ids);
    request.jobs = &l->filter;
    ask_page(l, &request);
    if (l->whole && l->emit == json_job) { /* sent while it comes: steps are known before */
        r = step_use_load(l->client, &l->filter, &l->use);
        l->has_use = true;
        l->row.use = l->use;
    }
    if (r == 0)
        r = (l->whole ? query_run : query_run_later)(l->client, OP_QUERY_JOBS, &request.base,
                                                     &pst__job_record__descriptor, on_job, l, info);
    l->row.use = l->use = step_use_free(l->use);
    filter_done(&l->filter);
    if (r == 0 && info && info->unchanged)
        rest_unchanged(l->call);
    if (r == 0 && info && l->whole)
        l->call->edition = info->version;
    if (r < 0 && r != -EPIPE)
        rest_failed(l->call, l->client, r, source, "Unable to query jobs");
    return r;
}

static struct listing listing_of(struct rest_call *call, job_emit_fn *emit)
{
    const struct conf *conf = rest_conf(call);

    return (struct listing){
        .call = call,
        .emit = emit,
        .row = { .cluster = conf_str(conf, CONF_CLUSTER_NAME),
                 .select_type = conf_str(conf, CONF_SELECT_TYPE_PARAMETERS) },
    };
}

/* Where the next page begins; "" behind the last one. */
static void put_cursor(struct json *js, uint64_t next)
{
    char text[24] = "";

    if (next)
        (void)snprintf(text, sizeof(text), "%llu", (unsigned long long)next); /* fits */
    json_str(js, "next_cursor", text);
}

/* limit=, cursor= and update_time=. */
static bool read_page(struct listing *l)
{
    const char *cursor = rest_query(l->call, "cursor");

    if (cursor && cursor[0] && parse_u64(cursor, 1, UINT32_MAX, &l->from) < 0) {
        rest_error(l->call, ESLURM_REST_INVALID_QUERY, "cursor",
                   "cursor=%.64s is none that an answer had", cursor);
        return false;
    }
    return rest_query_limit(l->call, &l->limit) &&
           rest_query_time(l->call, "update_time", &l->since_us);
}

static void list_jobs(struct listing *l, const char *source, const char *missing)
{
    struct json *js = &l->call->js;
    struct query_info info = { 0 };
    int r;

    json_list(js, "jobs");
    r = query_jobs(l, source, &info);
    json_list_end(js);
    if (!l->whole)
        l->call->edition = restfresh_digest(l->call);
    if (l->limit)
        put_cursor(js, info.next_at);
    if (missing && r == 0 && !l->shown && !info.unchanged) {
        info.now_us = 0;
        rest_error(l->call, ESLURM_INVALID_JOB_ID, source, "Unable to query JobId=%.64s", missing);
    }
    json_time(js, "last_backfill", missing && !l->shown ? 0 : info.planned_us);
    json_time(js, "last_update", info.now_us);
}

static void get_jobs(struct rest_call *call)
{
    struct listing l = listing_of(call, json_job);

    l.whole = true;
    if (read_page(&l))
        list_jobs(&l, "_handle_jobs_get", NULL);
}

/* "7", "7_3", "7+1", a SLUID: not a list, a set or a step. */
static bool take_id(struct listing *l, const char *word, const char *source)
{
    struct err err = { .text = "" };

    if (filter_parse_ids(word, &l->ids, &err) == 0 && l->ids.n == 1 && !strpbrk(word, "[.*,") &&
        !l->ids.ids[0].has_step)
        return true;
    rest_error(l->call, ESLURM_INVALID_JOB_ID, source, "Unable to query JobId=%.64s", word);
    return false;
}

static void get_job(struct rest_call *call)
{
    struct listing l = listing_of(call, json_job);

    if (rest_query_time(call, "update_time", &l.since_us) &&
        take_id(&l, call->word, "_handle_job_get"))
        list_jobs(&l, "_handle_job_get", call->word);
    filter_ids_done(&l.ids);
}

bool restjobs_find(struct rest_call *call, const char *word, const char *source,
                   uint32_t *ret_job_id)
{
    struct listing l = listing_of(call, NULL);
    int r = take_id(&l, word, source) ? query_jobs(&l, source, NULL) : -EINVAL;

    filter_ids_done(&l.ids);
    if (r < 0)
        return false;
    if (!l.shown)
        rest_error(call, ESLURM_INVALID_JOB_ID, source, "Unable to query JobId=%.64s", word);
    *ret_job_id = l.last_id;
    return l.shown > 0;
}

static void get_states(struct rest_call *call)
{
    struct listing l = listing_of(call, json_job_state);
    const char *list = rest_query(call, "job_id");
    struct err err = { .text = "" };
    struct query_info info = { 0 };

    if (list && list[0] && filter_parse_ids(list, &l.ids, &err) < 0) {
        rest_error(call, ESLURM_INVALID_JOB_ID, "_handle_jobs_state", "job_id=%.64s: %s", list,
                   err.text);
        return;
    }
    l.whole = true; /* those of some are no other while none is */
    json_list(&call->js, "jobs");
    (void)query_jobs(&l, "_handle_jobs_state", &info); /* noted */
    json_list_end(&call->js);
    filter_ids_done(&l.ids);
}

const struct rest_row rest_job_rows[] = {
    { "GET", REST_SLURM, "jobs", 0, get_jobs, true },
    { "GET", REST_SLURM, "jobs/state", 0, get_states, true },
    { "GET", REST_SLURM, "job/{}", 0, get_job, false },
    { 0 },
};
