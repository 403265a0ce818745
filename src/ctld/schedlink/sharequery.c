/* sharequery.c - sshare's question, and setting usage back
 *
 * The core copies what it must, a row an association; shares are computed and the answer is encoded
 * on the connection's thread. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/front/front.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/shares.h"
#include "ctld/core/service.h"
#include "feed/params.h"
#include "feed/sharefeed.h"
#include "model/job.h"
#include "model/use/usage.h"

#define BATCH 256u
#define ROOT_SHARES                                                                                \
    4294967294.0 /* what users know the root's normalized shares to be a fraction of */

struct tres {
    uint32_t id;
    uint64_t run_s;
    double used_s;
    int64_t grp_mins;
    bool limited;
};

struct row {
    uint32_t id, parent;
    char *account, *user, *partition;
    uint32_t shares;
    bool shares_parent, is_user, is_root;
    bool hidden; /* PrivateData=usage */
    double raw, own;
    struct tres *tres; /* of each TRES of the question, or NULL */
};

struct sharequery {
    struct conn *conn;
    uint32_t id;
    struct sched_params params;
    struct row *rows;
    struct fairshare_node *nodes; /* of rows[1] and up */
    size_t n, next;
    bool named;
    struct name {
        uint32_t id;
        char text[SCHED_TRES_NAME_MAX * 2];
    } * names;
    size_t nnames;
};

static void sharequery_free(void *arg)
{
    struct sharequery *q = arg;

    for (size_t i = 0; i < q->n; i++) {
        free(q->rows[i].account);
        free(q->rows[i].user);
        free(q->rows[i].partition);
        free(q->rows[i].tres);
    }
    free(q->rows);
    free(q->nodes);
    free(q->names);
    conn_unref(q->conn);
    free(q);
}

/* ---- the answer, on the connection's thread -------------------------------------------------- */

static int compute_shares(struct sharequery *q)
{
    enum fairshare_kind kind = FAIRSHARE_TREE;
    struct idmap index = { 0 };
    int r = 0;

    q->nodes = calloc(q->n + 1, sizeof(*q->nodes));
    if (!q->nodes)
        return -ENOMEM;
    for (size_t i = 1; i < q->n && r == 0; i++)
        r = idmap_put(&index, q->rows[i].id, (void *)(uintptr_t)i);
    for (size_t i = 1; i < q->n && r == 0; i++) {
        const struct row *w = &q->rows[i];
        uint32_t above = w->parent ? (uint32_t)(uintptr_t)idmap_get(&index, w->parent) : 0;

        q->nodes[i - 1] = (struct fairshare_node){ .parent = !w->parent ? FAIRSHARE_ROOT
                                                             : above    ? above - 1
                                                                        : (uint32_t)q->n,
                                                   .shares = w->shares,
                                                   .use_parent = w->shares_parent,
                                                   .user = w->is_user,
                                                   .usage = w->own };
    }
    idmap_done(&index);
    if (q->params.prio_flags & SCHED_PRIO_DEPTH_OBLIVIOUS)
        kind = FAIRSHARE_DEPTH_OBLIVIOUS;
    else if (q->params.prio_flags & SCHED_PRIO_NO_FAIR_TREE)
        kind = FAIRSHARE_CLASSIC;
    return r == 0 && q->n > 1
               ? fairshare_compute(q->nodes, q->n - 1, kind, q->params.fairshare_dampening)
               : r;
}

static bool is_fair_tree(const struct sharequery *q)
{
    return !(q->params.prio_flags & (SCHED_PRIO_DEPTH_OBLIVIOUS | SCHED_PRIO_NO_FAIR_TREE));
}

struct record {
    Pst__ShareRecord rec;
    Pst__ShareTres *tres, **ptrs;
};

static void fill_tres(const struct sharequery *q, const struct row *w, struct record *r)
{
    r->rec.tres = r->ptrs;
    for (size_t i = 0; w->tres && i < q->nnames; i++) {
        const struct tres *t = &w->tres[i];
        Pst__ShareTres *to = &r->tres[r->rec.n_tres];

        if (!t->run_s && !t->limited && t->used_s <= 0)
            continue;
        pst__share_tres__init(to);
        SET(to, tres_id, t->id);
        SET(to, run_s, t->run_s);
        SET(to, used_s, t->used_s);
        if (t->limited)
            SET(to, grp_mins, t->grp_mins);
        r->ptrs[r->rec.n_tres++] = to;
    }
}

static void fill_row(const struct sharequery *q, size_t i, struct record *r)
{
    const struct row *w = &q->rows[i];
    const struct fairshare_node *n = i ? &q->nodes[i - 1] : NULL;
    bool tree = is_fair_tree(q);

    pst__share_record__init(&r->rec);
    SET(&r->rec, assoc_id, w->id);
    if (w->parent)
        SET(&r->rec, parent_id, w->parent);
    r->rec.account = w->account;
    r->rec.user = w->user;
    r->rec.partition = w->partition;
    SET(&r->rec, raw_usage, w->raw);
    fill_tres(q, w, r);
    if (!n) {
        SET(&r->rec, norm_shares, tree ? 1 / ROOT_SHARES : 1);
        SET(&r->rec, effective_usage, 1);
        return;
    }
    SET(&r->rec, shares, w->shares);
    if (w->shares_parent)
        SET(&r->rec, shares_parent, true);
    SET(&r->rec, norm_shares, n->norm_shares);
    SET(&r->rec, norm_usage, n->norm_usage);
    SET(&r->rec, effective_usage, n->effective_usage);
    if (!w->shares_parent)
        SET(&r->rec, level, n->level_fs);
    if (w->is_user || !tree)
        SET(&r->rec, factor, n->factor);
}

/* The record before all: names of TRES. */
static void fill_names(const struct sharequery *q, struct record *r)
{
    pst__share_record__init(&r->rec);
    SET(&r->rec, fair_tree, is_fair_tree(q));
    r->rec.tres = r->ptrs;
    for (size_t i = 0; i < q->nnames; i++) {
        pst__share_tres__init(&r->tres[i]);
        SET(&r->tres[i], tres_id, q->names[i].id);
        r->tres[i].name = q->names[i].text;
        r->ptrs[r->rec.n_tres++] = &r->tres[i];
    }
}

static void pack_record(const struct record *r, struct strbuf *sb, size_t *ret_len)
{
    size_t len = pst__share_record__get_packed_size(&r->rec);
    char *room = strbuf_room(sb, len ? len : 1);

    *ret_len = room ? pst__share_record__pack(&r->rec, (uint8_t *)room) : 0;
    strbuf_grew(sb, *ret_len);
}

static bool send_some(struct conn *c, void *arg)
{
    struct sharequery *q = arg;
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    ProtobufCBinaryData recs[BATCH + 1];
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;
    _cleanup_free_ Pst__ShareTres *tres = calloc(q->nnames + 1, sizeof(*tres));
    _cleanup_free_ Pst__ShareTres **ptrs = calloc(q->nnames + 1, sizeof(Pst__ShareTres *));
    struct record r = { .tres = tres, .ptrs = ptrs };
    size_t used = 0;

    if (!tres || !ptrs) {
        (void)conn_error(c, OP_QUERY_SHARES, q->id, EPST_BUSY, NULL);
        return false;
    }
    if (!q->named) {
        fill_names(q, &r);
        pack_record(&r, &sb, &recs[batch.n_records++].len);
        SET(&batch, now_us, now_us());
        q->named = true;
    }
    for (; q->next < q->n && batch.n_records < BATCH; q->next++) {
        if (q->rows[q->next].hidden)
            continue;
        fill_row(q, q->next, &r);
        pack_record(&r, &sb, &recs[batch.n_records++].len);
    }
    if (sb.failed) {
        (void)conn_error(c, OP_QUERY_SHARES, q->id, EPST_BUSY, NULL);
        return false;
    }
    for (size_t i = 0; i < batch.n_records; i++) {
        recs[i].data = (uint8_t *)sb.buf + used;
        used += recs[i].len;
    }
    batch.records = recs;
    (void)conn_reply(c, OP_QUERY_SHARES, q->id, q->next < q->n ? FRAME_MORE : 0, &batch.base);
    return q->next < q->n;
}

static void answer_query(struct conn *c, void *arg)
{
    struct sharequery *q = arg;

    if (compute_shares(q) < 0) {
        (void)conn_error(c, OP_QUERY_SHARES, q->id, EPST_BUSY, NULL);
        sharequery_free(q);
    } else {
        conn_stream(c, send_some, sharequery_free, q);
    }
}

/* ---- gathering, on the core's thread --------------------------------------------------------- */

static int by_tres_id(const void *a, const void *b)
{
    const struct name *x = a, *y = b;

    return (x->id > y->id) - (x->id < y->id);
}

static void gather_names(struct sharequery *q, const struct cluster *c)
{
    const Pst__TresRecord *t;
    size_t pos = 0;

    q->names = must(calloc(am_count(c->am, AM_TRES) + 1, sizeof(*q->names)));
    while ((t = (const Pst__TresRecord *)am_next(c->am, AM_TRES, &pos))) {
        struct name *to = &q->names[q->nnames];

        to->id = t->tres_id;
        q->nnames += am_tres_name(c->am, t->tres_id, to->text, sizeof(to->text));
    }
    qsort(q->names, q->nnames, sizeof(*q->names), by_tres_id);
}

static struct tres *tres_of(const struct sharequery *q, const struct row *w, uint32_t tres_id)
{
    size_t lo = 0, hi = q->nnames;

    while (lo < hi) {
        size_t mid = (lo + hi) / 2;

        if (q->names[mid].id == tres_id)
            return &w->tres[mid];
        if (q->names[mid].id < tres_id)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

struct filling {
    struct sharequery *q;
    struct row *row;
    struct cluster *c;
    uint64_t left_s;
    struct idmap *index; /* runs: association -> row + 1 */
    const struct assoc *of;
};

static void on_used(void *ctx, uint32_t tres_id, double seconds)
{
    struct filling *f = ctx;
    struct tres *t = tres_of(f->q, f->row, tres_id);

    if (t)
        t->used_s = seconds;
}

static void gather_tres(struct sharequery *q, struct cluster *c, const struct assoc *a,
                        struct row *w, int64_t now)
{
    const Pst__Limits *l = am_limits(c->am, a);
    struct filling f = { .q = q, .row = w };

    w->tres = must(calloc(q->nnames + 1, sizeof(*w->tres)));
    for (size_t i = 0; i < q->nnames; i++) {
        w->tres[i].id = q->names[i].id;
        w->tres[i].limited = am_tres_limit(l->grp_tres_mins, l->n_grp_tres_mins, q->names[i].id,
                                           &w->tres[i].grp_mins);
    }
    usage_each_tres(c, USAGE_ASSOC, a->id, now, on_used, &f);
}

static void on_running(void *ctx, const char *name, uint64_t count)
{
    struct filling *f = ctx;
    uint32_t id = am_tres_id(f->c->am, name);

    for (const struct assoc *a = id ? f->of : NULL; a; a = a->parent) {
        size_t at = (size_t)(uintptr_t)idmap_get(f->index, a->id);
        struct tres *t = at ? tres_of(f->q, &f->q->rows[at - 1], id) : NULL;

        if (t)
            t->run_s += count * f->left_s;
    }
}

/* What running jobs may still take. */
static void gather_running(struct sharequery *q, struct cluster *c, int64_t now)
{
    struct idmap index = { 0 };
    struct filling f = { .q = q, .c = c, .index = &index };

    for (size_t i = 0; i < q->n; i++)
        if (idmap_put(&index, q->rows[i].id, (void *)(uintptr_t)(i + 1)) < 0)
            must(NULL);
    for (const struct job *j = c->active; j; j = j->next_active) {
        if (!job_is_running(j->rec) || !j->rec->has_end_us || j->rec->end_us <= now)
            continue;
        f.of = j->rec->assoc_id ? am_assoc(c->am, j->rec->assoc_id) : NULL;
        f.left_s = (uint64_t)(j->rec->end_us - now) / USEC_PER_SEC;
        if (f.of)
            usage_parse_tres(j->rec->alloc_tres, on_running, &f);
    }
    idmap_done(&index);
}

static char *copy_of(const char *text)
{
    return text ? must(strdup(text)) : NULL;
}

static void add_row(struct sharequery *q, struct cluster *c, const struct assoc *a,
                    const struct assoc *root, const char *cluster, bool tres, int64_t now)
{
    struct row *w = &q->rows[q->n++];

    *w = (struct row){ .id = a->id,
                       .parent = share_parent(a, root),
                       .account = copy_of(a->rec->account),
                       .user = copy_of(a->rec->user),
                       .partition = copy_of(a->rec->partition),
                       .shares = a->rec->has_shares ? a->rec->shares : 1,
                       .shares_parent = a->rec->has_shares_parent && a->rec->shares_parent,
                       .is_user = a->user,
                       .raw = usage_raw(c, USAGE_ASSOC, a->id, now),
                       .own = share_own_usage(c, a, cluster, now) };
    if (tres)
        gather_tres(q, c, a, w, now);
}

/* Users see their own usage, that of accounts, and coordinators that of the users of theirs. */
static void hide_rows(struct sharequery *q, const struct ctld *ctld, const struct cmd *cmd)
{
    const char *caller = cmd->caller ? cmd->caller : "";

    if (!(policy_hidden(ctld, conn_peer(cmd->conn)->uid, cmd->caller) & PRIVATE_USAGE))
        return;
    for (size_t i = 0; i < q->n; i++) {
        struct row *w = &q->rows[i];

        w->hidden = w->user && strcmp(w->user, caller) != 0 &&
                    !am_is_coordinator(ctld->cluster->am, conf_str(ctld->conf, CONF_CLUSTER_NAME),
                                       caller, w->account);
    }
}

static void op_query_shares(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__SharesRequest *req = PB_AS(shares_request, cmd->msg);
    struct sharequery *q = must(calloc(1, sizeof(*q)));
    const char *cluster = conf_str(ctld->conf, CONF_CLUSTER_NAME);
    struct cluster *c = ctld->cluster;
    const struct assoc *root = am_root(c->am, cluster), *a;
    bool tres = req->has_tres && req->tres;
    int64_t now = core_shown_now(ctld);
    size_t pos = 0;

    q->conn = conn_ref(cmd->conn);
    q->id = cmd->id;
    feed_fill_params(ctld->conf, &q->params);
    q->rows = must(calloc(am_count(c->am, AM_ASSOC) + 1, sizeof(*q->rows)));
    gather_names(q, c);
    if (root)
        add_row(q, c, root, root, cluster, tres, now);
    while (root && (a = am_next_assoc(c->am, &pos)))
        if (share_counts(a, root, cluster))
            add_row(q, c, a, root, cluster, tres, now);
    if (tres)
        gather_running(q, c, now);
    hide_rows(q, ctld, cmd);
    if (conn_run(cmd->conn, answer_query, q) < 0)
        sharequery_free(q);
}

static void op_usage_reset(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__UsageResetRequest *req = PB_AS(usage_reset_request, cmd->msg);
    uint64_t lsn = 0;

    for (size_t i = 0; i < req->n_assoc_ids; i++)
        if (!am_assoc(ctld->cluster->am, req->assoc_ids[i])) {
            core_error(ctld, cmd, EPST_BAD_REQUEST, "there is no such association");
            return;
        }
    for (size_t i = 0; i < req->n_qos_ids; i++)
        if (!am_qos(ctld->cluster->am, req->qos_ids[i])) {
            core_error(ctld, cmd, EPST_BAD_REQUEST, "there is no such QOS");
            return;
        }
    for (size_t i = 0; i < req->n_assoc_ids; i++)
        lsn = shares_reset(ctld, req->assoc_ids[i], 0);
    for (size_t i = 0; i < req->n_qos_ids; i++)
        lsn = shares_reset(ctld, 0, req->qos_ids[i]);
    if (!lsn && req->n_assoc_ids + req->n_qos_ids)
        core_disk_full(ctld, cmd);
    else
        core_ok(ctld, cmd, lsn);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op sharequery_ops[] = {
    { OP_QUERY_SHARES, .fn = op_query_shares, .flags = OPF_SHOWS },
    { OP_USAGE_RESET, .fn = op_usage_reset, .flags = OPF_WRITES },
    { 0 }
};

const struct ctld_service sharequery_service = { .name = "sharequery", .ops = sharequery_ops };
