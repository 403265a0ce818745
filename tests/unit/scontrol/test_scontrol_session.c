/* test_scontrol_session.c - the connection of a run, and its failures */
#include "scontrol_util.h"

static void test_failures(void **state)
{
    (void)state;
    output_begin(&said, NULL);
    (void)printf("before\n");
    scontrol_fail(&scontrol, "%s %d", "bad", 7);
    output_end(&said);
    expect_said(&said, "before\n", "bad 7\n");
    assert_int_equal(scontrol.status, 1);
}

/* --quiet keeps the line of what is not there, not the exit code. */
static void test_missing(void **state)
{
    (void)state;
    output_begin(&said, NULL);
    scontrol_missing(&scontrol, stdout, "no %s", "a");
    scontrol_missing(&scontrol, stderr, "no %s", "b");
    output_end(&said);
    expect_said(&said, "no a\n", "no b\n");
    assert_int_equal(scontrol.status, 1);
    scontrol.status = 0;
    scontrol.quiet = true;
    output_begin(&said, NULL);
    scontrol_missing(&scontrol, stderr, "no %s", "b");
    scontrol_fail(&scontrol, "bad");
    output_end(&said);
    expect_said(&said, "", "bad\n");
    assert_int_equal(scontrol.status, 1);
}

static void connect_anew(void *ctx)
{
    (void)ctx;
    (void)scontrol_client(&scontrol, "slurm_load_jobs");
}

/* A connection is kept; where there is no controller, the run ends with the sentence of Slurm. */
static void test_connection(void **state)
{
    struct client *c = scontrol.client;

    (void)state;
    assert_ptr_equal(scontrol_client(&scontrol, "x"), c);
    scontrol.client = client_free(c);
    scontrol.cli.timeout_ms = 1;
    output_of(&said, NULL, connect_anew, NULL);
    assert_int_equal(said.status, 1);
    assert_int_equal(strncmp(said.err, "slurm_load_jobs error: ", 23), 0);
    assert_string_equal(said.out, "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_failures),
        SCONTROL_TEST(test_missing),
        SCONTROL_TEST(test_connection),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
