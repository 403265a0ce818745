/* admin_misc.c - clusters, wckeys and remote licences */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_fed.h"
#include "acct/admin/admin_impl.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"

/* ---- clusters -------------------------------------------------------------------------------- */

static void make_root(struct admin_run *run, const char *cluster, const Pst__AcctSet *set)
{
    Pst__AcctSet none = PST__ACCT_SET__INIT, root = *set;
    Pst__AssocRecord rec = PST__ASSOC_RECORD__INIT;
    uint32_t normal[] = { AM_QOS_NORMAL };
    uint32_t id;

    root.parent = NULL;
    if (!root.assoc)
        root.assoc = &rec;
    else
        rec = *root.assoc, root.assoc = &rec;
    if (!rec.n_qos_ids) {
        bool set_up = run->a->n_cluster_qos > 0;

        rec.n_qos_ids = set_up ? run->a->n_cluster_qos : 1;
        rec.qos_ids = set_up ? run->a->cluster_qos : normal;
    }
    id = assoc_make(run, cluster, NULL, AM_ROOT, NULL, NULL, false, &root);
    if (id)
        (void)assoc_make(run, cluster, am_assoc(run->a->am, id), AM_ROOT, "root", NULL, true,
                         &none);
}

/* Archives are files with the cluster's name in theirs. */
static bool good_cluster_name(struct admin_run *run, const char *name)
{
    if (!run_good_name(run, name))
        return false;
    if (!strchr(name, '/'))
        return true;
    run_fail(run, ESLURM_BAD_NAME, "\"%s\" can't be the name of a cluster: a / is in it", name);
    return false;
}

/* With its place in a federation and its features. */
static bool put_new_cluster(struct admin_run *run, const Pst__AcctClusterRecord *fresh,
                            const Pst__AcctSet *set)
{
    Pst__AcctClusterRecord *rec = run_dup(run, fresh);
    bool good;

    if (!rec)
        return false;
    cluster_leave_federation(rec); /* what the request says of it is checked below */
    good = cluster_set_federation(run, rec, set);
    if (good)
        run_put_cluster(run, rec);
    pst__acct_cluster_record__free_unpacked(rec, NULL);
    return good;
}

void cluster_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (!run_is_admin(run)) {
        run_deny_adding(run, where);
        return;
    }
    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const Pst__AcctClusterRecord *have = am_cluster(run->a->am, where->names[i]);
        Pst__AcctClusterRecord fresh = PST__ACCT_CLUSTER_RECORD__INIT;
        char info[100];

        if (have && !have->deleted) {
            run_line(run, " This cluster %s already exists.  Not adding.", have->name);
            continue;
        }
        if (!good_cluster_name(run, where->names[i]))
            break;
        if (set->cluster)
            fresh = *set->cluster;
        fresh.name = where->names[i];
        fresh.has_created_us = fresh.has_modified_us = 1;
        fresh.created_us = fresh.modified_us = run->now_us;
        if (!put_new_cluster(run, &fresh, set))
            break;
        (void)snprintf(info, sizeof(info), "mod_time=%lld, shares=1, grp_jobs=NULL",
                       (long long)(run->now_us / USEC_PER_SEC));
        run_txn(run, "Add Clusters", where->names[i], NULL, NULL, where->names[i], info);
        make_root(run, where->names[i], set);
        run_name(run, where->names[i]);
    }
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

static bool cluster_matches(const Pst__AcctCond *where, const Pst__AcctClusterRecord *c)
{
    return !c->deleted && cond_has(where->names, where->n_names, c->name) &&
           cond_has(where->clusters, where->n_clusters, c->name);
}

/* Sorted names, of copies: caller frees both. */
static char **matching_clusters(struct admin_run *run, const Pst__AcctCond *where, size_t *ret_n)
{
    const Pst__AcctClusterRecord *c;
    char **names = calloc(am_count(run->a->am, AM_CLUSTER) + 1, sizeof(char *));
    size_t pos = 0, n = 0;

    while (names && (c = (const Pst__AcctClusterRecord *)am_next(run->a->am, AM_CLUSTER, &pos)))
        if (cluster_matches(where, c) && (names[n] = strdup(c->name)))
            n++;
    if (n)
        qsort(names, n, sizeof(char *), order_text);
    *ret_n = n;
    return names;
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}

void cluster_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    size_t n = 0;
    char **names;

    if (!run_is_operator(run)) {
        run_deny(run);
        return;
    }
    if (where->n_names && !*where->names[0]) {
        /* as the incumbent has it: no cluster is named, whatever follows */
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
        return;
    }
    names = matching_clusters(run, where, &n);
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__AcctClusterRecord *rec = run_dup(run, am_cluster(run->a->am, names[i]));
        struct assoc *root = am_root(run->a->am, names[i]);
        uint32_t id = root ? root->id : 0;

        if (rec && set->n_features_add + set->n_features_remove && !set->cluster &&
            cluster_set_federation(run, rec, set)) {
            char at[300];

            (void)snprintf(at, sizeof(at), "(name='%s')", names[i]);
            run_put_cluster(run, rec);
            run_txn(run, "Modify Clusters", names[i], NULL, NULL, at, "features");
        }
        if (rec && set->cluster) {
            char at[300], info[300];

            (void)snprintf(at, sizeof(at), "(name='%s')", names[i]);
            (void)snprintf(info, sizeof(info), "classification=%u", set->cluster->classification);
            if (set->cluster->has_classification) {
                rec->has_classification = 1;
                rec->classification = set->cluster->classification;
            }
            if (cluster_set_federation(run, rec, set))
                run_put_cluster(run, rec);
            run_txn(run, "Modify Clusters", names[i], NULL, NULL, at, info);
        }
        if (rec && id && set_has_assoc(set))
            assoc_modify(run, &id, 1, set, "Modify Clusters");
        run_name(run, names[i]);
        if (rec)
            pst__acct_cluster_record__free_unpacked(rec, NULL);
    }
    free_names(names, n);
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

void cluster_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    size_t n = 0;
    char **names;

    (void)set;
    if (!run_is_admin(run)) {
        run_deny(run);
        return;
    }
    names = matching_clusters(run, where, &n);
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__AcctClusterRecord *rec = run_dup(run, am_cluster(run->a->am, names[i]));
        struct assoc *root = am_root(run->a->am, names[i]);
        uint32_t id = root ? root->id : 0;
        size_t told = run->res->n_assocs;
        char at[300];

        if (!rec)
            break;
        if (id)
            assoc_delete(run, &id, 1);
        while (run->res->n_assocs > told)
            pst__assoc_record__free_unpacked(run->res->assocs[--run->res->n_assocs], NULL);
        wckeys_delete_of(run, names[i]);
        rec->has_deleted = rec->deleted = 1;
        cluster_leave_federation(rec);
        run_put_cluster(run, rec);
        (void)snprintf(at, sizeof(at), "(name='%s')", names[i]);
        run_txn(run, "Remove Clusters", names[i], NULL, NULL, at, "");
        run_name(run, names[i]);
        pst__acct_cluster_record__free_unpacked(rec, NULL);
    }
    free_names(names, n);
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* ---- wckeys ---------------------------------------------------------------------------------- */

void wckey_set_own(struct admin_run *run, const char *name, const char *wckey)
{
    Pst__UserRecord *rec = run_dup(run, am_user(run->a->am, name));

    if (!rec)
        return;
    if (pb_set_str(&rec->default_wckey, wckey && *wckey ? wckey : NULL) < 0)
        run_fail_memory(run);
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    run_put_user(run, rec);
    pst__user_record__free_unpacked(rec, NULL);
}

static void forget_own(struct admin_run *run, const char *name, const char *wckey)
{
    const Pst__UserRecord *u = am_user(run->a->am, name);
    const Pst__WckeyRecord *w;
    size_t pos = 0;

    if (!u || u->deleted || !u->default_wckey || strcmp(u->default_wckey, wckey) != 0)
        return;
    /* The user's own name of a default stands for every cluster: one that still has it keeps it. */
    while ((w = (const Pst__WckeyRecord *)am_next(run->a->am, AM_WCKEY, &pos)))
        if (!w->deleted && w->is_default && strcmp(w->user, name) == 0 &&
            strcmp(w->name, wckey) == 0)
            return;
    wckey_set_own(run, name, NULL);
}

void wckey_set_default(struct admin_run *run, const char *cluster, const char *user,
                       const char *name)
{
    const Pst__WckeyRecord *w;
    uint32_t *ids = NULL;
    size_t n = 0, pos = 0;

    while ((w = (const Pst__WckeyRecord *)am_next(run->a->am, AM_WCKEY, &pos)))
        if (!w->deleted && strcmp(w->cluster, cluster) == 0 && strcmp(w->user, user) == 0 &&
            !!w->is_default != (strcmp(w->name, name) == 0) &&
            id_list_add(&ids, &n, w->wckey_id) < 0)
            run->r = -ENOMEM;
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__WckeyRecord *rec = run_dup(run, am_wckey(run->a->am, ids[i]));

        if (!rec)
            break;
        rec->has_is_default = 1;
        rec->is_default = !rec->is_default;
        run_put_wckey(run, rec);
        pst__wckey_record__free_unpacked(rec, NULL);
    }
    free(ids);
}

/* False: it is there. */
static bool put_wckey(struct admin_run *run, const char *cluster, const char *user,
                      const char *name, bool is_default)
{
    const Pst__WckeyRecord *have = am_wckey_named(run->a->am, cluster, user, name);
    Pst__WckeyRecord w = PST__WCKEY_RECORD__INIT;
    char where[32], info[600];

    if (have && !have->deleted)
        return false;
    w.has_wckey_id = w.has_is_default = w.has_created_us = w.has_modified_us = 1;
    w.wckey_id = run->a->next_wckey++;
    w.cluster = (char *)cluster; /* copied, not changed; likewise below */
    w.user = (char *)user;
    w.name = (char *)name;
    w.created_us = w.modified_us = run->now_us;
    run_put_wckey(run, &w);
    (void)snprintf(where, sizeof(where), "id=%u", w.wckey_id);
    (void)snprintf(info, sizeof(info), "wckey_name='%s', user='%s', is_def=%d", name, user,
                   is_default);
    run_txn(run, "Add WCKeys", cluster, NULL, user, where, info);
    return true;
}

static void add_wckey(struct admin_run *run, const char *cluster, const char *user,
                      const char *name, bool is_default)
{
    char info[600];

    if (!put_wckey(run, cluster, user, name, is_default))
        return;
    (void)snprintf(info, sizeof(info), "C = %-10s W = %-10s U = %-9s", cluster, name, user);
    run_string(run, &run->res->wckeys, &run->res->n_wckeys, info);
    if (is_default || !am_default_wckey(run->a->am, cluster, user))
        wckey_set_default(run, cluster, user, name);
}

void wckey_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    const char **clusters = NULL;
    const char *def = set->user ? set->user->default_wckey : NULL;
    size_t n;

    if (!run_is_operator(run)) {
        run_deny(run);
        return;
    }
    n = cond_clusters(run, where, &clusters);
    for (size_t c = 0; c < n && run_ok(run); c++)
        for (size_t u = 0; u < where->n_users && run_ok(run); u++)
            for (size_t i = 0; i < where->n_names && run_ok(run); i++)
                add_wckey(run, clusters[c], where->users[u], where->names[i],
                          def && strcmp(def, where->names[i]) == 0);
    free(clusters);
}

void wckey_of_job(struct admin_run *run, void *arg)
{
    const struct job_key *k = arg;

    if (am_count(run->a->am, AM_WCKEY) < WCKEYS_OF_JOBS_MAX)
        (void)put_wckey(run, k->cluster, k->user, k->name, false);
}

static bool wckey_matches(const Pst__AcctCond *where, const ProtobufCMessage *rec)
{
    const Pst__WckeyRecord *w = (const Pst__WckeyRecord *)rec;

    return !w->deleted && cond_has(where->names, where->n_names, w->name) &&
           cond_has(where->wckeys, where->n_wckeys, w->name) &&
           cond_has(where->users, where->n_users, w->user) &&
           cond_has(where->clusters, where->n_clusters, w->cluster) &&
           cond_has_id(where->ids, where->n_ids, w->wckey_id);
}

/* The one thing to set: it is the default. */
static void make_wckey_default(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                               const Pst__AcctSet *set)
{
    Pst__WckeyRecord *w = run_dup(run, am_wckey(run->a->am, id));

    (void)where;
    (void)set;
    if (!w)
        return;
    wckey_set_default(run, w->cluster, w->user, w->name);
    run_name(run, w->name);
    pst__wckey_record__free_unpacked(w, NULL);
}

void wckey_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    run_each(run, AM_WCKEY, wckey_matches, make_wckey_default, where, set);
}

static void drop_wckey(struct admin_run *run, uint32_t id)
{
    Pst__WckeyRecord *w = run_dup(run, am_wckey(run->a->am, id));
    char where[32];
    bool was_default;

    if (!w)
        return;
    was_default = w->has_is_default && w->is_default;
    w->has_deleted = w->deleted = 1; /* jobs tell it by its number */
    w->has_is_default = w->is_default = 0;
    run_put_wckey(run, w);
    if (was_default)
        forget_own(run, w->user, w->name);
    (void)snprintf(where, sizeof(where), "(id_wckey=%u)", id);
    run_txn(run, "Remove WCKeys", w->cluster, NULL, w->user, where, "");
    pst__wckey_record__free_unpacked(w, NULL);
}

void wckeys_delete_of(struct admin_run *run, const char *cluster)
{
    Pst__AcctCond cond = PST__ACCT_COND__INIT;
    char *clusters[] = { (char *)cluster }; /* not changed */
    size_t n = 0;
    uint32_t *ids;

    cond.n_clusters = 1;
    cond.clusters = clusters;
    ids = run_matching(run, AM_WCKEY, wckey_matches, &cond, &n);
    for (size_t i = 0; i < n && run_ok(run); i++)
        drop_wckey(run, ids[i]);
    free(ids);
}

static void delete_wckey(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                         const Pst__AcctSet *set)
{
    const Pst__WckeyRecord *w = am_wckey(run->a->am, id);

    (void)where;
    (void)set;
    run_line(run, "C = %-10s W = %-20s U = %-9s", w->cluster, w->name, w->user);
    run_name(run, w->name);
    drop_wckey(run, id);
}

/* Tell the jobs that wait or run with one of the keys: those stay, and so do the others. */
static void check_wckey_jobs(struct admin_run *run, const Pst__AcctCond *where)
{
    size_t n = 0;
    uint32_t *ids = run_matching(run, AM_WCKEY, wckey_matches, where, &n);

    for (size_t i = 0; i < n && run_ok(run); i++) {
        const Pst__WckeyRecord *w = am_wckey(run->a->am, ids[i]);

        run->r = rows_open_jobs(
            run, &(struct open_jobs){ .cluster = w->cluster, .user = w->user, .wckey = w->name });
    }
    free(ids);
    if (run->res->n_lines && run_ok(run))
        run_fail(run, ESLURM_JOBS_RUNNING_ON_ASSOC, NULL);
}

void wckey_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    check_wckey_jobs(run, where);
    if (run_ok(run))
        run_each(run, AM_WCKEY, wckey_matches, delete_wckey, where, set);
}

/* ---- remote licences ------------------------------------------------------------------------- */

#define RESOURCE_ABSOLUTE 1u

static const Pst__ResourceRecord *find_resource(struct admin_run *run, const char *name,
                                                const char *server)
{
    const Pst__ResourceRecord *r;
    size_t pos = 0;

    while ((r = (const Pst__ResourceRecord *)am_next(run->a->am, AM_RESOURCE, &pos)))
        if (strcasecmp(r->name, name) == 0 &&
            strcasecmp(r->server ? r->server : "", server ? server : "") == 0)
            return r;
    return NULL;
}

static Pst__ResourceShare *share_of(const Pst__ResourceRecord *rec, const char *cluster)
{
    for (size_t i = 0; i < rec->n_shares; i++)
        if (strcmp(rec->shares[i]->cluster, cluster) == 0)
            return rec->shares[i];
    return NULL;
}

static int add_share(Pst__ResourceRecord *rec, const char *cluster)
{
    Pst__ResourceShare **more = reallocarray(rec->shares, rec->n_shares + 1, sizeof(*more));
    Pst__ResourceShare *s = malloc(sizeof(*s));

    if (more)
        rec->shares = more;
    if (!more || !s) {
        free(s);
        return -ENOMEM;
    }
    pst__resource_share__init(s);
    s->cluster = strdup(cluster);
    s->has_allowed = 1;
    more[rec->n_shares++] = s;
    return s->cluster ? 0 : -ENOMEM;
}

static bool is_absolute(const Pst__ResourceRecord *rec)
{
    return (rec->flags & RESOURCE_ABSOLUTE) != 0;
}

/* What was given to whom would be too much. */
static void refuse_shares(struct admin_run *run, const Pst__ResourceRecord *rec, uint64_t sum)
{
    const char *unit = is_absolute(rec) ? "" : "%";

    run_fail(run, ESLURM_OVER_ALLOCATE, NULL);
    run_line(run, "%s@%s", rec->name, rec->server ? rec->server : "");
    for (size_t i = 0; i < rec->n_shares; i++)
        run_line(run, " Cluster - %s\t %u%s", rec->shares[i]->cluster, rec->shares[i]->allowed,
                 unit);
    run_line(run, " total\t\t%llu%s", (unsigned long long)sum, unit);
}

/* Not more may be given out than there is: all percents together 100, all counts the number there
 * is. */
static void check_shares(struct admin_run *run, const Pst__ResourceRecord *rec)
{
    uint64_t most = is_absolute(rec) ? rec->count : 100, sum = 0;

    for (size_t i = 0; i < rec->n_shares; i++)
        sum += rec->shares[i]->allowed;
    if (sum > most)
        refuse_shares(run, rec, sum);
}

static void set_shares(struct admin_run *run, Pst__ResourceRecord *rec, const Pst__AcctCond *where,
                       const Pst__AcctSet *set)
{
    for (size_t i = 0; i < where->n_clusters && run->r == 0; i++) {
        const Pst__AcctClusterRecord *c = am_cluster(run->a->am, where->clusters[i]);
        Pst__ResourceShare *s;

        if (!c || c->deleted) {
            run_fail(run, ESLURM_INVALID_CLUSTER_NAME,
                     " This cluster '%s' doesn't exist.\n"
                     "        Contact your admin to add it to accounting.",
                     where->clusters[i]);
            return;
        }
        if (!share_of(rec, c->name))
            run->r = add_share(rec, c->name);
        s = run->r == 0 ? share_of(rec, c->name) : NULL;
        if (s && set->has_allowed)
            s->allowed = set->allowed;
    }
}

/* The shares of the clusters named, of all where none is. */
static void tell_shares(struct admin_run *run, const Pst__ResourceRecord *rec,
                        const Pst__AcctCond *where)
{
    for (size_t i = 0; i < rec->n_shares; i++)
        if (cond_has(where->clusters, where->n_clusters, rec->shares[i]->cluster))
            run_line(run, "Cluster - %s\t- %s@%s", rec->shares[i]->cluster, rec->name,
                     rec->server ? rec->server : "");
}

/* Does each cluster named have a share already? */
static bool all_shared(const Pst__ResourceRecord *rec, const Pst__AcctCond *where)
{
    bool all = true;

    for (size_t i = 0; i < where->n_clusters; i++)
        all = all && share_of(rec, where->clusters[i]);
    return all;
}

static void tell_resource(struct admin_run *run, const Pst__ResourceRecord *rec)
{
    char name[600];

    (void)snprintf(name, sizeof(name), "%s@%s", rec->name, rec->server ? rec->server : "");
    run_name(run, name);
}

/* A resource that is not there yet, or NULL; the caller frees it. */
static Pst__ResourceRecord *new_resource(struct admin_run *run, const char *name,
                                         const char *server, const Pst__AcctSet *set)
{
    Pst__ResourceRecord fresh = PST__RESOURCE_RECORD__INIT;

    if (set->resource)
        fresh = *set->resource;
    if (!fresh.has_count) {
        run_fail(run, SLURM_ERROR, " Need to designate a resource count to initially add '%s'.",
                 name);
        return NULL;
    }
    fresh.has_resource_id = fresh.has_created_us = fresh.has_type = 1;
    fresh.resource_id = run->a->next_resource++;
    fresh.created_us = run->now_us;
    fresh.type = 1;
    if (run->who->rules & ADMIN_ABSOLUTE_RESOURCES) {
        fresh.has_flags = true;
        fresh.flags |= RESOURCE_ABSOLUTE;
    }
    fresh.name = (char *)name; /* copied, not changed; likewise below */
    fresh.server = (char *)server;
    if (!fresh.description)
        fresh.description = (char *)name;
    return run_dup(run, &fresh);
}

static void add_resource(struct admin_run *run, const char *name, const Pst__AcctCond *where,
                         const Pst__AcctSet *set)
{
    const char *server = set->resource && set->resource->server ? set->resource->server : "slurmdb";
    const Pst__ResourceRecord *have = find_resource(run, name, server);
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    Pst__ResourceRecord *rec;
    char at[32];

    if (have && all_shared(have, where))
        return;
    rec = have ? run_dup(run, have) : new_resource(run, name, server, set);
    if (!rec)
        return;
    tell_resource(run, rec);
    set_shares(run, rec, where, set);
    if (run_ok(run))
        check_shares(run, rec);
    if (run_ok(run)) {
        text_fields(&info, &rec->base);
        (void)snprintf(at, sizeof(at), "id=%u", rec->resource_id);
        run_put_resource(run, rec);
        run_txn(run, "Add Resource", NULL, NULL, NULL, at, strbuf_str(&info));
    }
    pst__resource_record__free_unpacked(rec, NULL);
}

void resource_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (!run_is_admin(run)) {
        run_deny_adding(run, where);
        return;
    }
    for (size_t i = 0; i < where->n_names && run_ok(run); i++)
        add_resource(run, where->names[i], where, set);
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

static bool resource_matches(const Pst__AcctCond *where, const ProtobufCMessage *rec)
{
    return cond_resource(where, (const Pst__ResourceRecord *)rec);
}

/* Does it change what the clusters have of it? */
static bool changes_counts(const Pst__ResourceRecord *set)
{
    return set && (set->has_count || set->has_flags || set->has_last_consumed);
}

static void modify_resource(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                            const Pst__AcctSet *set)
{
    Pst__ResourceRecord *rec = run_dup(run, am_resource(run->a->am, id));
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    char at[300];

    if (!rec)
        return;
    if (set->resource && pb_merge(&rec->base, &set->resource->base) < 0)
        run->r = -ENOMEM;
    set_shares(run, rec, where, set);
    if (run_ok(run) && (set->has_allowed || (set->resource && set->resource->has_count)))
        check_shares(run, rec);
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    if (run_ok(run)) {
        if (where->n_clusters || changes_counts(set->resource))
            tell_shares(run, rec, where);
        run_put_resource(run, rec);
    }
    text_fields(&info, set->resource ? &set->resource->base : NULL);
    (void)snprintf(at, sizeof(at), "(id=%u)", rec->resource_id);
    run_txn(run, "Modify Resource", NULL, NULL, NULL, at, strbuf_str(&info));
    tell_resource(run, rec);
    pst__resource_record__free_unpacked(rec, NULL);
}

void resource_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (run_is_admin(run))
        run_each(run, AM_RESOURCE, resource_matches, modify_resource, where, set);
    else
        run_deny(run);
}

/* Whole, or the shares of the clusters named. */
static void drop_resource(struct admin_run *run, Pst__ResourceRecord *rec,
                          const Pst__AcctCond *where)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    size_t keep = 0;

    for (size_t i = 0; i < rec->n_shares; i++) {
        Pst__ResourceShare *s = rec->shares[i];

        if (!cond_has(where->clusters, where->n_clusters, s->cluster)) {
            rec->shares[keep++] = s;
            continue;
        }
        run_line(run, "Cluster - %s\t- %s@%s", s->cluster, rec->name,
                 rec->server ? rec->server : "");
        pst__resource_share__free_unpacked(s, NULL);
    }
    rec->n_shares = keep;
    put.body_case = PST__ACCT_CHANGE__BODY_RESOURCE;
    put.resource = rec;
    if (where->n_clusters)
        run_put(run, &put);
    else
        run_remove(run, &put);
}

static void delete_resource(struct admin_run *run, uint32_t id, const Pst__AcctCond *where,
                            const Pst__AcctSet *set)
{
    Pst__ResourceRecord *rec = run_dup(run, am_resource(run->a->am, id));
    char at[300];

    (void)set;
    if (!rec)
        return;
    tell_resource(run, rec);
    (void)snprintf(at, sizeof(at), "(id=%u)", id);
    drop_resource(run, rec, where);
    run_txn(run, "Remove Resource", NULL, NULL, NULL, at, "");
    pst__resource_record__free_unpacked(rec, NULL);
}

/* Of clusters that were named, one has a share of it. */
static bool deletion_matches(const Pst__AcctCond *where, const ProtobufCMessage *msg)
{
    const Pst__ResourceRecord *rec = (const Pst__ResourceRecord *)msg;
    bool shared = !where->n_clusters;

    for (size_t i = 0; i < rec->n_shares && !shared; i++)
        shared = cond_has(where->clusters, where->n_clusters, rec->shares[i]->cluster);
    return shared && cond_resource(where, rec);
}

void resource_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (run_is_admin(run))
        run_each(run, AM_RESOURCE, deletion_matches, delete_resource, where, set);
    else
        run_deny(run);
}
