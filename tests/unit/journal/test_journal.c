/* test_journal.c - append, group commit, recovery, roll-over, snapshots, disk full */
#include "journal_util.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <time.h>

#include "base/process/failpoint.h"

#define DEADLINE_SECONDS 20

/* What the callbacks saw, with a way to wait for it. */
struct events {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t durable;
    int fulls, recoveries, error;
    bool backwards;
};

static void events_init(struct events *e)
{
    *e = (struct events){ 0 };
    assert_int_equal(pthread_mutex_init(&e->lock, NULL), 0);
    assert_int_equal(pthread_cond_init(&e->changed, NULL), 0);
}

static void note_durable(void *ctx, uint64_t lsn)
{
    struct events *e = ctx;

    pthread_mutex_lock(&e->lock);
    e->backwards |= lsn <= e->durable;
    e->durable = lsn;
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static void note_full(void *ctx, bool full, int error)
{
    struct events *e = ctx;

    pthread_mutex_lock(&e->lock);
    if (full) {
        e->fulls++;
        e->error = error;
    } else {
        e->recoveries++;
    }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
}

static bool wait_until(struct events *e, bool (*done)(const struct events *e))
{
    struct timespec until;
    bool ok;

    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += DEADLINE_SECONDS;
    pthread_mutex_lock(&e->lock);
    while (!done(e) && pthread_cond_timedwait(&e->changed, &e->lock, &until) != ETIMEDOUT)
        ;
    ok = done(e);
    pthread_mutex_unlock(&e->lock);
    return ok;
}

static bool is_full(const struct events *e)
{
    return e->fulls > 0;
}

static bool is_well_again(const struct events *e)
{
    return e->recoveries > 0;
}

static struct journal *start(const char *dir, struct events *e, uint64_t segment_bytes,
                             struct seen *seen)
{
    struct journal_config c = config_for(dir);
    struct err err = { .text = "" };
    struct journal *j = NULL;

    c.segment_bytes = segment_bytes;
    c.ctx = e;
    if (e) {
        c.on_durable = note_durable;
        c.on_full = note_full;
    }
    *seen = (struct seen){ 0 };
    if (journal_open(&c, see, seen, &j, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(journal_start(j), 0);
    return j;
}

static void test_append_recover(void **state)
{
    char *dir = tmp_make();
    struct journal_stats st;
    struct events e;
    struct seen seen;
    struct journal *j;

    events_init(&e);
    j = start(dir, &e, 0, &seen);
    assert_int_equal(journal_last(j), 0);
    append_batch(j, 1, 10);
    append_batch(j, 11, 11);
    assert_int_equal(journal_last(j), 11);
    assert_int_equal(journal_durable(j), 11);
    journal_get_stats(j, &st);
    assert_int_equal(st.records, 11);
    assert_int_equal(st.syncs, 2);
    assert_int_equal(st.segments, 1);
    assert_true(st.worst_sync_us >= st.last_sync_us);
    assert_true(journal_bytes_since_snapshot(j) == st.bytes);
    append_one(j, 12); /* not committed: closing syncs it */
    journal_close(j);
    assert_int_equal(e.durable, 12);
    assert_false(e.backwards);

    for (int again = 0; again < 3; again++) {
        uint64_t last = 12 + (uint64_t)again * 3;

        j = start(dir, NULL, 0, &seen);
        assert_false(seen.wrong);
        assert_int_equal(seen.first, 1);
        assert_int_equal(seen.last, last);
        assert_int_equal(seen.count, last);
        append_batch(j, last + 1, last + 3);
        journal_close(j);
    }
    tmp_remove(dir);
}

static void test_limits(void **state)
{
    char *dir = tmp_make();
    _cleanup_free_ uint8_t *big = calloc(1, JOURNAL_MAX_RECORD + 1);
    struct journal_config c = config_for(dir);
    struct journal_snapshot *s = NULL, *t = NULL;
    struct journal *j = NULL;
    struct seen seen;
    uint64_t lsn = 0;

    assert_non_null(big);
    j = start(dir, NULL, 0, &seen);
    assert_int_equal(journal_append(j, big, JOURNAL_MAX_RECORD + 1, &lsn), -EMSGSIZE);
    assert_int_equal(journal_append(j, big, JOURNAL_MAX_RECORD, &lsn), 0);
    assert_int_equal(lsn, 1);
    assert_int_equal(journal_wait_durable(j, 2), -EINVAL);
    assert_int_equal(journal_wait_durable(j, 1), 0);
    assert_int_equal(journal_start(j), -EALREADY);
    assert_int_equal(journal_snapshot_begin(j, 0, &s), -EINVAL);
    assert_int_equal(journal_snapshot_begin(j, 2, &s), -EINVAL);
    assert_int_equal(journal_snapshot_begin(j, 1, &s), 0);
    assert_int_equal(journal_snapshot_begin(j, 1, &t), -EBUSY);
    assert_int_equal(journal_snapshot_put(s, big, JOURNAL_MAX_RECORD + 1), -EMSGSIZE);
    assert_int_equal(journal_snapshot_put(s, big, 1), -EMSGSIZE);
    assert_int_equal(journal_snapshot_commit(s, UINT64_MAX), -EMSGSIZE);
    assert_false(exists(dir, "0000000000000001.snap"));
    assert_false(exists(dir, "0000000000000001.snap.tmp"));
    journal_close(j);

    c.batch_bytes = 4096; /* the writer does not run: a full buffer is an error, not a wait */
    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    assert_int_equal(journal_append(j, big, 4000, &lsn), 0);
    assert_int_equal(journal_append(j, big, 4000, &lsn), -ENOBUFS);
    assert_int_equal(journal_wait_durable(j, 2), -ESHUTDOWN);
    assert_null(journal_close(j));
    c.read_only = true;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    assert_int_equal(journal_last(j), 2);
    assert_int_equal(journal_append(j, big, 1, &lsn), -EROFS);
    assert_int_equal(journal_start(j), -EROFS);
    assert_int_equal(journal_snapshot_begin(j, 1, &s), -EROFS);
    journal_close(j);
    assert_null(journal_close(NULL));
    tmp_remove(dir);
}

/* A buffer smaller than what is appended: the appender waits for the writer and nothing is lost. */
static void test_backpressure(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    struct seen seen;

    c.batch_bytes = 1000;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, NULL), 0);
    assert_int_equal(journal_start(j), 0);
    for (uint64_t lsn = 1; lsn <= 100; lsn++)
        append_one(j, lsn);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.count, 100);
    tmp_remove(dir);
}

static void test_lock(void **state)
{
    char *dir = tmp_make();
    struct err err = { .text = "" };
    struct seen seen, other;
    struct journal *j = start(dir, NULL, 0, &seen);
    struct lines lines = { .len = 0 };

    append_batch(j, 1, 5);
    assert_int_equal(recover_for_real(dir, &other, &err), -EBUSY);
    assert_non_null(strstr(err.text, "in use by another process"));
    assert_int_equal(journal_repair(dir, add_line, &lines, &err), -EBUSY);
    assert_int_equal(recover_read_only(dir, &other, NULL), 0); /* looking is allowed */
    assert_int_equal(other.count, 5);
    assert_int_equal(journal_verify(dir, add_line, &lines), 0);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &other, NULL), 0);
    tmp_remove(dir);
}

static void test_missing_and_foreign(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for("/proc/nonexistent/penstock");
    struct err err = { .text = "" };
    struct journal *j = NULL;
    struct seen seen;

    assert_int_equal(journal_open(&c, see, &seen, &j, &err), -ENOENT);
    assert_non_null(strstr(err.text, "/proc/nonexistent/penstock"));
    c = config_for(dir);
    c.read_only = true;
    assert_int_equal(journal_open(&c, see, &seen, &j, &err), -ENOENT);
    j = start(dir, NULL, 0, &seen);
    append_batch(j, 1, 1);
    journal_close(j);
    c.read_only = false;
    c.cluster_id = TEST_CLUSTER + 1;
    assert_int_equal(journal_open(&c, see, &seen, &j, &err), -EUCLEAN);
    assert_non_null(strstr(err.text, "another cluster"));
    tmp_remove(dir);
}

static void test_callback_stops(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct seen seen;
    struct journal *j = start(dir, NULL, 0, &seen);
    static const int codes[] = { -ECANCELED, -EBADMSG, -EIO, -ENOMEM };

    append_batch(j, 1, 9);
    journal_close(j);
    for (size_t i = 0; i < ARRAY_SIZE(codes); i++) {
        seen = (struct seen){ .stop_at = 5, .stop_at_errno = codes[i] };
        assert_int_equal(journal_open(&c, see, &seen, &j, NULL), codes[i]);
        assert_int_equal(seen.count, 4);
    }
    tmp_remove(dir);
}

static void test_rollover_and_reader(void **state)
{
    char *dir = tmp_make();
    struct journal_stats st;
    struct journal_reader *r = NULL;
    struct seen seen;
    struct journal *j = start(dir, NULL, 4096, &seen);
    const uint8_t *data;
    uint64_t lsn;
    size_t len;

    for (uint64_t b = 0; b < 40; b++)
        append_batch(j, b * 5 + 1, b * 5 + 5);
    journal_get_stats(j, &st);
    assert_true(st.segments > 5);
    assert_int_equal(journal_reader_open(dir, 77, &r, NULL), 0);
    for (uint64_t want = 77; want <= 150; want++) {
        assert_int_equal(journal_reader_next(r, 150, &lsn, &data, &len, NULL), 1);
        assert_int_equal(lsn, want);
        assert_true(payload_is(lsn, data, len));
    }
    assert_int_equal(journal_reader_next(r, 150, &lsn, &data, &len, NULL), 0); /* the limit */
    for (uint64_t want = 151; want <= 200; want++)
        assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, NULL), 1);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, NULL), 0);
    append_batch(j, 201, 202);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, NULL), 1);
    assert_int_equal(lsn, 201);
    journal_close(j);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, NULL), 1);
    assert_int_equal(journal_reader_next(r, UINT64_MAX, &lsn, &data, &len, NULL), 0);
    assert_null(journal_reader_close(r));

    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.count, 202);
    seen = (struct seen){ 0 };
    assert_int_equal(journal_dump(dir, 20, 120, see, &seen, NULL), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.first, 20);
    assert_int_equal(seen.last, 120);
    seen = (struct seen){ 0 };
    assert_int_equal(journal_dump(dir, 0, UINT64_MAX, see, &seen, NULL), 0);
    assert_int_equal(seen.count, 202);
    tmp_remove(dir);
}

static void test_snapshots(void **state)
{
    char *dir = tmp_make();
    struct journal_reader *r = NULL;
    struct err err = { .text = "" };
    struct journal_stats st;
    struct seen seen;
    struct journal *j = start(dir, NULL, 2048, &seen);
    struct journal_snapshot *s = NULL;

    for (uint64_t b = 0; b < 20; b++)
        append_batch(j, b * 5 + 1, b * 5 + 5);
    assert_int_equal(take_snapshot(j, 50, 7, UINT64_MAX), 0);
    assert_true(exists(dir, "0000000000000001.log")); /* one snapshot: all segments stay */
    assert_int_equal(take_snapshot(j, 80, 9, 30), 0);
    assert_int_equal(journal_bytes_since_snapshot(j), 0);
    assert_false(exists(dir, "0000000000000001.log"));
    assert_int_equal(journal_reader_open(dir, 1, &r, &err), -ENOENT);
    assert_non_null(strstr(err.text, "no longer kept"));
    assert_int_equal(journal_reader_open(dir, 30, &r, &err), 0); /* a consumer is there yet */
    journal_reader_close(r);
    r = NULL;
    assert_int_equal(take_snapshot(j, 100, 11, UINT64_MAX), 0);
    assert_false(exists(dir, "0000000000000032.snap"));
    assert_true(exists(dir, "0000000000000050.snap"));
    assert_int_equal(journal_reader_open(dir, 30, &r, &err), -ENOENT);
    assert_int_equal(journal_reader_open(dir, 81, &r, &err), 0); /* the older snapshot needs it */
    journal_reader_close(r);
    append_batch(j, 101, 103);
    assert_int_equal(journal_snapshot_begin(j, 103, &s), 0);
    assert_int_equal(journal_snapshot_put(s, (const uint8_t *)"x", 1), 0);
    journal_snapshot_abort(s);
    journal_snapshot_abort(NULL);
    journal_get_stats(j, &st);
    journal_close(j);

    assert_int_equal(recover_for_real(dir, &seen, &err), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.snapshot_lsn, 100);
    assert_int_equal(seen.puts, 11);
    assert_int_equal(seen.first, 101);
    assert_int_equal(seen.last, 103);
    tmp_remove(dir);
}

/* The newest snapshot is cut at every byte in turn: recovery uses the one before, or says no. */
static void test_damaged_snapshot(void **state)
{
    char *dir = tmp_make();
    struct seen seen;
    struct journal *j = start(dir, NULL, 1024, &seen);
    _cleanup_free_ uint8_t *whole = NULL;
    struct err err = { .text = "" };
    const char *newest = "000000000000001e.snap";
    size_t n;

    for (uint64_t b = 0; b < 8; b++)
        append_batch(j, b * 5 + 1, b * 5 + 5);
    assert_int_equal(take_snapshot(j, 20, 4, UINT64_MAX), 0);
    assert_int_equal(take_snapshot(j, 30, 5, UINT64_MAX), 0);
    journal_close(j);
    n = read_all(dir, newest, &whole);
    for (size_t cut = 0; cut < n; cut++) {
        write_all_bytes(dir, newest, whole, cut);
        assert_int_equal(recover_read_only(dir, &seen, &err), 0);
        assert_false(seen.wrong);
        assert_int_equal(seen.snapshot_lsn, 20);
        assert_int_equal(seen.last, 40);
    }
    for (size_t i = 0; i < n; i++) {
        whole[i] ^= 0x10;
        write_all_bytes(dir, newest, whole, n);
        whole[i] ^= 0x10;
        assert_int_equal(recover_read_only(dir, &seen, &err), 0);
        assert_false(seen.wrong);
        assert_int_equal(seen.snapshot_lsn, 20);
        assert_int_equal(seen.last, 40);
    }
    assert_int_equal(recover_for_real(dir, &seen, &err), 0); /* the bad one is set aside */
    assert_true(exists(dir, "000000000000001e.snap.bad"));
    assert_false(exists(dir, newest));
    /* Both damaged, and the log no longer begins with record 1. */
    write_all_bytes(dir, "0000000000000014.snap", whole, 40);
    assert_int_equal(recover_for_real(dir, &seen, &err), -EUCLEAN);
    assert_int_equal(seen.count + seen.puts, 0);
    assert_non_null(strstr(err.text, "penstock journal repair"));
    tmp_remove(dir);
}

/* Leftovers of a process that died while making files are removed. */
static void test_leftovers(void **state)
{
    char *dir = tmp_make();
    struct seen seen;
    struct journal *j = start(dir, NULL, 0, &seen);

    append_batch(j, 1, 3);
    journal_close(j);
    write_all_bytes(dir, "0000000000000004.log.tmp", (const uint8_t *)"junk", 4);
    write_all_bytes(dir, "0000000000000003.snap.tmp", (const uint8_t *)"junk", 4);
    write_all_bytes(dir, "README", (const uint8_t *)"mine", 4);
    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_int_equal(seen.count, 3);
    assert_false(exists(dir, "0000000000000004.log.tmp"));
    assert_false(exists(dir, "0000000000000003.snap.tmp"));
    assert_true(exists(dir, "README"));
    tmp_remove(dir);
}

/* Each failure of the disk: new work is refused, what was queued arrives once it works again. */
static void test_disk_failures(void **state)
{
    static const struct {
        const char *spec;
        int error;
        bool new_segment;
    } cases[] = {
        { "journal.sync.eio:1", EIO, true },
        { "journal.write.eio:1", EIO, true },
        { "journal.write.enospc:1", ENOSPC, true },
        { "journal.sync.eio:1,journal.grow.enospc:1", EIO, true },
        { "journal.sync.eio:2+", EIO, true },
    };

    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char *dir = tmp_make();
        struct journal_stats st;
        struct events e;
        struct seen seen;
        struct journal *j;
        uint8_t data[PAYLOAD_MAX];
        uint64_t lsn;

        events_init(&e);
        j = start(dir, &e, 0, &seen);
        append_batch(j, 1, 4);
        failpoint_arm(cases[i].spec);
        if (strstr(cases[i].spec, ":2+")) /* the first sync still succeeds */
            append_batch(j, 5, 5);
        for (lsn = journal_last(j) + 1; lsn <= 7; lsn++)
            append_one(j, lsn);
        journal_commit(j);
        assert_true(wait_until(&e, is_full));
        assert_int_equal(e.error, cases[i].error);
        assert_int_equal(journal_append(j, data, 1, &lsn), -ENOSPC);
        assert_true(journal_durable(j) < 7);
        assert_int_equal(journal_wait_durable(j, 7), -cases[i].error);
        failpoint_arm(NULL);
        assert_true(wait_until(&e, is_well_again));
        assert_int_equal(journal_wait_durable(j, 7), 0);
        append_batch(j, 8, 9);
        journal_get_stats(j, &st);
        assert_int_equal(st.segments, cases[i].new_segment ? 2 : 1);
        journal_close(j);
        assert_int_equal(e.fulls, 1);
        assert_int_equal(e.recoveries, 1);
        assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
        assert_false(seen.wrong);
        assert_int_equal(seen.count, 9);
        tmp_remove(dir);
    }
}

/* A real limit: no file may grow beyond 128 KiB, then more is allowed. */
static void test_file_size_limit(void **state)
{
    char *dir = tmp_make();
    struct rlimit before, small;
    struct events e;
    struct seen seen;
    struct journal *j;
    uint64_t lsn = 0;
    int r = 0;

    events_init(&e);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = (struct rlimit){ .rlim_cur = 128 << 10, .rlim_max = before.rlim_max };
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    j = start(dir, &e, 0, &seen);
    while (r == 0) {
        uint8_t data[PAYLOAD_MAX];

        r = journal_append(j, data, payload(lsn + 1, data), &lsn);
        journal_commit(j);
        if (r == 0 && lsn % 64 == 0)
            (void)journal_wait_durable(j, lsn); /* the writer may be slower than this loop */
        assert_true(lsn < 20000);
    }
    assert_int_equal(r, -ENOSPC);
    assert_true(wait_until(&e, is_full));
    assert_int_equal(e.error, EFBIG);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(wait_until(&e, is_well_again));
    assert_int_equal(journal_wait_durable(j, lsn), 0);
    append_batch(j, lsn + 1, lsn + 3);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.count, lsn + 3);
    tmp_remove(dir);
}

/* A reserve larger than the disk: nothing can be made. */
static void test_reserve(void **state)
{
    char *dir = tmp_make();
    struct journal_config c = config_for(dir);
    struct journal_snapshot *s = NULL;
    struct err err = { .text = "" };
    struct journal *j = NULL;
    struct events e;
    struct seen seen;

    c.reserve_bytes = UINT64_C(1) << 60;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, &err), -ENOSPC);
    j = start(dir, NULL, 0, &seen);
    append_batch(j, 1, 2);
    journal_close(j); /* gives back what was preallocated, so the next write must grow the file */
    events_init(&e);
    c.on_full = note_full;
    c.ctx = &e;
    assert_int_equal(journal_open(&c, NULL, NULL, &j, &err), 0);
    assert_int_equal(journal_start(j), 0);
    append_one(j, 3);
    journal_commit(j);
    assert_true(wait_until(&e, is_full));
    assert_int_equal(e.error, ENOSPC);
    assert_int_equal(journal_wait_durable(j, 3), -ENOSPC);
    /* A snapshot may use the reserve, as it frees space, but not run ahead of the log. */
    assert_int_equal(journal_snapshot_begin(j, 3, &s), 0);
    assert_int_equal(journal_snapshot_commit(s, UINT64_MAX), -ENOSPC);
    assert_int_equal(take_snapshot(j, 2, 2, UINT64_MAX), 0);
    journal_close(j); /* the queued record is given up: it was never acknowledged */
    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_int_equal(seen.puts, 2);
    assert_int_equal(seen.count, 0);
    tmp_remove(dir);
}

/* A short write of the kernel's is carried on. */
static void test_short_write(void **state)
{
    char *dir = tmp_make();
    struct seen seen;
    struct journal *j = start(dir, NULL, 0, &seen);

    failpoint_arm("journal.write.short:1+");
    append_batch(j, 1, 20);
    failpoint_arm(NULL);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_false(seen.wrong);
    assert_int_equal(seen.count, 20);
    tmp_remove(dir);
}

static void test_snapshot_failures(void **state)
{
    static const struct {
        const char *spec;
        int code;
    } cases[] = {
        { "journal.snapshot.enospc:1", -ENOSPC },
        { "journal.snapshot.sync_eio:1", -EIO },
    };
    char *dir = tmp_make();
    struct seen seen;
    struct journal *j = start(dir, NULL, 0, &seen);

    append_batch(j, 1, 5);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        failpoint_arm(cases[i].spec);
        assert_int_equal(take_snapshot(j, 5, 3, UINT64_MAX), cases[i].code);
        failpoint_arm(NULL);
        assert_false(exists(dir, "0000000000000005.snap"));
        assert_false(exists(dir, "0000000000000005.snap.tmp"));
    }
    assert_int_equal(take_snapshot(j, 5, 5, UINT64_MAX), 0);
    journal_close(j);
    assert_int_equal(recover_for_real(dir, &seen, NULL), 0);
    assert_int_equal(seen.puts, 5);
    tmp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_append_recover),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_backpressure),
        cmocka_unit_test(test_lock),
        cmocka_unit_test(test_missing_and_foreign),
        cmocka_unit_test(test_callback_stops),
        cmocka_unit_test(test_rollover_and_reader),
        cmocka_unit_test(test_snapshots),
        cmocka_unit_test(test_damaged_snapshot),
        cmocka_unit_test(test_leftovers),
        cmocka_unit_test(test_disk_failures),
        cmocka_unit_test(test_file_size_limit),
        cmocka_unit_test(test_reserve),
        cmocka_unit_test(test_short_write),
        cmocka_unit_test(test_snapshot_failures),
    };

    log_set_level(LOG_QUIET); /* what is found damaged is checked, not shown */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
