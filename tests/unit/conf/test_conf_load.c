/* test_conf_load.c - loading one slurm.conf: scopes, repeated keys, lines that are no pairs */
#include "conf_util.h"

#define NODES "NodeName=n[1-2]\nPartitionName=p Nodes=n1\n"

/* Of a key that stands twice the last one counts, and is told. */
static void test_twice(void **state)
{
    struct conf *c = conf_says("MaxJobCount=5\nMaxJobCount=6\n" NODES,
                               "slurm.conf:5: warning: MaxJobCount is given more than once; the "
                               "last value is used\n");

    (void)state;
    assert_int_equal(conf_num(c, CONF_MAX_JOB_COUNT), 6);
    conf_free(c);
}

static void test_lexing(void **state)
{
    struct conf *c = conf_says("# a comment\n\n  MaxJobCount=5 # more\nMaxArraySize=\\\n50\n"
                               "MAXSTEPCOUNT=9\nMailProg=\"/bin/my mail\"\n" NODES,
                               "");

    (void)state;
    assert_int_equal(conf_num(c, CONF_MAX_JOB_COUNT), 5);
    assert_int_equal(conf_num(c, CONF_MAX_ARRAY_SIZE), 50); /* a line that goes on */
    assert_int_equal(conf_num(c, CONF_MAX_STEP_COUNT), 9);  /* the case of keys does not matter */
    assert_string_equal(conf_str(c, CONF_MAIL_PROG), "/bin/my mail");
    conf_free(c);
}

static void test_unknown(void **state)
{
    (void)state;
    assert_null(conf_says("MaxJobCuont=5\n" NODES,
                          "slurm.conf:4: error: unknown key MaxJobCuont; did you mean "
                          "MaxJobCount?\n"));
}

/* A client needs neither nodes nor partitions, and does not mind what is wrong with them. */
static void test_client(void **state)
{
    const char *text = CONF_HEAD "NodeName=n[1-2\nPartitionName=p Nodes=nowhere\n";
    const struct conf_text file = { .name = "slurm.conf", .text = text, .len = strlen(text) };
    struct err err = { .text = "" };
    struct conf *c = NULL;

    (void)state;
    assert_true(conf_load_text(&file, 1, CONF_FULL, &c, NULL, &err) < 0);
    assert_string_not_equal(err.text, "");
    assert_null(c);
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &c, NULL, &err), 0);
    assert_string_equal(conf_str(c, CONF_CLUSTER_NAME), "c");
    assert_int_equal(conf_parts(c), 0);
    assert_null(conf_free(c));
    assert_null(conf_free(NULL));
}

/* What slurm.conf says has a number: how it is spaced and commented has none. */
static void test_hash(void **state)
{
    static const struct {
        const char *text;
        bool same;
    } cases[] = {
        { "MaxJobCount=5\n" NODES, true },
        { "# of this host\n\n  MaxJobCount=5 # more\nNodeName=n[1-2]\nPartitionName=p \t Nodes=n1\n",
          true },
        { "MaxJobCount=5\nNodeName=n[1-2]\nPartitionName=p \\\nNodes=n1\n", true },
        { "MaxJobCount=6\n" NODES, false },
        { "MaxJobCount=5\nMailProg=\"/bin/my mail\"\n" NODES, false },
        { "MaxJobCount=5\n" NODES "MaxStepCount=9\n", false },
    };
    struct conf *c = conf_says(cases[0].text, "");
    uint64_t hash = conf_says_hash(c);

    (void)state;
    assert_null(conf_free(c));
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        c = conf_says(cases[i].text, "");
        if ((conf_says_hash(c) == hash) != cases[i].same)
            fail_msg("%s", cases[i].text);
        assert_null(conf_free(c));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_twice),   cmocka_unit_test(test_lexing),
        cmocka_unit_test(test_unknown), cmocka_unit_test(test_client),
        cmocka_unit_test(test_hash),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
