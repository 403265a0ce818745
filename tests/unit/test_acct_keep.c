/* test_acct_keep.c - what of jobs the accounting store is told to keep; scripts and environments */
#include "rollup_util.h"

#include <time.h>

#include "acct/blobs.h"

#define SCRIPT UINT64_C(0xfedcba9876543210) /* does not fit a signed number */
#define ENV UINT64_C(77)

static void open_with(struct world *w, unsigned keep)
{
    if (!w->acct)
        w->acct = open_db(w->db);
    acct_keep(w->acct, keep);
}

/* A job with everything that may be left out. */
static Pst__Transaction *rich_job(uint32_t id, int64_t at, bool blobs)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);
    Pst__JobRecord *j;

    if (blobs) {
        tx_blob(tx, SCRIPT, "#!/bin/sh\nexit 3\n", 17);
        tx_blob(tx, ENV, "A=1\0B=2", 8);
    }
    j = put_job(tx, id, id, "job");
    SET(j, script_hash, SCRIPT);
    SET(j, env_hash, ENV);
    (void)pb_set_str(&j->comment, "c");
    (void)pb_set_str(&j->extra, "e");
    (void)pb_set_str(&j->std_out, "/out");
    put_batch_step(tx, id, id);
    return tx;
}

static char *text_of(struct world *w, enum blob_kind kind, uint64_t hash, size_t *ret_len)
{
    struct sql *db;
    uint8_t *data;

    assert_int_equal(acct_db_open_reader(w->db, &db, NULL), 0);
    assert_int_equal(blobs_get(db, kind, hash, &data, ret_len), 0);
    assert_null(sql_close(db));
    return (char *)data;
}

static void test_kept(void **state)
{
    static const struct {
        unsigned keep;
        size_t jobs, steps;
        const char *comment, *extra, *std_out;
        int64_t blobs;
    } cases[] = {
        { ACCT_KEEP_ALL, 1, 1, "c", "e", "/out", 2 },
        { ACCT_JOBS | ACCT_STEPS | ACCT_STDIO, 1, 1, NULL, NULL, "/out", 0 },
        { ACCT_JOBS | ACCT_COMMENT | ACCT_SCRIPT, 1, 0, "c", NULL, NULL, 1 },
        { ACCT_JOBS | ACCT_STEPS | ACCT_EXTRA | ACCT_ENV, 1, 1, NULL, "e", NULL, 1 },
        { ACCT_STEPS | ACCT_SCRIPT, 0, 0, NULL, NULL, NULL, 0 },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        _cleanup_val_(answer_done) struct answer a = { 0 };
        struct world *w;
        void *one = NULL;
        Pst__Transaction *tx;

        assert_int_equal(world_setup(&one), 0);
        w = one;
        open_with(w, cases[i].keep);
        feed(w, rich_job(1, 10, true));
        tx = tx_new((MONTH + 20) * SEC);
        (void)pb_set_str(&tx_job_patch(tx, EV(JOB_UPDATE), 1)->comment, "c"); /* an update is no way around */
        feed(w, tx);
        a = ask_all(w->db);
        assert_int_equal(a.n, cases[i].jobs);
        if (a.n) {
            const Pst__JobRecord *j = a.jobs[0]->job;

            assert_int_equal(a.jobs[0]->n_steps, cases[i].steps);
            assert_string_equal(j->comment ? j->comment : "", cases[i].comment ? cases[i].comment : "");
            assert_string_equal(j->extra ? j->extra : "", cases[i].extra ? cases[i].extra : "");
            assert_string_equal(j->std_out ? j->std_out : "", cases[i].std_out ? cases[i].std_out : "");
        }
        assert_int_equal(rows_of(w, "blobs"), cases[i].blobs);
        assert_int_equal(world_teardown(&one), 0);
    }
    (void)state;
}

/* Each is there once, whoever submits it, and a batch that is not committed leaves nothing. */
static void test_once(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = rich_job(1, 10, true);
    char *text;
    size_t len;

    open_with(w, ACCT_KEEP_ALL);
    assert_int_equal(acct_begin(w->acct), 0);
    assert_int_equal(acct_apply(w->acct, 1, tx, NULL), 0);
    tx_free(tx);
    w->acct = acct_close(w->acct);
    assert_int_equal(rows_of(w, "blobs"), 0);
    open_with(w, ACCT_KEEP_ALL);
    feed(w, rich_job(1, 10, true));
    for (uint32_t id = 2; id < 20; id++)
        feed(w, rich_job(id, id * 600, id % 5 == 0)); /* logged again now and then */
    assert_int_equal(rows_of(w, "blobs"), 2);
    text = text_of(w, BLOB_SCRIPT, SCRIPT, &len);
    assert_int_equal(len, 17);
    assert_memory_equal(text, "#!/bin/sh\nexit 3\n", 17);
    free(text);
    text = text_of(w, BLOB_ENV, ENV, &len);
    assert_int_equal(len, 8);
    assert_memory_equal(text, "A=1\0B=2", 8);
    free(text);
    assert_null(text_of(w, BLOB_ENV, SCRIPT, &len));
}

static void test_too_large(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(MONTH * SEC);
    char *data = calloc(1, ACCT_BLOB_MAX + 1);
    Pst__JobRecord *j;

    assert_non_null(data);
    tx_blob(tx, 5, data, ACCT_BLOB_MAX);
    tx_blob(tx, 6, data, ACCT_BLOB_MAX + 1);
    j = put_job(tx, 1, 1, "job");
    SET(j, script_hash, 5);
    SET(j, env_hash, 6);
    assert_true(acct_keeps_blob(tx, tx->events[0]->blob_put, ACCT_KEEP_ALL));
    assert_false(acct_keeps_blob(tx, tx->events[0]->blob_put, ACCT_ENV));
    assert_false(acct_keeps_blob(tx, tx->events[1]->blob_put, ACCT_KEEP_ALL));
    feed(w, tx);
    assert_int_equal(rows_of(w, "blobs"), 1);
    free(data);
}

/* What nobody submitted for long goes, to a file that brings it back. */
static void test_purged(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf files = STRBUF_INIT;
    struct world *w = *state;
    struct err err = { .text = "" };
    char *save = NULL, *text;
    uint64_t rows;
    size_t len;

    open_with(w, ACCT_KEEP_ALL);
    feed(w, rich_job(1, 0, true));
    feed(w, rich_job(2, 4 * HOUR, false)); /* named again */
    purge(w, (struct archive_what){ .script_h = 5, .env_h = 5 }, 8 * HOUR, &files);
    assert_int_equal(rows_of(w, "blobs"), 2);
    purge(w, (struct archive_what){ .script_h = 2, .scripts = true }, 8 * HOUR, &files);
    assert_int_equal(rows_of(w, "blobs"), 1);
    assert_null(text_of(w, BLOB_SCRIPT, SCRIPT, &len));
    assert_non_null(strstr(strbuf_str(&files), "_job_script_archive_"));
    assert_int_equal(load_file(w, strtok_r(files.buf, "\n", &save), &rows, &err), 0);
    text = text_of(w, BLOB_SCRIPT, SCRIPT, &len);
    assert_int_equal(len, 17);
    free(text);
    purge(w, (struct archive_what){ .script_h = 2, .env_h = 2 }, 8 * HOUR, NULL);
    assert_int_equal(rows_of(w, "blobs"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept), TEST(test_once), TEST(test_too_large),
                                        TEST(test_purged) };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
