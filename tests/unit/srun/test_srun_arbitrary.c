/* test_srun_arbitrary.c - srun --distribution=arbitrary: a list says where each task runs */
#include "cli/srun/srun.h"
#include "output_util.h"

static struct output said;
static struct srun_part part;

static int begin_part(void **state)
{
    (void)state;
    static struct cli cli;

    cli_init(&cli, "srun");
    (void)unsetenv("SLURM_HOSTFILE");
    part = (struct srun_part){ 0 };
    jobopts_init(&part.opts, JOBOPTS_SRUN);
    return 0;
}

static int end_part(void **state)
{
    (void)state;
    jobopts_done(&part.opts);
    (void)unsetenv("SLURM_HOSTFILE");
    return 0;
}

static void give(enum jobopt id, const char *value, enum opt_source source)
{
    struct err err = { .text = "" };

    assert_int_equal(
        jobopts_set(&part.opts, opts_find(jobopts_command(JOBOPTS_SRUN), id), value, source, &err),
        0);
}

static const char *value_of(enum jobopt id)
{
    return jobopts_get(&part.opts, id);
}

static void settle(void *ctx)
{
    (void)ctx;
    srun_arbitrary(&part);
}

#define REFUSED(text)                                                                              \
    do {                                                                                           \
        output_of(&said, NULL, settle, NULL);                                                      \
        expect_said(&said, "", "srun: error: " text "\n");                                         \
        assert_int_equal(said.status, 1);                                                          \
    } while (0)

/* A name for each task, in the order given. */
static void test_list(void **state)
{
    (void)state;
    give(JO_DISTRIBUTION, "arbitrary", OPT_FROM_ARGV);
    give(JO_NODELIST, "n2,n1,n2,n[3-4]", OPT_FROM_ARGV);
    srun_arbitrary(&part);
    assert_string_equal(value_of(JO_NODELIST), "n2,n1,n2,n3,n4");
    assert_string_equal(value_of(JO_NTASKS), "5");
}

static void test_fewer_tasks(void **state)
{
    (void)state;
    give(JO_DISTRIBUTION, "Arbitrary", OPT_FROM_ARGV);
    give(JO_NODELIST, "n2*2,n1", OPT_FROM_ARGV);
    give(JO_NTASKS, "2", OPT_FROM_ARGV);
    srun_arbitrary(&part);
    assert_string_equal(value_of(JO_NODELIST), "n2,n2");
    assert_string_equal(value_of(JO_NTASKS), "2");
}

static void test_other_distributions(void **state)
{
    (void)state;
    give(JO_DISTRIBUTION, "block", OPT_FROM_ARGV);
    give(JO_NODELIST, "n[1-2]", OPT_FROM_ARGV);
    srun_arbitrary(&part);
    assert_string_equal(value_of(JO_NODELIST), "n[1-2]");
    assert_null(value_of(JO_NTASKS));
}

static void test_hostfile(void **state)
{
    char path[] = "/tmp/test_hosts.XXXXXX";
    int fd = mkstemp(path);

    (void)state;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "n3\nn1\nn3\n", 9), 9);
    assert_int_equal(close(fd), 0);
    (void)setenv("SLURM_HOSTFILE", path, 1);
    give(JO_DISTRIBUTION, "arbitrary", OPT_FROM_ARGV);
    srun_arbitrary(&part);
    assert_string_equal(value_of(JO_NODELIST), "n3,n1,n3");
    (void)unlink(path);
}

/* More tasks than names; a job's number of tasks is not the step's. */
static void test_too_many(void **state)
{
    (void)state;
    give(JO_DISTRIBUTION, "arbitrary", OPT_FROM_ARGV);
    give(JO_NODELIST, "n1,n2", OPT_FROM_ARGV);
    give(JO_NTASKS, "9", OPT_FROM_ENV);
    srun_arbitrary(&part);
    assert_string_equal(value_of(JO_NTASKS), "2");
    give(JO_NTASKS, "3", OPT_FROM_ARGV);
    REFUSED("--distribution=arbitrary: 3 tasks, and the list has 2 nodes");
}

static void test_no_list(void **state)
{
    (void)state;
    give(JO_DISTRIBUTION, "arbitrary", OPT_FROM_ARGV);
    REFUSED("With Arbitrary distribution you need to specify a nodelist or hostfile with the -w "
            "option");
    part.opts.in_allocation = true;
    REFUSED("--distribution=arbitrary needs a list of nodes: -w, or SLURM_HOSTFILE");
}

/* Of the step around us, whose list was its own. */
static void test_inherited(void **state)
{
    (void)state;
    give(JO_DISTRIBUTION, "arbitrary", OPT_FROM_ENV);
    srun_arbitrary(&part);
    assert_false(jobopts_has(&part.opts, JO_DISTRIBUTION));
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_part, end_part)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_list),      ONE(test_fewer_tasks), ONE(test_other_distributions),
        ONE(test_hostfile),  ONE(test_too_many),    ONE(test_no_list),
        ONE(test_inherited),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
