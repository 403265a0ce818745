/* test_acctthread.c - the controller's accounting thread on a real journal, asked over real
 * connections */
#include "acct_util.h"

#include <sqlite3.h>

#include "base/log.h"
#include "base/timefmt.h"
#include "ctld/acct/acctthread.h"
#include "ctld/ctld.h"
#include "wire/client.h"

#define WAIT_MS 20000

/* A controller reduced to what accounting needs of it. */
struct site {
    struct world *w;
    struct ctld ctld;
    _Atomic(struct acctthread *) acct;
    struct server *server;
};

static void on_durable(void *ctx, uint64_t lsn)
{
    struct site *s = ctx;
    struct acctthread *t = atomic_load(&s->acct);

    if (t)
        acctthread_durable(t, lsn);
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct site *s = ctx;

    assert_int_equal(frame->op, OP_QUERY_ACCT);
    acctthread_request(atomic_load(&s->acct), c, frame, 0);
}

static void on_close(void *ctx, struct conn *c)
{
    (void)ctx;
    (void)c;
}

static int no_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)ctx, (void)lsn, (void)snapshot, (void)data, (void)len;
    return 0;
}

static void open_journal(struct site *s)
{
    struct journal_config c = {
        .dir = s->w->dir, .segment_bytes = 64 << 10, .on_durable = on_durable, .ctx = s
    };

    assert_int_equal(journal_open(&c, no_record, NULL, &s->ctld.journal, NULL), 0);
    assert_int_equal(journal_start(s->ctld.journal), 0);
}

static void start_thread(struct site *s)
{
    struct acctthread *t = NULL;
    struct err err = { .text = "" };
    int r = acctthread_start(&s->ctld, s->w->db, s->w->dir, &t, &err);

    if (r < 0)
        print_error("%s\n", err.text);
    assert_int_equal(r, 0);
    atomic_store(&s->acct, t);
    acctthread_durable(t, journal_durable(s->ctld.journal));
}

static void stop_thread(struct site *s)
{
    acctthread_stop(atomic_exchange(&s->acct, NULL));
}

static void start_server(struct site *s)
{
    struct server_config c = { .any_port = true,
                               .bind_addr = "127.0.0.1",
                               .local_socket = true,
                               .threads = 2,
                               .out_limit = 2u * WIRE_MIB,
                               .cluster = "test",
                               .serves = ACCESS_AT(ACCESS_CTLD) | ACCESS_AT(ACCESS_DBD),
                               .slurm_uid = geteuid(),
                               .hooks = { .on_request = on_request, .on_close = on_close },
                               .ctx = s };

    assert_int_equal(server_new(&c, &s->server, NULL), 0);
    assert_int_equal(server_start(s->server), 0);
}

static int site_setup(void **state)
{
    struct site *s = calloc(1, sizeof(*s));
    char path[300];

    assert_non_null(s);
    assert_int_equal(world_setup((void **)&s->w), 0);
    (void)snprintf(path, sizeof(path), "%s/log", s->w->dir);
    assert_int_equal(log_open("test", path, LOG_DEBUG, false), 0);
    open_journal(s);
    *state = s;
    return 0;
}

static int site_teardown(void **state)
{
    struct site *s = *state;

    s->ctld.journal = journal_close(s->ctld.journal);
    if (s->server)
        server_stop(s->server);
    stop_thread(s);
    s->server = server_free(s->server);
    (void)log_open("test", NULL, LOG_QUIET, false);
    assert_int_equal(world_teardown((void **)&s->w), 0);
    free(s);
    return 0;
}

/* Journal a transaction; gives its lsn. */
static uint64_t append(struct site *s, Pst__Transaction *tx)
{
    size_t len = pst__transaction__get_packed_size(tx);
    _cleanup_free_ uint8_t *buf = malloc(len + 1);
    uint64_t lsn;

    assert_non_null(buf);
    (void)pst__transaction__pack(tx, buf);
    tx_free(tx);
    assert_int_equal(journal_append(s->ctld.journal, buf, len, &lsn), 0);
    return lsn;
}

static void sync_to(struct site *s, uint64_t lsn)
{
    journal_commit(s->ctld.journal);
    assert_int_equal(journal_wait_durable(s->ctld.journal, lsn), 0);
    if (atomic_load(&s->acct)) /* the sync may be seen before on_durable told of it */
        acctthread_durable(atomic_load(&s->acct), lsn);
}

static uint64_t append_lives(struct site *s, uint32_t first, uint32_t n, const char *comment)
{
    uint64_t lsn = 0;

    for (uint32_t id = first; id < first + n; id++) {
        Pst__Transaction *tx = submit(id, id, id);

        (void)pb_set_str(&tx->events[0]->job_put->comment, comment);
        (void)append(s, tx);
        (void)append(s, start(id, id, id + 1, "n1"));
        lsn = append(s, end(id, id + 2, JOB_STATE(COMPLETED), 0));
    }
    sync_to(s, lsn);
    return lsn;
}

static struct client *dial(struct site *s)
{
    struct client_target t = { .host = "127.0.0.1",
                               .port = server_port(s->server),
                               .try_local = true,
                               .cluster = "test",
                               .timeout_ms = WAIT_MS,
                               .program = "test" };
    struct err err = { .text = "" };
    struct client *c = NULL;

    if (client_connect(&t, geteuid(), &c, &err) < 0)
        fail_msg("%s", err.text);
    return c;
}

/* What came in the frames of a reply. */
struct reply {
    size_t frames, records, steps;
    uint64_t first_db, last_db;
    bool wrong;
};

static int on_frame(void *ctx, const struct frame *frame)
{
    struct reply *r = ctx;
    Pst__RecordBatch *b = pst__record_batch__unpack(NULL, frame->len, frame->body);

    assert_non_null(b);
    r->wrong = r->wrong || b->has_now_us != (r->frames == 0) || frame->op != OP_QUERY_ACCT;
    r->frames++;
    for (size_t i = 0; i < b->n_records; i++) {
        Pst__AcctJob *j = pst__acct_job__unpack(NULL, b->records[i].len, b->records[i].data);

        assert_non_null(j);
        r->wrong = r->wrong || (r->records && j->job->db_id <= r->last_db);
        if (!r->records)
            r->first_db = j->job->db_id;
        r->last_db = j->job->db_id;
        r->records++;
        r->steps += j->n_steps;
        pst__acct_job__free_unpacked(j, NULL);
    }
    pst__record_batch__free_unpacked(b, NULL);
    return 0;
}

static struct reply query(struct client *c, const Pst__AcctFilter *f)
{
    struct reply r = { 0 };

    assert_int_equal(client_stream(c, OP_QUERY_ACCT, &f->base, on_frame, &r), 0);
    assert_false(r.wrong);
    return r;
}

static const Pst__AcctFilter all = PST__ACCT_FILTER__INIT;

/* ---- storing --------------------------------------------------------------------------------- */

static void test_follow(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct site *s = *state;
    uint64_t lsn = append_lives(s, 1, 20, NULL);

    start_thread(s); /* what is there already ... */
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    lsn = append_lives(s, 21, 2000, NULL); /* ... and what comes */
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    assert_int_equal(acctthread_cursor(s->acct), lsn);
    assert_false(acctthread_wait(s->acct, lsn + 1, 1));
    a = ask_all(s->w->db);
    assert_int_equal(a.n, 2020);
}

static void test_restart(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct site *s = *state;
    uint64_t lsn = 0;

    for (uint32_t round = 0; round < 4; round++) {
        start_thread(s);
        lsn = append_lives(s, round * 200 + 1, 100, NULL);
        if (round == 2)
            assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
        stop_thread(s); /* in the middle of it, perhaps */
        lsn = append_lives(s, round * 200 + 101, 100, NULL);
    }
    start_thread(s);
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    a = ask_all(s->w->db);
    assert_int_equal(a.n, 800);
    for (size_t i = 0; i < a.n; i++) {
        assert_int_equal(a.jobs[i]->job->db_id, i + 1);
        assert_int_equal(a.jobs[i]->job->state, JOB_STATE(COMPLETED));
        assert_int_equal(a.jobs[i]->n_steps, 1);
    }
}

static void exec(sqlite3 *db, const char *sql)
{
    assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Locked out for a while: it waits, the journal does not, and nothing is lost. */
static void test_locked_out(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct site *s = *state;
    sqlite3 *other;
    uint64_t lsn;

    start_thread(s);
    lsn = append_lives(s, 1, 10, NULL);
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    assert_int_equal(sqlite3_open(s->w->db, &other), SQLITE_OK);
    exec(other, "BEGIN IMMEDIATE");
    lsn = append_lives(s, 11, 10, NULL);
    assert_false(acctthread_wait(s->acct, lsn, 1500));
    exec(other, "ROLLBACK");
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    a = ask_all(s->w->db);
    assert_int_equal(a.n, 20);
    answer_done(&a);

    stop_thread(s);
    exec(other, "PRAGMA locking_mode=EXCLUSIVE; BEGIN EXCLUSIVE");
    start_thread(s); /* not even to be opened */
    lsn = append_lives(s, 21, 10, NULL);
    assert_false(acctthread_wait(s->acct, lsn, 100));
    assert_int_equal(sqlite3_exec(other, "ROLLBACK", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(other), SQLITE_OK);
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    a = ask_all(s->w->db);
    assert_int_equal(a.n, 30);
}

static void take_snapshot(struct site *s, uint64_t lsn)
{
    struct journal_snapshot *snap;

    assert_int_equal(journal_snapshot_begin(s->ctld.journal, lsn, &snap), 0);
    assert_int_equal(journal_snapshot_put(snap, (const uint8_t *)"", 0), 0);
    assert_int_equal(journal_snapshot_commit(snap, UINT64_MAX), 0);
}

/* The database was deleted, and the journal no longer reaches back to its beginning. */
static void test_fresh_start(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct journal_reader *reader = NULL;
    struct site *s = *state;
    uint64_t lsn = 0;

    for (uint32_t i = 0; i < 15; i++) /* a segment never ends within a batch */
        lsn = append_lives(s, i * 100 + 1, 100, "some bytes, so that segments get full");
    take_snapshot(s, lsn - 300);
    take_snapshot(s, lsn - 100);
    assert_int_equal(journal_reader_open(s->w->dir, 1, &reader, NULL), -ENOENT);
    start_thread(s);
    lsn = append_lives(s, 1501, 10, NULL);
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    a = ask_all(s->w->db);
    assert_in_range(a.n, 10, 1509);
    assert_int_equal(a.jobs[a.n - 1]->job->db_id, 1510);
    for (size_t i = 0; i < a.n; i++)
        assert_int_equal(a.jobs[i]->job->state, JOB_STATE(COMPLETED));
}

/* The database knows more than the journal: its end was cut off by a repair. */
static void test_ahead(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct site *s = *state;
    Pst__Transaction *none = tx_new(T0);
    uint64_t lsn;

    s->w->acct = open_db(s->w->db);
    assert_int_equal(acct_begin(s->w->acct), 0);
    assert_int_equal(acct_apply(s->w->acct, 5000, none, NULL), 0);
    assert_int_equal(acct_commit(s->w->acct), 0);
    s->w->acct = acct_close(s->w->acct);
    tx_free(none);
    (void)append_lives(s, 1, 1, NULL);
    start_thread(s);
    lsn = append_lives(s, 2, 3, NULL);
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
    assert_int_equal(acctthread_cursor(s->acct), lsn);
    a = ask_all(s->w->db);
    assert_int_equal(a.n, 3);
}

static void test_garbage(void **state)
{
    struct site *s = *state;
    struct acctthread *t = NULL;
    struct err err = { .text = "" };
    uint64_t lsn;
    sqlite3 *db;

    assert_int_equal(sqlite3_open(s->w->db, &db), SQLITE_OK);
    exec(db, "CREATE TABLE t(x)");
    (void)sqlite3_close(db);
    assert_int_equal(acctthread_start(&s->ctld, s->w->db, s->w->dir, &t, &err), -EINVAL);
    assert_non_null(strstr(err.text, "another program"));
    (void)unlink(s->w->db);
    start_thread(s);
    assert_int_equal(journal_append(s->ctld.journal, (const uint8_t *)"\xff\xff\xff", 3, &lsn), 0);
    sync_to(s, lsn); /* the last record: passed over all the same */
    assert_true(acctthread_wait(s->acct, lsn, WAIT_MS));
}

/* ---- answering ------------------------------------------------------------------------------- */

/* What was durable before the question is in the answer. */
static void test_fresh_answers(void **state)
{
    struct site *s = *state;
    struct client *c;

    start_thread(s);
    start_server(s);
    c = dial(s);
    for (uint32_t i = 1; i <= 50; i++) {
        struct reply r;

        (void)append_lives(s, i, 1, NULL);
        r = query(c, &all);
        assert_int_equal(r.records, i);
        assert_int_equal(r.frames, 1);
        assert_int_equal(r.steps, i);
    }
    client_free(c);
}

static int on_nothing(void *ctx, const struct frame *frame)
{
    (void)ctx, (void)frame;
    return 0;
}

static void test_refused(void **state)
{
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct site *s = *state;
    struct client *c;

    start_thread(s);
    start_server(s);
    c = dial(s);
    assert_int_equal(query(c, &all).records, 0);
    f.nodes = (char *)(uintptr_t) "n[3-1]";
    assert_int_equal(client_stream(c, OP_QUERY_ACCT, &f.base, on_nothing, NULL), -EREMOTEIO);
    assert_int_equal(query(c, &all).frames, 1); /* the connection is fine */
    client_free(c);
}

/* More peers that do not read than there are threads: others are answered, and they, too, once they
 * read. */
static void test_slow_readers(void **state)
{
    struct client *slow[6], *c;
    struct site *s = *state;
    char comment[2001];

    memset(comment, 'x', 2000);
    comment[2000] = '\0';
    start_thread(s);
    start_server(s);
    (void)append_lives(s, 1, 4000, comment); /* 8 MiB: four times what may be queued */
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
        slow[i] = dial(s);
        assert_int_equal(client_send(slow[i], OP_QUERY_ACCT, 0, 7, &all.base), 0);
    }
    c = dial(s);
    assert_int_equal(query(c, &all).records, 4000);
    (void)append_lives(s, 4001, 1, NULL);
    assert_int_equal(query(c, &all).records, 4001);
    for (size_t i = 0; i < ARRAY_SIZE(slow) / 2; i++) {
        struct reply r = { 0 };
        struct frame f = { .flags = FRAME_MORE };

        while (f.flags & FRAME_MORE) {
            assert_int_equal(client_recv(slow[i], WAIT_MS, &f), 1);
            assert_int_equal(on_frame(&r, &f), 0);
        }
        assert_false(r.wrong);
        assert_in_range(r.records, 4000, 4001);
    }
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        client_free(slow[i]); /* half of them with their answer unread */
    assert_int_equal(query(c, &all).records, 4001);
    client_free(c);
}

/* The thread ends before the connections do. */
static void test_stop_first(void **state)
{
    struct client *slow[4];
    struct site *s = *state;
    char comment[2001];

    memset(comment, 'x', 2000);
    comment[2000] = '\0';
    start_thread(s);
    start_server(s);
    (void)append_lives(s, 1, 3000, comment);
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++) {
        struct frame f;

        slow[i] = dial(s);
        assert_int_equal(client_send(slow[i], OP_QUERY_ACCT, 0, 7, &all.base), 0);
        if (i % 2)
            assert_int_equal(client_recv(slow[i], WAIT_MS, &f), 1);
    }
    {
        /* no request may come in while the thread goes */
        struct acctthread *t = atomic_load(&s->acct);

        assert_true(acctthread_wait(t, journal_durable(s->ctld.journal), WAIT_MS));
        assert_int_equal(query(slow[1], &all).records, 3000); /* the others' have been read */
        stop_thread(s);
    }
    for (size_t i = 0; i < ARRAY_SIZE(slow); i++)
        client_free(slow[i]);
}

int main(void)
{
#define TEST(fn) cmocka_unit_test_setup_teardown(fn, site_setup, site_teardown)
    const struct CMUnitTest tests[] = {
        TEST(test_follow),        TEST(test_restart), TEST(test_locked_out),
        TEST(test_fresh_start),   TEST(test_ahead),   TEST(test_garbage),
        TEST(test_fresh_answers), TEST(test_refused), TEST(test_slow_readers),
        TEST(test_stop_first),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
