/* restdbdelete.c - removing from the accounting store; see restdbdelete.h */
#include "rest/db/restdbdelete.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "rest/db/restdb.h"
#include "rest/db/restdbset.h"
#include "wire/errors.h"

#define DELETE PST__ACCT_VERB__ACCT_DELETE
#define ACCOUNT PST__ACCT_ENTITY__ACCT_ACCOUNT
#define USER PST__ACCT_ENTITY__ACCT_USER

/* Names that results tell, under a key of the answer. */
static void put_removed(struct rest_call *call, const char *key, const struct restdb_changes *ch)
{
    json_list(&call->js, key);
    for (size_t i = 0; i < ch->reply->n_results; i++)
        for (size_t k = 0; k < ch->reply->results[i]->n_names; k++)
            json_str(&call->js, NULL, ch->reply->results[i]->names[k]);
    json_list_end(&call->js);
}

static bool found_nothing(const struct restdb_changes *ch)
{
    return ch->reply->n_results == 1 && ch->reply->results[0]->has_code;
}

/* The one that the path names.  key NULL: the answer does not tell. */
static void delete_named(struct rest_call *call, Pst__AcctEntity entity, const char *what,
                         const char *key)
{
    struct restdb_changes ch;
    Pst__AcctOp *op;

    restdb_changes_init(&ch, call);
    op = restdb_op(&ch, DELETE, entity, what, what);
    if (op)
        restdb_name(&ch, &op->where->names, &op->where->n_names, call->word);
    if (op && restdb_send(&ch)) {
        if (key)
            put_removed(call, key, &ch);
        if (found_nothing(&ch))
            rest_warning(call, what, "%s() found nothing", what);
    }
    restdb_changes_done(&ch);
}

static void delete_account(struct rest_call *call)
{
    delete_named(call, ACCOUNT, "slurmdb_accounts_remove", "removed_accounts");
}

static void delete_user(struct rest_call *call)
{
    delete_named(call, USER, "slurmdb_users_remove", NULL);
}

static void delete_qos(struct rest_call *call)
{
    delete_named(call, PST__ACCT_ENTITY__ACCT_QOS, "slurmdb_qos_remove", "removed_qos");
}

static void delete_cluster(struct rest_call *call)
{
    delete_named(call, PST__ACCT_ENTITY__ACCT_CLUSTER, "slurmdb_clusters_remove",
                 "deleted_clusters");
}

static void delete_wckey(struct rest_call *call)
{
    static const char what[] = "slurmdb_wckeys_remove";
    struct restdb_changes ch;
    uint64_t id = 0;
    Pst__AcctOp *op;

    if (parse_u64(call->word, 1, UINT32_MAX, &id) < 0) {
        rest_error(call, ESLURM_REST_INVALID_QUERY, what, "%.64s is no number of a wckey",
                   call->word);
        return;
    }
    restdb_changes_init(&ch, call);
    op = restdb_op(&ch, DELETE, PST__ACCT_ENTITY__ACCT_WCKEY, what, what);
    if (op)
        restdb_number(&ch, &op->where->ids, &op->where->n_ids, (uint32_t)id);
    if (op && restdb_send(&ch)) {
        put_removed(call, "deleted_wckeys", &ch);
        if (found_nothing(&ch))
            rest_warning(call, what, "%s() found nothing", what);
    }
    restdb_changes_done(&ch);
}

/* ---- associations ---------------------------------------------------------------------------- */

#define ASSOC_WHAT "slurmdb_associations_remove"

static bool chooses_any(const Pst__AcctCond *w)
{
    return w->n_accounts || w->n_clusters || w->n_users || w->n_partitions || w->n_parents ||
           w->n_ids || w->n_qos_ids || w->n_default_qos_ids || w->no_users;
}

/* Those of users go before those of accounts, which take all below them along. */
static void remove_assocs(struct restdb_changes *ch, const struct store_people *p, bool users)
{
    for (size_t i = 0; i < p->n_assocs && !ch->failed; i++) {
        const Pst__AssocRecord *a = p->assocs[i];
        bool of_user = a->user && *a->user;
        Pst__AcctOp *op;

        if (of_user != users)
            continue;
        op = restdb_op(ch, DELETE, of_user ? USER : ACCOUNT, ASSOC_WHAT, ASSOC_WHAT);
        if (!op)
            return;
        restdb_name(ch, &op->where->names, &op->where->n_names, of_user ? a->user : a->account);
        restdb_name(ch, &op->where->clusters, &op->where->n_clusters, a->cluster);
        if (!of_user)
            continue;
        restdb_name(ch, &op->where->accounts, &op->where->n_accounts, a->account);
        restdb_name_or_none(ch, &op->where->partitions, &op->where->n_partitions, a->partition);
    }
}

static void put_assocs(struct rest_call *call, const struct store_people *p)
{
    struct json *js = &call->js;

    json_list(js, "removed_associations");
    for (size_t i = 0; i < p->n_assocs; i++) {
        const Pst__AssocRecord *a = p->assocs[i];
        struct strbuf *sb = json_scratch(js);

        strbuf_addf(sb, "C = %-10s A = %-10s", a->cluster, a->account);
        if (a->user && *a->user)
            strbuf_addf(sb, " U = %-9s", a->user);
        if (a->partition && *a->partition)
            strbuf_addf(sb, " P = %s", a->partition);
        json_str_n(js, NULL, sb->buf, sb->len);
    }
    json_list_end(js);
}

static void delete_chosen(struct rest_call *call, const struct store_people *p)
{
    struct restdb_changes ch;

    restdb_changes_init(&ch, call);
    remove_assocs(&ch, p, true);
    remove_assocs(&ch, p, false);
    if (restdb_send(&ch))
        put_assocs(call, p);
    restdb_changes_done(&ch);
}

static void delete_assocs_up_to(struct rest_call *call, size_t most)
{
    Pst__AcctCond where = PST__ACCT_COND__INIT;
    struct restdb_tables t = { 0 };
    struct store_people *p = &t.people;

    if (restdb_load_names(call, &t) && restdb_assoc_where(call, &t.names, &where)) {
        /* what is gone is not removed again, nor what lives under its name */
        where.has_with_deleted = where.with_deleted = false;
        if (!chooses_any(&where))
            rest_error(call, ESLURM_REST_QUERY_UNMET, ASSOC_WHAT, "the request chooses nothing");
        else if (restdb_keep(call, "slurmdb_associations_get", PST__ACCT_ENTITY__ACCT_ASSOC, &where,
                             &p->assocs, &p->n_assocs)) {
            if (p->n_assocs > most)
                rest_error(call, ESLURM_REST_QUERY_UNMET, ASSOC_WHAT,
                           "%zu associations are chosen, not one", p->n_assocs);
            else
                delete_chosen(call, p);
            if (!p->n_assocs)
                rest_warning(call, ASSOC_WHAT, "%s() found nothing", ASSOC_WHAT);
        }
    }
    restdb_tables_done(&t);
    pb_done(&where.base);
}

static void delete_assocs(struct rest_call *call)
{
    delete_assocs_up_to(call, RESTDB_OPS_MAX);
}

static void delete_assoc(struct rest_call *call)
{
    delete_assocs_up_to(call, 1);
}

const struct rest_row rest_dbdelete_rows[] = {
    { "DELETE", REST_SLURMDB, "account/{}", 0, delete_account, false },
    { "DELETE", REST_SLURMDB, "user/{}", 0, delete_user, false },
    { "DELETE", REST_SLURMDB, "qos/{}", 0, delete_qos, false },
    { "DELETE", REST_SLURMDB, "cluster/{}", 0, delete_cluster, false },
    { "DELETE", REST_SLURMDB, "wckey/{}", 0, delete_wckey, false },
    { "DELETE", REST_SLURMDB, "associations", 0, delete_assocs, false },
    { "DELETE", REST_SLURMDB, "association", 0, delete_assoc, false },
    { 0 },
};
