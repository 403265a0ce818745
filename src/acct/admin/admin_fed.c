/* admin_fed.c - federations, and what clusters are in them
 *
 * A federation's record is its name; each cluster's record holds the federation that it is in, its
 * number there, the lowest that is free, and its state.  Leaving takes all three away. */
#include "acct/admin/admin_fed.h"

#include <errno.h>
#include <stdlib.h>

#include "base/compare/order.h"
#include "base/pb/pbutil.h"

#define FED_ID_MAX 63u /* six bits of a job's number */
/* States as sacctmgr's FedStateRaw has them. */
#define FED_ACTIVE 1u
#define FED_INACTIVE 2u
#define FED_DRAIN 16u
#define FED_REMOVE 32u

void cluster_leave_federation(Pst__AcctClusterRecord *rec)
{
    (void)pb_set_str(&rec->federation, NULL); /* frees */
    rec->has_fed_id = rec->has_fed_state = 0;
    rec->fed_id = rec->fed_state = 0;
}

static bool is_member(const Pst__AcctClusterRecord *c, const char *federation)
{
    return !c->deleted && c->federation && strcasecmp(c->federation, federation) == 0;
}

/* 0: all are in use. */
static uint32_t free_id(struct admin_run *run, const char *federation)
{
    uint64_t used = 0;
    const Pst__AcctClusterRecord *c;
    size_t pos = 0;

    while ((c = (const Pst__AcctClusterRecord *)am_next(run->a->am, AM_CLUSTER, &pos)))
        if (is_member(c, federation) && c->fed_id <= FED_ID_MAX)
            used |= 1ull << c->fed_id;
    for (uint32_t id = 1; id <= FED_ID_MAX; id++)
        if (!(used >> id & 1))
            return id;
    return 0;
}

static bool join_federation(struct admin_run *run, Pst__AcctClusterRecord *rec, const char *name)
{
    const Pst__FederationRecord *fed = am_federation(run->a->am, name);
    uint32_t id;

    if (!fed) {
        run_fail(run, ESLURM_BAD_NAME, " The federation %s doesn't exist.", name);
        return false;
    }
    if (is_member(rec, fed->name))
        return true;
    id = free_id(run, fed->name);
    if (!id) {
        run_fail(run, ESLURM_BAD_NAME, " The federation %s has no room for another cluster.", name);
        return false;
    }
    if (pb_set_str(&rec->federation, fed->name) < 0)
        run_fail_memory(run);
    rec->has_fed_id = rec->has_fed_state = 1;
    rec->fed_id = id;
    rec->fed_state = FED_ACTIVE;
    return run_ok(run);
}

/* ---- settings of a cluster ------------------------------------------------------------------- */

static bool has_word(char *const *list, size_t n, const char *word)
{
    for (size_t i = 0; i < n; i++)
        if (strcmp(list[i], word) == 0)
            return true;
    return false;
}

static void set_features(struct admin_run *run, Pst__AcctClusterRecord *rec,
                         const Pst__AcctSet *set)
{
    size_t kept = 0;

    for (size_t i = 0; i < rec->n_features; i++) {
        if (set->features_replace ||
            has_word(set->features_remove, set->n_features_remove, rec->features[i]))
            free(rec->features[i]);
        else
            rec->features[kept++] = rec->features[i];
    }
    rec->n_features = kept;
    for (size_t i = 0; i < set->n_features_add; i++)
        if (!has_word(rec->features, rec->n_features, set->features_add[i]))
            run_string(run, &rec->features, &rec->n_features, set->features_add[i]);
}

static bool is_state(uint32_t state)
{
    return state == FED_ACTIVE || state == FED_INACTIVE || state == (FED_ACTIVE | FED_DRAIN) ||
           state == (FED_ACTIVE | FED_DRAIN | FED_REMOVE);
}

bool cluster_set_federation(struct admin_run *run, Pst__AcctClusterRecord *rec,
                            const Pst__AcctSet *set)
{
    const Pst__AcctClusterRecord *want = set->cluster;

    set_features(run, rec, set);
    if (want && want->federation && *want->federation) {
        if (!join_federation(run, rec, want->federation))
            return false;
    } else if (want && want->federation) {
        cluster_leave_federation(rec);
    }
    if (want && want->has_fed_state && !is_state(want->fed_state)) {
        run_fail(run, ESLURM_BAD_NAME, " Invalid FedState: %u.", want->fed_state);
        return false;
    }
    if (want && want->has_fed_state && rec->federation) {
        rec->has_fed_state = 1;
        rec->fed_state = want->fed_state;
    }
    return run_ok(run);
}

/* ---- federations ----------------------------------------------------------------------------- */

static Pst__AcctClusterRecord *dup_cluster(struct admin_run *run, const char *name)
{
    const Pst__AcctClusterRecord *have = am_cluster(run->a->am, name);

    if (!have || have->deleted) {
        run_fail(run, ESLURM_BAD_NAME, " The cluster %s doesn't exist. Please add first.", name);
        return NULL;
    }
    return run_dup(run, have);
}

/* A cluster of another federation is told of, and moves. */
static void note_move(struct admin_run *run, const Pst__AcctClusterRecord *rec)
{
    char *more = NULL;

    if (asprintf(&more, "%s%s The cluster %s is assigned to federation %s",
                 run->res->text ? run->res->text : "", run->res->text ? "\n" : "", rec->name,
                 rec->federation) < 0) {
        run_fail_memory(run);
        return;
    }
    free(run->res->text);
    run->res->text = more;
}

static void add_member(struct admin_run *run, const char *federation, const char *cluster)
{
    Pst__AcctClusterRecord *rec = dup_cluster(run, cluster);

    if (!rec)
        return;
    if (!is_member(rec, federation)) {
        if (rec->federation)
            note_move(run, rec);
        if (join_federation(run, rec, federation)) {
            run_line(run, "Cluster      += %s", rec->name);
            run_put_cluster(run, rec);
        }
    }
    pst__acct_cluster_record__free_unpacked(rec, NULL);
}

static void drop_member(struct admin_run *run, const char *federation, const char *cluster)
{
    Pst__AcctClusterRecord *rec = dup_cluster(run, cluster);

    if (!rec)
        return;
    if (is_member(rec, federation)) {
        run_line(run, "Cluster      -= %s", rec->name);
        cluster_leave_federation(rec);
        run_put_cluster(run, rec);
    }
    pst__acct_cluster_record__free_unpacked(rec, NULL);
}

void federation_leave(struct admin_run *run, void *arg)
{
    const struct leaving *l = arg;
    const Pst__AcctClusterRecord *c = am_cluster(run->a->am, l->cluster);
    char where[300];

    if (!c || !is_member(c, l->federation) || !(c->fed_state & FED_REMOVE))
        return; /* the state was changed meanwhile */
    drop_member(run, l->federation, l->cluster);
    (void)snprintf(where, sizeof(where), "name='%.256s'", l->cluster);
    run_txn(run, "Modify Clusters", l->cluster, NULL, NULL, where, "federation=''");
}

/* All members but those of the list leave. */
static void drop_others(struct admin_run *run, const char *federation, char *const *keep,
                        size_t n_keep)
{
    const Pst__AcctClusterRecord *c;
    char **names = NULL;
    size_t n = 0, pos = 0;

    while ((c = (const Pst__AcctClusterRecord *)am_next(run->a->am, AM_CLUSTER, &pos)))
        if (is_member(c, federation) && (n_keep == 0 || !cond_has(keep, n_keep, c->name)))
            run_string(run, &names, &n, c->name);
    if (n)
        qsort(names, n, sizeof(*names), order_text);
    for (size_t i = 0; i < n; i++) {
        if (run_ok(run))
            drop_member(run, federation, names[i]);
        free(names[i]);
    }
    free(names);
}

void federation_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (!run_is_admin(run)) {
        run_deny_adding(run, where);
        return;
    }
    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const Pst__FederationRecord *have = am_federation(run->a->am, where->names[i]);
        Pst__FederationRecord fresh = PST__FEDERATION_RECORD__INIT;

        if (have) {
            run_line(run, " This federation %s already exists.  Not adding.", have->name);
            continue;
        }
        if (!run_good_name(run, where->names[i]))
            break;
        fresh.name = where->names[i];
        fresh.has_created_us = 1;
        fresh.created_us = run->now_us;
        run_put_federation(run, &fresh);
        run_txn(run, "Add Federations", NULL, NULL, NULL, where->names[i], "");
        for (size_t k = 0; k < set->n_fed_add && run_ok(run); k++)
            add_member(run, where->names[i], set->fed_add[k]);
        run_name(run, where->names[i]);
    }
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* Names of the federations that are meant; the operation fails for one that is not there. */
static bool check_names(struct admin_run *run, const Pst__AcctCond *where)
{
    for (size_t i = 0; i < where->n_names; i++)
        if (!am_federation(run->a->am, where->names[i])) {
            run_fail(run, ESLURM_BAD_NAME, " The federation %s doesn't exist.", where->names[i]);
            return false;
        }
    return true;
}

void federation_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (!run_is_admin(run)) {
        run_deny(run);
        return;
    }
    if (!check_names(run, where))
        return;
    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const char *name = where->names[i];
        size_t lines = run->res->n_lines;

        for (size_t k = 0; k < set->n_fed_add && run_ok(run); k++)
            add_member(run, name, set->fed_add[k]);
        if (set->fed_replace && run_ok(run))
            drop_others(run, name, set->fed_add, set->n_fed_add);
        for (size_t k = 0; k < set->n_fed_remove && run_ok(run); k++)
            drop_member(run, name, set->fed_remove[k]);
        if (!run_ok(run) || run->res->n_lines == lines)
            continue;
        run_txn(run, "Modify Federations", NULL, NULL, NULL, name, "");
        run_name(run, name);
    }
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* Without clusters in the condition it has all that are asked for. */
static bool has_members(struct admin_run *run, const char *federation, const Pst__AcctCond *where)
{
    for (size_t i = 0; i < where->n_clusters; i++) {
        const Pst__AcctClusterRecord *c = am_cluster(run->a->am, where->clusters[i]);

        if (c && is_member(c, federation))
            return true;
    }
    return !where->n_clusters;
}

void federation_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    (void)set;
    if (!run_is_admin(run)) {
        run_deny(run);
        return;
    }
    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const Pst__FederationRecord *have = am_federation(run->a->am, where->names[i]);
        Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
        bool meant = have && has_members(run, have->name, where);
        Pst__FederationRecord *rec = meant ? run_dup(run, have) : NULL;

        if (!rec)
            continue;
        drop_others(run, rec->name, NULL, 0);
        put.body_case = PST__ACCT_CHANGE__BODY_FEDERATION;
        put.federation = rec;
        run_remove(run, &put);
        run_txn(run, "Remove Federations", NULL, NULL, NULL, rec->name, "");
        run_name(run, rec->name);
        pst__federation_record__free_unpacked(rec, NULL);
    }
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}
