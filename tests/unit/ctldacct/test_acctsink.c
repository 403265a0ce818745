/* test_acctsink.c - the embedded store as a place where the journal's records go; what of jobs is
 * kept there */
#include "core_util.h"

#include <sys/stat.h>
#include <unistd.h>

#include "acct/acct.h"
#include "ctld/acct/acctsink.h"

/* AccountingStoreFlags and AccountingStorageEnforce. */
static const struct {
    const char *lines;
    unsigned keep;
} keeps[] = {
    { "", ACCT_JOBS | ACCT_STEPS | ACCT_STDIO },
    { "AccountingStoreFlags=job_comment", ACCT_JOBS | ACCT_STEPS | ACCT_STDIO | ACCT_COMMENT },
    { "AccountingStoreFlags=job_extra,job_script,job_env",
      ACCT_JOBS | ACCT_STEPS | ACCT_STDIO | ACCT_EXTRA | ACCT_SCRIPT | ACCT_ENV },
    { "AccountingStoreFlags=no_stdio", ACCT_JOBS | ACCT_STEPS },
    { "AccountingStorageEnforce=nosteps", ACCT_JOBS | ACCT_STDIO },
    { "AccountingStorageEnforce=nojobs", ACCT_STDIO }, /* no steps without their jobs */
};

static void test_keep(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(keeps); i++) {
        struct conf *c = conf_with_lines(keeps[i].lines);

        if (acctsink_keep(c) != keeps[i].keep)
            fail_msg("%s: %#x", keeps[i].lines, acctsink_keep(c));
        conf_free(c);
    }
}

/* ---- the store ------------------------------------------------------------------------------- */

struct place {
    char dir[128], db[160];
    struct acctsink *sink;
};

static void begin(struct place *p)
{
    log_set_level(LOG_QUIET);
    folder_make(p->dir, sizeof(p->dir), "sink");
    (void)snprintf(p->db, sizeof(p->db), "%s/db", p->dir);
    assert_int_equal(acctsink_embedded(p->db, "test", &p->sink), 0);
}

static void end(struct place *p)
{
    p->sink->ops->free(p->sink);
    folder_remove(p->dir);
}

static int open_sink(struct place *p, uint64_t journal_end)
{
    struct err err = { .text = "" };

    return p->sink->ops->open(p->sink, journal_end, &err);
}

static void add_submission(struct place *p, uint64_t lsn, uint32_t id)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);
    struct err err = { .text = "" };

    SET(r, submit_us, T0);
    assert_int_equal(p->sink->ops->add(p->sink, lsn, tx, &err), 0);
    tx_free(tx);
}

/* One batch with this job. */
static int feed(struct place *p, uint64_t lsn, uint32_t id)
{
    struct err err = { .text = "" };
    int r = p->sink->ops->begin(p->sink, &err);

    if (r < 0)
        return r;
    add_submission(p, lsn, id);
    assert_false(p->sink->ops->full(p->sink));
    return p->sink->ops->commit(p->sink, T0, &err);
}

static int count_row(void *ctx, const Pst__AcctJob *job)
{
    (void)job;
    ++*(unsigned *)ctx;
    return 0;
}

static unsigned rows_of(const struct place *p)
{
    Pst__AcctFilter f = PST__ACCT_FILTER__INIT;
    struct err err = { .text = "" };
    unsigned n = 0;

    assert_int_equal(acct_query(p->db, &f, T0 + SEC, count_row, &n, &err), 0);
    return n;
}

/* What is committed is there after a close, with its place; what is not is undone. */
static void test_batches(void **state)
{
    struct err err = { .text = "" };
    struct place p;

    (void)state;
    begin(&p);
    assert_int_equal(open_sink(&p, 100), 0);
    assert_true(p.sink->open);
    assert_int_equal(p.sink->cursor, 0);
    assert_int_equal(feed(&p, 5, 1), 0);
    assert_int_equal(p.sink->cursor, 5);
    assert_int_equal(rows_of(&p), 1);
    assert_int_equal(p.sink->ops->begin(p.sink, &err), 0);
    add_submission(&p, 6, 2);
    p.sink->ops->close(p.sink);
    assert_false(p.sink->open);
    assert_int_equal(rows_of(&p), 1);
    assert_int_equal(open_sink(&p, 100), 0);
    assert_int_equal(p.sink->cursor, 5);
    assert_int_equal(open_sink(&p, 100), 0); /* it is open */
    assert_int_equal(feed(&p, 6, 2), 0);
    assert_int_equal(rows_of(&p), 2);
    end(&p);
}

/* The journal was cut by a repair: the store goes on from where it ends. */
static void test_cut(void **state)
{
    struct place p;

    (void)state;
    begin(&p);
    assert_int_equal(open_sink(&p, 100), 0);
    assert_int_equal(feed(&p, 50, 1), 0);
    p.sink->ops->close(p.sink);
    assert_int_equal(open_sink(&p, 40), 0);
    assert_int_equal(p.sink->cursor, 40);
    assert_int_equal(feed(&p, 41, 2), 0);
    assert_int_equal(p.sink->cursor, 41);
    assert_int_equal(rows_of(&p), 2);
    end(&p);
}

/* A place that is no store is told, and asked again the next time. */
static void test_no_store(void **state)
{
    struct err err = { .text = "" };
    struct place p;

    (void)state;
    begin(&p);
    assert_int_equal(mkdir(p.db, 0700), 0);
    assert_true(p.sink->ops->open(p.sink, 1, &err) < 0);
    assert_non_null(strstr(err.text, p.db));
    assert_false(p.sink->open);
    assert_int_equal(rmdir(p.db), 0);
    assert_int_equal(open_sink(&p, 1), 0);
    end(&p);
}

/* A change of what is kept holds from the next open() on, without a close between. */
static void test_keep_change(void **state)
{
    struct place p;

    (void)state;
    begin(&p);
    p.sink->keep = 0;
    assert_int_equal(open_sink(&p, 100), 0);
    assert_int_equal(feed(&p, 5, 1), 0);
    assert_int_equal(rows_of(&p), 0);
    assert_int_equal(p.sink->cursor, 5);
    p.sink->keep = ACCT_KEEP_ALL;
    assert_int_equal(open_sink(&p, 100), 0);
    assert_int_equal(feed(&p, 6, 2), 0);
    assert_int_equal(rows_of(&p), 1);
    end(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_keep),        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_cut),         cmocka_unit_test(test_no_store),
        cmocka_unit_test(test_keep_change),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
