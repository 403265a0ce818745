/* test_acctd.c - the accounting store behind real connections: controllers that bring records,
 * questions, limits of users, archives */
#include "acct_util.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

#include "acct/admin/admin_sight.h"
#include "acct/sql/db.h"
#include "acctd/acctfeed.h"
#include "acctd/acctjobs.h"
#include "acctd/archiveops.h"
#include "acctd/acctops.h"
#include "acctd/serve.h"
#include "acctd/usageops.h"
#include "acct.pb-c.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "wire/client.h"
#include "wire/errors.h"
#include "wire/server/rpcstat.h"
#include "wire/server/server.h"

#define WAIT_MS 20000

/* slurmdbd, reduced to its store. */
struct site {
    struct world *w;
    struct feeds *feeds;
    struct serve *serve;
    struct server *server;
    struct rpc_stat *rpcs;
    uint64_t lsn; /* of every request */
    _Atomic uint64_t cursor;
    atomic_bool has_cursor, admin, sees_all, sight_fails;
    atomic_uint hurried, closed;
};

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct site *s = ctx;

    assert_true(serve_has(frame->op));
    serve_request(s->serve, c, frame, s->lsn);
}

static void on_close(void *ctx, struct conn *c)
{
    struct site *s = ctx;

    if (s->feeds)
        feeds_conn_closed(s->feeds, c);
    atomic_fetch_add(&s->closed, 1);
}

static bool is_admin(void *ctx, uid_t uid)
{
    struct site *s = ctx;

    (void)uid;
    return atomic_load(&s->admin);
}

static int ask_sight(void *ctx, uid_t uid, struct admin_sight *ret, struct err *err)
{
    struct site *s = ctx;

    (void)uid;
    if (atomic_load(&s->sight_fails))
        return err_set(err, -EIO, "who is who cannot be told");
    *ret = (struct admin_sight){ .all = atomic_load(&s->sees_all) };
    if (ret->all)
        return 0;
    ret->accounts = calloc(1, sizeof(*ret->accounts));
    assert_non_null(ret->accounts);
    ret->accounts[ret->n++] = strdup("physics");
    return 0;
}

static uint64_t get_cursor(void *ctx)
{
    struct site *s = ctx;

    return atomic_load(&s->cursor);
}

static void hurry_up(void *ctx, uint64_t lsn)
{
    struct site *s = ctx;

    (void)lsn;
    atomic_fetch_add(&s->hurried, 1);
}

static void open_site(struct site *s, const struct serve_settings *settings, bool with_feeds)
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
    struct serve_config config = { .find_op = serve_op,
                                   .location = s->w->db,
                                   .settings = settings,
                                   .readers = 2,
                                   .is_admin = is_admin,
                                   .sight = ask_sight,
                                   .admin_ctx = s,
                                   .cursor = atomic_load(&s->has_cursor) ? get_cursor : NULL,
                                   .hurry = hurry_up,
                                   .ctx = s };

    if (with_feeds)
        assert_int_equal(feeds_new(s->w->db, &s->feeds), 0);
    config.feeds = s->feeds;
    assert_int_equal(serve_new(&config, &s->serve), 0);
    assert_int_equal(server_new(&c, &s->server, NULL), 0);
    assert_int_equal(server_start(s->server), 0);
}

static int site_setup(void **state)
{
    struct site *s = calloc(1, sizeof(*s));

    assert_non_null(s);
    assert_int_equal(log_open("test", NULL, LOG_QUIET, false), 0);
    assert_int_equal(world_setup((void **)&s->w), 0);
    atomic_store(&s->admin, true);
    *state = s;
    return 0;
}

static int site_teardown(void **state)
{
    struct site *s = *state;

    if (s->server)
        server_stop(s->server);
    s->serve = serve_free(s->serve);
    s->server = server_free(s->server);
    s->feeds = feeds_free(s->feeds);
    assert_int_equal(world_teardown((void **)&s->w), 0);
    free(s);
    return 0;
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

/* The request is refused with this code, and text in its sentence. */
static void expect_error(struct client *c, unsigned op, const ProtobufCMessage *m, int code,
                         const char *text)
{
    const char *got = "";
    int r = client_call(c, op, m, NULL);

    assert_int_equal(r, -EREMOTEIO);
    assert_int_equal(client_error(c, &got), code);
    if (!strstr(got, text))
        print_message("\"%s\", not \"%s\"\n", got, text);
    assert_non_null(strstr(got, text));
}

/* ---- controllers ----------------------------------------------------------------------------- */

static uint64_t cursor_of(struct client *c, unsigned op, const ProtobufCMessage *m)
{
    ProtobufCMessage *reply = NULL;
    uint64_t cursor;
    int r = client_call(c, op, m, &reply);

    if (r < 0)
        fail_msg("%s", client_strerror(c, r));
    cursor = ((Pst__DbdCursor *)reply)->cursor;
    protobuf_c_message_free_unpacked(reply, NULL);
    return cursor;
}

static uint64_t join_as(struct client *c, const char *cluster)
{
    Pst__DbdRegister reg = PST__DBD_REGISTER__INIT;

    reg.cluster = (char *)cluster;
    return cursor_of(c, OP_DBD_REGISTER, &reg.base);
}

/* Records of a feed. */
struct batch {
    Pst__DbdFeed feed;
    Pst__DbdRecord recs[64], *list[64];
    uint8_t *data[64];
};

static void batch_begin(struct batch *b, uint64_t after)
{
    *b = (struct batch){ .feed = PST__DBD_FEED__INIT };
    b->feed.cluster = (char *)"demo";
    SET(&b->feed, after, after);
    b->feed.records = b->list;
}

/* tx is taken; NULL: bytes that are no transaction. */
static void batch_add(struct batch *b, uint64_t lsn, Pst__Transaction *tx)
{
    static const uint8_t garbage[] = { 0xff, 0xff, 0xff };
    size_t i = b->feed.n_records++, len = tx ? pst__transaction__get_packed_size(tx) : 3;

    b->recs[i] = (Pst__DbdRecord)PST__DBD_RECORD__INIT;
    b->list[i] = &b->recs[i];
    b->data[i] = malloc(len + 1);
    assert_non_null(b->data[i]);
    if (tx)
        (void)pst__transaction__pack(tx, b->data[i]);
    else
        memcpy(b->data[i], garbage, len);
    tx_free(tx);
    SET(&b->recs[i], lsn, lsn);
    SET(&b->feed, upto, lsn);
    b->recs[i].has_data = true;
    b->recs[i].data = (ProtobufCBinaryData){ .len = len, .data = b->data[i] };
}

static uint64_t batch_send(struct batch *b, struct client *c)
{
    uint64_t cursor = cursor_of(c, OP_DBD_FEED, &b->feed.base);

    for (size_t i = 0; i < b->feed.n_records; i++)
        free(b->data[i]);
    return cursor;
}

static void test_feed(void **state)
{
    _cleanup_val_(answer_done) struct answer a = { 0 };
    struct site *s = *state;
    Pst__DbdRegister reg = PST__DBD_REGISTER__INIT;
    struct client *c, *other;
    struct batch b;

    open_site(s, NULL, true);
    c = dial(s);
    batch_begin(&b, 0);
    expect_error(c, OP_DBD_FEED, &b.feed.base, EPST_BAD_REQUEST, "demo must register first");
    assert_int_equal(join_as(c, "demo"), 0);
    batch_add(&b, 3, submit(1, 1, 0));
    batch_add(&b, 4, NULL); /* nobody can read it: left out, with a word in the log */
    batch_add(&b, 7, submit(2, 2, 1));
    b.feed.upto = 9; /* what came after does not matter here */
    assert_int_equal(batch_send(&b, c), 9);
    batch_begin(&b, 8);
    expect_error(c, OP_DBD_FEED, &b.feed.base, EPST_BAD_REQUEST, "its cursor is not 8");
    batch_begin(&b, 9);
    batch_add(&b, 7, submit(3, 3, 2)); /* once more, and another: it was stored already */
    batch_add(&b, 10, submit(4, 4, 3));
    assert_int_equal(batch_send(&b, c), 10);
    other = dial(s);
    batch_begin(&b, 10);
    expect_error(other, OP_DBD_FEED, &b.feed.base, EPST_BAD_REQUEST, "on this connection first");
    assert_int_equal(join_as(other, "demo"), 10); /* the other one is out now */
    expect_error(c, OP_DBD_FEED, &b.feed.base, EPST_BAD_REQUEST, "on this connection first");
    reg.cluster = (char *)"demo"; /* its journal was cut: it begins from there again */
    reg.has_last_lsn = true;
    reg.last_lsn = 5;
    assert_int_equal(cursor_of(other, OP_DBD_REGISTER, &reg.base), 5);
    (void)client_free(c);
    (void)client_free(other);
    a = ask_all(s->w->db);
    assert_int_equal(a.n, 3);
    assert_int_equal(a.jobs[2]->job->db_id, 4);
}

static void test_names_of_clusters(void **state)
{
    Pst__DbdRegister reg = PST__DBD_REGISTER__INIT;
    struct site *s = *state;
    char name[65];
    struct client *c;

    open_site(s, NULL, true);
    c = dial(s);
    expect_error(c, OP_DBD_REGISTER, &reg.base, EPST_BAD_REQUEST, "1 to 63 characters");
    reg.cluster = (char *)"";
    expect_error(c, OP_DBD_REGISTER, &reg.base, EPST_BAD_REQUEST, "1 to 63 characters");
    memset(name, 'x', 64);
    name[64] = '\0';
    reg.cluster = name;
    expect_error(c, OP_DBD_REGISTER, &reg.base, EPST_BAD_REQUEST, "1 to 63 characters");
    assert_int_equal(join_as(c, name + 1), 0);
    (void)client_free(c);
}

/* slurmctld with a store of its own takes no records of others. */
static void test_no_slurmdbd(void **state)
{
    Pst__DbdRegister reg = PST__DBD_REGISTER__INIT;
    Pst__DbdFeed feed = PST__DBD_FEED__INIT;
    struct site *s = *state;
    struct client *c;

    open_site(s, NULL, false);
    c = dial(s);
    reg.cluster = feed.cluster = (char *)"demo";
    expect_error(c, OP_DBD_REGISTER, &reg.base, EPST_BAD_REQUEST, "no slurmdbd");
    expect_error(c, OP_DBD_FEED, &feed.base, EPST_BAD_REQUEST, "no slurmdbd");
    (void)client_free(c);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

/* Jobs of users 1000 and up, of the account physics each third. */
static void feed_jobs(struct site *s, uint32_t n, const char *comment)
{
    for (uint32_t i = 0; i < n; i++) {
        Pst__Transaction *tx = submit(i + 1, i + 1, i);
        Pst__JobRecord *j = tx->events[0]->job_put;

        (void)pb_set_str(&j->comment, comment);
        (void)pb_set_str(&j->account, i % 3 ? "chemistry" : "physics");
        SET(j, uid, i % 2 ? geteuid() : 1000);
        feed(s->w, tx);
    }
    s->w->acct = acct_close(s->w->acct);
}

struct reply {
    size_t frames, records;
    uint64_t last_db, first_lsn;
    bool wrong;
};

static int on_frame(void *ctx, const struct frame *frame)
{
    struct reply *r = ctx;
    Pst__RecordBatch *b = pst__record_batch__unpack(NULL, frame->len, frame->body);

    assert_non_null(b);
    r->wrong = r->wrong || b->has_now_us != (r->frames == 0) || b->has_lsn != (r->frames == 0);
    if (!r->frames)
        r->first_lsn = b->lsn;
    r->frames++;
    for (size_t i = 0; i < b->n_records; i++) {
        Pst__AcctJob *j = pst__acct_job__unpack(NULL, b->records[i].len, b->records[i].data);

        assert_non_null(j);
        r->wrong = r->wrong || j->job->db_id <= r->last_db;
        r->last_db = j->job->db_id;
        r->records++;
        pst__acct_job__free_unpacked(j, NULL);
    }
    pst__record_batch__free_unpacked(b, NULL);
    return 0;
}

static struct reply ask_jobs(struct client *c, const Pst__AcctFilter *f)
{
    struct reply r = { 0 };
    int code = client_stream(c, OP_QUERY_ACCT, &f->base, on_frame, &r);

    if (code < 0)
        fail_msg("%s", client_strerror(c, code));
    assert_false(r.wrong);
    return r;
}

static const Pst__AcctFilter all = PST__ACCT_FILTER__INIT;

/* More than fits into a frame, more frames than a peer is ahead, and one record larger than all
 * of a frame. */
static void test_many_frames(void **state)
{
    struct site *s = *state;
    char *comment = malloc(20001), *huge = malloc(300001);
    struct client *c;
    struct reply r;

    assert_true(comment && huge);
    memset(comment, 'c', 20000);
    comment[20000] = '\0';
    memset(huge, 'h', 300000);
    huge[300000] = '\0';
    feed_jobs(s, 150, comment);
    {
        Pst__Transaction *tx = submit(151, 151, 151);

        (void)pb_set_str(&tx->events[0]->job_put->comment, huge);
        feed(s->w, tx);
        s->w->acct = acct_close(s->w->acct);
    }
    s->lsn = 77; /* nothing is waited for: what is there is answered */
    open_site(s, NULL, false);
    c = dial(s);
    r = ask_jobs(c, &all);
    assert_int_equal(r.records, 151);
    assert_int_equal(r.first_lsn, 77);
    assert_in_range(r.frames, 150 * 20000 / (256 * 1024) + 1, 30);
    r = ask_jobs(c, &all); /* the connection goes on */
    assert_int_equal(r.records, 151);
    (void)client_free(c);
    free(comment);
    free(huge);
}

/* A peer that asks and leaves holds nothing. */
static void test_peer_leaves(void **state)
{
    struct site *s = *state;
    char *comment = malloc(20001);
    struct client *c;

    assert_non_null(comment);
    memset(comment, 'c', 20000);
    comment[20000] = '\0';
    feed_jobs(s, 300, comment);
    free(comment);
    open_site(s, NULL, false);
    for (int i = 0; i < 20; i++) {
        c = dial(s);
        assert_int_equal(client_send(c, OP_QUERY_ACCT, 0, 5, &all.base), 0);
        (void)client_free(c);
    }
    c = dial(s);
    assert_int_equal(ask_jobs(c, &all).records, 300);
    (void)client_free(c);
}

static void test_range(void **state)
{
    static const struct serve_settings settings = { .max_range_us = 3600 * USEC_PER_SEC };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct site *s = *state;
    uint32_t id = 1;
    struct client *c;

    feed_jobs(s, 4, "");
    open_site(s, &settings, false);
    c = dial(s);
    assert_int_equal(ask_jobs(c, &f).records, 4); /* an administrator */
    atomic_store(&s->admin, false);
    expect_error(c, OP_QUERY_ACCT, &f.base, EPST_BAD_REQUEST, "Too wide of a date range");
    f.has_start_us = f.has_end_us = true;
    f.start_us = T0;
    f.end_us = T0 + 3600 * USEC_PER_SEC;
    assert_int_equal(ask_jobs(c, &f).records, 4);
    f.end_us++;
    expect_error(c, OP_QUERY_ACCT, &f.base, EPST_BAD_REQUEST, "Too wide of a date range");
    f.start_us = INT64_MIN; /* their difference has no number */
    f.end_us = INT64_MAX;
    expect_error(c, OP_QUERY_ACCT, &f.base, EPST_BAD_REQUEST, "Too wide of a date range");
    f.job_ids = &id; /* few, whenever they ran */
    f.n_job_ids = 1;
    assert_int_equal(ask_jobs(c, &f).records, 1);
    serve_set(s->serve, &(struct serve_settings){ 0 });
    f.n_job_ids = 0;
    assert_int_equal(ask_jobs(c, &f).records, 4);
    (void)client_free(c);
}

static void test_private_jobs(void **state)
{
    static const struct serve_settings settings = { .private_jobs = true, .private_usage = true };
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    Pst__UsageRequest u = PST__USAGE_REQUEST__INIT;
    char *mine[] = { (char *)"chemistry" };
    struct site *s = *state;
    struct client *c;

    feed_jobs(s, 12, "");
    open_site(s, &settings, false);
    c = dial(s);
    SET(&u, kind, PST__USAGE_KIND__USAGE_CLUSTER);
    SET(&u, start_s, T0 / SEC / 3600 * 3600);
    SET(&u, end_s, T0 / SEC / 3600 * 3600 + 3600);
    assert_int_equal(ask_jobs(c, &f).records, 12);
    assert_int_equal(client_call(c, OP_USAGE, &u.base, NULL), 0);
    atomic_store(&s->admin, false);
    f.has_seen_uid = true; /* what he says of himself does not count */
    f.seen_uid = 1000;
    f.seen_accounts = mine;
    f.n_seen_accounts = 1;
    assert_int_equal(ask_jobs(c, &f).records, 8); /* his 6, and of physics 2 more */
    assert_int_equal(client_call(c, OP_USAGE, &u.base, NULL), 0);
    atomic_store(&s->sees_all, true);
    assert_int_equal(ask_jobs(c, &f).records, 12);
    atomic_store(&s->sight_fails, true);
    expect_error(c, OP_QUERY_ACCT, &f.base, SLURM_ERROR, "cannot be told");
    expect_error(c, OP_USAGE, &u.base, SLURM_ERROR, "cannot be told");
    (void)client_free(c);
}

/* ---- limits and waiting ---------------------------------------------------------------------- */

static void expect_frame(struct client *c, uint32_t id, bool error)
{
    struct frame f;

    assert_int_equal(client_recv(c, WAIT_MS, &f), 1);
    assert_int_equal(f.id, id);
    assert_int_equal((f.flags & FRAME_ERROR) != 0, error);
}

/* 64 of a user's requests wait; the next is told to come again, and he is served when they are. */
static void test_waiting(void **state)
{
    struct site *s = *state;
    struct client *c;

    feed_jobs(s, 2, "");
    atomic_store(&s->has_cursor, true);
    atomic_store(&s->admin, false);
    s->lsn = 10;
    open_site(s, NULL, false);
    c = dial(s);
    for (uint32_t i = 1; i <= 65; i++)
        assert_int_equal(client_send(c, OP_QUERY_ACCT, 0, i, &all.base), 0);
    expect_frame(c, 65, true);
    assert_int_equal(atomic_load(&s->hurried), 64);
    atomic_store(&s->cursor, 10);
    serve_advanced(s->serve, NULL);
    for (unsigned seen = 0; seen < 64; seen++) {
        struct frame f;

        assert_int_equal(client_recv(c, WAIT_MS, &f), 1);
        assert_false(f.flags & FRAME_ERROR);
        assert_in_range(f.id, 1, 64);
    }
    assert_int_equal(ask_jobs(c, &all).records, 2);
    (void)client_free(c);
}

/* What waits when the daemon ends is told so. */
static void test_ends(void **state)
{
    struct site *s = *state;
    struct client *c;

    feed_jobs(s, 1, "");
    atomic_store(&s->has_cursor, true);
    s->lsn = 10;
    open_site(s, NULL, false);
    c = dial(s);
    for (uint32_t i = 1; i <= 3; i++)
        assert_int_equal(client_send(c, OP_QUERY_ACCT, 0, i, &all.base), 0);
    while (atomic_load(&s->hurried) < 3)
        (void)poll(NULL, 0, 1);
    s->serve = serve_free(s->serve);
    for (uint32_t i = 1; i <= 3; i++) {
        ProtobufCMessage *msg = NULL;
        struct frame f;

        assert_int_equal(client_recv(c, WAIT_MS, &f), 1);
        assert_true(f.flags & FRAME_ERROR);
        assert_int_equal(frame_unpack(&f, frame_message(&f), &msg, NULL), 0);
        assert_int_equal(((Pst__Error *)msg)->code, EPST_SHUTTING_DOWN);
        protobuf_c_message_free_unpacked(msg, NULL);
    }
    (void)client_free(c);
}

/* The store cannot be opened: said, and tried anew. */
static void test_no_store(void **state)
{
    Pst__UsageRequest u = PST__USAGE_REQUEST__INIT;
    struct site *s = *state;
    struct client *c;
    char good[300];

    memcpy(good, s->w->db, sizeof(good));
    (void)snprintf(s->w->db, sizeof(s->w->db), "/nonexistent/acct.db");
    open_site(s, NULL, true);
    memcpy(s->w->db, good, sizeof(good));
    c = dial(s);
    SET(&u, kind, PST__USAGE_KIND__USAGE_CLUSTER);
    SET(&u, start_s, T0 / SEC / 3600 * 3600);
    SET(&u, end_s, T0 / SEC / 3600 * 3600 + 3600);
    assert_int_equal(client_call(c, OP_USAGE, &u.base, NULL), -EREMOTEIO);
    assert_int_equal(client_call(c, OP_QUERY_ACCT, &all.base, NULL), -EREMOTEIO);
    assert_int_equal(client_call(c, OP_USAGE, &u.base, NULL), -EREMOTEIO);
    (void)client_free(c);
}

/* ---- archives -------------------------------------------------------------------------------- */

static void test_archive(void **state)
{
    static const struct serve_settings off = { .no_archive = true };
    Pst__ArchiveRequest a = PST__ARCHIVE_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    struct site *s = *state;
    Pst__ArchiveReply *files;
    struct client *c;

    feed_jobs(s, 5, "");
    feed(s->w, end(1, 100, JOB_STATE(COMPLETED), 0));
    s->w->acct = acct_close(s->w->acct);
    open_site(s, &off, false);
    c = dial(s);
    expect_error(c, OP_ARCHIVE, &a.base, EPST_BAD_REQUEST, "DisableArchiveCommands");
    serve_set(s->serve, &(struct serve_settings){ .no_rollup = true });
    assert_int_equal(client_call(c, OP_ARCHIVE, &a.base, &reply), 0); /* nothing is configured */
    assert_int_equal(((Pst__ArchiveReply *)reply)->n_files, 0);
    protobuf_c_message_free_unpacked(reply, NULL);
    a.directory = (char *)"relative";
    expect_error(c, OP_ARCHIVE, &a.base, EPST_BAD_REQUEST, "absolute path");
    a.has_load = a.load = true;
    expect_error(c, OP_ARCHIVE, &a.base, EPST_BAD_REQUEST, "which file?");
    a.file = (char *)"/nonexistent/archive";
    assert_int_equal(client_call(c, OP_ARCHIVE, &a.base, NULL), -EREMOTEIO);
    a.load = false;
    a.directory = s->w->dir;
    a.has_purge_job_h = a.has_jobs = a.jobs = true;
    a.purge_job_h = 1;
    assert_int_equal(client_call(c, OP_ARCHIVE, &a.base, &reply), 0);
    files = (Pst__ArchiveReply *)reply;
    assert_int_equal(files->n_files, 1);
    assert_int_equal(access(files->files[0], R_OK), 0);
    assert_int_equal(files->rows, 1); /* the others have not ended */
    assert_int_equal(ask_jobs(c, &all).records, 4);
    a.has_load = a.load = true;
    a.file = files->files[0];
    assert_int_equal(client_call(c, OP_ARCHIVE, &a.base, NULL), 0);
    assert_int_equal(ask_jobs(c, &all).records, 5); /* and back */
    protobuf_c_message_free_unpacked(reply, NULL);
    (void)client_free(c);
}

/* ---- what it does by itself ------------------------------------------------------------------ */

static int64_t count_gone(const struct site *s, bool open)
{
    struct sql_stmt *stmt = NULL;
    struct sql *db = NULL;
    int64_t n;

    assert_int_equal(acct_db_open_reader(s->w->db, &db, NULL), 0);
    assert_int_equal(sql_prepare(db,
                                 open ? "SELECT COUNT(*) FROM events WHERE reason=? AND end_us=?"
                                      : "SELECT COUNT(*) FROM events WHERE reason=? AND end_us<>?",
                                 &stmt),
                     0);
    sql_bind_text(stmt, 0, "slurmctld disconnect");
    sql_bind(stmt, 1, ACCT_OPEN_END);
    assert_int_equal(sql_step(stmt), 1);
    n = sql_int(stmt, 0);
    sql_free(stmt);
    (void)sql_close(db);
    return n;
}

/* The cluster has an event of its own, as after its first node. */
static void add_cluster_event(const struct site *s)
{
    char text[200];
    struct sql *db = NULL;

    (void)snprintf(text, sizeof(text),
                   "INSERT INTO events SELECT id,'',1,%lld,0,'',NULL,'1=4','n1' FROM sources "
                   "WHERE name='demo'",
                   (long long)ACCT_OPEN_END);
    assert_int_equal(acct_db_open(s->w->db, &db, NULL), 0);
    assert_int_equal(sql_exec(db, text), 0);
    (void)sql_close(db);
}

/* A controller whose connection ends is noted as gone until it registers again. */
static void test_controller_leaves(void **state)
{
    static const struct serve_settings settings = { .track_down = true, .no_rollup = true };
    struct site *s = *state;
    struct client *c;

    open_site(s, &settings, true);
    c = dial(s);
    assert_int_equal(join_as(c, "demo"), 0);
    add_cluster_event(s);
    assert_int_equal(count_gone(s, true), 0);
    (void)client_free(c);
    while (atomic_load(&s->closed) < 1)
        (void)poll(NULL, 0, 1);
    c = dial(s);
    assert_int_equal(join_as(c, "demo"), 0); /* however soon */
    assert_int_equal(count_gone(s, true), 0);
    assert_int_equal(count_gone(s, false), 1);
    assert_int_equal(join_as(c, "demo"), 0); /* it was there all the time: nothing to note */
    assert_int_equal(count_gone(s, false), 1);
    (void)client_free(c);
    while (atomic_load(&s->closed) < 2)
        (void)poll(NULL, 0, 1);
    {
        struct sql *db = NULL;

        assert_int_equal(acct_db_open(s->w->db, &db, NULL), 0);
        assert_int_equal(feeds_note_gone(s->feeds, db, NULL), 0);
        (void)sql_close(db);
    }
    assert_int_equal(count_gone(s, true), 1);
}

/* Usage is summed up, and that is counted. */
static void test_roll_up(void **state)
{
    Pst__DiagReply d = PST__DIAG_REPLY__INIT, none = PST__DIAG_REPLY__INIT;
    struct site *s = *state;

    feed_jobs(s, 1, "");
    open_site(s, NULL, true);
    while (!d.rollup_cycles) {
        (void)poll(NULL, 0, 5);
        serve_stats(s->serve, &d, false);
    }
    assert_true(d.has_rollup_when_us && d.rollup_when_us > T0);
    assert_true(d.rollup_max_us >= d.rollup_last_us && d.rollup_total_us >= d.rollup_max_us);
    serve_set(s->serve, &(struct serve_settings){ .no_rollup = true });
    do { /* one may be under way */
        serve_stats(s->serve, &d, true);
        none = (Pst__DiagReply)PST__DIAG_REPLY__INIT;
        serve_stats(s->serve, &none, false);
    } while (none.has_rollup_cycles);
    assert_false(none.has_rollup_when_us);
}

/* Old rows go by themselves, once an hour, into files of the folder that is configured. */
static void test_purge(void **state)
{
    struct serve_settings settings = { .purge = { .job_h = 1, .jobs = true, .limit = 1000 } };
    struct site *s = *state;
    struct client *c;

    feed_jobs(s, 3, "");
    feed(s->w, end(1, 100, JOB_STATE(COMPLETED), 0));
    s->w->acct = acct_close(s->w->acct);
    (void)snprintf(settings.dir, sizeof(settings.dir), "%s", s->w->dir);
    open_site(s, &settings, true);
    c = dial(s);
    while (ask_jobs(c, &all).records == 3) /* within a second of the start */
        (void)poll(NULL, 0, 20);
    assert_int_equal(ask_jobs(c, &all).records, 2); /* those that have not ended stay */
    (void)client_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_feed, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_names_of_clusters, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_no_slurmdbd, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_many_frames, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_peer_leaves, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_range, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_private_jobs, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_waiting, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_ends, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_no_store, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_archive, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_controller_leaves, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_purge, site_setup, site_teardown),
        cmocka_unit_test_setup_teardown(test_roll_up, site_setup, site_teardown),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
