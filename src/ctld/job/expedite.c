/* expedite.c - expedited requeue; see expedite.h */
#include "ctld/job/expedite.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/must.h"
#include "ctld/core/service.h"
#include "ctld/job/lifecycle.h"
#include "feed/records.h"
#include "fields.h"

bool expedite_is_enabled(const struct ctld *ctld)
{
    return conf_option(ctld->conf, CONF_SLURMCTLD_PARAMETERS, "enable_expedited_requeue", NULL,
                       NULL);
}

bool expedite_is_asked(const struct ctld *ctld, const Pst__JobRecord *r)
{
    return r->has_expedited && r->expedited && expedite_is_enabled(ctld);
}

bool expedite_begins(const struct ctld *ctld, const Pst__JobRecord *r, const struct job_end *end)
{
    return end->requeue && !end->requeue_hold && expedite_is_asked(ctld, r) &&
           (end->state == JOB_STATE(NODE_FAIL) || end->expedite);
}

bool expedite_goes_on(const Pst__JobRecord *r)
{
    return job_has_flag(r, JOB_FLAG(EXPEDITING)) && r->has_hardware_failed && r->hardware_failed;
}

bool expedite_is_over(const Pst__JobRecord *r)
{
    return job_has_flag(r, JOB_FLAG(EXPEDITING)) && !expedite_goes_on(r);
}

void expedite_note_failure(struct ctld *ctld, struct job *j)
{
    Pst__Transaction *tx;

    if (!expedite_is_over(j->rec))
        return;
    tx = tx_new(core_now());
    SET(tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), hardware_failed, true);
    (void)core_commit(ctld, tx); /* disk full: the node says so again */
}

char *expedite_healthy_nodes(struct ctld *ctld, const Pst__JobRecord *r)
{
    size_t count = r->alloc ? r->alloc->n_node_ids : 0, n = 0;
    _cleanup_free_ const char **names = must(calloc(count + 1, sizeof(*names)));
    char *text = NULL;

    for (size_t i = 0; i < count; i++) {
        const struct node *node = cluster_node(ctld->cluster, r->alloc->node_ids[i]);

        if (node && node->rec->state == PST__NODE_STATE__NODE_IDLE && feed_node_usable(node->rec) &&
            node_is_linked(ctld, node))
            names[n++] = node->rec->name;
    }
    if (n && hostlist_fold_names(names, n, &text) < 0)
        must(NULL);
    return text;
}
