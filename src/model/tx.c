/* tx.c - building a transaction; see tx.h. */
#include "model/tx.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/must.h"

char *tx_strdup(const char *text)
{
    return text ? must(strdup(text)) : NULL;
}

Pst__Alloc *tx_dup_alloc(const Pst__Alloc *alloc)
{
    ProtobufCMessage *copy = NULL;

    if (pb_dup(&alloc->base, &copy) < 0)
        copy = NULL;
    return must(copy);
}

Pst__Transaction *tx_new(int64_t now_us)
{
    Pst__Transaction *tx = must(malloc(sizeof(*tx)));

    pst__transaction__init(tx);
    SET(tx, time_us, now_us);
    return tx;
}

Pst__Transaction *tx_free(Pst__Transaction *tx)
{
    if (tx)
        pst__transaction__free_unpacked(tx, NULL);
    return NULL;
}

static Pst__Event *add_event(Pst__Transaction *tx, Pst__EventKind kind, Pst__Event__BodyCase body)
{
    Pst__Event *ev = must(malloc(sizeof(*ev)));

    pst__event__init(ev);
    if (kind != PST__EVENT_KIND__EV_UNSPECIFIED)
        SET(ev, kind, kind);
    ev->body_case = body;
    /* Grown by doubling: capacity is the next power of two. */
    if ((tx->n_events & (tx->n_events - 1)) == 0)
        tx->events = must(realloc(tx->events, (tx->n_events ? tx->n_events * 2 : 1) * sizeof(ev)));
    tx->events[tx->n_events++] = ev;
    return ev;
}

#define NEW(type, init)                                                                            \
    ({                                                                                             \
        type *new_ = must(malloc(sizeof(*new_)));                                                  \
        init(new_);                                                                                \
        new_;                                                                                      \
    })

void tx_job_put_take(Pst__Transaction *tx, Pst__EventKind kind, Pst__JobRecord *rec)
{
    add_event(tx, kind, PST__EVENT__BODY_JOB_PUT)->job_put = rec;
}

Pst__JobRecord *tx_job_put(Pst__Transaction *tx, Pst__EventKind kind)
{
    Pst__JobRecord *rec = NEW(Pst__JobRecord, pst__job_record__init);

    tx_job_put_take(tx, kind, rec);
    return rec;
}

Pst__JobRecord *tx_job_patch(Pst__Transaction *tx, Pst__EventKind kind, uint32_t job_id)
{
    Pst__JobPatch *p = NEW(Pst__JobPatch, pst__job_patch__init);

    SET(p, job_id, job_id);
    p->set = NEW(Pst__JobRecord, pst__job_record__init);
    add_event(tx, kind, PST__EVENT__BODY_JOB_PATCH)->job_patch = p;
    return p->set;
}

void tx_take_tasks(Pst__Transaction *tx, const char *tasks)
{
    Pst__Event *ev = tx->events[tx->n_events - 1];

    if (ev->body_case != PST__EVENT__BODY_JOB_PATCH) {
        log_fatal("tasks left an array without a patch");
        abort();
    }
    free(ev->job_patch->array_take);
    ev->job_patch->array_take = tx_strdup(tasks);
}

void tx_job_purge(Pst__Transaction *tx, uint32_t job_id)
{
    add_event(tx, PST__EVENT_KIND__EV_UNSPECIFIED, PST__EVENT__BODY_JOB_PURGE)->job_purge = job_id;
}

Pst__StepRecord *tx_step_put(Pst__Transaction *tx, Pst__EventKind kind, uint32_t job_id,
                             uint32_t step_id)
{
    Pst__StepRecord *rec = NEW(Pst__StepRecord, pst__step_record__init);

    SET(rec, job_id, job_id);
    SET(rec, step_id, step_id);
    add_event(tx, kind, PST__EVENT__BODY_STEP_PUT)->step_put = rec;
    return rec;
}

Pst__StepRecord *tx_step_patch(Pst__Transaction *tx, Pst__EventKind kind, uint32_t job_id,
                               uint32_t step_id)
{
    Pst__StepPatch *p = NEW(Pst__StepPatch, pst__step_patch__init);

    SET(p, job_id, job_id);
    SET(p, step_id, step_id);
    p->set = NEW(Pst__StepRecord, pst__step_record__init);
    add_event(tx, kind, PST__EVENT__BODY_STEP_PATCH)->step_patch = p;
    return p->set;
}

Pst__NodeRecord *tx_node_put(Pst__Transaction *tx, Pst__EventKind kind)
{
    Pst__NodeRecord *rec = NEW(Pst__NodeRecord, pst__node_record__init);

    add_event(tx, kind, PST__EVENT__BODY_NODE_PUT)->node_put = rec;
    return rec;
}

Pst__NodeRecord *tx_node_patch(Pst__Transaction *tx, Pst__EventKind kind, uint32_t node_id)
{
    Pst__NodePatch *p = NEW(Pst__NodePatch, pst__node_patch__init);

    SET(p, node_id, node_id);
    p->set = NEW(Pst__NodeRecord, pst__node_record__init);
    add_event(tx, kind, PST__EVENT__BODY_NODE_PATCH)->node_patch = p;
    return p->set;
}

void tx_node_remove(Pst__Transaction *tx, uint32_t node_id)
{
    add_event(tx, PST__EVENT_KIND__EV_NODE_CONFIG, PST__EVENT__BODY_NODE_REMOVE)->node_remove =
        node_id;
}

Pst__PartitionRecord *tx_part_put(Pst__Transaction *tx, Pst__EventKind kind)
{
    Pst__PartitionRecord *rec = NEW(Pst__PartitionRecord, pst__partition_record__init);

    add_event(tx, kind, PST__EVENT__BODY_PART_PUT)->part_put = rec;
    return rec;
}

Pst__PartitionRecord *tx_part_patch(Pst__Transaction *tx, Pst__EventKind kind, const char *name)
{
    Pst__PartPatch *p = NEW(Pst__PartPatch, pst__part_patch__init);

    p->name = tx_strdup(name);
    p->set = NEW(Pst__PartitionRecord, pst__partition_record__init);
    add_event(tx, kind, PST__EVENT__BODY_PART_PATCH)->part_patch = p;
    return p->set;
}

void tx_part_remove(Pst__Transaction *tx, const char *name)
{
    add_event(tx, PST__EVENT_KIND__EV_PART_CONFIG, PST__EVENT__BODY_PART_REMOVE)->part_remove =
        tx_strdup(name);
}

Pst__ClusterRecord *tx_cluster(Pst__Transaction *tx)
{
    Pst__ClusterRecord *rec;

    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_CLUSTER_SET)
            return tx->events[i]->cluster_set;
    rec = NEW(Pst__ClusterRecord, pst__cluster_record__init);
    add_event(tx, PST__EVENT_KIND__EV_UNSPECIFIED, PST__EVENT__BODY_CLUSTER_SET)->cluster_set = rec;
    return rec;
}

void tx_digest(const struct digest *name, protobuf_c_boolean *has, ProtobufCBinaryData *field)
{
    uint8_t *bytes = must(malloc(DIGEST_SIZE));

    memcpy(bytes, name->bytes, DIGEST_SIZE);
    if (*has)
        free(field->data);
    *has = true;
    *field = (ProtobufCBinaryData){ .len = DIGEST_SIZE, .data = bytes };
}

void tx_blob(Pst__Transaction *tx, const struct digest *name, const void *data, size_t len)
{
    Pst__Blob *b = NEW(Pst__Blob, pst__blob__init);

    tx_digest(name, &b->has_digest, &b->digest);
    b->has_data = 1;
    b->data.data = must(malloc(len ? len : 1));
    b->data.len = len;
    if (len)
        memcpy(b->data.data, data, len);
    add_event(tx, PST__EVENT_KIND__EV_UNSPECIFIED, PST__EVENT__BODY_BLOB_PUT)->blob_put = b;
}

static ProtobufCMessage *copy_of(const ProtobufCMessage *msg)
{
    ProtobufCMessage *copy = NULL;

    if (pb_dup(msg, &copy) < 0)
        copy = NULL;
    return must(copy);
}

void tx_trigger_put(Pst__Transaction *tx, Pst__EventKind kind, const Pst__TriggerRecord *rec)
{
    add_event(tx, kind, PST__EVENT__BODY_TRIGGER_PUT)->trigger_put =
        (Pst__TriggerRecord *)copy_of(&rec->base);
}

void tx_trigger_remove(Pst__Transaction *tx, Pst__EventKind kind, uint32_t trigger_id)
{
    add_event(tx, kind, PST__EVENT__BODY_TRIGGER_REMOVE)->trigger_remove = trigger_id;
}

void tx_crontab_put(Pst__Transaction *tx, Pst__EventKind kind, const Pst__CrontabRecord *rec)
{
    add_event(tx, kind, PST__EVENT__BODY_CRONTAB_PUT)->crontab_put =
        (Pst__CrontabRecord *)copy_of(&rec->base);
}

void tx_crontab_end(Pst__Transaction *tx, uint32_t uid, uint32_t job_id)
{
    Pst__CrontabEnd end = PST__CRONTAB_END__INIT;

    SET(&end, uid, uid);
    SET(&end, job_id, job_id);
    add_event(tx, PST__EVENT_KIND__EV_CRONTAB_CANCEL, PST__EVENT__BODY_CRONTAB_END)->crontab_end =
        (Pst__CrontabEnd *)copy_of(&end.base);
}

void tx_crontab_remove(Pst__Transaction *tx, Pst__EventKind kind, uint32_t uid)
{
    add_event(tx, kind, PST__EVENT__BODY_CRONTAB_REMOVE)->crontab_remove = uid;
}

void tx_submit_key_put(Pst__Transaction *tx, const Pst__SubmitKeyRecord *rec)
{
    add_event(tx, PST__EVENT_KIND__EV_SUBMIT_KEY, PST__EVENT__BODY_SUBMIT_KEY_PUT)->submit_key_put =
        (Pst__SubmitKeyRecord *)copy_of(&rec->base);
}

void tx_submit_key_remove(Pst__Transaction *tx, uint32_t number)
{
    add_event(tx, PST__EVENT_KIND__EV_SUBMIT_KEY_GONE, PST__EVENT__BODY_SUBMIT_KEY_REMOVE)
        ->submit_key_remove = number;
}

void tx_acct_change(Pst__Transaction *tx, const Pst__AcctChange *change)
{
    add_event(tx, PST__EVENT_KIND__EV_ACCT, PST__EVENT__BODY_ACCT_CHANGE)->acct_change =
        (Pst__AcctChange *)copy_of(&change->base);
}

void tx_usage_reset(Pst__Transaction *tx, uint32_t assoc_id, uint32_t qos_id)
{
    Pst__UsageReset *r = NEW(Pst__UsageReset, pst__usage_reset__init);

    if (assoc_id)
        SET(r, assoc_id, assoc_id);
    if (qos_id)
        SET(r, qos_id, qos_id);
    add_event(tx, PST__EVENT_KIND__EV_USAGE, PST__EVENT__BODY_USAGE_RESET)->usage_reset = r;
}

void tx_usage_put(Pst__Transaction *tx, const Pst__UsageRecord *rec)
{
    add_event(tx, PST__EVENT_KIND__EV_UNSPECIFIED, PST__EVENT__BODY_USAGE_PUT)->usage_put =
        (Pst__UsageRecord *)copy_of(&rec->base);
}

void tx_resv_put(Pst__Transaction *tx, Pst__EventKind kind, const Pst__ReservationRecord *rec)
{
    add_event(tx, kind, PST__EVENT__BODY_RESV_PUT)->resv_put =
        (Pst__ReservationRecord *)copy_of(&rec->base);
}

void tx_resv_remove(Pst__Transaction *tx, Pst__EventKind kind, uint32_t resv_id)
{
    add_event(tx, kind, PST__EVENT__BODY_RESV_REMOVE)->resv_remove = resv_id;
}

static void clear_add(size_t *n, uint32_t **list, uint32_t number)
{
    *list = must(realloc(*list, (*n + 1) * sizeof(**list)));
    (*list)[(*n)++] = number;
}

void tx_clear(Pst__Transaction *tx, uint32_t field_number)
{
    Pst__Event *ev = tx->events[tx->n_events - 1];

    switch (ev->body_case) {
    case PST__EVENT__BODY_JOB_PATCH:
        clear_add(&ev->job_patch->n_clear, &ev->job_patch->clear, field_number);
        break;
    case PST__EVENT__BODY_STEP_PATCH:
        clear_add(&ev->step_patch->n_clear, &ev->step_patch->clear, field_number);
        break;
    case PST__EVENT__BODY_NODE_PATCH:
        clear_add(&ev->node_patch->n_clear, &ev->node_patch->clear, field_number);
        break;
    case PST__EVENT__BODY_PART_PATCH:
        clear_add(&ev->part_patch->n_clear, &ev->part_patch->clear, field_number);
        break;
    default:
        log_fatal("a field was cleared without a patch");
        abort();
    }
}
