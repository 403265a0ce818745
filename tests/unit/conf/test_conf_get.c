/* test_conf_get.c - questions to a loaded configuration */
#include "conf_util.h"

static void test_options(void **state)
{
    struct conf *c = conf_with_lines("SchedulerParameters=bf_window=99,defer,bf_interval=-1,x=\n");
    const char *value = NULL;
    size_t len = 0;
    uint64_t u = 0;
    int64_t i = 0;

    (void)state;
    assert_true(conf_option(c, CONF_SCHEDULER_PARAMETERS, "bf_window", &value, &len));
    assert_int_equal(len, 2);
    assert_memory_equal(value, "99", 2);
    assert_true(conf_option(c, CONF_SCHEDULER_PARAMETERS, "defer", &value, &len));
    assert_int_equal(len, 0);
    assert_false(conf_option(c, CONF_SCHEDULER_PARAMETERS, "def", NULL, NULL));
    assert_false(conf_option(c, CONF_SCHEDULER_PARAMETERS, "bf_windows", NULL, NULL));
    assert_true(conf_option_u64(c, CONF_SCHEDULER_PARAMETERS, "bf_window", &u));
    assert_int_equal(u, 99);
    assert_false(conf_option_u64(c, CONF_SCHEDULER_PARAMETERS, "defer", &u)); /* no number */
    assert_false(conf_option_u64(c, CONF_SCHEDULER_PARAMETERS, "bf_interval", &u));
    assert_true(conf_option_i64(c, CONF_SCHEDULER_PARAMETERS, "bf_interval", &i));
    assert_int_equal(i, -1);
    /* Of two with one name the first counts. */
    assert_int_equal(conf_words_before(c, CONF_SCHEDULER_PARAMETERS, "bf_window=7"), 0);
    assert_true(conf_option_u64(c, CONF_SCHEDULER_PARAMETERS, "bf_window", &u));
    assert_int_equal(u, 7);
    conf_free(c);
}

/* A number out of its bounds is none. */
static void test_bounds(void **state)
{
    struct conf *c = conf_with_lines(
        "SchedulerParameters=bf_window=0,bf_resolution=3600,bf_interval=-2\n"
        "CommunicationParameters=keepalivetime=50,keepaliveprobes=7\nAuthInfo=ttl=99\n");
    struct conf *plain = conf_with_lines("MaxJobCount=100 MaxDBDMsgs=5\n");
    unsigned keep[3];
    uint64_t u;
    int64_t i;

    (void)state;
    assert_false(conf_option_u64(c, CONF_SCHEDULER_PARAMETERS, "bf_window", &u));
    assert_true(conf_option_u64(c, CONF_SCHEDULER_PARAMETERS, "bf_resolution", &u));
    assert_int_equal(u, 3600);
    assert_false(conf_option_i64(c, CONF_SCHEDULER_PARAMETERS, "bf_interval", &i));
    conf_keepalive(c, keep);
    assert_int_equal(keep[0], 50);
    assert_int_equal(keep[1], 0);
    assert_int_equal(keep[2], 7);
    assert_int_equal(conf_munge_ttl_s(c), 99);
    assert_int_equal(conf_munge_ttl_s(plain), 0);
    assert_int_equal(conf_max_dbd_msgs(plain), 5);
    assert_true(conf_max_dbd_msgs(c) >= 10000);
    conf_free(c);
    conf_free(plain);
}

static void test_scalars(void **state)
{
    struct conf *c = conf_with_lines("MaxJobCount=77\nProlog=/a\nProlog=/b\n");

    (void)state;
    assert_true(conf_is_set(c, CONF_MAX_JOB_COUNT));
    assert_int_equal(conf_num(c, CONF_MAX_JOB_COUNT), 77);
    assert_false(conf_is_set(c, CONF_MAX_ARRAY_SIZE));
    assert_int_equal(conf_num(c, CONF_MAX_ARRAY_SIZE), 1001); /* its default */
    assert_string_equal(conf_str_nth(c, CONF_PROLOG, 0), "/a");
    assert_string_equal(conf_str_nth(c, CONF_PROLOG, 1), "/b");
    assert_null(conf_str_nth(c, CONF_PROLOG, 2));
    assert_int_equal(conf_ctld_port(c), 6817);
    assert_int_equal(conf_slurm_uid(c), 0);
    assert_string_equal(conf_path(c), "/etc/slurm/slurm.conf");
    conf_free(c);
}

static void test_hosts(void **state)
{
    const struct conf_text file = { .name = "slurm.conf",
                                    .text = "ClusterName=c\nSlurmUser=root\n"
                                            "SlurmctldHost=a(10.0.0.1)\nSlurmctldHost=b\n"
                                            "NodeName=n\nPartitionName=p Nodes=n\n" };
    struct conf *c = conf_reports(&file, 1, "");
    const char *addr = NULL, *addrs[4];

    (void)state;
    assert_string_equal(conf_ctld_host(c, 0, &addr), "a");
    assert_string_equal(addr, "10.0.0.1");
    assert_string_equal(conf_ctld_host(c, 1, &addr), "b");
    assert_string_equal(addr, "b");
    assert_null(conf_ctld_host(c, 2, NULL));
    assert_int_equal(conf_ctld_addrs(c, addrs, 4), 2);
    assert_string_equal(addrs[0], "10.0.0.1");
    assert_string_equal(addrs[1], "b");
    assert_int_equal(conf_ctld_addrs(c, addrs, 1), 1);
    conf_free(c);
}

static void test_paths(void **state)
{
    struct conf *c = conf_with_lines("");
    char *path = NULL;

    (void)state;
    assert_int_equal(conf_expand_path("/var/%h/%n%%/%x", "node1", "host1", &path), 0);
    assert_string_equal(path, "/var/host1/node1%/%x");
    free(path);
    assert_int_equal(conf_expand_path("/var/%h/%n", NULL, NULL, &path), 0);
    assert_string_equal(path, "/var/%h/%n"); /* nothing is known */
    free(path);
    assert_int_equal(conf_expand_path("%", "n", "h", &path), 0);
    assert_string_equal(path, "%");
    free(path);
    assert_int_equal(conf_program(c, "prolog.sh", &path), 0);
    assert_string_equal(path, "/etc/slurm/prolog.sh");
    free(path);
    assert_int_equal(conf_program(c, "/opt/prolog.sh", &path), 0);
    assert_string_equal(path, "/opt/prolog.sh");
    free(path);
    conf_free(c);
}

static void test_keys(void **state)
{
    struct conf *plain = conf_with_lines(""),
                *named = conf_with_lines("AuthInfo=keyfile=/k/a,use_client_ids\n"
                                         "AuthAltTypes=auth/jwt\n"),
                *munge = conf_with_lines("AuthType=auth/munge\nAuthInfo=socket=/run/m\n");

    (void)state;
    assert_string_equal(conf_key_file(named), "/k/a");
    assert_true(conf_use_jwt(named) && conf_client_ids(named));
    assert_false(conf_use_jwt(plain) || conf_client_ids(plain) || conf_use_munge(plain));
    assert_int_equal(conf_use_key(named, "/other"), 0);
    assert_string_equal(conf_key_file(named), "/k/a"); /* AuthInfo names one */
    assert_int_equal(conf_use_key(plain, "/other"), 0);
    assert_string_equal(conf_key_file(plain), "/other");
    assert_true(conf_use_munge(munge));
    assert_string_equal(conf_munge_socket(munge), "/run/m");
    assert_null(conf_munge_socket(plain));
    conf_free(plain);
    conf_free(named);
    conf_free(munge);
}

static void test_sets(void **state)
{
    struct conf *c = conf_says("NodeName=n[1-3] Features=x\nNodeSet=s Feature=x\n"
                               "NodeSet=t Nodes=n2\nPartitionName=p Nodes=s\n"
                               "PriorityFlags=MAX_TRES\n",
                               "");
    const char *feature, *nodes;

    (void)state;
    assert_string_equal(conf_nodeset(c, "s"), "n[1-3]");
    assert_string_equal(conf_nodeset(c, "t"), "n2");
    assert_null(conf_nodeset(c, "u"));
    assert_true(conf_nodeset_line(c, "s", &feature, &nodes));
    assert_string_equal(feature, "x");
    assert_null(nodes);
    assert_true(conf_nodeset_line(c, "t", &feature, &nodes));
    assert_null(feature);
    assert_string_equal(nodes, "n2");
    assert_false(conf_nodeset_line(c, "u", &feature, &nodes));
    assert_int_equal(conf_billing_sum(c), BILLING_MAX);
    conf_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options), cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_scalars), cmocka_unit_test(test_hosts),
        cmocka_unit_test(test_paths),   cmocka_unit_test(test_keys),
        cmocka_unit_test(test_sets),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
