/* restdbget.c - records of the accounting store; see restdbget.h
 *
 * Records are written as they come.  Those that show others beside themselves (the associations of
 * a user) have these read first. */
#include "rest/db/restdbget.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "rest/db/restdb.h"
#include "wire/errors.h"

struct listing {
    struct rest_call *call;
    struct restdb_tables t;
    Pst__AcctCond where;
    bool without_parents; /* of associations */
    bool no_default, users_are_coords, not_coords;
    uint32_t preempt_modes; /* of QOS; 0: any */
    size_t shown;
};

static int put_assoc(struct listing *l, const Pst__AssocRecord *a)
{
    Pst__AssocRecord shown = *a;

    if (l->without_parents) {
        shown.parent_account = NULL;
        shown.has_parent_id = 0;
    }
    json_store_assoc(&l->call->js, &shown, &l->t.names);
    return 0;
}

static void put_instance(struct json *js, const Pst__AcctInstanceRecord *i)
{
    json_map(js, NULL);
    json_str(js, "cluster", i->cluster);
    json_str(js, "extra", i->extra);
    json_str(js, "instance_id", i->instance_id);
    json_str(js, "instance_type", i->instance_type);
    json_str(js, "node_name", i->node);
    json_map(js, "time");
    json_int(js, "time_end", i->has_end_us ? i->end_us / USEC_PER_SEC : 0);
    json_int(js, "time_start", i->start_us / USEC_PER_SEC);
    json_map_end(js);
    json_map_end(js);
}

static bool account_wanted(const struct listing *l, const Pst__AccountRecord *a)
{
    return !(l->users_are_coords && !a->users_are_coords) &&
           !(l->not_coords && a->users_are_coords);
}

/* Who has a default is left out where those are asked for who have none. */
static bool user_wanted(const struct listing *l, const Pst__UserRecord *u)
{
    for (size_t i = 0; l->no_default && i < l->t.people.n_assocs; i++) {
        const Pst__AssocRecord *a = l->t.people.assocs[i];

        if (a->is_default && a->user && strcmp(a->user, u->name) == 0)
            return false;
    }
    return true;
}

static bool qos_wanted(const struct listing *l, const Pst__QosRecord *q)
{
    bool set = q->has_preempt_mode && q->preempt_mode != UINT32_MAX;
    uint32_t modes = set && q->preempt_mode ? q->preempt_mode : 1u; /* bit 0: disabled */

    return !l->preempt_modes || (l->preempt_modes & modes);
}

static int on_record(void *ctx, const ProtobufCMessage *m, const struct query_info *info)
{
    struct listing *l = ctx;
    struct json *js = &l->call->js;
    const ProtobufCMessageDescriptor *d = m->descriptor;

    (void)info;
    if (d == &pst__account_record__descriptor) {
        if (!account_wanted(l, (const Pst__AccountRecord *)m))
            return 0;
        json_store_account(js, (const Pst__AccountRecord *)m, &l->t.people);
    } else if (d == &pst__user_record__descriptor) {
        if (!user_wanted(l, (const Pst__UserRecord *)m))
            return 0;
        json_store_user(js, (const Pst__UserRecord *)m, &l->t.people);
    } else if (d == &pst__assoc_record__descriptor) {
        (void)put_assoc(l, (const Pst__AssocRecord *)m); /* cannot fail */
    } else if (d == &pst__qos_record__descriptor) {
        if (!qos_wanted(l, (const Pst__QosRecord *)m))
            return 0;
        json_store_qos(js, (const Pst__QosRecord *)m, &l->t.names);
    } else if (d == &pst__acct_cluster_record__descriptor) {
        json_store_cluster(js, (const Pst__AcctClusterRecord *)m, &l->t.people, &l->t.names);
    } else if (d == &pst__tres_record__descriptor) {
        json_store_tres(js, (const Pst__TresRecord *)m);
    } else if (d == &pst__acct_instance_record__descriptor) {
        put_instance(js, (const Pst__AcctInstanceRecord *)m);
    } else {
        json_store_wckey(js, (const Pst__WckeyRecord *)m);
    }
    l->shown++;
    return l->call->row->streams ? rest_flush(l->call) : 0;
}

/* What was used is told by /slurm/shares and sreport. */
static void tell_no_usage(struct rest_call *call)
{
    static const char *const words[] = { "Include usage", "with_usage" };

    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (rest_query_true(call, words[i]))
            rest_warning(call, words[i], "usage is not shown here: /slurm/ has shares");
}

static struct listing listing_of(struct rest_call *call)
{
    struct listing l = { .call = call };

    pst__acct_cond__init(&l.where);
    tell_no_usage(call);
    return l;
}

static void listing_done(struct listing *l)
{
    restdb_tables_done(&l->t);
    pb_done(&l->where.base);
}

/* A list of records under a key of the answer. */
static bool put_list(struct listing *l, const char *key, const char *what, Pst__AcctEntity entity)
{
    int r;

    l->shown = 0;
    json_list(&l->call->js, key);
    r = restdb_list(l->call, what, entity, &l->where, on_record, l);
    json_list_end(&l->call->js);
    return r == 0;
}

/* The same, with a word about a list that is empty. */
static void answer_list(struct listing *l, const char *key, const char *what,
                        Pst__AcctEntity entity)
{
    if (put_list(l, key, what, entity) && !l->shown)
        rest_warning(l->call, what, "%s() found nothing", what);
}

static bool keep_assocs(struct listing *l)
{
    Pst__AcctCond all = PST__ACCT_COND__INIT;

    return restdb_keep(l->call, "slurmdb_associations_get", PST__ACCT_ENTITY__ACCT_ASSOC, &all,
                       &l->t.people.assocs, &l->t.people.n_assocs);
}

static bool keep_accounts(struct listing *l)
{
    Pst__AcctCond all = PST__ACCT_COND__INIT;

    return restdb_keep(l->call, "slurmdb_accounts_get", PST__ACCT_ENTITY__ACCT_ACCOUNT, &all,
                       &l->t.people.accounts, &l->t.people.n_accounts);
}

static bool keep_wckeys(struct listing *l)
{
    Pst__AcctCond all = PST__ACCT_COND__INIT;

    return restdb_keep(l->call, "slurmdb_wckeys_get", PST__ACCT_ENTITY__ACCT_WCKEY, &all,
                       &l->t.people.wckeys, &l->t.people.n_wckeys);
}

/* ---- accounts -------------------------------------------------------------------------------- */

static void get_accounts(struct rest_call *call)
{
    struct listing l = listing_of(call);
    struct store_people *p = &l.t.people;

    p->with_assoc = restdb_switch(call, "WithAssociations", "with_assocs");
    p->with_coord = restdb_switch(call, "WithCoordinators", "with_coords");
    l.users_are_coords = rest_query_true(call, "UsersAreCoords");
    l.not_coords = rest_query_true(call, "NoUsersAreCoords");
    l.where.has_with_deleted = l.where.with_deleted =
        restdb_switch(call, "DELETED", "with_deleted");
    if (rest_acct(call, "slurmdb_accounts_get") &&
        restdb_words(call, "description", &l.where.descriptions, &l.where.n_descriptions) &&
        (!call->word || restdb_word(call, call->word, &l.where.names, &l.where.n_names)) &&
        (!p->with_assoc || keep_assocs(&l)))
        answer_list(&l, "accounts", "slurmdb_accounts_get", PST__ACCT_ENTITY__ACCT_ACCOUNT);
    listing_done(&l);
}

/* ---- users ----------------------------------------------------------------------------------- */

static bool take_admin_level(struct rest_call *call, Pst__AcctCond *where)
{
    const char *word = rest_query(call, "admin_level");

    if (!word || !*word)
        return true;
    for (int i = PST__ADMIN_LEVEL__ADMIN_NOT_SET; i <= PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR; i++)
        if (strcasecmp(store_admin_word((Pst__AdminLevel)i), word) == 0) {
            where->has_admin_level = i != PST__ADMIN_LEVEL__ADMIN_NOT_SET;
            where->admin_level = (Pst__AdminLevel)i;
            return true;
        }
    rest_error(call, ESLURM_REST_INVALID_QUERY, "admin_level", "admin_level: there is no %.64s",
               word);
    return false;
}

static bool keep_of_users(struct listing *l)
{
    const struct store_people *p = &l->t.people;

    return (!(p->with_assoc || l->no_default) || keep_assocs(l)) &&
           (!p->with_coord || keep_accounts(l)) &&
           (!restdb_switch(l->call, "with_wckeys", NULL) || keep_wckeys(l));
}

static void get_users(struct rest_call *call)
{
    struct listing l = listing_of(call);
    struct store_people *p = &l.t.people;
    Pst__AcctCond *w = &l.where;

    p->with_assoc = p->with_default = rest_query_true(call, "with_assocs");
    p->with_coord = rest_query_true(call, "with_coords");
    l.no_default = rest_query_true(call, "without_defaults");
    w->has_with_deleted = w->with_deleted = rest_query_true(call, "with_deleted");
    if (rest_acct(call, "slurmdb_users_get") && take_admin_level(call, w) &&
        restdb_words(call, "default_account", &w->default_accounts, &w->n_default_accounts) &&
        restdb_words(call, "default_wckey", &w->default_wckeys, &w->n_default_wckeys) &&
        (!call->word || restdb_word(call, call->word, &w->names, &w->n_names)) && keep_of_users(&l))
        answer_list(&l, "users", "slurmdb_users_get", PST__ACCT_ENTITY__ACCT_USER);
    listing_done(&l);
}

/* ---- associations ---------------------------------------------------------------------------- */

static void get_assocs(struct rest_call *call)
{
    struct listing l = listing_of(call);

    l.without_parents = restdb_switch(call, "Exclude parent id/name", "without_parent_info");
    if (rest_acct(call, "slurmdb_associations_get") && restdb_load_names(call, &l.t) &&
        restdb_assoc_where(call, &l.t.names, &l.where))
        answer_list(&l, "associations", "slurmdb_associations_get", PST__ACCT_ENTITY__ACCT_ASSOC);
    listing_done(&l);
}

static void get_assoc(struct rest_call *call)
{
    struct listing l = listing_of(call);
    struct store_people *p = &l.t.people;

    l.without_parents = restdb_switch(call, "Exclude parent id/name", "without_parent_info");
    if (rest_acct(call, "slurmdb_associations_get") && restdb_load_names(call, &l.t) &&
        restdb_assoc_where(call, &l.t.names, &l.where) &&
        restdb_keep(call, "slurmdb_associations_get", PST__ACCT_ENTITY__ACCT_ASSOC, &l.where,
                    &p->assocs, &p->n_assocs)) {
        if (p->n_assocs > 1) {
            rest_error(call, ESLURM_REST_QUERY_UNMET, "slurmdb_associations_get",
                       "%zu associations are chosen, not one", p->n_assocs);
        } else {
            json_list(&call->js, "associations");
            if (p->n_assocs)
                (void)put_assoc(&l, p->assocs[0]); /* cannot fail */
            json_list_end(&call->js);
            if (!p->n_assocs)
                rest_warning(call, "slurmdb_associations_get",
                             "slurmdb_associations_get() found nothing");
        }
    }
    listing_done(&l);
}

/* ---- QOS ------------------------------------------------------------------------------------- */

static bool take_preempt_modes(struct rest_call *call, uint32_t *ret)
{
    static const char *const words[] = { "DISABLED", "SUSPEND", "REQUEUE", "CANCEL", "GANG" };
    const char *given = rest_query(call, "preempt_mode");

    *ret = 0;
    for (size_t i = 0; i < ARRAY_SIZE(words); i++)
        if (rest_query_flag(call, "preempt_mode", words[i]))
            *ret |= 1u << i;
    if (!given || !*given || *ret)
        return true;
    rest_error(call, ESLURM_REST_INVALID_QUERY, "preempt_mode", "preempt_mode: there is no %.64s",
               given);
    return false;
}

static void get_qos(struct rest_call *call)
{
    struct listing l = listing_of(call);
    Pst__AcctCond *w = &l.where;

    w->has_with_deleted = w->with_deleted =
        restdb_switch(call, "Include deleted QOS", "with_deleted");
    if (rest_acct(call, "slurmdb_qos_get") && restdb_load_names(call, &l.t) &&
        restdb_words(call, "description", &w->descriptions, &w->n_descriptions) &&
        restdb_words(call, "name", &w->names, &w->n_names) &&
        restdb_ids(call, "id", &w->ids, &w->n_ids) && take_preempt_modes(call, &l.preempt_modes) &&
        (!call->word || restdb_word(call, call->word, &w->names, &w->n_names)))
        answer_list(&l, "qos", "slurmdb_qos_get", PST__ACCT_ENTITY__ACCT_QOS);
    listing_done(&l);
}

/* ---- clusters, TRES, wckeys ------------------------------------------------------------------ */

static void get_clusters(struct rest_call *call)
{
    struct listing l = listing_of(call);
    Pst__AcctCond *w = &l.where;

    w->has_with_deleted = w->with_deleted =
        rest_query_true(call, "with_deleted") || rest_query_flag(call, "flags", "DELETED");
    if (rest_acct(call, "slurmdb_clusters_get") && restdb_load_names(call, &l.t) &&
        keep_assocs(&l) && restdb_words(call, "cluster", &w->clusters, &w->n_clusters) &&
        (!call->word || restdb_word(call, call->word, &w->names, &w->n_names)))
        answer_list(&l, "clusters", "slurmdb_clusters_get", PST__ACCT_ENTITY__ACCT_CLUSTER);
    listing_done(&l);
}

static void get_tres(struct rest_call *call)
{
    struct listing l = listing_of(call);

    if (rest_acct(call, "slurmdb_tres_get"))
        answer_list(&l, "TRES", "slurmdb_tres_get", PST__ACCT_ENTITY__ACCT_TRES);
    listing_done(&l);
}

static void get_wckeys(struct rest_call *call)
{
    struct listing l = listing_of(call);
    Pst__AcctCond *w = &l.where;

    w->has_with_deleted = w->with_deleted = rest_query_true(call, "with_deleted");
    w->has_only_defaults = w->only_defaults = rest_query_true(call, "only_defaults");
    if (rest_acct(call, "slurmdb_wckeys_get") &&
        restdb_words(call, "cluster", &w->clusters, &w->n_clusters) &&
        restdb_words(call, "name", &w->names, &w->n_names) &&
        restdb_words(call, "user", &w->users, &w->n_users) &&
        restdb_ids(call, "id", &w->ids, &w->n_ids))
        answer_list(&l, "wckeys", "slurmdb_wckeys_get", PST__ACCT_ENTITY__ACCT_WCKEY);
    listing_done(&l);
}

static void get_wckey(struct rest_call *call)
{
    struct rest_pair id = { .name = (char *)"id", .value = (char *)call->word }; /* only read */
    struct rest_pair *query = call->query;
    size_t n = call->n_query;

    call->query = &id;
    call->n_query = 1;
    get_wckeys(call);
    call->query = query;
    call->n_query = n;
}

/* node_list: "node[1-3],x1" */
static bool take_nodes(struct rest_call *call, Pst__AcctCond *w)
{
    const char *text = rest_query(call, "node_list");
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (!text)
        return true;
    if (hostlist_parse(text, &hl, NULL) < 0) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, "node_list", "%.64s is no list of nodes", text);
        return false;
    }
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (!restdb_word(call, hostlist_nth(hl, i), &w->nodes, &w->n_nodes))
            return false;
    return true;
}

static void get_instances(struct rest_call *call)
{
    struct listing l = listing_of(call);
    Pst__AcctCond *w = &l.where;

    if (rest_acct(call, "slurmdb_instances_get") &&
        restdb_words(call, "cluster", &w->clusters, &w->n_clusters) &&
        restdb_words(call, "extra", &w->extras, &w->n_extras) &&
        restdb_words(call, "instance_id", &w->instance_ids, &w->n_instance_ids) &&
        restdb_words(call, "instance_type", &w->instance_types, &w->n_instance_types) &&
        take_nodes(call, w) && restdb_time(call, "time_start", &w->has_start_us, &w->start_us) &&
        restdb_time(call, "time_end", &w->has_end_us, &w->end_us))
        answer_list(&l, "instances", "slurmdb_instances_get", PST__ACCT_ENTITY__ACCT_INSTANCE);
    listing_done(&l);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static void get_config(struct rest_call *call)
{
    struct listing l = listing_of(call);
    struct store_people *p = &l.t.people;

    p->with_assoc = p->with_coord = p->with_default = true;
    if (rest_acct(call, "slurmdb_config_get") && restdb_load_names(call, &l.t) && keep_assocs(&l) &&
        keep_accounts(&l) && keep_wckeys(&l))
        (void)(put_list(&l, "clusters", "slurmdb_clusters_get", PST__ACCT_ENTITY__ACCT_CLUSTER) &&
               put_list(&l, "tres", "slurmdb_tres_get", PST__ACCT_ENTITY__ACCT_TRES) &&
               put_list(&l, "accounts", "slurmdb_accounts_get", PST__ACCT_ENTITY__ACCT_ACCOUNT) &&
               put_list(&l, "users", "slurmdb_users_get", PST__ACCT_ENTITY__ACCT_USER) &&
               put_list(&l, "qos", "slurmdb_qos_get", PST__ACCT_ENTITY__ACCT_QOS) &&
               put_list(&l, "wckeys", "slurmdb_wckeys_get", PST__ACCT_ENTITY__ACCT_WCKEY) &&
               put_list(&l, "associations", "slurmdb_associations_get",
                        PST__ACCT_ENTITY__ACCT_ASSOC)); /* what failed is noted */
    listing_done(&l);
}

const struct rest_row rest_dbget_rows[] = {
    { "GET", REST_SLURMDB, "accounts", 0, get_accounts, true },
    { "GET", REST_SLURMDB, "account/{}", 0, get_accounts, false },
    { "GET", REST_SLURMDB, "users", 0, get_users, true },
    { "GET", REST_SLURMDB, "user/{}", 0, get_users, false },
    { "GET", REST_SLURMDB, "associations", 0, get_assocs, true },
    { "GET", REST_SLURMDB, "association", 0, get_assoc, false },
    { "GET", REST_SLURMDB, "qos", 0, get_qos, true },
    { "GET", REST_SLURMDB, "qos/{}", 0, get_qos, false },
    { "GET", REST_SLURMDB, "clusters", 0, get_clusters, true },
    { "GET", REST_SLURMDB, "cluster/{}", 0, get_clusters, false },
    { "GET", REST_SLURMDB, "tres", 0, get_tres, true },
    { "GET", REST_SLURMDB, "wckeys", 0, get_wckeys, true },
    { "GET", REST_SLURMDB, "wckey/{}", 0, get_wckey, false },
    { "GET", REST_SLURMDB, "instances", 0, get_instances, false },
    { "GET", REST_SLURMDB, "instance", 0, get_instances, false },
    { "GET", REST_SLURMDB, "config", 0, get_config, true },
    { 0 },
};
