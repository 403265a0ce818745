/* op_part.c - op part-update: partitions made, changed and removed by operators */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/core/service.h"
#include "ctld/job/jobfacts.h"
#include "fields.h"
#include "fieldtable.h"

static int part_nodes_known(const struct ctld *ctld, const char *list)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_parse(list, &hl, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (!cluster_node_named(ctld->cluster, hostlist_nth(hl, i)))
            return ESLURM_INVALID_NODE_NAME;
    return 0;
}

static char *all_nodes(const struct ctld *ctld)
{
    const char **names = calloc(ctld->cluster->nnodes + 1, sizeof(*names));
    size_t n = 0;
    char *text = NULL;

    for (uint32_t i = 0; names && i < ctld->cluster->nnodes; i++)
        if (ctld->cluster->nodes[i])
            names[n++] = ctld->cluster->nodes[i]->rec->name;
    if (names && hostlist_fold_names(names, n, &text) < 0)
        text = NULL;
    free(names);
    return text;
}

/* Drops what a request may not set, and fields that the schema does not know. */
static void keep_part_fields(Pst__PartitionRecord *set)
{
    const struct fieldtable *t = &partition_record_fields;

    while (set->base.n_unknown_fields)
        (void)pb_clear(&set->base, set->base.unknown_fields[0].tag);
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].update == FIELD_UPDATE_NEVER && t->rows[i].number != PART_F_NAME)
            (void)pb_clear(&set->base, t->rows[i].number); /* each row names a field */
}

/* The transaction for a request, or an ESLURM code. */
static int part_tx(struct ctld *ctld, const Pst__PartUpdateRequest *req, Pst__Transaction *tx)
{
    const struct partition *p = req->name ? cluster_partition(ctld->cluster, req->name) : NULL;
    bool create = req->has_create && req->create, remove = req->has_remove && req->remove;
    Pst__PartitionRecord *set;

    if (!req->name || !*req->name || (create ? p || remove : !p))
        return ESLURM_INVALID_PARTITION_NAME;
    if (remove) {
        void *v;

        for (size_t pos = 0; (v = idmap_next(&ctld->cluster->jobs, &pos));)
            if (!job_is_ended(((struct job *)v)->rec) &&
                jobs_in_partition(((struct job *)v)->rec, req->name))
                return ESLURM_PARTITION_IN_USE;
        tx_part_remove(tx, req->name);
        return 0;
    }
    if (create) {
        set = tx_part_put(tx, PST__EVENT_KIND__EV_PART_UPDATE);
        SET(set, state, PST__PARTITION_STATE__PART_UP);
        SET(set, priority_tier, 1);
        SET(set, priority_job_factor, 1);
        set->nodes = tx_strdup("");
    } else {
        set = tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, req->name);
    }
    if (req->set && pb_merge(&set->base, &req->set->base) < 0)
        return SLURM_ERROR;
    (void)pb_set_str(&set->name, req->name); /* -ENOMEM: seen when it is applied */
    if (set->nodes && strcasecmp(set->nodes, "ALL") == 0) {
        free(set->nodes);
        set->nodes = all_nodes(ctld);
    }
    keep_part_fields(set);
    for (size_t i = 0; !create && i < req->n_clear; i++) {
        const struct field_row *row = field_row(&partition_record_fields, req->clear[i]);

        if (!row || row->update == FIELD_UPDATE_NEVER || row->clear == FIELD_CLEAR_NEVER)
            return ESLURM_NOT_SUPPORTED;
        tx_clear(tx, req->clear[i]);
    }
    return set->nodes ? part_nodes_known(ctld, set->nodes) : 0;
}

static void op_part_update(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__PartUpdateRequest *req = PB_AS(part_update_request, cmd->msg);
    Pst__Transaction *tx = tx_new(core_now());
    int code = part_tx(ctld, req, tx);
    uint64_t lsn;

    if (code == 0 && req->set && req->set->has_is_default && req->set->is_default) {
        struct partition *old = cluster_default_partition(ctld->cluster);

        if (old && strcmp(old->rec->name, req->name) != 0)
            SET(tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, old->rec->name), is_default,
                false);
    }
    if (code != 0) {
        tx_free(tx);
        core_error(ctld, cmd, code, NULL);
        return;
    }
    lsn = core_commit(ctld, tx);
    if (lsn)
        core_ok(ctld, cmd, lsn);
    else
        core_disk_full(ctld, cmd);
}

static const struct ctld_op partops_ops[] = {
    { OP_PART_UPDATE, .fn = op_part_update, .flags = OPF_WRITES },
    { 0 },
};

const struct ctld_service partops_service = { .name = "partops", .ops = partops_ops };
