/* query.c - queries answered from the current view, on the connection's I/O thread
 *
 * The core is asked to publish only when something changed since the last view; then records are
 * filtered by what stands beside them, cut down to the fields wanted, and streamed as the peer
 * takes them. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/front/front.h"
#include "ctld/front/jobfilter.h"
#include "ctld/policy/mcs.h"
#include "ctld/policy/policy.h"
#include "ctld/front/users.h"
#include "ctld/front/view.h"
#include "ctld/core/service.h"

#define FRAME_BYTES (128u * 1024)

#define LOOK_AT_ONCE 1024u   /* records decoded before others have their turn */
#define GATE_CHUNKS 16u      /* a walk over more than these (4,096 records) needs a turn */
#define GATE_TURN_US 200000  /* how long a turn may last while others wait */
#define GATE_STILL_US 300000 /* an answer that has not gone on for so long waits for its reader */
#define GATE_AT_ONCE 32u     /* turns given then */

struct query {
    struct query *next; /* waiting for a turn */
    struct front *front;
    struct conn *conn;
    uint32_t id;
    uint16_t op;
    Pst__QueryRequest *req;
    enum view_kind kind;
    struct view *view;
    struct pb_fieldset fields;
    struct jobfilter *filter;   /* NULL: everything */
    bool all_fields, by_record; /* by_record: the filter needs the decoded record */
    /* records decoded are looked through beforehand, in parts; these match */
    const struct vrec **hits;
    size_t n_hits, cap_hits, next_hit;
    bool looked;              /* through all of them */
    struct idmap name_hashes; /* of names -> anything: most records are judged by it */
    struct wordset names;
    bool by_name, first_sent;
    /* PrivateData */
    char *caller, *groups;
    uint64_t rights;        /* what of PrivateData keeps records from him; 0 = he sees all */
    uint64_t sent;          /* records */
    bool own_only, nothing; /* jobs: his own, and those of the accounts he coordinates */
    bool sees_hidden;       /* partitions that others have to ask for */
    /* MCSParameters=privatedata: what has no label, or one in `labels` */
    bool by_label;
    struct wordset coordinated; /* accounts */
    struct wordset labels;
    size_t chunk, slot;
    int64_t began_mono_us;
    uint8_t *buf; /* records of the frame being made */
    size_t used, cap;
};

/* ---- turns ----------------------------------------------------------------------------------- */

static void answer_query(struct conn *c, void *arg);
static void query_free(void *arg);

static void refuse_busy(struct query *q)
{
    (void)conn_error(q->conn, q->op, q->id, EPST_BUSY, NULL);
    query_free(q);
}

/* Whose turn it is; 0: nobody's.  The lock is held, as for those below. */
static void gate_hold(struct query_gate *g, uint64_t conn)
{
    g->holder = conn;
    g->since_mono_us = g->moved_mono_us = now_mono_us();
    g->sending = conn != 0;
}

/* True when q may go on now; else it is kept and goes on when its turn comes. */
static bool gate_enter(struct query *q)
{
    struct query_gate *g = &q->front->gate;
    bool mine;

    pthread_mutex_lock(&g->lock);
    mine = !g->holder || g->holder == conn_id(q->conn) ||
           (!g->head && now_mono_us() - g->since_mono_us > GATE_TURN_US);
    if (mine) {
        gate_hold(g, conn_id(q->conn));
    } else {
        q->next = NULL;
        if (g->tail)
            g->tail->next = q;
        else
            g->head = q;
        g->tail = q;
    }
    pthread_mutex_unlock(&g->lock);
    return mine;
}

/* An answer has gone on, or was its last part. */
static void gate_note(struct query *q, bool more)
{
    struct query_gate *g = &q->front->gate;

    pthread_mutex_lock(&g->lock);
    if (g->holder == conn_id(q->conn)) {
        g->moved_mono_us = now_mono_us();
        g->sending = more;
    }
    pthread_mutex_unlock(&g->lock);
}

/* The turns of the next n, the last of which holds the gate then; gives them as a list. */
static struct query *gate_pass(struct query_gate *g, unsigned n)
{
    struct query *first = g->head, *last = NULL;

    for (; n && g->head; n--) {
        last = g->head;
        g->head = last->next;
    }
    if (!g->head)
        g->tail = NULL;
    if (last)
        last->next = NULL;
    gate_hold(g, last ? conn_id(last->conn) : 0);
    return last ? first : NULL;
}

static void gate_wake(struct query *list)
{
    while (list) {
        struct query *q = list;

        list = q->next;
        if (conn_run(q->conn, answer_query, q) < 0)
            query_free(q);
    }
}

/* The turn of this connection is over. */
static void gate_release(struct front *f, uint64_t conn)
{
    struct query_gate *g = &f->gate;
    struct query *next = NULL;

    pthread_mutex_lock(&g->lock);
    if (g->holder && g->holder == conn)
        next = gate_pass(g, 1);
    pthread_mutex_unlock(&g->lock);
    gate_wake(next);
}

void query_conn_closed(struct front *f, uint64_t conn)
{
    gate_release(f, conn);
}

void query_gate_tick(struct front *f)
{
    struct query_gate *g = &f->gate;
    struct query *next = NULL;
    int64_t now = now_mono_us();

    pthread_mutex_lock(&g->lock);
    if (g->head && now - g->since_mono_us > GATE_TURN_US)
        next =
            gate_pass(g, g->sending && now - g->moved_mono_us > GATE_STILL_US ? GATE_AT_ONCE : 1);
    pthread_mutex_unlock(&g->lock);
    gate_wake(next);
}

/* ---- records --------------------------------------------------------------------------------- */

static void query_free(void *arg)
{
    struct query *q = arg;

    if (!q->req || !q->req->keeps_turn)
        gate_release(q->front, conn_id(q->conn));
    services_answered(q->front->ctld, q->op, conn_peer(q->conn)->uid,
                      now_mono_us() - q->began_mono_us);
    view_unref(q->view);
    jobfilter_free(q->filter);
    free(q->hits);
    idmap_done(&q->name_hashes);
    wordset_done(&q->names);
    wordset_done(&q->coordinated);
    wordset_done(&q->labels);
    free(q->caller);
    free(q->groups);
    if (q->req)
        pst__query_request__free_unpacked(q->req, NULL);
    conn_unref(q->conn);
    free(q->buf);
    free(q);
}

/* What can be told without decoding. */
static bool match_header(const struct query *q, const struct vrec *r)
{
    return !q->filter ||
           (jobfilter_id(q->filter, r->id, r->array_id) && jobfilter_uid(q->filter, r->uid) &&
            jobfilter_state(q->filter, r->state, r->flags));
}

static bool match_record(const struct query *q, const struct vrec *r)
{
    Pst__JobRecord *rec = pst__job_record__unpack(NULL, r->len, r->data);
    bool hit;

    if (!rec)
        return false;
    hit = jobfilter_match(q->filter, rec);
    pst__job_record__free_unpacked(rec, NULL);
    return hit;
}

static bool his_label(const struct query *q, const char *label)
{
    return !label || wordset_has(&q->labels, label, strlen(label));
}

static bool may_see_node(const struct query *q, const struct vrec *r)
{
    Pst__NodeRecord *rec = pst__node_record__unpack(NULL, r->len, r->data);
    bool his = rec && his_label(q, rec->mcs_label);

    if (rec)
        pst__node_record__free_unpacked(rec, NULL);
    return his;
}

/* PrivateData: may he see it? */
static bool may_see(const struct query *q, const struct vrec *r)
{
    if (q->by_label && q->kind == VIEW_NODES)
        return may_see_node(q, r);
    if (!q->own_only || r->uid == conn_peer(q->conn)->uid)
        return true;
    if (q->by_label)
        return his_label(q, r->label);
    return r->account && wordset_has(&q->coordinated, r->account, strlen(r->account));
}

static bool match_name(const struct query *q, const struct vrec *r)
{
    ProtobufCMessage *msg;
    const char *name;
    bool hit;

    if (!q->by_name)
        return true;
    if (!idmap_get(&q->name_hashes, r->name_hash))
        return false;
    msg = protobuf_c_message_unpack(q->kind == VIEW_NODES ? &pst__node_record__descriptor
                                                          : &pst__partition_record__descriptor,
                                    NULL, r->len, r->data);
    name = !msg                    ? NULL
           : q->kind == VIEW_NODES ? ((const Pst__NodeRecord *)msg)->name
                                   : ((const Pst__PartitionRecord *)msg)->name;
    hit = name && wordset_has(&q->names, name, strlen(name));
    if (msg)
        protobuf_c_message_free_unpacked(msg, NULL);
    return hit;
}

static bool reserve_bytes(struct query *q, size_t more)
{
    size_t cap = q->cap ? q->cap : FRAME_BYTES + 4096;
    uint8_t *bigger;

    if (q->used + more <= q->cap)
        return true;
    while (cap < q->used + more)
        cap *= 2;
    bigger = realloc(q->buf, cap);
    if (!bigger)
        return false;
    q->buf = bigger;
    q->cap = cap;
    return true;
}

/* Can c hold a record that the filter lets through? */
static bool has_wanted(const struct query *q, const struct view_chunk *c)
{
    if (q->req->has_start_at && c->high_id < q->req->start_at)
        return false;
    return (q->kind != VIEW_JOBS && q->kind != VIEW_STEPS) ||
           jobfilter_range(q->filter, c->low_id, c->high_id);
}

/* The next record that matches, of those whose headers *left allows to look at; NULL: at the
 * end, or none left. */
static const struct vrec *find_record(struct query *q, size_t *left)
{
    const struct view_table *t = &q->view->tables[q->kind];
    uint64_t first = q->req->has_start_at ? q->req->start_at : 0;

    for (; !q->nothing && q->chunk < t->nchunks; q->chunk++, q->slot = 0) {
        bool wanted = has_wanted(q, t->chunks[q->chunk]);

        while (wanted && q->slot < VIEW_CHUNK) {
            const struct vrec *r;

            if (!*left)
                return NULL;
            r = t->chunks[q->chunk]->slots[q->slot++];
            --*left;
            if (r && r->id >= first && match_header(q, r) && match_name(q, r) && may_see(q, r) &&
                (!q->by_record || match_record(q, r)))
                return r;
        }
    }
    return NULL;
}

/* Next record that matches, or NULL at the end. */
static const struct vrec *next_record(struct query *q)
{
    size_t all = SIZE_MAX;

    if (q->looked)
        return q->next_hit < q->n_hits ? q->hits[q->next_hit++] : NULL;
    return find_record(q, &all);
}

/* Must records be decoded to find those that match? */
static bool must_decode(const struct query *q)
{
    return q->by_record || (q->by_label && q->kind == VIEW_NODES);
}

static bool note_hit(struct query *q, const struct vrec *r)
{
    size_t cap = q->cap_hits ? q->cap_hits * 2 : 64;
    const struct vrec **bigger = q->hits;

    if (q->n_hits == q->cap_hits) {
        bigger = realloc(q->hits, cap * sizeof(*bigger));
        if (!bigger)
            return false;
        q->hits = bigger;
        q->cap_hits = cap;
    }
    q->hits[q->n_hits++] = r;
    return true;
}

/* What the caller sees, as a number that differs when that may differ.  Nodes are shown with their
 * partitions, and the other way round. */
static uint64_t shown_version(const struct query *q)
{
    const uint64_t *v = q->view->version;

    if (q->kind == VIEW_NODES || q->kind == VIEW_PARTS)
        return MAX(v[VIEW_NODES], v[VIEW_PARTS]);
    return v[q->kind];
}

/* The same, different for callers with other rights. */
static uint64_t own_version(const struct query *q, uint64_t version)
{
    return version ^ q->rights ^ q->sees_hidden;
}

static bool is_unchanged(const struct query *q, uint64_t version)
{
    const Pst__QueryRequest *req = q->req;

    return (req->has_unless_version && req->unless_version == own_version(q, version)) ||
           (req->has_changed_since_us && !q->rights && req->changed_since_us > 0 &&
            version < (uint64_t)req->changed_since_us);
}

/* Behind the last record of a page: where the next one begins. */
static void end_page(struct query *q, Pst__RecordBatch *batch)
{
    const struct vrec *next = next_record(q);

    if (next)
        SET(batch, next_at, next->id);
}

static bool page_is_full(const struct query *q)
{
    return q->req->has_limit && q->sent >= q->req->limit;
}

static void begin_answer(struct query *q, Pst__RecordBatch *batch)
{
    uint64_t version = shown_version(q);

    SET(batch, now_us, core_shown_now(q->front->ctld));
    SET(batch, lsn, q->view->lsn);
    SET(batch, version, own_version(q, version));
    if (q->sees_hidden)
        SET(batch, sees_hidden, true);
    if (q->kind == VIEW_JOBS)
        SET(batch, planned_us, views_planned_us(q->front->ctld->views));
    if (is_unchanged(q, version)) {
        SET(batch, unchanged, true);
        q->nothing = q->looked = true;
        q->n_hits = 0;
    }
    q->first_sent = true;
}

/* Frame with as many records as fit; true while there is more. */
static bool send_some(struct conn *c, void *arg)
{
    struct query *q = arg;
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    ProtobufCBinaryData recs[1024];
    size_t offsets[1024];
    const struct vrec *r = NULL;
    bool more;

    if (!q->first_sent)
        begin_answer(q, &batch);
    q->used = 0;
    while (!page_is_full(q) && batch.n_records < ARRAY_SIZE(recs) && q->used < FRAME_BYTES &&
           (r = next_record(q))) {
        long n = r->shown_len;

        if (!reserve_bytes(q, r->shown_len + 1))
            break;
        if (q->all_fields)
            memcpy(q->buf + q->used, r->data, r->shown_len);
        else
            n = pb_project(r->data, r->shown_len, &q->fields, q->buf + q->used);
        if (n < 0)
            continue; /* our own encoding: cannot be */
        offsets[batch.n_records] = q->used;
        recs[batch.n_records++].len = (size_t)n;
        q->sent++;
        q->used += (size_t)n;
    }
    more = r != NULL && !page_is_full(q);
    if (page_is_full(q))
        end_page(q, &batch);
    for (size_t i = 0; i < batch.n_records; i++)
        recs[i].data = q->buf + offsets[i];
    batch.records = recs;
    (void)conn_reply(c, q->op, q->id, more ? FRAME_MORE : 0, &batch.base);
    gate_note(q, more);
    return more;
}

static void answer_again(void *arg)
{
    struct query *q = arg;

    if (conn_run(q->conn, answer_query, q) < 0)
        query_free(q);
}

/* Records are decoded LOOK_AT_ONCE at a time, and the query goes round by the core between:
 * other connections of this thread, and other users, have their turns. */
static void answer_query(struct conn *c, void *arg)
{
    struct query *q = arg;
    struct cmd of = { .lane = core_lane(q->front->ctld, conn_peer(c)->uid) };
    size_t left = LOOK_AT_ONCE;
    const struct vrec *r;
    bool ok = true;

    if (!must_decode(q)) {
        conn_stream(c, send_some, query_free, q);
        return;
    }
    while (ok && left && (r = find_record(q, &left)))
        ok = note_hit(q, r);
    q->looked = left > 0; /* else there may be more */
    if (ok && q->looked)
        conn_stream(c, send_some, query_free, q);
    else if (!ok || !core_again(q->front->ctld, &of, answer_again, query_free, q))
        refuse_busy(q);
}

static void stream_query(struct conn *c, void *arg)
{
    struct query *q = arg;

    if (!q->view)
        q->view = views_get(q->front->ctld->views);
    if (!q->view) {
        (void)conn_error(c, q->op, q->id, EPST_SHUTTING_DOWN, NULL);
        query_free(q);
    } else if (q->view->tables[q->kind].nchunks <= GATE_CHUNKS || jobfilter_few(q->filter) ||
               gate_enter(q)) {
        answer_query(c, q);
    }
}

static void note_account(void *ctx, const char *account)
{
    struct query *q = ctx;

    q->rights += view_name_hash(account);
    (void)wordset_add(&q->coordinated, account); /* out of memory: he does not see it */
}

static void note_label(void *ctx, const char *label)
{
    struct query *q = ctx;

    q->rights += view_name_hash(label);
    (void)wordset_add(&q->labels, label); /* likewise */
}

/* On the core thread, which knows the rights of the user. */
static void note_hidden(struct query *q)
{
    struct ctld *ctld = q->front->ctld;
    unsigned hidden = policy_hidden(ctld, conn_peer(q->conn)->uid, q->caller);

    q->sees_hidden =
        q->kind == VIEW_PARTS && policy_sees_all(ctld, conn_peer(q->conn)->uid, q->caller);
    q->nothing = (q->kind == VIEW_NODES && hidden & PRIVATE_NODES) ||
                 (q->kind == VIEW_PARTS && hidden & PRIVATE_PARTITIONS);
    q->own_only = (q->kind == VIEW_JOBS || q->kind == VIEW_STEPS) && hidden & PRIVATE_JOBS;
    q->by_label = (q->nothing ? q->kind == VIEW_NODES : q->own_only) && mcs_private(ctld->conf);
    if (q->by_label) {
        q->nothing = false;
        mcs_each_label(ctld, q->caller, q->groups, note_label, q);
    } else if (q->own_only) {
        policy_each_coordinated(ctld, q->caller, note_account, q);
    }
    if (q->nothing || q->own_only || q->by_label)
        q->rights += view_name_hash(q->caller) | 1;
}

/* On the core thread: make the view current, and go back to the connection's thread. */
static void publish_for(void *arg)
{
    struct query *q = arg;
    struct ctld *ctld = q->front->ctld;

    views_publish(ctld->views, ctld->cluster, ctld->applied_lsn);
    if (q->caller)
        note_hidden(q);
    if (conn_run(q->conn, stream_query, q) < 0)
        query_free(q);
}

static void ask_core(struct query *q)
{
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    if (!cmd) {
        refuse_busy(q);
        return;
    }
    cmd->kind = CMD_CALL;
    cmd->lane = core_lane(q->front->ctld, conn_peer(q->conn)->uid);
    cmd->fn = publish_for;
    cmd->drop = query_free;
    cmd->arg = q;
    (void)core_post(q->front->ctld, cmd); /* never refused: it is no request */
}

/* Choose the fields that the request asks for.  Those that no client may see are in no record's
 * shown part. */
static void choose_fields(struct query *q)
{
    q->all_fields = q->req->n_fields == 0;
    for (size_t i = 0; i < q->req->n_fields; i++)
        pb_fieldset_add(&q->fields, q->req->fields[i]);
}

static int prepare_query(struct query *q, struct err *err)
{
    static const enum view_kind kinds[] = { [OP_QUERY_JOBS - OP_QUERY_JOBS] = VIEW_JOBS,
                                            [OP_QUERY_STEPS - OP_QUERY_JOBS] = VIEW_STEPS,
                                            [OP_QUERY_NODES - OP_QUERY_JOBS] = VIEW_NODES,
                                            [OP_QUERY_PARTITIONS - OP_QUERY_JOBS] = VIEW_PARTS };
    struct hostlist *hl = NULL;
    int r = 0;

    q->kind = kinds[q->op - OP_QUERY_JOBS];
    if ((q->req->has_limit || q->req->has_start_at) && q->kind != VIEW_JOBS)
        return err_set(err, -EINVAL, "only jobs are listed page by page");
    if (q->req->has_limit && !q->req->limit)
        return err_set(err, -EINVAL, "a page has at least one record");
    choose_fields(q);
    if (q->req->jobs && (q->kind == VIEW_JOBS || q->kind == VIEW_STEPS))
        r = jobfilter_new(q->req->jobs, &q->filter, err);
    if (r < 0)
        return r;
    q->by_record = q->kind == VIEW_JOBS && jobfilter_by_record(q->filter);
    if (!q->req->names || (q->kind != VIEW_NODES && q->kind != VIEW_PARTS))
        return 0;
    q->by_name = true;
    r = hostlist_parse_most(q->req->names, HOSTLIST_MAX_NODES, &hl, err);
    for (size_t i = 0; r >= 0 && i < hostlist_count(hl); i++) {
        const char *name = hostlist_nth(hl, i);

        r = wordset_add(&q->names, name);
        if (r >= 0)
            r = idmap_put(&q->name_hashes, view_name_hash(name), q);
    }
    hostlist_free(hl);
    return r;
}

/* Must the core say what the caller may see?  Of partitions, where some are not for everybody: it
 * knows who is an operator. */
static bool rights_count(const struct query *q)
{
    return conn_peer(q->conn)->uid != 0 &&
           (atomic_load(&q->front->ctld->private_data) ||
            (q->kind == VIEW_PARTS && !q->sees_hidden && (!q->view || q->view->has_hidden)));
}

void query_start(struct front *f, struct conn *c, const struct frame *frame)
{
    struct query *q = calloc(1, sizeof(*q));
    struct err err = { .text = "" };
    int r;

    if (!q) {
        (void)conn_error(c, frame->op, frame->id, EPST_BUSY, NULL);
        return;
    }
    q->front = f;
    q->conn = conn_ref(c);
    q->id = frame->id;
    q->op = frame->op;
    q->began_mono_us = now_mono_us();
    r = FRAME_UNPACK(query_request, frame, &q->req, &err);
    if (r >= 0)
        r = prepare_query(q, &err);
    if (r < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        query_free(q);
        return;
    }
    q->view = views_get_fresh(f->ctld->views);
    q->sees_hidden = q->kind == VIEW_PARTS && core_is_admin(f->ctld, conn_peer(c)->uid);
    if (rights_count(q)) {
        users_lookup(f->users, conn_peer(c)->uid, &q->caller, &q->groups);
        if (!q->caller)
            q->caller = strdup(""); /* the uid has no user name */
        q->view = view_unref(q->view);
    }
    if (q->view)
        stream_query(c, q);
    else
        ask_core(q);
}

/* ---- the service ----------------------------------------------------------------------------- */

static void answer_request(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    query_start(ctld->front, c, frame);
}

static void check_turns(struct ctld *ctld, int64_t now_us)
{
    (void)now_us;
    query_gate_tick(ctld->front);
}

static const struct ctld_op query_ops[] = {
    { OP_QUERY_JOBS, .front = answer_request, .flags = OPF_SHOWS },
    { OP_QUERY_STEPS, .front = answer_request, .flags = OPF_SHOWS },
    { OP_QUERY_NODES, .front = answer_request, .flags = OPF_SHOWS },
    { OP_QUERY_PARTITIONS, .front = answer_request, .flags = OPF_SHOWS },
    { 0 }
};

static void end_turn_of(struct ctld *ctld, struct conn *conn)
{
    query_conn_closed(ctld->front, conn_id(conn));
}

const struct ctld_service query_service = {
    .name = "query",
    .ops = query_ops,
    .tick = check_turns,
    .on_conn_gone = end_turn_of,
};
