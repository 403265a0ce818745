/* admin_list.c - questions about the accounting entities
 *
 * Records are given as the tables have them, those of associations with what they inherit worked
 * out, sorted as people read them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/admin_cost.h"
#include "acct/admin/admin_impl.h"
#include "acct/acctresv.h"
#include "acct/accttres.h"

struct listing {
    struct admin_run run;
    const Pst__AcctCond *where;
    admin_row_fn *fn;
    void *ctx;
};

/* ---- associations ---------------------------------------------------------------------------- */

static bool may_see_assoc(struct listing *l, struct assoc *a)
{
    if (!(l->run.who->rules & ADMIN_PRIVATE_USERS) || run_is_operator(&l->run))
        return true;
    if (a->user && strcmp(a->rec->user, l->run.who->user) == 0)
        return true;
    return run_may_account(&l->run, a->rec->cluster, a->rec->account);
}

static int give_assoc(struct listing *l, struct assoc *a)
{
    struct assoc_mgr *am = l->run.a->am;
    Pst__AssocRecord out = *a->rec;
    const uint32_t *qos;

    if (!l->where->no_inherited_limits) {
        out.limits = (Pst__Limits *)am_limits(am, a); /* only read */
        out.priority = am_priority(a);
        out.has_priority = out.priority != 0;
    }
    if (!l->where->raw_qos) {
        uint32_t def = am_default_qos(am, a);

        out.n_qos_ids = am_qos_list(am, a, &qos);
        out.qos_ids = (uint32_t *)qos; /* only read */
        out.n_qos_added = out.n_qos_removed = 0;
        out.has_default_qos_id = def != 0;
        out.default_qos_id = def;
    }
    out.has_parent_id = a->parent != NULL;
    out.parent_id = a->parent ? a->parent->id : 0;
    out.parent_account = a->parent && !a->user ? a->parent->rec->account : NULL;
    out.lineage = (char *)am_lineage(am, a); /* only read */
    return l->fn(l->ctx, &out.base);
}

static int list_assocs(struct listing *l)
{
    size_t n = 0;
    uint32_t *ids = cond_assocs(&l->run, l->where, &n);
    int r = l->run.r;

    for (size_t i = 0; r == 0 && i < n; i++) {
        struct assoc *a = am_assoc(l->run.a->am, ids[i]);

        if (may_see_assoc(l, a))
            r = give_assoc(l, a);
    }
    free(ids);
    return r;
}

/* ---- the others ------------------------------------------------------------------------------ */

static bool wants_account(struct listing *l, const Pst__AccountRecord *a)
{
    const Pst__AcctCond *w = l->where;
    const Pst__AcctClusterRecord *c;
    size_t pos = 0;

    if ((a->deleted && !w->with_deleted) || !cond_has(w->names, w->n_names, a->name) ||
        !cond_has(w->accounts, w->n_accounts, a->name) ||
        !cond_has(w->descriptions, w->n_descriptions, a->description) ||
        !cond_has(w->organizations, w->n_organizations, a->organization))
        return false;
    if (!(l->run.who->rules & ADMIN_PRIVATE_ACCOUNTS) || run_is_operator(&l->run))
        return true;
    for (struct assoc *s = am_of_user(l->run.a->am, l->run.who->user); s; s = s->next_of_user)
        if (strcasecmp(s->rec->account, a->name) == 0)
            return true;
    while ((c = (const Pst__AcctClusterRecord *)am_next(l->run.a->am, AM_CLUSTER, &pos)))
        if (am_is_coordinator(l->run.a->am, c->name, l->run.who->user, a->name))
            return true;
    return false;
}

/* A coordinator sees whom he coordinates as associations. */
static bool may_see_user(struct listing *l, const char *name)
{
    return !(l->run.who->rules & ADMIN_PRIVATE_USERS) || run_is_operator(&l->run) ||
           strcmp(name, l->run.who->user) == 0;
}

static bool wants_user(struct listing *l, const Pst__UserRecord *u)
{
    const Pst__AcctCond *w = l->where;

    if ((u->deleted && !w->with_deleted) || !cond_has(w->names, w->n_names, u->name) ||
        !cond_has(w->users, w->n_users, u->name) ||
        (w->has_admin_level && w->admin_level != u->admin_level) ||
        !cond_has(w->default_wckeys, w->n_default_wckeys, u->default_wckey))
        return false;
    /* Accounts and clusters by themselves choose associations, which stand beside the users. */
    if (w->n_default_accounts) {
        bool any = false;

        for (struct assoc *a = am_of_user(l->run.a->am, u->name); a && !any; a = a->next_of_user)
            any = a->rec->is_default &&
                  cond_has(w->default_accounts, w->n_default_accounts, a->rec->account) &&
                  cond_has(w->accounts, w->n_accounts, a->rec->account) &&
                  cond_has(w->clusters, w->n_clusters, a->rec->cluster);
        if (!any)
            return false;
    }
    return may_see_user(l, u->name);
}

static bool wants_wckey(const Pst__AcctCond *w, const Pst__WckeyRecord *k)
{
    return (!k->deleted || w->with_deleted) && cond_has(w->names, w->n_names, k->name) &&
           cond_has(w->wckeys, w->n_wckeys, k->name) && cond_has(w->users, w->n_users, k->user) &&
           cond_has(w->clusters, w->n_clusters, k->cluster) &&
           cond_has_id(w->ids, w->n_ids, k->wckey_id) && (!w->only_defaults || k->is_default);
}

/* What names users and accounts is for those who see them, and for who did it. */
static int tell_txn(void *ctx, const ProtobufCMessage *txn)
{
    struct listing *l = ctx;
    const Pst__AcctTxnRecord *t = (const Pst__AcctTxnRecord *)txn;
    const char *user = l->run.who->user;
    bool is_own = *user && t->actor && strcmp(t->actor, user) == 0;
    bool hidden = l->run.who->rules & (ADMIN_PRIVATE_USERS | ADMIN_PRIVATE_ACCOUNTS) &&
                  !run_is_operator(&l->run) && !is_own;

    return hidden ? 0 : l->fn(l->ctx, txn);
}

static bool wants_resource(const Pst__AcctCond *w, const Pst__ResourceRecord *r)
{
    bool in_cluster = !w->n_clusters;

    for (size_t i = 0; i < r->n_shares && !in_cluster; i++)
        in_cluster = cond_has(w->clusters, w->n_clusters, r->shares[i]->cluster);
    return in_cluster && cond_resource(w, r);
}

static bool wants_tres(const Pst__AcctCond *w, const Pst__TresRecord *t)
{
    /* names are of the kind: "gpu" of gres/gpu; types go as descriptions */
    return cond_has(w->names, w->n_names, t->name) && cond_has_id(w->ids, w->n_ids, t->tres_id) &&
           cond_has(w->descriptions, w->n_descriptions, t->type);
}

static bool is_wanted(struct listing *l, const ProtobufCMessage *m)
{
    const Pst__AcctCond *w = l->where;
    const ProtobufCMessageDescriptor *d = m->descriptor;

    if (d == &pst__account_record__descriptor)
        return wants_account(l, (const Pst__AccountRecord *)m);
    if (d == &pst__user_record__descriptor)
        return wants_user(l, (const Pst__UserRecord *)m);
    if (d == &pst__wckey_record__descriptor)
        return wants_wckey(w, (const Pst__WckeyRecord *)m) &&
               may_see_user(l, ((const Pst__WckeyRecord *)m)->user);
    if (d == &pst__resource_record__descriptor)
        return wants_resource(w, (const Pst__ResourceRecord *)m);
    if (d == &pst__tres_record__descriptor)
        return wants_tres(w, (const Pst__TresRecord *)m);
    if (d == &pst__federation_record__descriptor)
        return cond_has(w->names, w->n_names, ((const Pst__FederationRecord *)m)->name);
    if (d == &pst__qos_record__descriptor) {
        const Pst__QosRecord *q = (const Pst__QosRecord *)m;

        return (!q->deleted || w->with_deleted) && !w->n_clusters && /* it is of no cluster */
               cond_has(w->names, w->n_names, q->name) &&
               cond_has_id(w->ids, w->n_ids, q->qos_id) &&
               cond_has(w->descriptions, w->n_descriptions, q->description);
    }
    return (!((const Pst__AcctClusterRecord *)m)->deleted || w->with_deleted) &&
           cond_has(w->names, w->n_names, ((const Pst__AcctClusterRecord *)m)->name) &&
           cond_has(w->clusters, w->n_clusters, ((const Pst__AcctClusterRecord *)m)->name);
}

/* By number where there is one that people see, else by name. */
static int compare_entities(const void *pa, const void *pb)
{
    const ProtobufCMessage *a = *(const ProtobufCMessage *const *)pa;
    const ProtobufCMessage *b = *(const ProtobufCMessage *const *)pb;
    const ProtobufCMessageDescriptor *d = a->descriptor;
    uint32_t x, y;

    if (d == &pst__account_record__descriptor)
        return strcmp(((const Pst__AccountRecord *)a)->name, ((const Pst__AccountRecord *)b)->name);
    if (d == &pst__user_record__descriptor)
        return strcmp(((const Pst__UserRecord *)a)->name, ((const Pst__UserRecord *)b)->name);
    if (d == &pst__federation_record__descriptor)
        return strcmp(((const Pst__FederationRecord *)a)->name,
                      ((const Pst__FederationRecord *)b)->name);
    if (d == &pst__acct_cluster_record__descriptor)
        return strcmp(((const Pst__AcctClusterRecord *)a)->name,
                      ((const Pst__AcctClusterRecord *)b)->name);
    /* the number is each one's first field, so at the same place */
    x = *(const uint32_t *)((const char *)a + d->fields[0].offset);
    y = *(const uint32_t *)((const char *)b + d->fields[0].offset);
    return (x > y) - (x < y);
}

/* The tables name resources, "cpu=8,mem=16000M"; callers know them by number, "1=8,2=16000". */
static void number_tres(const struct assoc_mgr *am, const char *named, struct strbuf *ret)
{
    struct tres_item item;

    while (tres_next(&named, &item)) {
        uint32_t id = am_tres_id(am, item.name);

        if (id)
            strbuf_addf(ret, "%s%u=%llu", ret->len ? "," : "", id, (unsigned long long)item.count);
    }
}

static int tell_event(void *ctx, const ProtobufCMessage *event)
{
    _cleanup_val_(strbuf_done) struct strbuf tres = STRBUF_INIT;
    Pst__AcctEventRecord e = *(const Pst__AcctEventRecord *)event;
    struct listing *l = ctx;

    number_tres(l->run.a->am, e.tres, &tres);
    e.tres = (char *)strbuf_str(&tres); /* only read */
    return l->fn(l->ctx, &e.base);
}

/* A cluster that is told of with what its controller registered last: its open event. */
struct registered {
    struct listing *l;
    Pst__AcctClusterRecord cluster;
    bool told;
};

static int tell_registered(void *ctx, const ProtobufCMessage *event)
{
    _cleanup_val_(strbuf_done) struct strbuf tres = STRBUF_INIT;
    const Pst__AcctEventRecord *e = (const Pst__AcctEventRecord *)event;
    struct registered *r = ctx;

    if (r->told)
        return 0;
    r->told = true;
    number_tres(r->l->run.a->am, e->tres, &tres);
    r->cluster.tres = (char *)strbuf_str(&tres); /* only read */
    r->cluster.nodes = e->nodes;
    return r->l->fn(r->l->ctx, &r->cluster.base);
}

static int tell_cluster(struct listing *l, const Pst__AcctClusterRecord *c)
{
    struct registered reg = { .l = l, .cluster = *c };
    Pst__AcctCond open = PST__ACCT_COND__INIT;
    char *names[] = { c->name };
    int r;

    open.clusters = names;
    open.n_clusters = 1;
    open.has_only_open = open.only_open = true;
    open.has_event_type = true;
    open.event_type = 1;
    open.has_start_us = true;
    open.start_us = INT64_MAX; /* no row that has ended is looked at */
    r = c->deleted ? 0 : rows_list_events(l->run.a, &open, tell_registered, &reg);
    return r < 0 || reg.told ? r : l->fn(l->ctx, &c->base);
}

static int tell_entity(struct listing *l, const ProtobufCMessage *m)
{
    return m->descriptor == &pst__acct_cluster_record__descriptor
               ? tell_cluster(l, (const Pst__AcctClusterRecord *)m)
               : l->fn(l->ctx, m);
}

static int list_kind(struct listing *l, enum am_kind kind)
{
    const ProtobufCMessage **all = calloc(am_count(l->run.a->am, kind) + 1, sizeof(*all));
    const ProtobufCMessage *m;
    size_t n = 0, pos = 0;
    int r = 0;

    if (!all)
        return -ENOMEM;
    while ((m = am_next(l->run.a->am, kind, &pos)))
        if (is_wanted(l, m))
            all[n++] = m;
    qsort(all, n, sizeof(*all), compare_entities);
    for (size_t i = 0; r == 0 && i < n; i++)
        r = tell_entity(l, all[i]);
    free(all);
    return r;
}

int admin_list(struct admin *a, const struct admin_who *who, const Pst__AcctListRequest *req,
               admin_row_fn *fn, void *ctx, struct err *err)
{
    static const Pst__AcctCond all = PST__ACCT_COND__INIT;
    Pst__AcctOpResult res = PST__ACCT_OP_RESULT__INIT;
    struct listing l = { .where = req->where ? req->where : &all, .fn = fn, .ctx = ctx };
    int r;

    l.run = (struct admin_run){ .a = a, .who = who, .res = &res };
    l.run.level =
        who->root ? PST__ADMIN_LEVEL__ADMIN_ADMINISTRATOR : am_admin_level(a->am, who->user);
    r = cost_check_list(&l.run, req, err);
    if (r < 0)
        return r;
    switch (req->entity) {
    case PST__ACCT_ENTITY__ACCT_ASSOC:
        return list_assocs(&l);
    case PST__ACCT_ENTITY__ACCT_ACCOUNT:
        return list_kind(&l, AM_ACCOUNT);
    case PST__ACCT_ENTITY__ACCT_USER:
        return list_kind(&l, AM_USER);
    case PST__ACCT_ENTITY__ACCT_QOS:
        return list_kind(&l, AM_QOS);
    case PST__ACCT_ENTITY__ACCT_TRES:
        return list_kind(&l, AM_TRES);
    case PST__ACCT_ENTITY__ACCT_WCKEY:
        return list_kind(&l, AM_WCKEY);
    case PST__ACCT_ENTITY__ACCT_RESOURCE:
        return list_kind(&l, AM_RESOURCE);
    case PST__ACCT_ENTITY__ACCT_CLUSTER:
        return list_kind(&l, AM_CLUSTER);
    case PST__ACCT_ENTITY__ACCT_FEDERATION:
        return list_kind(&l, AM_FEDERATION);
    case PST__ACCT_ENTITY__ACCT_TXN:
        return rows_list_txns(a, l.where, tell_txn, &l);
    case PST__ACCT_ENTITY__ACCT_EVENT:
        return l.run.who->rules & ADMIN_PRIVATE_EVENTS && !run_is_operator(&l.run)
                   ? 0
                   : rows_list_events(a, l.where, tell_event, &l);
    case PST__ACCT_ENTITY__ACCT_INSTANCE:
        return l.run.who->rules & ADMIN_PRIVATE_EVENTS && !run_is_operator(&l.run)
                   ? 0
                   : rows_list_instances(a, l.where, fn, ctx);
    case PST__ACCT_ENTITY__ACCT_RESERVATION:
        return l.run.who->rules & ADMIN_PRIVATE_RESVS && !run_is_operator(&l.run)
                   ? 0
                   : resv_list(a->db, l.where, fn, ctx);
    default:
        return err_set(err, -EINVAL, "there is no list of these");
    }
}
