/* admin_user.c - users: their associations, default accounts, rights and names */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"

#define YOUNG_US (86400 * USEC_PER_SEC)

/* ---- default accounts ------------------------------------------------------------------------ */

static void set_is_default(struct admin_run *run, uint32_t id, bool is)
{
    Pst__AssocRecord *rec = run_dup(run, am_assoc(run->a->am, id)->rec);

    if (!rec)
        return;
    rec->has_is_default = rec->is_default = is;
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    run_put_assoc(run, rec);
    pst__assoc_record__free_unpacked(rec, NULL);
}

void user_set_default(struct admin_run *run, const char *cluster, const char *user,
                      const char *account)
{
    uint32_t change[256];
    bool to[256];
    size_t n = 0;

    for (struct assoc *a = am_of_user(run->a->am, user); a && n < ARRAY_SIZE(change);
         a = a->next_of_user) {
        bool is = strcasecmp(a->rec->account, account) == 0;

        if (strcasecmp(a->rec->cluster, cluster) != 0 || !!a->rec->is_default == is)
            continue;
        change[n] = a->id;
        to[n++] = is;
    }
    for (size_t i = 0; i < n; i++)
        set_is_default(run, change[i], to[i]);
}

/* ---- adding ---------------------------------------------------------------------------------- */

static bool add_user_record(struct admin_run *run, const char *name, const Pst__AcctSet *set)
{
    const Pst__UserRecord *have = am_user(run->a->am, name);
    Pst__UserRecord u = PST__USER_RECORD__INIT;
    char info[64];

    if (have && !have->deleted)
        return false;
    u.name = (char *)name; /* copied, not changed */
    u.has_admin_level = u.has_created_us = u.has_modified_us = 1;
    u.admin_level = set->user && set->user->has_admin_level ? set->user->admin_level
                                                            : PST__ADMIN_LEVEL__ADMIN_NONE;
    u.default_wckey = set->user ? set->user->default_wckey : NULL;
    u.created_us = u.modified_us = run->now_us;
    run_put_user(run, &u);
    (void)snprintf(info, sizeof(info), "admin_level=%d", u.admin_level);
    run_txn(run, "Add Users", NULL, NULL, name, name, info);
    return true;
}

static void attach_user(struct admin_run *run, const char *name, const char *cluster,
                        const char *account, const char *partition, bool is_default,
                        const Pst__AcctSet *set)
{
    struct assoc *parent = am_find(run->a->am, cluster, account, NULL, NULL);

    if (!parent || am_find(run->a->am, cluster, account, name, partition))
        return;
    (void)assoc_make(run, cluster, parent, account, name, partition, is_default,
                     set); /* failure sticks */
}

static const char *default_for(struct admin_run *run, const char *name, const char *cluster,
                               const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (set->default_account && am_find(run->a->am, cluster, set->default_account, NULL, NULL))
        return set->default_account;
    if (am_default_account(run->a->am, cluster, name))
        return NULL; /* stays */
    for (size_t i = 0; i < where->n_accounts; i++)
        if (am_find(run->a->am, cluster, where->accounts[i], NULL, NULL))
            return where->accounts[i];
    return NULL;
}

static void deny_adding_user(struct admin_run *run, const char *why)
{
    run_fail(run, ESLURM_ACCESS_DENIED,
             "Problem adding user associations: Access/permission denied (%s)", why);
}

/* Who is added to what. */
struct addition {
    const Pst__AcctCond *where;
    const Pst__AcctSet *set;
    const char **accounts; /* those named, and the default one */
    size_t n_accounts;
    const char **clusters;
    size_t n_clusters;
};

static void check_accounts(struct admin_run *run, const struct addition *add)
{
    for (size_t c = 0; c < add->n_clusters && run_ok(run); c++)
        for (size_t i = 0; i < add->n_accounts && run_ok(run); i++)
            if (!run_may_account(run, add->clusters[c], add->accounts[i]))
                deny_adding_user(run, RUN_NO_PRIVILEGE "\n");
}

/* Accounts that are missing in a cluster are told of once. */
static void tell_missing(struct admin_run *run, const struct addition *add, const char *cluster)
{
    for (size_t i = 0; i < add->n_accounts && run_ok(run); i++)
        if (!am_find(run->a->am, cluster, add->accounts[i], NULL, NULL))
            run_line(run, "No account %s on cluster %s, skipping.", add->accounts[i], cluster);
}

static bool is_attachable(struct admin_run *run, const struct addition *add)
{
    for (size_t c = 0; c < add->n_clusters; c++)
        for (size_t k = 0; k < add->n_accounts; k++)
            if (am_find(run->a->am, add->clusters[c], add->accounts[k], NULL, NULL))
                return true;
    return add->n_accounts == 0;
}

/* The users in one account, each with all partitions. */
static void add_users_to(struct admin_run *run, const struct addition *add, const char *cluster,
                         const char *account)
{
    const Pst__AcctCond *where = add->where;

    for (size_t i = 0; i < where->n_names && run_ok(run); i++) {
        const char *name = where->names[i];
        const char *def = default_for(run, name, cluster, where, add->set);
        const char *old = am_default_account(run->a->am, cluster, name);
        const char *is = old ? old : def;

        for (size_t p = 0; p < MAX(where->n_partitions, 1u) && run_ok(run); p++)
            attach_user(run, name, cluster, account,
                        where->n_partitions ? where->partitions[p] : NULL,
                        is && strcasecmp(is, account) == 0, add->set);
    }
}

/* In one cluster, in the order in which the accounts were made. */
static void add_users_to_cluster(struct admin_run *run, const struct addition *add,
                                 const char *cluster)
{
    uint32_t *ids = NULL;
    size_t n = 0;

    for (size_t i = 0; i < add->n_accounts; i++) {
        struct assoc *a = am_find(run->a->am, cluster, add->accounts[i], NULL, NULL);

        if (a && id_list_add(&ids, &n, a->id) < 0)
            run_fail_memory(run);
    }
    for (size_t i = 0; i < n && run_ok(run); i++) {
        _cleanup_free_ char *account = strdup(am_assoc(run->a->am, ids[i])->rec->account);

        if (account)
            add_users_to(run, add, cluster, account);
        else
            run_fail_memory(run);
    }
    free(ids);
    if (!add->set->default_account ||
        !am_find(run->a->am, cluster, add->set->default_account, NULL, NULL))
        return; /* a default account that is not there is told of as others are */
    for (size_t i = 0; n && i < add->where->n_names && run_ok(run); i++) {
        const char *old = am_default_account(run->a->am, cluster, add->where->names[i]);

        if (old && strcasecmp(old, add->set->default_account) != 0) {
            if (run_is_operator(run))
                user_set_default(run, cluster, add->where->names[i], add->set->default_account);
            else
                deny_adding_user(run, RUN_NO_PRIVILEGE "\n");
        }
    }
}

/* Keys of a user; the first one becomes the default where there is none. */
static void add_wckeys(struct admin_run *run, const char *name, const Pst__AcctCond *where,
                       const Pst__AcctSet *set)
{
    const char *def = set->user ? set->user->default_wckey : NULL;
    const Pst__UserRecord *u = am_user(run->a->am, name);
    Pst__AcctCond keys = *where;
    Pst__AcctSet one = PST__ACCT_SET__INIT;
    Pst__UserRecord with = PST__USER_RECORD__INIT;
    char *users[] = { (char *)name }; /* not changed, as is the default below */
    char **names = calloc(set->n_wckeys + 1, sizeof(char *));

    if (!names) {
        run_fail_memory(run);
        return;
    }
    keys.n_users = 1;
    keys.users = users;
    keys.names = names;
    keys.n_names = set->n_wckeys;
    for (size_t i = 0; i < set->n_wckeys; i++)
        names[i] = set->wckeys[i];
    if (def && *def && !(set->n_wckeys && cond_has(set->wckeys, set->n_wckeys, def)))
        names[keys.n_names++] = (char *)def;
    if (!def && keys.n_names && u && !(u->default_wckey && *u->default_wckey))
        def = names[0];
    with.default_wckey = (char *)def;
    one.user = &with;
    if (keys.n_names)
        wckey_add(run, &keys, &one);
    if (def && run_ok(run))
        wckey_set_own(run, name, def);
    free(names);
}

/* Users that are not there yet are made, unless no account takes them. */
static void add_user_records(struct admin_run *run, const struct addition *add)
{
    for (size_t i = 0; i < add->where->n_names && run_ok(run); i++) {
        const char *name = add->where->names[i];

        if (run_good_name(run, name) && add_user_record(run, name, add->set))
            run_name(run, name);
    }
}

static bool may_add_users(struct admin_run *run, const Pst__AcctCond *where,
                          const Pst__AcctSet *set)
{
    /* The incumbent lets an operator make operators; here nobody hands on a right by himself. */
    if (set->user && set->user->has_admin_level && set->user->admin_level && !run_is_admin(run))
        deny_adding_user(run, "Only admins/operators can add an admin/operator");
    else if (!run_is_operator(run) && !run_is_any_coordinator(run))
        deny_adding_user(run, "Only admins/operators/coordinators can add accounts");
    else if (!run_is_operator(run) && (set->n_wckeys || !where->n_accounts))
        deny_adding_user(run, RUN_NO_PRIVILEGE "\n");
    return run_ok(run);
}

static void carry_out_addition(struct admin_run *run, const struct addition *add)
{
    bool may_attach = is_attachable(run, add);

    check_accounts(run, add);
    if (run_ok(run) && may_attach)
        add_user_records(run, add);
    for (size_t c = 0; c < add->n_clusters && run_ok(run); c++) {
        if (may_attach)
            add_users_to_cluster(run, add, add->clusters[c]);
        tell_missing(run, add, add->clusters[c]);
    }
    if (!run_ok(run) || !may_attach)
        return;
    for (size_t i = 0; i < add->where->n_names && run_ok(run); i++)
        add_wckeys(run, add->where->names[i], add->where, add->set);
}

void user_add(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    struct addition add = { .where = where, .set = set };
    const char *def = set->default_account;

    if (!may_add_users(run, where, set))
        return;
    add.accounts = calloc(where->n_accounts + 1, sizeof(char *));
    add.n_clusters = cond_known_clusters(run, where, &add.clusters);
    if (!add.accounts)
        run_fail_memory(run);
    for (size_t i = 0; add.accounts && i < where->n_accounts; i++)
        add.accounts[add.n_accounts++] = where->accounts[i];
    if (add.accounts && def && *def &&
        !(where->n_accounts && cond_has(where->accounts, where->n_accounts, def)))
        add.accounts[add.n_accounts++] = def;
    if (run_ok(run) && (add.n_clusters || !where->n_clusters))
        carry_out_addition(run, &add);
    for (size_t c = 0; c < where->n_clusters; c++)
        if (!cond_is_cluster(run, where->clusters[c]))
            tell_missing(run, &add, where->clusters[c]);
    free(add.accounts);
    free(add.clusters);
    if (run_ok(run) && !run->res->n_names && !run->res->n_assocs && !run->res->n_wckeys)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static bool default_account_matches(struct admin_run *run, const Pst__AcctCond *where,
                                    const char *name)
{
    for (struct assoc *a = am_of_user(run->a->am, name); a && where->n_default_accounts;
         a = a->next_of_user)
        if (a->rec->is_default &&
            cond_has(where->default_accounts, where->n_default_accounts, a->rec->account))
            return true;
    return where->n_default_accounts == 0;
}

static bool user_matches(struct admin_run *run, const Pst__AcctCond *where,
                         const Pst__UserRecord *u)
{
    return !u->deleted && cond_has(where->names, where->n_names, u->name) &&
           cond_has(where->users, where->n_users, u->name) &&
           (!where->has_admin_level || where->admin_level == u->admin_level) &&
           cond_has(where->default_wckeys, where->n_default_wckeys, u->default_wckey) &&
           default_account_matches(run, where, u->name);
}

static char **matching_users(struct admin_run *run, const Pst__AcctCond *where, size_t *ret_n)
{
    char *const *named = where->n_names ? where->names : where->users;
    size_t n_named = where->n_names ? where->n_names : where->n_users;
    char **names = calloc(am_count(run->a->am, AM_USER) + n_named + 1, sizeof(char *));
    const Pst__UserRecord *u;
    size_t n = 0, pos = 0;

    if (!names)
        run->r = run->r ? run->r : -ENOMEM;
    for (size_t i = 0; names && i < n_named; i++) {
        u = am_user(run->a->am, named[i]);
        if (u && user_matches(run, where, u) && (names[n] = strdup(u->name)))
            n++;
    }
    while (names && !n_named && (u = (const Pst__UserRecord *)am_next(run->a->am, AM_USER, &pos)))
        if (user_matches(run, where, u) && (names[n] = strdup(u->name)))
            n++;
    if (names)
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

/* Associations of the users chosen, as far as the rest of the condition goes. */
static uint32_t *user_assocs(struct admin_run *run, const Pst__AcctCond *where, char **names,
                             size_t n_names, size_t *ret_n)
{
    Pst__AcctCond cond = *where;

    cond.n_names = cond.n_default_accounts = cond.n_default_wckeys = 0;
    cond.users = names;
    cond.n_users = n_names;
    *ret_n = 0;
    return n_names ? cond_assocs(run, &cond, ret_n) : NULL;
}

/* ---- changing -------------------------------------------------------------------------------- */

static bool is_self(const struct admin_run *run, char **names, size_t n)
{
    return n == 1 && strcmp(names[0], run->who->user) == 0;
}

/* May he change the user's own record? */
static bool may_user(struct admin_run *run, const char *name)
{
    return run_is_operator(run) || strcmp(name, run->who->user) == 0;
}

static void change_default_account(struct admin_run *run, const char *name,
                                   const Pst__AcctCond *where, const char *account)
{
    const char **clusters = NULL;
    size_t n = cond_clusters(run, where, &clusters);
    bool any = false, none = account[0] == '\0' && run->who->rules & ADMIN_NO_DEFAULT_ACCOUNT;

    if (!account[0] && !none) {
        run_fail(run, ESLURM_NO_REMOVE_DEFAULT_ACCOUNT, NULL);
        free(clusters);
        return;
    }

    for (size_t c = 0; c < n && run_ok(run); c++) {
        bool in_cluster = false, has = none;

        for (struct assoc *a = am_of_user(run->a->am, name); a; a = a->next_of_user)
            if (strcmp(a->rec->cluster, clusters[c]) == 0) {
                in_cluster = true;
                has |= strcasecmp(a->rec->account, account) == 0;
            }
        if (!has && (in_cluster || n == 1 || where->n_clusters)) {
            run_line(run, "U = %s C = %s", name, clusters[c]);
            continue;
        }
        if (has) {
            user_set_default(run, clusters[c], name, account);
            any = true;
        }
    }
    if (!any && run_ok(run) && !run->res->n_lines && n)
        run_line(run, "U = %s C = %s", name, clusters[0]);
    free(clusters);
}

/* In the clusters chosen: a key that the user has there. */
static void change_default_wckey(struct admin_run *run, Pst__UserRecord *rec,
                                 const Pst__AcctCond *where, const char *wckey)
{
    const char **clusters = NULL;
    size_t n = cond_clusters(run, where, &clusters);
    bool any = false;

    for (size_t c = 0; c < n && run_ok(run) && *wckey; c++) {
        const Pst__WckeyRecord *w = am_wckey_named(run->a->am, clusters[c], rec->name, wckey);

        if (!w || w->deleted)
            continue;
        wckey_set_default(run, clusters[c], rec->name, wckey);
        any = true;
    }
    if (!any && run_ok(run))
        run_line(run, "U = %s C = %s", rec->name, n ? clusters[0] : "");
    else if (pb_set_str(&rec->default_wckey, *wckey ? wckey : NULL) < 0)
        run_fail_memory(run);
    free(clusters);
}

static void modify_user_record(struct admin_run *run, const char *name, const Pst__AcctCond *where,
                               const Pst__AcctSet *set)
{
    Pst__UserRecord *rec = run_dup(run, am_user(run->a->am, name));
    _cleanup_val_(strbuf_done) struct strbuf info = STRBUF_INIT;
    char text[300];

    if (!rec)
        return;
    if (set->user && set->user->has_admin_level) {
        rec->has_admin_level = 1;
        rec->admin_level = set->user->admin_level;
        strbuf_addf(&info, "admin_level=%d", rec->admin_level);
    }
    if (set->user && set->user->default_wckey) {
        change_default_wckey(run, rec, where, set->user->default_wckey);
        strbuf_addf(&info, "%sdefault_wckey='%s'", info.len ? ", " : "", set->user->default_wckey);
    }
    if (set->default_account) {
        change_default_account(run, name, where, set->default_account);
        strbuf_addf(&info, "%sdefault_acct='%s'", info.len ? ", " : "", set->default_account);
    }
    rec->has_modified_us = 1;
    rec->modified_us = run->now_us;
    run_put_user(run, rec);
    (void)snprintf(text, sizeof(text), "(name='%s')", name);
    run_txn(run, "Modify Users", NULL, NULL, name, text, strbuf_str(&info));
    run_name(run, name);
    pst__user_record__free_unpacked(rec, NULL);
}

static void rename_assocs(struct admin_run *run, const char *name, const char *to)
{
    Pst__AcctCond cond = PST__ACCT_COND__INIT;
    char *users[] = { (char *)name }; /* not changed */
    size_t n = 0;
    uint32_t *ids;

    cond.n_users = 1;
    cond.users = users;
    cond.has_with_deleted = cond.with_deleted = 1;
    ids = cond_assocs(run, &cond, &n);
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__AssocRecord *a = run_dup(run, am_assoc(run->a->am, ids[i])->rec);

        if (a && pb_set_str(&a->user, to) == 0)
            run_put_assoc(run, a);
        if (a)
            pst__assoc_record__free_unpacked(a, NULL);
    }
    free(ids);
}

static bool is_key_of(const Pst__AcctCond *where, const ProtobufCMessage *rec)
{
    return strcmp(((const Pst__WckeyRecord *)rec)->user, where->users[0]) == 0;
}

static void rename_wckeys(struct admin_run *run, const char *name, const char *to)
{
    Pst__AcctCond cond = PST__ACCT_COND__INIT;
    char *users[] = { (char *)name }; /* not changed */
    size_t n = 0;
    uint32_t *ids;

    cond.n_users = 1;
    cond.users = users;
    ids = run_matching(run, AM_WCKEY, is_key_of, &cond, &n);
    for (size_t i = 0; i < n && run_ok(run); i++) {
        Pst__WckeyRecord *w = run_dup(run, am_wckey(run->a->am, ids[i]));

        if (w && pb_set_str(&w->user, to) == 0)
            run_put_wckey(run, w);
        if (w)
            pst__wckey_record__free_unpacked(w, NULL);
    }
    free(ids);
}

/* The place of a coordinator in the list of an account; n_coordinators: no such one. */
static size_t place_of_coordinator(const Pst__AccountRecord *a, const char *name)
{
    size_t at = 0;

    while (at < a->n_coordinators && strcmp(a->coordinators[at], name) != 0)
        at++;
    return at;
}

static void rename_coordinator(struct admin_run *run, const char *name, const char *to)
{
    const Pst__AccountRecord *a;
    Pst__AccountRecord **changed =
        calloc(am_count(run->a->am, AM_ACCOUNT) + 1, sizeof(Pst__AccountRecord *));
    size_t n = 0, pos = 0;

    if (!changed)
        run_fail_memory(run);
    while (changed && (a = (const Pst__AccountRecord *)am_next(run->a->am, AM_ACCOUNT, &pos)))
        if (place_of_coordinator(a, name) < a->n_coordinators && (changed[n] = run_dup(run, a)))
            n++;
    for (size_t i = 0; i < n; i++) { /* not in the walk: a change moves records */
        if (pb_set_str(&changed[i]->coordinators[place_of_coordinator(changed[i], name)], to) < 0)
            run_fail_memory(run);
        if (run_ok(run))
            run_put_account(run, changed[i]);
        pst__account_record__free_unpacked(changed[i], NULL);
    }
    free(changed);
}

/* Another login name: every record that names the user. */
static void rename_user(struct admin_run *run, const char *name, const char *to)
{
    Pst__UserRecord *rec = run_dup(run, am_user(run->a->am, name));
    Pst__AcctChange old = PST__ACCT_CHANGE__INIT;
    char where[300], info[300];

    old.body_case = PST__ACCT_CHANGE__BODY_USER;
    old.user = rec;
    if (rec)
        run_remove(run, &old);
    if (rec && run->r == 0)
        run->r = pb_set_str(&rec->name, to);
    if (rec && run_ok(run))
        run_put_user(run, rec);
    rename_assocs(run, name, to);
    rename_wckeys(run, name, to);
    rename_coordinator(run, name, to);
    (void)snprintf(where, sizeof(where), "(name='%s')", name);
    (void)snprintf(info, sizeof(info), "name='%s'", to);
    run_txn(run, "Modify Users", NULL, NULL, to, where, info);
    if (rec)
        pst__user_record__free_unpacked(rec, NULL);
    run_name(run, name);
}

static bool sets_user(const Pst__AcctSet *set)
{
    return set->default_account ||
           (set->user && (set->user->has_admin_level || set->user->default_wckey));
}

static void modify_records(struct admin_run *run, char **names, size_t n,
                           const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    if (set->user && set->user->has_admin_level && !run_is_admin(run)) {
        if (run_is_operator(run))
            run_fail(run, ESLURM_ACCESS_DENIED,
                     "You must be a super user to modify a users admin level");
        else if (is_self(run, names, n))
            run_fail(run, ESLURM_ACCESS_DENIED,
                     "You can only change your own default account, default wckey nothing else");
        else
            run_deny(run);
        return;
    }
    for (size_t i = 0; i < n && run_ok(run) && sets_user(set); i++) {
        if (may_user(run, names[i]))
            modify_user_record(run, names[i], where, set);
        else
            run_deny(run);
    }
    if (set->default_account && run->res->n_lines && run_ok(run))
        run_fail(
            run, ESLURM_INVALID_ACCOUNT,
            "Can't modify because these users aren't associated with new default account '%s'...",
            set->default_account);
    else if (set->user && set->user->default_wckey && run->res->n_lines && run_ok(run))
        run_fail(run, ESLURM_INVALID_WCKEY,
                 "Can't modify because these users aren't associated with new default wckey '%s'"
                 "...",
                 set->user->default_wckey);
    if (set->new_name && run_ok(run) && n == 1) {
        const Pst__UserRecord *taken = am_user(run->a->am, set->new_name);

        if (!run_is_operator(run))
            run_deny(run);
        else if (!run_good_name(run, set->new_name))
            ; /* told */
        else if (taken && !taken->deleted)
            run_fail(run, SLURM_ERROR, "Something was wrong with your query");
        else
            rename_user(run, names[0], set->new_name);
    }
}

static bool may_assocs(struct admin_run *run, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n && !run_is_operator(run); i++) {
        struct assoc *a = am_assoc(run->a->am, ids[i]);

        if (!run_may_account(run, a->rec->cluster, a->rec->account))
            return false;
    }
    return true;
}

/* A plain user may choose among what he has. */
static bool sets_own_choice(const Pst__AcctSet *set)
{
    const Pst__AssocRecord *a = set->assoc;

    return !set->clear_qos && !set->parent && !set->reset_usage &&
           (!a || (!a->has_shares && !a->has_shares_parent && !a->has_priority && !a->limits &&
                   !a->n_qos_ids && !a->n_qos_added && !a->n_qos_removed && !a->comment));
}

void user_modify(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    size_t n_names, n = 0;
    char **names = matching_users(run, where, &n_names);
    bool self = is_self(run, names, n_names);

    if (!run_is_operator(run) && !self && !run_is_any_coordinator(run)) {
        run_deny(run);
    } else {
        if (set_has_assoc(set)) {
            uint32_t *ids = user_assocs(run, where, names, n_names, &n);

            if (may_assocs(run, ids, n) || (self && sets_own_choice(set)))
                assoc_modify(run, ids, n, set, "Modify Associations");
            else
                run_deny(run);
            free(ids);
        }
        if (run_ok(run) && (sets_user(set) || set->new_name))
            modify_records(run, names, n_names, where, set);
    }
    free_names(names, n_names);
    if (run_ok(run) && !run->res->n_names && !run->res->n_assocs)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}

/* ---- removing -------------------------------------------------------------------------------- */

static void dismiss_user(struct admin_run *run, const char *name)
{
    const Pst__AccountRecord *a;
    Pst__AcctCond cond = PST__ACCT_COND__INIT;
    Pst__AcctSet none = PST__ACCT_SET__INIT;
    char *users[] = { (char *)name }; /* not changed */
    size_t pos = 0;
    bool any = false;

    while (!any && (a = (const Pst__AccountRecord *)am_next(run->a->am, AM_ACCOUNT, &pos)))
        for (size_t i = 0; i < a->n_coordinators; i++)
            any |= strcmp(a->coordinators[i], name) == 0;
    if (any) {
        size_t before = run->res->n_names;

        cond.n_users = 1;
        cond.users = users;
        coord_delete(run, &cond, &none);
        while (run->res->n_names > before)
            free(run->res->names[--run->res->n_names]);
    }
}

static void drop_user(struct admin_run *run, const char *name, bool jobs)
{
    Pst__UserRecord *rec = run_dup(run, am_user(run->a->am, name));
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    char where[300];

    if (!rec)
        return;
    dismiss_user(run, name);
    put.body_case = PST__ACCT_CHANGE__BODY_USER;
    put.user = rec;
    if (jobs || run->now_us - rec->created_us > YOUNG_US) {
        rec->has_deleted = rec->deleted = 1;
        rec->has_admin_level = 1;
        rec->admin_level = PST__ADMIN_LEVEL__ADMIN_NONE;
        run_put(run, &put);
    } else {
        run_remove(run, &put);
    }
    (void)snprintf(where, sizeof(where), "(name='%s')", name);
    run_txn(run, "Remove Users", NULL, NULL, name, where, "");
    pst__user_record__free_unpacked(rec, NULL);
}

static void delete_whole_users(struct admin_run *run, char **names, size_t n_names,
                               const Pst__AcctCond *where)
{
    for (size_t i = 0; i < n_names && run_ok(run); i++) {
        size_t before = run->a->deleted_assocs, n = 0;
        uint32_t *ids;

        if (strcmp(names[i], "root") == 0) {
            run_fail(run, ESLURM_ACCESS_DENIED, "The user root can not be removed");
            return;
        }
        ids = user_assocs(run, where, &names[i], 1, &n);
        assoc_delete(run, ids, n);
        free(ids);
        if (run_ok(run))
            drop_user(run, names[i], run->a->deleted_assocs > before);
        if (run_ok(run))
            run_name(run, names[i]);
    }
}

static bool is_officer(struct admin_run *run, const char *name)
{
    const Pst__UserRecord *u = am_user(run->a->am, name);

    return u && u->admin_level > PST__ADMIN_LEVEL__ADMIN_NONE;
}

static bool has_association(struct admin_run *run, const char *name)
{
    return am_of_user(run->a->am, name) != NULL;
}

/* Associations alone; a user who had some and has none left is told, and goes too. */
static void delete_user_assocs(struct admin_run *run, char **names, size_t n_names,
                               const Pst__AcctCond *where)
{
    size_t n = 0, n_had = 0, before = run->a->deleted_assocs;
    uint32_t *ids = user_assocs(run, where, names, n_names, &n);

    for (size_t i = 0; i < n_names; i++)
        if (has_association(run, names[i])) { /* the others behind: the caller frees them all */
            char *name = names[n_had];

            names[n_had++] = names[i];
            names[i] = name;
        }
    if (!may_assocs(run, ids, n))
        run_deny(run);
    else
        assoc_delete(run, ids, n);
    free(ids);
    for (size_t i = 0; n && i < n_had && run_ok(run); i++) {
        if (has_association(run, names[i]))
            continue;
        if (!run_is_operator(run) && is_officer(run, names[i])) {
            run_deny(run); /* his right would go with his record */
            break;
        }
        drop_user(run, names[i], run->a->deleted_assocs > before);
        run_string(run, &run->res->deleted_names, &run->res->n_deleted_names, names[i]);
    }
}

/* A coordinator of all that the user has. */
static bool may_delete_all(struct admin_run *run, char **names, size_t n)
{
    for (size_t i = 0; i < n && !run_is_operator(run); i++) {
        if (!has_association(run, names[i]) || !am_user(run->a->am, names[i]) ||
            is_officer(run, names[i]))
            return false;
        for (struct assoc *a = am_of_user(run->a->am, names[i]); a; a = a->next_of_user)
            if (!run_may_account(run, a->rec->cluster, a->rec->account))
                return false;
    }
    return true;
}

/* Their keys alone. */
static void delete_user_wckeys(struct admin_run *run, char **names, size_t n_names,
                               const Pst__AcctCond *where)
{
    Pst__AcctCond keys = PST__ACCT_COND__INIT;
    Pst__AcctSet none = PST__ACCT_SET__INIT;

    if (!n_names)
        return;
    keys.users = names;
    keys.n_users = n_names;
    keys.names = where->wckeys;
    keys.n_names = where->n_wckeys;
    keys.clusters = where->clusters;
    keys.n_clusters = where->n_clusters;
    wckey_delete(run, &keys, &none);
}

void user_delete(struct admin_run *run, const Pst__AcctCond *where, const Pst__AcctSet *set)
{
    bool narrow = where->n_accounts || where->n_clusters || where->n_partitions;
    size_t n_names;
    char **names;

    (void)set;
    names = matching_users(run, where, &n_names);
    if (!run_is_operator(run) && !run_is_any_coordinator(run)) { /* whether there is one or not */
        run_deny(run);
        free_names(names, n_names);
        return;
    }
    if (where->n_wckeys)
        delete_user_wckeys(run, names, n_names, where);
    else if (narrow)
        delete_user_assocs(run, names, n_names, where);
    else if (!may_delete_all(run, names, n_names))
        run_deny(run);
    else
        delete_whole_users(run, names, n_names, where);
    free_names(names, n_names);
    if (run_ok(run) && !run->res->n_names && !run->res->n_assocs)
        run_fail(run, SLURM_NO_CHANGE_IN_DATA, NULL);
}
