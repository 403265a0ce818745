/* submitparts.c - the partitions of a submission: which let the user in, which could run the job
 *
 * Updates of a job ask the same questions (jobfacts.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "ctld/job/jobfacts.h"
#include "ctld/submit/jobmemory.h"
#include "ctld/submit/partrules.h"
#include "ctld/submit/submission.h"
#include "ctld/policy/bootfeatures.h"
#include "ctld/policy/policy.h"
#include "ctld/policy/policy_tres.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/topology/topology.h"
#include "feed/params.h"
#include "sched/base/constraint.h"

#define SHOWN_AGAIN_MAX 64u /* names of partitions of a job, with those named again */

bool submit_group_allowed(const char *allow, const char *groups)
{
    for (const char *p = groups; p && *p;) {
        size_t n = strcspn(p, ",");
        char name[256];

        if (n < sizeof(name)) {
            memcpy(name, p, n);
            name[n] = '\0';
            if (wordlist_has_nocase(allow, name))
                return true;
        }
        p += n + (p[n] == ',');
    }
    return false;
}

static bool is_host(const char *listed, const char *host)
{
    size_t len = strcspn(host, ".");

    return strcmp(listed, host) == 0 || (strlen(listed) == len && strncmp(listed, host, len) == 0);
}

/* AllocNodes: hosts from which requests may come, with or without their domain.  The host is that
 * of the connection: what a record says was written by its sender. */
static bool host_allowed(const char *allow, const struct cmd *cmd)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    const char *host = cmd->conn ? conn_peer(cmd->conn)->host : NULL;

    if (!host || !*host) /* the controller's own: cron jobs */
        return !cmd->conn;
    if (hostlist_parse(allow, &hl, NULL) < 0)
        return false;
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (is_host(hostlist_nth(hl, i), host))
            return true;
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
        return ESLURM_USER_ID_MISSING;
    if (r->has_req_resv && r->req_resv && !job->reservation)
        return ESLURM_ACCESS_DENIED;
    if (r->allow_groups && !admin && !submit_group_allowed(r->allow_groups, cmd->group_name))
        return ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP;
    if (r->alloc_nodes && *r->alloc_nodes && !host_allowed(r->alloc_nodes, cmd))
        return ESLURM_ACCESS_DENIED;
    return policy_partition(ctld, r, job);
}

/* TopoMaxSizeUnroll: where blocks are the cluster's topology and the partition's, each size of a
 * range of nodes is tried; a range that is too wide for that is refused. */
static bool range_too_wide(const struct ctld *ctld, const struct partition *p,
                           const Pst__JobRecord *r)
{
    const struct topologies *all = topology_now(ctld);
    const struct topo *own = all ? topologies_named(all, p->rec->topology) : NULL,
                      *first = all ? topologies_named(all, NULL) : NULL;
    uint32_t least = MAX(r->min_nodes, 1u);
    int64_t n;

    return r->has_max_nodes && r->max_nodes > least && !r->node_counts && own && first &&
           topo_get_spec(own)->kind == TOPO_BLOCK && topo_get_spec(first)->kind == TOPO_BLOCK &&
           conf_option_i64(ctld->conf, CONF_TOPOLOGY_PARAM, "TopoMaxSizeUnroll", &n) && n > 0 &&
           r->max_nodes - least >= n;
}

static bool is_forgiven(const struct ctld *ctld, const char *option, const char *expr)
{
    _cleanup_(constraint_free) struct constraint *f = NULL;

    return expr && *expr &&
           conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, option, NULL, NULL) &&
           constraint_parse(expr, &f, NULL) == 0 &&
           !feasible_features_known(ctld->feasible, ctld->cluster, expr);
}

/* Features that no node has are no mistake where the site says that nodes with them may come.
 * Shallow. */
static Pst__JobRecord forgive_features(const struct ctld *ctld, const Pst__JobRecord *r)
{
    Pst__JobRecord as = *r;

    if (is_forgiven(ctld, "ignore_constraint_validation", r->features))
        as.features = NULL;
    if (is_forgiven(ctld, "ignore_prefer_validation", r->prefer))
        as.prefer = NULL;
    return as;
}

static bool memory_counts(const struct ctld *ctld, const struct partition *p)
{
    return feed_memory_counts(ctld->conf, p ? p->rec->select_type_parameters : NULL);
}

int submit_feasible(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *asked,
                    bool *ret_later, const char **ret_hint)
{
    const Pst__JobRecord forgiven = forgive_features(ctld, asked), *r = &forgiven;
    int code = bootfeatures_contradict(ctld, r) ? ESLURM_INVALID_FEATURE
               : range_too_wide(ctld, p, r)     ? ESLURM_INVALID_NODE_COUNT
                                            : feasible_check(ctld->feasible, ctld->cluster, p, r,
                                                             memory_counts(ctld, p), ret_hint);

    *ret_later = code == ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE &&
                 partrules_enforced(ctld->conf) == PART_ENFORCE_NO;
    return *ret_later ? 0 : code;
}

static bool submit_placeable(const struct ctld *ctld, const struct partition *p,
                             const Pst__JobRecord *r)
{
    const Pst__JobRecord forgiven = forgive_features(ctld, r);

    return feasible_exactly(ctld->feasible, ctld, p, &forgiven, memory_counts(ctld, p));
}

uint32_t submit_least_nodes(const struct ctld *ctld, const struct partition *p,
                            const Pst__JobRecord *r)
{
    uint32_t least =
        r->has_num_tasks && r->num_tasks > 1 && p
            ? feasible_nodes(ctld->feasible, ctld->cluster, p, r, memory_counts(ctld, p))
            : 0;

    if (r->tres_per_job && p) {
        uint32_t devices = feasible_gres_nodes(ctld->feasible, ctld->cluster, p, r->tres_per_job);

        least = MAX(least, devices);
    }
    return least > (r->has_min_nodes ? r->min_nodes : 1) ? least : 0;
}

bool submit_may_wait_outside(const struct ctld *ctld, int code)
{
    return partrules_enforced(ctld->conf) == PART_ENFORCE_NO &&
           (code == ESLURM_INVALID_ACCOUNT || code == ESLURM_INVALID_QOS ||
            code == ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP);
}

static bool asks_only(const struct submission *s)
{
    return s->req->has_test_only && s->req->test_only;
}

/* Of a partition without any node: an allocation that is wanted at once is not worth a wait. */
static bool may_wait_for_nodes(const struct submission *s)
{
    return !asks_only(s) && !s->req->has_immediate_s;
}

/* A job with more time than p gives waits for another limit; what its nodes lack is told then. */
static bool waits_for_limit(const struct submission *s, const struct partition *p)
{
    return may_wait_for_nodes(s) && partrules_enforced(s->ctld->conf) == PART_ENFORCE_NO &&
           partrules_check(s->ctld, p, s->rec) == ESLURM_INVALID_TIME_LIMIT;
}

/* Does the job keep p's limits, where these are enforced, and could it run in p as it is
 * configured?  0 or an ESLURM code. */
static int check_fit(struct submission *s, const struct partition *p, const char **ret_hint)
{
    struct ctld *ctld = s->ctld;
    bool later = false, enforced = partrules_enforced(ctld->conf) != PART_ENFORCE_NO;
    int code = enforced ? partrules_check(ctld, p, s->rec) : 0;
    Pst__JobRecord as = *s->rec; /* shallow */

    if (code != 0)
        return code;
    jobmemory_as_cpus(ctld->conf, p->rec, policy_whole_memory(ctld->cluster, p, &as), &as);
    code = submit_feasible(ctld, p, &as, &later, ret_hint);
    if (later && asks_only(s))
        code = ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE; /* there is no start to tell */
    s->later = s->later || later;
    if (code == 0 && !later && !submit_placeable(ctld, p, &as))
        code = feasible_code(ctld->feasible);
    if ((code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE ||
         code == ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE) &&
        !later && (s->hold || waits_for_limit(s, p)))
        code = 0; /* nodes may change until it is released, or keeps the limit */
    if (code != 0 && !enforced && bitmap_empty(p->nodes) && may_wait_for_nodes(s))
        code = 0; /* it gets nodes later */
    return code;
}

/* Alternate= stands in for a partition that takes no jobs. */
static struct partition *stand_in(const struct ctld *ctld, struct partition *p)
{
    const Pst__PartitionRecord *r = p->rec;
    struct partition *other = NULL;

    if (r->alternate && (r->state == PST__PARTITION_STATE__PART_INACTIVE ||
                         r->state == PST__PARTITION_STATE__PART_DRAIN))
        other = cluster_partition(ctld->cluster, r->alternate);
    return other ? other : p;
}

/* The partitions of a submission, as they are looked at one by one. */
struct part_choice {
    struct strbuf kept, outside; /* those that let the user in; those that may do so later */
    struct partition *first_outside;
    bool possible;     /* it could run in one of kept */
    int worst;         /* what is against the first one that it cannot run in */
    const char *hint;  /* ... in more words */
    size_t listed;     /* names in kept and outside */
    struct idmap seen; /* struct partition * -> the list that its name is in; none: this map */
};

static void list_partition(struct part_choice *c, struct strbuf *list, const struct partition *p)
{
    strbuf_addf(list, "%s%s", list->len ? "," : "", p->rec->name);
    c->listed++;
}

static void consider_partition(struct submission *s, struct partition *p, struct part_choice *c)
{
    const char *hint = NULL;
    int code = submit_lets_in(s->ctld, s->cmd, p, s->rec);
    bool outside = submit_may_wait_outside(s->ctld, code) && !asks_only(s);
    struct strbuf *list = outside ? &c->outside : &c->kept;

    /* out of memory: it is looked at again when it is named again */
    (void)idmap_put(&c->seen, (uintptr_t)p, code == 0 || outside ? (void *)list : &c->seen);
    if (code == 0 || outside) {
        list_partition(c, list, p);
        if (!outside && !s->first)
            s->first = p;
        code = check_fit(s, p, &hint);
    }
    if (code == 0 && outside && !c->first_outside)
        c->first_outside = p;
    else if (code == 0 && !outside)
        c->possible = true;
    else if (code != 0 && !c->worst) {
        c->worst = code;
        c->hint = hint;
    }
}

/* A partition that is named again is shown again, as it was asked for.  It is not looked at again:
 * the scheduler takes it once.  A list that is long already stays as it is. */
static bool named_again(struct part_choice *c, const struct partition *p)
{
    void *list = idmap_get(&c->seen, (uintptr_t)p);

    if (list && list != &c->seen && c->listed < SHOWN_AGAIN_MAX)
        list_partition(c, list, p);
    return list != NULL;
}

/* The default partition is that of a job that names none. */
static bool settle_default(struct submission *s)
{
    struct partition *p;

    if (s->rec->partition && s->rec->partition[strspn(s->rec->partition, ",")])
        return true;
    p = cluster_default_partition(s->ctld->cluster);
    if (!p)
        return submission_fail(s, ESLURM_DEFAULT_PARTITION_NOT_SET);
    return pb_set_str(&s->rec->partition, p->rec->name) == 0 || submission_fail(s, SLURM_ERROR);
}

static bool consider_all(struct submission *s, struct part_choice *c)
{
    _cleanup_free_ char *copy = strdup(s->rec->partition);
    char *save = NULL;
    bool known = true;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w && known;
         w = strtok_r(NULL, ",", &save)) {
        struct partition *p = cluster_partition(s->ctld->cluster, w);

        known = p != NULL;
        if (!p)
            (void)snprintf(s->text, sizeof(s->text), "invalid partition specified: %s\n%s", w,
                           slurm_err_text(ESLURM_INVALID_PARTITION_NAME));
        else if (!named_again(c, p = stand_in(s->ctld, p)))
            consider_partition(s, p, c);
    }
    idmap_done(&c->seen);
    return known || submission_fail(s, ESLURM_INVALID_PARTITION_NAME);
}

/* Every partition named exists, and the job could run in at least one; those that do not let the
 * user in are taken off the list, unless it has no other. */
bool submission_check_partitions(struct submission *s)
{
    struct part_choice c = { .kept = STRBUF_INIT, .outside = STRBUF_INIT };
    bool all = partrules_enforced(s->ctld->conf) == PART_ENFORCE_ALL;
    bool waits, good = settle_default(s) && consider_all(s, &c);

    if (all && c.worst)
        c.possible = false; /* each must hold */
    waits = !c.possible && c.first_outside;
    if (waits) {
        s->first = c.first_outside;
        s->later = true;
    } else if (good && !c.possible) {
        int account = s->first ? policy_resolve(s->ctld, s->cmd->user_name, s->first, s->rec) : 0;

        s->hint = account ? NULL : c.hint; /* a wrong account is told before what does not fit */
        good = submission_fail(s, account   ? account
                                  : c.worst ? c.worst
                                            : ESLURM_INVALID_PARTITION_NAME);
    }
    if (good)
        good = pb_set_str(&s->rec->partition, strbuf_str(waits ? &c.outside : &c.kept)) == 0 ||
               submission_fail(s, SLURM_ERROR);
    strbuf_done(&c.kept);
    strbuf_done(&c.outside);
    return good;
}
