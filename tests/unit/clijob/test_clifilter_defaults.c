/* test_clifilter_defaults.c - ~/.slurm/defaults: which lines are for whom, and mistakes in them */
#include "cli/job/clifilter.h"

#include <sys/stat.h>

#include "output_util.h"

static struct output said;
static struct jobopts opts;
static struct cli cli;

static int begin_options(void **state)
{
    (void)state;
    cli_init(&cli, "sbatch");
    jobopts_init(&opts, JOBOPTS_SBATCH);
    return 0;
}

static int end_options(void **state)
{
    (void)state;
    jobopts_done(&opts);
    cli_done(&cli);
    return 0;
}

static void read_text(const char *text)
{
    char *copy = strdup(text);

    output_begin(&said, NULL);
    clifilter_read_defaults("/h/defaults", copy, "sbatch", "demo", &opts);
    output_end(&said);
    free(copy);
}

static const char *value_of(enum jobopt id)
{
    return jobopts_get(&opts, id);
}

static void test_lines(void **state)
{
    (void)state;
    read_text(
        "# mine\n\n  partition = debug \nsbatch:time=10\nsrun:account=a\nSBATCH:demo:qos=high\n"
        "*:other:comment=x\ndemo : job-name=n\n*:*:nodes=2\nexclusive\n");
    expect_said(&said, "", "");
    assert_string_equal(value_of(JO_PARTITION), "debug");
    assert_string_equal(value_of(JO_TIME), "10");
    assert_null(value_of(JO_ACCOUNT)); /* of another command */
    assert_string_equal(value_of(JO_QOS), "high");
    assert_null(value_of(JO_COMMENT)); /* of another cluster */
    assert_string_equal(value_of(JO_JOB_NAME), "n");
    assert_string_equal(value_of(JO_NODES), "2");
    assert_true(jobopts_has(&opts, JO_EXCLUSIVE));
}

/* What was given otherwise stays. */
static void test_precedence(void **state)
{
    const struct opt_command *cmd = jobopts_command(JOBOPTS_SBATCH);
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(jobopts_set(&opts, opts_find(cmd, JO_PARTITION), "mine", OPT_FROM_ENV, &err),
                     0);
    read_text("partition=debug\nqos=a\n");
    assert_string_equal(value_of(JO_PARTITION), "mine");
    assert_int_equal(jobopts_set(&opts, opts_find(cmd, JO_QOS), "b", OPT_FROM_ARGV, &err), 0);
    assert_string_equal(value_of(JO_QOS), "b");
}

/* The value may hold colons and equal signs. */
static void test_values(void **state)
{
    (void)state;
    read_text("comment=a:b=c\ntime=1:00:00\n");
    expect_said(&said, "", "");
    assert_string_equal(value_of(JO_COMMENT), "a:b=c");
    assert_string_equal(value_of(JO_TIME), "1:00:00");
}

static void test_mistakes(void **state)
{
    (void)state;
    read_text("nosuch=1\npartition\nqos=\n\ntime=soon\nlabel\naccount=good\n");
    expect_out(&said, "");
    assert_non_null(
        strstr(said.err, "sbatch: warning: /h/defaults:1: there is no option nosuch\n"));
    assert_non_null(strstr(said.err, "sbatch: warning: /h/defaults:2: partition takes a value: "
                                     "partition=VALUE\n"));
    assert_non_null(strstr(said.err, "sbatch: warning: /h/defaults:3: qos takes a value: "
                                     "qos=VALUE\n"));
    assert_non_null(strstr(said.err, "sbatch: warning: /h/defaults:5: "));
    assert_null(strstr(said.err, "label")); /* srun has it: one file is for all commands */
    assert_null(value_of(JO_TIME));
    assert_string_equal(value_of(JO_ACCOUNT), "good");
}

static void test_file(void **state)
{
    char home[] = "/tmp/test_home.XXXXXX", path[96];
    FILE *f;
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h\nNodeName=n\n";
    struct conf_text file = { .name = "/etc/slurm.conf", .text = text, .len = sizeof(text) - 1 };

    (void)state;
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &cli.conf, NULL, NULL), 0);
    assert_non_null(mkdtemp(home));
    (void)setenv("HOME", home, 1);
    clifilter_user_defaults(&cli, &opts); /* there is none: nothing is said */
    (void)snprintf(path, sizeof(path), "%s/.slurm", home);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof(path), "%s/.slurm/defaults", home);
    f = fopen(path, "we");
    assert_non_null(f);
    (void)fputs("demo:partition=p1\nother:qos=x\nsbatch:nodes=3", f);
    assert_int_equal(fclose(f), 0);
    clifilter_user_defaults(&cli, &opts);
    assert_string_equal(value_of(JO_PARTITION), "p1");
    assert_null(value_of(JO_QOS));
    assert_string_equal(value_of(JO_NODES), "3");
    (void)unlink(path);
    *strrchr(path, '/') = '\0';
    assert_int_equal(rmdir(path), 0);
    assert_int_equal(rmdir(home), 0);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_options, end_options)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_lines), ONE(test_precedence), ONE(test_values), ONE(test_mistakes), ONE(test_file),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
