/* submitparts.c - the partitions of a submission: which let the user in, which could run the job
 *
 * Updates of a job ask the same questions (jobfacts.h). */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "ctld/job/jobfacts.h"
#include "ctld/submit/submission.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/feasible.h"

static bool group_allowed(const char *allow, const char *groups)
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

static bool submit_placeable(const struct ctld *ctld, const struct partition *p,
                             const Pst__JobRecord *r)
{
    const char *select = conf_str(ctld->conf, CONF_SELECT_TYPE_PARAMETERS);

    return feasible_exactly(ctld->feasible, ctld, p, r, select && strcasestr(select, "Memory"));
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
bool submission_check_partitions(struct submission *s)
{
    struct ctld *ctld = s->ctld;
    _cleanup_val_(strbuf_done) struct strbuf kept = STRBUF_INIT;
    _cleanup_free_ char *copy = NULL;
    struct idmap seen = { 0 };
    char *save = NULL;
    int worst = 0;
    bool possible = false, later;

    if (!s->rec->partition || !s->rec->partition[strspn(s->rec->partition, ",")]) {
        struct partition *p = cluster_default_partition(ctld->cluster);

        if (!p)
            return submission_fail(s, ESLURM_DEFAULT_PARTITION_NOT_SET);
        if (pb_set_str(&s->rec->partition, p->rec->name) < 0)
            return submission_fail(s, SLURM_ERROR);
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
            return submission_fail(s, ESLURM_INVALID_PARTITION_NAME);
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
            s->later = s->later || later;
            if (code == 0 && !later && !submit_placeable(ctld, p, s->rec))
                code = ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE;
            if (code == ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE && s->hold && !later)
                code = 0; /* nodes may change until it is released */
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
        return submission_fail(s, worst ? worst : ESLURM_INVALID_PARTITION_NAME);
    return pb_set_str(&s->rec->partition, strbuf_str(&kept)) == 0 ||
           submission_fail(s, SLURM_ERROR);
}
