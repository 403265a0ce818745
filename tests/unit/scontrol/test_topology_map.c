/* test_topology_map.c - the drawing of a topology: a letter a node, jobs behind it */
#include "cli/scontrol/topology_map.h"

#include "scontrol_util.h"
#include "wire/errors.h"

#define HEAD(kind)                                                                                 \
    "topology default (" kind ")   . idle  + mixed  # allocated  d drained  x down  ? unknown\n"

static void draw(const char *topology)
{
    Pst__TopologyReply *t =
        (Pst__TopologyReply *)from_json(&pst__topology_reply__descriptor, topology);

    scontrol.status = 0;
    output_begin(&said, NULL);
    topology_map(&scontrol, t);
    output_end(&said);
    pst__topology_reply__free_unpacked(t, NULL);
}

/* n1 idle, n2 mixed, n3 full, n4 drained, n5 down, n6 silent; jobs 7 and 12. */
static void answer_nodes(void)
{
    PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL);
    PEER_LIST(&ctld, OP_QUERY_NODES, node_record,
              "{'node_id':0,'name':'n1','state':'NODE_IDLE','cpus':4}",
              "{'node_id':1,'name':'n2','state':'NODE_IDLE','cpus':4,'alloc_cpus':2}",
              "{'node_id':2,'name':'n3','state':'NODE_IDLE','cpus':4,'alloc_cpus':4}",
              "{'node_id':3,'name':'n4','state':'NODE_IDLE','cpus':4,'alloc_cpus':4,"
              "'state_flags':1}",
              "{'node_id':4,'name':'n5','state':'NODE_DOWN','cpus':4,'state_flags':1}",
              "{'node_id':5,'name':'n6','state':'NODE_UNKNOWN','cpus':4}");
    PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, "{'job_id':12,'alloc':{'nodes':'n[2-3]'}}",
              "{'job_id':7,'alloc':{'nodes':'n2'}}", "{'job_id':9}");
}

#define TREE                                                                                       \
    "{'name':'default','kind':'tree','units':["                                                    \
    "{'name':'leaf1','level':0,'nodes':'n[1-3]'},{'name':'leaf2','level':0,'nodes':'n[4,9]'},"     \
    "{'name':'spine','level':1,'nodes':'n[1-4]'}]}"

/* A line for each unit that nodes are attached to, and one for nodes of none. */
static void test_letters(void **state)
{
    (void)state;
    answer_nodes();
    draw(TREE);
    expect_said(&said,
                HEAD("tree") "leaf1  .+#  7 12\n"
                             "leaf2  d?\n"
                             "(none) x?\n",
                "");
    assert_int_equal(scontrol.status, 0);
}

/* Many equal ones in a row are counted; lines keep to 80 columns. */
static void test_long_units(void **state)
{
    const char *line;

    (void)state;
    PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL);
    PEER_LIST(&ctld, OP_QUERY_NODES, node_record,
              "{'node_id':0,'name':'n7','state':'NODE_IDLE','cpus':4,'alloc_cpus':4}");
    PEER_LIST(
        &ctld, OP_QUERY_JOBS, job_record, "{'job_id':1000001,'alloc':{'nodes':'n7'}}",
        "{'job_id':1000002,'alloc':{'nodes':'n7'}}", "{'job_id':1000003,'alloc':{'nodes':'n7'}}",
        "{'job_id':1000004,'alloc':{'nodes':'n7'}}", "{'job_id':1000005,'alloc':{'nodes':'n7'}}",
        "{'job_id':1000006,'alloc':{'nodes':'n7'}}", "{'job_id':1000007,'alloc':{'nodes':'n7'}}",
        "{'job_id':1000008,'alloc':{'nodes':'n7'}}");
    draw("{'name':'default','kind':'block','units':[{'name':'a-very-long-name-of-a-block',"
         "'nodes':'n[1-40]'},{'name':'b[1-2]','nodes':'n[1-80]','aggregated':true}]}");
    assert_int_equal(strncmp(said.out, HEAD("block"), strlen(HEAD("block"))), 0);
    line = said.out + strlen(HEAD("block"));
    assert_int_equal(strncmp(line, "a-very-long-name-of- ?x6 #x1 ?x33  1000001 1000002 ", 51), 0);
    assert_non_null(strstr(line, " more\n"));
    assert_true(strcspn(line, "\n") <= 80);
    assert_ptr_equal(strchr(line, '\n') + 1, line + strlen(line)); /* no line of the aggregate */
}

static void test_refused(void **state)
{
    (void)state;
    peer_refuse(&ctld, OP_QUERY_PARTITIONS, ESLURM_ACCESS_DENIED, NULL);
    draw(TREE);
    expect_said(&said, "", "slurm_load_node error: Access/permission denied\n");
    assert_int_equal(scontrol.status, 1);
    PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL);
    PEER_LIST(&ctld, OP_QUERY_NODES, node_record, NULL);
    peer_refuse(&ctld, OP_QUERY_JOBS, ESLURM_ACCESS_DENIED, NULL);
    draw(TREE);
    expect_said(&said, "", "slurm_load_jobs error: Access/permission denied\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCONTROL_TEST(test_letters),
        SCONTROL_TEST(test_long_units),
        SCONTROL_TEST(test_refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
