/* test_cli_envlist.c - which variables a job gets */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "cli/job/jobenvlist.h"
#include "cli/job/jobopts.h"

static char *const parent[] = { (char *)"FOO=1",          (char *)"BAR=2",     (char *)"PATH=/bin",
                                (char *)"SLURM_JOB_ID=7", (char *)"SPANK_X=1", NULL };

static const struct {
    const char *spec, *foo, *bar, *path, *extra;
    bool login;
} exports[] = {
    { NULL, "1", "2", "/bin", NULL, false },
    { "ALL", "1", "2", "/bin", NULL, false },
    { "NONE", NULL, NULL, NULL, NULL, true },
    { "NIL", NULL, NULL, NULL, NULL, false },
    { "FOO", "1", NULL, NULL, NULL, true },
    { "FOO=9,PATH", "9", NULL, "/bin", NULL, true },
    { "ALL,FOO=9", "9", "2", "/bin", NULL, false },
    { "FOO=9,ALL", "9", "2", "/bin", NULL, false },
    { "EXTRA='a,b',FOO", "1", NULL, NULL, "'a,b'", true },
    { "NOSUCH,EXTRA=", NULL, NULL, NULL, "", true },
};

static void same(const char *got, const char *want)
{
    assert_int_equal(got != NULL, want != NULL);
    if (want)
        assert_string_equal(got, want);
}

static void test_export(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(exports); i++) {
        struct envlist env = ENVLIST_INIT;

        envlist_export(&env, parent, exports[i].spec);
        same(envlist_get(&env, "FOO"), exports[i].foo);
        same(envlist_get(&env, "BAR"), exports[i].bar);
        same(envlist_get(&env, "PATH"), exports[i].path);
        same(envlist_get(&env, "EXTRA"), exports[i].extra);
        same(envlist_get(&env, "SLURM_JOB_ID"), "7");
        same(envlist_get(&env, "SPANK_X"), "1");
        assert_int_equal(envlist_wants_login(exports[i].spec), exports[i].login);
        envlist_done(&env);
    }
}

static void test_set(void **state)
{
    struct envlist env = ENVLIST_INIT;
    ProtobufCBinaryData packed;

    (void)state;
    envlist_set(&env, "A", "1");
    envlist_set(&env, "AB", "2");
    envlist_setf(&env, "A", "%d", 3);
    envlist_set(&env, "C", "4");
    envlist_unset(&env, "AB");
    envlist_unset(&env, "NOSUCH");
    assert_int_equal(env.n, 2);
    envlist_pack(&env, &packed);
    assert_int_equal(packed.len, 8);
    assert_memory_equal(packed.data, "A=3\0C=4\0", 8);
    free(packed.data);
    envlist_done(&env);
}

static void test_file(void **state)
{
    char path[] = "/tmp/pst-env-XXXXXX";
    struct envlist env = ENVLIST_INIT;
    struct err err = { .text = "" };
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "A=1\0junk\0B=x y\0=no\0C=3", 23), 23);
    (void)close(fd);
    assert_int_equal(envlist_read_file(&env, path, &err), 0);
    assert_int_equal(env.n, 3);
    same(envlist_get(&env, "B"), "x y");
    same(envlist_get(&env, "C"), "3");
    (void)unlink(path);
    assert_int_equal(envlist_read_file(&env, "nofile", &err), 1);
    assert_string_equal(err.text, "Could not open user environment file nofile");
    envlist_done(&env);
}

static void test_options(void **state)
{
    char *argv[] = { (char *)"x",
                     (char *)"-n4",
                     (char *)"-c2",
                     (char *)"--mem-per-cpu=1G",
                     (char *)"-m",
                     (char *)"plane=3",
                     (char *)"--gpus-per-task=a100:1",
                     (char *)"--open-mode=truncate",
                     NULL };
    struct envlist env = ENVLIST_INIT;
    struct jobopts jo;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    (void)opts_parse(jobopts_command(JOBOPTS_SBATCH), 8, argv, &jo);
    envlist_add_options(&env, &jo);
    same(envlist_get(&env, "SLURM_NTASKS"), "4");
    same(envlist_get(&env, "SLURM_NPROCS"), "4");
    same(envlist_get(&env, "SLURM_CPUS_PER_TASK"), "2");
    same(envlist_get(&env, "SLURM_MEM_PER_CPU"), "1024");
    same(envlist_get(&env, "SLURM_DISTRIBUTION"), "plane");
    same(envlist_get(&env, "SLURM_DIST_PLANESIZE"), "3");
    same(envlist_get(&env, "SLURM_TRES_PER_TASK"), "cpu=2,gres/gpu:a100=1");
    same(envlist_get(&env, "SLURM_TRES_BIND"), "gres/gpu:per_task:1");
    same(envlist_get(&env, "SLURM_OPEN_MODE"), "t");
    jobopts_done(&jo);
    envlist_done(&env);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_export),
        cmocka_unit_test(test_set),
        cmocka_unit_test(test_file),
        cmocka_unit_test(test_options),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
