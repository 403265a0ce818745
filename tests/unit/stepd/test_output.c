/* test_output.c - the files of a step's streams: which name a pattern means, what happens to
 * what is there already, and streams that would make a writer wait */
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
#include "folder_util.h"
#include "stepd/shared/spool.h"
#include "stepd/step.h"

static char folder[64];

struct sample {
    Pst__StepFile sf;
    Pst__JobOnNode on;
    Pst__JobRecord job;
    struct step step;
};

static struct step *sample_init(struct sample *s)
{
    *s = (struct sample){ .sf = PST__STEP_FILE__INIT,
                          .on = PST__JOB_ON_NODE__INIT,
                          .job = PST__JOB_RECORD__INIT };
    s->on.node_name = (char *)"n1";
    s->sf.job = &s->on;
    s->job.user_name = (char *)"ann";
    s->job.name = (char *)"sweep";
    s->step = (struct step){ .sf = &s->sf,
                             .job = &s->job,
                             .job_id = 70,
                             .work_dir = folder,
                             .umask = 027,
                             .uid = getuid(),
                             .gid = getgid(),
                             .out_fd = -1,
                             .err_fd = -1 };
    return &s->step;
}

static int begin_group(void **state)
{
    (void)state;
    folder_make(folder, sizeof(folder), "output");
    return 0;
}

static int end_group(void **state)
{
    (void)state;
    return folder_unlink(folder);
}

static const char *inside(const char *name)
{
    static char path[256];

    (void)snprintf(path, sizeof(path), "%s/%s", folder, name);
    return path;
}

static void write_once(struct step *s, const char *pattern, bool append, const char *text)
{
    int fd = -1;

    assert_int_equal(output_open(s, "stdout", pattern, 5, append, &fd), 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    assert_int_equal(fcntl(fd, F_GETFL) & O_NONBLOCK, 0); /* tasks expect to wait */
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
    assert_int_equal(close(fd), 0);
}

static void expect_text(const char *name, const char *text)
{
    char found[64];
    FILE *f = fopen(inside(name), "re");
    size_t n;

    assert_non_null(f);
    n = fread(found, 1, sizeof(found) - 1, f);
    found[n] = '\0';
    assert_int_equal(fclose(f), 0);
    assert_string_equal(found, text);
}

static void test_files(void **state)
{
    struct sample sample;
    struct step *s = sample_init(&sample);
    struct stat st;

    (void)state;
    write_once(s, "%j-%t-%N-%u-%x.out", false, "one");
    expect_text("70-5-n1-ann-sweep.out", "one");
    assert_int_equal(stat(inside("70-5-n1-ann-sweep.out"), &st), 0);
    assert_int_equal(st.st_mode & 0777, 0640); /* by the job's mask */
    write_once(s, inside("a"), false, "longer text");
    write_once(s, "a", false, "two"); /* cut */
    expect_text("a", "two");
    write_once(s, "a", true, "+three");
    expect_text("a", "two+three");
    write_once(s, "none", false, "nowhere");
    assert_int_equal(access(inside("none"), F_OK), -1);
    assert_null(s->error);
}

static void test_array(void **state)
{
    struct sample sample;
    struct step *s = sample_init(&sample);
    struct pattern_vars v;

    (void)state;
    output_vars(s, 3, &v);
    assert_true(v.batch);
    assert_int_equal(v.array_job_id, 70); /* of no array: itself */
    assert_true(v.array_task_id == PATTERN_NO_ARRAY);
    sample.job.has_array_job_id = sample.job.has_array_task_id = true;
    output_vars(s, 3, &v);
    assert_int_equal(v.array_job_id, 70); /* 0 is no job */
    assert_int_equal(v.array_task_id, 0); /* and is a task */
    sample.job.array_job_id = 68;
    sample.job.array_task_id = UINT32_MAX - 1;
    output_vars(s, 3, &v);
    assert_int_equal(v.array_job_id, 68);
    assert_int_equal(v.array_task_id, UINT32_MAX - 1);
}

static void expect_refused(const char *pattern, bool input, const char *say)
{
    struct sample sample;
    struct step *s = sample_init(&sample);
    int fd = -7, r = input ? output_open_input(s, pattern, 0, &fd)
                           : output_open(s, "stderr", pattern, 0, false, &fd);

    assert_true(r < 0);
    assert_int_equal(fd, -7); /* written on success only */
    assert_string_equal(s->error, say);
}

static void test_refused(void **state)
{
    (void)state;
    expect_refused("missing", true, "Could not open stdin file: No such file or directory");
    expect_refused(folder, false, "Could not open stderr file: Is a directory");
}

/* A line of the daemon's must not wait for whoever reads the stream, nor end the daemon. */
static void test_tell(void **state)
{
    struct sample sample;
    struct step *s = sample_init(&sample);
    char block[4096] = { 0 };
    int p[2], fd = -1;
    ssize_t n;

    (void)state;
    output_tell(s, -1, "x", 1);
    assert_int_equal(output_open(s, "stdout", "told", 0, true, &fd), 0);
    output_tell(s, fd, "line\n", 5);
    assert_int_equal(close(fd), 0);
    expect_text("told", "line\n");
    assert_int_equal(pipe2(p, O_CLOEXEC), 0);
    output_tell(s, p[1], "one", 3);
    assert_int_equal(read(p[0], block, sizeof(block)), 3);
    assert_int_equal(fcntl(p[1], F_SETFL, O_NONBLOCK), 0);
    while ((n = write(p[1], block, sizeof(block))) > 0)
        ;
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(p[1], F_SETFL, 0), 0); /* it would wait now */
    output_tell(s, p[1], "lost", 4);
    assert_int_equal(fcntl(p[1], F_GETFL) & O_NONBLOCK, 0); /* the user's stays as it is */
    assert_int_equal(close(p[0]), 0);
    output_tell(s, p[1], "to nobody", 9);
    assert_int_equal(close(p[1]), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_files),
        cmocka_unit_test(test_array),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_tell),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    (void)alarm(60);                /* a test that waits has failed */
    (void)signal(SIGPIPE, SIG_IGN); /* as the daemon does */
    return cmocka_run_group_tests(tests, begin_group, end_group);
}
