/* test_simopts.c - the command line of `penstock sim` */
#include <getopt.h>

#include "output_util.h"
#include "penstock/simopts.h"

static struct output said;
static struct sim_args args;

static int parse_line(const char *line)
{
    static char copy[1024];
    char *words[64], *save = NULL;
    int n = 0, r;

    (void)snprintf(copy, sizeof(copy), "%s", line);
    words[n++] = (char *)"sim";
    for (char *w = strtok_r(copy, " ", &save); w; w = strtok_r(NULL, " ", &save))
        words[n++] = w;
    words[n] = NULL;
    optind = 0;
    output_begin(&said, NULL);
    r = simopts_parse(n, words, &args);
    output_end(&said);
    return r;
}

static void expect_refused(const char *line, const char *sentence)
{
    char want[512];

    assert_int_equal(parse_line(line), STATUS_USAGE);
    (void)snprintf(want, sizeof(want),
                   "penstock: error: sim: %s\nTry \"penstock --help\" for more information\n",
                   sentence);
    expect_said(&said, "", want);
}

static void free_lines(void)
{
    for (size_t i = 0; i < args.nasks; i++)
        free((void *)args.asks[i].line);
}

static void test_values(void **state)
{
    (void)state;
    assert_int_equal(parse_line("-t file -N 4 -c 8 --gpus 0 -m 2G -s 0 --scale 1.5 -L 50 "
                                "--set A=1 -S B=2 --compare easy,fifo -JTq --title x"),
                     STATUS_OK);
    expect_said(&said, "", "");
    assert_string_equal(args.trace, "file");
    assert_int_equal(args.nodes, 4);
    assert_int_equal(args.cpus, 8);
    assert_int_equal(args.mem_mib, 2048);
    assert_int_equal(args.seed, 0);
    assert_true(args.scale == 1.5);
    assert_int_equal(args.limit_factor_pct, 50);
    assert_int_equal(args.nsets, 2);
    assert_string_equal(args.sets[1], "B=2");
    assert_string_equal(args.compare, "easy,fifo");
    assert_true(args.json && args.timing && args.quiet && !args.all);
}

static void test_defaults(void **state)
{
    (void)state;
    assert_int_equal(parse_line("--generate lublin"), STATUS_OK);
    assert_int_equal(args.jobs, 10000);
    assert_int_equal(args.seed, 1);
    assert_true(args.load == 0.9);
    assert_string_equal(args.compare, "conf");
    assert_null(args.conf);
}

/* Changes in the order given, with their options for the report. */
static void test_changes(void **state)
{
    (void)state;
    assert_int_equal(parse_line("--from-live --drain n[1-2] --partition main.MaxTime=1-0 "
                                "--add n1:4 --qos high:MaxJobsPU=4 -w 7,8_1 --run 50 -a"),
                     STATUS_OK);
    assert_int_equal(args.nasks, 4);
    assert_int_equal(args.asks[0].what, SIM_DRAIN);
    assert_string_equal(args.asks[0].text, "n[1-2]");
    assert_string_equal(args.asks[0].line, "--drain n[1-2]");
    assert_int_equal(args.asks[1].what, SIM_PARTITION);
    assert_int_equal(args.asks[2].what, SIM_ADD);
    assert_int_equal(args.asks[3].what, SIM_QOS);
    assert_string_equal(args.when, "7,8_1");
    assert_int_equal(args.run_percent, 50);
    free_lines();
    assert_int_equal(parse_line("--from-live --weight Age=1000"), STATUS_OK);
    assert_string_equal(args.sets[0], "PriorityWeightAge=1000");
    free((void *)args.sets[0]);
}

static void test_bad_values(void **state)
{
    (void)state;
    expect_refused("--generate gpu --nodes x", "--nodes: x is not a number up to 131072");
    expect_refused("--generate gpu --nodes 0", "--nodes: 0 is not a number up to 131072");
    expect_refused("--generate gpu --nodes 131073", "--nodes: 131073 is not a number up to 131072");
    expect_refused("--from-live --run 101", "--run: 101 is not a number up to 100");
    expect_refused("--trace f --scale 0", "--scale: 0 is not a number above 0");
    expect_refused("--trace f --scale 2x", "--scale: 2x is not a number above 0");
    expect_refused("--trace f --scale nan", "--scale: nan is not a number above 0");
    expect_refused("--trace f --mem much", "--mem: much is not a size such as 256G");
    expect_refused("--trace f --set A", "--set: A is not KEY=VALUE");
    expect_refused("--from-live --weight Age", "--weight: Age is not KEY=VALUE, as in Age=1000");
    expect_refused("--trace f more", "unexpected argument: more");
    expect_refused("--trace=", "--trace needs a value");
}

/* What does not go together. */
static void test_together(void **state)
{
    static const char one[] = "sim needs one of --trace, --journal, --generate and --from-live";
    char want[256];

    (void)state;
    (void)snprintf(want, sizeof(want), "penstock: error: %s\n", one);
    assert_int_equal(parse_line(""), STATUS_USAGE);
    assert_int_equal(strncmp(said.err, want, strlen(want)), 0);
    assert_int_equal(parse_line("--trace f --generate gpu"), STATUS_USAGE);
    assert_int_equal(strncmp(said.err, want, strlen(want)), 0);
    expect_refused("--generate chess",
                   "--generate: no such generator: chess (lublin and gpu are known)");
    expect_refused("--trace f --format xml",
                   "--format: no such format: xml (swf and sacct are known)");
    expect_refused("--trace f --block-sizes 4,8", "--block-sizes needs --blocks");
    expect_refused("--generate lublin --segment 4", "--segment is for --generate=gpu");
    expect_refused("--from-live --blocks 4", "--blocks is for a machine of the simulator's own");
    expect_refused("--trace f --conf c --nodes 4",
                   "--conf says what the nodes are: --nodes, --cpus, --gpus and --mem are for a "
                   "machine without one");
    expect_refused("--trace f --drain n1", "--when, --submit, --run, --all and changes of the "
                                           "cluster need --from-live");
    free_lines();
    expect_refused("--trace f --when 7", "--when, --submit, --run, --all and changes of the "
                                         "cluster need --from-live");
    expect_refused("--trace f --verify", "--verify needs --journal, and takes nothing but --conf, "
                                         "--set and --json with it");
    expect_refused("--from-live --defrag 7 --all",
                   "--defrag needs --from-live, and takes nothing but --set, --run and --json with "
                   "it");
    expect_refused("--from-live --html f",
                   "--from-live takes the machine, the jobs and the policy from the controller: "
                   "--set and the changes of the cluster change them");
    /* limits of QOS, accounts and users can be asked of a trace, too */
    assert_int_equal(parse_line("--trace f --qos a:MaxJobsPU=1 --user u:MaxJobs=2"), STATUS_OK);
    free_lines();
}

static void test_help(void **state)
{
    (void)state;
    assert_int_equal(parse_line("--help"), -1);
    assert_int_equal(strncmp(said.out, "Usage: penstock sim ", 20), 0);
    assert_non_null(strstr(said.out, "  -t, --trace=FILE           jobs of a trace"));
    assert_non_null(strstr(said.out, "      --from-live            the jobs"));
    assert_int_equal(parse_line("--help-table"), -1);
    assert_non_null(strstr(said.out, "trace\tt\trequired\tfile\t"));
    assert_non_null(strstr(said.out, "from-live\t-\tnone\t-\t"));
    assert_int_equal(parse_line("--nosuch"), STATUS_USAGE);
    assert_non_null(strstr(said.err, "Try \"penstock --help\" for more information\n"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),   cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_changes),  cmocka_unit_test(test_bad_values),
        cmocka_unit_test(test_together), cmocka_unit_test(test_help),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
