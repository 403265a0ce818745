/* acctquery.c - answers to accounting queries; see acctquery.h.
 *
 * A query is in one place at a time: in the list (it waits for the cursor or a thread), with a
 * thread, or aside because FRAMES_AHEAD frames of it wait for the peer.  Each frame is handed over
 * as a stream of the connection, which asks for it when there is room; its end brings the query
 * back into the list.  The pool lives until the last query is gone, since connections may hold
 * frames longer than the controller holds the pool. */
#include "ctld/acctquery.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/errors.h"
#include "wire/server.h"

#define THREADS 2u
#define QUERIES_MAX 256u         /* at a time; more are told to come again */
#define FRAME_BYTES (256u << 10) /* of records, before a frame is full */
#define FRAMES_AHEAD 4u
#define FRAMES_TURN 16u                  /* then others that wait for a thread come first */
#define BEHIND_MAX_US (8 * USEC_PER_SEC) /* a query waits this long for the cursor */

struct acctpool {
    struct acctpool_config config;
    char *db_path;
    pthread_t threads[THREADS];
    unsigned nthreads;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct query *head, **tail; /* waiting */
    unsigned nqueries;          /* anywhere; each keeps the pool alive */
    bool released;              /* by its owner */
    atomic_bool stopping;
    char trouble[ERR_TEXT_MAX];
};

struct query {
    struct query *next;
    struct acctpool *pool;
    struct conn *conn;
    uint32_t id;
    uint64_t lsn;
    int64_t deadline_mono_us;
    Pst__AcctFilter *filter;
    struct acct_rows *rows;
    bool any_sent, aside, over;
    bool gone;      /* the connection; under the pool's lock */
    unsigned ahead; /* frames with the connection; likewise */
    uint8_t *buf;   /* records of the frame being made */
    size_t len, cap;
    size_t *ends; /* where each ends */
    size_t n, ends_cap;
};

/* A frame on its way into a connection. */
struct piece {
    struct query *query;
    uint8_t *buf;
    size_t len;
};

/* ---- life ---------------------------------------------------------------------------------------
 */

static void pool_destroy(struct acctpool *p)
{
    pthread_cond_destroy(&p->changed);
    pthread_mutex_destroy(&p->lock);
    free(p->db_path);
    free(p);
}

static void query_free(struct query *q)
{
    struct acctpool *p = q->pool;
    bool last;

    acct_rows_close(q->rows);
    if (q->filter)
        pst__acct_filter__free_unpacked(q->filter, NULL);
    conn_unref(q->conn);
    free(q->buf);
    free(q->ends);
    free(q);
    pthread_mutex_lock(&p->lock);
    last = --p->nqueries == 0 && p->released;
    pthread_mutex_unlock(&p->lock);
    if (last)
        pool_destroy(p);
}

static void list_add(struct acctpool *p, struct query *q)
{
    q->next = NULL;
    *p->tail = q;
    p->tail = &q->next;
    pthread_cond_signal(&p->changed);
}

/* ---- sending ------------------------------------------------------------------------------------
 */

static bool piece_next(struct conn *c, void *arg)
{
    struct piece *piece = arg;

    conn_send_take(c, TAKE_PTR(piece->buf), piece->len);
    return false;
}

static void piece_done(void *arg)
{
    struct piece *piece = arg;
    struct query *q = piece->query;
    struct acctpool *p = q->pool;
    bool dead;

    pthread_mutex_lock(&p->lock);
    q->gone = q->gone || piece->buf; /* never asked for */
    q->ahead--;
    dead = q->over && !q->ahead;
    if (q->aside && q->ahead <= FRAMES_AHEAD / 2 && !atomic_load(&p->stopping)) {
        q->aside = false;
        list_add(p, q);
    } else if (q->aside && !q->ahead) {
        dead = true; /* nobody will take it up again */
    }
    pthread_mutex_unlock(&p->lock);
    free(piece->buf);
    free(piece);
    if (dead)
        query_free(q);
}

/* Hand a frame to the connection; buf is taken. */
static int send_frame(struct query *q, uint8_t *buf, size_t len)
{
    struct piece *piece = malloc(sizeof(*piece));

    if (!piece) {
        free(buf);
        return -ENOMEM;
    }
    *piece = (struct piece){ .query = q, .buf = buf, .len = len };
    pthread_mutex_lock(&q->pool->lock);
    q->ahead++;
    pthread_mutex_unlock(&q->pool->lock);
    q->any_sent = true;
    conn_stream(q->conn, piece_next, piece_done, piece);
    return 0;
}

static void send_error(struct query *q, int code, const char *text)
{
    uint8_t *buf;
    size_t len;

    if (frame_pack_error(OP_QUERY_ACCT, q->id, code, text, &buf, &len) < 0 ||
        send_frame(q, buf, len) < 0)
        conn_close(q->conn); /* an answer that never comes is worse */
}

static int send_batch(struct query *q, bool more)
{
    Pst__RecordBatch batch = PST__RECORD_BATCH__INIT;
    _cleanup_free_ ProtobufCBinaryData *records = calloc(q->n + 1, sizeof(*records));
    uint8_t *buf;
    size_t len, from = 0;
    int r;

    if (!records)
        return -ENOMEM;
    for (size_t i = 0; i < q->n; from = q->ends[i++])
        records[i] = (ProtobufCBinaryData){ .data = q->buf + from, .len = q->ends[i] - from };
    batch.records = records;
    batch.n_records = q->n;
    batch.has_now_us = batch.has_lsn = !q->any_sent;
    batch.now_us = now_us();
    batch.lsn = q->lsn;
    r = frame_pack(OP_QUERY_ACCT, FRAME_REPLY | (more ? FRAME_MORE : 0), q->id, 0, &batch.base,
                   &buf, &len);
    q->len = q->n = 0;
    return r < 0 ? r : send_frame(q, buf, len);
}

/* ---- one query ----------------------------------------------------------------------------------
 */

static int add_record(struct query *q, const uint8_t *data, size_t len)
{
    if (q->len + len > q->cap) {
        size_t cap = MAX(q->len + len, FRAME_BYTES);
        uint8_t *bigger = realloc(q->buf, cap);

        if (!bigger)
            return -ENOMEM;
        q->buf = bigger;
        q->cap = cap;
    }
    if (q->n == q->ends_cap) {
        size_t cap = q->ends_cap ? q->ends_cap * 2 : 256;
        size_t *bigger = reallocarray(q->ends, cap, sizeof(*bigger));

        if (!bigger)
            return -ENOMEM;
        q->ends = bigger;
        q->ends_cap = cap;
    }
    memcpy(q->buf + q->len, data, len);
    q->len += len;
    q->ends[q->n++] = q->len;
    return 0;
}

static bool must_wait(struct query *q)
{
    struct acctpool *p = q->pool;
    bool wait;

    pthread_mutex_lock(&p->lock);
    wait = q->ahead >= FRAMES_AHEAD || q->gone;
    pthread_mutex_unlock(&p->lock);
    return wait;
}

/* Send frames until the peer is behind or it is another's turn (1), or all is said (0). */
static int stream_rows(struct query *q, struct err *err)
{
    unsigned frames = 0;

    while (frames < FRAMES_TURN && !must_wait(q)) {
        const uint8_t *data;
        size_t len;
        int r;

        r = acct_rows_next(q->rows, &data, &len, err);
        if (r == 0)
            return send_batch(q, false);
        if (r > 0 && q->n && q->len + len > FRAME_BYTES) {
            r = send_batch(q, true);
            frames++;
        }
        if (r >= 0)
            r = add_record(q, data, len);
        if (r < 0)
            return r;
    }
    return 1;
}

static int start_query(struct query *q, struct err *err)
{
    struct acctpool *p = q->pool;
    uint64_t cursor = p->config.cursor(p->config.ctx);

    if (cursor < q->lsn) {
        char trouble[ERR_TEXT_MAX];

        pthread_mutex_lock(&p->lock);
        memcpy(trouble, p->trouble, sizeof(trouble));
        pthread_mutex_unlock(&p->lock);
        return err_set(err, -EAGAIN,
                       "The accounting database is %llu records behind%s%s, please retry",
                       (unsigned long long)(q->lsn - cursor), trouble[0] ? ": " : "", trouble);
    }
    return acct_rows_open(p->db_path, q->filter, now_us(), &p->stopping, &q->rows, err);
}

static void report(struct query *q, int r, const struct err *err)
{
    int code = SLURM_ERROR;

    if (r == -EAGAIN || r == -EBUSY)
        code = EPST_BUSY;
    else if (r == -ECANCELED)
        code = EPST_SHUTTING_DOWN;
    else if (!q->rows && (r == -EINVAL || r == -E2BIG))
        code = EPST_BAD_REQUEST;
    else
        log_error("an accounting query failed: %s", err->text[0] ? err->text : strerrordesc_np(-r));
    send_error(q, code, r == -ECANCELED || !err->text[0] ? NULL : err->text);
}

/* Leave the query where it belongs now. */
static void settle(struct query *q, bool over)
{
    struct acctpool *p = q->pool;
    bool dead = false;

    if (q->rows)
        acct_rows_pause(q->rows);
    pthread_mutex_lock(&p->lock);
    over = over || q->gone;
    if (over) {
        q->over = true;
        dead = !q->ahead;
    } else if (q->ahead > FRAMES_AHEAD / 2) {
        q->aside = true;
    } else {
        list_add(p, q); /* they were taken meanwhile */
    }
    pthread_mutex_unlock(&p->lock);
    if (dead)
        query_free(q);
}

static void serve(struct query *q)
{
    struct err err = { .text = "" };
    int r = q->rows ? 0 : start_query(q, &err);

    if (r == 0)
        r = stream_rows(q, &err);
    if (r < 0)
        report(q, r, &err);
    settle(q, r <= 0);
}

/* ---- the pool -----------------------------------------------------------------------------------
 */

/* The first query that can be served; else *ret_until is when one gives up. */
static struct query *take_ready(struct acctpool *p, int64_t *ret_until)
{
    uint64_t cursor = p->config.cursor(p->config.ctx);
    int64_t now = now_mono_us();

    *ret_until = now + 3600 * USEC_PER_SEC;
    for (struct query **at = &p->head, *q; (q = *at); at = &q->next) {
        if (!q->rows && q->lsn > cursor && now < q->deadline_mono_us) {
            *ret_until = MIN(*ret_until, q->deadline_mono_us);
            continue;
        }
        *at = q->next;
        if (p->tail == &q->next)
            p->tail = at;
        return q;
    }
    return NULL;
}

static void *run(void *arg)
{
    struct acctpool *p = arg;

    pthread_mutex_lock(&p->lock);
    while (!atomic_load(&p->stopping)) {
        int64_t until;
        struct query *q = take_ready(p, &until);
        struct timespec ts = { .tv_sec = until / USEC_PER_SEC,
                               .tv_nsec = until % USEC_PER_SEC * 1000 };

        if (!q) {
            (void)pthread_cond_timedwait(&p->changed, &p->lock, &ts); /* looks again either way */
            continue;
        }
        pthread_mutex_unlock(&p->lock);
        serve(q);
        pthread_mutex_lock(&p->lock);
    }
    pthread_mutex_unlock(&p->lock);
    return NULL;
}

struct acctpool *acctpool_free(struct acctpool *p)
{
    struct query *q;
    bool last;

    if (!p)
        return NULL;
    pthread_mutex_lock(&p->lock);
    atomic_store(&p->stopping, true);
    pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->nthreads; i++)
        pthread_join(p->threads[i], NULL);
    while ((q = p->head)) {
        p->head = q->next;
        send_error(q, EPST_SHUTTING_DOWN, NULL);
        settle(q, true);
    }
    pthread_mutex_lock(&p->lock);
    p->released = true;
    last = !p->nqueries;
    pthread_mutex_unlock(&p->lock);
    if (last)
        pool_destroy(p);
    return NULL;
}

int acctpool_new(const struct acctpool_config *config, struct acctpool **ret)
{
    struct acctpool *p = calloc(1, sizeof(*p));
    pthread_condattr_t attr;

    if (!p)
        return -ENOMEM;
    p->config = *config;
    p->tail = &p->head;
    pthread_mutex_init(&p->lock, NULL);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&p->changed, &attr);
    pthread_condattr_destroy(&attr);
    p->db_path = strdup(config->db_path);
    if (!p->db_path) {
        acctpool_free(p);
        return -ENOMEM;
    }
    for (; p->nthreads < THREADS; p->nthreads++) {
        int r = pthread_create(&p->threads[p->nthreads], NULL, run, p);

        if (r) {
            acctpool_free(p);
            return -r;
        }
        (void)pthread_setname_np(p->threads[p->nthreads], "acct-query"); /* a label for people */
    }
    *ret = p;
    return 0;
}

void acctpool_query(struct acctpool *p, struct conn *conn, uint32_t id, uint64_t lsn,
                    Pst__AcctFilter *filter)
{
    struct query *q = calloc(1, sizeof(*q));
    bool full;

    pthread_mutex_lock(&p->lock);
    full = !q || p->nqueries >= QUERIES_MAX || atomic_load(&p->stopping);
    if (!full) {
        *q = (struct query){ .pool = p,
                             .conn = conn_ref(conn),
                             .id = id,
                             .lsn = lsn,
                             .deadline_mono_us = now_mono_us() + BEHIND_MAX_US,
                             .filter = filter };
        p->nqueries++;
        list_add(p, q);
    }
    pthread_mutex_unlock(&p->lock);
    if (full) {
        (void)conn_error(conn, OP_QUERY_ACCT, id, EPST_BUSY, NULL); /* else it times out */
        pst__acct_filter__free_unpacked(filter, NULL);
        free(q);
        return;
    }
    p->config.hurry(p->config.ctx, lsn);
}

void acctpool_advanced(struct acctpool *p, const char *trouble)
{
    pthread_mutex_lock(&p->lock);
    (void)snprintf(p->trouble, sizeof(p->trouble), "%s", trouble ? trouble : "");
    if (p->head)
        pthread_cond_broadcast(&p->changed);
    pthread_mutex_unlock(&p->lock);
}
