/* test_sacct_opts.c - the options of sacct, read into what they mean */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/sacct/sacct.h"
#include "cli/sacct/sacct_opts.h"

#define WORDS 6

static void refuse_any(const char *word)
{
    (void)word;
    cli_die(9, "nobody");
}

/* Words behind "sacct", up to the first NULL. */
static void read_words(struct sacct *s, const char *const *words)
{
    char *argv[WORDS + 2] = { "sacct" };
    int argc = 1;

    while (argc <= WORDS && words[argc - 1]) {
        argv[argc] = (char *)words[argc - 1]; /* getopt moves them, and writes to none */
        argc++;
    }
    *s = (struct sacct){ .request = PST__ACCT_FILTER__INIT };
    cli_init(&s->cli, "sacct");
    jobfilter_init(&s->filter, refuse_any);
    (void)opts_parse(&sacct_command, argc, argv, s);
}

static void test_values(void **state)
{
    struct sacct s;

    (void)state;
    read_words(&s,
               (const char *const[WORDS]){ "--units=g", "-X", "-P", "--whole-hetjob=no", "-B" });
    assert_int_equal(s.unit, 'G');
    assert_true(s.request.has_allocations_only && s.request.allocations_only);
    assert_int_equal(s.fmt.style, SACCT_PARSABLE2);
    assert_int_equal(s.whole_het, WHOLE_NO);
    assert_true(s.scripts && !s.env_vars && !s.have_start && !s.have_end && !s.request.duplicates);
    jobfilter_done(&s.filter);
    read_words(&s, (const char *const[WORDS]){ "-L", "-D", "--whole-hetjob", "--efficiency=report",
                                               "-S", "" });
    assert_string_equal(s.clusters, "all");
    assert_true(s.request.has_duplicates && s.request.duplicates);
    assert_int_equal(s.whole_het, WHOLE_YES);
    assert_true(s.efficiency && s.report);
    assert_true(s.have_start && s.start_us == SACCT_NO_TIME); /* as without the option */
    jobfilter_done(&s.filter);
}

/* Each adds to the list. */
static void test_states(void **state)
{
    struct sacct s;

    (void)state;
    read_words(&s, (const char *const[WORDS]){ "-s", "CD", "--state=failed" });
    assert_true(s.filter.have_states && !s.filter.states.all);
    assert_int_equal(s.filter.states.base,
                     1u << PST__JOB_STATE__JOB_COMPLETED | 1u << PST__JOB_STATE__JOB_FAILED);
    jobfilter_done(&s.filter);
}

/* Sentences and exit codes of the real sacct, as recorded. */
static const struct {
    const char *words[WORDS];
    int status;
    const char *sentence;
} bad[] = {
    { { "-s", "CONFIGURING" },
      1,
      "sacct: fatal: job state CONFIGURING is not supported / accounted\n" },
    { { "-s", "nonsense" }, 1, "sacct: fatal: unrecognized job state value 'nonsense'\n" },
    { { "-F", "foo" }, 1, "sacct: error: str_2_job_flags: Invalid job flag foo\n" },
    { { "--units=X" },
      1,
      "Invalid unit type 'X'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type\n" },
    { { "--units=KM" },
      1,
      "Invalid unit type 'KM'. Possible options are 'KMGTP'\nsacct: fatal: Invalid unit type\n" },
    { { "-j", "7,12_[3-4],9" },
      1,
      "sacct: fatal: Bad job/step specified: 12_[3-4]: JobID includes unexpected non-numeric "
      "characters\n" },
    { { "--whole-hetjob=maybe" },
      1,
      "sacct: error: Invalid --whole-hetjob value \"maybe\". Valid values: [yes|no].\n" },
    { { "-g", "no-such-group-here" }, 1, "sacct: error: Invalid group id: no-such-group-here\n" },
};

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        char text[512] = "";
        int fds[2], status;
        pid_t pid;

        assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
        pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            struct sacct s;

            (void)dup2(fds[1], STDERR_FILENO);
            read_words(&s, bad[i].words);
            _exit(99);
        }
        (void)close(fds[1]);
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_true(read(fds[0], text, sizeof(text) - 1) >= 0);
        (void)close(fds[0]);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != bad[i].status ||
            strcmp(text, bad[i].sentence) != 0)
            fail_msg("row %zu: status %d, %s", i, status, text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
