/* filter_util.h - sbatch with CliFilterPlugins and a script of the test; needs cli_job_dep */
#pragma once

#include "cli/job/clifilter.h"
#include "output_util.h"

static struct output said;
static struct jobopts opts;
static struct cli cli;
static char script[] = "/tmp/test_filter.XXXXXX";

/* plugins: NULL = the configuration says none. */
UTIL void load_conf(const char *plugins)
{
    char text[256];
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };

    file.len = (size_t)snprintf(text, sizeof(text),
                                "ClusterName=demo\nSlurmctldHost=h\nNodeName=n\n"
                                "CliFilterParameters=cli_filter_lua_path=%s\n%s%s\n",
                                script, plugins ? "CliFilterPlugins=" : "", plugins ? plugins : "");
    if (cli.conf)
        cli.conf = conf_free(cli.conf);
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &cli.conf, NULL, NULL), 0);
}

UTIL void write_script(const char *text)
{
    FILE *f = fopen(script, "we");

    assert_non_null(f);
    (void)fputs(text, f);
    assert_int_equal(fclose(f), 0);
    clifilter_end(&cli); /* the one before */
}

UTIL int begin_filter(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(script, sizeof(script), "/tmp/test_filter.XXXXXX");
    fd = mkstemp(script);
    assert_true(fd >= 0);
    assert_int_equal(close(fd), 0);
    cli_init(&cli, "sbatch");
    jobopts_init(&opts, JOBOPTS_SBATCH);
    return 0;
}

UTIL int end_filter(void **state)
{
    (void)state;
    clifilter_end(&cli);
    jobopts_done(&opts);
    cli_done(&cli);
    (void)unlink(script);
    return 0;
}

/* As the command goes on behind the script; the exit status of a refusal. */
UTIL void run_before(void *ctx)
{
    int r;

    (void)ctx;
    r = clifilter_pre_submit(&cli, &opts, 3);
    if (r)
        exit(r);
}

#define FILTER_TEST(fn) cmocka_unit_test_setup_teardown(fn, begin_filter, end_filter)
