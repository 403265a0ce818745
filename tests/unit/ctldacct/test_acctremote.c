/* test_acctremote.c - slurmdbd as a place where the journal's records go: registration, batches,
 * and what becomes of them when the connection breaks */
#include "core_util.h"

#include <unistd.h>

#include "acct/acct.h"
#include "ctld/acct/acctsink.h"
#include "wire/client.h"

#include "played_dbd.h"

static struct played_dbd dbd;
static struct conf *conf;
static struct acctsink *sink;

static int set_up(void **state)
{
    (void)state;
    log_set_level(LOG_QUIET);
    dbd_begin(&dbd);
    conf = conf_with_lines(dbd_lines(&dbd));
    assert_int_equal(acctsink_slurmdbd(conf, "an-uuid", &sink), 0);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sink->ops->free(sink);
    conf_free(conf);
    dbd_end(&dbd);
    return 0;
}

static int open_sink(uint64_t journal_end)
{
    struct err err = { .text = "" };
    int r = sink->ops->open(sink, journal_end, &err);

    if (r < 0)
        print_message("# %s\n", err.text);
    return r;
}

static int commit(int64_t fed_us)
{
    struct err err = { .text = "" };
    int r = sink->ops->commit(sink, fed_us, &err);

    assert_true(r == 0 || strstr(err.text, "slurmdbd"));
    return r;
}

static void add(uint64_t lsn, Pst__Transaction *tx)
{
    struct err err = { .text = "" };

    assert_int_equal(sink->ops->add(sink, lsn, tx, &err), 0);
    tx_free(tx);
}

static Pst__Transaction *a_job(uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);

    (void)put_job(tx, id);
    return tx;
}

/* Who registers says what it is, and is told where to go on. */
static void test_register(void **state)
{
    const Pst__DbdRegister *r;

    (void)state;
    dbd.cursor = 42;
    dbd.commit_delay_s = 7;
    sink->keep = ACCT_JOBS;
    assert_int_equal(open_sink(99), 0);
    assert_int_equal(sink->cursor, 42);
    assert_true(sink->gather_us == 7 * SEC);
    r = dbd.last_register;
    assert_string_equal(r->cluster, "c");
    assert_string_equal(r->uuid, "an-uuid");
    assert_string_equal(r->control_host, "h");
    assert_int_equal(r->control_port, 6817);
    assert_int_equal(r->last_lsn, 99);
    assert_int_equal(r->keep, ACCT_JOBS);
    assert_int_equal(open_sink(99), 0); /* it is open */
    assert_int_equal(dbd.registered, 1);
    sink->keep = ACCT_JOBS | ACCT_STEPS; /* slurmdbd must hear of that */
    assert_int_equal(open_sink(99), 0);
    assert_int_equal(dbd.registered, 2);
    assert_int_equal(dbd.last_register->keep, ACCT_JOBS | ACCT_STEPS);
}

/* What accounting does not keep stays here: the place in the log goes on all the same. */
static void test_feed(void **state)
{
    struct err err = { .text = "" };
    Pst__Transaction *tx, *sent;

    (void)state;
    dbd.cursor = 4;
    assert_int_equal(open_sink(99), 0);
    assert_int_equal(sink->ops->begin(sink, &err), 0);
    tx = a_job(1);
    (void)put_part(tx, "p", "n0");
    add(5, tx);
    tx = tx_new(T0);
    (void)put_part(tx, "q", "n0");
    add(6, tx);
    tx = tx_new(T0);
    (void)put_node(tx, 0, "n0", 4);
    add(7, tx);
    tx = tx_new(T0);
    (void)put_part(tx, "r", "n0");
    add(8, tx);
    assert_int_equal(commit(T0 + SEC), 0);
    assert_int_equal(sink->cursor, 8);
    assert_string_equal(dbd.last_feed->cluster, "c");
    assert_int_equal(dbd.last_feed->after, 4);
    assert_int_equal(dbd.last_feed->upto, 8);
    assert_true(dbd.last_feed->fed_us == T0 + SEC);
    assert_int_equal(dbd.last_feed->n_records, 2);
    assert_int_equal(dbd.last_feed->records[0]->lsn, 5);
    assert_int_equal(dbd.last_feed->records[1]->lsn, 7);
    sent = pst__transaction__unpack(NULL, dbd.last_feed->records[0]->data.len,
                                    dbd.last_feed->records[0]->data.data);
    assert_int_equal(sent->n_events, 1);
    assert_int_equal(sent->events[0]->body_case, PST__EVENT__BODY_JOB_PUT);
    pst__transaction__free_unpacked(sent, NULL);
    /* the next batch begins behind it */
    assert_int_equal(sink->ops->begin(sink, &err), 0);
    add(9, a_job(2));
    assert_int_equal(commit(0), 0);
    assert_int_equal(dbd.last_feed->after, 8);
    assert_int_equal(dbd.last_feed->n_records, 1);
    assert_false(dbd.last_feed->has_fed_us);
}

/* A batch that fails is forgotten; the next registration says where to go on. */
static void test_fails(void **state)
{
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(open_sink(99), 0);
    for (int way = 0; way < 2; way++) {
        assert_int_equal(sink->ops->begin(sink, &err), 0);
        add(5, a_job(1));
        if (way)
            dbd.hangs_up = true;
        else
            dbd.refuse = EPST_DISK_FULL;
        assert_true(commit(0) < 0);
        assert_false(sink->open);
        dbd.cursor = 3;
        assert_int_equal(open_sink(99), 0);
        assert_int_equal(sink->cursor, 3);
    }
    assert_int_equal(dbd.registered, 3);
    assert_int_equal(sink->ops->begin(sink, &err), 0);
    add(4, a_job(1));
    assert_int_equal(commit(0), 0);
    assert_int_equal(dbd.last_feed->n_records, 1);
    assert_int_equal(dbd.last_feed->after, 3);
}

/* A batch is full before a frame is. */
static void test_full(void **state)
{
    struct err err = { .text = "" };
    char *large = malloc((1u << 20) + 1);
    unsigned n = 0;

    (void)state;
    assert_non_null(large);
    memset(large, 'x', 1u << 20);
    large[1u << 20] = '\0';
    assert_int_equal(open_sink(99), 0);
    assert_int_equal(sink->ops->begin(sink, &err), 0);
    while (!sink->ops->full(sink)) {
        Pst__Transaction *tx = tx_new(T0);
        Pst__JobRecord *r = put_job(tx, 1);

        assert_int_equal(pb_set_str(&r->comment, large), 0);
        add(++n, tx);
        assert_true(n < 15);
    }
    assert_true(n > 3);
    assert_int_equal(commit(0), 0);
    assert_int_equal(sink->cursor, n);
    assert_false(sink->ops->full(sink));
    free(large);
}

/* Nobody listens: the sentence says where.  An interrupted sink asks nobody any more. */
static void test_away(void **state)
{
    struct err err = { .text = "" };
    char port[16];

    (void)state;
    (void)snprintf(port, sizeof(port), "%u", server_port(dbd.server));
    dbd_stop(&dbd);
    assert_true(sink->ops->open(sink, 9, &err) < 0);
    assert_non_null(strstr(err.text, "127.0.0.1"));
    assert_non_null(strstr(err.text, port));
    assert_false(sink->open);
    sink->ops->interrupt(sink);
    assert_true(sink->ops->open(sink, 9, &err) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_register, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_feed, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_fails, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_full, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_away, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
