/* test_journal_crash.c - a process dies at each named place; what it acknowledged is there, in
 * order, once
 *
 * A child appends, takes snapshots and says through a pipe which lsn on_durable named.  It dies at
 * a failpoint; the parent recovers and compares.  Several lives are lived over one directory, so
 * that each recovery works on what crashes left behind. */
#include "journal_util.h"

#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>

#include "base/process/failpoint.h"

#define RECORDS_PER_LIFE 120
#define SNAPSHOT_EVERY 25

static void tell(void *ctx, uint64_t lsn)
{
    int fd = *(int *)ctx;

    if (write(fd, &lsn, sizeof(lsn)) != (ssize_t)sizeof(lsn))
        _exit(3);
}

/* One life: append from where the log ends until the failpoint or the end. */
static int live(const char *dir, int pipe_fd)
{
    struct journal_config c = config_for(dir);
    struct journal *j = NULL;
    struct seen seen = { 0 };

    c.segment_bytes = 3000;
    c.on_durable = tell;
    c.ctx = &pipe_fd;
    if (journal_open(&c, see, &seen, &j, NULL) < 0 || seen.wrong || journal_start(j) < 0)
        return 4;
    for (int i = 0; i < RECORDS_PER_LIFE; i++) {
        uint8_t data[PAYLOAD_MAX];
        uint64_t want = journal_last(j) + 1, lsn;

        if (journal_append(j, data, payload(want, data), &lsn) < 0)
            break; /* the disk fails: no new work */
        if (lsn != want)
            return 5;
        if (want % 3 == 0)
            journal_commit(j);
        if (want % 7 == 0 && journal_wait_durable(j, want) < 0)
            break;
        if (want % SNAPSHOT_EVERY == 0 && take_snapshot(j, want, want % 11, UINT64_MAX) < 0)
            break;
    }
    (void)journal_close(j);
    return 0;
}

/* Run one life with `spec` armed; the newest acknowledged lsn, and whether it died there. */
static bool run_life(const char *dir, const char *spec, uint64_t *acked)
{
    uint64_t lsn;
    int fds[2], status = 0;
    pid_t pid;

    assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
    pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)close(fds[0]);
        failpoint_arm(spec);
        _exit(live(dir, fds[1]));
    }
    (void)close(fds[1]);
    while (read(fds[0], &lsn, sizeof(lsn)) == (ssize_t)sizeof(lsn)) {
        assert_true(lsn > *acked);
        *acked = lsn;
    }
    (void)close(fds[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    if (WEXITSTATUS(status) != 0 && WEXITSTATUS(status) != FAILPOINT_EXIT)
        fail_msg("%s: the child ended with %d", spec, WEXITSTATUS(status));
    return WEXITSTATUS(status) == FAILPOINT_EXIT;
}

/* What is on disk holds everything up to acked, once and in order; and a consumer reads the
 * same. */
static void check(const char *dir, const char *spec, uint64_t acked)
{
    struct err err = { .text = "" };
    struct seen seen, dumped = { 0 };
    uint64_t last;

    if (recover_read_only(dir, &seen, &err) < 0)
        fail_msg("%s: %s", spec, err.text);
    last = seen.count ? seen.last : seen.snapshot_lsn;
    assert_false(seen.wrong);
    if (last < acked)
        fail_msg("%s: record %" PRIu64 " was acknowledged, the log ends at %" PRIu64, spec, acked,
                 last);
    assert_true(seen.snapshot_lsn % SNAPSHOT_EVERY == 0);
    assert_int_equal(seen.puts, seen.snapshot_lsn % 11);
    if (last == 0) /* it died before there was a log */
        return;
    if (journal_dump(dir, 0, UINT64_MAX, see, &dumped, &err) < 0)
        fail_msg("%s: %s", spec, err.text);
    assert_false(dumped.wrong);
    assert_true(!dumped.count || dumped.last == last);
}

static const char *const places[] = {
    "journal.crash.before_write",          "journal.crash.mid_write",
    "journal.crash.after_write",           "journal.crash.after_sync",
    "journal.crash.before_publish",        "journal.crash.segment_before_rename",
    "journal.crash.segment_after_rename",  "journal.crash.snapshot_before_rename",
    "journal.crash.snapshot_after_rename", "journal.crash.let_go",
};

static void test_every_place(void **state)
{
    for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
        char *dir = tmp_make();
        uint64_t acked = 0;
        unsigned deaths = 0;

        for (unsigned nth = 1; nth <= 4; nth++) {
            char spec[96];

            (void)snprintf(spec, sizeof(spec), "%s:%u", places[i], nth);
            deaths += run_life(dir, spec, &acked);
            check(dir, spec, acked);
        }
        if (!deaths)
            fail_msg("%s was never passed", places[i]);
        assert_false(run_life(dir, "", &acked)); /* and a last one in peace */
        check(dir, "no failpoint", acked);
        assert_true(acked >= RECORDS_PER_LIFE);
        tmp_remove(dir);
    }
}

/* A failing disk and a crash while it is being dealt with. */
static void test_crash_after_failed_sync(void **state)
{
    static const char *const specs[] = {
        "journal.sync.eio:4,journal.crash.segment_before_rename:1",
        "journal.sync.eio:4,journal.crash.segment_after_rename:1",
        "journal.sync.eio:3,journal.crash.after_write:4",
        "journal.sync.eio:3,journal.crash.mid_write:4",
        "journal.write.short:2+,journal.crash.after_sync:6",
    };

    for (size_t i = 0; i < ARRAY_SIZE(specs); i++) {
        char *dir = tmp_make();
        uint64_t acked = 0;

        (void)run_life(dir, NULL, &acked);
        assert_true(run_life(dir, specs[i], &acked));
        check(dir, specs[i], acked);
        assert_false(run_life(dir, NULL, &acked));
        check(dir, specs[i], acked);
        tmp_remove(dir);
    }
}

/* Killed from outside at no particular place. */
static void test_sigkill(void **state)
{
    char *dir = tmp_make();
    uint64_t acked = 0;

    for (int life = 0; life < 6; life++) {
        uint64_t lsn;
        int fds[2], status = 0;
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            (void)close(fds[0]);
            _exit(live(dir, fds[1]));
        }
        (void)close(fds[1]);
        for (int n = 0; read(fds[0], &lsn, sizeof(lsn)) == (ssize_t)sizeof(lsn); n++) {
            acked = lsn;
            if (n == 3 + life)
                (void)kill(pid, SIGKILL);
        }
        (void)close(fds[0]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        check(dir, "SIGKILL", acked);
    }
    tmp_remove(dir);
}

/* The environment is what arms a daemon. */
static void test_environment(void **state)
{
    char *dir = tmp_make();
    int status = 0;
    pid_t pid = fork();

    assert_true(pid >= 0);
    if (pid == 0) {
        int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

        (void)setenv(FAILPOINT_ENV, "nothing,:1,x:,journal.crash.after_write:2", 1);
        _exit(live(dir, null));
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), FAILPOINT_EXIT);
    tmp_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_environment), /* first: the environment is read once */
        cmocka_unit_test(test_every_place),
        cmocka_unit_test(test_crash_after_failed_sync),
        cmocka_unit_test(test_sigkill),
    };

    log_set_level(LOG_QUIET); /* what is found damaged is checked, not shown */
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
