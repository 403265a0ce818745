/* test_srun_het.c - the command line of srun as parts of a step */
#include "cli/srun/srun.h"
#include "output_util.h"

static struct output said;
static struct srun srun;
static char *words[32];
static char line_copy[512];

static void forget_job(void)
{
    static const char *const names[] = { "SLURM_JOB_ID",   "SLURM_JOBID",         "SLURM_HET_SIZE",
                                         "SLURM_NNODES",   "SLURM_JOB_NUM_NODES", "SLURM_NTASKS",
                                         "SLURM_PARTITION" };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        (void)unsetenv(names[i]);
}

static int begin_line(void **state)
{
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h\nNodeName=n\n";
    struct conf_text file = { .name = "/etc/slurm.conf", .text = text, .len = sizeof(text) - 1 };

    (void)state;
    forget_job();
    srun = (struct srun){ .argv = words };
    cli_init(&srun.cli, "srun");
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &srun.cli.conf, NULL, NULL), 0);
    return 0;
}

static int end_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < srun.n_parts; i++)
        jobopts_done(&srun.parts[i].opts);
    free(srun.parts);
    cli_done(&srun.cli);
    forget_job();
    return 0;
}

static void set_line(const char *line)
{
    char *save = NULL;

    (void)snprintf(line_copy, sizeof(line_copy), "%s", line);
    srun.argc = 0;
    for (char *w = strtok_r(line_copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[srun.argc++] = w;
    words[srun.argc] = NULL;
}

static void make_parts(void *ctx)
{
    (void)ctx;
    srun_parts(&srun);
}

#define REFUSED(line, text)                                                                        \
    do {                                                                                           \
        set_line(line);                                                                            \
        output_of(&said, NULL, make_parts, NULL);                                                  \
        expect_said(&said, "", text);                                                              \
        assert_int_equal(said.status, 1);                                                          \
    } while (0)

/* The command of a part, its words parted by blanks. */
static void expect_part(size_t i, uint32_t offset, const char *want)
{
    const struct srun_part *p = &srun.parts[i];
    char text[256] = "";

    for (int k = p->first; k < p->end; k++)
        (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
                       k > p->first ? " " : "", p->argv[k]);
    assert_string_equal(text, want);
    assert_int_equal(p->offset, offset);
}

static const char *option_of(size_t i, enum jobopt id)
{
    return jobopts_get(&srun.parts[i].opts, id);
}

static void test_one(void **state)
{
    (void)state;
    set_line("srun -n2 a.out -n7");
    srun_parts(&srun);
    assert_int_equal(srun.n_parts, 1);
    expect_part(0, 0, "a.out -n7"); /* options behind the program are its own */
    assert_string_equal(option_of(0, JO_NTASKS), "2");
    assert_int_equal(srun.het_size, 0);
}

/* A part each, in the order of the line. */
static void test_colon(void **state)
{
    (void)state;
    set_line("srun -n1 a : -n2 b c : -n3 d");
    srun_parts(&srun);
    assert_int_equal(srun.n_parts, 3);
    expect_part(0, 0, "a");
    expect_part(1, 1, "b c");
    expect_part(2, 2, "d");
    assert_string_equal(option_of(1, JO_NTASKS), "2");
    assert_string_equal(option_of(2, JO_NTASKS), "3");
}

/* A part without a command has that of the part behind it. */
static void test_shared_command(void **state)
{
    (void)state;
    set_line("srun -n1 : -n2 : -n3 a b");
    srun_parts(&srun);
    assert_int_equal(srun.n_parts, 3);
    expect_part(0, 0, "a b");
    expect_part(2, 2, "a b");
    assert_string_equal(option_of(0, JO_NTASKS), "1");
    REFUSED("srun -n1 a : -n2", "srun: fatal: No command given to execute.\n");
    REFUSED("srun -n1", "srun: fatal: No command given to execute.\n");
}

static void enter_job(const char *size)
{
    (void)setenv("SLURM_JOB_ID", "7", 1);
    (void)setenv("SLURM_HET_SIZE", size, 1);
}

/* The same program in components of the job around us; ranks go by components. */
static void test_groups(void **state)
{
    (void)state;
    enter_job("4");
    set_line("srun --het-group=2,0-1 a");
    srun_parts(&srun);
    assert_int_equal(srun.het_size, 4);
    assert_int_equal(srun.job_id, 7);
    assert_int_equal(srun.n_parts, 3);
    expect_part(0, 0, "a");
    expect_part(1, 1, "a");
    expect_part(2, 2, "a");
}

static void test_groups_of_parts(void **state)
{
    (void)state;
    enter_job("4");
    set_line("srun --het-group=3 a : --het-group=[0,2] b");
    srun_parts(&srun);
    assert_int_equal(srun.n_parts, 3);
    expect_part(0, 0, "b");
    expect_part(1, 2, "b");
    expect_part(2, 3, "a");
}

/* As recorded. */
static void test_refusals(void **state)
{
    (void)state;
    REFUSED("srun --het-group=0 a",
            "srun: error: --het-group expected to be used within an HetJob allocation\n");
    enter_job("2");
    REFUSED("srun --het-group=0 a : --het-group=0-1 b",
            "srun: fatal: Duplicate het groups in single srun not supported\n");
    REFUSED("srun --het-group=2 a",
            "srun: error: Requested het-group offset exceeds highest hetjob index (2 > 1)\n");
    REFUSED("srun --het-group=0-2 a",
            "srun: error: Attempt to run a job step with het group value of 2, but the job "
            "allocation has maximum value of 1\n");
    REFUSED("srun --het-group=x a", "srun: error: _parse_single_range: Invalid range: `x'\n"
                                    "srun: error: Invalid --het-group value: x\n");
    REFUSED("srun --het-group=1- a", "srun: error: _parse_single_range: Invalid range: `1-'\n"
                                     "srun: error: Invalid --het-group value: 1-\n");
    REFUSED("srun --het-group=1-0 a", "srun: error: _parse_single_range: Invalid range: `1-0'\n"
                                      "srun: error: Invalid --het-group value: 1-0\n");
    REFUSED("srun a : b : c", "srun: error: Job 7 has 2 components, not 3\n");
}

/* In a job without components how many nodes it has is not what each part asks for. */
static void test_shared_job(void **state)
{
    (void)state;
    (void)setenv("SLURM_JOB_ID", "7", 1);
    (void)setenv("SLURM_JOB_NUM_NODES", "4", 1);
    (void)setenv("SLURM_NNODES", "4", 1);
    set_line("srun a : b");
    srun_parts(&srun);
    assert_int_equal(srun.n_parts, 2);
    assert_null(getenv("SLURM_NNODES"));
    assert_false(jobopts_has(&srun.parts[0].opts, JO_NODES));
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_line, end_line)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_one),        ONE(test_colon),           ONE(test_shared_command),
        ONE(test_groups),     ONE(test_groups_of_parts), ONE(test_refusals),
        ONE(test_shared_job),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
