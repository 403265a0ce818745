/* test_streamlog.c - a log that is sent, in one process: a witness, an active controller's journal,
 * and a standby behind a real connection */
#include <errno.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "journal/files.h"
#include "model/tx.h"
#include "stream/pactwire.h"
#include "stream/streamlink.h"
#include "stream/streamlog.h"
#include "stream/streampeer.h"
#include "stream/streamtail.h"
#include "stream/witcall.h"
#include "stream/witfile.h"
#include "stream/witserve.h"
#include "wire/auth/auth.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#define WAIT_US (20 * USEC_PER_SEC)

/* ---- a cluster ------------------------------------------------------------------------------- */

struct world {
    char dir[64], path[5][128]; /* conf, key, witness, active's state, standby's state */
    struct conf *conf;
    struct auth_keys *keys;
    struct witserve *witness;
    struct stream_config stream;
    struct server *door; /* the standby's */
    struct streamtail *_Atomic tail;
    struct streamlink *link;
    struct witcall *call;
    struct pact_member self;
    atomic_uint newest;
    struct streamlog *log;
    struct journal *journal;
    struct witness_state seen;
};

static void answer_stream(void *arg, uint32_t id, const Pst__StreamReply *reply)
{
    struct conn *c = arg;

    (void)conn_reply(c, OP_STREAM, id, 0, &reply->base);
    (void)conn_unref(c);
}

static void on_request(void *ctx, struct conn *c, const struct frame *frame)
{
    struct world *w = ctx;
    struct streamtail *tail = w->tail;
    Pst__StreamRequest *req;

    if (frame->op != OP_STREAM || !tail || FRAME_UNPACK(stream_request, frame, &req, NULL) < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, NULL);
        return;
    }
    assert_true(streamtail_take(tail, conn_ref(c), frame->id, req));
}

static void on_close(void *ctx, struct conn *c)
{
    (void)ctx;
    (void)c;
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
    assert_int_equal(chmod(path, 0600), 0);
}

static struct server_config server_of(const struct world *w)
{
    return (struct server_config){ .any_port = true,
                                   .bind_addr = "127.0.0.1",
                                   .threads = 1,
                                   .keys = w->keys,
                                   .slurm_uid = geteuid(),
                                   .slurmd_uid = geteuid() };
}

static void open_witness(struct world *w)
{
    struct witness_state s = { .record = { .version = 1, .in_sync = { 1, { { "ctl1", 0 } } } } };
    struct witserve_config config = { .dir = w->path[2], .cluster = "tux", .server = server_of(w) };
    struct err err = { .text = "" };

    assert_int_equal(mkdir(w->path[2], 0700), 0);
    assert_int_equal(witserve_new(&config, &w->witness, &err), -ENOENT);
    assert_int_equal(witfile_store(w->path[2], "tux", &s, &err), 0);
    assert_int_equal(witserve_new(&config, &w->witness, &err), 0);
    assert_int_equal(witserve_start(w->witness), 0);
    (void)snprintf(w->stream.witness, sizeof(w->stream.witness), "127.0.0.1");
    w->stream.port = witserve_port(w->witness);
    w->stream.patience_ms = 300;
}

static void open_door(struct world *w)
{
    struct server_config config = server_of(w);
    struct err err = { .text = "" };

    config.cluster = "tux";
    config.service = "slurmctld";
    config.serves = ACCESS_AT(ACCESS_CTLD);
    config.hooks = (struct server_hooks){ .on_request = on_request, .on_close = on_close };
    config.ctx = w;
    assert_int_equal(server_new(&config, &w->door, &err), 0);
    assert_int_equal(server_start(w->door), 0);
}

static void load_conf(struct world *w)
{
    char text[512];
    struct err err = { .text = "" };

    (void)snprintf(text, sizeof(text),
                   "ClusterName=tux\nSlurmctldHost=ctl1(127.0.0.1)\nSlurmctldHost=ctl2(127.0.0.1)\n"
                   "SlurmctldPort=%u\nSlurmUser=%u\nAuthInfo=keyfile=%s\nStateSaveLocation=%s\n"
                   "NodeName=n1\nPartitionName=p Nodes=n1\n",
                   server_port(w->door), geteuid(), w->path[1], w->path[3]);
    write_text(w->path[0], text);
    if (conf_load(w->path[0], CONF_FULL, &w->conf, NULL, &err) < 0)
        fail_msg("%s", err.text);
}

static struct world *open_world(void)
{
    static const char *const names[] = { "slurm.conf", "slurm.key", "witness", "state1", "state2" };
    const char *tmp = getenv("TMPDIR");
    struct world *w = calloc(1, sizeof(*w));
    struct err err = { .text = "" };

    assert_non_null(w);
    (void)snprintf(w->dir, sizeof(w->dir), "%.40s/stream-XXXXXX", tmp ? tmp : "/tmp");
    assert_non_null(mkdtemp(w->dir));
    for (size_t i = 0; i < ARRAY_SIZE(names); i++)
        (void)snprintf(w->path[i], sizeof(w->path[i]), "%s/%s", w->dir, names[i]);
    assert_int_equal(mkdir(w->path[3], 0700), 0);
    assert_int_equal(mkdir(w->path[4], 0700), 0);
    write_text(w->path[1], "a1:000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f\n");
    assert_int_equal(auth_keys_load(w->path[1], &w->keys, &err), 0);
    open_witness(w);
    open_door(w);
    load_conf(w);
    assert_int_equal(streamlink_new(w->conf, &w->link), 0);
    assert_int_equal(streamlink_port(w->link), server_port(w->door));
    assert_int_equal(witcall_new(w->link, &w->stream, 2000, &w->call), 0);
    return w;
}

static void close_world(struct world *w)
{
    char command[160];

    w->journal = journal_close(w->journal);
    w->log = streamlog_free(w->log);
    w->door = server_free(w->door);
    w->tail = streamtail_close(w->tail);
    w->call = witcall_free(w->call);
    w->link = streamlink_free(w->link);
    w->witness = witserve_free(w->witness);
    auth_keys_free(w->keys);
    conf_free(w->conf);
    (void)snprintf(command, sizeof(command), "rm -rf %s", w->dir);
    assert_int_equal(WEXITSTATUS(pclose(popen(command, "r"))), 0);
    free(w);
}

/* ---- the active controller ------------------------------------------------------------------- */

static int claim_term(struct world *w, const struct pact_member *who)
{
    struct pact_change c = { .claim = true, .by = *who };
    struct term_record t = { .lease_ms = 1000 };
    uint8_t lease[TERM_BYTES];
    struct err err = { .text = "" };

    assert_int_equal(witcall_read(w->call, &w->seen, &err), 0);
    c.version = w->seen.record.version;
    c.term = t.term = w->seen.record.term + 1;
    term_encode(&t, lease);
    return witcall_change(w->call, &c, lease, &w->seen, &err);
}

static int skip_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    (void)ctx;
    (void)lsn;
    (void)snapshot;
    (void)data;
    (void)len;
    return 0;
}

/* Lead in the next term. */
static void lead_on(struct world *w)
{
    struct streamlog_config config = { .dir = w->path[3],
                                       .link = w->link,
                                       .stream = &w->stream,
                                       .newest = &w->newest,
                                       .lease_ms = 1000 };
    struct streamtail_config own = { .dir = w->path[3], .host = "ctl1", .answer = answer_stream };
    struct journal_config jc = { .dir = w->path[3] };
    struct streamtail_view v;
    struct streamtail *tail = NULL;
    struct err err = { .text = "" };

    assert_int_equal(streamtail_open(&own, &tail, &err), 0);
    streamtail_claim(tail);
    streamtail_look(tail, &v);
    w->self = v.who;
    assert_int_equal(claim_term(w, &w->self), 1);
    tail = streamtail_close(tail);
    config.record = w->seen.record;
    assert_int_equal(streamlog_new(&config, &w->log, &err), 0);
    assert_int_equal(streamlog_add(w->log, "ctl2", "127.0.0.1"), 0);
    jc.term = config.record.term;
    jc.remote = streamlog_remote(w->log);
    assert_int_equal(journal_open(&jc, skip_record, NULL, &w->journal, &err), 0);
    assert_int_equal(streamlog_start(w->log, journal_last(w->journal), &err), 0);
    assert_int_equal(journal_start(w->journal), 0);
}

static void open_tail(struct world *w)
{
    struct streamtail_config config = { .dir = w->path[4],
                                        .host = "ctl2",
                                        .answer = answer_stream };
    struct streamtail *tail = NULL;
    struct err err = { .text = "" };

    assert_int_equal(streamtail_open(&config, &tail, &err), 0);
    w->tail = tail;
}

static bool wait_in_sync(struct world *w, bool yes)
{
    int64_t until = now_mono_us() + WAIT_US;

    while (streamlog_in_sync(w->log, "ctl2") != yes && now_mono_us() < until)
        (void)poll(NULL, 0, 5);
    return streamlog_in_sync(w->log, "ctl2") == yes;
}

static uint64_t append_records(struct world *w, unsigned n, size_t size)
{
    uint8_t *data = calloc(1, size);
    uint64_t lsn = 0;

    assert_non_null(data);
    for (unsigned i = 0; i < n; i++) {
        memset(data, (int)i, size);
        assert_int_equal(journal_append(w->journal, data, size, &lsn), 0);
        if (i % 3 == 0)
            journal_commit(w->journal);
    }
    free(data);
    journal_commit(w->journal);
    return lsn;
}

static uint64_t tail_last(struct world *w)
{
    struct streamtail_view v;

    streamtail_look(w->tail, &v);
    return v.last;
}

/* ---- tests ----------------------------------------------------------------------------------- */

static void test_acknowledged_is_on_both(void **state)
{
    struct world *w = open_world();
    struct streamlog_stats stats;
    uint64_t lsn;

    w->stream.patience_ms = 60000; /* however slow the disk is: it is not to leave */
    lead_on(w);
    lsn = append_records(w, 5, 100);
    assert_int_equal(journal_wait_durable(w->journal, lsn), 0); /* alone in sync */
    assert_true(streamlog_confirm(w->log, INT64_MAX, 0));       /* nobody has to say so */
    open_tail(w);
    assert_true(wait_in_sync(w, true));
    for (int i = 0; i < 20; i++) {
        lsn = append_records(w, 7, 1000);
        assert_int_equal(journal_wait_durable(w->journal, lsn), 0);
        assert_true(tail_last(w) >= lsn); /* whoever takes over has it */
    }
    lsn = append_records(w, 3, 5u << 20); /* more than one request, each */
    assert_int_equal(journal_wait_durable(w->journal, lsn), 0);
    assert_int_equal(tail_last(w), lsn);
    assert_true(streamlog_confirm(w->log, term_clock_us(), 5 * USEC_PER_SEC));
    streamlog_get_stats(w->log, &stats);
    assert_int_equal(stats.n, 1);
    assert_true(stats.peers[0].in_sync && stats.peers[0].follows);
    close_world(w);
    (void)state;
}

static void test_silent_standby_leaves_and_returns(void **state)
{
    struct world *w = open_world();
    struct streamtail *tail;
    uint64_t lsn;

    lead_on(w);
    open_tail(w);
    assert_true(wait_in_sync(w, true));
    tail = w->tail;
    w->tail = NULL; /* it answers nothing */
    lsn = append_records(w, 4, 100);
    assert_int_equal(journal_wait_durable(w->journal, lsn), 0); /* after its patience */
    assert_false(streamlog_in_sync(w->log, "ctl2"));
    lsn = append_records(w, 400, 20000); /* it comes from the files */
    assert_int_equal(journal_wait_durable(w->journal, lsn), 0);
    w->tail = tail;
    assert_true(wait_in_sync(w, true));
    assert_true(tail_last(w) >= lsn);
    close_world(w);
    (void)state;
}

static void test_claimed_term_ends_ours(void **state)
{
    struct world *w = open_world();
    struct streamtail_view v;
    uint64_t lsn = 0;

    lead_on(w);
    open_tail(w);
    assert_true(wait_in_sync(w, true));
    streamtail_claim(w->tail);
    streamtail_look(w->tail, &v);
    assert_int_equal(claim_term(w, &v.who), 1);
    assert_int_equal(claim_term(w, &w->self), 0); /* we are not in its set */
    assert_int_equal(journal_append(w->journal, (const uint8_t *)"late", 4, &lsn), 0);
    assert_int_equal(journal_wait_durable(w->journal, lsn), -ESHUTDOWN); /* never acknowledged */
    assert_true(tail_last(w) < lsn);
    assert_true(atomic_load(&w->newest) > 1);
    close_world(w);
    (void)state;
}

static void test_words_from_outside(void **state)
{
    Pst__StreamMember m = PST__STREAM_MEMBER__INIT;
    Pst__WitnessReply reply = PST__WITNESS_REPLY__INIT;
    Pst__StreamMember *many[PACT_SET_MAX + 1];
    char longer[PACT_HOST_BYTES + 1];
    struct witness_state s;
    struct pact_member out;

    memset(longer, 'x', sizeof(longer));
    longer[PACT_HOST_BYTES] = '\0';
    assert_int_equal(pactwire_member(NULL, &out), -EINVAL);
    assert_int_equal(pactwire_member(&m, &out), -EINVAL);
    m.host = longer;
    SET(&m, id, 4);
    assert_int_equal(pactwire_member(&m, &out), -EINVAL);
    m.host = (char *)"a\nb";
    assert_int_equal(pactwire_member(&m, &out), -EINVAL);
    m.host = (char *)"a";
    assert_int_equal(pactwire_member(&m, &out), 0);
    assert_int_equal(pactwire_state(&reply, &s), -EINVAL); /* no version */
    SET(&reply, version, 3);
    assert_int_equal(pactwire_state(&reply, &s), 0);
    SET(&reply, term, 3);
    assert_int_equal(pactwire_state(&reply, &s), -EINVAL); /* of whom? */
    reply.holder = &m;
    for (size_t i = 0; i < ARRAY_SIZE(many); i++)
        many[i] = &m;
    reply.in_sync = many;
    reply.n_in_sync = PACT_SET_MAX;
    assert_int_equal(pactwire_state(&reply, &s), 0);
    reply.n_in_sync++;
    assert_int_equal(pactwire_state(&reply, &s), -EINVAL);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_acknowledged_is_on_both),
        cmocka_unit_test(test_silent_standby_leaves_and_returns),
        cmocka_unit_test(test_claimed_term_ends_ours),
        cmocka_unit_test(test_words_from_outside),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
