/* fedstate.c - changes of a federated job's record; see fedstate.h
 *
 * The origin's record has the truth: which cluster may start the job (fed_owner), and under which
 * version.  What is sent follows from records: a change here is all that has to be durable. */
#include "ctld/fed/fedstate.h"

#include <stdlib.h>

#include "base/must.h"
#include "base/pb/pbutil.h"
#include "ctld/core/service.h"
#include "ctld/job/lifecycle.h"
#include "fields.h"

const Pst__FedCopy *fedstate_copy_of(const Pst__JobRecord *r, uint32_t peer)
{
    for (size_t i = 0; i < r->n_fed_copies; i++)
        if (r->fed_copies[i]->cluster == peer)
            return r->fed_copies[i];
    return NULL;
}

static Pst__FedCopy *add_copy(Pst__JobRecord *set, const Pst__FedCopy *copy)
{
    ProtobufCMessage *dup;

    set->fed_copies =
        must(realloc(set->fed_copies, (set->n_fed_copies + 1) * sizeof(*set->fed_copies)));
    if (pb_dup(&copy->base, &dup) < 0)
        must(NULL);
    set->fed_copies[set->n_fed_copies++] = (Pst__FedCopy *)dup;
    return (Pst__FedCopy *)dup;
}

/* All entries of r into set, to be changed there; `peer` has one. */
static Pst__FedCopy *take_copies(Pst__JobRecord *set, const Pst__JobRecord *r, uint32_t peer)
{
    Pst__FedCopy *found = NULL, fresh = PST__FED_COPY__INIT;

    for (size_t i = 0; i < r->n_fed_copies; i++) {
        Pst__FedCopy *c = add_copy(set, r->fed_copies[i]);

        if (c->cluster == peer)
            found = c;
    }
    SET(&fresh, cluster, peer);
    return found || !peer ? found : add_copy(set, &fresh);
}

/* Names of the clusters that have the job, as set (and else r) has it. */
static void name_active(struct fed *f, Pst__JobRecord *set, const Pst__JobRecord *r, uint32_t owner,
                        bool revoked)
{
    const struct fedset *all = fed_members(f);
    uint64_t mask = owner ? fed_bit(owner) : 0;

    if (!all)
        return;
    for (size_t i = 0; i < set->n_fed_copies && !revoked; i++)
        if (set->fed_copies[i]->present && set->fed_copies[i]->version &&
            !set->fed_copies[i]->refused)
            mask |= fed_bit(set->fed_copies[i]->cluster);
    if (!revoked)
        mask |= (set->has_fed_viable ? set->fed_viable : r->fed_viable) & fed_bit(all->self);
    free(set->fed_siblings_active);
    set->fed_siblings_active = fedset_names(all, mask);
}

/* Each cluster that may get the job is on record as having it before it is asked. */
static void expect_copies(const struct fedset *all, Pst__JobRecord *set, const Pst__JobRecord *r,
                          uint64_t viable)
{
    (void)take_copies(set, r, 0);
    for (uint32_t i = 1; i <= FED_CLUSTERS_MAX; i++) {
        Pst__FedCopy fresh = PST__FED_COPY__INIT, *c = NULL;

        if (i == all->self || !(viable & fed_bit(i)))
            continue;
        for (size_t k = 0; k < set->n_fed_copies && !c; k++)
            c = set->fed_copies[k]->cluster == i ? set->fed_copies[k] : NULL;
        SET(&fresh, cluster, i);
        if (!c)
            c = add_copy(set, &fresh);
        SET(c, present, true);
        c->has_refused = false;
    }
}

uint64_t fedstate_viable(const struct fedset *all, const Pst__JobRecord *r)
{
    uint64_t viable = fed_number_of(r->job_id) == all->self
                          ? fedset_viable(all, r->clusters, r->cluster_features)
                          : 0;

    return viable ? viable : fed_bit(all->self); /* it stays where it was submitted to */
}

static void clear_owner(Pst__Transaction *tx)
{
    tx_clear(tx, JOB_F_FED_OWNER);
    tx_clear(tx, JOB_F_FED_OWNER_NAME);
    tx_clear(tx, JOB_F_FED_STARTED);
}

/* Begin the next version in set: which clusters may run the job is looked at anew. */
static void fill_version(struct fed *f, Pst__Transaction *tx, Pst__JobRecord *set,
                         const Pst__JobRecord *r)
{
    const struct fedset *all = fed_members(f);
    uint64_t viable = all ? fedstate_viable(all, r) : 0;
    uint32_t flags = r->has_state_flags ? r->state_flags & ~JOB_FLAG(REVOKED) : 0;

    SET(set, fed_version, r->fed_version + 1);
    SET(set, fed_viable, viable);
    if (all)
        expect_copies(all, set, r, viable);
    if (all && !(viable & fed_bit(all->self)))
        flags |= JOB_FLAG(REVOKED);
    SET(set, state_flags, flags);
    if (all) {
        free(set->fed_siblings_viable);
        set->fed_siblings_viable = fedset_names(all, viable);
    }
    name_active(f, set, r, 0, false);
    clear_owner(tx);
}

uint64_t fedstate_version(struct fed *f, const struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());

    fill_version(f, tx, tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id), j->rec);
    return core_commit(f->ctld, tx);
}

uint64_t fedstate_owner(struct fed *f, const struct job *j, uint32_t owner)
{
    Pst__Transaction *tx = tx_new(core_now());

    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id);
    const struct fedset *all = fed_members(f);

    SET(set, fed_owner, owner);
    if (all && owner <= FED_CLUSTERS_MAX && all->of[owner])
        set->fed_owner_name = tx_strdup(all->of[owner]->name);
    return core_commit(f->ctld, tx);
}

uint32_t fedstate_renamed(struct fed *f, const Pst__JobRecord *r)
{
    const struct fedset *all = fed_members(f);
    uint32_t number = all && r->has_fed_owner && r->fed_owner_name && !job_is_ended(r) &&
                              fedset_is_origin(f->ctld, r)
                          ? fedset_number(all, r->fed_owner_name)
                          : 0;

    return number != r->fed_owner ? number : 0;
}

uint64_t fedstate_renumber(struct fed *f, const struct job *j, uint32_t number)
{
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__JobRecord *r = j->rec;
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, r->job_id);

    SET(set, fed_owner, number);
    for (size_t i = 0; i < r->n_fed_copies; i++) {
        if (r->fed_copies[i]->cluster == number)
            continue; /* of the cluster that had the number before */
        Pst__FedCopy *c = add_copy(set, r->fed_copies[i]);

        if (c->cluster == r->fed_owner)
            SET(c, cluster, number);
    }
    return core_commit(f->ctld, tx);
}

uint64_t fedstate_copy(struct fed *f, const struct job *j, uint32_t peer, const Pst__FedCopy *copy)
{
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__JobRecord *r = j->rec;
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, r->job_id);
    Pst__FedCopy *c = take_copies(set, r, peer);

    if (copy->has_version)
        SET(c, version, copy->version);
    SET(c, present, copy->present);
    SET(c, refused, copy->refused);
    name_active(f, set, r, job_is_ended(r) ? 0 : r->fed_owner,
                job_is_ended(r) || fedset_has_started(f->ctld, r));
    return core_commit(f->ctld, tx);
}

uint64_t fedstate_told(struct fed *f, const struct job *j, Pst__FedTold told)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, j->rec->job_id);

    SET(set, fed_told, told);
    if (told == PST__FED_TOLD__FED_TOLD_RELEASE)
        clear_owner(tx);
    return core_commit(f->ctld, tx);
}

uint64_t fedstate_started(struct fed *f, const struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__JobRecord *r = j->rec;
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_UNSPECIFIED, r->job_id);

    SET(set, state_flags, (r->has_state_flags ? r->state_flags : 0) | JOB_FLAG(REVOKED));
    SET(set, fed_started, true);
    name_active(f, set, r, r->fed_owner, true);
    return core_commit(f->ctld, tx);
}

uint64_t fedstate_requeue(struct fed *f, const struct job *j)
{
    Pst__Transaction *tx = tx_new(core_now());
    const Pst__JobRecord *r = j->rec;
    Pst__JobRecord *set = tx_job_patch(tx, PST__EVENT_KIND__EV_JOB_REQUEUE, r->job_id);

    fill_version(f, tx, set, r);
    SET(set, restart_count, job_restarts(r) + 1);
    SET(set, requeue_us, core_now());
    tx_clear(tx, JOB_F_FED_REQUEUE); /* before the cluster's record, whose patch would be meant */
    lifecycle_new_run(f->ctld, tx, set);
    return core_commit(f->ctld, tx);
}

uint64_t fedstate_revoke(struct fed *f, struct job *j)
{
    const struct job_end end = { .state = JOB_STATE(CANCELLED), .revoked = true };

    return lifecycle_end(f->ctld, j, &end);
}
