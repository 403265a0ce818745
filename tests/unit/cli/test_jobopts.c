/* test_jobopts.c - what is refused and in which words; precedence of sources */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "cli/base/cli.h"
#include "cli/job/gresopts.h"
#include "cli/job/jobopts.h"

#define S JOBOPTS_SBATCH
#define R JOBOPTS_SRUN
#define A JOBOPTS_SALLOC

static const struct {
    enum jobopts_cmd cmd;
    enum jobopt id;
    const char *value;
    int status;
    const char *text;
} bad[] = {
    { S, JO_NTASKS, "abc", 1, "Invalid numeric value \"abc\" for --ntasks." },
    { S, JO_NTASKS, "0", 1, "Invalid numeric value \"0\" for --ntasks." },
    { S, JO_NTASKS, "-3", 1, "Invalid numeric value \"-3\" for --ntasks." },
    { S, JO_NTASKS, "4294967296", 1, "Numeric argument (4294967296) too large for --ntasks." },
    { S, JO_CPUS_PER_TASK, "0", 1, "Invalid numeric value \"0\" for --cpus-per-task." },
    { S, JO_CPUS_PER_TASK, "2x", 1, "Invalid numeric value \"2x\" for --cpus-per-task." },
    { S, JO_NODES, "2-1", 255, "Maximum node count 1 is less than minimum node count 2" },
    { S, JO_NODES, "abc", 255, "\"abc\" is not a valid node count" },
    { S, JO_NODES, "1-", 255, "Maximum node count -1 is less than minimum node count 1" },
    { S, JO_NODES, "1-2-3", 255, "\"2-3\" is not a valid node count" },
    { S, JO_NODES, "1,x", 255, "\"1,x\" is not a valid node count" },
    { S, JO_NODES, "2-8:0", 255, "\"2-8:0\" is not a valid node count" },
    { S, JO_NODES, "1-300:1", 255, "--nodes names more than 256 node counts" },
    { S, JO_TIME, "abc", 255, "Invalid --time specification" },
    { S, JO_TIME, "1:2:3:4", 255, "Invalid --time specification" },
    { S, JO_TIME, "", 255, "Invalid --time specification" },
    { S, JO_TIME_MIN, "x", 255, "Invalid --time-min specification" },
    { S, JO_MEM, "1P", 255, "Invalid --mem specification" },
    { S, JO_MEM, "abc", 255, "Invalid --mem specification" },
    { S, JO_MEM, "-1", 255, "Invalid --mem specification" },
    { S, JO_MEM, "99999999999999999999", 255, "Invalid --mem specification" },
    { S, JO_MEM_PER_CPU, "1.5G", 255, "Invalid --mem-per-cpu specification" },
    { S, JO_TMP, "x", 255, "Invalid --tmp specification" },
    { S, JO_BEGIN, "yesterday", 255, "Invalid --begin specification" },
    { S, JO_BEGIN, "25:00", 255, "Invalid --begin specification" },
    { S, JO_BEGIN, "now+1fortnight", 255, "Invalid --begin specification" },
    { S, JO_DEADLINE, "never", 255, "Invalid --deadline specification" },
    { S, JO_MEM_UPDATE, "x", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_MEM_UPDATE, "@5", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_MEM_UPDATE, "20@", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_MEM_UPDATE, "20@0", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_MEM_UPDATE, "-1@5", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_MEM_UPDATE, "10001@5", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_MEM_UPDATE, "20@5@5", 255, "--mem-update requires MARGIN@DELAY format" },
    { S, JO_SIGNAL, "FOO@60", 255, "Invalid --signal specification" },
    { S, JO_SIGNAL, "USR1@-1", 255, "Invalid --signal specification" },
    { S, JO_SIGNAL, "B:", 255, "Invalid --signal specification" },
    { S, JO_MAIL_TYPE, "FOO", 255, "Invalid --mail-type specification" },
    { S, JO_DISTRIBUTION, "foo", 255, "Invalid --distribution specification" },
    { S, JO_DISTRIBUTION, "plane=0", 255, "Invalid --distribution specification" },
    { S, JO_DISTRIBUTION, "block:block:block:block", 255, "Invalid --distribution specification" },
    { S, JO_EXCLUSIVE, "foo", 255, "Invalid --exclusive specification" },
    { S, JO_OPEN_MODE, "x", 255, "Invalid --open-mode specification" },
    { S, JO_HINT, "foo", 1, "unrecognized --hint argument \"foo\", see --hint=help" },
    { S, JO_SWITCHES, "x", 1, "Invalid numeric value \"x\" for --switches." },
    { S, JO_SWITCHES, "0", 1, "Invalid numeric value \"0\" for --switches." },
    { S, JO_ACCTG_FREQ, "x", 255, "Invalid --acctg-freq specification: x" },
    { S, JO_ACCTG_FREQ, "task=", 255, "Invalid --acctg-freq specification: task=" },
    { S, JO_NICE, "2147483646", 255, "Invalid --nice value, out of range (+/- 2147483645)" },
    { S, JO_PRIORITY, "5000000000", 255, "Priority must be < 4294967294" },
    { S, JO_PROFILE, "some", 255, "invalid --profile=some option" },
    { S, JO_PROPAGATE, "NOFILE,FOO", 1, "--propagate=NOFILE,FOO is not valid." },
    { S, JO_CPU_FREQ, "fast", 255, "Invalid --cpu-freq argument" },
    { S, JO_GPU_FREQ, "x", 255, "Invalid --gpu-freq argument: gpu:x" },
    { S, JO_SEGMENT, "x", 255, "Invalid --segment specification" },
    { S, JO_EXTRA_NODE_INFO, "2:4:x", 1, "Invalid numeric value \"x\" for third arg of -B." },
    { S, JO_REQUEUE, "soon", 255, "Invalid --requeue specification" },
    { S, JO_KILL_ON_INVALID_DEP, "maybe", 255, "Invalid --kill-on-invalid-dep specification" },
    { S, JO_MEM_BIND, "map_mem:", 255, "unrecognized --mem-bind argument \"map_mem:\"" },
    { R, JO_MPI, "foo", 1, "Invalid MPI type 'foo', --mpi=list for acceptable types" },
    { R, JO_JOBID, "abc", 1, "" },
    { S, JO_WAIT_ALL_NODES, "x", 1, "Invalid numeric value \"x\" for --wait-all-nodes." },
    { S, JO_WAIT_ALL_NODES, "2", 255, "Invalid --wait-all-nodes specification" },
    { S, JO_WAIT_ALL_NODES, "-1", 255, "Invalid --wait-all-nodes specification" },
    { R, JO_OOM_KILL_STEP, "2", 255, "Invalid --oom-kill-step specification" },
    { R, JO_OOM_KILL_STEP, "x", 1, "Invalid numeric value \"x\" for --oom-kill-step." },
    { R, JO_WAIT_TASKS, "x", 1, "Invalid numeric value \"x\" for --wait." },
    { R, JO_KILL_ON_BAD_EXIT, "x", 1, "Invalid numeric value \"x\" for --kill-on-bad-exit." },
    { R, JO_IGNORE_SIGNALS, "SIGFOO", 255, "Invalid signal name or number: SIGFOO" },
    { A, JO_IMMEDIATE, "x", 1, "Invalid numeric value \"x\" for immediate." },
    { A, JO_KILL_COMMAND, "FOO", 255, "Invalid --kill-command specification" },
};

static int set(struct jobopts *jo, enum jobopt id, const char *value, enum opt_source source,
               struct err *err)
{
    const struct opt *o = opts_find(jobopts_command(jo->cmd), (int)id);

    assert_non_null(o);
    return jobopts_set(jo, o, value, source, err);
}

static void test_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
        struct err err = { .text = "" };
        struct jobopts jo;

        jobopts_init(&jo, bad[i].cmd);
        assert_int_equal(set(&jo, bad[i].id, bad[i].value, OPT_FROM_ARGV, &err), bad[i].status);
        assert_string_equal(err.text, bad[i].text);
        assert_false(jobopts_has(&jo, bad[i].id));
        jobopts_done(&jo);
    }
}

/* opts.c refuses these before jobopts_set() is called, with the reason of the row. */
static void test_refused_rows(void **state)
{
    static const enum jobopt refused[] = { JO_CONTAINER_TYPE, JO_BBF };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
        const struct opt *o = opts_find(jobopts_command(S), (int)refused[i]);

        assert_non_null(o);
        assert_non_null(o->refused);
        assert_null(o->help);
    }
}

static const struct {
    enum jobopt id;
    const char *value;
} fine[] = {
    { JO_NTASKS, "2" },
    { JO_NODES, "0" },
    { JO_NODES, "1-4" },
    { JO_TIME, "-5" },
    { JO_TIME, "3-00" },
    { JO_TIME, "0" },
    { JO_TIME, "UNLIMITED" },
    { JO_MEM, "0" },
    { JO_MEM, "4GB" },
    { JO_SIGNAL, "B:USR1@50" },
    { JO_SIGNAL, "SIGTERM" },
    { JO_SIGNAL, "12@0" },
    { JO_MAIL_TYPE, "end,FAIL" },
    { JO_DISTRIBUTION, "cyclic:fcyclic,NoPack" },
    { JO_DISTRIBUTION, "plane=3" },
    { JO_EXCLUSIVE, NULL },
    { JO_EXCLUSIVE, "user" },
    { JO_ARRAY, "0-15:4,20%3" },
    { JO_NICE, NULL },
    { JO_NICE, "-10" },
    { JO_PRIORITY, "TOP" },
    { JO_GPUS, "abc" },
    { JO_GPUS, "a100:2,1" },
    { JO_SWITCHES, "1@10:00" },
    { JO_SWITCHES, "1@x" },
    { JO_CPU_FREQ, "low-high:OnDemand" },
    { JO_GPU_FREQ, "memory=high,medium,verbose" },
    { JO_MAIL_TYPE, "END,foo" },
    { JO_NICE, "low" },
    { JO_NODES, "-2" },
    { JO_EXCLUSIVE, "" },
    { JO_ACCTG_FREQ, "30" },
    { JO_ACCTG_FREQ, "task=30,energy=0" },
    { JO_TRES_PER_TASK, "cpu=2,gres/gpu:a100=1" },
    { JO_EXTRA_NODE_INFO, "2:*:1" },
};

static void test_accepted(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(fine); i++) {
        struct err err = { .text = "" };
        struct jobopts jo;

        jobopts_init(&jo, JOBOPTS_SBATCH);
        assert_int_equal(set(&jo, fine[i].id, fine[i].value, OPT_FROM_ARGV, &err), 0);
        assert_string_equal(err.text, "");
        assert_true(jobopts_has(&jo, fine[i].id));
        jobopts_done(&jo);
    }
}

static void test_precedence(void **state)
{
    struct jobopts jo;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    assert_int_equal(set(&jo, JO_NTASKS, "3", OPT_FROM_ARGV, NULL), 0);
    assert_int_equal(set(&jo, JO_NTASKS, "1", OPT_FROM_SCRIPT, NULL), 0);
    assert_int_equal(set(&jo, JO_NTASKS, "2", OPT_FROM_ENV, NULL), 0);
    assert_string_equal(jobopts_get(&jo, JO_NTASKS), "3");
    assert_int_equal(set(&jo, JO_TASKS_PER_NODE, "2", OPT_FROM_SCRIPT, NULL), 0);
    assert_string_equal(jobopts_get(&jo, JO_NTASKS_PER_NODE), "2");
    jobopts_done(&jo);
}

/* The better source of an exclusive family wins; two of one source clash. */
static void test_memory_family(void **state)
{
    struct jobopts jo;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    assert_int_equal(set(&jo, JO_MEM, "1", OPT_FROM_ARGV, NULL), 0);
    assert_int_equal(set(&jo, JO_MEM_PER_CPU, "2", OPT_FROM_SCRIPT, NULL), 0);
    assert_false(jobopts_has(&jo, JO_MEM_PER_CPU));
    assert_int_equal(gresopts_check(&jo), 0);
    assert_int_equal(set(&jo, JO_MEM_PER_CPU, "2", OPT_FROM_ARGV, NULL), 0);
    assert_int_equal(gresopts_check(&jo), 1);
    jobopts_done(&jo);
    jobopts_init(&jo, JOBOPTS_SRUN);
    assert_int_equal(set(&jo, JO_MEM_PER_CPU, "100", OPT_FROM_ENV, NULL), 0);
    assert_int_equal(set(&jo, JO_MEM, "5", OPT_FROM_ARGV, NULL), 0);
    assert_false(jobopts_has(&jo, JO_MEM_PER_CPU));
    jobopts_done(&jo);
}

static void test_nodes_fit(void **state)
{
    struct jobopts jo;
    uint32_t min, max;

    (void)state;
    jobopts_init(&jo, JOBOPTS_SBATCH);
    jo.verbose = -1;
    assert_int_equal(set(&jo, JO_NTASKS, "2", OPT_FROM_SCRIPT, NULL), 0);
    assert_int_equal(set(&jo, JO_NODES, "100", OPT_FROM_ARGV, NULL), 0);
    assert_int_equal(gresopts_check(&jo), 0);
    jobopts_nodes(&jo, &min, &max);
    assert_int_equal(min, 2);
    assert_int_equal(max, 2);
    jobopts_done(&jo);
}

static const struct {
    enum jobopt a;
    const char *av;
    enum jobopt b;
    const char *bv;
} clashes[] = {
    { JO_EXCLUSIVE, NULL, JO_OVERSUBSCRIBE, NULL },
    { JO_CPUS_PER_GPU, "2", JO_CPUS_PER_TASK, "2" },
    { JO_GPUS_PER_SOCKET, "1", JO_NTASKS, "2" },
    { JO_GPUS_PER_TASK, "1", JO_MEM, "2" },
    { JO_GPUS_PER_TASK, "1", JO_NTASKS_PER_GPU, "2" },
    { JO_TRES_PER_TASK, "mem=3", JO_NTASKS, "2" },
    { JO_TRES_PER_TASK, "cpu=2", JO_CPUS_PER_TASK, "2" },
    { JO_GRES, "gpu:1", JO_GPUS_PER_NODE, "1" },
    { JO_SEGMENT, "2", JO_NODES, "3" },
};

static void test_clashes(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(clashes); i++) {
        struct jobopts jo;

        jobopts_init(&jo, JOBOPTS_SBATCH);
        assert_int_equal(set(&jo, clashes[i].a, clashes[i].av, OPT_FROM_ARGV, NULL), 0);
        assert_int_equal(set(&jo, clashes[i].b, clashes[i].bv, OPT_FROM_ARGV, NULL), 0);
        assert_int_equal(gresopts_check(&jo), 1);
        jobopts_done(&jo);
    }
}

/* Every row has a name of its own per command, and hidden rows are refused or harmless. */
static void test_table(void **state)
{
    static const enum jobopts_cmd cmds[] = { S, R, A };

    (void)state;
    for (size_t c = 0; c < ARRAY_SIZE(cmds); c++) {
        const struct opt_command *cmd = jobopts_command(cmds[c]);

        for (size_t i = 0; i < cmd->n; i++) {
            for (size_t k = i + 1; k < cmd->n; k++) {
                const struct opt *a = &cmd->rows[i], *b = &cmd->rows[k];

                if (!(a->applies & b->applies & cmd->bit))
                    continue;
                assert_string_not_equal(a->name, b->name);
                assert_true(!a->letter || a->letter != b->letter);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_refused),       cmocka_unit_test(test_refused_rows),
        cmocka_unit_test(test_accepted),      cmocka_unit_test(test_precedence),
        cmocka_unit_test(test_memory_family), cmocka_unit_test(test_nodes_fit),
        cmocka_unit_test(test_clashes),       cmocka_unit_test(test_table),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
