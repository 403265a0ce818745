/* json_acct.c - jobs as sacct --json shows them; see json_job.h. */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/timefmt.h"
#include "cli/format/acctflags.h"
#include "cli/format/fmt_sacct.h"
#include "cli/format/json_job.h"
#include "cli/query/out_users.h"
#include "model/words/names.h"
#include "model/words/stepuse.h"

static void put_cpu(struct json *js, const char *key, uint64_t us)
{
    json_map(js, key);
    json_int(js, "seconds", (int64_t)(us / 1000000));
    json_int(js, "microseconds", (int64_t)(us % 1000000));
    json_map_end(js);
}

/* "cpu=2,mem=200M,node=1,gres/gpu:a100=1" as objects.  Ids are Slurm's fixed ones, 0 for others. */
static void put_tres(struct json *js, const char *key, const char *text)
{
    static const struct {
        const char *type;
        int id;
    } known[] = { { "cpu", 1 }, { "mem", 2 }, { "energy", 3 }, { "node", 4 }, { "billing", 5 } };

    json_list(js, key);
    while (text && *text) {
        size_t len = strcspn(text, ","), type_len = strcspn(text, "/=,"),
               name_len = strcspn(text, "=,");
        char value[64];
        uint64_t count = 0;
        int id = 0;

        (void)snprintf(value, sizeof(value), "%.*s", (int)(name_len < len ? len - name_len - 1 : 0),
                       text + name_len + 1); /* cut is fine: not a number then */
        if (size_mib_parse(value, &count, NULL) < 0)
            count = 0;
        for (size_t i = 0; i < ARRAY_SIZE(known); i++)
            if (strlen(known[i].type) == type_len && strncmp(known[i].type, text, type_len) == 0)
                id = known[i].id;
        json_map(js, NULL);
        json_str_n(js, "type", text, type_len);
        json_str_n(js, "name", type_len < name_len ? text + type_len + 1 : "",
                   type_len < name_len ? name_len - type_len - 1 : 0);
        json_int(js, "id", id);
        json_int(js, "count", (int64_t)count);
        json_map_end(js);
        text += len + (text[len] == ',');
    }
    json_list_end(js);
}

static void put_file(struct json *js, const char *key, const struct job_row *row,
                     enum job_file which)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    job_put_file(&sb, row, which);
    json_str(js, key, strbuf_str(&sb));
}

/* What tasks read is `requested` of the system, what they wrote `consumed`, as in Slurm. */
static void put_use(struct json *js, const char *key, const Pst__StepUsage *u, bool incoming)
{
    static const struct {
        const char *type, *name;
        int id;
        Pst__UseKind kind;
    } in[] = {
        { "cpu", "", 1, PST__USE_KIND__USE_CPU },
        { "mem", "", 2, PST__USE_KIND__USE_MEM },
        { "fs", "disk", 6, PST__USE_KIND__USE_DISK_READ },
        { "vmem", "", 7, PST__USE_KIND__USE_VMEM },
        { "pages", "", 8, PST__USE_KIND__USE_PAGES },
        { "gres", "gpumem", 0, PST__USE_KIND__USE_GPU_MEM },
        { "gres", "gpuutil", 0, PST__USE_KIND__USE_GPU_UTIL },
        { "fs", "lustre", 0, PST__USE_KIND__USE_LUSTRE_READ },
        { "ic", "sysfs", 0, PST__USE_KIND__USE_NET_IN },
    }, out[] = {
        { "fs", "disk", 6, PST__USE_KIND__USE_DISK_WRITE },
        { "fs", "lustre", 0, PST__USE_KIND__USE_LUSTRE_WRITE },
        { "ic", "sysfs", 0, PST__USE_KIND__USE_NET_OUT },
    };
    static const char *const lists[] = { "max", "min", "average", "total" };
    size_t n = incoming ? ARRAY_SIZE(in) : ARRAY_SIZE(out);

    json_map(js, key);
    for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
        json_list(js, lists[k]);
        for (size_t i = 0; i < n; i++) {
            Pst__UseKind kind = incoming ? in[i].kind : out[i].kind;
            const Pst__TaskUse *t = stepuse_find(u, kind);
            uint64_t value = !t       ? 0
                             : k == 0 ? t->max
                             : k == 1 ? t->min
                             : k == 2 ? t->total / MAX(u->tasks, 1u)
                                      : t->total;

            if (!t)
                continue;
            json_map(js, NULL);
            json_str(js, "type", incoming ? in[i].type : out[i].type);
            json_str(js, "name", incoming ? in[i].name : out[i].name);
            json_int(js, "id", incoming ? in[i].id : out[i].id);
            json_int(js, "count", (int64_t)(kind == PST__USE_KIND__USE_CPU ? value / 1000 : value));
            json_map_end(js);
        }
        json_list_end(js);
    }
    json_map_end(js);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step_time(struct json *js, const struct sacct_row *r)
{
    const Pst__StepRecord *s = r->step;
    uint64_t user_us, sys_us;

    sacct_cpu_us(r, &user_us, &sys_us);
    json_map(js, "time");
    json_int(js, "elapsed", sacct_elapsed_s(r));
    json_time(js, "end", names_job_state_terminal((unsigned)s->state) ? s->end_us : 0);
    json_time(js, "start", s->start_us);
    json_int(js, "suspended", sacct_suspended_s(r));
    put_cpu(js, "system", sys_us);
    json_number(js, "limit", s->has_time_limit_min, !s->has_time_limit_min, s->time_limit_min);
    put_cpu(js, "total", user_us + sys_us);
    put_cpu(js, "user", user_us);
    json_map_end(js);
}

static void step_nodes_object(struct json *js, const Pst__StepRecord *s)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    json_map(js, "nodes");
    json_int(js, "count", step_nodes(s));
    json_str(js, "range", step_nodelist(s));
    json_list(js, "list");
    if (hostlist_parse(step_nodelist(s), &hl, NULL) == 0)
        for (size_t i = 0; i < hostlist_count(hl); i++)
            json_str(js, NULL, hostlist_nth(hl, i));
    json_list_end(js);
    json_map_end(js);
    json_map(js, "tasks");
    json_int(js, "count", step_tasks(s));
    json_map_end(js);
}

static void step_identity(struct json *js, const struct sacct_row *r)
{
    _cleanup_val_(strbuf_done) struct strbuf id = STRBUF_INIT;
    const Pst__StepRecord *s = r->step;
    struct step_row row = { .step = s, .now_us = r->now_us };

    step_put_id(&id, &row);
    json_map(js, "step");
    json_str(js, "id", strbuf_str(&id));
    json_str(js, "name", step_display_name(s));
    json_str(js, "stderr", s->std_err);
    json_str(js, "stdin", s->std_in);
    json_str(js, "stdout", s->std_out);
    json_str(js, "stderr_expanded", s->std_err);
    json_str(js, "stdin_expanded", s->std_in);
    json_str(js, "stdout_expanded", s->std_out);
    json_map_end(js);
}

/* The script and the external processes have zeros, steps of srun nothing. */
static void put_step_frequency(struct json *js, const Pst__StepRecord *s)
{
    bool zeros = s->step_id == NAMES_STEP_BATCH || s->step_id == NAMES_STEP_EXTERN;

    json_map(js, "CPU");
    json_map(js, "requested_frequency");
    json_number(js, "min", zeros, false, 0);
    json_number(js, "max", zeros, false, 0);
    json_map_end(js);
    json_str(js, "governor", zeros ? "0" : "Unknown");
    json_map_end(js);
}

static void put_step(struct json *js, const struct sacct_row *r)
{
    _cleanup_val_(strbuf_done) struct strbuf tres = STRBUF_INIT;
    const Pst__StepRecord *s = r->step;

    json_map(js, NULL);
    step_time(js, r);
    json_exit_code(js, "exit_code", s->exit_status);
    step_nodes_object(js, s);
    put_step_frequency(js, s);
    json_str(js, "kill_request_user", s->has_cancel_uid ? user_name_of(s->cancel_uid) : "");
    json_one(js, "state", names_step_state((unsigned)s->state));
    json_map(js, "statistics");
    json_map(js, "CPU");
    json_int(js, "actual_frequency",
             s->usage ? (int64_t)(s->usage->freq_khz / MAX(s->usage->tasks, 1u)) : 0);
    json_map_end(js);
    json_map(js, "energy");
    json_set(js, "consumed", s->usage ? (int64_t)s->usage->energy_j : 0);
    json_map_end(js);
    json_map_end(js);
    step_identity(js, r);
    if (!json_is_before(js, 45))
        json_str(js, "submit_line", s->submit_line);
    json_map(js, "task");
    json_str(js, "distribution", step_distribution(s) ? step_distribution(s) : "Unknown");
    json_map_end(js);
    json_map(js, "tres");
    put_use(js, "requested", s->usage, true);
    put_use(js, "consumed", s->usage, false);
    step_put_tres(&tres, s);
    put_tres(js, "allocated",
             s->step_id == NAMES_STEP_EXTERN ? r->acct->job->alloc_tres : strbuf_str(&tres));
    json_map_end(js);
    json_map_end(js);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void job_array(struct json *js, const Pst__JobRecord *j)
{
    json_map(js, "array");
    json_int(js, "job_id", j->array_job_id);
    json_map(js, "limits");
    json_map(js, "max");
    json_map(js, "running");
    json_int(js, "tasks", j->array_task_throttle);
    json_map_end(js);
    json_map_end(js);
    json_map_end(js);
    json_number(js, "task_id", j->array_job_id && j->has_array_task_id, false, j->array_task_id);
    json_str(js, "task", j->array_tasks);
    json_map_end(js);
}

static void job_time(struct json *js, const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;
    uint32_t minutes;
    bool unlimited, limited = job_limit(j, &minutes, &unlimited);
    uint64_t user_us, sys_us;

    sacct_cpu_us(r, &user_us, &sys_us);
    json_map(js, "time");
    json_int(js, "elapsed", sacct_elapsed_s(r));
    json_int(js, "eligible", j->eligible_us / USEC_PER_SEC);
    json_int(js, "end",
             names_job_state_terminal((unsigned)j->state) ? j->end_us / USEC_PER_SEC : 0);
    json_set(js, "planned", (uint64_t)sacct_planned_s(r));
    json_int(js, "start", j->start_us / USEC_PER_SEC);
    json_int(js, "submission", j->submit_us / USEC_PER_SEC);
    json_int(js, "suspended", j->suspended_us / USEC_PER_SEC);
    put_cpu(js, "system", sys_us);
    json_number(js, "limit", limited && !unlimited, unlimited, minutes);
    put_cpu(js, "total", user_us + sys_us);
    put_cpu(js, "user", user_us);
    json_map_end(js);
}

static void job_head(struct json *js, const struct sacct_row *r)
{
    const Pst__JobRecord *j = r->acct->job;

    json_str(js, "account", j->account);
    json_map(js, "comment");
    json_str(js, "administrator", j->admin_comment);
    json_str(js, "job", j->comment);
    json_str(js, "system", j->system_comment);
    json_map_end(js);
    json_int(js, "allocation_nodes", j->alloc ? (int64_t)j->alloc->n_node_ids : 0);
    job_array(js, j);
    json_map(js, "association");
    json_str(js, "account", "");
    json_str(js, "cluster", r->cluster);
    json_str(js, "partition", "");
    json_str(js, "user", "");
    json_int(js, "id", j->has_assoc_id ? j->assoc_id : 0);
    json_map_end(js);
    json_str(js, "block", "");
    json_str(js, "cluster", r->cluster);
    json_str(js, "constraints", j->features);
    json_str(js, "container", j->container);
    if (!json_is_before(js, 45))
        json_str(js, "sluid", sacct_job_sluid(j));
    json_exit_code(js, "derived_exit_code", j->derived_exit_status);
    job_time(js, r);
    if (!json_is_before(js, 45))
        json_str(js, "exclusive", job_exclusive(j));
    json_exit_code(js, "exit_code", sacct_exit_status(r));
    json_str(js, "extra", j->extra);
    json_str(js, "failed_node", j->failed_node);
    acctflags_json(js, j);
    json_str(js, "group", job_group(j));
    json_map(js, "het");
    json_int(js, "job_id", j->het_job_id);
    if (j->het_job_id)
        json_set(js, "job_offset", j->het_offset);
    else
        json_unset(js, "job_offset");
    json_map_end(js);
    json_int(js, "job_id", j->job_id);
    json_str(js, "name", j->name);
    json_str(js, "licenses", j->licenses);
    json_map(js, "mcs");
    json_str(js, "label", j->mcs_label);
    json_map_end(js);
}

static void job_middle(struct json *js, const struct sacct_row *r, const char *script)
{
    const Pst__JobRecord *j = r->acct->job;

    json_str(js, "nodes", *job_nodelist(j) ? job_nodelist(j) : "None assigned");
    if (!json_is_before(js, 45))
        json_str(js, "oversubscribe", j->oversubscribe ? "YES" : "NO");
    json_str(js, "partition", j->partition);
    json_bool(js, "hold", j->has_priority && j->priority == 0);
    json_set(js, "priority", j->has_start_priority ? j->start_priority : j->priority);
    json_str(js, "qos", j->qos);
    json_str(js, "qosreq", j->qos_req ? j->qos_req : "");
    json_map(js, "required");
    json_int(js, "CPUs", MAX(MAX(j->num_tasks, 1u) * MAX(j->cpus_per_task, 1u), j->min_cpus));
    json_number(js, "memory_per_cpu", !j->has_mem_per_node_mib && j->has_mem_per_cpu_mib, false,
                j->mem_per_cpu_mib);
    json_number(js, "memory_per_node", j->has_mem_per_node_mib, false, j->mem_per_node_mib);
    json_map_end(js);
    json_str(js, "kill_request_user", j->has_cancel_uid ? user_name_of(j->cancel_uid) : "");
    json_int(js, "restart_cnt", j->restart_count);
    json_map(js, "reservation");
    json_int(js, "id", j->resv_id);
    json_str(js, "name", j->reservation);
    json_str(js, "requested", j->req_reservation ? j->req_reservation : j->reservation);
    json_map_end(js);
    json_str(js, "script", script);
    if (!json_is_before(js, 43))
        json_int(js, "segment_size", j->segment_size);
    if (!json_is_before(js, 45))
        json_str(js, "original_sluid", j->sluid);
}

void json_acct_job(struct json *js, const Pst__AcctJob *a, int64_t now_us, const char *cluster,
                   const char *script)
{
    const Pst__JobRecord *j = a->job;
    struct sacct_row r = { .acct = a, .now_us = now_us, .cluster = cluster };
    struct job_row row = { .job = j, .now_us = now_us, .cluster = cluster };
    _cleanup_val_(strbuf_done) struct strbuf asked = STRBUF_INIT;

    json_map(js, NULL);
    job_head(js, &r);
    job_middle(js, &r, script);
    put_file(js, "stdin_expanded", &row, JOB_STDIN);
    put_file(js, "stdout_expanded", &row, JOB_STDOUT);
    put_file(js, "stderr_expanded", &row, JOB_STDERR);
    json_str(js, "stdout", job_file_pattern(j, JOB_STDOUT));
    json_str(js, "stderr", job_file_pattern(j, JOB_STDERR));
    json_str(js, "stdin", job_file_pattern(j, JOB_STDIN));
    json_map(js, "state");
    json_one(js, "current", sacct_job_state(j));
    json_str(js, "reason", job_waited_for(&row));
    json_map_end(js);
    json_list(js, "steps");
    for (size_t i = 0; i < a->n_steps; i++) {
        r.step = a->steps[i];
        put_step(js, &r);
    }
    json_list_end(js);
    json_str(js, "submit_line", j->submit_line);
    json_map(js, "tres");
    put_tres(js, "allocated", j->alloc_tres);
    job_put_req_tres(&asked, &row);
    put_tres(js, "requested", strbuf_str(&asked));
    json_map_end(js);
    json_str(js, "used_gres", "");
    json_str(js, "user", job_user(j));
    json_map(js, "wckey");
    json_str(js, "wckey", j->wckey ? j->wckey + (j->wckey[0] == '*') : NULL);
    json_list(js, "flags");
    if (j->wckey && j->wckey[0] == '*')
        json_str(js, NULL, "ASSIGNED_DEFAULT");
    json_list_end(js);
    json_map_end(js);
    json_str(js, "working_directory", j->work_dir);
    json_map_end(js);
}
