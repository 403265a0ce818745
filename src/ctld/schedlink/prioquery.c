/* prioquery.c - what priorities are made of; see prioquery.h.
 *
 * The question goes from the connection's thread to the scheduler's, which copies the figures of
 * the jobs that match into one array; the answer is encoded and streamed by the connection's
 * thread again.  The core has no part in it. */
#include "ctld/schedlink/prioquery.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/asking.h"
#include "ctld/front/front.h"
#include "ctld/front/private.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/core/service.h"

#define BATCH 256u

struct prioquery {
    struct front *front;
    struct conn *conn;
    uid_t lane;
    uint32_t id;
    int64_t began_mono_us;
    Pst__PriorityRequest *req;
    struct idmap ids, uids;    /* of the request, as sets */
    struct namemap partitions; /* likewise; its words are the request's */
    struct private_view view;
    struct sched_params params;
    struct sched_factors *list; /* partition: copied */
    size_t n, cap, next;
    bool weights_sent;
    int result;
};

static void query_free(void *arg)
{
    struct prioquery *q = arg;

    asking_end(q->front->ctld->asking, q->lane);
    services_answered(q->front->ctld, OP_QUERY_PRIORITY, conn_peer(q->conn)->uid,
                      now_mono_us() - q->began_mono_us);
    namemap_done(&q->partitions);
    idmap_done(&q->ids);
    idmap_done(&q->uids);
    pst__priority_request__free_unpacked(q->req, NULL);
    idmap_done(&q->view.assocs);
    conn_unref(q->conn);
    for (size_t i = 0; i < q->n; i++)
        free((char *)q->list[i].partition);
    free(q->list);
    free(q);
}

static void drop_query(void *arg)
{
    struct prioquery *q = arg;

    (void)conn_error(q->conn, OP_QUERY_PRIORITY, q->id, EPST_SHUTTING_DOWN, NULL);
    query_free(q);
}

/* ---- the answer ------------------------------------------------------------------------------ */

/* A record and the TRES it points to. */
struct record {
    Pst__PriorityRecord rec;
    Pst__PriorityTres tres[SCHED_TRES_WEIGHTS_MAX], *ptrs[SCHED_TRES_WEIGHTS_MAX];
};

static void fill_tres(struct prioquery *q, struct record *r, const double *values)
{
    for (uint32_t i = 0; i < q->params.ntres_weights; i++) {
        pst__priority_tres__init(&r->tres[i]);
        r->tres[i].name = q->params.tres_weights[i].name;
        SET(&r->tres[i], value, values ? values[i] : q->params.tres_weights[i].weight);
        r->ptrs[i] = &r->tres[i];
    }
    r->rec.tres = r->ptrs;
    r->rec.n_tres = q->params.ntres_weights;
}

static void fill_weights(struct prioquery *q, struct record *r)
{
    const struct sched_params *p = &q->params;

    pst__priority_record__init(&r->rec);
    SET(&r->rec, weights, true);
    SET(&r->rec, direct, !p->multifactor);
    SET(&r->rec, age, p->weight_age);
    SET(&r->rec, assoc, p->weight_assoc);
    SET(&r->rec, fairshare, p->weight_fairshare);
    SET(&r->rec, job_size, p->weight_job_size);
    SET(&r->rec, partition_factor, p->weight_partition);
    SET(&r->rec, qos, p->weight_qos);
    SET(&r->rec, site, 1);
    fill_tres(q, r, NULL);
}

static void fill_record(struct prioquery *q, const struct sched_factors *f, struct record *r)
{
    pst__priority_record__init(&r->rec);
    SET(&r->rec, job_id, f->job_id);
    SET(&r->rec, uid, f->uid);
    r->rec.partition = (char *)f->partition; /* packing does not change it */
    SET(&r->rec, priority, f->priority);
    SET(&r->rec, age, f->age);
    SET(&r->rec, assoc, f->assoc);
    SET(&r->rec, fairshare, f->fairshare);
    SET(&r->rec, job_size, f->size);
    SET(&r->rec, partition_factor, f->part);
    SET(&r->rec, qos, f->qos);
    SET(&r->rec, site, f->site);
    SET(&r->rec, nice, f->nice);
    if (f->direct)
        SET(&r->rec, direct, true);
    fill_tres(q, r, f->tres);
}

/* Pack r behind what buf holds; false when memory is short. */
static bool pack_record(const struct record *r, uint8_t **buf, size_t *used, size_t *cap,
                        size_t *ret_len)
{
    size_t len = pst__priority_record__get_packed_size(&r->rec);

    if (*used + len > *cap) {
        size_t bigger = (*used + len) * 2;
        uint8_t *grown = realloc(*buf, bigger);

        if (!grown)
            return false;
        *buf = grown;
        *cap = bigger;
    }
    *ret_len = pst__priority_record__pack(&r->rec, *buf + *used);
    *used += len;
    return true;
}

static bool send_some(struct conn *c, void *arg)
{
    struct prioquery *q = arg;
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    ProtobufCBinaryData recs[BATCH + 1];
    _cleanup_free_ uint8_t *buf = NULL;
    size_t used = 0, cap = 0;
    struct record r;
    bool ok = true;

    if (!q->weights_sent) {
        fill_weights(q, &r);
        ok = pack_record(&r, &buf, &used, &cap, &recs[batch.n_records++].len);
        SET(&batch, now_us, now_us());
        q->weights_sent = true;
    }
    for (; ok && q->next < q->n && batch.n_records < BATCH; q->next++) {
        fill_record(q, &q->list[q->next], &r);
        ok = pack_record(&r, &buf, &used, &cap, &recs[batch.n_records++].len);
    }
    if (!ok) {
        (void)conn_error(c, OP_QUERY_PRIORITY, q->id, EPST_BUSY, NULL);
        return false;
    }
    used = 0;
    for (size_t i = 0; i < batch.n_records; i++) {
        recs[i].data = buf + used;
        used += recs[i].len;
    }
    batch.records = recs;
    (void)conn_reply(c, OP_QUERY_PRIORITY, q->id, q->next < q->n ? FRAME_MORE : 0, &batch.base);
    return q->next < q->n;
}

static void answer_query(struct conn *c, void *arg)
{
    struct prioquery *q = arg;

    if (q->result < 0) {
        (void)conn_error(c, OP_QUERY_PRIORITY, q->id, EPST_BUSY, NULL);
        query_free(q);
    } else {
        conn_stream(c, send_some, query_free, q);
    }
}

/* ---- gathering ------------------------------------------------------------------------------- */

static bool wants_job(const struct prioquery *q, const struct sched_factors *f)
{
    if (q->view.own_only && f->uid != q->view.uid &&
        !(f->assoc_id && idmap_get(&q->view.assocs, f->assoc_id)))
        return false;
    return (!q->req->n_job_ids || idmap_get(&q->ids, (uint64_t)f->job_id + 1)) &&
           (!q->req->n_uids || idmap_get(&q->uids, (uint64_t)f->uid + 1)) &&
           (!q->req->n_partitions || namemap_get(&q->partitions, f->partition));
}

/* The lists as sets, on the connection's thread. */
static int make_sets(struct prioquery *q)
{
    const Pst__PriorityRequest *req = q->req;
    int r = 0;

    for (size_t i = 0; r >= 0 && i < req->n_job_ids; i++)
        r = idmap_put(&q->ids, (uint64_t)req->job_ids[i] + 1, q);
    for (size_t i = 0; r >= 0 && i < req->n_uids; i++)
        r = idmap_put(&q->uids, (uint64_t)req->uids[i] + 1, q);
    for (size_t i = 0; r >= 0 && i < req->n_partitions; i++)
        r = namemap_put(&q->partitions, req->partitions[i], q);
    return r;
}

static int on_factors(void *ctx, const struct sched_factors *f)
{
    struct prioquery *q = ctx;

    if (!wants_job(q, f))
        return 0;
    if (q->n == q->cap) {
        size_t cap = q->cap ? q->cap * 2 : 64;
        struct sched_factors *grown = realloc(q->list, cap * sizeof(*grown));

        if (!grown)
            return -ENOMEM;
        q->list = grown;
        q->cap = cap;
    }
    q->list[q->n] = *f;
    q->list[q->n].partition = strdup(f->partition);
    if (!q->list[q->n].partition)
        return -ENOMEM;
    q->n++;
    return 0;
}

static void gather_factors(void *arg, struct sched *s, const struct sched_params *params)
{
    struct prioquery *q = arg;

    q->params = *params;
    q->result = params->multifactor ? sched_priorities(s, now_us(), on_factors, q) : 0;
    if (conn_run(q->conn, answer_query, q) < 0)
        query_free(q);
}

/* Hand the question to the scheduler; any thread.  view: its map is taken over. */
static void start_query(struct front *f, struct conn *c, const struct frame *frame,
                        struct private_view *view)
{
    struct err err = { .text = "" };
    struct prioquery *q = calloc(1, sizeof(*q));

    if (!q) {
        (void)conn_error(c, frame->op, frame->id, EPST_BUSY, NULL);
        return;
    }
    q->lane = core_lane(f->ctld, conn_peer(c)->uid);
    if (FRAME_UNPACK(priority_request, frame, &q->req, &err) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        free(q);
        return;
    }
    if (!asking_begin(f->ctld->asking, q->lane)) {
        (void)conn_error(c, frame->op, frame->id, SLURMCTLD_COMMUNICATIONS_BACKOFF, NULL);
        pst__priority_request__free_unpacked(q->req, NULL);
        free(q);
        return;
    }
    q->front = f;
    q->conn = conn_ref(c);
    q->id = frame->id;
    q->began_mono_us = now_mono_us();
    q->view = *view;
    view->assocs = (struct idmap){ 0 };
    if (make_sets(q) < 0) {
        (void)conn_error(c, OP_QUERY_PRIORITY, q->id, EPST_BUSY, NULL);
        query_free(q);
        return;
    }
    feed_ask_now(f->ctld,
                 &(struct feed_ask){ .arg = q, .run = gather_factors, .drop = drop_query });
}

/* ---- the service ----------------------------------------------------------------------------- */

static void answer_request(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    struct private_view all = { .own_only = false };

    start_query(ctld->front, c, frame, &all);
}

static void answer_narrowed(struct ctld *ctld, struct conn *c, const struct frame *frame,
                            struct private_view *view)
{
    start_query(ctld->front, c, frame, view);
}

static const struct ctld_op prioquery_ops[] = {
    { OP_QUERY_PRIORITY, .front = answer_request, .narrow = answer_narrowed },
    { 0 },
};

const struct ctld_service prioquery_service = { .name = "prioquery", .ops = prioquery_ops };
