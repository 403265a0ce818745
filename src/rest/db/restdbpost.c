/* restdbpost.c - changes by POST; see restdbpost.h */
#include "rest/db/restdbpost.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "base/strbuf.h"
#include "rest/db/restdb.h"
#include "rest/db/restdbindex.h"
#include "rest/db/restdbread.h"
#include "rest/db/restdbset.h"
#include "wire/errors.h"

#define ADD PST__ACCT_VERB__ACCT_ADD
#define MODIFY PST__ACCT_VERB__ACCT_MODIFY
#define ACCOUNT PST__ACCT_ENTITY__ACCT_ACCOUNT
#define ASSOC PST__ACCT_ENTITY__ACCT_ASSOC
#define CLUSTER PST__ACCT_ENTITY__ACCT_CLUSTER
#define COORD PST__ACCT_ENTITY__ACCT_COORD
#define QOS PST__ACCT_ENTITY__ACCT_QOS
#define USER PST__ACCT_ENTITY__ACCT_USER
#define WCKEY PST__ACCT_ENTITY__ACCT_WCKEY

enum index_kind { BY_ACCOUNT, BY_USER, BY_DEFAULT, BY_WCKEY, BY_ASSOC, BY_BODY_ACCOUNT, INDEXES };

/* A POST while it is made: what there is, and what shall be. */
struct posting {
    struct rest_call *call;
    struct restdb_changes ch;
    struct restdb_tables t;
    Pst__UserRecord **users;
    size_t n_users;
    Pst__AcctClusterRecord **clusters;
    size_t n_clusters;
    json_t *index[INDEXES]; /* NULL: not asked for yet */
};

static void posting_init(struct posting *p, struct rest_call *call)
{
    *p = (struct posting){ .call = call };
    restdb_changes_init(&p->ch, call);
}

static void posting_done(struct posting *p)
{
    restdb_changes_done(&p->ch);
    restdb_tables_done(&p->t);
    restdb_keep_done(&p->users, &p->n_users);
    restdb_keep_done(&p->clusters, &p->n_clusters);
    for (size_t i = 0; i < INDEXES; i++)
        json_decref(p->index[i]);
}

static bool load_all(struct posting *p, const char *what, Pst__AcctEntity entity, void *list,
                     size_t *n)
{
    Pst__AcctCond all = PST__ACCT_COND__INIT;

    return restdb_keep(p->call, what, entity, &all, list, n);
}

static bool load_accounts(struct posting *p)
{
    return load_all(p, "slurmdb_accounts_get", ACCOUNT, &p->t.people.accounts,
                    &p->t.people.n_accounts);
}

static bool load_users(struct posting *p)
{
    return load_all(p, "slurmdb_users_get", USER, &p->users, &p->n_users);
}

static bool load_assocs(struct posting *p)
{
    return load_all(p, "slurmdb_associations_get", ASSOC, &p->t.people.assocs,
                    &p->t.people.n_assocs);
}

static bool load_wckeys(struct posting *p)
{
    return load_all(p, "slurmdb_wckeys_get", WCKEY, &p->t.people.wckeys, &p->t.people.n_wckeys);
}

static bool load_clusters(struct posting *p)
{
    return load_all(p, "slurmdb_clusters_get", CLUSTER, &p->clusters, &p->n_clusters);
}

/* A member that must be there. */
static const char *needed_text(struct posting *p, const json_t *item, const char *key,
                               const char *source)
{
    const char *text = rest_text(item, key);

    if (text && *text)
        return text;
    rest_error(p->call, ESLURM_REST_QUERY_UNMET, source, "%s is missing", key);
    p->ch.failed = true;
    return NULL;
}

static bool has_word(const json_t *list, const char *word)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (json_is_string(item) && strcasecmp(json_string_value(item), word) == 0)
            return true;
    }
    return false;
}

/* ---- finding --------------------------------------------------------------------------------- */

/* An association of the body that makes an account: under its name, and under that and its
 * cluster's. */
static bool index_body(const struct posting *p, json_t *index)
{
    const json_t *list = json_object_get(p->call->body, "associations");
    json_t *item;
    bool good = true;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *account = rest_text(item, "account"), *cluster = rest_text(item, "cluster");
        const char *user = rest_text(item, "user");

        if (!good || !account || (user && *user) ||
            has_word(json_object_get(item, "flags"), "DELETED"))
            continue;
        good =
            restdbindex_put(index, &(struct restdb_names){ { account } }, i) &&
            (!cluster || restdbindex_put(index, &(struct restdb_names){ { account, cluster } }, i));
    }
    return good;
}

/* The names of the i-th record.  1, 0: it has none; -1: there are no more. */
static int names_at(const struct posting *p, enum index_kind kind, size_t i,
                    struct restdb_names *ret)
{
    const struct store_people *s = &p->t.people;
    const Pst__AssocRecord *a =
        (kind == BY_ASSOC || kind == BY_DEFAULT) && i < s->n_assocs ? s->assocs[i] : NULL;
    const Pst__WckeyRecord *w = kind == BY_WCKEY && i < s->n_wckeys ? s->wckeys[i] : NULL;

    if (kind == BY_ACCOUNT && i < s->n_accounts)
        *ret = (struct restdb_names){ { s->accounts[i]->name } };
    else if (kind == BY_USER && i < p->n_users)
        *ret = (struct restdb_names){ .exactly = { p->users[i]->name } };
    else if (kind == BY_DEFAULT && a)
        *ret = (struct restdb_names){ .exactly = { a->user } };
    else if (a)
        *ret = (struct restdb_names){ { a->account, a->cluster }, { a->user, a->partition } };
    else if (w)
        *ret = (struct restdb_names){ { w->name, w->cluster }, { w->user } };
    else
        return -1;
    return kind != BY_DEFAULT || (a->is_default && a->user && *a->user);
}

static bool index_records(const struct posting *p, enum index_kind kind, json_t *index)
{
    struct restdb_names names;
    bool good = true;
    int r;

    for (size_t i = 0; good && (r = names_at(p, kind, i, &names)) >= 0; i++)
        good = r == 0 || restdbindex_put(index, &names, i);
    return good;
}

/* The tables that it is of are loaded, and stay. */
static bool find_named(struct posting *p, enum index_kind kind, struct restdb_names names,
                       size_t *ret)
{
    json_t *index = p->index[kind];

    if (!index) {
        index = p->index[kind] = json_object();
        if (!index ||
            !(kind == BY_BODY_ACCOUNT ? index_body(p, index) : index_records(p, kind, index))) {
            if (!p->ch.failed)
                restdb_no_memory(p->call, "slurmdbd");
            p->ch.failed = true;
        }
    }
    return restdbindex_find(index, &names, ret);
}

/* ---- accounts -------------------------------------------------------------------------------- */

#define ACCT_SOURCE "_foreach_update_acct"

static const Pst__AccountRecord *find_account(struct posting *p, const char *name)
{
    size_t i;

    return find_named(p, BY_ACCOUNT, (struct restdb_names){ { name } }, &i)
               ? p->t.people.accounts[i]
               : NULL;
}

/* What differs from `have` (NULL: a new one).  False: nothing. */
static bool set_account(struct posting *p, Pst__AcctOp *op, const json_t *item,
                        const Pst__AccountRecord *have)
{
    const char *description = rest_text(item, "description");
    const char *organization = rest_text(item, "organization");
    const json_t *flags = json_object_get(item, "flags");
    bool coords = has_word(flags, "UsersAreCoords"),
         not_coords = has_word(flags, "NoUsersAreCoords");
    bool differs = (description && !same_text(description, have ? have->description : NULL)) ||
                   (organization && !same_text(organization, have ? have->organization : NULL)) ||
                   (coords && !(have && have->users_are_coords)) ||
                   (not_coords && have && have->users_are_coords);
    Pst__AccountRecord *a;

    if (!differs)
        return false;
    a = restdb_record(&p->ch, &op->set->account, &pst__account_record__descriptor);
    if (!a)
        return false;
    restdb_text(&p->ch, &a->description, description && *description ? description : NULL);
    restdb_text(&p->ch, &a->organization, organization && *organization ? organization : NULL);
    a->has_users_are_coords = coords || not_coords;
    a->users_are_coords = coords;
    return true;
}

static bool is_coordinator(const Pst__AccountRecord *a, const char *name)
{
    for (size_t i = 0; a && i < a->n_coordinators; i++)
        if (strcmp(a->coordinators[i], name) == 0)
            return true;
    return false;
}

static void add_coordinators(struct posting *p, const json_t *list, const char *account,
                             const Pst__AccountRecord *have)
{
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        const char *name = rest_text(item, "name");
        Pst__AcctOp *op;

        if (!name || !*name || is_coordinator(have, name))
            continue;
        op = restdb_op(&p->ch, ADD, COORD, "slurmdb_coord_add", ACCT_SOURCE);
        if (!op)
            return;
        restdb_name(&p->ch, &op->where->users, &op->where->n_users, name);
        restdb_name(&p->ch, &op->where->accounts, &op->where->n_accounts, account);
    }
}

/* Is a new account made by an association of the same body, which says where it belongs? */
static bool is_made_by_assoc(struct posting *p, const char *name)
{
    size_t i;

    return find_named(p, BY_BODY_ACCOUNT, (struct restdb_names){ { name } }, &i);
}

static void post_account(struct posting *p, const json_t *item)
{
    const char *name = needed_text(p, item, "name", ACCT_SOURCE);
    const Pst__AccountRecord *have = name ? find_account(p, name) : NULL;
    Pst__AcctOp *op;
    bool made;

    if (!name || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    made = have || is_made_by_assoc(p, name);
    op = restdb_op(&p->ch, made ? MODIFY : ADD, ACCOUNT,
                   made ? "slurmdb_accounts_modify" : "slurmdb_accounts_add", ACCT_SOURCE);
    if (!op)
        return;
    restdb_name(&p->ch, &op->where->names, &op->where->n_names, name);
    if (!set_account(p, op, item, have) && made)
        restdb_op_drop(&p->ch);
}

static void post_coordinators(struct posting *p, const json_t *item)
{
    const char *name = rest_text(item, "name");

    if (name && *name)
        add_coordinators(p, json_object_get(item, "coordinators"), name, find_account(p, name));
}

typedef void post_fn(struct posting *p, const json_t *item);

static void post_each(struct posting *p, const char *key, post_fn *fn)
{
    const json_t *list = json_object_get(p->call->body, key);
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (p->ch.failed)
            return;
        fn(p, item);
    }
}

static bool add_accounts(struct posting *p)
{
    if (!load_accounts(p))
        return false;
    post_each(p, "accounts", post_account);
    return !p->ch.failed;
}

/* ---- users ----------------------------------------------------------------------------------- */

#define USER_SOURCE "_foreach_update_user"

static const Pst__UserRecord *find_user(struct posting *p, const char *name)
{
    size_t i;

    return find_named(p, BY_USER, (struct restdb_names){ .exactly = { name } }, &i) ? p->users[i]
                                                                                    : NULL;
}

static const char *default_account_of(struct posting *p, const char *user)
{
    size_t i;

    return find_named(p, BY_DEFAULT, (struct restdb_names){ .exactly = { user } }, &i)
               ? p->t.people.assocs[i]->account
               : NULL;
}

static Pst__AdminLevel admin_level_of(const json_t *words)
{
    for (int i = PST__ADMIN_LEVEL__ADMIN_NONE; i <= PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR; i++)
        if (has_word(words, store_admin_word((Pst__AdminLevel)i)))
            return (Pst__AdminLevel)i;
    return PST__ADMIN_LEVEL__ADMIN_NOT_SET;
}

static void set_admin_level(struct posting *p, Pst__AcctOp *op, Pst__AdminLevel level,
                            Pst__AdminLevel was)
{
    Pst__UserRecord *u;

    if (level == PST__ADMIN_LEVEL__ADMIN_NOT_SET || level == was)
        return;
    u = restdb_record(&p->ch, &op->set->user, &pst__user_record__descriptor);
    if (u) {
        u->has_admin_level = 1;
        u->admin_level = level;
    }
}

static void set_default_wckey(struct posting *p, Pst__AcctOp *op, const char *wckey,
                              const char *was)
{
    Pst__UserRecord *u;

    if (!wckey || !*wckey || same_text(wckey, was))
        return;
    u = restdb_record(&p->ch, &op->set->user, &pst__user_record__descriptor);
    if (u)
        restdb_text(&p->ch, &u->default_wckey, wckey);
}

static void post_user(struct posting *p, const json_t *item)
{
    const char *name = needed_text(p, item, "name", USER_SOURCE),
               *old = rest_text(item, "old_name");
    const json_t *def = json_object_get(item, "default");
    const char *account = rest_text(def, "account");
    bool renamed = name && old && *old && strcmp(old, name) != 0;
    const Pst__UserRecord *have = name ? find_user(p, renamed ? old : name) : NULL;
    const char *was = have ? default_account_of(p, have->name) : NULL;
    Pst__AcctOp *op;

    if (!name || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    op = restdb_op(&p->ch, have ? MODIFY : ADD, USER,
                   have ? "slurmdb_users_modify" : "slurmdb_users_add", USER_SOURCE);
    if (!op)
        return;
    restdb_name(&p->ch, &op->where->names, &op->where->n_names, have ? have->name : name);
    set_admin_level(p, op, admin_level_of(json_object_get(item, "administrator_level")),
                    have ? have->admin_level : PST__ADMIN_LEVEL__ADMIN_NONE);
    set_default_wckey(p, op, rest_text(def, "wckey"), have ? have->default_wckey : NULL);
    if (was && account && *account && strcasecmp(account, was) != 0)
        restdb_text(&p->ch, &op->set->default_account, account);
    if (have && renamed)
        restdb_text(&p->ch, &op->set->new_name, name);
    if (have && !op->set->user && !op->set->default_account && !op->set->new_name)
        restdb_op_drop(&p->ch);
}

static bool add_users(struct posting *p)
{
    if (!load_users(p) || !load_assocs(p))
        return false;
    post_each(p, "users", post_user);
    return !p->ch.failed;
}

/* ---- wckeys ---------------------------------------------------------------------------------- */

#define WCKEY_SOURCE "_foreach_add_wckey"

static bool has_wckey(struct posting *p, const char *cluster, const char *user, const char *name)
{
    size_t i;

    return find_named(p, BY_WCKEY, (struct restdb_names){ { name, cluster }, { user } }, &i);
}

static void post_wckey(struct posting *p, const json_t *item)
{
    const char *name = needed_text(p, item, "name", WCKEY_SOURCE);
    const char *user = needed_text(p, item, "user", WCKEY_SOURCE);
    const char *cluster = needed_text(p, item, "cluster", WCKEY_SOURCE);
    Pst__AcctOp *op;

    if (!name || !user || !cluster || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    name += *name == '*'; /* how a default is shown */
    if (has_wckey(p, cluster, user, name))
        return;
    op = restdb_op(&p->ch, ADD, WCKEY, "slurmdb_wckeys_add", WCKEY_SOURCE);
    if (!op)
        return;
    restdb_name(&p->ch, &op->where->names, &op->where->n_names, name);
    restdb_name(&p->ch, &op->where->users, &op->where->n_users, user);
    restdb_name(&p->ch, &op->where->clusters, &op->where->n_clusters, cluster);
}

/* "wckeys" of a user. */
static void post_users_wckeys(struct posting *p, const json_t *item)
{
    const json_t *list = json_object_get(item, "wckeys");
    json_t *key;
    size_t i;

    json_array_foreach(list, i, key) post_wckey(p, key);
}

/* ---- associations ---------------------------------------------------------------------------- */

#define ASSOC_SOURCE "_foreach_update_assoc"

static const Pst__AssocRecord *find_assoc(struct posting *p, const char *cluster,
                                          const char *account, const char *user,
                                          const char *partition)
{
    size_t i;

    return find_named(p, BY_ASSOC,
                      (struct restdb_names){ { account, cluster }, { user, partition } }, &i)
               ? p->t.people.assocs[i]
               : NULL;
}

/* Is the account of a new user's association there, or made by the same body? */
static bool has_account(struct posting *p, const char *cluster, const char *account)
{
    size_t i;

    return find_assoc(p, cluster, account, NULL, NULL) ||
           find_named(p, BY_BODY_ACCOUNT, (struct restdb_names){ { account, cluster } }, &i);
}

/* Whose association it is, into the conditions. */
static void choose_assoc(struct posting *p, Pst__AcctOp *op, const json_t *item, bool have)
{
    const char *user = rest_text(item, "user"), *partition = rest_text(item, "partition");
    Pst__AcctCond *w = op->where;
    bool of_user = user && *user;

    restdb_name(&p->ch, &w->names, &w->n_names, of_user ? user : rest_text(item, "account"));
    restdb_name(&p->ch, &w->clusters, &w->n_clusters, rest_text(item, "cluster"));
    if (!of_user)
        return;
    restdb_name(&p->ch, &w->accounts, &w->n_accounts, rest_text(item, "account"));
    if (have)
        restdb_name_or_none(&p->ch, &w->partitions, &w->n_partitions, partition);
    else
        restdb_name(&p->ch, &w->partitions, &w->n_partitions, partition);
}

static void post_assoc(struct posting *p, const json_t *item)
{
    const char *account = needed_text(p, item, "account", ASSOC_SOURCE);
    const char *cluster = needed_text(p, item, "cluster", ASSOC_SOURCE);
    const char *user = rest_text(item, "user");
    const Pst__AssocRecord *have;
    struct err err = { .text = "" };
    Pst__AcctOp *op;
    int r;

    if (!account || !cluster || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    have = find_assoc(p, cluster, account, user, rest_text(item, "partition"));
    if (!have && user && *user && !has_account(p, cluster, account)) {
        rest_error(p->call, ESLURM_INVALID_ACCOUNT, ASSOC_SOURCE,
                   "slurmdb_associations_add() failed");
        rest_warning(p->call, ASSOC_SOURCE, "There is no account %.64s on cluster %.64s", account,
                     cluster);
        p->ch.failed = true;
        return;
    }
    op = restdb_op(&p->ch, have ? MODIFY : ADD, user && *user ? USER : ACCOUNT,
                   have ? "slurmdb_associations_modify" : "slurmdb_associations_add", ASSOC_SOURCE);
    if (!op)
        return;
    choose_assoc(p, op, item, have != NULL);
    r = restdbread_assoc(item, have, &p->t.names, op->set, &err);
    if (r < 0)
        restdb_unread(&p->ch, r, &err, ASSOC_SOURCE, account);
    else if (r == 0 && have)
        restdb_op_drop(&p->ch);
}

static void post_accounts_own(struct posting *p, const json_t *item)
{
    const char *user = rest_text(item, "user");

    if (!(user && *user))
        post_assoc(p, item);
}

static void post_users_own(struct posting *p, const json_t *item)
{
    const char *user = rest_text(item, "user");

    if (user && *user)
        post_assoc(p, item);
}

/* ---- QOS ------------------------------------------------------------------------------------- */

#define QOS_SOURCE "_foreach_update_qos"

static const Pst__QosRecord *find_qos(const struct posting *p, const json_t *item)
{
    const char *name = rest_text(item, "name");
    struct rest_number id = rest_number(json_object_get(item, "id"));

    for (size_t i = 0; i < p->t.names.n_qos; i++) {
        const Pst__QosRecord *q = p->t.names.qos[i];

        if (!q->deleted &&
            (name && *name ? strcasecmp(q->name, name) == 0 : id.set && q->qos_id == id.value))
            return q;
    }
    return NULL;
}

/* A new QOS that others of the body preempt is made first, under its name alone. */
static void make_qos(struct posting *p, const json_t *item)
{
    const char *name = rest_text(item, "name");
    Pst__AcctOp *op;

    if (!name || !*name || find_qos(p, item) || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    op = restdb_op(&p->ch, ADD, QOS, "slurmdb_qos_add", QOS_SOURCE);
    if (op)
        restdb_name(&p->ch, &op->where->names, &op->where->n_names, name);
}

static void post_qos(struct posting *p, const json_t *item)
{
    const Pst__QosRecord *have = find_qos(p, item);
    const char *name = have ? have->name : needed_text(p, item, "name", QOS_SOURCE);
    struct err err = { .text = "" };
    Pst__AcctOp *op;
    int r;

    if (!name || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    op = restdb_op(&p->ch, have ? MODIFY : ADD, QOS,
                   have ? "slurmdb_qos_modify" : "slurmdb_qos_add", QOS_SOURCE);
    if (!op)
        return;
    restdb_name(&p->ch, &op->where->names, &op->where->n_names, name);
    r = restdbread_qos(item, have, &p->t.names, op->set, &err);
    if (r < 0)
        restdb_unread(&p->ch, r, &err, QOS_SOURCE, name);
    else if (r == 0 && have)
        restdb_op_drop(&p->ch);
}

static bool some_qos_waits(const struct posting *p)
{
    const json_t *list = json_object_get(p->call->body, "qos");
    json_t *item;
    size_t i;

    json_array_foreach(list, i, item)
    {
        if (restdbread_qos_waits(item, &p->t.names))
            return true;
    }
    return false;
}

/* Names that the body uses before they are known: make them, and look again. */
static bool make_waiting_qos(struct posting *p)
{
    struct restdb_changes first;
    bool good;

    if (!some_qos_waits(p))
        return true;
    restdb_changes_init(&first, p->call);
    restdb_changes_done(&p->ch);
    p->ch = first;
    post_each(p, "qos", make_qos);
    good = restdb_send(&p->ch);
    restdb_changes_done(&p->ch);
    restdb_changes_init(&p->ch, p->call);
    restdb_keep_done(&p->t.names.qos, &p->t.names.n_qos);
    restdb_keep_done(&p->t.names.tres, &p->t.names.n_tres);
    return good && restdb_load_names(p->call, &p->t);
}

/* ---- clusters and TRES ----------------------------------------------------------------------- */

#define CLUSTER_SOURCE "_foreach_cluster"
#define TRES_SOURCE "_foreach_tres"

/* What else a cluster has its controller tells when it registers. */
static void post_cluster(struct posting *p, const json_t *item)
{
    const char *name = needed_text(p, item, "name", CLUSTER_SOURCE);
    Pst__AcctOp *op;

    if (!name || has_word(json_object_get(item, "flags"), "DELETED"))
        return;
    for (size_t i = 0; i < p->n_clusters; i++)
        if (strcasecmp(p->clusters[i]->name, name) == 0)
            return;
    op = restdb_op(&p->ch, ADD, CLUSTER, "slurmdb_clusters_add", CLUSTER_SOURCE);
    if (op)
        restdb_name(&p->ch, &op->where->names, &op->where->n_names, name);
}

/* Controllers make TRES known, by AccountingStorageTRES; here they can be named again. */
static void post_tres(struct posting *p, const json_t *item)
{
    const char *type = needed_text(p, item, "type", TRES_SOURCE), *name = rest_text(item, "name");

    for (size_t i = 0; type && i < p->t.names.n_tres; i++)
        if (strcasecmp(p->t.names.tres[i]->type, type) == 0 &&
            same_text(p->t.names.tres[i]->name, name))
            return;
    if (!type)
        return;
    rest_error(p->call, ESLURM_NOT_SUPPORTED, TRES_SOURCE, "slurmdb_tres_add() failed");
    rest_warning(p->call, TRES_SOURCE,
                 "%.64s%s%.64s is not known: AccountingStorageTRES of slurm.conf names it", type,
                 name && *name ? "/" : "", name ? name : "");
    p->ch.failed = true;
}

/* ---- handlers -------------------------------------------------------------------------------- */

static bool has_body(struct rest_call *call, const char *source)
{
    if (call->body)
        return true;
    rest_error(call, ESLURM_REST_QUERY_UNMET, source, "the request has no body");
    return false;
}

static void post_accounts(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, ACCT_SOURCE) && add_accounts(&p)) {
        post_each(&p, "accounts", post_coordinators);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

static void post_users(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, USER_SOURCE) && add_users(&p) && load_wckeys(&p)) {
        post_each(&p, "users", post_users_wckeys);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

static void post_assocs(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, ASSOC_SOURCE) && restdb_load_names(call, &p.t) && load_assocs(&p)) {
        post_each(&p, "associations", post_accounts_own);
        post_each(&p, "associations", post_users_own);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

static void post_qos_list(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, QOS_SOURCE) && restdb_load_names(call, &p.t) && make_waiting_qos(&p)) {
        post_each(&p, "qos", post_qos);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

static void post_wckeys(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, WCKEY_SOURCE) && load_wckeys(&p)) {
        post_each(&p, "wckeys", post_wckey);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

static void post_clusters(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, CLUSTER_SOURCE) && load_clusters(&p)) {
        post_each(&p, "clusters", post_cluster);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

static void post_tres_list(struct rest_call *call)
{
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, TRES_SOURCE) && restdb_load_names(call, &p.t))
        post_each(&p, "TRES", post_tres);
    posting_done(&p);
}

static bool load_all_kinds(struct posting *p)
{
    return restdb_load_names(p->call, &p->t) && load_clusters(p) && load_wckeys(p) &&
           load_accounts(p) && load_users(p) && load_assocs(p);
}

/* QOS have their numbers before the rest, which names them by these. */
static bool make_new_qos(struct posting *p)
{
    bool good;

    post_each(p, "tres", post_tres);
    post_each(p, "qos", make_qos);
    good = restdb_send(&p->ch);
    restdb_changes_done(&p->ch);
    restdb_changes_init(&p->ch, p->call);
    restdb_tables_done(&p->t);
    return good;
}

/* Everything, in an order in which each finds what it needs. */
static void post_config(struct rest_call *call)
{
    static const struct {
        const char *key;
        post_fn *fn;
    } steps[] = {
        { "clusters", post_cluster },
        { "qos", post_qos },
        { "associations", post_accounts_own },
        { "accounts", post_account },
        { "users", post_user },
        { "associations", post_users_own },
        { "accounts", post_coordinators },
        { "wckeys", post_wckey },
    };
    struct posting p;

    posting_init(&p, call);
    if (has_body(call, "slurmdb_config_set") && restdb_load_names(call, &p.t) && make_new_qos(&p) &&
        load_all_kinds(&p)) {
        for (size_t i = 0; i < ARRAY_SIZE(steps); i++)
            post_each(&p, steps[i].key, steps[i].fn);
        (void)restdb_send(&p.ch); /* noted */
    }
    posting_done(&p);
}

/* ---- with associations ----------------------------------------------------------------------- */

/* Names of what was made, a line each. */
static void put_made(struct rest_call *call, const char *key, const struct restdb_changes *ch)
{
    const Pst__AcctOpResult *res = ch->reply->n_results ? ch->reply->results[0] : NULL;
    struct strbuf *sb = json_scratch(&call->js);

    for (size_t i = 0; res && i < res->n_names; i++)
        strbuf_addf(sb, "%s%s", sb->len ? "\n" : "", res->names[i]);
    json_str_n(&call->js, key, sb->buf ? sb->buf : "", sb->len);
    if (res && !res->n_names && !res->n_assocs)
        rest_warning(call, ch->labels[0].source, "%s() changed nothing", ch->labels[0].what);
    for (size_t i = 0; res && i < res->n_lines; i++)
        rest_warning(call, ch->labels[0].source, "%s", res->lines[i] + strspn(res->lines[i], " "));
}

static void set_condition(struct posting *p, Pst__AcctOp *op, const json_t *cond,
                          const char *source)
{
    struct err err = { .text = "" };
    int r = restdbread_assoc_set(json_object_get(cond, "association"), &p->t.names, op->set, &err);

    if (r < 0)
        restdb_unread(&p->ch, r, &err, source, "association");
    restdb_names(&p->ch, &op->where->clusters, &op->where->n_clusters,
                 json_object_get(cond, "clusters"));
}

static void post_accounts_assoc(struct rest_call *call)
{
    static const char source[] = "op_handler_accounts_association";
    const json_t *cond = json_object_get(call->body, "association_condition");
    struct posting p;
    Pst__AcctOp *op;

    posting_init(&p, call);
    if (has_body(call, source) && restdb_load_names(call, &p.t) &&
        (op = restdb_op(&p.ch, ADD, ACCOUNT, "slurmdb_accounts_add_cond", source))) {
        restdb_names(&p.ch, &op->where->names, &op->where->n_names,
                     json_object_get(cond, "accounts"));
        set_condition(&p, op, cond, source);
        (void)set_account(&p, op, json_object_get(call->body, "account"), NULL); /* may be none */
        if (!op->where->n_names)
            rest_error(call, ESLURM_REST_QUERY_UNMET, source, "accounts is missing");
        else if (restdb_send(&p.ch))
            put_made(call, "added_accounts", &p.ch);
    }
    posting_done(&p);
}

static bool account_is_known(struct posting *p, const Pst__AcctCond *where, const char *account,
                             const char *source)
{
    for (size_t i = 0; i < p->t.people.n_assocs; i++)
        if (strcasecmp(p->t.people.assocs[i]->account, account) == 0)
            return true;
    rest_error(p->call, ESLURM_INVALID_ACCOUNT, source, "there is no account %s%s", account,
               where->n_clusters ? " on the clusters that the request names" : "");
    return false;
}

/* The store passes over accounts that it does not know; who adds users here gets all or nothing. */
static bool accounts_are_there(struct posting *p, const Pst__AcctOp *op, const char *source)
{
    Pst__AcctCond own = PST__ACCT_COND__INIT;
    const char *def = op->set->default_account;
    bool there = true;

    own.has_no_users = own.no_users = true;
    own.clusters = op->where->clusters;
    own.n_clusters = op->where->n_clusters;
    if (op->where->n_accounts == 0 && !def)
        return true;
    if (!restdb_keep(p->call, "slurmdb_associations_get", ASSOC, &own, &p->t.people.assocs,
                     &p->t.people.n_assocs))
        return false;
    for (size_t i = 0; there && i < op->where->n_accounts; i++)
        there = account_is_known(p, &own, op->where->accounts[i], source);
    return there && (!def || account_is_known(p, &own, def, source));
}

static void post_users_assoc(struct rest_call *call)
{
    static const char source[] = "op_handler_users_association";
    const json_t *cond = json_object_get(call->body, "association_condition");
    const json_t *user = json_object_get(call->body, "user");
    const char *account = rest_text(user, "defaultaccount");
    struct posting p;
    Pst__AcctOp *op;

    posting_init(&p, call);
    if (has_body(call, source) && restdb_load_names(call, &p.t) &&
        (op = restdb_op(&p.ch, ADD, USER, "slurmdb_users_add_cond", source))) {
        Pst__AcctCond *w = op->where;

        restdb_names(&p.ch, &w->names, &w->n_names, json_object_get(cond, "users"));
        restdb_names(&p.ch, &w->accounts, &w->n_accounts, json_object_get(cond, "accounts"));
        restdb_names(&p.ch, &w->partitions, &w->n_partitions, json_object_get(cond, "partitions"));
        restdb_names(&p.ch, &op->set->wckeys, &op->set->n_wckeys, json_object_get(cond, "wckeys"));
        set_condition(&p, op, cond, source);
        set_admin_level(&p, op, admin_level_of(json_object_get(user, "adminlevel")),
                        PST__ADMIN_LEVEL__ADMIN_NONE);
        set_default_wckey(&p, op, rest_text(user, "defaultwckey"), NULL);
        if (account && *account)
            restdb_text(&p.ch, &op->set->default_account, account);
        if (!w->n_names)
            rest_error(call, ESLURM_REST_QUERY_UNMET, source, "users is missing");
        else if (accounts_are_there(&p, op, source) && restdb_send(&p.ch))
            put_made(call, "added_users", &p.ch);
    }
    posting_done(&p);
}

const struct rest_row rest_dbpost_rows[] = {
    { "POST", REST_SLURMDB, "accounts", 0, post_accounts, false },
    { "POST", REST_SLURMDB, "accounts_association", 0, post_accounts_assoc, false },
    { "POST", REST_SLURMDB, "users", 0, post_users, false },
    { "POST", REST_SLURMDB, "users_association", 0, post_users_assoc, false },
    { "POST", REST_SLURMDB, "associations", 0, post_assocs, false },
    { "POST", REST_SLURMDB, "qos", 0, post_qos_list, false },
    { "POST", REST_SLURMDB, "wckeys", 0, post_wckeys, false },
    { "POST", REST_SLURMDB, "clusters", 0, post_clusters, false },
    { "POST", REST_SLURMDB, "tres", 0, post_tres_list, false },
    { "POST", REST_SLURMDB, "config", 0, post_config, false },
    { 0 },
};
