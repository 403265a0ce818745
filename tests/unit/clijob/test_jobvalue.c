/* test_jobvalue.c - are the values of options of sbatch, srun and salloc what they should be?
 *
 * Sentences and exit statuses are those of recorded sessions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "cli/job/jobvalue.h"

struct row {
    enum jobvalue_kind kind;
    const char *option, *value;
    int status; /* 0: it is taken */
    const char *text;
};

static void check_rows(const struct row *rows, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct opt o = { .name = rows[i].option };
        struct err err = { .text = "" };
        int r = jobvalue_check(rows[i].kind, &o, rows[i].value, &err);

        if (r != rows[i].status || strcmp(err.text, rows[i].text ? rows[i].text : "") != 0)
            fail_msg("--%s=%s: %d '%s'", rows[i].option, rows[i].value ? rows[i].value : "(none)",
                     r, err.text);
    }
}

#define TAKEN(kind, option, value)                                                                 \
    {                                                                                              \
        kind, option, value, 0, NULL                                                               \
    }
#define REFUSED(kind, option, value, status, text)                                                 \
    {                                                                                              \
        kind, option, value, status, text                                                          \
    }

static void test_numbers(void **state)
{
    static const struct row rows[] = {
        TAKEN(KIND_COUNT, "ntasks", "1"),
        TAKEN(KIND_COUNT, "ntasks", "2147483647"),
        REFUSED(KIND_COUNT, "ntasks", "0", 1, "Invalid numeric value \"0\" for --ntasks."),
        REFUSED(KIND_COUNT, "ntasks", "-3", 1, "Invalid numeric value \"-3\" for --ntasks."),
        REFUSED(KIND_COUNT, "ntasks", "abc", 1, "Invalid numeric value \"abc\" for --ntasks."),
        REFUSED(KIND_COUNT, "ntasks", "4x", 1, "Invalid numeric value \"4x\" for --ntasks."),
        REFUSED(KIND_COUNT, "ntasks", "", 1, "Invalid numeric value \"\" for --ntasks."),
        REFUSED(KIND_COUNT, "ntasks", "2147483648", 1,
                "Numeric argument (2147483648) too large for --ntasks."),
        REFUSED(KIND_COUNT, "ntasks", "99999999999999999999999", 1,
                "Numeric argument (99999999999999999999999) too large for --ntasks."),
        TAKEN(KIND_COUNT0, "immediate", "0"),
        REFUSED(KIND_COUNT0, "immediate", "x", 1, "Invalid numeric value \"x\" for immediate."),
        TAKEN(KIND_PORTS, "resv-ports", NULL),
        TAKEN(KIND_PORTS, "resv-ports", "65535"),
        REFUSED(KIND_PORTS, "resv-ports", "x", 1, "Invalid numeric value \"x\" for --resv-port."),
        TAKEN(KIND_SECS, "wait-all-nodes", NULL),
        TAKEN(KIND_BIT, "kill-on-bad-exit", "1"),
        TAKEN(KIND_BIT, "kill-on-bad-exit", NULL),
        REFUSED(KIND_BIT, "kill-on-bad-exit", "2", 255, "Invalid --kill-on-bad-exit specification"),
        TAKEN(KIND_TREEWIDTH, "treewidth", "OFF"),
        TAKEN(KIND_TREEWIDTH, "treewidth", "65533"),
        TAKEN(KIND_SWITCHES, "switches", "1"),
        TAKEN(KIND_SWITCHES, "switches", "2@10:00"),
        REFUSED(KIND_SWITCHES, "switches", "x", 1, "Invalid numeric value \"x\" for --switches."),
        REFUSED(KIND_SWITCHES, "switches", "@1", 1, "Invalid numeric value \"\" for --switches."),
        REFUSED(KIND_SEGMENT, "segment", "x", 255, "Invalid --segment specification"),
        TAKEN(KIND_SEGMENT, "segment", "4"),
        TAKEN(KIND_NICE, "nice", NULL),
        TAKEN(KIND_NICE, "nice", "-2147483645"),
        REFUSED(KIND_NICE, "nice", "2147483646", 255,
                "Invalid --nice value, out of range (+/- 2147483645)"),
        TAKEN(KIND_PRIORITY, "priority", "4294967293"),
        REFUSED(KIND_PRIORITY, "priority", "4294967294", 255, "Priority must be < 4294967294"),
        REFUSED(KIND_PRIORITY, "priority", "-1", 255, "Priority must be >= 0"),
    };

    (void)state;
    check_rows(rows, ARRAY_SIZE(rows));
}

static void test_sizes_and_times(void **state)
{
    static const struct row rows[] = {
        TAKEN(KIND_TIME, "time", "30"),
        TAKEN(KIND_TIME, "time", "1-00:00:00"),
        TAKEN(KIND_TIME, "time", "UNLIMITED"),
        TAKEN(KIND_TIME, "time", "-1"),
        REFUSED(KIND_TIME, "time", "soon", 255, "Invalid --time specification"),
        REFUSED(KIND_TIME, "time", "1-2-3", 255, "Invalid --time specification"),
        TAKEN(KIND_MEM, "mem", "1"),
        TAKEN(KIND_MEM, "mem", "4G"),
        TAKEN(KIND_MEM, "mem", "2t"),
        REFUSED(KIND_MEM, "mem", "4X", 255, "Invalid --mem specification"),
        REFUSED(KIND_MEM, "mem", "-4", 255, "Invalid --mem specification"),
        REFUSED(KIND_MEM, "mem", "G", 255, "Invalid --mem specification"),
        REFUSED(KIND_MEM, "mem", "", 255, "Invalid --mem specification"),
        TAKEN(KIND_WHEN, "begin", "now+1hour"),
        TAKEN(KIND_WHEN, "begin", "2030-01-20T12:34:00"),
        REFUSED(KIND_WHEN, "begin", "yesterday", 255, "Invalid --begin specification"),
        REFUSED(KIND_WHEN, "begin", "", 255, "Invalid --begin specification"),
        TAKEN(KIND_NODES, "nodes", "2"),
        TAKEN(KIND_NODES, "nodes", "2-4"),
        TAKEN(KIND_NODES, "nodes", "1,4,16"),
        REFUSED(KIND_NODES, "nodes", "2-1", 255,
                "Maximum node count 1 is less than minimum node count 2"),
        REFUSED(KIND_NODES, "nodes", "x", 255, "\"x\" is not a valid node count"),
        REFUSED(KIND_NODES, "nodes", "2-x", 255, "\"x\" is not a valid node count"),
        TAKEN(KIND_GEOMETRY, "extra-node-info", "2:4:1"),
        TAKEN(KIND_GEOMETRY, "extra-node-info", "*:2"),
        REFUSED(KIND_GEOMETRY, "extra-node-info", "1:x", 1,
                "Invalid numeric value \"x\" for second arg of -B."),
    };

    (void)state;
    check_rows(rows, ARRAY_SIZE(rows));
}

static void test_words(void **state)
{
    static const struct row rows[] = {
        TAKEN(KIND_FLAG, "hold", NULL),
        TAKEN(KIND_TEXT, "comment", "any; thing"),
        TAKEN(KIND_EXCLUSIVE, "exclusive", NULL),
        TAKEN(KIND_EXCLUSIVE, "exclusive", ""),
        TAKEN(KIND_EXCLUSIVE, "exclusive", "USER"),
        REFUSED(KIND_EXCLUSIVE, "exclusive", "users", 255, "Invalid --exclusive specification"),
        TAKEN(KIND_OPENMODE, "open-mode", "a"),
        TAKEN(KIND_OPENMODE, "open-mode", "truncate"),
        REFUSED(KIND_OPENMODE, "open-mode", "x", 255, "Invalid --open-mode specification"),
        REFUSED(KIND_OPENMODE, "open-mode", "", 255, "Invalid --open-mode specification"),
        TAKEN(KIND_REQUEUE, "requeue", ""),
        TAKEN(KIND_REQUEUE, "requeue", "expedite"),
        TAKEN(KIND_MAILTYPE, "mail-type", "BEGIN,END"),
        REFUSED(KIND_MAILTYPE, "mail-type", "SOON", 255, "Invalid --mail-type specification"),
        TAKEN(KIND_DIST, "distribution", "block:cyclic"),
        REFUSED(KIND_DIST, "distribution", "foo", 255, "Invalid --distribution specification"),
        TAKEN(KIND_WARN, "signal", "B:USR1@60"),
        REFUSED(KIND_WARN, "signal", "B:NONE@60", 255, "Invalid --signal specification"),
        TAKEN(KIND_SIGNALS, "interrupt", "TERM,10"),
        REFUSED(KIND_SIGNALS, "interrupt", "TERM,FOO", 255, "Invalid signal name or number: FOO"),
        REFUSED(KIND_SIGNALS, "interrupt", "TERM,", 255, "Invalid --interrupt specification"),
        TAKEN(KIND_HINT, "hint", "nomultithread"),
        TAKEN(KIND_HINT, "hint", "compute_bound,multithread"),
        REFUSED(KIND_HINT, "hint", "foo", 1,
                "unrecognized --hint argument \"foo\", see --hint=help"),
        TAKEN(KIND_ACCTG, "acctg-freq", "30"),
        TAKEN(KIND_ACCTG, "acctg-freq", "task=30,energy=0"),
        REFUSED(KIND_ACCTG, "acctg-freq", "x", 255, "Invalid --acctg-freq specification: x"),
        REFUSED(KIND_ACCTG, "acctg-freq", "task=", 255,
                "Invalid --acctg-freq specification: task="),
        TAKEN(KIND_PROFILE, "profile", "energy,task"),
        REFUSED(KIND_PROFILE, "profile", "cpu", 255, "invalid --profile=cpu option"),
        TAKEN(KIND_PROPAGATE, "propagate", NULL),
        TAKEN(KIND_PROPAGATE, "propagate", "STACK,RLIMIT_CORE"),
        REFUSED(KIND_PROPAGATE, "propagate", "STACK,HEAP", 1,
                "--propagate=STACK,HEAP is not valid."),
        TAKEN(KIND_MPI, "mpi", "PMIX"),
        REFUSED(KIND_MPI, "mpi", "foo", 1,
                "Invalid MPI type 'foo', --mpi=list for acceptable types"),
        TAKEN(KIND_CPUBIND, "cpu-bind", "verbose,cores"),
        REFUSED(KIND_CPUBIND, "cpu-bind", "foo", 1, NULL), /* said already */
        TAKEN(KIND_MEMBIND, "mem-bind", "local"),
        REFUSED(KIND_MEMBIND, "mem-bind", "foo", 255, "unrecognized --mem-bind argument \"foo\""),
        TAKEN(KIND_CPUFREQ, "cpu-freq", "low-high:Performance"),
        REFUSED(KIND_CPUFREQ, "cpu-freq", "foo", 255, "Invalid --cpu-freq argument"),
    };

    (void)state;
    check_rows(rows, ARRAY_SIZE(rows));
}

/* A value that asks for a list is no mistake, and no value. */
static void test_lists(void **state)
{
    struct opt o = { .name = "mpi" };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(jobvalue_check(KIND_MPI, &o, "list", &err), -1);
    o.name = "cpu-bind";
    assert_int_equal(jobvalue_check(KIND_CPUBIND, &o, "help", &err), -1);
    o.name = "mem-bind";
    assert_int_equal(jobvalue_check(KIND_MEMBIND, &o, "HELP", &err), -1);
    assert_string_equal(err.text, "");
}

static void test_x11(void **state)
{
    struct opt o = { .name = "x11" };
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(unsetenv("DISPLAY"), 0);
    assert_true(jobvalue_check(KIND_X11, &o, NULL, &err) > 0);
    assert_string_equal(err.text, "No DISPLAY variable set, cannot setup x11 forwarding.");
    assert_int_equal(setenv("DISPLAY", "localhost:10.0", 1), 0);
    err.text[0] = '\0';
    assert_int_equal(jobvalue_check(KIND_X11, &o, NULL, &err), 0);
    assert_int_equal(jobvalue_check(KIND_X11, &o, "first", &err), 0);
    assert_true(jobvalue_check(KIND_X11, &o, "second", &err) > 0);
    assert_int_equal(setenv("DISPLAY", "nonsense", 1), 0);
    assert_true(jobvalue_check(KIND_X11, &o, NULL, &err) > 0);
    assert_int_equal(unsetenv("DISPLAY"), 0);
}

static void test_memupdate(void **state)
{
    uint32_t margin = 77, delay = 77;

    (void)state;
    assert_int_equal(memupdate_parse("20@5", &margin, &delay), 0);
    assert_int_equal(margin, 20);
    assert_int_equal(delay, 300); /* minutes, as --time */
    assert_int_equal(memupdate_parse("0@0:30", &margin, &delay), 0);
    assert_int_equal(margin, 0);
    assert_int_equal(delay, 30);
    assert_int_equal(memupdate_parse("10000@1-00", &margin, &delay), 0);
    assert_int_equal(delay, 86400);
    margin = delay = 77;
    assert_int_equal(memupdate_parse("10001@5", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("20", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("@5", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("20@", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("20@0", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("20@soon", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("00000000000000000000020@5", &margin, &delay), -EINVAL);
    assert_int_equal(memupdate_parse("-1@5", &margin, &delay), -EINVAL);
    assert_true(margin == 77 && delay == 77);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers), cmocka_unit_test(test_sizes_and_times),
        cmocka_unit_test(test_words),   cmocka_unit_test(test_lists),
        cmocka_unit_test(test_x11),     cmocka_unit_test(test_memupdate),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("jobvalue", tests, NULL, NULL);
}
