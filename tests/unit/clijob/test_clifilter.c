/* test_clifilter.c - the list of filters: which are asked, and in which order */
#include <sys/stat.h>

#include "filter_util.h"

/* A home with these defaults; the caller removes it. */
static void make_home(char *home, const char *text)
{
    char path[96];
    FILE *f;

    assert_non_null(mkdtemp(home));
    (void)snprintf(path, sizeof(path), "%s/.slurm", home);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/.slurm/defaults", home);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
    (void)setenv("HOME", home, 1);
}

static void drop_home(const char *home)
{
    char path[96];

    (void)snprintf(path, sizeof(path), "%s/.slurm/defaults", home);
    (void)unlink(path);
    (void)snprintf(path, sizeof(path), "%s/.slurm", home);
    (void)rmdir(path);
    assert_int_equal(rmdir(home), 0);
}

#define SCRIPT                                                                                     \
    "function slurm_cli_setup_defaults(options, early)\n"                                          \
    "options.partition = 'script'\noptions.qos = 'script'\nreturn slurm.SUCCESS end\n"             \
    "function slurm_cli_pre_submit(options, offset) return slurm.SUCCESS end\n"                    \
    "function slurm_cli_post_submit(offset, job, step) return slurm.SUCCESS end\n"

/* Of two filters the later one's defaults stand. */
static void test_order(void **state)
{
    char home[] = "/tmp/test_home.XXXXXX";

    (void)state;
    make_home(home, "partition=mine\ncomment=mine\n");
    load_conf("cli_filter/lua,user_defaults");
    write_script(SCRIPT);
    clifilter_defaults(&cli, &opts);
    assert_string_equal(jobopts_get(&opts, JO_PARTITION), "mine");
    assert_string_equal(jobopts_get(&opts, JO_QOS), "script");
    assert_string_equal(jobopts_get(&opts, JO_COMMENT), "mine");
    load_conf("USER_DEFAULTS,Cli_Filter/LUA,");
    clifilter_defaults(&cli, &opts);
    assert_string_equal(jobopts_get(&opts, JO_PARTITION), "script");
    drop_home(home);
}

static void test_none(void **state)
{
    (void)state;
    load_conf(NULL);
    clifilter_defaults(&cli, &opts);
    assert_int_equal(clifilter_pre_submit(&cli, &opts, 0), 0);
    clifilter_post_submit(&cli, 0, 7, CLIFILTER_NO_STEP);
    assert_null(cli.filter);
}

/* A list of both; a word that is neither ends the command. */
static void test_list(void **state)
{
    (void)state;
    load_conf("cli_filter/user_defaults");
    (void)setenv("HOME", "/nonexistent", 1);
    clifilter_defaults(&cli, &opts);
    assert_int_equal(clifilter_pre_submit(&cli, &opts, 0), 0); /* no script is looked for */
    assert_null(cli.filter);
    load_conf("user_defaults,nosuch");
    output_of(&said, NULL, run_before, NULL);
    expect_said(&said, "",
                "sbatch: fatal: CliFilterPlugins: there is no nosuch; there are lua and "
                "user_defaults\n");
    assert_int_equal(said.status, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILTER_TEST(test_order),
        FILTER_TEST(test_none),
        FILTER_TEST(test_list),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
