/* test_term.c - records of terms, claims, leases by a clock that the test winds */
#include "journal_util.h"

#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "journal/files.h"
#include "journal/format.h"
#include "journal/reign.h"
#include "journal/segment.h"

#define S INT64_C(1000000)

static const struct term_record sample = { .term = 7,
                                           .lease_ms = 8000,
                                           .flags = TERM_RELEASED,
                                           .index = 2,
                                           .renewal = 99,
                                           .durable = 1234567890123,
                                           .port = 6817,
                                           .level = LOG_LEVEL,
                                           .host = "ctl1",
                                           .addr = "10.0.0.1",
                                           .successor = "ctl2" };

static int open_dir(char *dir)
{
    struct err err = { .text = "" };
    int fd = -1;

    (void)snprintf(dir, 64, "/tmp/test_term.XXXXXX");
    assert_non_null(mkdtemp(dir));
    assert_int_equal(journal_dir_open(dir, true, &fd, &err), 0);
    return fd;
}

static void test_record(void **state)
{
    uint8_t bytes[TERM_BYTES];
    struct term_record t = { 0 };

    term_encode(&sample, bytes);
    assert_int_equal(term_decode(bytes, &t), 0);
    assert_memory_equal(&t, &sample, sizeof(t));
    for (size_t i = 0; i < TERM_BYTES; i++) {
        bytes[i] ^= 0x10;
        assert_int_not_equal(term_decode(bytes, &t), 0);
        bytes[i] ^= 0x10;
    }
    (void)state;
}

static void test_claim(void **state)
{
    struct term_record t = sample, found;
    char dir[64];
    int fd = open_dir(dir);

    assert_int_equal(term_newest(fd, &found), -ENOENT);
    t.term = 1;
    t.flags = 0;
    assert_int_equal(term_claim(fd, &t), 0);
    assert_int_equal(term_claim(fd, &t), -EEXIST);
    assert_false(term_is_over(fd, 1));
    t.term = 2;
    (void)snprintf(t.host, sizeof(t.host), "ctl2");
    assert_int_equal(term_claim(fd, &t), 0);
    assert_true(term_is_over(fd, 1));
    assert_false(term_is_over(fd, 2));
    t.term = 1; /* who has lost its term renews its own record, and disturbs nobody */
    t.renewal = 500;
    assert_int_equal(term_renew(fd, &t), 0);
    assert_int_equal(term_newest(fd, &found), 0);
    assert_int_equal(found.term, 2);
    assert_string_equal(found.host, "ctl2");
    assert_int_not_equal(found.renewal, 500);
    (void)close(fd);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

/* Eight processes want each of twenty terms: each term has one winner. */
static void test_race(void **state)
{
    char dir[64];
    int fd = open_dir(dir), wins = 0;
    pid_t pids[8];

    for (int p = 0; p < 8; p++) {
        pids[p] = fork();
        if (pids[p] == 0) {
            struct term_record t = sample;
            int won = 0;

            for (uint32_t term = 1; term <= 20; term++) {
                t.term = term;
                (void)snprintf(t.host, sizeof(t.host), "host%d", p);
                won += term_claim(fd, &t) == 0;
            }
            _exit(won);
        }
    }
    for (int p = 0; p < 8; p++) {
        int status;

        assert_int_equal(waitpid(pids[p], &status, 0), pids[p]);
        wins += WEXITSTATUS(status);
    }
    assert_int_equal(wins, 20);
    (void)close(fd);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

static void test_lease(void **state)
{
    struct term_record t = { .term = 1, .lease_ms = 8000, .renewal = 1 };
    struct lease_watch w = { 0 };
    int64_t until = lease_until_us(&t, 100 * S);

    assert_true(until == 107 * S); /* an eighth is left for clocks */
    assert_true(lease_holds(until, 106 * S));
    assert_false(lease_holds(until, 107 * S));
    assert_true(lease_until_us(&(struct term_record){ .term = 1 }, 5) == INT64_MAX);

    /* A standby's clock is another one: it counts from the moment in which it saw the renewal. */
    lease_watch_see(&w, &t, 5 * S);
    assert_true(lease_watch_left_us(&w, &t, 5 * S) == 8 * S);
    lease_watch_see(&w, &t, 12 * S); /* the same renewal: nothing new */
    assert_true(lease_watch_left_us(&w, &t, 12 * S) == 1 * S);
    assert_true(lease_watch_left_us(&w, &t, 13 * S) == 0);
    t.renewal++;
    lease_watch_see(&w, &t, 13 * S);
    assert_true(lease_watch_left_us(&w, &t, 13 * S) == 8 * S);
    t.term++;
    t.renewal = 0;
    lease_watch_see(&w, &t, 20 * S);
    assert_true(lease_watch_left_us(&w, &t, 20 * S) == 8 * S);
    t.lease_ms = 0;
    assert_true(lease_watch_left_us(&w, &t, 999 * S) == INT64_MAX);
    (void)state;
}

/* Whoever could take over, by any order of moments, does so after the holder's lease. */
static void test_lease_margin(void **state)
{
    for (int64_t delay = 0; delay < 3 * S; delay += S / 10) {
        struct term_record t = { .term = 1, .lease_ms = 2000, .renewal = 4 };
        struct lease_watch w = { 0 };
        int64_t began = 50 * S, seen = began + delay; /* it cannot be seen before it is written */

        lease_watch_see(&w, &t, seen);
        assert_true(seen + lease_watch_left_us(&w, &t, seen) > lease_until_us(&t, began));
    }
    (void)state;
}

struct told {
    pthread_mutex_t lock;
    pthread_cond_t cond;
    bool lost;
};

static uint64_t no_lsn(void *ctx)
{
    (void)ctx;
    return 42;
}

static void note_lost(void *ctx, const char *why)
{
    struct told *t = ctx;

    (void)why;
    pthread_mutex_lock(&t->lock);
    t->lost = true;
    pthread_cond_signal(&t->cond);
    pthread_mutex_unlock(&t->lock);
}

static void test_reign(void **state)
{
    struct told told = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, false };
    char dir[64];
    int fd = open_dir(dir);
    struct reign_config config = {
        .store = term_files(fd),
        .record = { .term = 1, .lease_ms = 60000, .host = "a", .addr = "a" },
        .durable = no_lsn,
        .lost = note_lost,
        .ctx = &told,
    };
    struct term_record found;
    struct reign *r, *other;

    assert_int_equal(reign_begin(&config, &r), 0);
    assert_true(reign_holds(r));
    assert_int_equal(reign_begin(&config, &other), -EEXIST);
    (void)reign_end(r, "b");
    assert_int_equal(term_newest(fd, &found), 0);
    assert_int_equal(found.flags, TERM_RELEASED);
    assert_string_equal(found.successor, "b");
    assert_int_equal(found.durable, 42);

    config.record.term = 2;
    config.record.lease_ms = 400;
    assert_int_equal(reign_begin(&config, &r), 0);
    found = config.record;
    found.term = 3; /* somebody takes the next term */
    assert_int_equal(term_claim(fd, &found), 0);
    assert_false(reign_holds(r)); /* known at once, before the thread has looked */
    pthread_mutex_lock(&told.lock);
    while (!told.lost)
        pthread_cond_wait(&told.cond, &told.lock);
    pthread_mutex_unlock(&told.lock);
    (void)reign_end(r, NULL);
    assert_int_equal(term_newest(fd, &found), 0);
    assert_int_equal(found.term, 3);
    assert_int_equal(found.flags, 0); /* nothing of the new term was touched */
    (void)close(fd);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

/* ---- the log of several terms ---------------------------------------------------------------- */

struct log {
    bool ours;
    uint64_t durable;
    char text[256]; /* what a recovery gave out */
};

static bool is_ours(void *ctx)
{
    return ((struct log *)ctx)->ours;
}

static void on_durable(void *ctx, uint64_t lsn)
{
    ((struct log *)ctx)->durable = lsn;
}

static int on_record(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct log *l = ctx;

    (void)lsn;
    (void)snapshot;
    strncat(l->text, (const char *)data, len);
    return 0;
}

static struct journal *open_term(const char *dir, uint32_t term, uint64_t known, struct log *l)
{
    struct journal_config config = { .dir = dir,
                                     .term = term,
                                     .known_lsn = known,
                                     .still_ours = is_ours,
                                     .on_durable = on_durable,
                                     .ctx = l };
    struct err err = { .text = "" };
    struct journal *j = NULL;

    *l = (struct log){ .ours = true };
    if (journal_open(&config, on_record, l, &j, &err) < 0)
        fail_msg("%s", err.text);
    assert_int_equal(journal_start(j), 0);
    return j;
}

static int put(struct journal *j, const char *text)
{
    uint64_t lsn;

    assert_int_equal(journal_append(j, (const uint8_t *)text, strlen(text), &lsn), 0);
    journal_commit(j);
    return journal_wait_durable(j, lsn);
}

/* The writer of term 1 sleeps, term 2 begins; then the first one wakes and writes on. */
static void test_late_writer(void **state)
{
    char dir[64];
    struct log first, second, third;
    struct journal *one, *two;

    (void)close(open_dir(dir));
    one = open_term(dir, 1, 0, &first);
    assert_int_equal(put(one, "a"), 0);
    assert_int_equal(put(one, "b"), 0);
    two = open_term(dir, 2, 0, &second); /* the lock of the first does not keep it out */
    assert_string_equal(second.text, "ab");
    assert_int_equal(put(one, "x"), 0); /* its lease: the test's word; in truth it would be over */
    assert_int_equal(put(two, "c"), 0);
    first.ours = false;
    assert_int_equal(put(one, "y"), -ESHUTDOWN); /* nothing more is acknowledged */
    assert_int_equal(first.durable, 3);
    assert_int_equal(put(two, "d"), 0);
    (void)journal_close(one);
    (void)journal_close(two);
    two = open_term(dir, 3, 0, &third);
    assert_string_equal(third.text, "abcd"); /* x and y are not in the log */
    (void)journal_close(two);
    two = open_term(dir, 4, 3, &third);
    assert_string_equal(third.text, "d"); /* who knows three records is given the rest */
    (void)journal_close(two);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

struct watched {
    int dir_fd;
    atomic_bool over;
};

/* Others look whether the lock is free while it is taken, again and again. */
static void *look_at_lock(void *arg)
{
    struct watched *w = arg;

    while (!atomic_load(&w->over))
        (void)journal_dir_is_free(w->dir_fd);
    return NULL;
}

static void test_lock_is_watched(void **state)
{
    struct watched w = { .over = false };
    struct err err = { .text = "" };
    pthread_t watcher;
    char dir[64];
    int fd, older;

    w.dir_fd = open_dir(dir);
    assert_true(journal_dir_is_free(w.dir_fd));
    assert_int_equal(faccessat(w.dir_fd, "lock", F_OK, 0), -1); /* nor is it made */
    assert_int_equal(journal_dir_lock(w.dir_fd, dir, &older, &err), 0);
    assert_false(journal_dir_is_free(w.dir_fd));
    assert_int_equal(journal_dir_relock(w.dir_fd, dir, &fd, &err), 0); /* a later term's */
    (void)close(older);
    assert_false(journal_dir_is_free(w.dir_fd));
    (void)close(fd);
    assert_true(journal_dir_is_free(w.dir_fd));
    assert_int_equal(pthread_create(&watcher, NULL, look_at_lock, &w), 0);
    for (int i = 0; i < 2000; i++) {
        if (journal_dir_lock(w.dir_fd, dir, &fd, &err) < 0)
            fail_msg("%d: %s", i, err.text);
        (void)close(fd);
    }
    atomic_store(&w.over, true);
    (void)pthread_join(watcher, NULL);
    (void)close(w.dir_fd);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

/* Terms whose holders die soon, each known by the next: little space is taken, and the files are
 * counted until a snapshot is there, so that somebody makes one. */
static void test_many_terms(void **state)
{
    struct journal_snapshot *snap = NULL;
    struct journal *j;
    struct stat st;
    char dir[64], path[128];
    struct log l;

    (void)close(open_dir(dir));
    for (uint32_t term = 1; term <= 5; term++) {
        j = open_term(dir, term, term - 1, &l);
        assert_int_equal(journal_files_since_snapshot(j), term);
        assert_int_equal(put(j, "a"), 0);
        (void)snprintf(path, sizeof(path), "%s/journal/%016x-%08x.log", dir, term, term);
        assert_int_equal(stat(path, &st), 0); /* what a killed holder leaves */
        assert_true(st.st_size <= 256 << 10);
        (void)journal_close(j);
    }
    j = open_term(dir, 6, 5, &l);
    assert_true(journal_bytes_since_snapshot(j) >= 5 * FILE_HEADER_BYTES); /* nothing was read */
    assert_int_equal(journal_snapshot_begin(j, 5, &snap), 0);
    assert_int_equal(journal_snapshot_put(snap, (const uint8_t *)"s", 1), 0);
    assert_int_equal(journal_snapshot_commit(snap, UINT64_MAX), 0);
    assert_int_equal(journal_files_since_snapshot(j), 0);
    (void)journal_close(j);
    j = open_term(dir, 7, 0, &l);
    assert_string_equal(l.text, "s");
    assert_int_equal(journal_files_since_snapshot(j), 2); /* of terms 6, which is empty, and 7 */
    (void)journal_close(j);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

/* A segment that a late writer makes, and the records that it leaves in its own, are passed over by
 * readers; without a term nobody may go on. */
static void test_late_segment(void **state)
{
    struct journal_config plain = { .dir = NULL };
    struct err err = { .text = "" };
    struct log l, late;
    char dir[64];
    struct journal *j;
    struct segment_policy policy = { .term = 1, .segment_bytes = 1 << 20 };
    struct segment seg;

    policy.dir_fd = open_dir(dir);
    j = open_term(dir, 1, 0, &l);
    assert_int_equal(put(j, "a"), 0);
    (void)journal_close(j);
    j = open_term(dir, 2, 0, &l);
    assert_int_equal(put(j, "b"), 0);
    assert_int_equal(put(j, "c"), 0);
    assert_int_equal(segment_create(&policy, 3, &seg), 0); /* of term 1, behind the log of term 2 */
    segment_close(&seg);
    (void)journal_close(j);
    late = (struct log){ .ours = true };
    assert_int_equal(journal_dump(dir, 0, UINT64_MAX, on_record, &late, &err), 0);
    assert_string_equal(late.text, "abc");
    plain.dir = dir;
    assert_int_equal(journal_open(&plain, on_record, &late, &j, &err), -EINVAL);
    assert_non_null(strstr(err.text, "term 2"));
    j = open_term(dir, 3, 0, &l);
    assert_string_equal(l.text, "abc");
    (void)journal_close(j);
    (void)close(policy.dir_fd);
    remove_tree(AT_FDCWD, dir);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_claim),
        cmocka_unit_test(test_race),
        cmocka_unit_test(test_lease),
        cmocka_unit_test(test_lease_margin),
        cmocka_unit_test(test_reign),
        cmocka_unit_test(test_late_writer),
        cmocka_unit_test(test_many_terms),
        cmocka_unit_test(test_lock_is_watched),
        cmocka_unit_test(test_late_segment),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
