/* admin_rows.c - the tables of the accounting entities
 *
 * One row a record: its kind and key, the version of its newest change, and the change itself as
 * bytes.  A removed record's row stays and says so, so that whoever missed the removal learns of
 * it.  Everything is read once, at the start; what is written is what changed. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_impl.h"
#include "acct/sql/db.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "job.pb-c.h"

#define KEY_MAX 1200

/* ---- records --------------------------------------------------------------------------------- */

static bool is_put(const Pst__AcctChange *c)
{
    return c->body_case < PST__ACCT_CHANGE__BODY_QOS_REMOVE ||
           c->body_case == PST__ACCT_CHANGE__BODY_FEDERATION;
}

/* What a change is about: the same for a put and the removal of it. */
static void key_of(const Pst__AcctChange *c, int *ret_kind, char key[KEY_MAX])
{
    if (is_put(c))
        *ret_kind = (int)c->body_case;
    switch (c->body_case) {
    case PST__ACCT_CHANGE__BODY_TRES:
        (void)snprintf(key, KEY_MAX, "%u", c->tres->tres_id);
        return;
    case PST__ACCT_CHANGE__BODY_CLUSTER:
        (void)snprintf(key, KEY_MAX, "%s", c->cluster->name);
        return;
    case PST__ACCT_CHANGE__BODY_ACCOUNT:
        (void)snprintf(key, KEY_MAX, "%s", c->account->name);
        return;
    case PST__ACCT_CHANGE__BODY_USER:
        (void)snprintf(key, KEY_MAX, "%s", c->user->name);
        return;
    case PST__ACCT_CHANGE__BODY_ACCOUNT_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_ACCOUNT;
        (void)snprintf(key, KEY_MAX, "%s", c->account_remove);
        return;
    case PST__ACCT_CHANGE__BODY_USER_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_USER;
        (void)snprintf(key, KEY_MAX, "%s", c->user_remove);
        return;
    case PST__ACCT_CHANGE__BODY_CLUSTER_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_CLUSTER;
        (void)snprintf(key, KEY_MAX, "%s", c->cluster_remove);
        return;
    case PST__ACCT_CHANGE__BODY_FEDERATION:
        (void)snprintf(key, KEY_MAX, "%s", c->federation->name);
        return;
    case PST__ACCT_CHANGE__BODY_FEDERATION_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_FEDERATION;
        (void)snprintf(key, KEY_MAX, "%s", c->federation_remove);
        return;
    case PST__ACCT_CHANGE__BODY_QOS:
        (void)snprintf(key, KEY_MAX, "%u", c->qos->qos_id);
        return;
    case PST__ACCT_CHANGE__BODY_ASSOC:
        (void)snprintf(key, KEY_MAX, "%u", c->assoc->assoc_id);
        return;
    case PST__ACCT_CHANGE__BODY_WCKEY:
        (void)snprintf(key, KEY_MAX, "%u", c->wckey->wckey_id);
        return;
    case PST__ACCT_CHANGE__BODY_RESOURCE:
        (void)snprintf(key, KEY_MAX, "%u", c->resource->resource_id);
        return;
    case PST__ACCT_CHANGE__BODY_QOS_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_QOS;
        break;
    case PST__ACCT_CHANGE__BODY_ASSOC_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_ASSOC;
        break;
    case PST__ACCT_CHANGE__BODY_WCKEY_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_WCKEY;
        break;
    case PST__ACCT_CHANGE__BODY_RESOURCE_REMOVE:
        *ret_kind = PST__ACCT_CHANGE__BODY_RESOURCE;
        break;
    default:
        *ret_kind = 0;
    }
    (void)snprintf(key, KEY_MAX, "%u",
                   c->assoc_remove); /* all removals by number share their place */
}

struct loading {
    struct admin *a;
    struct err *err;
};

static int load_change(void *ctx, const Pst__AcctChange *change)
{
    struct loading *l = ctx;
    int r = 0;

    if (is_put(change))
        r = am_apply(l->a->am, change, l->err);
    l->a->version = MAX(l->a->version, change->version);
    return r;
}

int admin_changes(struct admin *a, uint64_t after, admin_change_fn *fn, void *ctx)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r =
        sql_prepare(a->db, "SELECT record FROM entities WHERE version>? ORDER BY version", &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, (int64_t)after);
    while ((r = sql_step(stmt)) > 0) {
        size_t len;
        const void *data = sql_blob(stmt, 0, &len);
        Pst__AcctChange *change = pst__acct_change__unpack(NULL, len, data);

        if (!change)
            return -EUCLEAN;
        r = fn(ctx, change);
        pst__acct_change__free_unpacked(change, NULL);
        if (r < 0) {
            sql_reset(stmt);
            return r;
        }
    }
    return r;
}

int rows_load(struct admin *a, struct err *err)
{
    struct loading l = { a, err };
    int64_t txn = 0;
    int r = admin_changes(a, 0, load_change, &l);

    if (r == 0)
        r = sql_get(a->db, "SELECT max(id) FROM txns", 0, &txn);
    if (r < 0)
        return err_set(err, r, "accounting: %s: %s", sql_name(a->db), sql_error(a->db));
    a->next_txn = (uint64_t)txn + 1;
    return 0;
}

static int pack_message(const ProtobufCMessage *msg, uint8_t **buf, size_t *ret_len)
{
    *buf = malloc(protobuf_c_message_get_packed_size(msg) + 1);
    if (!*buf)
        return -ENOMEM;
    *ret_len = protobuf_c_message_pack(msg, *buf);
    return 0;
}

static int save_changes(struct admin_run *run)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(
        run->a->db, "REPLACE INTO entities(kind, id, version, record) VALUES(?, ?, ?, ?)", &stmt);

    for (size_t i = 0; r == 0 && i < run->n; i++) {
        _cleanup_free_ uint8_t *buf = NULL;
        char key[KEY_MAX];
        int kind = 0;
        size_t len = 0;

        key_of(run->changes[i], &kind, key);
        r = pack_message(&run->changes[i]->base, &buf, &len);
        if (r < 0)
            break;
        sql_bind(stmt, 0, kind);
        sql_bind_text(stmt, 1, key);
        sql_bind(stmt, 2, (int64_t)run->changes[i]->version);
        sql_bind_blob(stmt, 3, buf, len);
        r = sql_run(stmt);
    }
    return r;
}

static int save_txns(struct admin_run *run)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(run->a->db, "INSERT INTO txns(id, time_us, record) VALUES(?, ?, ?)", &stmt);

    for (size_t i = 0; r == 0 && i < run->n_txns; i++) {
        _cleanup_free_ uint8_t *buf = NULL;
        size_t len = 0;

        r = pack_message(&run->txns[i]->base, &buf, &len);
        if (r < 0)
            break;
        sql_bind(stmt, 0, (int64_t)run->txns[i]->txn_id);
        sql_bind(stmt, 1, run->txns[i]->time_us);
        sql_bind_blob(stmt, 2, buf, len);
        r = sql_run(stmt);
    }
    return r;
}

int rows_save(struct admin_run *run)
{
    int r = sql_begin(run->a->db);

    if (r == 0)
        r = save_changes(run);
    if (r == 0)
        r = save_txns(run);
    if (r == 0)
        r = rows_save_jobs(run);
    if (r == 0)
        r = sql_commit(run->a->db);
    if (r < 0) {
        err_set(&run->why, r, "accounting: %s: %s", sql_name(run->a->db), sql_error(run->a->db));
        sql_rollback(run->a->db);
    }
    return r;
}

/* ---- jobs under associations ----------------------------------------------------------------- */

int rows_has_jobs(struct admin *a, const char *cluster, const char *account, const char *user)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(a->db, "SELECT 1 FROM jobs WHERE account=? LIMIT 1", &stmt);

    (void)cluster;
    (void)user; /* of anybody in the account, anywhere: a trace too many hurts nobody */
    if (r < 0)
        return r;
    sql_bind_text(stmt, 0, account);
    r = sql_step(stmt);
    if (r > 0)
        sql_reset(stmt);
    return r;
}

/* A job that is not over, told once for each association, whatever its QOS and wckey. */
static void tell_job(struct admin_run *run, const Pst__JobRecord *j, const char *cluster)
{
    bool wckey = j->wckey && *j->wckey;
    char place[800];

    (void)snprintf(place, sizeof(place), "C = %-10s A = %-10s U = %-9s ", cluster,
                   j->account ? j->account : "", j->user_name ? j->user_name : "");
    for (size_t i = 0; i < run->res->n_lines; i++) {
        const char *told = strstr(run->res->lines[i], "C = ");

        if (told && strncmp(told, place, strlen(place)) == 0)
            return;
    }
    if (wckey)
        run_line(run, "JobID = %-10u %sQ = %-9s W = %-9s", j->job_id, place, j->qos ? j->qos : "",
                 j->wckey);
    else
        run_line(run, "JobID = %-10u %sQ = %-9s", j->job_id, place, j->qos ? j->qos : "");
}

/* A job that named no key has its user's default one with a star before it. */
static bool has_wckey(const Pst__JobRecord *j, const char *wckey)
{
    return j->wckey && strcmp(j->wckey + (*j->wckey == '*' && *wckey != '*'), wckey) == 0;
}

static bool is_chosen(const Pst__JobRecord *j, const struct open_jobs *which)
{
    return (!which->account || (j->account && strcasecmp(j->account, which->account) == 0)) &&
           (!which->user || (j->user_name && strcmp(j->user_name, which->user) == 0)) &&
           (!which->qos || (j->qos && strcasecmp(j->qos, which->qos) == 0)) &&
           (!which->wckey || has_wckey(j, which->wckey));
}

static int tell_row(struct admin_run *run, struct sql_stmt *stmt, const struct open_jobs *which)
{
    size_t len;
    const void *data = sql_blob(stmt, 0, &len);
    Pst__JobRecord *j = pst__job_record__unpack(NULL, len, data);

    if (!j)
        return -EUCLEAN;
    if (is_chosen(j, which))
        tell_job(run, j, sql_text(stmt, 3));
    pst__job_record__free_unpacked(j, NULL);
    return 0;
}

int rows_open_jobs(struct admin_run *run, const struct open_jobs *which)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(run->a->db,
                        which->account ? "SELECT j.record, j.run, s.id, s.name FROM jobs j, sources"
                                         " s WHERE j.end_us=? AND j.account=? ORDER BY j.run"
                                       : "SELECT j.record, j.run, s.id, s.name FROM jobs j, sources"
                                         " s WHERE j.end_us=? ORDER BY j.run",
                        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, ACCT_OPEN_END);
    if (which->account)
        sql_bind_text(stmt, 1, which->account);
    while ((r = sql_step(stmt)) > 0) {
        if (sql_int(stmt, 1) >> ACCT_SOURCE_SHIFT != sql_int(stmt, 2) ||
            (which->cluster && strcasecmp(which->cluster, sql_text(stmt, 3)) != 0))
            continue;
        r = tell_row(run, stmt, which);
        if (r < 0 || run->res->n_lines >= 1000) {
            sql_reset(stmt);
            return r;
        }
    }
    return r;
}

/* ---- transactions ---------------------------------------------------------------------------- */

static bool any_of(char *const *want, size_t n, char **have, size_t n_have)
{
    for (size_t i = 0; i < n_have; i++)
        if (cond_has(want, n, have[i]))
            return true;
    return n == 0;
}

static bool wants_txn(const Pst__AcctCond *w, const Pst__AcctTxnRecord *t)
{
    bool action = w->n_actions == 0;

    for (size_t i = 0; i < w->n_actions && !action; i++)
        action = strcasestr(t->action, w->actions[i]) != NULL;
    return action && cond_has_id(w->ids, w->n_ids, (uint32_t)t->txn_id) &&
           cond_has(w->actors, w->n_actors, t->actor) &&
           (!w->n_clusters || cond_has(w->clusters, w->n_clusters, t->cluster)) &&
           any_of(w->accounts, w->n_accounts, t->accounts, t->n_accounts) &&
           any_of(w->users, w->n_users, t->users, t->n_users);
}

int rows_list_txns(struct admin *a, const Pst__AcctCond *where, admin_row_fn *fn, void *ctx)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(a->db, "SELECT record FROM txns WHERE time_us>=? AND time_us<? ORDER BY id",
                        &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, where->has_start_us ? where->start_us : 0);
    sql_bind(stmt, 1, where->has_end_us ? where->end_us : INT64_MAX);
    while ((r = sql_step(stmt)) > 0) {
        size_t len;
        const void *data = sql_blob(stmt, 0, &len);
        Pst__AcctTxnRecord *t = pst__acct_txn_record__unpack(NULL, len, data);

        if (!t)
            return -EUCLEAN;
        r = wants_txn(where, t) ? fn(ctx, &t->base) : 0;
        pst__acct_txn_record__free_unpacked(t, NULL);
        if (r < 0) {
            sql_reset(stmt);
            return r;
        }
    }
    return r;
}

/* ---- events of nodes and clusters ------------------------------------------------------------ */

/* A base state, or one of the flags behind it. */
static bool has_event_state(const Pst__AcctCond *w, uint32_t state)
{
    for (size_t i = 0; i < w->n_states; i++)
        if (w->states[i] > 0xff ? state & w->states[i] : (state & 0xff) == w->states[i])
            return true;
    return w->n_states == 0;
}

static bool wants_event(const Pst__AcctCond *w, const Pst__AcctEventRecord *e)
{
    bool node = e->node && *e->node, reason = w->n_reasons == 0;

    for (size_t i = 0; i < w->n_reasons && !reason; i++)
        reason = e->reason && strcasestr(e->reason, w->reasons[i]);
    return reason && cond_has(w->clusters, w->n_clusters, e->cluster) &&
           cond_has(w->nodes, w->n_nodes, e->node) && (!w->only_open || !e->has_end_us) &&
           (!w->has_event_type || (w->event_type == 2) == node) && has_event_state(w, e->state);
}

static void event_of_row(struct sql_stmt *stmt, Pst__AcctEventRecord *e)
{
    int64_t end = sql_int(stmt, 3);

    pst__acct_event_record__init(e);
    e->cluster = (char *)sql_text(stmt, 0); /* borrowed, as are those below */
    e->node = (char *)sql_text(stmt, 1);
    e->has_start_us = e->has_state = 1;
    e->start_us = sql_int(stmt, 2);
    e->has_end_us = end != ACCT_OPEN_END;
    e->end_us = end;
    e->state = (uint32_t)sql_int(stmt, 4);
    e->reason = (char *)sql_text(stmt, 5);
    e->has_uid = !sql_is_null(stmt, 6);
    e->uid = (uint32_t)sql_int(stmt, 6);
    e->tres = (char *)sql_text(stmt, 7);
    e->nodes = (char *)sql_text(stmt, 8);
}

/* Tell of one row, when the conditions want it.  0 or what fn gave. */
typedef int told_row_fn(struct sql_stmt *stmt, const Pst__AcctCond *where, admin_row_fn *fn,
                        void *ctx);

/* The rows of a select whose first two parameters are the end and the start of a time. */
static int list_between(struct admin *a, const Pst__AcctCond *where, const char *select,
                        told_row_fn *tell, admin_row_fn *fn, void *ctx)
{
    _cleanup_(sql_free) struct sql_stmt *stmt = NULL;
    int r = sql_prepare(a->db, select, &stmt);

    if (r < 0)
        return r;
    sql_bind(stmt, 0, where->has_end_us ? where->end_us : INT64_MAX);
    sql_bind(stmt, 1, where->has_start_us ? where->start_us : 0);
    while ((r = sql_step(stmt)) > 0) {
        r = tell(stmt, where, fn, ctx);
        if (r < 0) {
            sql_reset(stmt);
            return r;
        }
    }
    return r;
}

static int tell_event(struct sql_stmt *stmt, const Pst__AcctCond *where, admin_row_fn *fn,
                      void *ctx)
{
    Pst__AcctEventRecord e;

    event_of_row(stmt, &e);
    return wants_event(where, &e) ? fn(ctx, &e.base) : 0;
}

int rows_list_events(struct admin *a, const Pst__AcctCond *where, admin_row_fn *fn, void *ctx)
{
    return list_between(
        a, where,
        "SELECT s.name, e.node, e.start_us, e.end_us, e.state, e.reason, e.uid, e.tres, e.nodes"
        " FROM events e JOIN sources s ON s.id=e.source WHERE e.start_us<? AND e.end_us>=?"
        " ORDER BY s.name, e.start_us, e.node",
        tell_event, fn, ctx);
}

/* ---- instances of nodes ---------------------------------------------------------------------- */

static bool wants_instance(const Pst__AcctCond *w, const Pst__AcctInstanceRecord *i)
{
    return cond_has(w->clusters, w->n_clusters, i->cluster) &&
           cond_has(w->nodes, w->n_nodes, i->node) &&
           cond_has(w->instance_ids, w->n_instance_ids, i->instance_id) &&
           cond_has(w->instance_types, w->n_instance_types, i->instance_type) &&
           cond_has(w->extras, w->n_extras, i->extra);
}

static void instance_of_row(struct sql_stmt *stmt, Pst__AcctInstanceRecord *i)
{
    int64_t end = sql_int(stmt, 3);

    pst__acct_instance_record__init(i);
    i->cluster = (char *)sql_text(stmt, 0); /* borrowed, as are those below */
    i->node = (char *)sql_text(stmt, 1);
    i->has_start_us = 1;
    i->start_us = sql_int(stmt, 2);
    i->has_end_us = end != ACCT_OPEN_END;
    i->end_us = end;
    i->instance_id = (char *)sql_text(stmt, 4);
    i->instance_type = (char *)sql_text(stmt, 5);
    i->extra = (char *)sql_text(stmt, 6);
}

static int tell_instance(struct sql_stmt *stmt, const Pst__AcctCond *where, admin_row_fn *fn,
                         void *ctx)
{
    Pst__AcctInstanceRecord i;

    instance_of_row(stmt, &i);
    return wants_instance(where, &i) ? fn(ctx, &i.base) : 0;
}

int rows_list_instances(struct admin *a, const Pst__AcctCond *where, admin_row_fn *fn, void *ctx)
{
    return list_between(
        a, where,
        "SELECT s.name, i.node, i.start_us, i.end_us, i.instance_id, i.instance_type, i.extra"
        " FROM instances i JOIN sources s ON s.id=i.source WHERE i.start_us<? AND i.end_us>=?"
        " ORDER BY s.name, i.start_us, i.node",
        tell_instance, fn, ctx);
}
