/* submission.c - defaults and checks of a submission; see submission.h.  Partitions are in
 * submitparts.c. */
#include "ctld/topology/topoexpand.h"
#include "ctld/submit/submission.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/bind/cpubind.h"
#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/job/expedite.h"
#include "ctld/job/jobfacts.h"
#include "ctld/submit/jobextra.h"
#include "ctld/submit/jobgres.h"
#include "ctld/submit/jobmemory.h"
#include "ctld/submit/jobsubmit.h"
#include "ctld/schedlink/licenses.h"
#include "ctld/job/prologs.h"
#include "ctld/policy/bootfeatures.h"
#include "ctld/policy/mcs.h"
#include "ctld/policy/admission.h"
#include "ctld/policy/policy.h"
#include "ctld/policy/policy_tres.h"
#include "ctld/resv/resv.h"
#include "feed/records.h"
#include "feed/switchfeed.h"
#include "model/payers.h"
#include "model/array.h"
#include "ctld/job/depends.h"
#include "model/depend.h"

#define SCRIPT_MAX (4u << 20)      /* max_script_size, as users know it */
#define SUBMIT_LINE_MAX (1u << 20) /* max_submit_line_size, likewise */
#define ENVIRONMENT_MAX (4u << 20) /* twice what the kernel gives to a program with a usual stack */
#define MAX_SWITCH_WAIT_S 300      /* max_switch_wait when it is not set */
#define KEPT_MAX (40u << 20)       /* of a user, beyond small scripts and environments (payers.h) */

/* ---- defaults -------------------------------------------------------------------------------- */

static bool default_time(struct submission *s)
{
    const Pst__PartitionRecord *p = s->first->rec;
    Pst__JobRecord *r = s->rec;
    uint32_t max_wall = admission_max_wall(s->ctld, r);

    if (r->has_time_limit_min && r->time_limit_min == 0)
        r->has_time_limit_min = false; /* 0 asks for the default */
    if (!r->has_time_limit_min && !(r->has_time_unlimited && r->time_unlimited)) {
        if (p->has_default_time_min && p->default_time_min != UINT32_MAX)
            SET(r, time_limit_min, p->default_time_min);
        else if (p->has_max_time_min || max_wall != UINT32_MAX)
            SET(r, time_limit_min,
                MIN(p->has_max_time_min ? p->max_time_min : UINT32_MAX, max_wall));
        else
            SET(r, time_unlimited, true);
    }
    if (r->has_time_min_min && p->has_max_time_min && r->time_min_min > p->max_time_min)
        return submission_fail(s, ESLURM_INVALID_TIME_MIN_LIMIT);
    if (r->has_time_min_min && r->has_time_limit_min && r->time_min_min > r->time_limit_min)
        return submission_fail(s, ESLURM_INVALID_TIME_MIN_LIMIT);
    return true;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* What has no meaning here is as if it had not been asked for. */
static void settle_placement(struct submission *s)
{
    Pst__JobRecord *r = s->rec;

    if (r->has_mem_per_cpu_mib && !r->mem_per_cpu_mib) { /* all of the node, as --mem=0 */
        r->has_mem_per_cpu_mib = false;
        SET(r, mem_per_node_mib, 0);
    }
    if (r->has_core_spec && !conf_bool(s->ctld->conf, CONF_ALLOW_SPEC_RESOURCES_USAGE))
        r->has_core_spec = r->has_spec_threads = r->spec_threads = false;
    if (!r->has_ntasks_per_core &&
        conf_option(s->ctld->conf, CONF_SELECT_TYPE_PARAMETERS, "CR_ONE_TASK_PER_CORE", NULL,
                    NULL) &&
        !(r->hint && strcasecmp(r->hint, "multithread") == 0))
        SET(r, ntasks_per_core, 1);
}

/* delay_boot of SchedulerParameters is for jobs that say nothing of it themselves. */
static void settle_delay(const struct ctld *ctld, Pst__JobRecord *r)
{
    uint32_t s = bootfeatures_delay_s(ctld);

    if (s && !r->has_delay_boot_s)
        SET(r, delay_boot_s, s);
}

static uint64_t size_option(const struct submission *s, const char *name, uint64_t otherwise)
{
    uint64_t v;

    return conf_option_u64(s->ctld->conf, CONF_SCHEDULER_PARAMETERS, name, &v) ? v : otherwise;
}

/* What a job keeps in memory until long after its end. */
static bool check_bytes(struct submission *s)
{
    const Pst__SubmitRequest *req = s->req;
    size_t cost = payers_cost(req->has_script ? req->script.len : 0) +
                  payers_cost(req->has_environment ? req->environment.len : 0) +
                  payers_cost(protobuf_c_message_get_packed_size(&s->rec->base));

    if (s->het_offset)
        cost = 0; /* the leader's */
    if ((req->has_script && req->script.len > size_option(s, "max_script_size", SCRIPT_MAX)) ||
        (s->rec->submit_line &&
         strlen(s->rec->submit_line) > size_option(s, "max_submit_line_size", SUBMIT_LINE_MAX)) ||
        (req->has_environment && req->environment.len > ENVIRONMENT_MAX))
        return submission_fail(s, ESLURM_PATHNAME_TOO_LONG);
    if (!cost || cmd_is_admin(s->ctld, s->cmd) ||
        payers_bytes(s->ctld->cluster, s->cmd->uid) + cost <= KEPT_MAX)
        return true;
    (void)snprintf(s->text, sizeof(s->text),
                   "Your jobs keep more than %u MiB of scripts and environments already",
                   KEPT_MAX >> 20);
    return submission_fail(s, ESLURM_MAX_JOB_COUNT);
}

/* Nothing of an external job runs here: a script makes no sense, an environment is not kept.  Of a
 * heterogeneous job the script is the leader's. */
static bool settle_external(struct submission *s)
{
    if (!s->het_offset && s->req->has_script && s->req->script.len)
        return submission_fail(s, ESLURM_INVALID_EXTERNAL_JOB);
    if (s->req->array && *s->req->array)
        return submission_fail(s, ESLURM_INVALID_ARRAY);
    SET(s->rec, batch, false);
    s->rec->has_batch = false;
    if (!s->het_offset)
        s->req->has_environment = false;
    return true;
}

/* Who makes the job is who will know that its nodes are free. */
static void settle_keeper(struct submission *s)
{
    if (job_keeps_nodes(s->rec))
        SET(s->rec, keeper_uid, s->cmd->conn ? conn_peer(s->cmd->conn)->uid : 0);
    else
        s->rec->has_keeps_nodes = false;
}

/* Steps would be refused one by one. */
static bool check_binding(struct submission *s)
{
    struct err err = { .text = "" };
    struct cpubind b;

    if (!s->rec->cpu_bind || !*s->rec->cpu_bind)
        return true;
    if (cpubind_parse(s->rec->cpu_bind, &b, &err) < 0) {
        (void)snprintf(s->text, sizeof(s->text), "%s", err.text);
        return submission_fail(s, EPST_BAD_REQUEST);
    }
    cpubind_done(&b);
    return true;
}

static bool check_extra(struct submission *s)
{
    struct err err = { .text = "" };
    int code = jobextra_check(s->ctld->conf, s->rec->extra, &err);

    if (code == 0)
        return true;
    (void)snprintf(s->text, sizeof(s->text), "%s", err.text);
    return submission_fail(s, code);
}

static bool check_sizes(struct submission *s)
{
    const Pst__JobRecord *r = s->rec;
    struct err err = { .text = "" };
    int code = submit_sizes(r);

    if (code != 0)
        return submission_fail(s, code);
    if (r->has_nice && r->nice < 0 && !policy_is_operator(s->ctld, s->cmd))
        return submission_fail(s, ESLURM_INVALID_NICE);
    if (r->has_site_factor && r->site_factor && !policy_is_operator(s->ctld, s->cmd))
        return submission_fail(s, ESLURM_ACCESS_DENIED);
    if (switch_check(s->ctld->conf, r->network, &err) < 0) {
        (void)snprintf(s->text, sizeof(s->text), "%s", err.text);
        return submission_fail(s, ESLURM_NOT_SUPPORTED);
    }
    if (r->has_expedited && r->expedited && !expedite_is_enabled(s->ctld))
        return submission_fail(s, ESLURM_NOT_SUPPORTED);
    if (!check_bytes(s) || !check_extra(s))
        return false;
    settle_placement(s);
    jobs_join_features(s->rec);
    settle_delay(s->ctld, s->rec);
    if (s->hold)
        SET(s->rec, held_by_user, true);
    if (job_is_external(r) && !settle_external(s))
        return false;
    settle_keeper(s);
    if (r->has_batch && r->batch && !(s->req->has_script && s->req->script.len))
        return submission_fail(s, ESLURM_JOB_SCRIPT_MISSING);
    if (r->has_batch && r->batch && !r->work_dir) {
        (void)snprintf(s->text, sizeof(s->text), "a batch job needs a working directory");
        return submission_fail(s, EPST_BAD_REQUEST);
    }
    return true;
}

static bool check_gres(struct submission *s)
{
    struct err err = { .text = "" };
    int code = submit_gres(s->ctld, s->rec);

    if (code == 0)
        code = jobgres_settle(s->rec, &err);
    return code == 0 || submission_fail(s, code);
}

/* Names that exist, in counts that exist. */
static bool check_licenses(struct submission *s)
{
    char *full = licenses_complete(s->ctld, s->rec->licenses);
    int code;

    if (full) {
        free(s->rec->licenses);
        s->rec->licenses = full;
    }

    if (s->rec->licenses && !*s->rec->licenses)
        (void)pb_set_str(&s->rec->licenses, NULL); /* cannot fail: it frees */
    code = jobgres_licenses(s->rec);
    if (code != 0)
        return submission_fail(s, code);
    if (s->rec->licenses && *s->rec->licenses && !licenses_exist(s->ctld, s->rec->licenses))
        return submission_fail(s, ESLURM_INVALID_LICENSES);
    if (s->het_offset && s->rec->licenses)
        return submission_fail(
            s, ESLURM_INVALID_LICENSES); /* they are the first component's to ask for */
    return true;
}

/* Reservations exist and let the user in; the first one has a word about the partition. */
static bool check_reservation(struct submission *s)
{
    const char *partition;
    int code = 0;

    if (s->rec->reservation && !*s->rec->reservation)
        (void)pb_set_str(&s->rec->reservation, NULL); /* cannot fail: it frees */
    if (!s->rec->reservation)
        return true;
    code = resv_check_job(s->ctld, s->rec);
    if (code == 0)
        code = resv_check_nodes(s->ctld, s->rec, &s->hint);
    if (code != 0)
        return submission_fail(s, code);
    partition =
        s->rec->partition && *s->rec->partition ? NULL : resv_default_partition(s->ctld, s->rec);
    return !partition || pb_set_str(&s->rec->partition, partition) == 0 ||
           submission_fail(s, SLURM_ERROR);
}

static bool check_room(struct submission *s)
{
    uint32_t n = s->array_count ? s->array_count : 1 + s->het_offset;

    if (cluster_count_tasks(s->ctld->cluster) + n <= conf_num(s->ctld->conf, CONF_MAX_JOB_COUNT))
        return true;
    return submission_fail(s, ESLURM_MAX_JOB_COUNT);
}

static bool check_array(struct submission *s)
{
    uint32_t max = (uint32_t)conf_num(s->ctld->conf, CONF_MAX_ARRAY_SIZE);
    uint32_t throttle;
    struct err err = { .text = "" };

    if (!s->req->array || !*s->req->array)
        return true; /* an empty list is none */
    if (s->het_count)
        return submission_fail(s, ESLURM_INVALID_ARRAY);
    if (max < 2 || array_parse(s->req->array, max - 1, &s->rec->array_tasks, &throttle,
                               &s->array_count, &err) < 0)
        return submission_fail(s, ESLURM_INVALID_ARRAY);
    if (s->array_count > size_option(s, "max_array_tasks", max))
        return submission_fail(s, ESLURM_INVALID_ARRAY);
    if (throttle)
        SET(s->rec, array_task_throttle, throttle);
    return check_room(s); /* there was some for one of its tasks */
}

/* What a job waits for is looked at when it has its number. */
static bool refuse_numbered(struct submission *s, int code)
{
    s->numbered = true;
    return submission_fail(s, code);
}

static bool check_dependency(struct submission *s, uint32_t job_id)
{
    struct depends d;
    bool changed;
    int64_t until;
    int r;
    char *text = NULL;

    if (!s->rec->dependency)
        return true;
    if (!*s->rec->dependency) {
        (void)pb_set_str(&s->rec->dependency, NULL); /* cannot fail: it frees */
        return true;
    }
    if (strncasecmp(s->rec->dependency, "expand:", strlen("expand:")) == 0)
        return refuse_numbered(s, ESLURM_NOT_SUPPORTED);
    if (depends_parse(s->rec->dependency, &d, NULL) < 0)
        return refuse_numbered(s, ESLURM_DEPENDENCY);
    depends_uniq(&d);
    r = depends_check(&d, s->ctld->cluster, job_id, depends_depth(s->ctld));
    if (r == 0 && (s->hold || job_is_held(s->rec)) && strcasestr(s->rec->dependency, "singleton")) {
        /* others of its name may come and go until it is released: it is looked at then */
        if (depends_format(&d, &text) < 0)
            r = -ENOMEM;
        free(s->rec->dependency);
        s->rec->dependency = text;
    } else if (r == 0) {
        struct job probe = { .rec = s->rec };
        enum depend_result res =
            depends_eval(&d, s->ctld->cluster, &probe, core_now(), &changed, &until);

        if (res != DEPEND_MET && depends_format(&d, &text) < 0)
            r = -ENOMEM;
        if (res == DEPEND_NEVER && !job_is_held(s->rec))
            SET(s->rec, reason, PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED);
        free(s->rec->dependency);
        s->rec->dependency = text;
    }
    depends_done(&d);
    return r == 0 ||
           refuse_numbered(s, r == -ELOOP ? ESLURM_CIRCULAR_DEPENDENCY : ESLURM_DEPENDENCY);
}

/* Account and QOS as far as partitions ask for them; what is wrong with them is said when the
 * partition is known. */
static void foresee_account(struct submission *s)
{
    struct partition *p = s->rec->partition ? NULL : cluster_default_partition(s->ctld->cluster);

    policy_default_account(s->ctld, s->cmd->user_name, s->rec);
    (void)policy_resolve(s->ctld, s->cmd->user_name, p, s->rec); /* said by check_account() */
}

static bool check_account(struct submission *s)
{
    int code = policy_resolve(s->ctld, s->cmd->user_name, s->first, s->rec);

    return code == 0 || submission_fail(s, code);
}

static bool check_label(struct submission *s)
{
    int code;

    if (!s->rec->user_name && s->cmd->user_name)
        s->rec->user_name = tx_strdup(s->cmd->user_name);
    code = mcs_apply(s->ctld->conf, s->rec, s->cmd->group_name, &s->hint);
    return code == 0 || submission_fail(s, code);
}

/* Nodes that the job must have: those that its tasks need at least, and the partition's least. */
static void settle_nodes(struct submission *s)
{
    const Pst__PartitionRecord *p = s->first->rec;
    Pst__JobRecord *r = s->rec;
    uint32_t asked = r->has_min_nodes ? r->min_nodes : 1, least = asked;

    if (r->has_num_tasks && r->has_ntasks_per_node && r->ntasks_per_node)
        least = MAX(least, (r->num_tasks - 1) / r->ntasks_per_node + 1);
    if (p->has_min_nodes && !strchr(r->partition, ',') &&
        !policy_qos_flag(s->ctld, r, PST__QOS_FLAG__QOS_PARTITION_MIN_NODES))
        least = MAX(least, p->min_nodes);
    if (least <= asked || (r->has_max_nodes && r->max_nodes && r->max_nodes < least))
        return;
    if (r->has_max_nodes && r->max_nodes > asked && r->max_nodes == least)
        SET(r, node_range, true);
    SET(r, min_nodes, least);
    if (!r->has_num_tasks && !r->has_max_nodes)
        SET(r, max_nodes, 0); /* any number: it did not name one, and has a task all the same */
}

/* What the partition says of sharing is shown of the job.  `false` in a partition that makes jobs
 * share means that it may: it says so once the job runs (startrecord.c). */
static void settle_sharing(struct submission *s)
{
    const Pst__PartitionRecord *p = s->first->rec;
    Pst__JobRecord *r = s->rec;

    if (r->has_reboot && r->reboot) /* others would lose theirs */
        SET(r, exclusive, EXCLUSIVE_NODE);
    if (strchr(r->partition, ','))
        return;
    if (p->exclusive && strcmp(p->exclusive, "NODE") == 0)
        SET(r, whole_nodes, true);
    if (p->oversubscribe && strncasecmp(p->oversubscribe, "FORCE", 5) == 0 && !r->has_exclusive)
        SET(r, oversubscribe, r->has_oversubscribe && r->oversubscribe);
    else if (p->exclusive && strcmp(p->exclusive, "NODE") == 0)
        r->has_oversubscribe = false;
}

/* How long it waits for few switches, at most as long as the site says. */
static void settle_switches(struct submission *s)
{
    Pst__JobRecord *r = s->rec;
    uint64_t most;

    if (!r->has_switches || !r->switches)
        return;
    if (!conf_option_u64(s->ctld->conf, CONF_SCHEDULER_PARAMETERS, "max_switch_wait", &most))
        most = MAX_SWITCH_WAIT_S;
    if (!r->has_switches_wait_s || r->switches_wait_s > most)
        SET(r, switches_wait_s, (uint32_t)MIN(most, (uint64_t)UINT32_MAX));
}

/* Why it will wait, as far as that is known at once: more than there is. */
static void foresee_reason(struct submission *s)
{
    const Pst__PartitionRecord *p = s->first->rec;
    const Pst__JobRecord *r = s->rec;

    if (s->later || (p->has_max_nodes && MAX(r->min_nodes, r->max_nodes) > p->max_nodes) ||
        (p->has_min_nodes && r->has_max_nodes && r->max_nodes && r->max_nodes < p->min_nodes))
        SET(s->rec, pend_reason, PST__JOB_REASON__REASON_PARTITION_CONFIG);
    else if (p->state == PST__PARTITION_STATE__PART_DOWN && !strchr(r->partition, ','))
        SET(s->rec, pend_reason, PST__JOB_REASON__REASON_PARTITION_DOWN);
}

static bool check_limits(struct submission *s)
{
    uint32_t n = s->array_count ? s->array_count : 1 + s->het_offset;
    int code = admission_check(s->ctld, s->first, s->rec, n, false, &s->hint);

    policy_note_asked(s->ctld, s->first, s->rec);
    return code == 0 || submission_fail(s, code);
}

/* The job can end before its deadline, should it start as early as it may. */
static bool check_deadline(struct submission *s)
{
    const Pst__JobRecord *r = s->rec;
    int64_t start = MAX(core_now(), r->has_begin_us ? r->begin_us : 0), left;
    int64_t minute = 60 * USEC_PER_SEC;

    if (!r->has_deadline_us)
        return true;
    left = r->deadline_us - start;
    if (left <= 0)
        return submission_fail(s, ESLURM_INVALID_TIME_LIMIT);
    if (r->has_time_min_min)
        return r->time_min_min * minute <= left ||
               submission_fail(s, ESLURM_INVALID_TIME_MIN_LIMIT);
    return !r->has_time_limit_min || r->time_limit_min * minute <= left ||
           submission_fail(s, ESLURM_INVALID_TIME_LIMIT);
}

static bool check_priority(struct submission *s)
{
    Pst__JobRecord *r = s->rec;

    if (r->has_begin_us && r->begin_us <= core_now())
        r->has_begin_us = false;
    if (!check_deadline(s))
        return false;
    if (s->hold) {
        SET(r, priority, 0);
        SET(r, reason, PST__JOB_REASON__REASON_JOB_HELD_USER);
    } else if (r->has_priority && r->priority == 0) {
        SET(r, reason, PST__JOB_REASON__REASON_JOB_HELD_ADMIN);
    }
    return true;
}

/* JobSubmitPlugins: the first to look at what is asked for, and free to change it. */
static bool site_filters(struct submission *s)
{
    struct jobsubmit_request r = { .ctld = s->ctld,
                                   .cmd = s->cmd,
                                   .req = s->req,
                                   .desc = s->rec,
                                   .hold = &s->hold,
                                   .messages = &s->messages };
    int code = jobsubmit_any(s->ctld->conf) ? jobsubmit_run(&r) : 0;

    return code == 0 || submission_fail(s, code);
}

/* What the cluster has under this name are these bytes. */
static bool same_bytes(struct submission *s, const struct digest *name, const void *data,
                       size_t len)
{
    const struct blob *b = cluster_blob(s->ctld->cluster, name);

    if (!b || (b->len == len && memcmp(b->data, data, len) == 0))
        return true;
    (void)snprintf(s->text, sizeof(s->text),
                   "the cluster holds something else under the name of this job's script "
                   "or environment");
    return submission_fail(s, SLURM_ERROR);
}

/* Script and environment are the leader's. */
static bool check_contents(struct submission *s)
{
    struct contents *c = s->contents;
    int r = 0;

    if (s->het_offset)
        return true;
    if (jobsubmit_any(s->ctld->conf)) { /* a filter may have changed them */
        contents_done(c);
        r = contents_make(c, s->req, s->rec);
    }
    if (r == 0 && c->run)
        r = contents_array(c, s->rec->array_tasks, s->array_count);
    if (r < 0)
        return submission_fail(s, SLURM_ERROR);
    return (!c->has_script || same_bytes(s, &c->script, s->req->script.data, s->req->script.len)) &&
           same_bytes(s, &c->env_name, c->env.buf, c->env.len);
}

/* Names of units in -w and -x become those of their nodes. */
static bool expand_list(struct submission *s, char **list)
{
    char *expanded;
    int r;

    if (!*list || !strchr(*list, '{'))
        return true;
    r = topology_expand(s->ctld, *list, &expanded);
    if (r < 0)
        return submission_fail(s, r == -ENOMEM ? SLURM_ERROR : ESLURM_INVALID_NODE_NAME);
    free(*list);
    *list = expanded;
    return true;
}

/* What the request does not name is remembered: queries tell which values were chosen for it. */
static void note_defaults(struct submission *s)
{
    Pst__JobRecord *r = s->rec;
    uint32_t used = 0;

    if (!r->account || !*r->account)
        used |= 1u << PST__JOB_DEFAULT__DEFAULT_ACCOUNT;
    if (!r->partition || !*r->partition)
        used |= 1u << PST__JOB_DEFAULT__DEFAULT_PARTITION;
    if (!r->qos || !*r->qos)
        used |= 1u << PST__JOB_DEFAULT__DEFAULT_QOS;
    if (!r->wckey || !*r->wckey)
        used |= 1u << PST__JOB_DEFAULT__DEFAULT_WCKEY;
    SET(r, defaults_used, used);
}

/* Windows need somebody who keeps a connection open for them, which a script has not. */
static bool check_x11(struct submission *s)
{
    if (!s->rec->x11)
        return true;
    if (s->req->has_script || s->rec->external || !launch_forwards_x11(s->ctld))
        return submission_fail(s, ESLURM_X11_NOT_AVAIL);
    return true;
}

bool submission_check(struct submission *s)
{
    s->rec->uid = s->cmd->uid;
    return check_room(s) && site_filters(s) && check_x11(s) && check_binding(s) &&
           (note_defaults(s), true) && expand_list(s, &s->rec->req_nodes) &&
           expand_list(s, &s->rec->exc_nodes) && check_sizes(s) && check_array(s) &&
           check_gres(s) && check_licenses(s) && (foresee_account(s), true) &&
           check_reservation(s) && submission_check_partitions(s) && check_account(s) &&
           check_label(s) && default_time(s) &&
           (jobmemory_default(s->ctld->conf, s->first->rec, s->rec),
            jobmemory_as_cpus(s->ctld->conf, s->first->rec,
                              policy_whole_memory(s->ctld->cluster, s->first, s->rec), s->rec),
            settle_nodes(s), settle_sharing(s), settle_switches(s), foresee_reason(s), true) &&
           check_priority(s) && check_limits(s) && check_dependency(s, jobs_fresh_id(s->ctld)) &&
           check_contents(s);
}
