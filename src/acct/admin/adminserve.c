/* adminserve.c - the thread for requests about accounting entities; see adminserve.h.
 *
 * A request is answered in the order it came.  An answer to a change travels with the change
 * itself: whoever delivers it answers when it has taken effect. */
#include "acct/admin/adminserve.h"

#include <errno.h>
#include <stdatomic.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acct/sql/db.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/pb/pbsafe.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/people/username.h"
#include "base/process/threadname.h"
#include "wire/errors.h"
#include "wire/server/rpcstat.h"
#include "wire/server/server.h"
#include "api.pb-c.h"

#define REQUESTS_MAX 10000u
#define REQUESTS_USER 64u /* of one user, when so many wait */
#define KEYS_MAX 256u     /* of jobs, that wait */
#define FRAME_BYTES (256u << 10)
#define RETRY_US (500 * 1000)
#define BUSY_TRIES 10 /* of a second each: another writes */

struct request {
    struct request *next;
    struct conn *conn;
    unsigned op;
    uint32_t id;
    ProtobufCMessage *msg;
};

/* Of adminserve_job_key(). */
struct key_note {
    struct key_note *next;
    char *cluster, *user, *name;
};

/* A thread that waits for adminserve_sight(). */
struct sight_ask {
    struct sight_ask *next;
    uid_t uid;
    struct admin_sight *ret;
    struct err *err;
    bool done;
    int r;
};

struct adminserve {
    struct adminserve_config config;
    atomic_uint rules;
    char *location, *cluster_qos;
    Pst__AcctClusterRecord *cluster;
    char **tres;
    size_t n_tres;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct request *head, **tail; /* under the lock, as are those below */
    size_t n;
    bool stopping, behind, tried; /* tried: to open the store, once */
    bool asked;                   /* controllers were, for records: they may not answer */
    uint64_t known;
    struct sight_ask *asks; /* likewise; of threads that wait for told */
    struct key_note *keys;  /* likewise; the newest first */
    size_t n_keys;
    pthread_cond_t told;
    struct adminfollow *followers; /* has a lock of its own */
    /* the thread's own */
    struct sql *db;
    struct admin *admin;
    uint64_t delivered;
    bool forget; /* what was delivered before is void */
    bool failing;
};

static void request_free(struct request *q)
{
    protobuf_c_message_free_unpacked(q->msg, NULL);
    conn_unref(q->conn);
    free(q);
}

/* ---- deliveries ------------------------------------------------------------------------------ */

static int collect_change(void *ctx, const Pst__AcctChange *change)
{
    struct admin_delivery *d = ctx;
    ProtobufCMessage *copy;

    if ((d->n & (d->n - 1)) == 0) {
        Pst__AcctChange **more = reallocarray(d->changes, d->n ? d->n * 2 : 1, sizeof(*more));

        if (!more)
            return -ENOMEM;
        d->changes = more;
    }
    if (pb_dup(&change->base, &copy) < 0)
        return -ENOMEM;
    d->changes[d->n++] = (Pst__AcctChange *)copy;
    return 0;
}

/* Everything since the last delivery, and an answer (taken, NULL = none). */
static int deliver_changes(struct adminserve *s, struct request *q, uint8_t *answer, size_t len)
{
    struct admin_delivery *d = calloc(1, sizeof(*d));
    int r = 0;

    if (!d) {
        free(answer);
        return -ENOMEM;
    }
    d->answer = answer;
    d->answer_len = len;
    if (q) {
        d->conn = conn_ref(q->conn);
        d->id = q->id;
    }
    if (s->forget) {
        Pst__AcctChange clear = PST__ACCT_CHANGE__INIT;

        clear.body_case = PST__ACCT_CHANGE__BODY_CLEAR;
        clear.clear = 1;
        r = collect_change(d, &clear);
    }
    if (r == 0)
        r = admin_changes(s->admin, s->delivered, collect_change, d);
    if (r < 0) {
        admin_delivery_free(d);
        return r;
    }
    s->delivered = admin_version(s->admin);
    s->forget = false;
    if (s->config.deliver)
        s->config.deliver(s->config.ctx, d);
    else
        (void)adminfollow_deliver(s->followers, d, s->delivered); /* the thread looks for both */
    return 0;
}

/* ---- the store ------------------------------------------------------------------------------- */

static void close_store(struct adminserve *s)
{
    s->admin = admin_free(s->admin);
    s->db = sql_close(s->db);
}

static int open_store(struct adminserve *s, struct err *err)
{
    int r = acct_db_open(s->location, &s->db, err);

    if (r == 0 && sql_engine(s->db) == SQL_SQLITE) /* a change that was answered stays */
        r = sql_exec(s->db, "PRAGMA synchronous=FULL");
    if (r == 0)
        r = admin_new(s->db, now_us(), &s->admin, err);
    if (r == 0)
        r = admin_default_qos(s->admin, s->cluster_qos, now_us(), err);
    if (r == 0 && s->cluster)
        r = admin_register(s->admin, s->cluster, (const char *const *)s->tres, s->n_tres, now_us(),
                           err);
    if (r < 0) {
        close_store(s);
        return r;
    }
    if (s->delivered > admin_version(s->admin)) {
        log_error("accounting: the controller knows version %llu of the entities, the store is at "
                  "%llu: it "
                  "lost some, all are sent anew",
                  (unsigned long long)s->delivered, (unsigned long long)admin_version(s->admin));
        s->delivered = 0;
        s->forget = true;
    }
    return 0;
}

static int ensure_store(struct adminserve *s, struct err *err)
{
    int r = s->admin ? 0 : open_store(s, err);

    if (r < 0 && !s->failing)
        log_error("%s: trying again", err->text[0] ? err->text : strerrordesc_np(-r));
    if (r == 0 && s->failing)
        log_info("accounting: the entities can be read again");
    s->failing = r < 0;
    if (r == 0 && admin_version(s->admin) > s->delivered)
        r = deliver_changes(s, NULL, NULL, 0);
    return r;
}

/* ---- requests -------------------------------------------------------------------------------- */

/* Who has no name is nobody, "". */
static void name_of(uid_t uid, char *name, size_t size)
{
    if (username_of(uid, name, size) < 0)
        name[0] = '\0';
}

static int run_admin(struct adminserve *s, struct request *q, const struct admin_who *who,
                     struct err *err)
{
    Pst__AcctAdminReply *reply = NULL;
    uint64_t before = admin_version(s->admin);
    uint8_t *buf;
    size_t len;
    int r = -EBUSY;

    for (int i = 0; r == -EBUSY && i < BUSY_TRIES; i++)
        r = admin_run(s->admin, who, (const Pst__AcctAdminRequest *)q->msg, now_us(), &reply, err);
    if (r < 0)
        return r;
    r = frame_pack(q->op, FRAME_REPLY, q->id, 0, &reply->base, &buf, &len);
    pst__acct_admin_reply__free_unpacked(reply, NULL);
    if (r < 0)
        return r;
    if (admin_version(s->admin) == before) {
        conn_send_take(q->conn, buf, len);
        return 0;
    }
    return deliver_changes(s, q, buf, len);
}

struct rows {
    struct adminserve *s;
    struct request *q;
    struct strbuf bytes;
    size_t *ends, n, cap;
    bool any_sent;
};

static int send_rows(struct rows *rows, bool more)
{
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    _cleanup_free_ ProtobufCBinaryData *records = calloc(rows->n + 1, sizeof(*records));
    size_t from = 0, len;
    uint8_t *buf;
    int r = records && !rows->bytes.failed ? 0 : -ENOMEM;

    for (size_t i = 0; r == 0 && i < rows->n; from = rows->ends[i++])
        records[i] = (ProtobufCBinaryData){ .data = (uint8_t *)rows->bytes.buf + from,
                                            .len = rows->ends[i] - from };
    batch.records = records;
    batch.n_records = rows->n;
    batch.has_now_us = batch.has_lsn = !rows->any_sent;
    batch.now_us = now_us();
    batch.lsn = admin_version(rows->s->admin);
    if (r == 0)
        r = frame_pack(rows->q->op, FRAME_REPLY | (more ? FRAME_MORE : 0), rows->q->id, 0,
                       &batch.base, &buf, &len);
    if (r < 0)
        return r;
    rows->any_sent = true;
    rows->n = 0;
    strbuf_reset(&rows->bytes);
    conn_stream_frame(rows->q->conn, buf, len);
    return 0;
}

static int add_row(void *ctx, const ProtobufCMessage *record)
{
    struct rows *rows = ctx;
    size_t len = protobuf_c_message_get_packed_size(record);
    char *room;

    if (rows->n && rows->bytes.len + len > FRAME_BYTES) {
        int r = send_rows(rows, true);

        if (r < 0)
            return r;
    }
    if (rows->n == rows->cap) {
        size_t cap = rows->cap ? rows->cap * 2 : 256;
        size_t *more = reallocarray(rows->ends, cap, sizeof(*more));

        if (!more)
            return -ENOMEM;
        rows->ends = more;
        rows->cap = cap;
    }
    room = strbuf_room(&rows->bytes, len + 1);
    if (!room)
        return -ENOMEM;
    strbuf_grew(&rows->bytes, protobuf_c_message_pack(record, (uint8_t *)room));
    rows->ends[rows->n++] = rows->bytes.len;
    return 0;
}

static int run_list(struct adminserve *s, struct request *q, const struct admin_who *who,
                    struct err *err)
{
    struct rows rows = { .s = s, .q = q };
    int r = admin_list(s->admin, who, (const Pst__AcctListRequest *)q->msg, add_row, &rows, err);

    if (r == 0)
        r = send_rows(&rows, false);
    strbuf_done(&rows.bytes);
    free(rows.ends);
    return r;
}

static int run_blob(struct adminserve *s, struct request *q, const struct admin_who *who)
{
    Pst__AcctBlobReply reply = PST__ACCT_BLOB_REPLY__INIT;
    uint8_t *buf;
    size_t len;
    int code = 0;
    int r = admin_blob(s->admin, who, conn_peer(q->conn)->uid, (const Pst__AcctBlobRequest *)q->msg,
                       &reply, &code);

    if (r == 0 && code == 0)
        r = frame_pack(q->op, FRAME_REPLY, q->id, 0, &reply.base, &buf, &len);
    free(reply.data.data);
    if (r < 0)
        return r;
    if (code)
        return conn_error(q->conn, q->op, q->id, code, NULL);
    conn_send_take(q->conn, buf, len);
    return 0;
}

/* A controller registers and gets what it lacks; what comes later is sent as it comes. */
static int run_follow(struct adminserve *s, struct request *q, const struct admin_who *who,
                      struct err *err)
{
    const Pst__AcctFollowRequest *req = (const Pst__AcctFollowRequest *)q->msg;
    struct admin_delivery all = { .conn = NULL };
    bool anew = req->version == 0 || req->version > admin_version(s->admin);
    int r;

    if (!who->root || !req->cluster || !req->cluster->name)
        return conn_error(q->conn, q->op, q->id,
                          who->root ? EPST_BAD_REQUEST : ESLURM_ACCESS_DENIED, NULL);
    r = admin_register(s->admin, req->cluster, (const char *const *)req->tres, req->n_tres,
                       now_us(), err);
    if (r == 0 && req->leaves && *req->leaves)
        r = admin_leave(s->admin, req->cluster->name, req->leaves, now_us(), err);
    if (r == 0 && admin_version(s->admin) > s->delivered)
        r = deliver_changes(s, NULL, NULL, 0); /* the others hear of it */
    if (r == 0 && anew) {
        Pst__AcctChange clear = PST__ACCT_CHANGE__INIT;

        clear.body_case = PST__ACCT_CHANGE__BODY_CLEAR;
        clear.clear = 1;
        r = collect_change(&all, &clear);
    }
    if (r == 0)
        r = admin_changes(s->admin, anew ? 0 : req->version, collect_change, &all);
    if (r == 0) {
        if (all.n)
            adminfollow_send(q->conn, q->id, req->tells, all.changes, all.n);
        r = adminfollow_add(s->followers, q->conn, q->id, req->tells, s->delivered);
    }
    for (size_t i = 0; i < all.n; i++)
        pst__acct_change__free_unpacked(all.changes[i], NULL);
    free(all.changes);
    return r;
}

void adminserve_conn_closed(struct adminserve *s, struct conn *conn)
{
    adminfollow_gone(s->followers, conn);
    if (s->config.brought)
        s->config.brought(s->config.ctx);
}

static void serve_request(struct adminserve *s, struct request *q)
{
    char name[256];
    struct admin_who who = { .user = name, .rules = atomic_load(&s->rules) };
    struct err err = { .text = "" };
    int r;

    if (conn_user_over(q->conn)) { /* he does not read what he asked for */
        (void)conn_error(q->conn, q->op, q->id, EPST_BUSY,
                         "Answers to you that are not read are too large together");
        return;
    }
    name_of(conn_peer(q->conn)->uid, name, sizeof(name));
    who.root = s->config.is_root(s->config.ctx, conn_peer(q->conn)->uid);
    r = ensure_store(s, &err);
    if (r == 0)
        r = q->op == OP_ACCT_ADMIN    ? run_admin(s, q, &who, &err)
            : q->op == OP_ACCT_FOLLOW ? run_follow(s, q, &who, &err)
            : q->op == OP_ACCT_BLOB   ? run_blob(s, q, &who)
                                      : run_list(s, q, &who, &err);
    if (r == 0)
        return;
    if (r == -EINVAL && s->admin) {
        (void)conn_error(q->conn, q->op, q->id, EPST_BAD_REQUEST, err.text); /* else it times out */
        return;
    }
    log_limited(LOG_ERROR, "a request about accounting entities failed: %s",
                err.text[0] ? err.text : strerrordesc_np(-r));
    (void)conn_error(q->conn, q->op, q->id, ESLURM_DB_CONNECTION,
                     err.text[0] ? err.text : NULL); /* likewise */
    if (r != -EBUSY)
        close_store(s); /* opened again: memory and tables are the same then, whatever happened */
}

static void answer_sight(struct adminserve *s, struct sight_ask *ask)
{
    char name[256];
    struct admin_who who = { .user = name, .rules = atomic_load(&s->rules) };

    name_of(ask->uid, name, sizeof(name));
    who.root = s->config.is_root(s->config.ctx, ask->uid);
    ask->r = ensure_store(s, ask->err);
    if (ask->r == 0)
        ask->r = admin_sight(s->admin, &who, ask->ret);
}

static void answer_sights(struct adminserve *s)
{
    pthread_mutex_lock(&s->lock);
    while (s->asks) {
        struct sight_ask *ask = s->asks;

        s->asks = ask->next;
        pthread_mutex_unlock(&s->lock);
        answer_sight(s, ask);
        pthread_mutex_lock(&s->lock);
        ask->done = true; /* it is the waiting thread's again */
        pthread_cond_broadcast(&s->told);
    }
    pthread_mutex_unlock(&s->lock);
}

int adminserve_sight(struct adminserve *s, uid_t uid, struct admin_sight *ret, struct err *err)
{
    struct sight_ask ask = { .uid = uid, .ret = ret, .err = err };

    pthread_mutex_lock(&s->lock);
    ask.next = s->asks;
    s->asks = &ask;
    pthread_cond_signal(&s->wake);
    while (!ask.done)
        pthread_cond_wait(&s->told, &s->lock);
    pthread_mutex_unlock(&s->lock);
    return ask.r;
}

/* ---- keys of jobs ---------------------------------------------------------------------------- */

static struct key_note *key_note_free(struct key_note *k)
{
    struct key_note *next = k->next;

    free(k->cluster);
    free(k->user);
    free(k->name);
    free(k);
    return next;
}

/* Is it kept in mind?  The lock is held. */
static bool has_key(const struct adminserve *s, const char *cluster, const char *user,
                    const char *name)
{
    for (const struct key_note *k = s->keys; k; k = k->next)
        if (strcmp(k->user, user) == 0 && strcmp(k->name, name) == 0 &&
            strcmp(k->cluster, cluster) == 0)
            return true;
    return false;
}

void adminserve_job_key(struct adminserve *s, const char *cluster, const char *user,
                        const char *name)
{
    struct key_note *k = calloc(1, sizeof(*k));

    if (!k)
        return;
    k->cluster = strdup(cluster);
    k->user = strdup(user);
    k->name = strdup(name);
    pthread_mutex_lock(&s->lock);
    if (k->cluster && k->user && k->name && s->n_keys < KEYS_MAX &&
        !has_key(s, cluster, user, name)) {
        k->next = s->keys;
        s->keys = k;
        s->n_keys++;
        k = NULL;
        pthread_cond_signal(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    if (k)
        (void)key_note_free(k); /* it was no list */
}

static int make_key(struct adminserve *s, const struct key_note *k, struct err *err)
{
    int r = -EBUSY; /* the feed writes at just that time */

    for (int i = 0; r == -EBUSY && i < BUSY_TRIES; i++)
        r = admin_job_key(s->admin, k->cluster, k->user, k->name, now_us(), err);
    return r;
}

static void make_keys(struct adminserve *s)
{
    struct err err = { .text = "" };
    struct key_note *keys;
    int r;

    pthread_mutex_lock(&s->lock);
    keys = s->keys;
    s->keys = NULL;
    s->n_keys = 0;
    pthread_mutex_unlock(&s->lock);
    if (!keys)
        return;
    r = ensure_store(s, &err);
    for (; keys; keys = key_note_free(keys))
        if (r == 0)
            r = make_key(s, keys, &err);
    if (r == 0 && admin_version(s->admin) > s->delivered)
        r = deliver_changes(s, NULL, NULL, 0);
    if (r < 0)
        log_limited(LOG_ERROR, "the WCKeys of jobs are not kept: %s",
                    err.text[0] ? err.text : strerrordesc_np(-r));
}

/* ---- the thread ------------------------------------------------------------------------------ */

static struct request *take_request(struct adminserve *s)
{
    struct timespec ts;
    bool gave_up;
    int64_t until = now_mono_us() + RETRY_US, due = adminfollow_expire(s->followers, &gave_up);
    struct request *q = NULL;

    if (gave_up && s->config.brought)
        s->config.brought(s->config.ctx);
    if (due && due < until)
        until = due;
    ts =
        (struct timespec){ .tv_sec = until / USEC_PER_SEC, .tv_nsec = until % USEC_PER_SEC * 1000 };
    pthread_mutex_lock(&s->lock);
    while (!s->head && !s->asks && !s->keys && !s->stopping && !s->asked) {
        if (!s->failing && !s->behind && !due)
            pthread_cond_wait(&s->wake, &s->lock);
        else if (pthread_cond_timedwait(&s->wake, &s->lock, &ts) == ETIMEDOUT)
            break;
    }
    s->asked = false;
    if (s->behind && !s->head) { /* some time has passed */
        s->delivered = s->known < s->delivered ? s->known : s->delivered;
        s->behind = false;
    }
    if (s->head && !s->stopping) {
        q = s->head;
        s->head = q->next;
        if (!s->head)
            s->tail = &s->head;
        s->n--;
    }
    pthread_mutex_unlock(&s->lock);
    return q;
}

static void *run_thread(void *arg)
{
    struct adminserve *s = arg;
    struct err err = { .text = "" };
    bool go = true;

    (void)ensure_store(s, &err); /* logged; tried again */
    pthread_mutex_lock(&s->lock);
    s->tried = true;
    pthread_cond_broadcast(&s->wake);
    pthread_mutex_unlock(&s->lock);
    while (go) {
        struct request *q = take_request(s);

        answer_sights(s);
        make_keys(s);
        if (q) {
            int64_t start = now_mono_us();

            serve_request(s, q);
            if (s->config.rpcs)
                rpc_count(s->config.rpcs, q->op, now_mono_us() - start);
            request_free(q);
        } else {
            (void)ensure_store(s, &err); /* likewise */
        }
        pthread_mutex_lock(&s->lock);
        go = !s->stopping;
        pthread_mutex_unlock(&s->lock);
    }
    return NULL;
}

/* Is there a place for one more?  The lock is held. */
static bool has_place(const struct adminserve *s, uid_t uid)
{
    size_t his = 0;

    if (s->n >= REQUESTS_MAX || s->stopping)
        return false;
    if (s->n < REQUESTS_USER || s->config.is_root(s->config.ctx, uid))
        return true;
    for (const struct request *q = s->head; q; q = q->next)
        his += conn_peer(q->conn)->uid == uid;
    return his < REQUESTS_USER;
}

/* A controller that follows says how far it is.  False: it begins to follow. */
static bool note_told(struct adminserve *s, struct conn *conn, const Pst__AcctFollowRequest *req)
{
    if (req->has_arrived)
        adminfollow_arrived(s->followers, conn, req->arrived);
    if (req->has_brought) {
        adminfollow_has_brought(s->followers, conn, req->brought);
        if (s->config.brought)
            s->config.brought(s->config.ctx);
    }
    return req->has_arrived || req->has_brought;
}

uint64_t adminserve_ask(struct adminserve *s)
{
    uint64_t ticket = adminfollow_ask(s->followers);

    if (ticket) {
        pthread_mutex_lock(&s->lock);
        s->asked = true;
        pthread_cond_signal(&s->wake);
        pthread_mutex_unlock(&s->lock);
    }
    return ticket;
}

uint64_t adminserve_brought(struct adminserve *s)
{
    return adminfollow_brought(s->followers);
}

void adminserve_request(struct adminserve *s, struct conn *conn, unsigned op, uint32_t id,
                        ProtobufCMessage *msg)
{
    struct err err = { .text = "" };
    struct request *q;
    bool full;

    if (pbsafe_check(msg, &err) < 0) {
        protobuf_c_message_free_unpacked(msg, NULL);
        (void)conn_error(conn, op, id, EPST_BAD_REQUEST, err.text); /* it may be gone */
        return;
    }
    if (op == OP_ACCT_FOLLOW && note_told(s, conn, (const Pst__AcctFollowRequest *)msg)) {
        protobuf_c_message_free_unpacked(msg, NULL);
        return;
    }
    q = calloc(1, sizeof(*q));
    pthread_mutex_lock(&s->lock);
    full = !q || !has_place(s, conn_peer(conn)->uid);
    if (!full) {
        *q = (struct request){ .conn = conn_ref(conn), .op = op, .id = id, .msg = msg };
        *s->tail = q;
        s->tail = &q->next;
        s->n++;
        pthread_cond_signal(&s->wake);
    }
    pthread_mutex_unlock(&s->lock);
    if (full) {
        (void)conn_error(conn, op, id, EPST_BUSY, NULL); /* else it times out */
        protobuf_c_message_free_unpacked(msg, NULL);
        free(q);
    }
}

void adminserve_redeliver(struct adminserve *s, uint64_t known_version)
{
    pthread_mutex_lock(&s->lock);
    s->known = s->behind && s->known < known_version ? s->known : known_version;
    s->behind = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
}

struct adminserve *adminserve_stop(struct adminserve *s)
{
    if (!s)
        return NULL;
    pthread_mutex_lock(&s->lock);
    s->stopping = true;
    pthread_cond_signal(&s->wake);
    pthread_mutex_unlock(&s->lock);
    if (s->running)
        pthread_join(s->thread, NULL);
    while (s->head) {
        struct request *q = s->head;

        s->head = q->next;
        (void)conn_error(q->conn, q->op, q->id, EPST_SHUTTING_DOWN, NULL); /* it may be gone */
        request_free(q);
    }
    close_store(s);
    while (s->keys)
        s->keys = key_note_free(s->keys);
    s->followers = adminfollow_free(s->followers);
    if (s->cluster)
        pst__acct_cluster_record__free_unpacked(s->cluster, NULL);
    for (size_t i = 0; i < s->n_tres; i++)
        free(s->tres[i]);
    free(s->tres);
    free(s->location);
    free(s->cluster_qos);
    pthread_cond_destroy(&s->told);
    pthread_cond_destroy(&s->wake);
    pthread_mutex_destroy(&s->lock);
    free(s);
    return NULL;
}

static int copy_config(struct adminserve *s, const struct adminserve_config *config)
{
    ProtobufCMessage *copy = NULL;

    s->config = *config;
    atomic_store(&s->rules, config->rules);
    s->delivered = config->known_version;
    s->location = strdup(config->location);
    if (config->cluster && pb_dup(&config->cluster->base, &copy) < 0)
        return -ENOMEM;
    s->cluster = (Pst__AcctClusterRecord *)copy;
    s->tres = calloc(config->n_tres + 1, sizeof(char *));
    if (config->cluster_qos)
        s->cluster_qos = strdup(config->cluster_qos);
    if (!s->tres || !s->location || (config->cluster_qos && !s->cluster_qos))
        return -ENOMEM;
    for (; s->n_tres < config->n_tres; s->n_tres++)
        if (!(s->tres[s->n_tres] = strdup(config->tres[s->n_tres])))
            return -ENOMEM;
    return 0;
}

void adminserve_rule(struct adminserve *s, unsigned rules)
{
    atomic_store(&s->rules, rules);
}

int adminserve_start(const struct adminserve_config *config, struct adminserve **ret,
                     struct err *err)
{
    struct adminserve *s = calloc(1, sizeof(*s));
    pthread_condattr_t attr;
    int r;

    if (!s)
        return -ENOMEM;
    pthread_mutex_init(&s->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&s->wake, &attr);
    pthread_condattr_destroy(&attr);
    pthread_cond_init(&s->told, NULL);
    s->tail = &s->head;
    s->followers = adminfollow_new();
    r = s->followers ? copy_config(s, config) : -ENOMEM;
    if (r == 0)
        r = -pthread_create(&s->thread, NULL, run_thread, s);
    if (r < 0) {
        (void)adminserve_stop(s); /* always NULL */
        return err_set(err, r, "accounting: cannot start: %s", strerrordesc_np(-r));
    }
    s->running = true;
    threadname_set(s->thread, "acct-admin");
    pthread_mutex_lock(&s->lock);
    while (!s->tried)
        pthread_cond_wait(&s->wake, &s->lock);
    pthread_mutex_unlock(&s->lock);
    *ret = s;
    return 0;
}
