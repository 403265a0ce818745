/* op_submit.c - submissions: what a client may say, defaults, checks, the record */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/ctld.h"
#include "ctld/acct/acctthread.h"
#include "ctld/job/contents.h"
#include "ctld/job/cronjobs.h"
#include "ctld/job/depends.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobsubmit.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/jobmemory.h"
#include "feed/licensefeed.h"
#include "feed/records.h"
#include "ctld/job/licenses.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/owners.h"
#include "ctld/policy/mcs.h"
#include "ctld/policy/policy.h"
#include "ctld/resv/resv.h"
#include "ctld/core/wait.h"
#include "ctld/core/service.h"
#include "model/array.h"
#include "model/depend.h"
#include "model/account/payers.h"

#define SCRIPT_MAX (4u << 20)      /* max_script_size, as users know it */
#define SUBMIT_LINE_MAX (1u << 20) /* max_submit_line_size, likewise */
#define ENVIRONMENT_MAX (4u << 20) /* twice what the kernel gives to a program with a usual stack */
#define KEPT_MAX (40u << 20)       /* of a user, beyond small scripts and environments (payers.h) */
#define GRES_KINDS_MAX 128u        /* named in one list: each is looked for on every kind of node */

#define BLOB_AGAIN_US (1800 * USEC_PER_SEC)

#define F_ARGV 153    /* JobRecord.argv */
#define F_RLIMITS 159 /* kept with the environment: alike in all submissions of a user */

/* Fields of JobRecord that a submission may carry; all others are the controller's. */
static bool client_field(uint32_t number)
{
    static const uint32_t own[] = { 151, 152 }; /* names of older records */
    static const uint32_t identity[] = {
        9, 10, 11, 12, 13, 14, 16, 17, 18, 19, 20, 21, 38, 52, 57
    };

    for (size_t i = 0; i < ARRAY_SIZE(own); i++)
        if (number == own[i])
            return false;
    for (size_t i = 0; i < ARRAY_SIZE(identity); i++)
        if (number == identity[i])
            return true;
    return number == 231 || number == 344 || number == 520 || number == 521 || number == 530 ||
           number == 590 || (number >= 70 && number <= 131) || (number >= 150 && number <= 167);
}

static void keep_client_fields(Pst__JobRecord *r, bool admin)
{
    const ProtobufCMessageDescriptor *d = r->base.descriptor;

    while (r->base.n_unknown_fields) /* what a later release would take for its controller's word */
        (void)pb_clear(&r->base, r->base.unknown_fields[0].tag);
    for (unsigned i = 0; i < d->n_fields; i++) {
        uint32_t number = d->fields[i].id;

        if (!client_field(number) && !(admin && (number == 37 || number == 15)))
            (void)pb_clear(&r->base, number); /* a field we walk exists */
    }
}

struct submission {
    struct ctld *ctld;
    struct cmd *cmd;
    Pst__SubmitRequest *req;   /* of a crontab: one of its entries, cmd->msg is the crontab's */
    struct contents *contents; /* the command's */
    bool hold;
    Pst__JobRecord *rec; /* owned until handed over */
    struct partition *first;
    uint32_t array_count;
    uint32_t het_offset, het_count; /* component; het_count 0 = not heterogeneous */
    int code;
    const char *hint;        /* sentence that comes before the code's text */
    struct strbuf messages;  /* of the site's filters, for the user */
    char text[ERR_TEXT_MAX]; /* replaces the code's text when set */
};

static bool fail(struct submission *s, int code)
{
    s->code = code;
    return false;
}

/* ---- partitions ------------------------------------------------------------------------------ */

static bool in_words(const char *list, const char *word)
{
    size_t len = word ? strlen(word) : 0;

    for (const char *p = list; len && p && *p;) {
        size_t n = strcspn(p, ",");

        if (n == len && strncasecmp(p, word, n) == 0)
            return true;
        p += n + (p[n] == ',');
    }
    return false;
}

static bool group_allowed(const char *allow, const char *groups)
{
    for (const char *p = groups; p && *p;) {
        size_t n = strcspn(p, ",");
        char name[256];

        if (n < sizeof(name)) {
            memcpy(name, p, n);
            name[n] = '\0';
            if (in_words(allow, name))
                return true;
        }
        p += n + (p[n] == ',');
    }
    return false;
}

int submit_lets_in(const struct ctld *ctld, const struct cmd *cmd, const struct partition *p,
                   const Pst__JobRecord *job)
{
    const Pst__PartitionRecord *r = p->rec;
    bool admin = cmd_is_admin(ctld, cmd);

    if (r->state == PST__PARTITION_STATE__PART_INACTIVE ||
        r->state == PST__PARTITION_STATE__PART_DRAIN)
        return ESLURM_PARTITION_NOT_AVAIL;
    if (r->has_root_only && r->root_only && !admin)
        return ESLURM_ACCESS_DENIED;
    if (r->has_disable_root_jobs && r->disable_root_jobs && job->uid == 0)
        return ESLURM_ACCESS_DENIED;
    if (r->has_req_resv && r->req_resv && !job->reservation)
        return ESLURM_ACCESS_DENIED;
    if (r->allow_groups && !admin && !group_allowed(r->allow_groups, cmd->group_name))
        return ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP;
    return policy_partition(ctld, r, job);
}

int submit_feasible(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r,
                    bool *ret_later, const char **ret_hint)
{
    const char *select = conf_str(ctld->conf, CONF_SELECT_TYPE_PARAMETERS);
    const char *enforce = conf_str(ctld->conf, CONF_ENFORCE_PART_LIMITS);
    int code = feasible_check(ctld->feasible, ctld->cluster, p, r,
                              select && strcasestr(select, "Memory"), ret_hint);

    *ret_later = code == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE &&
                 !(enforce && strcasecmp(enforce, "NO") != 0);
    return *ret_later ? 0 : code;
}

uint32_t submit_least_nodes(const struct ctld *ctld, const struct partition *p,
                            const Pst__JobRecord *r)
{
    const char *select = conf_str(ctld->conf, CONF_SELECT_TYPE_PARAMETERS);
    uint32_t least = r->has_num_tasks && r->num_tasks > 1 && p
                         ? feasible_nodes(ctld->feasible, ctld->cluster, p, r,
                                          select && strcasestr(select, "Memory"))
                         : 0;

    return least > (r->has_min_nodes ? r->min_nodes : 1) ? least : 0;
}

/* Every partition named exists, and the job could run in at least one; those that do not let the
 * user in are taken off the list. */
static bool check_partitions(struct submission *s)
{
    struct ctld *ctld = s->ctld;
    _cleanup_val_(strbuf_done) struct strbuf kept = STRBUF_INIT;
    _cleanup_free_ char *copy = NULL;
    struct idmap seen = { 0 };
    char *save = NULL;
    int worst = 0;
    bool possible = false, later;

    if (!s->rec->partition || !*s->rec->partition) {
        struct partition *p = cluster_default_partition(ctld->cluster);

        if (!p)
            return fail(s, ESLURM_DEFAULT_PARTITION_NOT_SET);
        if (pb_set_str(&s->rec->partition, p->rec->name) < 0)
            return fail(s, SLURM_ERROR);
    }
    copy = strdup(s->rec->partition);
    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct partition *p = cluster_partition(ctld->cluster, w);
        const char *hint = NULL;
        int code;

        if (!p) {
            (void)snprintf(s->text, sizeof(s->text), "invalid partition specified: %s\n%s", w,
                           slurm_err_text(ESLURM_INVALID_PARTITION_NAME));
            idmap_done(&seen);
            return fail(s, ESLURM_INVALID_PARTITION_NAME);
        }
        if (idmap_get(&seen, (uintptr_t)p))
            continue;                            /* named before: nothing is checked twice */
        (void)idmap_put(&seen, (uintptr_t)p, p); /* out of memory: it is */
        code = submit_lets_in(ctld, s->cmd, p, s->rec);
        if (code == 0) {
            strbuf_addf(&kept, "%s%s", kept.len ? "," : "", w);
            if (!s->first)
                s->first = p;
            code = submit_feasible(ctld, p, s->rec, &later, &hint);
            if (later && s->req->has_test_only && s->req->test_only)
                code = ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE; /* there is no start to tell */
        }
        if (code == 0) {
            possible = true;
        } else if (!worst) {
            worst = code;
            s->hint = hint;
        }
    }
    idmap_done(&seen);
    if (!possible)
        return fail(s, worst ? worst : ESLURM_INVALID_PARTITION_NAME);
    return pb_set_str(&s->rec->partition, strbuf_str(&kept)) == 0 || fail(s, SLURM_ERROR);
}

/* ---- defaults -------------------------------------------------------------------------------- */

static bool default_time(struct submission *s)
{
    const Pst__PartitionRecord *p = s->first->rec;
    Pst__JobRecord *r = s->rec;
    const char *enforce = conf_str(s->ctld->conf, CONF_ENFORCE_PART_LIMITS);
    bool strict = enforce && strcasecmp(enforce, "NO") != 0;
    uint32_t max_wall = policy_max_wall(s->ctld, r);

    if (r->has_time_limit_min && r->time_limit_min == 0)
        r->has_time_limit_min = false; /* 0 asks for the default */
    if (!r->has_time_limit_min && !(r->has_time_unlimited && r->time_unlimited)) {
        if (p->has_default_time_min)
            SET(r, time_limit_min, p->default_time_min);
        else if (p->has_max_time_min || max_wall != UINT32_MAX)
            SET(r, time_limit_min,
                MIN(p->has_max_time_min ? p->max_time_min : UINT32_MAX, max_wall));
        else
            SET(r, time_unlimited, true);
    }
    if (strict && p->has_max_time_min &&
        !policy_qos_flag(s->ctld, r, PST__QOS_FLAG__QOS_PARTITION_TIME_LIMIT) &&
        (!r->has_time_limit_min || r->time_limit_min > p->max_time_min))
        return fail(s, ESLURM_INVALID_TIME_LIMIT);
    if (strict && p->has_max_nodes &&
        !policy_qos_flag(s->ctld, r, PST__QOS_FLAG__QOS_PARTITION_MAX_NODES) && r->has_min_nodes &&
        r->min_nodes > p->max_nodes)
        return fail(s, ESLURM_INVALID_NODE_COUNT);
    if (r->has_time_min_min && r->has_time_limit_min && r->time_min_min > r->time_limit_min)
        return fail(s, ESLURM_INVALID_TIME_MIN_LIMIT);
    return true;
}

/* ---- checks ---------------------------------------------------------------------------------- */

/* Ways to place a job that this version does not know. */
static bool check_placement(struct submission *s)
{
    const Pst__JobRecord *r = s->rec;
    const char *what = !r->has_exclusive ? NULL : r->exclusive == 4 ? "--exclusive=topo" : NULL;

    if (r->distribution && strncasecmp(r->distribution, "arbitrary", 9) == 0)
        what = "--distribution=arbitrary";
    if (!what)
        return true;
    (void)snprintf(s->text, sizeof(s->text), "%s is not supported by this version", what);
    return fail(s, ESLURM_NOT_SUPPORTED);
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
        return fail(s, ESLURM_PATHNAME_TOO_LONG);
    if (!cost || cmd_is_admin(s->ctld, s->cmd) ||
        payers_bytes(s->ctld->cluster, s->cmd->uid) + cost <= KEPT_MAX)
        return true;
    (void)snprintf(s->text, sizeof(s->text),
                   "Your jobs keep more than %u MiB of scripts and environments already",
                   KEPT_MAX >> 20);
    return fail(s, ESLURM_MAX_JOB_COUNT);
}

static bool check_sizes(struct submission *s)
{
    const Pst__JobRecord *r = s->rec;
    int code = submit_sizes(r);

    if (code != 0)
        return fail(s, code);
    if (!check_bytes(s) || !check_placement(s))
        return false;
    if (s->hold)
        SET(s->rec, held_by_user, true);
    if (r->has_batch && r->batch && !(s->req->has_script && s->req->script.len))
        return fail(s, ESLURM_JOB_SCRIPT_MISSING);
    if (r->has_batch && r->batch && !r->work_dir) {
        (void)snprintf(s->text, sizeof(s->text), "a batch job needs a working directory");
        return fail(s, EPST_BAD_REQUEST);
    }
    return true;
}

static bool gres_names_known(const struct ctld *ctld, const char *text)
{
    _cleanup_free_ char *copy = text ? strdup(text) : NULL;
    const char *types = conf_str(ctld->conf, CONF_GRES_TYPES);
    char *save = NULL;
    size_t n = 0;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        struct gres_text g;

        if (++n > GRES_KINDS_MAX)
            return false;
        if (strncmp(w, "cpu", 3) == 0)
            continue; /* tres_per_task only */
        if (!gres_text_parse(w, &g) || !in_words(types, g.name) || g.count > UINT32_MAX)
            return false;
    }
    return true;
}

static bool asks_for(const Pst__JobRecord *r, const char *name)
{
    const char *const lists[] = { r->tres_per_node, r->tres_per_job, r->tres_per_task,
                                  r->tres_per_socket };
    size_t len = strlen(name);

    for (size_t i = 0; i < ARRAY_SIZE(lists); i++) {
        for (const char *p = lists[i]; p && (p = strstr(p, name)); p += len)
            if ((p == lists[i] || p[-1] == ',' || p[-1] == '/') &&
                (!p[len] || strchr(":=,", p[len])))
                return true;
    }
    return false;
}

int submit_gres(const struct ctld *ctld, const Pst__JobRecord *r)
{
    /* A GPU is shared or one's own: nobody gets both on a node. */
    bool mixed = asks_for(r, "gpu") + asks_for(r, "shard") + asks_for(r, "mps") > 1;

    return !mixed && gres_names_known(ctld, r->tres_per_node) &&
                   gres_names_known(ctld, r->tres_per_job) &&
                   gres_names_known(ctld, r->tres_per_task) &&
                   gres_names_known(ctld, r->tres_per_socket)
               ? 0
               : ESLURM_INVALID_GRES;
}

static bool check_gres(struct submission *s)
{
    int code = submit_gres(s->ctld, s->rec);

    return code == 0 || fail(s, code);
}

/* Names that exist, in counts that exist. */
static bool check_licenses(struct submission *s)
{
    if (s->rec->licenses && *s->rec->licenses &&
        !licenses_valid(s->ctld->conf, licenses_all(s->ctld), s->rec->licenses))
        return fail(s, ESLURM_INVALID_LICENSES);
    if (s->het_offset && s->rec->licenses)
        return fail(s, ESLURM_INVALID_LICENSES); /* they are the first component's to ask for */
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
    if (code != 0)
        return fail(s, code);
    partition =
        s->rec->partition && *s->rec->partition ? NULL : resv_default_partition(s->ctld, s->rec);
    return !partition || pb_set_str(&s->rec->partition, partition) == 0 || fail(s, SLURM_ERROR);
}

static bool check_array(struct submission *s)
{
    uint32_t max = (uint32_t)conf_num(s->ctld->conf, CONF_MAX_ARRAY_SIZE);
    uint32_t throttle;
    struct err err = { .text = "" };

    if (!s->req->array)
        return true;
    if (s->het_count)
        return fail(s, ESLURM_INVALID_ARRAY);
    if (max < 2 || array_parse(s->req->array, max - 1, &s->rec->array_tasks, &throttle,
                               &s->array_count, &err) < 0)
        return fail(s, ESLURM_INVALID_ARRAY);
    if (s->array_count > size_option(s, "max_array_tasks", max))
        return fail(s, ESLURM_INVALID_ARRAY);
    if (throttle)
        SET(s->rec, array_task_throttle, throttle);
    return true;
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
    if (depends_parse(s->rec->dependency, &d, NULL) < 0)
        return fail(s, ESLURM_DEPENDENCY);
    depends_uniq(&d);
    r = depends_check(&d, s->ctld->cluster, job_id, 10);
    if (r == 0) {
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
    return r == 0 || fail(s, r == -ELOOP ? ESLURM_CIRCULAR_DEPENDENCY : ESLURM_DEPENDENCY);
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

    return code == 0 || fail(s, code);
}

static bool check_label(struct submission *s)
{
    int code;

    if (!s->rec->user_name && s->cmd->user_name)
        s->rec->user_name = tx_strdup(s->cmd->user_name);
    code = mcs_apply(s->ctld->conf, s->rec, s->cmd->group_name, &s->hint);
    return code == 0 || fail(s, code);
}

static bool check_limits(struct submission *s)
{
    uint32_t n = s->array_count ? s->array_count : 1 + s->het_offset;
    int code = policy_admit(s->ctld, s->first, s->rec, n, false, &s->hint);

    policy_note_asked(s->ctld, s->first, s->rec);
    return code == 0 || fail(s, code);
}

static bool check_room(struct submission *s)
{
    if (s->ctld->cluster->jobs.count + s->het_offset < conf_num(s->ctld->conf, CONF_MAX_JOB_COUNT))
        return true;
    return fail(s, ESLURM_MAX_JOB_COUNT);
}

static bool check_priority(struct submission *s)
{
    Pst__JobRecord *r = s->rec;
    bool admin = cmd_is_admin(s->ctld, s->cmd);

    if (r->has_nice && r->nice < 0 && !admin)
        return fail(s, ESLURM_INVALID_NICE);
    if (r->has_begin_us && r->begin_us <= core_now())
        r->has_begin_us = false;
    if (r->has_deadline_us && r->deadline_us <= core_now())
        return fail(s, ESLURM_INVALID_TIME_LIMIT);
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

    return code == 0 || fail(s, code);
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
    return fail(s, SLURM_ERROR);
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
        return fail(s, SLURM_ERROR);
    return (!c->has_script || same_bytes(s, &c->script, s->req->script.data, s->req->script.len)) &&
           same_bytes(s, &c->env_name, c->env.buf, c->env.len);
}

static bool check(struct submission *s)
{
    s->rec->uid = s->cmd->uid;
    return check_room(s) && site_filters(s) && check_sizes(s) && check_array(s) &&
           check_licenses(s) && check_gres(s) &&
           (jobmemory_of_gpus(s->rec), foresee_account(s), true) && check_reservation(s) &&
           check_partitions(s) && check_account(s) && check_label(s) && default_time(s) &&
           (jobmemory_default(s->ctld->conf, s->first->rec, s->rec),
            jobmemory_as_cpus(s->ctld->conf, s->first->rec, s->rec), true) &&
           check_priority(s) && check_limits(s) &&
           check_dependency(s, s->ctld->cluster->rec->next_job_id) && check_contents(s);
}

/* ---- the record ------------------------------------------------------------------------------ */

/* The accounting store may have purged what has not been submitted for an hour or more, and its
 * switch may be new: what it shall keep is logged again now and then. */
static bool log_again(struct ctld *ctld, const struct digest *name, int64_t time_us)
{
    struct blob_logged *at =
        &ctld->blobs_logged[digest_place(name) % ARRAY_SIZE(ctld->blobs_logged)];

    if (!(acctthread_keep(ctld->acct) & (ACCT_SCRIPT | ACCT_ENV)) ||
        (digest_equal(&at->name, name) && time_us - at->time_us < BLOB_AGAIN_US))
        return false;
    *at = (struct blob_logged){ *name, time_us };
    return true;
}

static void put_blob(struct ctld *ctld, Pst__Transaction *tx, const struct digest *name,
                     const void *data, size_t len)
{
    bool again = log_again(ctld, name, tx->time_us);

    if (again || !cluster_blob(ctld->cluster, name))
        tx_blob(tx, name, data, len);
}

static void put_contents(struct submission *s, Pst__Transaction *tx)
{
    const struct contents *c = s->contents;
    Pst__JobRecord *r = s->rec;

    if (c->has_script) {
        put_blob(s->ctld, tx, &c->script, s->req->script.data, s->req->script.len);
        tx_digest(&c->script, &r->has_script_digest, &r->script_digest);
    }
    if (c->env.len) {
        put_blob(s->ctld, tx, &c->env_name, c->env.buf, c->env.len);
        tx_digest(&c->env_name, &r->has_env_digest, &r->env_digest);
    }
}

/* The name service lists a user's own group first. */
static void set_group(const struct submission *s)
{
    Pst__JobRecord *r = s->rec;

    if (r->group_name || !s->cmd->group_name || s->req->has_gid)
        return;
    r->group_name = tx_strdup(s->cmd->group_name);
    r->group_name[strcspn(r->group_name, ",")] = '\0';
}

static void fill_identity(struct submission *s, uint32_t job_id)
{
    Pst__JobRecord *r = s->rec;
    int64_t now = core_now();
    const char *value;
    uint32_t least;
    size_t len;

    SET(r, job_id, job_id);
    SET(r, uid, s->cmd->uid);
    SET(r, gid, s->cmd->gid);
    if (!r->user_name && s->cmd->user_name)
        r->user_name = tx_strdup(s->cmd->user_name);
    set_group(s);
    SET(r, state, JOB_STATE(PENDING));
    SET(r, submit_us, now);
    if (!r->dependency && !job_is_held(r))
        SET(r, eligible_us, r->has_begin_us ? r->begin_us : now);
    if (conf_option(s->ctld->conf, CONF_SLURMCTLD_PARAMETERS, "enable_stepmgr", &value, &len))
        SET(r, stepmgr, true);
    if (!r->has_requeue)
        SET(r, requeue, conf_bool(s->ctld->conf, CONF_JOB_REQUEUE));
    if (!r->alloc_host && conn_peer(s->cmd->conn)->host[0])
        r->alloc_host = tx_strdup(conn_peer(s->cmd->conn)->host);
    if (r->n_argv == 1 && r->command && strcmp(r->argv[0], r->command) == 0)
        /* the script alone: `command` says it, a hundred bytes a job less */
        (void)pb_clear(&r->base, F_ARGV);
    if ((least = submit_least_nodes(s->ctld, s->first, r)))
        SET(r, least_nodes, least);
    if (r->array_tasks)
        SET(r, array_job_id, job_id);
    if (!r->name)
        r->name = tx_strdup("sbatch");
}

static void answer(struct submission *s, struct job *j, uint64_t lsn)
{
    const Pst__SubmitRequest *req = s->req;

    if (req->has_wait_alloc && req->wait_alloc) {
        owners_attach(s->ctld, j, conn_id(s->cmd->conn));
        wait_message(s->ctld,
                     wait_add(s->ctld, s->cmd, j, true, req->has_immediate_s ? req->immediate_s : 0,
                              req->step),
                     strbuf_str(&s->messages));
        wait_notify(s->ctld, j, lsn); /* the frame that tells the id */
    } else {
        Pst__SubmitReply reply = PST__SUBMIT_REPLY__INIT;

        SET(&reply, job_id, j->rec->job_id);
        reply.message = s->messages.buf;
        core_reply(s->ctld, s->cmd, lsn, 0, &reply.base);
    }
}

/* Record, blobs and id of one component, or of a job that is none. */
static void put_job(struct submission *s, Pst__Transaction *tx, uint32_t first)
{
    fill_identity(s, first + s->het_offset);
    if (s->het_count)
        het_fill(s->rec, first, s->het_offset, s->het_count);
    if (!s->het_offset) /* script, environment and limits are the leader's */
        put_contents(s, tx);
    (void)pb_clear(&s->rec->base, F_RLIMITS); /* a field there is */
    lifecycle_new_run(s->ctld, tx, s->rec);
    tx_job_put_take(tx, PST__EVENT_KIND__EV_JOB_SUBMIT, TAKE_PTR(s->rec));
}

/* All of n in one transaction; the first is the one that is answered. */
static void accept(struct submission *s, uint32_t n)
{
    struct ctld *ctld = s->ctld;
    uint32_t id = ctld->cluster->rec->next_job_id;
    Pst__Transaction *tx;
    Pst__ClusterRecord *c;
    uint64_t lsn;

    if (n > 1)
        id = het_ids(ctld, id, n);
    if (!id) {
        core_error(ctld, s->cmd, ESLURM_MAX_JOB_COUNT, NULL);
        return;
    }
    tx = tx_new(core_now());
    for (uint32_t k = 0; k < n; k++)
        put_job(&s[k], tx, id);
    c = tx_cluster(tx);
    SET(c, next_job_id, jobs_next_id(ctld, id + n - 1));
    SET(c, jobs_submitted, ctld->cluster->rec->jobs_submitted + n);
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        core_disk_full(ctld, s->cmd);
        return;
    }
    answer(s, cluster_job(ctld->cluster, id), lsn);
    depends_watch(ctld, cluster_job(ctld->cluster, id));
    depends_refresh(ctld, id); /* it may be settled already: never, or for some tasks */
}

static void refuse(struct submission *s)
{
    struct strbuf *text = &s->messages;

    if (text->len)
        strbuf_addc(text, '\n');
    if (s->hint && !s->text[0])
        strbuf_addf(text, "%s\n", s->hint);
    if (s->text[0])
        strbuf_add(text, s->text);
    else if (text->len)
        strbuf_add(text, slurm_err_text(s->code));
    core_error(s->ctld, s->cmd, s->code, text->len ? text->buf : NULL);
}

static void submission_done(struct submission *s)
{
    if (s->rec)
        pst__job_record__free_unpacked(s->rec, NULL);
    strbuf_done(&s->messages);
}

static bool submitter(struct submission *s)
{
    struct cmd *cmd = s->cmd;

    if (!s->req->has_uid && !s->req->has_gid)
        return true;
    if (conn_peer(cmd->conn)->uid != 0)
        return fail(s, ESLURM_ACCESS_DENIED);
    if (s->req->has_uid)
        cmd->uid = s->req->uid;
    if (s->req->has_gid)
        cmd->gid = s->req->gid;
    return true;
}

/* ---- heterogeneous --------------------------------------------------------------------------- */

static bool check_component(struct submission *s, const struct submission *first)
{
    keep_client_fields(s->rec, cmd_is_admin(s->ctld, s->cmd));
    if (s->het_offset) {
        /* cannot fail: it frees; the leader waits for all */
        (void)pb_set_str(&s->rec->dependency, NULL);
        if (s->rec->has_batch && s->rec->batch && !s->rec->work_dir && first->rec->work_dir)
            s->rec->work_dir = tx_strdup(first->rec->work_dir);
    }
    return check(s);
}

/* Every component is checked as a job of its own; the first that is refused refuses all. */
static void submit_het(struct submission *first, Pst__SubmitRequest *req)
{
    uint32_t n = (uint32_t)req->n_components + 1;
    struct submission *list = calloc(n, sizeof(*list)), *bad = NULL;

    if (!list || n > HET_COMPONENTS_MAX || (req->has_test_only && req->test_only)) {
        core_error(first->ctld, first->cmd, ESLURM_NOT_SUPPORTED,
                   list && n <= HET_COMPONENTS_MAX
                       ? "when a heterogeneous job would start cannot be foretold"
                       : "a job has at most 128 components");
        free(list);
        return;
    }
    for (uint32_t k = 0; k < n && !bad; k++) {
        Pst__HetComponent *c = k ? req->components[k - 1] : NULL;

        list[k] = *first;
        list[k].het_offset = k;
        list[k].het_count = n;
        if (c) {
            list[k].rec = TAKE_PTR(c->job);
            list[k].hold = c->has_hold && c->hold;
        } else {
            first->rec = NULL;
        }
        if (!list[k].rec)
            (void)fail(&list[k], EPST_BAD_REQUEST);
        if (!list[k].rec || !check_component(&list[k], &list[0])) {
            bad = &list[k];
        } else if (k && list[k].messages.len) { /* the first is the one that is answered */
            strbuf_addf(&list[0].messages, "%s%s", list[0].messages.len ? "\n" : "",
                        list[k].messages.buf);
        }
    }
    if (bad)
        refuse(bad);
    else
        accept(list, n);
    for (uint32_t k = 0; k < n; k++)
        submission_done(&list[k]);
    free(list);
}

/* The scheduler answers; with want_record the record comes with it, also when the job would not
 * start. */
static void test_only(struct ctld *ctld, struct cmd *cmd, Pst__JobRecord *rec, bool want_record)
{
    ProtobufCMessage *copy = NULL;

    if (!wait_may_ask(ctld, cmd))
        return;
    if (want_record && pb_dup(&rec->base, &copy) < 0)
        copy = NULL;
    feed_when(ctld, rec, wait_add_test(ctld, cmd, (Pst__JobRecord *)copy));
}

void op_job_submit(struct ctld *ctld, struct cmd *cmd)
{
    Pst__SubmitRequest *req = PB_AS(submit_request, cmd->msg);
    struct submission s = { .ctld = ctld, .cmd = cmd, .req = req };

    s.hold = req->has_hold && req->hold;
    s.rec = TAKE_PTR(req->job);
    if (!s.rec) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "the submission describes no job");
        return;
    }
    s.contents = cmd->contents;
    keep_client_fields(s.rec, cmd_is_admin(ctld, cmd));
    if (!submitter(&s)) {
        refuse(&s);
    } else if (req->n_components) {
        submit_het(&s, req);
    } else if (!check(&s)) {
        refuse(&s);
    } else if (req->has_test_only && req->test_only) {
        SET(s.rec, job_id, ctld->cluster->rec->next_job_id);
        SET(s.rec, submit_us, core_now());
        test_only(ctld, cmd, s.rec, req->has_want_record && req->want_record);
    } else {
        accept(&s, 1);
    }
    submission_done(&s);
}

/* ---- crontabs -------------------------------------------------------------------------------- */

int submit_cron_check(struct ctld *ctld, struct cmd *cmd, Pst__SubmitRequest *req,
                      struct contents *contents, const char *spec, struct submission **ret,
                      struct err *err)
{
    struct submission *s = calloc(1, sizeof(*s));
    int64_t next_us;

    if (!s)
        return SLURM_ERROR;
    *s = (struct submission){ .ctld = ctld,
                              .cmd = cmd,
                              .req = req,
                              .contents = contents,
                              .hold = req->has_hold && req->hold };
    s->rec = TAKE_PTR(req->job);
    keep_client_fields(s->rec, cmd_is_admin(ctld, cmd));
    SET(s->rec, batch, true);
    if (!check(s)) {
        int code = s->code;

        (void)err_set(err, code, "%s%s%s", s->hint && !s->text[0] ? s->hint : "",
                      s->hint && !s->text[0] ? ": " : "",
                      s->text[0] ? s->text : slurm_err_text(code));
        submit_cron_free(s);
        return code;
    }
    s->rec->cron_spec = tx_strdup(spec);
    next_us = cron_next_us(s->rec);
    if (next_us != INT64_MAX)
        SET(s->rec, begin_us, next_us);
    *ret = s;
    return 0;
}

void submit_cron_put(struct submission *s, Pst__Transaction *tx, uint32_t job_id)
{
    put_job(s, tx, job_id);
}

void submit_cron_free(struct submission *s)
{
    if (s)
        submission_done(s);
    free(s);
}

void op_job_wait(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__JobWaitRequest *req = PB_AS(job_wait_request, cmd->msg);
    struct job *j = cluster_job(ctld->cluster, req->job_id);

    if (!j) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (conn_peer(cmd->conn)->uid != j->rec->uid && !cmd_is_admin(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    if (req->has_attach && req->attach)
        owners_attach(ctld, j, conn_id(cmd->conn));
    (void)wait_add(ctld, cmd, j, req->has_until_started && req->until_started, 0, NULL);
    wait_notify(ctld, j, ctld->applied_lsn);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op submit_ops[] = {
    { OP_JOB_SUBMIT, .fn = op_job_submit, .flags = OPF_WRITES | OPF_CLOSES },
    { OP_JOB_WAIT, .fn = op_job_wait, .flags = OPF_CLOSES },
    { 0 }
};

const struct ctld_service submit_service = { .name = "submit", .ops = submit_ops };
