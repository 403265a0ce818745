/* test_witnesscmd.c - penstock witness: the record is made once, by name, and shown */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "penstock/witness/witnesscmd.h"
#include "stream/witfile.h"

static char dir[80], conf[128], record_dir[128];

static int run_command(const char *a, const char *b, const char *c)
{
    char *argv[] = { (char *)"witness", (char *)"-f", conf,
                     (char *)"--state", record_dir,   (char *)a,
                     (char *)b,         (char *)c,    NULL };
    int argc = 5;

    while (argv[argc])
        argc++;
    return cmd_witness(argc, argv);
}

static void write_conf(const char *type)
{
    FILE *f = fopen(conf, "w");

    assert_non_null(f);
    (void)fprintf(f,
                  "ClusterName=tux\nSlurmctldHost=ctl1(127.0.0.1)\nStateSaveLocation=%s\n"
                  "NodeName=n1\nPartitionName=p Nodes=n1\nJournalType=%s\n"
                  "JournalParameters=witness=127.0.0.1:1\n",
                  dir, type);
    assert_int_equal(fclose(f), 0);
}

static void test_record(void **state)
{
    struct witness_state s;
    struct err err = { .text = "" };

    write_conf("stream");
    assert_int_equal(run_command("--check", NULL, NULL), 1); /* there is none */
    assert_int_equal(run_command(NULL, NULL, NULL), 1);
    assert_int_equal(run_command("--new", "ctl2", NULL), 1); /* no controller */
    assert_int_equal(run_command("--new", "ctl1", "--check"), 2);
    assert_int_equal(access(record_dir, F_OK), -1);
    assert_int_equal(run_command("--new", "ctl1", NULL), 0);
    assert_int_equal(witfile_load(record_dir, "tux", &s, &err), 0);
    assert_int_equal(s.record.term, 0);
    assert_string_equal(s.record.in_sync.v[0].host, "ctl1");
    assert_int_equal(run_command("--new", "ctl1", NULL), 1); /* there is one */
    assert_int_equal(run_command("--check", NULL, NULL), 0);
    (void)state;
}

static void test_mistakes(void **state)
{
    char *none[] = { (char *)"witness", NULL };

    write_conf("stream");
    assert_int_equal(cmd_witness(1, none), 2); /* --state is needed */
    assert_int_equal(run_command("more", NULL, NULL), 2);
    assert_int_equal(run_command("--listen", "nowhere", NULL), 1);
    assert_int_equal(run_command("--listen", "h:70000", NULL), 1);
    write_conf("file");
    assert_int_equal(run_command("--check", NULL, NULL), 1);
    (void)state;
}

static int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");

    (void)state;
    (void)snprintf(dir, sizeof(dir), "%.40s/witness-XXXXXX", tmp ? tmp : "/tmp");
    if (!mkdtemp(dir))
        return -1;
    (void)snprintf(conf, sizeof(conf), "%s/slurm.conf", dir);
    (void)snprintf(record_dir, sizeof(record_dir), "%s/record", dir);
    return 0;
}

static int drop_folder(void **state)
{
    char path[160];

    (void)state;
    (void)snprintf(path, sizeof(path), "%s/" WITFILE_NAME, record_dir);
    (void)unlink(path);
    (void)rmdir(record_dir);
    (void)unlink(conf);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_record),
        cmocka_unit_test(test_mistakes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_folder, drop_folder);
}
