/* test_journal_live.c - readers beside a live writer: another thread, and another process
 *
 * The writer rolls over often, snapshots, and lets segments go behind the slower reader. */
#include "journal_util.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <time.h>

#include "base/process/failpoint.h"

#define RECORDS 20000
#define DEADLINE_SECONDS 60

struct follower {
    const char *dir;
    struct journal *j; /* NULL: another process, reads what is there */
    uint64_t until;
    atomic_uint_fast64_t next;
    int error; /* of the reader, or -EBADMSG wrong bytes, -ETIME too slow */
    struct err err;
};

static int64_t seconds(void)
{
    struct timespec ts;

    clock_gettime(CLOCK_MONOTONIC, &ts);
    return ts.tv_sec;
}

static int follow_some(struct follower *f, struct journal_reader *r)
{
    uint64_t limit = f->j ? journal_durable(f->j) : UINT64_MAX;
    int rc = 1;

    while (rc == 1 && atomic_load(&f->next) <= f->until) {
        const uint8_t *data;
        uint64_t lsn;
        size_t len;

        rc = journal_reader_next(r, limit, &lsn, &data, &len, &f->err);
        if (rc != 1)
            break;
        if (lsn != atomic_load(&f->next) || lsn > limit || !payload_is(lsn, data, len))
            return -EBADMSG;
        atomic_store(&f->next, lsn + 1);
    }
    return rc;
}

static void *follow(void *arg)
{
    struct follower *f = arg;
    struct journal_reader *r = NULL;
    int64_t deadline = seconds() + DEADLINE_SECONDS;
    int rc = journal_reader_open(f->dir, atomic_load(&f->next), &r, &f->err);

    while (rc >= 0 && atomic_load(&f->next) <= f->until) {
        rc = follow_some(f, r);
        if (rc == 0 && seconds() > deadline)
            rc = -ETIME;
        if (rc == 0)
            sched_yield(); /* at the end for now */
    }
    f->error = rc < 0 ? rc : 0;
    journal_reader_close(r);
    return NULL;
}

static void write_records(struct journal *j, struct follower *f)
{
    uint64_t snapshot = 0;

    for (uint64_t lsn = 1; lsn <= RECORDS; lsn++) {
        append_one(j, lsn);
        if (lsn % 17 == 0)
            journal_commit(j);
        if (lsn % 2500 == 0) {
            assert_int_equal(journal_wait_durable(j, lsn), 0);
            assert_int_equal(take_snapshot(j, lsn, 3, atomic_load(&f->next)), 0);
            snapshot = lsn;
        }
    }
    journal_commit(j);
    assert_int_equal(journal_wait_durable(j, RECORDS), 0);
    assert_true(snapshot > 0);
}

static void test_thread(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    struct follower f = { .dir = dir, .until = RECORDS };
    struct journal_stats st;
    pthread_t t;

    atomic_store(&f.next, 1);
    c.segment_bytes = 64 << 10;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    assert_int_equal(journal_start(j), 0);
    f.j = j;
    assert_int_equal(pthread_create(&t, NULL, follow, &f), 0);
    write_records(j, &f);
    assert_int_equal(pthread_join(t, NULL), 0);
    if (f.error)
        fail_msg("reader at %lu: %s: %s", (unsigned long)f.next, strerrorname_np(-f.error),
                 f.err.text);
    journal_get_stats(j, &st);
    assert_true(st.records == RECORDS);
    journal_close(j);
    tmp_remove(dir);
}

/* Another process reads whatever is on disk while this one writes; a failed sync on the way. */
static void test_process(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    struct follower own = { .dir = dir };
    int status = 0;
    pid_t pid;

    atomic_store(&own.next, 1);
    c.segment_bytes = 64 << 10;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        struct follower f = { .dir = dir, .until = RECORDS };

        atomic_store(&f.next, 1);
        (void)follow(&f);
        if (f.error)
            (void)fprintf(stderr, "# at %lu: %s: %s\n", (unsigned long)f.next,
                          strerrorname_np(-f.error), f.err.text);
        _exit(f.error ? 1 : 0);
    }
    assert_int_equal(journal_start(j), 0);
    write_records(j, &own); /* own.next stays 1: nothing is let go */
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    journal_close(j);
    tmp_remove(dir);
}

/* A reader whose segments were let go is told so, not that the log is damaged. */
static void test_left_behind(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal_reader *r = NULL;
    struct err err = { .text = "" };
    struct journal *j = NULL;
    const uint8_t *data;
    uint64_t lsn;
    size_t len;
    int rc;

    c.segment_bytes = 2000;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    assert_int_equal(journal_start(j), 0);
    append_batch(j, 1, 3);
    assert_int_equal(journal_reader_open(dir, 1, &r, &err), 0);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, &err), 1);
    for (uint64_t b = 0; b < 20; b++)
        append_batch(j, b * 5 + 4, b * 5 + 8);
    assert_int_equal(take_snapshot(j, 90, 1, UINT64_MAX), 0);
    assert_int_equal(take_snapshot(j, 100, 1, UINT64_MAX), 0);
    while ((rc = journal_reader_next(r, 103, &lsn, &data, &len, &err)) == 1)
        assert_true(payload_is(lsn, data, len));
    assert_int_equal(rc, -ENOENT);
    assert_non_null(strstr(err.text, "no longer kept"));
    journal_reader_close(r);
    journal_close(j);
    tmp_remove(dir);
}

/* The first batch of a segment fails to sync: the file is replaced under a reader that has it
 * open. */
static void test_replaced_segment(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal_reader *r = NULL;
    struct err err = { .text = "" };
    struct journal *j = NULL;
    struct seen seen;
    const uint8_t *data;
    uint64_t lsn;
    size_t len;

    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    assert_int_equal(journal_reader_open(dir, 1, &r, &err), 0);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, &err), 0);
    assert_int_equal(journal_start(j), 0);
    failpoint_arm("journal.sync.eio:1");
    append_one(j, 1);
    append_one(j, 2);
    journal_commit(j);
    while (journal_wait_durable(j, 2) < 0) /* until the retry, a second later */
        sched_yield();
    failpoint_arm(NULL);
    append_batch(j, 3, 4);
    for (uint64_t want = 1; want <= 4; want++) {
        assert_int_equal(journal_reader_next(r, 4, &lsn, &data, &len, &err), 1);
        assert_int_equal(lsn, want);
        assert_true(payload_is(lsn, data, len));
    }
    journal_reader_close(r);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &seen, &err), 0);
    assert_int_equal(seen.count, 4);
    tmp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_process),
        cmocka_unit_test(test_thread),
        cmocka_unit_test(test_left_behind),
        cmocka_unit_test(test_replaced_segment),
    };

    log_set_level(LOG_QUIET); /* what is found damaged is checked, not shown */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
