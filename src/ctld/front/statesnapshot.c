/* statesnapshot.c - snapshots; see statesnapshot.h.
 *
 * A view is the complete state at one lsn in encoded form, so writing it out needs neither the
 * core nor a fork: the bytes of records are put one by one as the events that rebuild them, without
 * their volatile fields. */
#include "ctld/front/statesnapshot.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbvarint.h"
#include "base/process/threadname.h"
#include "ctld/front/view.h"
#include "ctld/core/service.h"
#include "model/tables/idmap.h"
#include "model/kept.h"

/* log since the last snapshot that makes a new one worth while */
#define SNAPSHOT_BYTES (64u << 20)
#define SNAPSHOT_FILES 32 /* takeovers, most of them */
#define HEAD_BYTES 16     /* tag and length of a message take no more */

struct work {
    struct ctld *ctld;
    struct view *view;
    struct journal_snapshot *snap;
    uint32_t events_number; /* of Transaction.events */
    uint8_t *buf;           /* of put_record() */
    size_t cap;
    struct pb_fieldset kept; /* the fields that are not volatile */
};

struct snapshot {
    pthread_t thread; /* one at a time */
    bool joinable;
    bool running; /* the core has not heard of its end */
};

static int put_event(struct work *w, Pst__Event *ev)
{
    Pst__Transaction tx = PST__TRANSACTION__INIT;
    size_t len;
    uint8_t *buf;
    int r;

    tx.events = &ev;
    tx.n_events = 1;
    len = pst__transaction__get_packed_size(&tx);
    buf = malloc(len);
    if (!buf)
        return -ENOMEM;
    pst__transaction__pack(&tx, buf);
    r = journal_snapshot_put(w->snap, buf, len);
    free(buf);
    return r;
}

/* Tag and length of a field that is a message, before its bytes.  Gives how long they are. */
static size_t put_field_head(uint8_t *to, uint32_t number, size_t len)
{
    size_t n = pb_put_varint(to, (uint64_t)number << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED);

    return n + pb_put_varint(to + n, len);
}

/* The record without what is volatile, as the event of its kind, alone in its transaction: bytes
 * are copied, and nothing is decoded. */
static int put_record(struct work *w, const struct vrec *rec, Pst__Event__BodyCase body)
{
    uint8_t event[HEAD_BYTES], body_head[HEAD_BYTES];
    size_t n_body, n_event, heads = 2 * HEAD_BYTES;
    uint8_t *at;
    long len;

    if (w->cap < rec->len + heads) {
        size_t cap = 2 * rec->len + heads;
        uint8_t *bigger = realloc(w->buf, cap);

        if (!bigger)
            return -ENOMEM;
        w->buf = bigger;
        w->cap = cap;
    }
    len = pb_project(rec->data, rec->len, &w->kept, w->buf + heads);
    if (len < 0)
        return (int)len;
    n_body = put_field_head(body_head, (uint32_t)body, (size_t)len);
    n_event = put_field_head(event, w->events_number, n_body + (size_t)len);
    at = w->buf + heads - n_body - n_event;
    memcpy(mempcpy(at, event, n_event), body_head, n_body);
    return journal_snapshot_put(w->snap, at, n_event + n_body + (size_t)len);
}

static int put_table(struct work *w, enum view_kind kind, Pst__Event__BodyCase body)
{
    const struct view_table *t = &w->view->tables[kind];

    for (size_t i = 0; i < t->nchunks; i++) {
        for (size_t k = 0; k < VIEW_CHUNK; k++) {
            int r = t->chunks[i]->slots[k] ? put_record(w, t->chunks[i]->slots[k], body) : 0;

            if (r < 0)
                return r;
        }
    }
    return 0;
}

static int put_blob(struct work *w, struct idmap *seen, struct blob *b)
{
    Pst__Blob rec;
    Pst__Event ev = PST__EVENT__INIT;
    int r;

    /* the model has one of a name; one said twice is one */
    if (!b || idmap_get(seen, (uintptr_t)b))
        return 0;
    r = idmap_put(seen, (uintptr_t)b, b);
    if (r < 0)
        return r;
    blob_record(b, &rec);
    ev.body_case = PST__EVENT__BODY_BLOB_PUT;
    ev.blob_put = &rec;
    return put_event(w, &ev);
}

static int put_blobs(struct work *w)
{
    const struct view_table *t = &w->view->tables[VIEW_JOBS];
    struct idmap seen = { 0 };
    int r = 0;

    for (size_t i = 0; r >= 0 && i < t->nchunks; i++) {
        for (size_t k = 0; r >= 0 && k < VIEW_CHUNK; k++) {
            const struct vrec *rec = t->chunks[i]->slots[k];

            if (rec)
                r = put_blob(w, &seen, rec->script);
            if (rec && r >= 0)
                r = put_blob(w, &seen, rec->env);
        }
    }
    idmap_done(&seen);
    return r;
}

static int put_cluster(struct work *w)
{
    Pst__Event ev = PST__EVENT__INIT;
    int r;

    ev.body_case = PST__EVENT__BODY_CLUSTER_SET;
    ev.cluster_set = pst__cluster_record__unpack(NULL, w->view->cluster_len, w->view->cluster);
    if (!ev.cluster_set)
        return -ENOMEM;
    r = put_event(w, &ev);
    pst__cluster_record__free_unpacked(ev.cluster_set, NULL);
    return r;
}

/* Triggers and crontabs. */
static int put_kept(struct work *w)
{
    const struct view_table *t = &w->view->tables[VIEW_KEPT];
    int r = 0;

    for (size_t i = 0; r >= 0 && i < t->nchunks; i++) {
        for (size_t k = 0; r >= 0 && k < VIEW_CHUNK; k++) {
            const struct vrec *rec = t->chunks[i]->slots[k];
            ProtobufCMessage *msg = NULL;
            Pst__Event ev;

            if (!rec)
                continue;
            msg = protobuf_c_message_unpack(kept_descriptor((enum kept_kind)rec->state), NULL,
                                            rec->len, rec->data);
            if (!msg)
                return -ENOMEM;
            kept_event_of((enum kept_kind)rec->state, msg, &ev);
            r = put_event(w, &ev);
            protobuf_c_message_free_unpacked(msg, NULL);
        }
    }
    return r;
}

/* What put_record() goes by. */
static void choose_fields(struct work *w)
{
    const ProtobufCFieldDescriptor *events =
        protobuf_c_message_descriptor_get_field_by_name(&pst__transaction__descriptor, "events");

    w->events_number = events->id;
    memset(w->kept.bits, 0xff, sizeof(w->kept.bits));
    for (uint32_t i = FIELD_VOLATILE; i <= FIELD_VOLATILE_LAST; i++)
        pb_fieldset_remove(&w->kept, i);
}

static int write_all(struct work *w)
{
    int r = journal_wait_durable(w->ctld->journal, w->view->lsn);

    if (r >= 0)
        r = journal_snapshot_begin(w->ctld->journal, w->view->lsn, &w->snap);
    if (r < 0)
        return r;
    choose_fields(w);
    r = put_cluster(w);
    if (r >= 0)
        r = put_blobs(w);
    if (r >= 0)
        r = put_table(w, VIEW_NODES, PST__EVENT__BODY_NODE_PUT);
    if (r >= 0)
        r = put_table(w, VIEW_PARTS, PST__EVENT__BODY_PART_PUT);
    if (r >= 0)
        r = put_table(w, VIEW_JOBS, PST__EVENT__BODY_JOB_PUT);
    if (r >= 0)
        r = put_table(w, VIEW_STEPS, PST__EVENT__BODY_STEP_PUT);
    if (r >= 0)
        r = put_kept(w);
    if (r < 0) {
        journal_snapshot_abort(w->snap);
        return r;
    }
    return journal_snapshot_commit(w->snap, services_keep(w->ctld));
}

/* Core thread. */
static void note_done(void *arg)
{
    struct ctld *ctld = arg;

    ctld->snapshot->running = false;
}

static void *run_snapshot(void *arg)
{
    struct work *w = arg;
    struct ctld *ctld = w->ctld;
    struct cmd *done = calloc(1, sizeof(*done));
    int r = write_all(w);

    if (r < 0)
        log_error("the snapshot failed and will be tried again: %s", strerror(-r));
    else
        log_verbose("snapshot at lsn %llu", (unsigned long long)w->view->lsn);
    view_unref(w->view);
    free(w->buf);
    free(w);
    if (done) {
        done->kind = CMD_CALL;
        done->fn = note_done;
        done->arg = ctld;
        (void)core_post(ctld, done); /* never refused: it is no request */
    }
    return NULL;
}

static void start_snapshot(struct ctld *ctld)
{
    struct work *w = calloc(1, sizeof(*w));

    if (!w)
        return;
    snapshot_join(ctld);
    views_publish(ctld->views, ctld->cluster, ctld->applied_lsn);
    journal_commit(ctld->journal);
    w->ctld = ctld;
    w->view = views_get(ctld->views);
    if (pthread_create(&ctld->snapshot->thread, NULL, run_snapshot, w) != 0) {
        view_unref(w->view);
        free(w);
        return;
    }
    threadname_set(ctld->snapshot->thread, "snapshot");
    ctld->snapshot->joinable = true;
    ctld->snapshot->running = true;
}

void snapshot_join(struct ctld *ctld)
{
    struct snapshot *s = ctld->snapshot;

    if (s && s->joinable)
        pthread_join(s->thread, NULL);
    if (s)
        s->joinable = false;
}

void snapshot_check(struct ctld *ctld)
{
    if (!ctld->snapshot->running && (journal_bytes_since_snapshot(ctld->journal) > SNAPSHOT_BYTES ||
                                     journal_files_since_snapshot(ctld->journal) > SNAPSHOT_FILES))
        start_snapshot(ctld);
}

void snapshot_now(struct ctld *ctld)
{
    start_snapshot(ctld);
    snapshot_join(ctld);
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_service(struct ctld *ctld, struct err *err)
{
    ctld->snapshot = calloc(1, sizeof(*ctld->snapshot));
    return ctld->snapshot ? 0 : err_nomem(err);
}

static void free_service(struct ctld *ctld)
{
    free(ctld->snapshot);
    ctld->snapshot = NULL;
}

static void check_snapshot(struct ctld *ctld, int64_t now_us)
{
    (void)now_us;
    snapshot_check(ctld);
}

const struct ctld_service snapshot_service = {
    .name = "snapshot",
    .start = start_service,
    .quiesce = snapshot_join,
    .free = free_service,
    .tick = check_snapshot,
};
