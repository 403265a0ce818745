/* admin_cond.c - what a request chooses: conditions over the tables
 *
 * Where names are given the records are looked up by them, so that one change among many costs
 * little; else the tables are walked. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/compare/order.h"

size_t cond_clusters(struct admin_run *run, const Pst__AcctCond *where, const char ***ret_names)
{
    const Pst__AcctClusterRecord *c;
    const char **names =
        calloc(am_count(run->a->am, AM_CLUSTER) + where->n_clusters + 1, sizeof(*names));
    size_t n = 0, pos = 0;

    *ret_names = names;
    if (!names) {
        run->r = run->r ? run->r : -ENOMEM;
        return 0;
    }
    for (size_t i = 0; i < where->n_clusters; i++) {
        c = am_cluster(run->a->am, where->clusters[i]);
        if (!c || c->deleted) {
            run_fail(run, ESLURM_INVALID_CLUSTER_NAME, " Cluster %s doesn't exist",
                     where->clusters[i]);
            return 0;
        }
        names[n++] = c->name;
    }
    if (where->n_clusters)
        return n;
    while ((c = (const Pst__AcctClusterRecord *)am_next(run->a->am, AM_CLUSTER, &pos)))
        if (!c->deleted)
            names[n++] = c->name;
    qsort(names, n, sizeof(*names), order_text);
    return n;
}

bool cond_is_cluster(struct admin_run *run, const char *name)
{
    const Pst__AcctClusterRecord *c = am_cluster(run->a->am, name);

    return c && !c->deleted;
}

size_t cond_known_clusters(struct admin_run *run, const Pst__AcctCond *where,
                           const char ***ret_names)
{
    Pst__AcctCond known = *where;
    size_t n = 0;

    known.clusters = calloc(where->n_clusters + 1, sizeof(char *));
    if (!known.clusters) {
        run_fail_memory(run);
        return 0;
    }
    known.n_clusters = 0;
    for (size_t i = 0; i < where->n_clusters; i++)
        if (cond_is_cluster(run, where->clusters[i]))
            known.clusters[known.n_clusters++] = where->clusters[i];
    if (known.n_clusters || !where->n_clusters)
        n = cond_clusters(run, &known, ret_names);
    free(known.clusters);
    return n;
}

/* ---- order ----------------------------------------------------------------------------------- */

struct place {
    const char *cluster;
    char *lineage;
    uint32_t id;
};

static int compare_places(const void *pa, const void *pb)
{
    const struct place *a = pa, *b = pb;
    int r = strcmp(a->cluster, b->cluster);

    if (r == 0)
        r = strcmp(a->lineage, b->lineage);
    return r ? r : (a->id > b->id) - (a->id < b->id);
}

void sort_assocs(struct assoc_mgr *am, uint32_t *ids, size_t n)
{
    struct place *places = calloc(n + 1, sizeof(*places));

    if (!places)
        return; /* any order does */
    for (size_t i = 0; i < n; i++) {
        struct assoc *a = am_assoc(am, ids[i]);

        places[i].cluster = a->rec->cluster ? a->rec->cluster : "";
        places[i].lineage = strdup(am_lineage(am, a));
        places[i].id = ids[i];
        if (!places[i].lineage) {
            n = i; /* the rest stays behind in the order it has */
            break;
        }
    }
    qsort(places, n, sizeof(*places), compare_places);
    for (size_t i = 0; i < n; i++) {
        ids[i] = places[i].id;
        free(places[i].lineage);
    }
    free(places);
}

/* ---- associations ---------------------------------------------------------------------------- */

struct ids {
    uint32_t *ids;
    size_t n, cap;
    bool failed;
};

static void ids_add(struct ids *l, uint32_t id)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 64;
        uint32_t *more = reallocarray(l->ids, cap, sizeof(*more));

        if (!more) {
            l->failed = true;
            return;
        }
        l->ids = more;
        l->cap = cap;
    }
    l->ids[l->n++] = id;
}

static bool account_matches(struct admin_run *run, const Pst__AcctCond *where, struct assoc *a)
{
    if (!where->n_accounts || cond_has(where->accounts, where->n_accounts, a->rec->account))
        return true;
    for (size_t i = 0; where->with_sub_accounts && i < where->n_accounts; i++) {
        struct assoc *above = am_find(run->a->am, a->rec->cluster, where->accounts[i], NULL, NULL);

        if (above && am_is_below(run->a->am, a, above))
            return true;
    }
    return false;
}

static bool qos_matches(struct admin_run *run, const Pst__AcctCond *where, struct assoc *a)
{
    bool any = where->n_qos_ids == 0;

    for (size_t i = 0; !any && i < where->n_qos_ids; i++)
        any = am_may_use_qos(run->a->am, a, where->qos_ids[i]);
    return any && (!where->n_default_qos_ids ||
                   cond_has_id(where->default_qos_ids, where->n_default_qos_ids,
                               am_default_qos(run->a->am, a)));
}

static bool parent_matches(const Pst__AcctCond *where, const struct assoc *a)
{
    return !where->n_parents ||
           (!a->user && a->parent &&
            cond_has(where->parents, where->n_parents, a->parent->rec->account));
}

static bool assoc_matches(struct admin_run *run, const Pst__AcctCond *where, struct assoc *a)
{
    if (a->rec->deleted && !where->with_deleted)
        return false;
    if (where->no_users && a->user)
        return false;
    if (where->only_defaults && !a->rec->is_default)
        return false;
    if (where->n_users && (!a->user || !cond_has(where->users, where->n_users, a->rec->user)))
        return false;
    return cond_has_id(where->ids, where->n_ids, a->id) &&
           cond_has(where->clusters, where->n_clusters, a->rec->cluster) &&
           cond_has(where->partitions, where->n_partitions, a->rec->partition) &&
           account_matches(run, where, a) && parent_matches(where, a) && qos_matches(run, where, a);
}

/* Those of the accounts named, by their names. */
static void find_accounts(struct admin_run *run, const Pst__AcctCond *where, struct ids *l)
{
    const char **clusters = NULL;
    size_t n = cond_known_clusters(run, where, &clusters);

    for (size_t c = 0; c < n; c++)
        for (size_t i = 0; i < where->n_accounts; i++) {
            struct assoc *a = am_find(run->a->am, clusters[c], where->accounts[i], NULL, NULL);

            if (a && assoc_matches(run, where, a))
                ids_add(l, a->id);
        }
    free(clusters);
}

uint32_t *cond_assocs(struct admin_run *run, const Pst__AcctCond *where, size_t *ret_n)
{
    struct ids l = { 0 };
    struct assoc *a;
    size_t pos = 0;

    if (where->n_users && !where->with_deleted) {
        for (size_t i = 0; i < where->n_users; i++)
            for (a = am_of_user(run->a->am, where->users[i]); a; a = a->next_of_user)
                if (assoc_matches(run, where, a))
                    ids_add(&l, a->id);
    } else if (where->n_accounts && where->no_users && !where->with_sub_accounts &&
               !where->with_deleted) {
        find_accounts(run, where, &l);
    } else {
        while ((a = am_next_assoc(run->a->am, &pos)))
            if (assoc_matches(run, where, a))
                ids_add(&l, a->id);
    }
    if (l.failed && run->r == 0)
        run->r = -ENOMEM;
    sort_assocs(run->a->am, l.ids, l.n);
    *ret_n = l.n;
    return l.ids;
}

uint32_t *run_matching(struct admin_run *run, enum am_kind kind, admin_match_fn *matches,
                       const Pst__AcctCond *where, size_t *ret_n)
{
    const ProtobufCMessage *rec;
    uint32_t *ids = NULL;
    size_t n = 0, pos = 0;

    while ((rec = am_next(run->a->am, kind, &pos))) {
        /* the number is each one's first field */
        uint32_t id = *(const uint32_t *)((const char *)rec + rec->descriptor->fields[0].offset);

        if (matches(where, rec) && id_list_add(&ids, &n, id) < 0)
            run->r = -ENOMEM;
    }
    *ret_n = n;
    return ids;
}

void run_each(struct admin_run *run, enum am_kind kind, admin_match_fn *matches,
              admin_each_fn *change, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    size_t n = 0;
    uint32_t *ids;

    if (!run_is_operator(run)) {
        run_deny(run);
        return;
    }
    ids = run_matching(run, kind, matches, where, &n);
    for (size_t i = 0; i < n && run_ok(run); i++)
        change(run, ids[i], where, set);
    free(ids);
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}
