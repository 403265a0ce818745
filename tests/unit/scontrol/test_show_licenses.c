/* test_show_licenses.c - scontrol show licenses: text by name, JSON as configured */
#include "scontrol_util.h"

static int begin_licenses(void **state)
{
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h\nSlurmUser=root\nNodeName=n\n"
                               "PartitionName=p Nodes=n\nLicenses=matlab:10,ansys:4\n";
    struct conf_text file = { .name = "/etc/slurm/slurm.conf", .text = text };
    int r = scontrol_begin(state);

    file.len = strlen(text);
    scontrol.cli.conf = conf_free(scontrol.cli.conf);
    assert_int_equal(conf_load_text(&file, 1, CONF_FULL, &scontrol.cli.conf, NULL, NULL), 0);
    return r;
}

/* What the controller answers: jobs that hold some, and reservations. */
static void answer_all(void)
{
    PEER_ANSWER(&ctld, OP_QUERY_CONFIG, config_reply, "{}");
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, "{'job_id':1,'licenses_alloc':'matlab:3'}",
              "{'job_id':2,'licenses_alloc':'ansys:1,matlab:1'}");
    PEER_ANSWER(&ctld, OP_QUERY_RESVS, resv_set,
                "{'now_us':5000000,'items':[{'name':'r','start_us':1000000,'end_us':9000000,"
                "'licenses':'matlab:5'}]}");
}

static void show(struct scontrol *s, int argc, char **argv)
{
    scontrol_show_licenses(s, argc ? argv[0] : NULL);
}

static void test_text(void **state)
{
    (void)state;
    answer_all();
    expect_run(show, "",
               "LicenseName=ansys\n    Total=4 Used=1 Free=3 Reserved=0 Remote=no\n"
               "LicenseName=matlab\n    Total=10 Used=4 Free=6 Reserved=5 Remote=no\n",
               "", 0);
    answer_all();
    expect_run(show, "matlab",
               "LicenseName=matlab\n    Total=10 Used=4 Free=6 Reserved=5 Remote=no\n", "", 0);
    scontrol.show.oneliner = true;
    answer_all();
    expect_run(show, "ansys", "LicenseName=ansys Total=4 Used=1 Free=3 Reserved=0 Remote=no\n", "",
               0);
}

static void test_none(void **state)
{
    (void)state;
    answer_all();
    expect_run(show, "nosuch", "", "scontrol: error: query \"nosuch\" matched zero licenses.\n", 1);
    peer_refuse(&ctld, OP_QUERY_CONFIG, 2002, NULL);
    expect_run(show, "", "", "slurm_load_licenses error: Access/permission denied\n", 1);
}

/* All of them, in the order of the configuration. */
static void test_json(void **state)
{
    const char *matlab, *ansys;

    (void)state;
    scontrol.json.wanted = true;
    answer_all();
    run_command(show, "ansys");
    matlab = strstr(said.out, "\"LicenseName\": \"matlab\"");
    ansys = strstr(said.out, "\"LicenseName\": \"ansys\"");
    assert_true(matlab && ansys && matlab < ansys);
    assert_non_null(strstr(said.out, "\"meta\": {"));
}

static void test_without(void **state)
{
    (void)state;
    PEER_ANSWER(&ctld, OP_QUERY_CONFIG, config_reply, "{}");
    expect_run(show, "", "No licenses configured in Slurm.\n", "", 0);
    PEER_ANSWER(&ctld, OP_QUERY_CONFIG, config_reply, "{}");
    scontrol.quiet = true;
    expect_run(show, "", "", "", 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_text, begin_licenses, scontrol_end),
        cmocka_unit_test_setup_teardown(test_none, begin_licenses, scontrol_end),
        cmocka_unit_test_setup_teardown(test_json, begin_licenses, scontrol_end),
        SCONTROL_TEST(test_without),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
