/* test_clifilter_lua.c - what the script of the site may do with options */
#include "filter_util.h"

static void give_option(enum jobopt id, const char *value)
{
    struct err err = { .text = "" };

    assert_int_equal(jobopts_set(&opts, opts_find(jobopts_command(JOBOPTS_SBATCH), id), value,
                                 OPT_FROM_ARGV, &err),
                     0);
}

/* The three functions, and what each may be left out. */
#define HEAD                                                                                       \
    "function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end\n"                 \
    "function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end\n"
#define BEFORE(body)                                                                               \
    HEAD "function slurm_cli_pre_submit(options, offset)\n" body "\nreturn slurm.SUCCESS end\n"

static void test_options(void **state)
{
    (void)state;
    load_conf("cli_filter/lua");
    give_option(JO_PARTITION, "debug");
    give_option(JO_COMMENT, "old");
    write_script(BEFORE("assert(options.partition == 'debug')\n"
                        "assert(options.qos == nil)\n"
                        "options['job-name'] = 'filtered'\n"
                        "options.partition = 'batch'\n"
                        "options.comment = nil\n"
                        "assert(offset == 3)"));
    output_begin(&said, NULL);
    assert_int_equal(clifilter_pre_submit(&cli, &opts, 3), 0);
    output_end(&said);
    expect_said(&said, "", "");
    assert_string_equal(jobopts_get(&opts, JO_JOB_NAME), "filtered");
    assert_string_equal(jobopts_get(&opts, JO_PARTITION), "batch");
    assert_false(jobopts_has(&opts, JO_COMMENT));
}

/* A value is checked as on the command line. */
static void test_bad_values(void **state)
{
    (void)state;
    load_conf("lua");
    write_script(BEFORE("options.time = 'soon'"));
    output_of(&said, NULL, run_before, NULL);
    assert_int_equal(said.status, 1);
    assert_non_null(strstr(said.err, "sbatch: error: cli_filter plugin terminated with error\n"));
    write_script(BEFORE("options.nosuch = '1'"));
    output_of(&said, NULL, run_before, NULL);
    assert_int_equal(said.status, 1);
    assert_non_null(strstr(said.err, "there is no option nosuch here"));
}

static void test_refusal(void **state)
{
    (void)state;
    load_conf("lua");
    write_script(HEAD "function slurm_cli_pre_submit(options, offset)\n"
                      "slurm.log_user('not today')\nreturn slurm.ERROR end\n");
    output_of(&said, NULL, run_before, NULL);
    assert_int_equal(said.status, 1);
    assert_non_null(strstr(said.err, "not today"));
    assert_non_null(strstr(said.err, "sbatch: error: cli_filter plugin terminated with error\n"));
}

/* Defaults do not replace what was given; both passes are made. */
static void test_defaults(void **state)
{
    (void)state;
    load_conf("lua");
    give_option(JO_PARTITION, "mine");
    write_script("passes = ''\n"
                 "function slurm_cli_setup_defaults(options, early)\n"
                 "passes = passes .. tostring(early) .. ' '\n"
                 "options.partition = 'theirs'\noptions.qos = 'low'\noptions.comment = passes\n"
                 "return slurm.SUCCESS end\n"
                 "function slurm_cli_pre_submit(options, offset) return slurm.SUCCESS end\n"
                 "function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end\n");
    clifilter_defaults(&cli, &opts);
    assert_string_equal(jobopts_get(&opts, JO_PARTITION), "mine");
    assert_string_equal(jobopts_get(&opts, JO_QOS), "low");
    assert_string_equal(jobopts_get(&opts, JO_COMMENT), "true false ");
}

static void run_after(void *ctx)
{
    (void)ctx;
    (void)clifilter_pre_submit(&cli, &opts, 0);
    clifilter_post_submit(&cli, 2, 77, CLIFILTER_NO_STEP);
}

/* What one function keeps the next one finds; the numbers are those of the job. */
static void test_after(void **state)
{
    (void)state;
    load_conf("lua");
    give_option(JO_PARTITION, "debug");
    write_script("function slurm_cli_setup_defaults(options, early) return slurm.SUCCESS end\n"
                 "function slurm_cli_pre_submit(options, offset)\n"
                 "slurm.cli_store('opts', slurm.json_cli_options(options))\n"
                 "return slurm.SUCCESS end\n"
                 "function slurm_cli_post_submit(offset, job, step)\n"
                 "slurm.log_user(slurm.program .. offset .. ' ' .. job .. ' ' .. step .. ' ' .. "
                 "slurm.cli_retrieve('opts'))\n"
                 "return slurm.SUCCESS end\n");
    output_of(&said, NULL, run_after, NULL);
    assert_int_equal(said.status, 0);
    assert_non_null(strstr(said.err, "sbatch2 77 4294967294 {\"partition\":\"debug\"}"));
}

/* The script is not there: nothing is submitted past it. */
static void test_missing_script(void **state)
{
    (void)state;
    load_conf("lua");
    (void)unlink(script);
    output_of(&said, NULL, run_before, NULL);
    assert_int_equal(said.status, 1);
    assert_int_equal(strncmp(said.err, "sbatch: fatal: ", 15), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILTER_TEST(test_options),  FILTER_TEST(test_bad_values), FILTER_TEST(test_refusal),
        FILTER_TEST(test_defaults), FILTER_TEST(test_after),      FILTER_TEST(test_missing_script),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
