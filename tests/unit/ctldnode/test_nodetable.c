/* test_nodetable.c - nodes that are made and deleted while the controller runs: rights, refusals,
 * partitions, ids, restarts */
#include <poll.h>

#include "ctld_policy_util.h"
#include "replay_util.h"

#include "ctld/core/membership.h"
#include "ctld/core/nodeids.h"
#include "ctld/core/noderecord.h"
#include "ctld/node/dynreg.h"
#include "ctld/update/nodetable.h"

static const char dynamic[] = "NodeName=n[0-1] CPUs=8 RealMemory=8000 State=UNKNOWN\n"
                              "NodeSet=fast Feature=fast\n"
                              "NodeSet=listed Nodes=n1,d[2-3]\n"
                              "PartitionName=all Nodes=ALL Default=YES\n"
                              "PartitionName=fast Nodes=fast\n"
                              "PartitionName=mixed Nodes=listed,feature{fast},-d3\n"
                              "PartitionName=plain Nodes=n0\n";

static struct daemon d;

static int begin(void **state)
{
    (void)state;
    (void)daemon_new(&d);
    write_conf(&d, "MaxNodeCount=6\n", dynamic);
    daemon_start(&d, NULL, NULL);
    return 0;
}

static int end(void **state)
{
    int status = daemon_stop(&d, SIGTERM);

    (void)state;
    daemon_free(&d);
    return status;
}

static int create(const char *line)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{'line':'%s'}", line);
    return ask(&d, d.client, OP_NODE_CREATE, json, NULL);
}

static int delete_nodes(const char *nodes)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{'nodes':'%s'}", nodes);
    return ask(&d, d.client, OP_NODE_DELETE, json, NULL);
}

static void expect_lists(const char *all, const char *fast, const char *mixed)
{
    char what[128];

    (void)snprintf(what, sizeof(what), "'nodes':'%s'", all);
    assert_true(part_has(&d, "all", what));
    (void)snprintf(what, sizeof(what), "'nodes':'%s'", fast);
    assert_true(part_has(&d, "fast", what));
    (void)snprintf(what, sizeof(what), "'nodes':'%s'", mixed);
    assert_true(part_has(&d, "mixed", what));
    assert_true(part_has(&d, "plain", "'nodes':'n0'"));
}

/* The state is what the journal says, and another controller finds it. */
static void expect_replays(void)
{
    uint64_t lsn, hash = state_hash_at(&d, &lsn);

    (void)daemon_stop(&d, SIGKILL);
    assert_int_equal(replayed_hash(&d, lsn), hash);
    daemon_start(&d, NULL, NULL);
}

static void test_partitions_follow(void **state)
{
    (void)state;
    expect_lists("n[0-1]", "", "n1");
    assert_int_equal(create("NodeName=d[1-3] CPUs=2 Feature=fast State=EXTERNAL"), 0);
    expect_lists("n[0-1],d[1-3]", "d[1-3]", "n1,d[1-2]");
    assert_int_equal(ask(&d, d.client, OP_NODE_UPDATE,
                         "{'nodes':'d1','set':{'features':'slow','active_features':'slow'}}", NULL),
                     0);
    expect_lists("n[0-1],d[1-3]", "d[2-3]", "n1,d2");
    expect_replays();
    expect_lists("n[0-1],d[1-3]", "d[2-3]", "n1,d2");
    assert_int_equal(ask(&d, d.client, OP_RECONFIGURE, "{}", NULL), 0);
    expect_lists("n[0-1],d[1-3]", "d[2-3]", "n1,d2");
    assert_int_equal(delete_nodes("d2"), 0);
    expect_lists("n[0-1],d[1,3]", "d3", "n1");
    expect_replays();
    assert_int_equal(delete_nodes("d[1,3]"), 0);
    expect_lists("n[0-1]", "", "n1");
}

static void test_refused(void **state)
{
    uint64_t before = state_hash(&d);
    struct client *user = geteuid() == 0 ? connect_as(&d, STRANGER) : NULL;

    (void)state;
    assert_int_equal(create("NodeName=n0 State=FUTURE"), ESLURM_NODE_ALREADY_EXISTS);
    assert_int_equal(create("NodeName=x[1-5] State=FUTURE"), ESLURM_NODE_TABLE_FULL);
    assert_string_equal(d.text, "Unable to add node, node table is full (x5)");
    assert_int_equal(create("NodeName=x State=DOWN"), ESLURM_INVALID_NODE_STATE);
    assert_int_equal(create("NodeName=x State=DYNAMIC"), ESLURM_INVALID_NODE_STATE);
    assert_int_equal(create("x"), SLURM_ERROR);
    assert_int_equal(ask(&d, d.client, OP_NODE_CREATE, "{}", NULL), SLURM_ERROR);
    assert_int_equal(delete_nodes("n0"), ESLURM_INVALID_NODE_STATE);
    assert_int_equal(delete_nodes("nosuch"), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(delete_nodes("n["), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(ask(&d, d.client, OP_NODE_DELETE, "{}", NULL), ESLURM_INVALID_NODE_NAME);
    if (user) {
        assert_int_equal(ask(&d, user, OP_NODE_CREATE, "{'line':'NodeName=x State=FUTURE'}", NULL),
                         ESLURM_USER_ID_MISSING);
        assert_int_equal(ask(&d, user, OP_NODE_DELETE, "{'nodes':'n0'}", NULL),
                         ESLURM_USER_ID_MISSING);
        client_free(user);
    }
    assert_int_equal(state_hash(&d), before);
}

/* While an ended job is known, the ids of nodes that have gone are no other nodes'. */
static void test_ids_are_kept_back(void **state)
{
    uint32_t job;

    (void)state;
    job = submit(&d, "{'job':{},'hold':true}");
    assert_int_equal(act(&d, job, "CANCEL"), 0);
    assert_int_equal(create("NodeName=a State=EXTERNAL"), 0);
    assert_true(node_has(&d, "a", "'node_id':2"));
    assert_int_equal(delete_nodes("a"), 0);
    assert_int_equal(create("NodeName=b State=EXTERNAL"), 0);
    assert_true(node_has(&d, "b", "'node_id':3"));
    assert_int_equal(delete_nodes("b"), 0);
    assert_int_equal(daemon_stop(&d, SIGTERM), 0);
    daemon_start(&d, NULL, "-c"); /* no job is left */
    assert_int_equal(create("NodeName=c State=EXTERNAL"), 0);
    assert_int_equal(delete_nodes("c"), 0);
    assert_int_equal(create("NodeName=e State=EXTERNAL"), 0);
    assert_true(node_has(&d, "e", "'node_id':2"));
    assert_int_equal(delete_nodes("e"), 0);
}

static void test_states(void **state)
{
    (void)state;
    assert_int_equal(create("NodeName=f State=FUTURE"), 0);
    assert_int_equal(create("NodeName=e State=EXTERNAL Reason=\\\"a b\\\""), 0);
    assert_true(node_has(&d, "f", "'state':'NODE_FUTURE'"));
    assert_true(node_has(&d, "e", "'state':'NODE_IDLE'"));
    assert_true(node_has(&d, "e", "'reason':'a b'"));
    assert_int_equal(ask(&d, d.client, OP_NODE_UPDATE,
                         "{'nodes':'e','action':'NODE_ACT_DOWN','set':{'reason':'x'}}", NULL),
                     0);
    assert_true(node_has(&d, "e", "'state':'NODE_DOWN'"));
    assert_int_equal(
        ask(&d, d.client, OP_NODE_UPDATE, "{'nodes':'e','action':'NODE_ACT_RESUME'}", NULL), 0);
    assert_true(node_has(&d, "e", "'state':'NODE_IDLE'")); /* nobody will register it */
    assert_int_equal(delete_nodes("e,f"), 0);
}

/* ---- slurmd -Z and -F ------------------------------------------------------------------------ */

/* A node registers over a connection of its own, which is left open in *ret. */
static int registers(const char *name, const char *line, struct client **ret)
{
    char json[512];
    int code;

    (void)snprintf(json, sizeof(json),
                   "{'node':{'name':'%s','cpus':8,'real_memory_mib':8000,'boot_id':'b'},"
                   "'node_line':'%s'}",
                   name, line);
    *ret = connect_as(&d, geteuid());
    assert_non_null(*ret);
    code = ask(&d, *ret, OP_NODE_REGISTER, json, NULL);
    if (code)
        *ret = client_free(*ret);
    return code;
}

static bool becomes(bool (*is)(const char *), const char *what)
{
    int64_t until = now_mono_us() + DEADLINE_US;

    while (!is(what) && now_mono_us() < until)
        (void)poll(NULL, 0, 20);
    return is(what);
}

static bool all_has(const char *what)
{
    return part_has(&d, "all", what);
}

static void test_describes_itself(void **state)
{
    struct client *c, *again;

    (void)state;
    assert_int_equal(
        registers("z1", "NodeName=z1 CPUs=4 RealMemory=500 Features=fast Weight=3", &c), 0);
    assert_true(node_has(&d, "z1", "'cpus':4"));
    assert_true(node_has(&d, "z1", "'state':'NODE_IDLE'"));
    assert_true(node_has(&d, "z1", "'state_flags':1024")); /* DYNAMIC_NORM */
    assert_true(becomes(all_has, "'nodes':'n[0-1],z1'"));
    assert_true(part_has(&d, "fast", "'nodes':'z1'"));
    assert_int_equal(ask(&d, d.client, OP_NODE_UPDATE, "{'nodes':'z1','set':{'weight':9}}", NULL),
                     0);
    /* the same words again: what an operator set stays */
    assert_int_equal(
        registers("z1", "NodeName=z1 CPUs=4 RealMemory=500 Features=fast Weight=3", &again), 0);
    assert_true(node_has(&d, "z1", "'weight':9"));
    client_free(c);
    assert_int_equal(registers("z1", "NodeName=z1 CPUs=6 RealMemory=500", &c), 0);
    assert_true(node_has(&d, "z1", "'cpus':6"));
    assert_true(node_has(&d, "z1", "!'features'"));
    client_free(again);
    client_free(c);
    expect_replays();
    assert_true(node_has(&d, "z1", "'cpus':6"));
    assert_int_equal(delete_nodes("z1"), 0);
}

/* The slurmd of a deleted node registers again: the order to end did not come to it. */
static void test_deleted_stays_deleted(void **state)
{
    struct client *c;
    char json[256];

    (void)state;
    assert_int_equal(registers("z1", "NodeName=z1 CPUs=4", &c), 0);
    client_free(c);
    assert_int_equal(delete_nodes("z1"), 0);
    c = connect_as(&d, geteuid());
    (void)snprintf(json, sizeof(json),
                   "{'node':{'name':'z1','cpus':4,'boot_id':'b','registered_us':%lld},"
                   "'node_line':'NodeName=z1 CPUs=4'}",
                   (long long)now_us());
    assert_int_equal(ask(&d, c, OP_NODE_REGISTER, json, NULL), ESLURM_INVALID_NODE_STATE);
    (void)snprintf(json, sizeof(json),
                   "{'node':{'name':'z1','cpus':4,'boot_id':'b','registered_us':1},"
                   "'node_line':'NodeName=z1 CPUs=4'}");
    assert_int_equal(ask(&d, c, OP_NODE_REGISTER, json, NULL), 0); /* of another state */
    client_free(c);
    assert_int_equal(delete_nodes("z1"), 0);
}

static void test_descriptions_refused(void **state)
{
    static const struct {
        const char *name, *line;
        int code;
    } cases[] = {
        { "n0", "NodeName=n0 CPUs=4", ESLURM_INVALID_NODE_NAME },
        { "z1", "NodeName=z2 CPUs=4", ESLURM_INVALID_NODE_NAME },
        { "z1", "NodeName=z[1-2] CPUs=4", ESLURM_INVALID_NODE_NAME },
        { "z1", "CPUs=4", ESLURM_INVALID_NODE_NAME },
        { "z1", "NodeName=z1 NoSuch=4", ESLURM_INVALID_NODE_NAME },
        { "z1", "NodeName=z1 Gres=nosuch:1", ESLURM_INVALID_NODE_NAME },
        { "e1", "NodeName=e1 CPUs=4", ESLURM_INVALID_NODE_NAME },
    };
    struct client *c, *user = geteuid() == 0 ? connect_as(&d, STRANGER) : NULL;
    uint64_t before;

    (void)state;
    assert_int_equal(create("NodeName=e1 State=EXTERNAL"), 0);
    before = state_hash(&d);
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
        assert_int_equal(registers(cases[i].name, cases[i].line, &c), cases[i].code);
    if (user) { /* a node is root's or SlurmUser's */
        assert_int_not_equal(ask(&d, user, OP_NODE_REGISTER,
                                 "{'node':{'name':'z1'},'node_line':'NodeName=z1'}", NULL),
                             0);
        client_free(user);
    }
    assert_int_equal(state_hash(&d), before);
    assert_int_equal(create("NodeName=e[2-4] State=EXTERNAL"), 0);
    assert_int_equal(registers("z1", "NodeName=z1 CPUs=4", &c), ESLURM_NODE_TABLE_FULL);
    assert_string_equal(d.text, "Unable to add node, node table is full: MaxNodeCount=6");
    assert_int_equal(delete_nodes("e[1-4]"), 0);
}

static void expect_claim(const char *host, const char *feature, const char *name)
{
    struct client *c = connect_as(&d, geteuid());
    Pst__NodeClaimReply *reply = NULL;
    char json[256];
    int code;

    (void)snprintf(json, sizeof(json),
                   "{'node':{'hostname':'%s','cpus':4,'sockets':1,'cores_per_socket':4,"
                   "'threads_per_core':1,'real_memory_mib':900}%s%s%s}",
                   host, feature ? ",'feature':'" : "", feature ? feature : "", feature ? "'" : "");
    code = ask(&d, c, OP_NODE_CLAIM, json, (ProtobufCMessage **)&reply);
    assert_int_equal(code, name ? 0 : ESLURM_INVALID_NODE_NAME);
    if (name) {
        assert_string_equal(reply->name, name);
        assert_non_null(strstr(reply->node_line, "CPUs="));
        pst__node_claim_reply__free_unpacked(reply, NULL);
    }
    client_free(c);
}

static void test_future_nodes_are_claimed(void **state)
{
    (void)state;
    assert_int_equal(create("NodeName=f1 CPUs=2 RealMemory=500 Features=x State=FUTURE"), 0);
    assert_int_equal(create("NodeName=f2 CPUs=4 RealMemory=500 Features=x State=FUTURE"), 0);
    assert_int_equal(create("NodeName=f3 CPUs=99 State=FUTURE"), 0);
    expect_claim("h0", "y", NULL);
    expect_claim("bad host", NULL, NULL);
    expect_claim("h1", "x", "f1"); /* large enough: as nothing is made like the machine */
    expect_claim("h1", "x", "f1"); /* the same host has the same node */
    expect_claim("h2", NULL, "f2");
    expect_claim("h3", NULL, NULL); /* the third is too large */
    expect_replays();
    expect_claim("h2", "x", "f2");
    assert_true(node_has(&d, "f2", "'hostname':'h2'"));
    assert_int_equal(
        ask(&d, d.client, OP_NODE_UPDATE, "{'nodes':'f2','action':'NODE_ACT_FUTURE'}", NULL), 0);
    expect_claim("h4", NULL, "f2");
    assert_int_equal(delete_nodes("f[1-3]"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_partitions_follow),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_states),
        cmocka_unit_test(test_describes_itself),
        cmocka_unit_test(test_deleted_stays_deleted),
        cmocka_unit_test(test_descriptions_refused),
        cmocka_unit_test(test_future_nodes_are_claimed),
        cmocka_unit_test(test_ids_are_kept_back),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, begin, end);
}
