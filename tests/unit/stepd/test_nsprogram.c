/* test_nsprogram.c - programs of the site about a job's namespaces: how each way to end is told,
 * and that one which does not end is ended */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "folder_util.h"
#include "stepd/ns/jobns.h"
#include "stepd/step.h"

static char folder[64], program[128], result[128];

struct sample {
    Pst__StepFile sf;
    Pst__JobOnNode job;
    Pst__Namespace ns;
    struct step step;
};

static void sample_init(struct sample *s)
{
    *s = (struct sample){ .sf = PST__STEP_FILE__INIT,
                          .job = PST__JOB_ON_NODE__INIT,
                          .ns = PST__NAMESPACE__INIT };
    s->sf.conf_path = (char *)"/etc/slurm/slurm.conf";
    s->sf.job = &s->job;
    s->sf.ns = &s->ns;
    s->ns.base_path = folder;
    s->job.node_name = (char *)"n1";
    s->step.sf = &s->sf;
    s->step.job_id = UINT32_MAX;
    s->step.host_ns_fd = -1;
}

static int begin_group(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "nsprogram");
    (void)snprintf(program, sizeof(program), "%s/program", folder);
    (void)snprintf(result, sizeof(result), "%s/result", folder);
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static void write_program(const char *lines)
{
    FILE *f;

    (void)unlink(program);
    f = fopen(program, "we");
    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\n%s\n", lines) > 0);
    assert_int_equal(fchmod(fileno(f), 0700), 0);
    assert_int_equal(fclose(f), 0);
}

static void test_folder(void **state)
{
    char text[16];

    (void)state;
    ns_job_dir("/b", 0, text, sizeof(text));
    assert_string_equal(text, "/b/0");
    ns_job_dir("/base", UINT32_MAX, text, sizeof(text));
    assert_string_equal(text, "/base/429496729"); /* cut, and ended */
}

static void expect_end(const char *lines, uint32_t wait_s, const char *say)
{
    struct sample s;
    char want[256];

    sample_init(&s);
    write_program(lines);
    assert_int_equal(ns_program(&s.step, program, wait_s, NULL), say == NULL);
    assert_int_equal(s.step.error == NULL, say == NULL);
    if (!say)
        return;
    (void)snprintf(want, sizeof(want), "%s %s", program, say);
    assert_string_equal(s.step.error, want);
}

static void test_ends(void **state)
{
    struct sample s;

    (void)state;
    sample_init(&s);
    assert_true(ns_program(&s.step, NULL, 1, NULL)); /* none is configured */
    expect_end("exit 0", 0, NULL);
    expect_end("exit 0", 100, NULL);
    expect_end("exit 3", 100, "failed with exit code 3");
    expect_end("kill -TERM $$", 100, "was ended by signal 15");
    assert_false(ns_program(&s.step, "/nowhere/program", 0, NULL));
    assert_string_equal(s.step.error, "/nowhere/program failed with exit code 127");
}

/* What it started goes with it, and nobody waits for longer than was allowed. */
static void test_without_end(void **state)
{
    int64_t begin = now_mono_us();

    (void)state;
    expect_end("sleep 100 & sleep 100", 1, "was ended by signal 9");
    assert_in_range(now_mono_us() - begin, USEC_PER_SEC / 2, 60 * USEC_PER_SEC);
}

/* It sees the variables of its manual, no descriptor of the daemon's, and no blocked signal. */
static void test_world(void **state)
{
    struct sample s;
    char lines[512], text[2048], want[256];
    sigset_t set, before;
    FILE *f;
    size_t n;
    int fd = open("/dev/null", O_RDONLY); /* one that could be inherited */

    (void)state;
    sample_init(&s);
    (void)snprintf(lines, sizeof(lines),
                   "{ env; pwd; test -e /proc/self/fd/%d && echo inherited; grep SigBlk "
                   "/proc/self/status; cat; } > %s",
                   fd, result);
    write_program(lines);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    assert_int_equal(sigprocmask(SIG_BLOCK, &set, &before), 0);
    assert_true(ns_program(&s.step, program, 60, (char *)"MORE=1"));
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
    (void)close(fd);
    f = fopen(result, "re");
    assert_non_null(f);
    n = fread(text, 1, sizeof(text) - 1, f);
    text[n] = '\0';
    assert_int_equal(fclose(f), 0);
    (void)snprintf(want, sizeof(want), "SLURM_JOB_MOUNT_SRC=%s/4294967295\n", folder);
    assert_non_null(strstr(text, want));
    assert_non_null(strstr(text, "SLURM_JOB_ID=4294967295\n"));
    assert_non_null(strstr(text, "SLURM_CONF=/etc/slurm/slurm.conf\n"));
    assert_non_null(strstr(text, "SLURMD_NODENAME=n1\n"));
    assert_non_null(strstr(text, "MORE=1\n"));
    assert_null(strstr(text, "HOME="));
    assert_null(strstr(text, "inherited"));
    assert_non_null(strstr(text, "\n/\n")); /* where it works */
    assert_non_null(strstr(text, "SigBlk:\t0000000000000000"));
}

/* A status without a word, for those who tell it in another way. */
static void test_status(void **state)
{
    char *argv[] = { program, (char *)"word", NULL }, *envp[] = { NULL };
    struct sample s;

    (void)state;
    sample_init(&s);
    write_program("test \"$1\" = word && exit 9");
    assert_int_equal(ns_run(&s.step, argv, envp, 60), 9 << 8);
    assert_null(s.step.error);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_folder),      cmocka_unit_test(test_ends),
        cmocka_unit_test(test_without_end), cmocka_unit_test(test_world),
        cmocka_unit_test(test_status),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin_group, end_group);
}
