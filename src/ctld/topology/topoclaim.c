/* topoclaim.c - see topoclaim.h */
#include "ctld/topology/topoclaim.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/safetext.h"
#include "ctld/core/commit.h"
#include "ctld/core/noderecord.h"
#include "ctld/topology/topology.h"
#include "fields.h"

#define REASON_BEGIN "Failed to set topology '"

int topoclaim_new(struct ctld *ctld, Pst__NodeRecord *r, const struct conf_node *line)
{
    struct err err = { .text = "" };
    char *full;

    if (!line->topology)
        return 0;
    if (topology_join(ctld, r->node_id, line->topology, &full, &err) < 0) {
        log_info("node %s: Topology=%.128s is refused: %s", line->name, line->topology, err.text);
        return ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE;
    }
    r->topology = full;
    r->topology_config = tx_strdup(line->topology);
    return 0;
}

/* It said something before, and does not any more. */
static void take_back(Pst__Transaction *tx, const Pst__NodeRecord *old, Pst__NodeRecord *set)
{
    tx_clear(tx, NODE_F_TOPOLOGY_SAID);
    if (old->topology_config && *old->topology_config)
        (void)pb_set_str(&set->topology, old->topology_config); /* -ENOMEM: as it was */
    else if (old->topology)
        tx_clear(tx, NODE_F_TOPOLOGY);
}

static void tell_refused(const struct ctld *ctld, const Pst__NodeRecord *old, const char *place,
                         Pst__NodeRecord *set)
{
    char text[200];

    (void)snprintf(text, sizeof(text), REASON_BEGIN "%.128s'", place);
    (void)pb_set_str(&set->reason, text); /* -ENOMEM: the log says it */
    SET(set, reason_us, core_now());
    SET(set, reason_uid, conf_slurm_uid(ctld->conf));
    log_error("node %s: %s", old->name, text);
}

static enum topoclaim_reason reason_of(const Pst__NodeRecord *old)
{
    return old->reason && strncmp(old->reason, REASON_BEGIN, strlen(REASON_BEGIN)) == 0
               ? TOPOCLAIM_GOES
               : TOPOCLAIM_AS_IS;
}

enum topoclaim_reason topoclaim_register(struct ctld *ctld, Pst__Transaction *tx,
                                         const Pst__NodeRecord *old, const char *place,
                                         Pst__NodeRecord *set)
{
    struct err err = { .text = "" };
    char *full;

    if (!noderecord_is_dynamic(old) && !(old->state_flags & NODE_FLAG_BIT(CLOUD)))
        return TOPOCLAIM_AS_IS;
    if (place && !safetext_is_line(place)) {
        log_error("node %s: what it says of its place is refused: it is not one line of text",
                  old->name);
        return reason_of(old); /* as if it had said nothing new */
    }
    if (!place) {
        if (old->topology_said)
            take_back(tx, old, set);
        return reason_of(old);
    }
    if (old->topology_said && strcmp(old->topology_said, place) == 0)
        return reason_of(old);
    if (topology_join(ctld, old->node_id, place, &full, &err) < 0) {
        log_info("node %s: %s", old->name, err.text);
        tell_refused(ctld, old, place, set);
        return TOPOCLAIM_STAYS;
    }
    set->topology = full;
    set->topology_said = tx_strdup(place);
    return reason_of(old);
}

void topoclaim_powered_down(Pst__Transaction *tx, const Pst__NodeRecord *old, Pst__NodeRecord *set)
{
    const char *conf = old->topology_config && *old->topology_config ? old->topology_config : NULL;

    if (old->topology_said)
        tx_clear(tx, NODE_F_TOPOLOGY_SAID);
    if (conf && (!old->topology || strcmp(conf, old->topology) != 0))
        (void)pb_set_str(&set->topology, conf); /* -ENOMEM: as it was */
    else if (!conf && old->topology)
        tx_clear(tx, NODE_F_TOPOLOGY);
}
