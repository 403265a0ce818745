/* test_acct_keep.c - what of jobs the accounting store is told to keep; scripts and environments */
#include "rollup_util.h"

#include <time.h>

#include "acct/blobs.h"
#include "blob_util.h"

#define SCRIPT "#!/bin/sh\nexit 3\n"
#define ENV "A=1\0B=2"
#define OLD_SCRIPT UINT64_C(0xfedcba9876543210) /* does not fit a signed number */
#define OLD_ENV UINT64_C(77)

static struct digest digest_text(const void *data, size_t len)
{
    struct digest d;

    assert_int_equal(digest_of(data, len, &d), 0);
    return d;
}

static void put_blob(Pst__Transaction *tx, const void *data, size_t len)
{
    struct digest d = digest_text(data, len);

    tx_blob(tx, &d, data, len);
}

static void name_script(Pst__JobRecord *j, const void *data, size_t len)
{
    struct digest d = digest_text(data, len);

    tx_digest(&d, &j->has_script_digest, &j->script_digest);
}

static void name_env(Pst__JobRecord *j, const void *data, size_t len)
{
    struct digest d = digest_text(data, len);

    tx_digest(&d, &j->has_env_digest, &j->env_digest);
}

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
        put_blob(tx, SCRIPT, 17);
        put_blob(tx, ENV, 8);
    }
    j = put_job(tx, id, id, "job");
    name_script(j, SCRIPT, 17);
    name_env(j, ENV, 8);
    (void)pb_set_str(&j->comment, "c");
    (void)pb_set_str(&j->extra, "e");
    (void)pb_set_str(&j->std_out, "/out");
    put_batch_step(tx, id, id);
    return tx;
}

static char *text_of(struct world *w, enum blob_kind kind, const Pst__JobRecord *job,
                     size_t *ret_len)
{
    struct sql *db;
    uint8_t *data;

    assert_int_equal(acct_db_open_reader(w->db, &db, NULL), 0);
    assert_int_equal(blobs_get(db, kind, job, &data, ret_len), 0);
    assert_null(sql_close(db));
    return (char *)data;
}

static void same_text(struct world *w, enum blob_kind kind, const Pst__JobRecord *job,
                      const char *want, size_t want_len)
{
    size_t len;
    char *text = text_of(w, kind, job, &len);

    assert_int_equal(len, want_len);
    if (want)
        assert_memory_equal(text, want, len);
    else
        assert_null(text);
    free(text);
}

/* What rich_job() names; freed by tx_free(). */
static const Pst__JobRecord *rich(Pst__Transaction *tx)
{
    for (size_t i = 0; i < tx->n_events; i++)
        if (tx->events[i]->body_case == PST__EVENT__BODY_JOB_PUT)
            return tx->events[i]->job_put;
    return NULL;
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
        /* an update is no way around */
        (void)pb_set_str(&tx_job_patch(tx, EV(JOB_UPDATE), 1)->comment, "c");
        feed(w, tx);
        a = ask_all(w->db);
        assert_int_equal(a.n, cases[i].jobs);
        if (a.n) {
            const Pst__JobRecord *j = a.jobs[0]->job;

            assert_int_equal(a.jobs[0]->n_steps, cases[i].steps);
            assert_string_equal(j->comment ? j->comment : "",
                                cases[i].comment ? cases[i].comment : "");
            assert_string_equal(j->extra ? j->extra : "", cases[i].extra ? cases[i].extra : "");
            assert_string_equal(j->std_out ? j->std_out : "",
                                cases[i].std_out ? cases[i].std_out : "");
        }
        assert_int_equal(rows_of(w, "contents"), cases[i].blobs);
        assert_int_equal(world_teardown(&one), 0);
    }
    (void)state;
}

/* Each is there once, whoever submits it, and a batch that is not committed leaves nothing. */
static void test_once(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = rich_job(1, 10, true);

    open_with(w, ACCT_KEEP_ALL);
    assert_int_equal(acct_begin(w->acct), 0);
    assert_int_equal(acct_apply(w->acct, 1, tx, NULL), 0);
    tx_free(tx);
    w->acct = acct_close(w->acct);
    assert_int_equal(rows_of(w, "contents"), 0);
    open_with(w, ACCT_KEEP_ALL);
    feed(w, rich_job(1, 10, true));
    for (uint32_t id = 2; id < 20; id++)
        feed(w, rich_job(id, id * 600, id % 5 == 0)); /* logged again now and then */
    assert_int_equal(rows_of(w, "contents"), 2);
    tx = rich_job(30, 20 * 600, false);
    same_text(w, BLOB_SCRIPT, rich(tx), SCRIPT, 17);
    same_text(w, BLOB_ENV, rich(tx), ENV, 8);
    name_env(tx->events[0]->job_put, SCRIPT, 17);
    same_text(w, BLOB_ENV, rich(tx), NULL, 0); /* there, but as a script */
    tx_free(tx);
}

/* Clusters share the rows: none may put its own bytes under the name that another's script has,
 * neither before it nor after it. */
static void test_false_name(void **state)
{
    struct digest victim = digest_text(SCRIPT, 17);
    struct world *w = *state;
    Pst__Transaction *tx;

    open_with(w, ACCT_KEEP_ALL);
    for (unsigned round = 0; round < 2; round++) {
        tx = rich_job(1 + 2 * round, 10 + round, false);
        tx_blob(tx, &victim, "#!/bin/sh\nevil\n", 15);
        feed(w, tx);
        assert_int_equal(rows_of(w, "contents"), 2 * round);
        feed(w, rich_job(2 + 2 * round, 20 + round, true));
        tx = rich_job(9, 1, false);
        same_text(w, BLOB_SCRIPT, rich(tx), SCRIPT, 17);
        tx_free(tx);
    }
}

static Pst__Transaction *old_job(uint32_t id, int64_t at, const char *script)
{
    Pst__Transaction *tx = tx_new((MONTH + at) * SEC);
    Pst__JobRecord *j;

    if (script)
        blob_old(tx, OLD_SCRIPT, script, strlen(script));
    j = put_job(tx, id, id, "job");
    SET(j, script_hash, OLD_SCRIPT);
    SET(j, env_hash, OLD_ENV);
    return tx;
}

/* From the log of an older release: the first of a hash keeps it, and nothing of today is called
 * so. */
static void test_old_log(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx;

    open_with(w, ACCT_KEEP_ALL);
    feed(w, old_job(1, 10, "#!/bin/sh\nfirst\n"));
    feed(w, old_job(2, 3600, "#!/bin/sh\nother\n"));
    feed(w, rich_job(3, 3700, true));
    assert_int_equal(rows_of(w, "contents"), 3);
    tx = old_job(2, 1, NULL);
    same_text(w, BLOB_SCRIPT, rich(tx), "#!/bin/sh\nfirst\n", 16);
    same_text(w, BLOB_ENV, rich(tx), NULL, 0);
    tx_free(tx);
}

/* The table as it was, in a store as it is. */
static void make_old_store(struct world *w)
{
    struct sql *db;

    open_with(w, ACCT_KEEP_ALL);
    w->acct = acct_close(w->acct);
    assert_int_equal(acct_db_open(w->db, &db, NULL), 0);
    assert_int_equal(
        sql_exec(db,
                 "DROP TABLE contents; REPLACE INTO parts VALUES('usage', 3);"
                 "CREATE TABLE blobs(kind $INT NOT NULL, hash $INT NOT NULL, used_us $INT NOT NULL,"
                 " data $BLOB NOT NULL, PRIMARY KEY(kind, hash))$ROWS;"
                 "INSERT INTO blobs VALUES(0, -81985529216486896, 5, 'script'), (1, 77, 6, 'env'),"
                 " (0, 77, 7, 'another')"),
        0);
    assert_null(sql_close(db));
}

static void test_migrate(void **state)
{
    struct world *w = *state;
    struct sql *db;

    for (unsigned round = 0; round < 2; round++) {
        Pst__Transaction *tx = old_job(1, 1, NULL);

        if (round == 0)
            make_old_store(w);
        open_with(w, ACCT_KEEP_ALL);
        assert_int_equal(rows_of(w, "contents"), 3);
        same_text(w, BLOB_SCRIPT, rich(tx), "script", 6);
        same_text(w, BLOB_ENV, rich(tx), "env", 3);
        tx_free(tx);
        w->acct = acct_close(w->acct);
        /* Once more: a server that was interrupted has done a part of it. */
        assert_int_equal(acct_db_open(w->db, &db, NULL), 0);
        assert_int_equal(sql_exec(db, "REPLACE INTO parts VALUES('usage', 3)"), 0);
        assert_null(sql_close(db));
    }
}

/* An archive that an older release wrote. */
static void test_old_archive(void **state)
{
    struct world *w = *state;
    struct err err = { .text = "" };
    Pst__Transaction *tx = old_job(1, 1, NULL);
    char path[PATH_MAX];
    uint64_t rows = 0;
    FILE *f;

    open_with(w, ACCT_KEEP_ALL);
    feed(w, rich_job(1, 10, false));
    (void)snprintf(path, sizeof(path), "%s/old_archive", w->dir);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fprintf(f, "penstock archive 1 blobs 4 %lld test\n", (long long)acct_source(w->acct));
    (void)fputs("i0;i-81985529216486896;i5;b6:script", f);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(load_file(w, path, &rows, &err), 0);
    assert_int_equal(rows, 1);
    same_text(w, BLOB_SCRIPT, rich(tx), "script", 6);
    tx_free(tx);
}

/* A file that says of itself what this store could write, with a row that it never wrote: nothing
 * of it is taken, and the store goes on. */
static void test_hostile_archive(void **state)
{
    static const struct {
        const char *table, *columns, *row;
        int64_t more; /* added to the number of the source's first run: %lld of row */
    } cases[] = {
        { "jobs", "16", "i%lld;i7;nni0;i3;i5;i5;i5;i6;nnnnnb2:\xff\xff", 1 }, /* no record */
        { "jobs", "16", "i%lld;i7;nni0;i3;i5;i5;i5;i6;nnnnnn", 1 },
        { "jobs", "16", "i%lld;i7;nni0;i3;i5;i5;i5;i6;nnnnnb0:", INT64_C(1) << 48 }, /* others' */
        { "jobs", "16", "ni7;nni0;i3;i5;i5;i5;i6;nnnnnb0:", 0 },
        { "steps", "3", "i%lld;i0;b3:abc", 1 },
        { "txns", "3", "i7;i5;b3:abc", 0 },
        { "contents", "4",
          "i0;b64:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
          "i5;b6:script",
          0 },
        { "usage_sums", "6", "i99;i0;i0;i0;i0;i0;", 0 },
        { "usage_sums", "6", "i99;i0;", 0 },
        { "contents", "4", "i0;b99999999999:x", 0 },
        { "contents", "4", "i0;b-1:x", 0 },
    };
    struct world *w = *state;
    char path[PATH_MAX];

    open_with(w, ACCT_KEEP_ALL);
    feed(w, rich_job(1, 10, false));
    (void)snprintf(path, sizeof(path), "%s/hostile", w->dir);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct err err = { .text = "" };
        uint64_t rows = 0;
        FILE *f = fopen(path, "we");

        assert_non_null(f);
        (void)fprintf(f, "penstock archive 1 %s %s %lld test\n", cases[i].table, cases[i].columns,
                      (long long)acct_source(w->acct));
        (void)fprintf(f, cases[i].row,
                      (long long)(ACCT_RUNS_OF(acct_source(w->acct)) + cases[i].more));
        assert_int_equal(fclose(f), 0);
        assert_int_equal(load_file(w, path, &rows, &err), -EINVAL);
        assert_non_null(strstr(err.text, "is no archive of this release, or damaged"));
        assert_int_equal(rows, 0);
        assert_int_equal(rows_of(w, "jobs"), 1);
    }
}

static void test_too_large(void **state)
{
    struct world *w = *state;
    Pst__Transaction *tx = tx_new(MONTH * SEC);
    char *data = calloc(1, ACCT_BLOB_MAX + 1);
    Pst__JobRecord *j;

    assert_non_null(data);
    put_blob(tx, data, ACCT_BLOB_MAX);
    put_blob(tx, data, ACCT_BLOB_MAX + 1);
    j = put_job(tx, 1, 1, "job");
    name_script(j, data, ACCT_BLOB_MAX);
    name_env(j, data, ACCT_BLOB_MAX + 1);
    assert_true(acct_keeps_blob(tx, tx->events[0]->blob_put, ACCT_KEEP_ALL));
    assert_false(acct_keeps_blob(tx, tx->events[0]->blob_put, ACCT_ENV));
    assert_false(acct_keeps_blob(tx, tx->events[1]->blob_put, ACCT_KEEP_ALL));
    feed(w, tx);
    assert_int_equal(rows_of(w, "contents"), 1);
    free(data);
}

/* What nobody submitted for long goes, to a file that brings it back. */
static void test_purged(void **state)
{
    _cleanup_val_(strbuf_done) struct strbuf files = STRBUF_INIT;
    struct world *w = *state;
    struct err err = { .text = "" };
    Pst__Transaction *tx = rich_job(9, 1, false);
    char *save = NULL;
    uint64_t rows;

    open_with(w, ACCT_KEEP_ALL);
    feed(w, rich_job(1, 0, true));
    feed(w, rich_job(2, 4 * HOUR, false)); /* named again */
    purge(w, (struct archive_what){ .script_h = 5, .env_h = 5 }, 8 * HOUR, &files);
    assert_int_equal(rows_of(w, "contents"), 2);
    purge(w, (struct archive_what){ .script_h = 2, .scripts = true }, 8 * HOUR, &files);
    assert_int_equal(rows_of(w, "contents"), 1);
    same_text(w, BLOB_SCRIPT, rich(tx), NULL, 0);
    assert_non_null(strstr(strbuf_str(&files), "_job_script_archive_"));
    assert_int_equal(load_file(w, strtok_r(files.buf, "\n", &save), &rows, &err), 0);
    same_text(w, BLOB_SCRIPT, rich(tx), SCRIPT, 17);
    tx_free(tx);
    purge(w, (struct archive_what){ .script_h = 2, .env_h = 2 }, 8 * HOUR, NULL);
    assert_int_equal(rows_of(w, "contents"), 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, world_setup, world_teardown)
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_kept), TEST(test_once),
                                        TEST(test_too_large),        TEST(test_purged),
                                        TEST(test_false_name),       TEST(test_old_log),
                                        TEST(test_migrate),          TEST(test_old_archive),
                                        TEST(test_hostile_archive) };

    (void)setenv("TZ", "UTC", 1);
    tzset();
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
