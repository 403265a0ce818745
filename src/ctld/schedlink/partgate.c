/* partgate.c - partitions that keep a waiting job out; see partgate.h */
#include "ctld/schedlink/partgate.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/rights.h"
#include "ctld/front/view.h"
#include "ctld/job/jobfacts.h"
#include "ctld/policy/policy.h"
#include "wire/errors.h"

static int gate_code(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r)
{
    const Pst__PartitionRecord *rec = p->rec;

    if (rec->has_root_only && rec->root_only && !core_is_admin(ctld, r->uid))
        return ESLURM_ACCESS_DENIED;
    if (rec->has_req_resv && rec->req_resv && !r->reservation)
        return ESLURM_ACCESS_DENIED;
    if (rec->allow_groups && r->groups && !core_is_admin(ctld, r->uid) &&
        !submit_group_allowed(rec->allow_groups, r->groups))
        return ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP;
    return policy_partition(ctld, rec, r);
}

bool partgate_shut(const struct ctld *ctld, const struct partition *p, const Pst__JobRecord *r)
{
    return gate_code(ctld, p, r) != 0;
}

bool partgate_none(const struct ctld *ctld)
{
    for (size_t i = 0; i < ctld->cluster->nparts; i++) {
        const Pst__PartitionRecord *r = ctld->cluster->parts[i]->rec;

        if ((r->has_root_only && r->root_only) || (r->has_req_resv && r->req_resv) ||
            r->allow_groups || r->allow_accounts || r->deny_accounts || r->allow_qos || r->deny_qos)
            return false;
    }
    return true;
}

/* The partition of the first name of list, which moves behind it. */
static struct partition *next_partition(const struct ctld *ctld, const char **list)
{
    size_t n = strcspn(*list, ",");
    _cleanup_free_ char *name = must(strndup(*list, n)); /* else a shut partition stood open */

    *list += n + ((*list)[n] == ',');
    return cluster_partition(ctld->cluster, name);
}

bool partgate_any(const struct ctld *ctld, const Pst__JobRecord *r)
{
    for (const char *list = r->partition ? r->partition : ""; *list;) {
        const struct partition *p = next_partition(ctld, &list);

        if (p && partgate_shut(ctld, p, r))
            return true;
    }
    return false;
}

size_t partgate_filter(const struct ctld *ctld, const Pst__JobRecord *r, const char **names,
                       size_t n)
{
    size_t kept = 0;

    for (size_t i = 0; i < n; i++) {
        const struct partition *p = cluster_partition(ctld->cluster, names[i]);

        if (!p || !partgate_shut(ctld, p, r))
            names[kept++] = names[i];
    }
    return kept;
}

/* What the first partition has against the user or the QOS, in words; NULL when it is something
 * else. */
static char *shut_text(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const char *list = r->partition ? r->partition : "";
    const struct partition *p = next_partition(ctld, &list);
    const char *qos = r->qos ? r->qos : "(null)";
    char *text = NULL;
    int code = p ? gate_code(ctld, p, r) : 0, n;

    if (code == ESLURM_JOB_MISSING_REQUIRED_PARTITION_GROUP)
        n = asprintf(&text,
                     "uid %u not in group permitted to use this partition (%s). groups allowed: %s",
                     r->uid, p->rec->name, p->rec->allow_groups);
    else if (code != ESLURM_INVALID_QOS)
        return NULL;
    else if (p->rec->allow_qos)
        n = asprintf(&text, "Job's QOS not permitted to use this partition (%s allows %s not %s)",
                     p->rec->name, p->rec->allow_qos, qos);
    else
        n = asprintf(&text, "Job's QOS not permitted to use this partition (%s denies %s)",
                     p->rec->name, qos);
    return n < 0 ? NULL : text;
}

void partgate_note(struct ctld *ctld, struct job *j)
{
    _cleanup_free_ char *text = shut_text(ctld, j->rec);

    SET(j->rec, pend_reason, PST__JOB_REASON__REASON_PARTITION_CONFIG);
    (void)pb_set_str(&j->rec->pend_text, text); /* -ENOMEM: the word stands alone */
    views_mark_job(ctld->views, j);
}

void partgate_forget(struct job *j)
{
    (void)pb_set_str(&j->rec->pend_text, NULL);
}
