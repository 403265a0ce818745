/* assocquery.c - op query-assocs. */

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/core/asking.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/policy/policy.h"
#include "ctld/core/service.h"
#include "feed/feedmem.h"
#include "model/use/usage.h"

#define FRAME_BYTES (128u * 1024)
#define FRAME_RECORDS 512u

struct assocquery {
    struct asking *asking;
    uid_t lane;
    struct conn *conn;
    uint16_t op;
    uint32_t id;
    Pst__AssocMgrRecord **list;
    size_t n, cap, next;
};

static void query_free(void *arg)
{
    struct assocquery *q = arg;

    for (size_t i = 0; i < q->n; i++)
        pst__assoc_mgr_record__free_unpacked(q->list[i], NULL);
    free(q->list);
    asking_end(q->asking, q->lane);
    conn_unref(q->conn);
    free(q);
}

static void drop_query(void *arg)
{
    struct assocquery *q = arg;

    (void)conn_error(q->conn, q->op, q->id, EPST_SHUTTING_DOWN, NULL);
    query_free(q);
}

static Pst__AssocMgrRecord *add_record(struct assocquery *q)
{
    Pst__AssocMgrRecord *r = must(malloc(sizeof(*r)));

    pst__assoc_mgr_record__init(r);
    if (q->n == q->cap) {
        q->cap = q->cap ? q->cap * 2 : 64;
        q->list = must(realloc(q->list, q->cap * sizeof(Pst__AssocMgrRecord *)));
    }
    return q->list[q->n++] = r;
}

static void *copy_of(const ProtobufCMessage *msg)
{
    ProtobufCMessage *copy = NULL;

    return must(pb_dup(msg, &copy) < 0 ? NULL : copy);
}

/* ---- on the core thread ---------------------------------------------------------------------- */

struct wish {
    struct ctld *ctld;
    const Pst__AssocMgrRequest *req;
    const char *only;    /* PrivateData: no other user's */
    struct idmap levels; /* association -> shares of all below it, plus one */
};

static int compare_words(const void *a, const void *b)
{
    return strcasecmp(*(char *const *)a, *(char *const *)b);
}

/* The list is sorted. */
static bool find_word(char *const *list, size_t n, const char *word)
{
    return n == 0 || (word && bsearch(&word, list, n, sizeof(*list), compare_words));
}

static bool wants_part(const struct wish *w, Pst__AssocMgrPart part)
{
    return !w->req->has_parts || (w->req->parts & 1u << part);
}

static const char *cluster_name(const struct wish *w)
{
    return conf_str(w->ctld->conf, CONF_CLUSTER_NAME);
}

static int by_user_name(const void *a, const void *b)
{
    return strcmp((*(Pst__AssocMgrRecord *const *)a)->user->name,
                  (*(Pst__AssocMgrRecord *const *)b)->user->name);
}

static void add_users(const struct wish *w, struct assocquery *q)
{
    struct assoc_mgr *am = w->ctld->cluster->am;
    const ProtobufCMessage *rec;
    size_t first = q->n;

    for (size_t pos = 0; (rec = am_next(am, AM_USER, &pos));) {
        const Pst__UserRecord *u = (const Pst__UserRecord *)rec;
        const char *account = am_default_account(am, cluster_name(w), u->name);
        const char *wckey = am_default_wckey(am, cluster_name(w), u->name);
        Pst__AssocMgrRecord *r;

        if (u->deleted || !find_word(w->req->users, w->req->n_users, u->name) ||
            (w->only && strcmp(w->only, u->name) != 0))
            continue;
        r = add_record(q);
        r->user = copy_of(rec);
        r->default_account = tx_strdup(account);
        r->default_wckey = tx_strdup(wckey);
    }
    if (q->n > first)
        qsort(q->list + first, q->n - first, sizeof(Pst__AssocMgrRecord *), by_user_name);
}

static uint32_t shares_of(const struct assoc *a)
{
    return a->rec->has_shares ? a->rec->shares : 1;
}

/* Of all with the same parent: counted once for all of them. */
static uint32_t level_of(struct wish *w, const struct assoc *a)
{
    uintptr_t known = a->parent ? (uintptr_t)idmap_get(&w->levels, a->parent->id) : 0;
    uint64_t level = 0;

    if (!a->parent)
        return shares_of(a);
    if (known)
        return (uint32_t)(known - 1);
    for (const struct assoc *s = a->parent->child; s; s = s->sibling)
        level = MIN(level + shares_of(s), (uint64_t)UINT32_MAX - 1);
    /* out of memory: again */
    (void)idmap_put(&w->levels, a->parent->id, (void *)((uintptr_t)level + 1));
    return (uint32_t)level;
}

static void fill_shares(struct wish *w, const struct assoc *a, Pst__AssocMgrRecord *r)
{
    const struct cluster *c = w->ctld->cluster;
    const struct assoc *root = am_root(w->ctld->cluster->am, a->rec->cluster);
    double own = usage_raw(c, USAGE_ASSOC, a->id, core_now());
    double all = root ? usage_raw(c, USAGE_ASSOC, root->id, core_now()) : 0;
    double above = a->parent ? usage_raw(c, USAGE_ASSOC, a->parent->id, core_now()) : all;
    uint32_t level = level_of(w, a);

    SET(r, shares_level, level);
    SET(r, shares_norm, level ? (double)shares_of(a) / level : 0);
    SET(r, usage_raw, own);
    SET(r, usage_norm, all > 0 ? own / all : 1);
    SET(r, usage_effective, above > 0 ? own / above : 0);
}

static void add_tres(const struct wish *w, enum usage_of of, uint32_t id, Pst__AssocMgrRecord *r)
{
    struct assoc_mgr *am = w->ctld->cluster->am;
    uint32_t ids[SCHED_TRES_MAX];
    const ProtobufCMessage *rec;
    size_t n = 0;

    for (uint32_t t = AM_TRES_CPU; t <= AM_TRES_PAGES; t++)
        ids[n++] = t;
    for (size_t pos = 0; (rec = am_next(am, AM_TRES, &pos)) && n < ARRAY_SIZE(ids);)
        if (((const Pst__TresRecord *)rec)->tres_id > AM_TRES_PAGES)
            ids[n++] = ((const Pst__TresRecord *)rec)->tres_id;
    for (size_t i = AM_TRES_PAGES; i < n; i++) /* a few: by insertion */
        for (size_t k = i; k > AM_TRES_PAGES && ids[k] < ids[k - 1]; k--) {
            uint32_t swap = ids[k];

            ids[k] = ids[k - 1];
            ids[k - 1] = swap;
        }
    r->tres = must(calloc(n, sizeof(Pst__TresUse *)));
    for (size_t i = 0; i < n; i++) {
        Pst__TresUse *u = must(malloc(sizeof(*u)));
        char name[256] = "";

        pst__tres_use__init(u);
        (void)am_tres_name(am, ids[i], name, sizeof(name)); /* unknown: no name */
        u->name = tx_strdup(name);
        SET(u, tres_id, ids[i]);
        SET(u, minutes, usage_tres_s(w->ctld->cluster, of, id, ids[i], core_now()) / 60);
        r->tres[r->n_tres++] = u;
    }
    SET(r, wall_minutes, usage_wall_s(w->ctld->cluster, of, id, core_now()) / 60);
}

static int by_lineage(const void *a, const void *b)
{
    return strcmp((*(Pst__AssocMgrRecord *const *)a)->lineage,
                  (*(Pst__AssocMgrRecord *const *)b)->lineage);
}

static void add_assocs(struct wish *w, struct assocquery *q)
{
    struct assoc_mgr *am = w->ctld->cluster->am;
    size_t first = q->n;
    const struct assoc *a;

    for (size_t pos = 0; (a = am_next_assoc(am, &pos));) {
        Pst__AssocMgrRecord *r;

        if (a->rec->deleted || !find_word(w->req->accounts, w->req->n_accounts, a->rec->account) ||
            (a->user && !find_word(w->req->users, w->req->n_users, a->rec->user)) ||
            (w->only && !(a->user && strcmp(w->only, a->rec->user) == 0)))
            continue;
        r = add_record(q);
        r->assoc = copy_of(&a->rec->base);
        if (r->assoc->limits)
            pst__limits__free_unpacked(r->assoc->limits, NULL);
        r->assoc->limits = copy_of(&am_limits(am, a)->base);
        r->lineage = tx_strdup(am_lineage(am, a));
        if (a->parent && !a->user)
            r->parent_account = tx_strdup(a->parent->rec->account);
        if (a->parent)
            SET(r->assoc, parent_id, a->parent->id);
        fill_shares(w, a, r);
        add_tres(w, USAGE_ASSOC, a->id, r);
        SET(r, submitted, cluster_charged_below(w->ctld->cluster, a->id));
        SET(r, own_submitted, cluster_charged_assoc(w->ctld->cluster, a->id));
    }
    if (q->n > first)
        qsort(q->list + first, q->n - first, sizeof(Pst__AssocMgrRecord *), by_lineage);
}

static int by_qos_id(const void *a, const void *b)
{
    uint32_t x = (*(Pst__AssocMgrRecord *const *)a)->qos->qos_id,
             y = (*(Pst__AssocMgrRecord *const *)b)->qos->qos_id;

    return x < y ? -1 : x > y;
}

static int by_part(const void *a, const void *b)
{
    const Pst__LimitUse *x = *(Pst__LimitUse *const *)a, *y = *(Pst__LimitUse *const *)b;

    if (!x->account || !y->account)
        return x->account ? 1 : y->account ? -1 : (x->uid > y->uid) - (x->uid < y->uid);
    return strcmp(x->account, y->account);
}

/* A user's part of a QOS, or an account's, to be filled. */
static Pst__LimitUse *new_part(Pst__AssocMgrRecord *r, uint32_t uid, const char *account)
{
    Pst__LimitUse *p = must(malloc(sizeof(*p)));

    pst__limit_use__init(p);
    if (account)
        p->account = tx_strdup(account);
    else
        SET(p, uid, uid);
    p->tres = must(calloc(r->n_tres + 1, sizeof(Pst__TresUse *)));
    for (size_t i = 0; i < r->n_tres; i++) {
        p->tres[p->n_tres] = copy_of(&r->tres[i]->base);
        p->tres[p->n_tres]->has_used = p->tres[p->n_tres]->has_run_minutes = false;
        p->n_tres++;
    }
    r->parts = must(realloc(r->parts, (r->n_parts + 1) * sizeof(Pst__LimitUse *)));
    r->parts[r->n_parts++] = p;
    return p;
}

static void add_submitted(void *ctx, uint32_t uid, const char *account, uint32_t n)
{
    Pst__LimitUse *p = new_part(ctx, uid, account);

    SET(p, submitted, n);
}

static void add_submitted_parts(struct cluster *c, Pst__AssocMgrRecord *r)
{
    cluster_charged_parts(c, r->qos->qos_id, add_submitted, r);
    if (r->n_parts)
        qsort(r->parts, r->n_parts, sizeof(Pst__LimitUse *), by_part);
}

static void add_qos(const struct wish *w, struct assocquery *q)
{
    struct assoc_mgr *am = w->ctld->cluster->am;
    const ProtobufCMessage *rec;
    size_t first = q->n;

    for (size_t pos = 0; (rec = am_next(am, AM_QOS, &pos));) {
        const Pst__QosRecord *qos = (const Pst__QosRecord *)rec;
        Pst__AssocMgrRecord *r;

        if (qos->deleted || !find_word(w->req->qos, w->req->n_qos, qos->name))
            continue;
        r = add_record(q);
        r->qos = copy_of(rec);
        SET(r, usage_raw, usage_raw(w->ctld->cluster, USAGE_QOS, qos->qos_id, core_now()));
        add_tres(w, USAGE_QOS, qos->qos_id, r);
        SET(r, submitted, cluster_charged_qos(w->ctld->cluster, qos->qos_id));
        add_submitted_parts(w->ctld->cluster, r);
    }
    if (q->n > first)
        qsort(q->list + first, q->n - first, sizeof(Pst__AssocMgrRecord *), by_qos_id);
}

static void sort_words(char **list, size_t n)
{
    if (n > 1)
        qsort(list, n, sizeof(*list), compare_words);
}

/* ---- on the scheduler's thread --------------------------------------------------------------- */

static void fill_tres(Pst__TresUse *const *list, size_t n, const struct sched_limit_use *use)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < use->ntres; k++)
            if (use->tres[k].tres_id == list[i]->tres_id) {
                SET(list[i], used, use->tres[k].used);
                SET(list[i], run_minutes, use->tres[k].run_minutes);
            }
}

struct parts {
    Pst__AssocMgrRecord *r;
    size_t nsorted; /* of its parts: those with jobs, from the core */
};

/* Those who had jobs once are told as well. */
static void add_part(void *ctx, uint32_t uid, const char *account,
                     const struct sched_limit_use *use)
{
    struct parts *ps = ctx;
    Pst__LimitUse wanted = PST__LIMIT_USE__INIT, *key = &wanted, **found, *p;

    wanted.uid = uid;
    wanted.account = (char *)account; /* compared only */
    found = ps->nsorted ? bsearch(&key, ps->r->parts, ps->nsorted, sizeof(Pst__LimitUse *), by_part)
                        : NULL;
    p = found ? *found : new_part(ps->r, uid, account);
    SET(p, jobs, use->jobs);
    SET(p, accruing, use->accruing);
    fill_tres(p->tres, p->n_tres, use);
}

/* Frames of records until one is full; true while there is more. */
static bool send_some(struct conn *c, void *arg)
{
    struct assocquery *q = arg;
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    ProtobufCBinaryData recs[FRAME_RECORDS];
    size_t used = 0, size = 0, from = q->next;
    _cleanup_free_ uint8_t *buf = NULL;

    while (q->next < q->n && batch.n_records < FRAME_RECORDS &&
           (size < FRAME_BYTES || !batch.n_records)) {
        recs[batch.n_records].len = pst__assoc_mgr_record__get_packed_size(q->list[q->next++]);
        size += recs[batch.n_records++].len;
    }
    buf = must(malloc(size + 1));
    for (size_t i = 0; i < batch.n_records; i++) {
        recs[i].data = buf + used;
        used += pst__assoc_mgr_record__pack(q->list[from + i], buf + used);
    }
    batch.records = recs;
    SET(&batch, now_us, now_us());
    (void)conn_reply(c, q->op, q->id, q->next < q->n ? FRAME_MORE : 0, &batch.base);
    return q->next < q->n;
}

static void answer_query(struct conn *c, void *arg)
{
    conn_stream(c, send_some, query_free, arg);
}

static void gather_use(void *arg, struct sched *s, const struct sched_params *params)
{
    struct assocquery *q = arg;
    struct sched_limit_use use;

    (void)params;
    for (size_t i = 0; i < q->n; i++) {
        Pst__AssocMgrRecord *r = q->list[i];
        uint32_t id = r->qos ? r->qos->qos_id : r->assoc ? r->assoc->assoc_id : 0;

        if (!id)
            continue;
        if (r->assoc)
            SET(r, factor, sched_assoc_fairshare(s, id));
        if (r->qos)
            sched_limit_parts(s, id, now_us(), add_part,
                              &(struct parts){ .r = r, .nsorted = r->n_parts });
        if (sched_limit_use(s, r->qos != NULL, id, now_us(), &use) < 0)
            continue;
        SET(r, jobs, use.jobs);
        SET(r, accruing, use.accruing);
        fill_tres(r->tres, r->n_tres, &use);
    }
    if (conn_run(q->conn, answer_query, q) < 0)
        query_free(q);
}

/* ---- the request ----------------------------------------------------------------------------- */

static void op_query_assocs(struct ctld *ctld, struct cmd *cmd)
{
    Pst__AssocMgrRequest *req = PB_AS(assoc_mgr_request, cmd->msg);
    struct wish w = { .ctld = ctld, .req = req };
    struct assocquery *q;
    struct feed *f;

    if (!asking_admit(ctld, cmd))
        return;
    q = must(calloc(1, sizeof(*q)));
    f = feed_new(FEED_ASK);
    q->asking = ctld->asking;
    q->lane = cmd->lane;
    if (policy_hidden(ctld, conn_peer(cmd->conn)->uid, cmd->caller) &
        (PRIVATE_USAGE | PRIVATE_USERS))
        w.only = cmd->caller ? cmd->caller : "";
    sort_words(req->users, req->n_users);
    sort_words(req->accounts, req->n_accounts);
    sort_words(req->qos, req->n_qos);
    q->conn = conn_ref(cmd->conn);
    q->op = cmd->op;
    q->id = cmd->id;
    if (wants_part(&w, PST__ASSOC_MGR_PART__ASSOC_MGR_USERS))
        add_users(&w, q);
    if (wants_part(&w, PST__ASSOC_MGR_PART__ASSOC_MGR_ASSOCS))
        add_assocs(&w, q);
    if (wants_part(&w, PST__ASSOC_MGR_PART__ASSOC_MGR_QOS) && !w.only)
        add_qos(&w, q);
    idmap_done(&w.levels);
    f->ask = (struct feed_ask){ .arg = q, .run = gather_use, .drop = drop_query };
    feed_add(ctld, f);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op assocquery_ops[] = { { OP_QUERY_ASSOCS, .fn = op_query_assocs },
                                                 { 0 } };

const struct ctld_service assocquery_service = { .name = "assocquery", .ops = assocquery_ops };
