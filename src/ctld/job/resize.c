/* resize.c - running jobs that give nodes or memory back; see resize.h.
 *
 * The allocation is replaced by a part of itself in one patch: what goes is free from that instant.
 * The nodes that go are told to end what they have of the job; what they report of its steps counts
 * as always, and that they are clean is not waited for.  Core thread. */
#include "ctld/job/resize.h"
#include "ctld/core/service.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "ctld/job/nodefeatures.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/lifecycle.h"
#include "ctld/job/allocrecord.h"
#include "feed/layerhold.h"
#include "ctld/job/prologs.h"
#include "fields.h"

/* ---- which nodes stay ------------------------------------------------------------------------ */

/* The first n of the allocation: the batch host is the first. */
static int keep_first(const Pst__Alloc *a, const Pst__JobRecord *set, struct bitmap *keep)
{
    uint32_t n = set->has_max_nodes && set->max_nodes ? set->max_nodes : set->min_nodes;

    if (n > a->n_node_ids)
        return ESLURM_NOT_SUPPORTED; /* running jobs do not grow */
    if (!n)
        return ESLURM_INVALID_NODE_COUNT;
    bitmap_set_range(keep, 0, n);
    return 0;
}

static int keep_named(struct ctld *ctld, const Pst__Alloc *a, const char *list, struct bitmap *keep)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_parse_most(list, HOSTLIST_MAX_NODES, &hl, NULL) < 0 || !hostlist_count(hl))
        return ESLURM_INVALID_NODE_NAME;
    hostlist_uniq(hl);
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));
        long pos = n ? alloc_position(a, n->rec->node_id) : -1;

        if (!n)
            return ESLURM_INVALID_NODE_NAME;
        if (pos < 0)
            return ESLURM_INVALID_NODE_NAME; /* running jobs do not grow */
        bitmap_set(keep, (uint32_t)pos);
    }
    return 0;
}

/* ---- what is left of the allocation ---------------------------------------------------------- */

static void add_group(Pst__Alloc *out, const Pst__AllocGroup *from)
{
    ProtobufCMessage *copy;

    if (pb_dup(&from->base, &copy) < 0)
        (void)must(NULL);
    out->groups[out->n_groups] = (Pst__AllocGroup *)copy;
    SET(out->groups[out->n_groups], nodes, 0);
    out->n_groups++;
}

static Pst__Alloc *alloc_part(const struct cluster *c, const Pst__Alloc *a,
                              const struct bitmap *keep)
{
    Pst__Alloc *out = must(malloc(sizeof(*out)));
    uint32_t count = bitmap_count(keep), cpus = 0;
    const Pst__AllocGroup *last = NULL;
    _cleanup_free_ const char **names = must(calloc(count + 1, sizeof(*names)));
    size_t n = 0;

    pst__alloc__init(out);
    out->node_ids = must(calloc(count + 1, sizeof(*out->node_ids)));
    out->groups = must(calloc(a->n_groups + 1, sizeof(*out->groups)));
    BITMAP_FOREACH (keep, i) {
        const struct node *node = cluster_node(c, a->node_ids[i]);
        const Pst__AllocGroup *g = alloc_group(a, i);

        if (g != last)
            add_group(out, g);
        last = g;
        out->groups[out->n_groups - 1]->nodes++;
        cpus += g->cpus;
        out->node_ids[out->n_node_ids++] = a->node_ids[i];
        if (node)
            names[n++] = node->rec->name;
    }
    if (hostlist_fold_names(names, n, &out->nodes) < 0)
        (void)must(NULL);
    SET(out, total_cpus, cpus);
    return out;
}

/* ---- the change ------------------------------------------------------------------------------ */

/* Nodes that go end what they have of the job, which they know under its old allocation. */
static void tell_leaving(struct ctld *ctld, const struct job *j, Pst__Alloc *old,
                         const struct bitmap *keep, uint64_t lsn)
{
    Pst__JobRecord before = *j->rec; /* shallow */
    struct job as_it_was = { .rec = &before };

    before.alloc = old;
    for (uint32_t i = 0; i < old->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, old->node_ids[i]);

        if (n && !bitmap_test(keep, i))
            launch_terminate(ctld, &as_it_was, n, i, lsn, "DUE TO JOB RESIZE");
    }
}

static int shrink_job(struct ctld *ctld, struct job *j, const struct bitmap *keep,
                      uint64_t *ret_lsn)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    ProtobufCMessage *old;
    const struct node *host;
    uint32_t id = j->rec->job_id;
    uint64_t lsn;

    if (pb_dup(&j->rec->alloc->base, &old) < 0)
        (void)must(NULL);
    set->alloc = alloc_part(ctld->cluster, j->rec->alloc, keep);
    if (j->rec->layers_alloc) { /* of some it was charged for each node */
        char *alloc = NULL;

        layers_held(ctld->cluster, ctld->resources, j->rec->licenses_alloc, true, set->alloc,
                    j->rec->layers_alloc, &alloc, &set->layers_alloc);
        free(alloc); /* the same */
        if (!set->layers_alloc)
            tx_clear(tx, JOB_F_LAYERS_ALLOC);
    }
    alloc_bill(ctld, j->rec->partition, j->rec->licenses_alloc, set);
    if (j->rec->has_billing && !set->has_billing)
        tx_clear(tx, JOB_F_BILLING);
    host = cluster_node(ctld->cluster, set->alloc->node_ids[nodes_script_position(
                                           ctld->cluster, j->rec->batch_features, set->alloc)]);
    if (host && pb_set_str(&set->batch_host, host->rec->name) < 0)
        (void)must(NULL);
    lifecycle_new_part(ctld, tx, j, set);
    lsn = core_commit(ctld, tx);
    if (lsn) {
        j = cluster_job(ctld->cluster, id);
        tell_leaving(ctld, j, (Pst__Alloc *)old, keep, lsn);
        prologs_resized(ctld, j, lsn);
        services_job_resized(ctld, j);
    }
    protobuf_c_message_free_unpacked(old, NULL);
    *ret_lsn = lsn;
    return lsn ? 0 : EPST_DISK_FULL;
}

uint64_t resize_memory_held(const Pst__JobRecord *r)
{
    uint64_t most = 0;

    for (size_t i = 0; r->alloc && i < r->alloc->n_groups; i++)
        most = MAX(most, r->alloc->groups[i]->mem_mib);
    return most;
}

/* Every node of set, a copy of what the job holds, has mib at most. */
static void lower_memory(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                         Pst__JobRecord *set, uint64_t mib)
{
    for (size_t i = 0; i < set->alloc->n_groups; i++)
        if (set->alloc->groups[i]->mem_mib > mib)
            SET(set->alloc->groups[i], mem_mib, mib);
    SET(set, mem_per_node_mib, mib);
    if (j->rec->has_mem_per_cpu_mib)
        tx_clear(tx, JOB_F_MEM_PER_CPU_MIB);
    alloc_bill(ctld, j->rec->partition, j->rec->licenses_alloc, set);
    if (j->rec->has_billing && !set->has_billing)
        tx_clear(tx, JOB_F_BILLING);
    lifecycle_new_part(ctld, tx, j, set);
}

/* Commit the job's lower memory and tell those that go by it. */
static uint64_t commit_memory(struct ctld *ctld, Pst__Transaction *tx, uint32_t job_id)
{
    uint64_t lsn = core_commit(ctld, tx);
    struct job *j = cluster_job(ctld->cluster, job_id);

    if (!lsn)
        return 0;
    for (size_t i = 0; resize_memory_held(j->rec) && i < j->rec->alloc->n_node_ids; i++)
        launch_prepare_on(ctld, j, i, lsn); /* nodes that know the job take its new limit */
    services_job_resized(ctld, j);
    return lsn;
}

int resize_memory(struct ctld *ctld, struct job *j, uint64_t mib, uint64_t *ret_lsn)
{
    const Pst__Alloc *a = j->rec->alloc;
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    ProtobufCMessage *copy;
    uint64_t lsn;

    if (!mib || !a || het_is(j->rec))
        return ESLURM_JOB_NOT_PENDING;
    for (size_t i = 0; i < a->n_groups; i++)
        if (a->groups[i]->mem_mib && a->groups[i]->mem_mib < mib)
            return ESLURM_JOB_NOT_PENDING;
    if (pb_dup(&a->base, &copy) < 0)
        return SLURM_ERROR;
    tx = tx_new(core_now());
    set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    set->alloc = (Pst__Alloc *)copy;
    lower_memory(ctld, tx, j, set, mib);
    lsn = commit_memory(ctld, tx, j->rec->job_id);
    *ret_lsn = lsn;
    return lsn ? 0 : EPST_DISK_FULL;
}

int resize_memory_used(struct ctld *ctld, struct job *j, uint64_t mib)
{
    ProtobufCMessage *copy = NULL;
    Pst__Transaction *tx;
    Pst__JobRecord *set;

    if (mib && pb_dup(&j->rec->alloc->base, &copy) < 0)
        return SLURM_ERROR;
    tx = tx_new(core_now());
    set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_UPDATE, j->rec->job_id);
    SET(set, mem_updated, true);
    if (!mib)
        return core_commit(ctld, tx) ? 0 : EPST_DISK_FULL;
    set->alloc = (Pst__Alloc *)copy;
    lower_memory(ctld, tx, j, set, mib);
    return commit_memory(ctld, tx, j->rec->job_id) ? 0 : EPST_DISK_FULL;
}

int resize_drop_node(struct ctld *ctld, struct job *j, uint32_t node_id)
{
    const Pst__Alloc *a = j->rec->alloc;
    _cleanup_(bitmap_free) struct bitmap *keep = NULL;
    long pos = a ? alloc_position(a, node_id) : -1;
    uint64_t lsn;

    if (pos < 0 || a->n_node_ids < 2 || job_is_suspended(j->rec) || het_is(j->rec))
        return ESLURM_NOT_SUPPORTED;
    if (bitmap_new((uint32_t)a->n_node_ids, &keep) < 0)
        return SLURM_ERROR;
    bitmap_fill(keep);
    bitmap_clear(keep, (uint32_t)pos);
    return shrink_job(ctld, j, keep, &lsn);
}

bool resize_asked(const Pst__JobRecord *r, const Pst__JobRecord *set)
{
    return set && (set->has_min_nodes || set->req_nodes || set->has_mem_per_node_mib) &&
           job_holds_resources(r) && !job_is_ended(r) && !job_is_pending(r);
}

int resize_job(struct ctld *ctld, struct job *j, const Pst__JobRecord *set, uint64_t *ret_lsn)
{
    const Pst__JobRecord *r = j->rec;
    _cleanup_(bitmap_free) struct bitmap *keep = NULL;
    int code;

    if (job_is_suspended(r) || het_is(r) ||
        conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, "disable_job_shrink", NULL, NULL))
        return ESLURM_NOT_SUPPORTED;
    if (bitmap_new((uint32_t)r->alloc->n_node_ids, &keep) < 0)
        return SLURM_ERROR;
    code = set->req_nodes ? keep_named(ctld, r->alloc, set->req_nodes, keep)
                          : keep_first(r->alloc, set, keep);
    if (code == 0 && set->req_nodes && set->has_min_nodes && set->min_nodes != bitmap_count(keep))
        code = ESLURM_INVALID_NODE_COUNT;
    if (code == 0 && r->has_batch && r->batch && !bitmap_test(keep, 0))
        code = ESLURM_INVALID_NODE_NAME; /* the script runs there */
    if (code != 0 || bitmap_count(keep) == r->alloc->n_node_ids) {
        *ret_lsn = ctld->applied_lsn;
        return code;
    }
    return shrink_job(ctld, j, keep, ret_lsn);
}
