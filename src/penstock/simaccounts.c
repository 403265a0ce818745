/* simaccounts.c - associations, QOS, what they have used, and reservations of the cluster that
 * runs, as changes that make them in a copy; see simlive.h */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"
#include "base/pb/pbutil.h"
#include "cli/base/cli.h"
#include "model/account/assoc.h"
#include "model/tx.h"
#include "penstock/simlive.h"
#include "wire/client.h"
#include "wire/ops.h"

struct taking {
    Pst__Transaction *tx;
    int64_t now_us;
    bool tres_known;
};

/* "gres/gpu:a100" as a record; those with fixed numbers need none. */
static void add_tres(Pst__Transaction *tx, const Pst__TresUse *u)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;
    Pst__TresRecord r = PST__TRES_RECORD__INIT;
    size_t type = u->name ? strcspn(u->name, "/") : 0;

    if (u->tres_id < AM_TRES_DYNAMIC || !type)
        return;
    SET(&r, tres_id, u->tres_id);
    r.type = strndup(u->name, type);
    r.name = u->name[type] ? u->name + type + 1 : NULL; /* copied */
    check_mem_or_die(r.type ? 0 : -ENOMEM);
    put.body_case = PST__ACCT_CHANGE__BODY_TRES;
    put.tres = &r;
    tx_acct_change(tx, &put);
    free(r.type);
}

static void add_usage(struct taking *t, const Pst__AssocMgrRecord *r, bool qos, uint32_t id)
{
    Pst__UsageRecord u = PST__USAGE_RECORD__INIT;
    _cleanup_free_ Pst__UsageTres *tres = calloc(r->n_tres + 1, sizeof(*tres));
    _cleanup_free_ Pst__UsageTres **list = calloc(r->n_tres + 1, sizeof(*list));

    check_mem_or_die(tres && list ? 0 : -ENOMEM);
    SET(&u, id, id);
    SET(&u, qos, qos);
    SET(&u, as_of_us, t->now_us);
    SET(&u, raw, r->usage_raw);
    SET(&u, wall_s, r->wall_minutes * 60);
    for (size_t i = 0; i < r->n_tres; i++) {
        pst__usage_tres__init(&tres[i]);
        SET(&tres[i], tres_id, r->tres[i]->tres_id);
        SET(&tres[i], seconds, r->tres[i]->minutes * 60);
        list[i] = &tres[i];
    }
    u.tres = list;
    u.n_tres = r->n_tres;
    tx_usage_put(t->tx, &u);
}

static void take_record(struct taking *t, const Pst__AssocMgrRecord *r)
{
    Pst__AcctChange put = PST__ACCT_CHANGE__INIT;

    for (size_t i = 0; !t->tres_known && i < r->n_tres; i++)
        add_tres(t->tx, r->tres[i]);
    t->tres_known = t->tres_known || r->n_tres;
    if (r->qos) {
        put.body_case = PST__ACCT_CHANGE__BODY_QOS;
        put.qos = r->qos;
        tx_acct_change(t->tx, &put);
        add_usage(t, r, true, r->qos->qos_id);
    } else if (r->assoc) {
        put.body_case = PST__ACCT_CHANGE__BODY_ASSOC;
        put.assoc = r->assoc;
        tx_acct_change(t->tx, &put);
        add_usage(t, r, false, r->assoc->assoc_id);
    }
}

static int on_batch(void *ctx, const struct frame *frame)
{
    struct taking *t = ctx;
    Pst__RecordBatch *batch = pst__record_batch__unpack(NULL, frame->len, frame->body);
    int r = batch ? 0 : -EPROTO;

    if (batch && batch->has_now_us)
        t->now_us = batch->now_us;
    for (size_t i = 0; r == 0 && i < batch->n_records; i++) {
        Pst__AssocMgrRecord *rec =
            pst__assoc_mgr_record__unpack(NULL, batch->records[i].len, batch->records[i].data);

        r = rec ? 0 : -EPROTO;
        if (rec)
            take_record(t, rec);
        pst__assoc_mgr_record__free_unpacked(rec, NULL);
    }
    pst__record_batch__free_unpacked(batch, NULL);
    return r;
}

static int fetch_resvs(struct client *client, Pst__Transaction *tx)
{
    Pst__Empty req = PST__EMPTY__INIT;
    ProtobufCMessage *msg = NULL;
    const Pst__ResvSet *set;
    int r = client_call(client, OP_QUERY_RESVS, &req.base, &msg);

    if (r < 0)
        return r;
    set = PB_AS(resv_set, msg);
    for (size_t i = 0; i < set->n_items; i++)
        tx_resv_put(tx, PST__EVENT_KIND__EV_RESV_CREATE, set->items[i]);
    protobuf_c_message_free_unpacked(msg, NULL);
    return 0;
}

int simaccounts_fetch(struct client *client, const char *cluster, Pst__Transaction **ret_tx)
{
    Pst__AssocMgrRequest req = PST__ASSOC_MGR_REQUEST__INIT;
    struct taking t = { .tx = tx_new(0) };
    int r;

    t.tx->has_time_us = false; /* it is no moment of the cluster's */
    (void)pb_set_str(&tx_cluster(t.tx)->name,
                     cluster); /* without it accounts of reservations match by name alone */
    SET(&req, parts,
        1u << PST__ASSOC_MGR_PART__ASSOC_MGR_ASSOCS | 1u << PST__ASSOC_MGR_PART__ASSOC_MGR_QOS);
    r = client_stream(client, OP_QUERY_ASSOCS, &req.base, on_batch, &t);
    if (r == 0)
        r = fetch_resvs(client, t.tx);
    if (r < 0) {
        (void)tx_free(t.tx);
        return say_error("cannot ask the controller: %s", client_strerror(client, r));
    }
    *ret_tx = t.tx;
    return STATUS_OK;
}
