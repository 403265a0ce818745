/* test_archivescript.c - ArchiveScript: what it is told, and how its end is taken */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "acctd/archivescript.h"
#include "base/cleanup.h"
#include "base/timefmt.h"

#define NOW_US (INT64_C(1000000) * 3600 * USEC_PER_SEC + 5 * USEC_PER_SEC)

static char dir[] = "/tmp/test_archivescript.XXXXXX";
static char script[64], told[64];

static int set_up(void **state)
{
    (void)state;
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(script, sizeof(script), "%s/script", dir);
    (void)snprintf(told, sizeof(told), "%s/told", dir);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    (void)unlink(script);
    (void)unlink(told);
    return rmdir(dir);
}

static void write_script(const char *body)
{
    _cleanup_fclose_ FILE *f = fopen(script, "w");

    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\n%s\n", body) > 0);
    assert_int_equal(fchmod(fileno(f), 0700), 0);
}

static int outcome(struct archivescript *s, struct err *err)
{
    int r;

    while ((r = archivescript_look(s, script, err)) == 1)
        (void)usleep(1000);
    return r;
}

static void test_told(void **state)
{
    const struct archive_what what = { .job_h = 24, .jobs = true, .step_h = 1, .events = true };
    struct archivescript s = { 0 };
    struct err err = { .text = "" };
    char text[512] = "", body[160];
    _cleanup_fclose_ FILE *f = NULL;

    (void)state;
    (void)snprintf(body, sizeof(body), "env | grep ^SLURM_ARCHIVE | sort > %s; echo $# >> %s", told,
                   told);
    write_script(body);
    assert_int_equal(setenv("SLURM_ARCHIVE_LAST_TXN", "1", 1),
                     0); /* the daemon's own: not passed on */
    assert_true(archivescript_wanted(&what));
    assert_int_equal(archivescript_start(&s, script, &what, NOW_US, &err), 0);
    assert_int_equal(s.told_us, NOW_US);
    assert_int_equal(outcome(&s, &err), 0);
    assert_int_equal(s.pid, 0);
    f = fopen(told, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    /* an event is not purged, so it is not to be kept; a step is purged without being kept */
    assert_string_equal(text, "SLURM_ARCHIVE_EVENTS=0\n"
                              "SLURM_ARCHIVE_JOBS=1\n"
                              "SLURM_ARCHIVE_LAST_JOB=3599913600\n"
                              "SLURM_ARCHIVE_LAST_STEP=3599996400\n"
                              "SLURM_ARCHIVE_STEPS=0\n"
                              "SLURM_ARCHIVE_SUSPEND=0\n"
                              "SLURM_ARCHIVE_TXN=0\n"
                              "SLURM_ARCHIVE_USAGE=0\n"
                              "0\n");
}

static void test_failures(void **state)
{
    const struct archive_what what = { .txn_h = 1 };
    struct archivescript s = { 0 };
    struct err err = { .text = "" };
    char want[160];

    (void)state;
    write_script("exit 3");
    assert_int_equal(archivescript_start(&s, script, &what, NOW_US, &err), 0);
    assert_int_equal(outcome(&s, &err), -EIO);
    (void)snprintf(want, sizeof(want),
                   "ArchiveScript %s failed with exit code 3, nothing is purged", script);
    assert_string_equal(err.text, want);
    write_script("kill -9 $$");
    assert_int_equal(archivescript_start(&s, script, &what, NOW_US, &err), 0);
    assert_int_equal(outcome(&s, &err), -EIO);
    assert_non_null(strstr(err.text, "ended by signal 9, nothing is purged"));
    assert_int_equal(archivescript_start(&s, "/no/such/program", &what, NOW_US, &err), -ENOENT);
    assert_string_equal(
        err.text, "ArchiveScript /no/such/program: No such file or directory, nothing is purged");
    assert_int_equal(s.pid, 0);
}

/* Reservations and scripts are not told: our files keep them. */
static void test_rest(void **state)
{
    struct archive_what what = { .resv_h = 1, .resvs = true, .script_h = 1, .scripts = true };

    (void)state;
    assert_false(archivescript_wanted(&what));
    what.jobs = what.events = true;
    what.job_h = 1;
    assert_true(archivescript_wanted(&what));
    archivescript_spare(&what);
    assert_false(what.jobs);
    assert_false(what.events);
    assert_true(what.resvs);
    assert_true(what.scripts);
    assert_int_equal(what.job_h, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_told),
        cmocka_unit_test(test_failures),
        cmocka_unit_test(test_rest),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
