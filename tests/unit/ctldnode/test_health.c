/* test_health.c - which nodes are asked to run HealthCheckProgram, by their states */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n[0-2] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static struct daemon *start_with(const char *health)
{
    struct daemon *d = malloc(sizeof(*d));
    char extra[256];

    assert_non_null(d);
    (void)daemon_new(d);
    (void)snprintf(extra, sizeof(extra), "SlurmdTimeout=600\nHealthCheckProgram=/bin/true\n%s",
                   health);
    write_conf(d, extra, cluster);
    daemon_start(d, NULL, NULL);
    return d;
}

static void stop_daemon(struct daemon *d)
{
    int status = daemon_stop(d, SIGTERM);

    daemon_free(d);
    free(d);
    assert_int_equal(status, 0);
}

static void must_ask(struct fake_node *n)
{
    protobuf_c_message_free_unpacked(node_take(n, OP_NODE_HEALTH, 0), NULL);
}

static size_t times_asked(struct fake_node *n)
{
    size_t asked = 0, before;
    int code;

    do { /* all that has come */
        before = n->n;
        (void)node_pump(n, 10, 0, &code);
    } while (n->n > before);
    for (size_t i = n->first; i < n->n; i++)
        asked += n->pushes[i].op == OP_NODE_HEALTH;
    return asked;
}

static void test_all(void **state)
{
    struct daemon *d = start_with("HealthCheckInterval=1");
    struct fake_node *n0 = node_up(d, "n0", "b1", NULL), *n1 = node_up(d, "n1", "b1", NULL);

    (void)state;
    must_ask(n0);
    must_ask(n1);
    must_ask(n0); /* again and again */
    node_free(n0);
    node_free(n1);
    stop_daemon(d);
}

static void test_in_turn(void **state)
{
    struct daemon *d = start_with("HealthCheckInterval=2 HealthCheckNodeState=ANY,CYCLE");
    struct fake_node *n0 = node_up(d, "n0", "b1", NULL), *n1 = node_up(d, "n1", "b1", NULL);

    (void)state;
    must_ask(n0);
    must_ask(n1);
    must_ask(n0); /* in the next round */
    node_free(n0);
    node_free(n1);
    stop_daemon(d);
}

/* n0 is full, n1 has a job beside idle CPUs, n2 is idle. */
static void test_states(void **state)
{
    static const struct {
        const char *states;
        bool asked[3];
    } cases[] = {
        { "HealthCheckNodeState=ALLOC", { true, false, false } },
        { "HealthCheckNodeState=MIXED", { false, true, false } },
        { "HealthCheckNodeState=IDLE", { false, false, true } },
        { "HealthCheckNodeState=NONDRAINED_IDLE,ALLOC", { true, false, true } },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        char conf[128];
        struct daemon *d;
        struct fake_node *n[3];
        size_t witness = cases[i].asked[0] ? 0 : cases[i].asked[1] ? 1 : 2;

        (void)snprintf(conf, sizeof(conf), "HealthCheckInterval=1 %s", cases[i].states);
        d = start_with(conf);
        n[0] = node_up(d, "n0", "b1", NULL);
        n[1] = node_up(d, "n1", "b1", NULL);
        (void)node_launched(n[0], submit(d, "{'job':{'num_tasks':8,'req_nodes':'n0'}}"));
        (void)node_launched(n[1], submit(d, "{'job':{'num_tasks':3,'req_nodes':'n1'}}"));
        n[2] = node_up(d, "n2", "b1", NULL);
        /* what was asked before the jobs ran does not count */
        for (size_t k = 0; k < 3; k++)
            while (times_asked(n[k]))
                must_ask(n[k]);
        must_ask(n[witness]); /* the round below is the next */
        for (size_t k = 0; k < 3; k++) {
            if (cases[i].asked[k])
                must_ask(n[k]);
            else
                assert_int_equal(times_asked(n[k]), 0);
        }
        for (size_t k = 0; k < 3; k++)
            node_free(n[k]);
        stop_daemon(d);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_all),
        cmocka_unit_test(test_in_turn),
        cmocka_unit_test(test_states),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
