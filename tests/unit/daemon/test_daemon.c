/* test_daemon.c - shared options, log levels, signals and the order of a daemon's life */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "daemon/daemon.h"

static enum daemon_taken take_own(void *ctx, int c, const char *arg)
{
    int *seen = ctx;

    (void)arg;
    if (c == 'x') {
        (*seen)++;
        return DAEMON_GO_ON;
    }
    return c == 'y' ? DAEMON_REFUSE : DAEMON_SHARED;
}

static const struct option longs[] = { { "check", no_argument, NULL, DAEMON_OPT_CHECK },
                                       { NULL, 0, NULL, 0 } };
static const struct daemon_head head = { .name = "testd",
                                         .usage = "Usage\n",
                                         .shorts = "Df:hL:n:vVxy",
                                         .longs = longs,
                                         .unexpected = "testd: unexpected: ",
                                         .take_own = take_own };

static int parse_line(char *line, struct daemon_options *o, int *seen)
{
    char *argv[16] = { "testd" };
    int argc = 1;

    for (char *save = NULL, *w = strtok_r(line, " ", &save); w; w = strtok_r(NULL, " ", &save))
        argv[argc++] = w;
    optind = 0;
    return daemon_parse_options(&head, argc, argv, o, seen);
}

static void test_options(void **state)
{
    static const struct {
        const char *line;
        int rc, own;
    } cases[] = {
        { "", -1, 0 },        { "-x -x", -1, 2 }, { "-y", 1, 0 },     { "-V", 0, 0 },
        { "-h", 0, 0 },       { "-n 20", 1, 0 },  { "-n -21", 1, 0 }, { "-n -20", -1, 0 },
        { "-n x", 1, 0 },     { "-Q", 1, 0 },     { "extra", 1, 0 },  { "-f", 1, 0 },
        { "--check", -1, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct daemon_options o = { 0 };
        char line[64];
        int seen = 0;

        (void)snprintf(line, sizeof(line), "%s", cases[i].line);
        assert_int_equal(parse_line(line, &o, &seen), cases[i].rc);
        assert_int_equal(seen, cases[i].own);
    }
}

static void test_option_values(void **state)
{
    char line[] = "-D -f a.conf -L b.log -n 3 -vv -v --check";
    struct daemon_options o = { 0 };
    int seen = 0;

    (void)state;
    assert_int_equal(parse_line(line, &o, &seen), -1);
    assert_true(o.foreground && o.check);
    assert_string_equal(o.conf_path, "a.conf");
    assert_string_equal(o.log_path, "b.log");
    assert_int_equal(o.verbose, 3);
    assert_int_equal(o.nice, 3);
}

static void test_log_level(void **state)
{
    (void)state;
    assert_int_equal(daemon_log_level(NULL, 0), LOG_INFO);
    assert_int_equal(daemon_log_level("no level", 0), LOG_INFO);
    assert_int_equal(daemon_log_level("error", 0), LOG_ERROR);
    assert_int_equal(daemon_log_level("info", 1), LOG_INFO + 1);
    assert_int_equal(daemon_log_level("debug5", 4000000000u), LOG_DEBUG5);
}

static void test_signals(void **state)
{
    static const struct {
        int signum;
        enum daemon_action action;
    } cases[] = {
        { SIGTERM, DAEMON_END },
        { SIGINT, DAEMON_END },
        { SIGHUP, DAEMON_RELOAD },
        { SIGUSR2, DAEMON_NONE },
    };

    (void)state;
    daemon_block_signals();
    assert_int_equal(daemon_wait_signal(10), DAEMON_TICK);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        assert_int_equal(daemon_signals[i] != 0, true);
        assert_int_equal(raise(cases[i].signum), 0);
        assert_int_equal(daemon_wait_signal(1000), cases[i].action);
    }
}

/* ---- the order of a life --------------------------------------------------------------------- */

struct trace {
    char text[64];
    int fail_configure, fail_serve;
};

static void add_word(struct trace *t, const char *word)
{
    size_t at = strlen(t->text);

    (void)snprintf(t->text + at, sizeof(t->text) - at, "%s ", word);
}

static int on_configure(void *ctx, struct err *err)
{
    struct trace *t = ctx;

    add_word(t, "configure");
    return t->fail_configure ? err_set(err, t->fail_configure, "no") : 0;
}

static void on_open_log(void *ctx)
{
    add_word(ctx, "log");
}

static int on_serve(void *ctx, int ready_fd, struct err *err)
{
    struct trace *t = ctx;

    assert_int_equal(ready_fd, -1);
    add_word(t, "serve");
    return t->fail_serve ? err_set(err, t->fail_serve, "no") : 0;
}

static void on_report(void *ctx, const struct err *err)
{
    assert_string_equal(err->text, "no");
    add_word(ctx, "report");
}

static void on_release(void *ctx)
{
    add_word(ctx, "release");
}

static void test_life(void **state)
{
    static const struct daemon_life life = { .configure = on_configure,
                                             .open_log = on_open_log,
                                             .serve = on_serve,
                                             .report = on_report,
                                             .release = on_release };
    static const struct {
        int configure, serve, status;
        const char *want;
    } cases[] = {
        { 0, 0, 0, "configure log serve release " },
        { -EINVAL, 0, 1, "configure report release " },
        { 0, -EINVAL, 1, "configure log serve report release " },
    };
    const struct daemon_options o = { .foreground = true };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct trace t = { .fail_configure = cases[i].configure, .fail_serve = cases[i].serve };

        assert_int_equal(daemon_live(&head, &life, &o, &t), cases[i].status);
        assert_string_equal(t.text, cases[i].want);
    }
}

static int serve_at_once(void *ctx, int ready_fd, struct err *err)
{
    (void)err;
    *(int *)ctx = ready_fd;
    return 0;
}

/* Every step but serve() may be left out. */
static void test_life_of_one_step(void **state)
{
    static const struct daemon_life short_life = { .serve = serve_at_once };
    const struct daemon_options o = { .foreground = true };
    int ready_fd = 0;

    (void)state;
    assert_int_equal(daemon_live(&head, &short_life, &o, &ready_fd), 0);
    assert_int_equal(ready_fd, -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),   cmocka_unit_test(test_option_values),
        cmocka_unit_test(test_log_level), cmocka_unit_test(test_signals),
        cmocka_unit_test(test_life),      cmocka_unit_test(test_life_of_one_step),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
