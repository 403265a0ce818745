/* test_log.c - the form of log lines, levels, rotation and quoting */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"

static char dir[] = "/tmp/test_log.XXXXXX";
static char path[64], moved[64];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(path, sizeof(path), "%s/log", dir);
    (void)snprintf(moved, sizeof(moved), "%s/log.1", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(path); /* may be gone already */
    (void)unlink(moved);
    return log_open(NULL, NULL, LOG_INFO, false) || rmdir(dir);
}

static void read_file(const char *name, char *buf, size_t size)
{
    _cleanup_fclose_ FILE *f = fopen(name, "r");
    size_t n;

    assert_non_null(f);
    n = fread(buf, 1, size - 1, f);
    buf[n] = '\0';
}

/* "[2026-01-02T03:04:05.678] " then the text. */
static void check_line(const char *line, const char *text)
{
    static const char shape[] = "[0000-00-00T00:00:00.000] ";

    for (size_t i = 0; i < sizeof(shape) - 1; i++) {
        if (shape[i] == '0')
            assert_true(line[i] >= '0' && line[i] <= '9');
        else
            assert_int_equal(line[i], shape[i]);
    }
    assert_memory_equal(line + sizeof(shape) - 1, text, strlen(text));
    assert_int_equal(line[sizeof(shape) - 1 + strlen(text)], '\n');
}

static void test_lines(void **state)
{
    char text[1024];
    struct stat st;

    (void)state;
    assert_int_equal(log_open("test", path, LOG_VERBOSE, false), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0007, 0);
    log_error("disk %s job=%d", "full", 12);
    log_info("two\nlines");
    log_debug("not shown");
    errno = ENOENT;
    log_verbose("%m");
    assert_int_equal(errno, ENOENT);
    read_file(path, text, sizeof(text));
    check_line(text, "error: disk full job=12");
    check_line(strchr(text, '\n') + 1, "two lines");
    check_line(strrchr(text, '['), "verbose: No such file or directory");
}

static void test_times(void **state)
{
    static const struct {
        const char *words, *pattern;
    } rows[] = {
        { NULL, "^\\[[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\\.[0-9]{3}\\] one\n$" },
        { "iso8601", "^\\[[0-9]{4}(-[0-9]{2}){2}T[0-9]{2}(:[0-9]{2}){2}\\] one\n$" },
        { "rfc5424_ms,format_stderr",
          "^\\[[0-9T:-]{19}\\.[0-9]{3}[+-][0-9]{2}:[0-9]{2}\\] one\n$" },
        { "RFC5424", "^\\[[0-9T:-]{19}[+-][0-9]{2}:[0-9]{2}\\] one\n$" },
        { "rfc3339", "^\\[[0-9T:-]{19}[+-][0-9]{2}:[0-9]{2}\\] one\n$" },
        { "short", "^\\[[A-Z][a-z]{2} [0-9]{2} [0-9:]{8}\\] one\n$" },
        { "thread_id",
          "^\\[[A-Z][a-z]{2} [0-9]{2} [0-9:]{8}\\.[0-9]{6} [0-9]+ test_log [0-9]+\\] one\n$" },
        { "clock", "^\\[[0-9]+\\] one\n$" },
        { "omit", "^one\n$" },
        { "nosuch", "^\\[[0-9T:-]{19}\\.[0-9]{3}\\] one\n$" },
    };
    char text[1024];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        regex_t re;

        assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
        assert_int_equal(truncate(path, 0), 0);
        log_set_time(rows[i].words);
        log_info("one");
        read_file(path, text, sizeof(text));
        assert_int_equal(regcomp(&re, rows[i].pattern, REG_EXTENDED | REG_NOSUB), 0);
        if (regexec(&re, text, 0, NULL, 0) != 0)
            fail_msg("%s: %s", rows[i].words ? rows[i].words : "(null)", text);
        regfree(&re);
    }
    log_set_time(NULL);
}

static void test_levels(void **state)
{
    enum log_level level;
    char text[1024];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_QUIET, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    log_fatal("nothing at all");
    log_set_level(LOG_DEBUG2);
    assert_int_equal(log_get_level(), LOG_DEBUG2);
    log_debug2("shown");
    log_write(LOG_DEBUG3, "hidden");
    log_write(LOG_QUIET, "never");
    read_file(path, text, sizeof(text));
    check_line(text, "debug2: shown");
    assert_null(strstr(text, "hidden"));
    assert_null(strstr(text, "never"));
    for (int i = LOG_QUIET; i <= LOG_DEBUG5; i++) {
        char number[16];

        assert_int_equal(log_level_parse(log_level_name((enum log_level)i), &level), 0);
        assert_int_equal(level, i);
        (void)snprintf(number, sizeof(number), "%d", i);
        assert_int_equal(log_level_parse(number, &level), 0);
        assert_int_equal(level, i);
    }
    assert_int_equal(log_level_parse("Debug2", &level), 0);
    assert_int_equal(log_level_parse("10", &level), -EINVAL);
    assert_int_equal(log_level_parse("loud", &level), -EINVAL);
    assert_int_equal(log_level_parse("", &level), -EINVAL);
    assert_int_equal(log_level_parse(NULL, &level), -EINVAL);
}

static void test_rotation(void **state)
{
    char text[1024];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    log_info("old");
    assert_int_equal(rename(path, moved), 0);
    log_info("still old");
    assert_int_equal(log_reopen(), 0);
    log_info("new");
    read_file(moved, text, sizeof(text));
    assert_non_null(strstr(text, "still old"));
    assert_null(strstr(text, "new"));
    read_file(path, text, sizeof(text));
    check_line(text, "new");
}

static void test_move(void **state)
{
    char text[1024];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    (void)unlink(moved); /* of the test before */
    assert_int_equal(log_move("/not/ours", moved), 0);
    assert_int_equal(log_move(NULL, moved), 0);
    log_info("stays");
    assert_int_equal(access(moved, F_OK), -1);
    assert_int_equal(log_move(path, "/no/such/folder/log"), -ENOENT);
    log_info("still");
    assert_int_equal(log_move(path, moved), 0);
    log_info("new");
    read_file(path, text, sizeof(text));
    assert_non_null(strstr(text, "still"));
    assert_null(strstr(text, "new"));
    read_file(moved, text, sizeof(text));
    check_line(text, "new");
}

static void test_open_failure(void **state)
{
    char text[1024];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    assert_int_equal(log_open("test", "/proc/nonexistent/log", LOG_INFO, false), -ENOENT);
    log_info("kept"); /* the old file stays in use */
    read_file(path, text, sizeof(text));
    check_line(text, "kept");
}

/* A line too long for the buffer is cut and still ends in a newline. */
static void test_long_line(void **state)
{
    static char big[10000], text[10000];

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    log_info("%s", big);
    log_info("next");
    read_file(path, text, sizeof(text));
    assert_int_equal(strchr(text, '\n') - text, 4095);
    check_line(strchr(text, '\n') + 1, "next");
}

static void test_stderr(void **state)
{
    char text[1024], out[64];
    _cleanup_close_ int saved = dup(STDERR_FILENO), to = -1;

    (void)state;
    (void)snprintf(out, sizeof(out), "%s/stderr", dir);
    to = open(out, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(saved >= 0 && to >= 0);
    log_set_time("format_stderr");
    assert_int_equal(log_open("slurmctld", path, LOG_INFO, true), 0);
    assert_int_equal(dup2(to, STDERR_FILENO), STDERR_FILENO);
    log_error("twice");
    assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
    read_file(out, text, sizeof(text));
    assert_memory_equal(text, "slurmctld: [", 12);
    check_line(text + 11, "error: twice");
    /* LogTimeFormat: what the file has with its time is bare here, but for format_stderr. */
    for (int formatted = 0; formatted < 2; formatted++) {
        assert_int_equal(ftruncate(to, 0), 0);
        assert_int_equal(lseek(to, 0, SEEK_SET), 0);
        log_set_time(formatted ? "iso8601_ms,format_stderr" : "iso8601_ms");
        assert_int_equal(dup2(to, STDERR_FILENO), STDERR_FILENO);
        log_info("once more");
        assert_int_equal(dup2(saved, STDERR_FILENO), STDERR_FILENO);
        read_file(out, text, sizeof(text));
        if (formatted)
            check_line(text + 11, "once more");
        else
            assert_string_equal(text, "slurmctld: once more\n");
    }
    assert_int_equal(log_open("slurmctld", path, LOG_INFO, false), 0);
    log_set_time(NULL);
    assert_int_equal(unlink(out), 0);
}

enum { THREADS = 4, LINES = 500 };

static void *write_many(void *arg)
{
    for (int i = 0; i < LINES; i++)
        log_info("thread %d says %d", *(int *)arg, i);
    return NULL;
}

/* Lines of several threads never mix, even while the file is reopened. */
static void test_threads(void **state)
{
    pthread_t threads[THREADS];
    int ids[THREADS];
    char line[256];
    int lines = 0;

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    for (int i = 0; i < THREADS; i++) {
        ids[i] = i;
        assert_int_equal(pthread_create(&threads[i], NULL, write_many, &ids[i]), 0);
    }
    for (int i = 0; i < 50; i++)
        assert_int_equal(log_reopen(), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    _cleanup_fclose_ FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof(line), f)) {
        int who, what;

        assert_int_equal(sscanf(strchr(line, ']'), "] thread %d says %d\n", &who, &what), 2);
        lines++;
    }
    assert_int_equal(lines, THREADS * LINES);
}

static const struct {
    const char *text;
    size_t size;
    const char *quoted;
} quotes[] = {
    { "plain", 64, "\"plain\"" },
    { "", 64, "\"\"" },
    { NULL, 64, "\"\"" },
    { "a\"b\\c", 64, "\"a\\\"b\\\\c\"" },
    { "a\nb\x7f", 64, "\"a\\x0ab\\x7f\"" },
    { "gr\xc3\xbc\xc3\x9f", 64, "\"gr\xc3\xbc\xc3\x9f\"" },
    { "abcdef", 6, "\"abc\"" },
    { "ab\n", 8, "\"ab\"" },
    { "x", 3, "\"\"" },
    { "x", 2, "" },
    { "x", 1, "" },
    { "x", 0, "" },
};

static void test_quote(void **state)
{
    char buf[64];

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(quotes); i++)
        assert_string_equal(log_quote(quotes[i].text, buf, quotes[i].size), quotes[i].quoted);
}

static unsigned count_lines(const char *text, const char *what)
{
    unsigned n = 0;

    for (const char *p = text; (p = strstr(p, what)); p++)
        n++;
    return n;
}

/* What a peer can cause as often as he likes is logged some times, then counted. */
static void test_limited(void **state)
{
    static char text[65536];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    for (int i = 0; i < 100000; i++) {
        errno = ENOENT;
        log_limited(LOG_ERROR, "refused %d: %m", i);
    }
    log_limited(LOG_INFO, "another place is not silenced");
    log_limited(LOG_DEBUG, "not shown");
    log_limited_flush(); /* the place is not quiet: nothing is told yet */
    read_file(path, text, sizeof(text));
    assert_in_range(count_lines(text, "refused "), LOG_LIMITED_BURST, LOG_LIMITED_BURST + 20);
    check_line(text, "error: refused 0: No such file or directory");
    assert_non_null(strstr(text, "another place is not silenced"));
    assert_null(strstr(text, "not shown"));
}

/* The first line after a second tells how many were left out. */
static void test_limited_told(void **state)
{
    static struct log_site kept; /* places are never forgotten */
    static char text[65536];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    for (unsigned i = 0; i < LOG_LIMITED_BURST + 7; i++)
        log_write_limited(&kept, LOG_INFO, "line %u", i);
    assert_int_equal(kept.left_out, 7);
    kept.filled_us -= 2 * USEC_PER_SEC; /* two seconds later */
    log_write_limited(&kept, LOG_INFO, "line %u", 99u);
    read_file(path, text, sizeof(text));
    assert_non_null(strstr(text, "7 lines of this kind were not logged: line %u ..."));
    assert_non_null(strstr(text, "line 99"));
    kept.left_out = 3;
    kept.filled_us -= 60 * USEC_PER_SEC; /* it has been quiet for a minute */
    log_limited_flush();
    read_file(path, text, sizeof(text));
    assert_non_null(strstr(text, "3 lines of this kind were not logged: line %u ..."));
    assert_int_equal(kept.left_out, 0);
}

static void log_slow(int i)
{
    log_seldom(LOG_INFO, "slow peer %d", i);
}

/* One line, then one a period with the number of those between, also when it is quiet by then. */
static void test_seldom(void **state)
{
    static struct log_site kept = { .burst = 1, .period_s = LOG_SELDOM_S };
    static char text[65536];

    (void)state;
    assert_int_equal(log_open("test", path, LOG_INFO, false), 0);
    assert_int_equal(truncate(path, 0), 0);
    for (int i = 0; i < 100; i++)
        log_slow(i);
    read_file(path, text, sizeof(text));
    assert_int_equal(count_lines(text, "slow peer "), 1);
    for (int i = 0; i < 5; i++)
        log_write_limited(&kept, LOG_INFO, "late peer %d", i);
    kept.filled_us -= (LOG_SELDOM_S - 1) * USEC_PER_SEC;
    log_limited_flush();
    assert_int_equal(kept.left_out, 4);
    kept.filled_us -= USEC_PER_SEC;
    log_limited_flush();
    read_file(path, text, sizeof(text));
    assert_non_null(strstr(text, "4 lines of this kind were not logged: late peer %d ..."));
    assert_int_equal(kept.left_out, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),     cmocka_unit_test(test_times),
        cmocka_unit_test(test_levels),    cmocka_unit_test(test_rotation),
        cmocka_unit_test(test_move),      cmocka_unit_test(test_open_failure),
        cmocka_unit_test(test_long_line), cmocka_unit_test(test_stderr),
        cmocka_unit_test(test_threads),   cmocka_unit_test(test_quote),
        cmocka_unit_test(test_limited),   cmocka_unit_test(test_limited_told),
        cmocka_unit_test(test_seldom),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
