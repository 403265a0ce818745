/* bootwait.c - see bootwait.h */
#include "ctld/policy/bootwait.h"

#include "base/bitmap.h"
#include "base/timefmt.h"
#include "base/pb/pbutil.h"
#include "ctld/policy/bootfeatures.h"
#include "ctld/policy/scriptnode.h"
#include "model/hetjob.h"

/* ---- at the start ---------------------------------------------------------------------------- */

/* With --reboot it boots again; another job must not lose it. */
static bool can_reboot(const struct node *n)
{
    return n->jobs == 0 && !(n->rec->state_flags & NODE_POWER_BITS);
}

bool bootwait_any_awaited(const struct cluster *c, const Pst__Alloc *alloc)
{
    for (size_t i = 0; i < alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(c, alloc->node_ids[i]);

        if (n && node_is_awaited(n->rec))
            return true;
    }
    return false;
}

/* A node has to boot for the features of the job. */
static bool features_needed(const struct ctld *ctld, const Pst__JobRecord *r,
                            const uint32_t *node_ids, size_t count, bool *ret_possible)
{
    char **features = NULL;
    bool needed = false;

    *ret_possible = true;
    if (!bootfeatures_may(ctld, r))
        return false;
    if (!bootfeatures_plan(ctld, r, node_ids, count, &features)) {
        *ret_possible = false;
        return false;
    }
    for (size_t i = 0; i < count; i++) {
        const struct node *n = cluster_node(ctld->cluster, node_ids[i]);

        if (!*features[i])
            continue;
        needed = true;
        if (!n || !can_reboot(n))
            *ret_possible = false;
    }
    bootfeatures_free(features, count);
    return needed;
}

bool bootwait_possible(const struct ctld *ctld, const Pst__JobRecord *r, const uint32_t *node_ids,
                       size_t count)
{
    bool possible;

    (void)features_needed(ctld, r, node_ids, count, &possible);
    return possible;
}

bool bootwait_needed(const struct ctld *ctld, const Pst__JobRecord *r, const Pst__Alloc *alloc,
                     int64_t *ret_until_us)
{
    bool reboot = bootwait_reboots(ctld, r), possible;
    bool needed = features_needed(ctld, r, alloc->node_ids, alloc->n_node_ids, &possible);
    uint32_t patience = bootwait_patience_s(ctld, alloc);

    *ret_until_us =
        core_now() +
        (needed ? MAX(patience, conf_helpers_boot_s(ctld->conf)) : patience) * USEC_PER_SEC;
    for (size_t i = 0; reboot && !needed && i < alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, alloc->node_ids[i]);

        needed = n && can_reboot(n);
    }
    return needed || bootwait_any_awaited(ctld->cluster, alloc);
}

bool bootwait_reboots(const struct ctld *ctld, const Pst__JobRecord *r)
{
    const char *program = conf_str(ctld->conf, CONF_REBOOT_PROGRAM);

    return r->has_reboot && r->reboot && program && *program;
}

/* features: those that it is to have then, "" for any. */
static void ask_reboot(const struct ctld *ctld, Pst__Transaction *tx, const struct node *n,
                       const char *features)
{
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_POWER, n->rec->node_id);
    int64_t now = core_now();

    SET(set, state_flags, n->rec->state_flags | NODE_BIT(POWERING_UP) | NODE_BIT(NOT_RESPONDING));
    SET(set, power_us, now);
    SET(set, reboot_us, now);
    SET(set, power_until_us,
        now + (*features ? conf_helpers_boot_s(ctld->conf) : bootwait_timeout_s(ctld, n)) *
                  USEC_PER_SEC);
    if (*features)
        (void)pb_set_str(&set->boot_features, features); /* -ENOMEM: it boots as it is */
}

void bootwait_ask(const struct ctld *ctld, Pst__Transaction *tx, const Pst__JobRecord *r,
                  const Pst__Alloc *alloc)
{
    bool reboot = bootwait_reboots(ctld, r);
    char **features = NULL;

    if (bootfeatures_may(ctld, r))
        (void)bootfeatures_plan(ctld, r, alloc->node_ids, alloc->n_node_ids, &features);
    for (size_t i = 0; i < alloc->n_node_ids; i++) {
        const struct node *n = cluster_node(ctld->cluster, alloc->node_ids[i]);

        if (n && n->rec->state_flags & NODE_BIT(POWERED_DOWN))
            SET(tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_POWER, n->rec->node_id), state_flags,
                (n->rec->state_flags & ~NODE_BIT(POWER_DOWN)) | NODE_BIT(POWER_UP));
        else if (n && (reboot || (features && *features[i])) && can_reboot(n))
            ask_reboot(ctld, tx, n, features ? features[i] : "");
    }
    bootfeatures_free(features, alloc->n_node_ids);
}

uint32_t bootwait_timeout_s(const struct ctld *ctld, const struct node *n)
{
    const struct cluster *c = ctld->cluster;
    uint32_t most = (uint32_t)conf_num(ctld->conf, CONF_RESUME_TIMEOUT);

    for (size_t i = 0; i < c->nparts; i++)
        if (c->parts[i]->rec->has_resume_timeout_s &&
            bitmap_test(c->parts[i]->nodes, n->rec->node_id))
            most = MAX(most, c->parts[i]->rec->resume_timeout_s);
    return most;
}

uint32_t bootwait_patience_s(const struct ctld *ctld, const Pst__Alloc *alloc)
{
    const struct cluster *c = ctld->cluster;
    uint32_t most = (uint32_t)conf_num(ctld->conf, CONF_RESUME_TIMEOUT);

    for (size_t p = 0; p < c->nparts; p++) {
        bool has = false;

        if (!c->parts[p]->rec->has_resume_timeout_s || c->parts[p]->rec->resume_timeout_s <= most)
            continue;
        for (size_t i = 0; i < alloc->n_node_ids && !has; i++)
            has = bitmap_test(c->parts[p]->nodes, alloc->node_ids[i]);
        if (has)
            most = c->parts[p]->rec->resume_timeout_s;
    }
    return most;
}

/* ---- what waits ------------------------------------------------------------------------------ */

bool bootwait_awaits(const struct ctld *ctld, const struct job *j)
{
    const struct job *leader =
        het_is_follower(j->rec) ? het_component(ctld->cluster, j->rec, 0) : j;

    for (uint32_t k = 0; leader && het_is_leader(leader->rec) && k < leader->rec->het_count; k++) {
        const struct job *part = het_component(ctld->cluster, leader->rec, k);

        if (part && job_waits_for_boot(part->rec))
            return true;
    }
    return job_waits_for_boot(j->rec);
}

/* --wait-all-nodes, or else this word of SchedulerParameters */
static bool wants_all_nodes(const struct ctld *ctld, const Pst__JobRecord *r, const char *word)
{
    return r->has_wait_all_nodes
               ? r->wait_all_nodes
               : conf_option(ctld->conf, CONF_SCHEDULER_PARAMETERS, word, NULL, NULL);
}

bool bootwait_holds_grant(const struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;

    return bootwait_awaits(ctld, j) &&
           (bootwait_reboots(ctld, r) || wants_all_nodes(ctld, r, "salloc_wait_nodes"));
}

bool bootwait_holds_batch(const struct ctld *ctld, const struct job *j)
{
    const Pst__JobRecord *r = j->rec;
    const struct node *first =
        r->alloc && r->alloc->n_node_ids ? scriptnode_of(ctld->cluster, r) : NULL;

    if (!bootwait_awaits(ctld, j))
        return false;
    return wants_all_nodes(ctld, r, "sbatch_wait_nodes") || het_is(r) ||
           (first && node_is_awaited(first->rec));
}
