/* admin_acct.c - accounts and their coordinators */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"

#define YOUNG_US (86400 * USEC_PER_SEC)

/* ---- accounts -------------------------------------------------------------------------------- */

static void make_account(struct admin_run *run, const char *name, const Pst__AcctSet *set)
{
    const Pst__AccountRecord *given = set->account;
    const char *parent = set->parent ? set->parent : AM_ROOT;
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    Pst__AccountRecord acct = PST__ACCOUNT_RECORD__INIT;

    acct.name = (char *)name; /* copied, not changed; likewise below */
    acct.description = given && given->description ? given->description : (char *)name;
    if (given && given->organization)
        acct.organization = given->organization;
    else
        acct.organization = (char *)(strcasecmp(parent, AM_ROOT) == 0 ? name : parent);
    if (given && given->has_users_are_coords && given->users_are_coords)
        acct.has_users_are_coords = acct.users_are_coords = 1;
    acct.has_created_us = acct.has_modified_us = 1;
    acct.created_us = acct.modified_us = run->now_us;
    strbuf_addf(&info, "description='%s', organization='%s', flags=%u", acct.description,
                acct.organization, acct.users_are_coords ? 1u : 0u);
    run_put_account(run, &acct);
    run_txn(run, "Add Accounts", NULL, name, NULL, name, strbuf_str(&info));
}

/* On some cluster, as the account's users or those above it are. */
static bool coordinates_account(struct admin_run *run, const char *account)
{
    const Pst__AcctClusterRecord *c;
    size_t pos = 0;

    while ((c = (const Pst__AcctClusterRecord *)am_next(run->a->am, AM_CLUSTER, &pos)))
        if (!c->deleted && run_may_account(run, c->name, account))
            return true;
    return run_is_operator(run);
}

/* In one cluster.  False: it was there. */
static bool attach_account(struct admin_run *run, const char *name, const char *cluster,
                           const Pst__AcctSet *set, bool is_new)
{
    const char *above = set->parent ? set->parent : AM_ROOT;
    struct assoc *parent = am_find(run->a->am, cluster, above, NULL, NULL);

    if (am_find(run->a->am, cluster, name, NULL, NULL))
        return false;
    if (!parent) {
        run_fail(run, ESLURM_INVALID_PARENT_ACCOUNT,
                 " error: No parent account '%s' on cluster '%s'", above, cluster);
        return true;
    }
    /* who coordinates an account on one cluster may appoint others and sees its jobs on all: it is
     * not taken by a place below one's own */
    if (!run_may_account(run, cluster, above) || (!is_new && !coordinates_account(run, name))) {
        run_fail(run, ESLURM_ACCESS_DENIED, RUN_NO_PRIVILEGE "\n");
        return true;
    }
    (void)assoc_make(run, cluster, parent, name, NULL, NULL, false,
                     set); /* the run knows of failure */
    return true;
}

void account_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    const char **clusters = NULL;
    size_t n;

    if (!run_is_operator(run) && !run_is_any_coordinator(run)) {
        run_fail(run, ESLURM_ACCESS_DENIED, "Only admins/operators/coordinators can add accounts");
        return;
    }
    for (size_t i = 0; i < where->n_clusters && run_ok(run); i++) {
        const Pst__AcctClusterRecord *c = am_cluster(run->a->am, where->clusters[i]);

        if (!c || c->deleted)
            run_fail(
                run, ESLURM_INVALID_CLUSTER_NAME,
                " error: Cluster '%s' has not been added yet, please contact your admin before "
                "adding accounts to it",
                where->clusters[i]);
    }
    n = cond_clusters(run, where, &clusters);
    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const Pst__AccountRecord *have = am_account(run->a->am, where->names[i]);
        const char *name = where->names[i];
        bool is_new = !have || have->deleted, made = is_new;

        if (!run_good_name(run, name))
            break;
        if (is_new)
            make_account(run, name, set);
        for (size_t c = 0; c < n && run_ok(run); c++) {
            bool attached = attach_account(run, name, clusters[c], set, is_new);

            if (!attached)
                run_line(run, "%sAlready existing account %s on cluster %s",
                         run->res->n_lines ? "" : " ", name, clusters[c]);
            made |= attached;
        }
        if (made && run_ok(run))
            run_name(run, name);
    }
    free(clusters);
    if (run_ok(run) && run->res->n_names == 0)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

static bool account_matches(const Pst__AcctCond *where, const Pst__AccountRecord *a)
{
    return !a->deleted && cond_has(where->names, where->n_names, a->name) &&
           cond_has(where->accounts, where->n_accounts, a->name) &&
           cond_has(where->descriptions, where->n_descriptions, a->description) &&
           cond_has(where->organizations, where->n_organizations, a->organization);
}

/* Names of the accounts that match, sorted; the caller frees list and strings. */
static char **matching_accounts(struct admin_run *run, const Pst__AcctCond *where, size_t *ret_n)
{
    const Pst__AccountRecord *a;
    char **names = calloc(am_count(run->a->am, AM_ACCOUNT) + 1, sizeof(char *));
    size_t pos = 0, n = 0;

    if (!names)
        run->r = run->r ? run->r : -ENOMEM;
    if (names && where->n_names + where->n_accounts == 1) {
        a = am_account(run->a->am, where->n_names ? where->names[0] : where->accounts[0]);
        if (a && account_matches(where, a) && (names[0] = strdup(a->name)))
            n = 1;
    } else {
        while (names && (a = (const Pst__AccountRecord *)am_next(run->a->am, AM_ACCOUNT, &pos)))
            if (account_matches(where, a) && (names[n] = strdup(a->name)))
                n++;
    }
    if (names)
        qsort(names, n, sizeof(char *), order_text);
    *ret_n = n;
    return names;
}

static void free_names(char **names, size_t n)
{
    for (size_t i = 0; i < n; i++)
        free(names[i]);
    free(names);
}

static void modify_account(struct admin_run *run, const char *name, const Pst__AccountRecord *given)
{
    Pst__AccountRecord *rec = run_dup(run, am_account(run->a->am, name));
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    char where[300];
    int r = 0;

    if (!rec)
        return;
    if (given->description)
        r = pb_set_str(&rec->description, given->description);
    if (r == 0 && given->organization)
        r = pb_set_str(&rec->organization, given->organization);
    if (given->has_users_are_coords)
        rec->has_users_are_coords = rec->users_are_coords = given->users_are_coords;
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    if (r < 0 && run->r == 0)
        run->r = r;
    run_put_account(run, rec);
    text_fields(&info, &given->base);
    (void)snprintf(where, sizeof(where), "(name='%s')", name);
    run_txn(run, "Modify Accounts", NULL, name, NULL, where, strbuf_str(&info));
    run_name(run, name);
    pst__account_record__free_unpacked(rec, NULL);
}

/* A condition on associations that selects the accounts' own. */
static Pst__AcctCond assoc_condition(const Pst__AcctCond *where, char **names, size_t n)
{
    Pst__AcctCond cond = *where;

    cond.n_names = cond.n_descriptions = cond.n_organizations = 0;
    cond.accounts = names;
    cond.n_accounts = n;
    cond.has_no_users = cond.no_users = 1;
    return cond;
}

/* A coordinator changes what is below his account, not the account itself, and moves nothing out
 * of his accounts. */
static bool may_all(struct admin_run *run, const uint32_t *ids, size_t n, const Pst__AcctSet *set)
{
    for (size_t i = 0; i < n && !run_is_operator(run); i++) {
        struct assoc *a = am_assoc(run->a->am, ids[i]);

        if (!a->parent || !run_may_account(run, a->rec->cluster, a->parent->rec->account) ||
            (set->parent && !run_may_account(run, a->rec->cluster, set->parent)))
            return false;
    }
    return true;
}

void account_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    size_t n_names, n = 0;
    char **names;
    uint32_t *ids = NULL;

    if (!run_is_operator(run) && !run_is_any_coordinator(run)) {
        run_deny(run);
        return;
    }
    names = matching_accounts(run, where, &n_names);
    if (set->account && !run_is_operator(run) && n_names)
        run_deny(run);
    for (size_t i = 0; set->account && i < n_names && run_ok(run); i++)
        modify_account(run, names[i], set->account);
    if (set_has_assoc(set) && n_names && run_ok(run)) {
        Pst__AcctCond cond = assoc_condition(where, names, n_names);

        cond.no_users = where->n_users == 0; /* user=alice: hers in these accounts */
        ids = cond_assocs(run, &cond, &n);
        if (!may_all(run, ids, n, set))
            run_deny(run);
        else
            assoc_modify(run, ids, n, set, "Modify Associations");
        free(ids);
    }
    free_names(names, n_names);
    if (run_ok(run) && !run->res->n_names && !run->res->n_assocs)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* The account itself, once nothing is attached any more.  jobs: some ran under it. */
static void drop_account(struct admin_run *run, const char *name, bool jobs)
{
    Pst__AccountRecord *rec = run_dup(run, am_account(run->a->am, name));
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    char where[300];

    if (!rec)
        return;
    put.body_case = PST__ACCT_CHANGE__BODY_ACCOUNT;
    put.account = rec;
    if (jobs || run->now_us - rec->created_us > YOUNG_US) {
        rec->has_deleted = rec->deleted = 1;
        rec->has_modified_us = 1;
        rec->modified_us = run->now_us;
        run_put(run, &put);
    } else {
        run_remove(run, &put);
    }
    (void)snprintf(where, sizeof(where), "(name='%s')", name);
    run_txn(run, "Remove Accounts", NULL, name, NULL, where, "");
    pst__account_record__free_unpacked(rec, NULL);
}

static bool is_attached(struct admin_run *run, const char *name)
{
    const Pst__AcctClusterRecord *c;
    size_t pos = 0;

    while ((c = (const Pst__AcctClusterRecord *)am_next(run->a->am, AM_CLUSTER, &pos)))
        if (!c->deleted && am_find(run->a->am, c->name, name, NULL, NULL))
            return true;
    return false;
}

static bool left_a_trace(struct admin_run *run, size_t deleted_before)
{
    return run->a->deleted_assocs > deleted_before;
}

/* Leaves those of the accounts that stand below one of the parents that are named. */
static void keep_children(struct admin_run *run, const Pst__AcctCond *where, char **names,
                          size_t *n_names)
{
    Pst__AcctCond cond = assoc_condition(where, names, *n_names);
    size_t n = 0, kept = 0;
    uint32_t *ids = cond_assocs(run, &cond, &n);

    for (size_t i = 0; i < *n_names; i++) {
        bool found = false;

        for (size_t k = 0; k < n && !found; k++)
            found = strcasecmp(am_assoc(run->a->am, ids[k])->rec->account, names[i]) == 0;
        if (found)
            names[kept++] = names[i];
        else
            free(names[i]);
    }
    *n_names = kept;
    free(ids);
}

void account_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    bool of_users = where->n_users > 0; /* user=alice: hers in these accounts, which stay */
    size_t n_names, n = 0, before = run->a->deleted_assocs;
    char **names;

    (void)set;
    names = matching_accounts(run, where, &n_names);
    if (!run_is_operator(run))
        run_deny(run); /* coordinators may not, whatever they name */
    if (where->n_parents && n_names && run_ok(run))
        keep_children(run, where, names, &n_names);
    for (size_t i = 0; i < n_names && run_ok(run); i++)
        if (strcmp(names[i], AM_ROOT) == 0)
            run_fail(
                run, ESLURM_ACCESS_DENIED,
                " You are not allowed to remove the root account.\n Use remove cluster instead.");
    if (n_names && run_ok(run)) {
        Pst__AcctCond cond = assoc_condition(where, names, n_names);
        uint32_t *ids;

        cond.no_users = !of_users;
        ids = cond_assocs(run, &cond, &n);
        /* all at once: a user with a default among them loses the rest too */
        assoc_delete(run, ids, n);
        free(ids);
    }
    for (size_t i = 0; !of_users && i < n_names && run_ok(run); i++) {
        bool attached = is_attached(run, names[i]);

        if (attached && !n && where->n_clusters)
            continue; /* it is not on these clusters */
        if (!attached)
            drop_account(run, names[i], left_a_trace(run, before));
        if (run_ok(run))
            run_name(run, names[i]);
    }
    free_names(names, n_names);
    if (run_ok(run) && !(of_users ? run->res->n_assocs : run->res->n_names))
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* ---- coordinators ---------------------------------------------------------------------------- */

static bool is_coordinator(const Pst__AccountRecord *a, const char *user)
{
    for (size_t i = 0; i < a->n_coordinators; i++)
        if (strcmp(a->coordinators[i], user) == 0)
            return true;
    return false;
}

static int add_coordinator(Pst__AccountRecord *rec, const char *user)
{
    char **more = reallocarray(rec->coordinators, rec->n_coordinators + 1, sizeof(char *));
    char *copy = strdup(user);

    if (more)
        rec->coordinators = more;
    if (!more || !copy) {
        free(copy);
        return -ENOMEM;
    }
    more[rec->n_coordinators++] = copy;
    return 0;
}

static void remove_coordinator(Pst__AccountRecord *rec, const char *user)
{
    size_t keep = 0;

    for (size_t i = 0; i < rec->n_coordinators; i++) {
        if (strcmp(rec->coordinators[i], user) == 0)
            free(rec->coordinators[i]);
        else
            rec->coordinators[keep++] = rec->coordinators[i];
    }
    rec->n_coordinators = keep;
}

/* One account: users appointed or dismissed. */
static void coord_change(struct admin_run *run, const char *account, const Pst__AcctCond *where,
                         bool add)
{
    const Pst__AccountRecord *have = am_account(run->a->am, account);
    bool all = !add && !where->n_users; /* of the account, when no one is named */
    size_t n = all && have ? have->n_coordinators : where->n_users;
    char *const *users = all && have ? have->coordinators : where->users;
    Pst__AccountRecord *rec;
    size_t changed = 0;

    if (!coordinates_account(run, account)) {
        run_deny(run);
        return;
    }
    rec = run_dup(run, have);
    for (size_t i = 0; rec && i < n && run->r == 0; i++) {
        if (is_coordinator(rec, users[i]) == add)
            continue;
        if (add)
            run->r = add_coordinator(rec, users[i]);
        else
            remove_coordinator(rec, users[i]);
        changed++;
        run_txn(run, add ? "Add Account Coord" : "Remove Account Coord", NULL, account, users[i],
                users[i], account);
        if (!add)
            run_line(run, "U = %-9s A = %-10s", users[i], account);
    }
    if (rec && changed && run_ok(run))
        run_put_account(run, rec);
    if (run_ok(run) && (add || changed)) /* appointing twice is no mistake */
        run_name(run, account);
    if (rec)
        pst__account_record__free_unpacked(rec, NULL);
}

/* Every name that is none, accounts first. */
static void check_names(struct admin_run *run, const Pst__AcctCond *where)
{
    _cleanup_val_(strbuf_done) struct strbuf told = STRBUF_INIT;
    bool account = false;

    for (size_t i = 0; i < where->n_accounts; i++) {
        const Pst__AccountRecord *a = am_account(run->a->am, where->accounts[i]);

        if (a && !a->deleted)
            continue;
        strbuf_addf(&told, "%s You specified a non-existent account '%s'.", told.len ? "\n" : "",
                    where->accounts[i]);
        account = true;
    }
    for (size_t i = 0; i < where->n_users; i++) {
        const Pst__UserRecord *u = am_user(run->a->am, where->users[i]);

        if (!u || u->deleted)
            strbuf_addf(&told, "%s You specified a non-existent user '%s'.", told.len ? "\n" : "",
                        where->users[i]);
    }
    if (told.len)
        run_fail(run, account ? ESLURM_INVALID_ACCOUNT : ESLURM_USER_ID_MISSING, "%s",
                 strbuf_str(&told));
}

void coord_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    (void)set;
    check_names(run, where);
    for (size_t i = 0; i < where->n_accounts && run_ok(run); i++)
        coord_change(run, where->accounts[i], where, true);
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

static bool coordinates_any(struct admin_run *run, const char *account, const Pst__AcctCond *where)
{
    const Pst__AccountRecord *a = am_account(run->a->am, account);

    for (size_t i = 0; a && i < where->n_users; i++)
        if (is_coordinator(a, where->users[i]))
            return true;
    return false;
}

void coord_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    Pst__AcctCond all = *where;
    size_t n = 0;
    char **names;

    (void)set;
    check_names(run, where);
    all.n_users = 0;
    all.n_names = 0;
    names = matching_accounts(run, &all, &n);
    for (size_t i = 0; i < n && run_ok(run); i++)
        if (where->n_accounts || coordinates_any(run, names[i], where))
            coord_change(run, names[i], where, false);
    free_names(names, n);
    if (run_ok(run) && !run->res->n_names)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}
