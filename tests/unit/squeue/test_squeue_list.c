/* test_squeue_list.c - one listing of jobs or steps: which, in which order, as which lines */
#include "cli/squeue/squeue.h"

#include "output_util.h"
#include "peer_json.h"
#include "wire/errors.h"

static struct output said;
static struct peer ctld;
static struct squeue q;

static void ignore_user(const char *word)
{
    (void)word;
}

static int begin_list(void **state)
{
    static const char text[] = "ClusterName=demo\nSlurmctldHost=h\nNodeName=n\n";
    struct conf_text file = { .name = "/etc/slurm.conf", .text = text, .len = sizeof(text) - 1 };

    (void)state;
    q = (struct squeue){ 0 };
    cli_init(&q.cli, "squeue");
    assert_int_equal(conf_load_text(&file, 1, CONF_CLIENT, &q.cli.conf, NULL, NULL), 0);
    jobfilter_init(&q.filter, ignore_user);
    peer_begin(&ctld);
    q.client = ctld.client;
    return 0;
}

static int end_list(void **state)
{
    (void)state;
    fmt_done(&q.fmt);
    jobfilter_done(&q.filter);
    argwords_free(q.hidden, q.n_hidden);
    peer_end(&ctld);
    cli_done(&q.cli);
    return 0;
}

/* Before each list but the first. */
static void list_again(void)
{
    peer_renew(&ctld);
    q.client = ctld.client;
}

static void set_format(const char *format)
{
    fmt_done(&q.fmt);
    q.fmt = (struct fmt)FMT_INIT;
    assert_int_equal(fmt_parse_short(&q.fmt, q.steps ? &squeue_step_fields : &squeue_job_fields,
                                     format, NULL, NULL),
                     0);
}

static void run_list(void *ctx)
{
    static char *argv[] = { (char *)"squeue" };

    (void)ctx;
    squeue_make_filter(&q);
    squeue_list(&q, 1, argv);
    exit(q.status);
}

static void list(void)
{
    output_of(&said, NULL, run_list, NULL);
}

/* The answer about hidden partitions comes before that about jobs. */
#define NO_PARTITIONS() PEER_LIST(&ctld, OP_QUERY_PARTITIONS, partition_record, NULL)
#define JOBS(...) PEER_LIST(&ctld, OP_QUERY_JOBS, job_record, __VA_ARGS__)

#define expect_list(format, out_text)                                                              \
    do {                                                                                           \
        set_format(format);                                                                        \
        list();                                                                                    \
        expect_said(&said, (out_text), "");                                                        \
        assert_int_equal(said.status, 0);                                                          \
    } while (0)

/* By partition, state, and priority, the highest first. */
static void test_order(void **state)
{
    (void)state;
    NO_PARTITIONS();
    JOBS("{'job_id':5,'partition':'b','state':'JOB_PENDING','priority':10}",
         "{'job_id':6,'partition':'b','state':'JOB_PENDING','priority':90}",
         "{'job_id':7,'partition':'b','state':'JOB_RUNNING','priority':1}",
         "{'job_id':8,'partition':'a','state':'JOB_RUNNING','priority':1}");
    expect_list("%i %P %t", "JOBID PARTITION ST\n8 a R\n6 b PD\n5 b PD\n7 b R\n");
}

static void test_sort(void **state)
{
    (void)state;
    q.sort = "-i";
    q.noheader = true;
    NO_PARTITIONS();
    JOBS("{'job_id':5,'state':'JOB_RUNNING'}", "{'job_id':7,'state':'JOB_RUNNING'}",
         "{'job_id':6,'state':'JOB_RUNNING'}");
    expect_list("%i", "7\n6\n5\n");
    list_again();
    q.sort = "~";
    NO_PARTITIONS();
    set_format("%i");
    list();
    expect_said(&said, "", "squeue: error: Invalid sort specification: ~\n");
    assert_int_equal(said.status, 1);
}

/* What is over is not listed, unless its state is asked for. */
static void test_states(void **state)
{
    Pst__QueryRequest *req;

    (void)state;
    q.noheader = true;
    NO_PARTITIONS();
    JOBS("{'job_id':5,'state':'JOB_COMPLETED'}", "{'job_id':6,'state':'JOB_RUNNING'}",
         "{'job_id':7,'state':'JOB_COMPLETED','state_flags':1}",
         "{'job_id':8,'state':'JOB_FAILED'}");
    q.sort = "i";
    expect_list("%i %t", "6 R\n7 CG\n");
    protobuf_c_message_free_unpacked(
        peer_take(&ctld, OP_QUERY_PARTITIONS, &pst__query_request__descriptor), NULL);
    req = PEER_TAKE(&ctld, OP_QUERY_JOBS, query_request);
    assert_int_equal(req->jobs->n_states, 3);
    assert_true(req->jobs->include_completing);
    assert_true(req->n_fields > 0); /* what the format uses alone */
    pst__query_request__free_unpacked(req, NULL);
}

/* Tasks that wait have one line, each its own with --array. */
static void test_arrays(void **state)
{
    (void)state;
    q.noheader = true;
    NO_PARTITIONS();
    JOBS("{'job_id':5,'array_job_id':5,'array_tasks':'2-4%1','state':'JOB_PENDING'}",
         "{'job_id':6,'array_job_id':5,'array_task_id':1,'state':'JOB_RUNNING'}");
    expect_list("%i %t", "5_[2-4%1] PD\n5_1 R\n");
    list_again();
    q.array = true;
    NO_PARTITIONS();
    JOBS("{'job_id':5,'array_job_id':5,'array_tasks':'2-4%1','state':'JOB_PENDING'}",
         "{'job_id':6,'array_job_id':5,'array_task_id':1,'state':'JOB_RUNNING'}");
    expect_list("%i %t", "5_2 PD\n5_3 PD\n5_4 PD\n5_1 R\n");
}

static void name_ids(const char *text)
{
    struct err err = { .text = "" };

    filter_ids_done(&q.filter.ids);
    q.filter.ids = (struct filter_ids){ 0 };
    assert_int_equal(filter_parse_ids(text, &q.filter.ids, &err), 0);
    q.jobs_given = true;
}

/* Tasks that are named: one of a set alone, several as a set. */
static void test_named_tasks(void **state)
{
    (void)state;
    q.noheader = true;
    name_ids("5_3");
    JOBS("{'job_id':5,'array_job_id':5,'array_tasks':'2-9','state':'JOB_PENDING'}");
    expect_list("%i", "5_3\n");
    list_again();
    name_ids("5_[3-4,7]");
    JOBS("{'job_id':5,'array_job_id':5,'array_tasks':'2-9%2','state':'JOB_PENDING'}");
    expect_list("%i", "5_[3-4,7%2]\n");
}

/* As recorded: one unknown job is a mistake, of several those are shown that are there. */
static void test_unknown_jobs(void **state)
{
    (void)state;
    name_ids("99999");
    JOBS(NULL);
    set_format("%i");
    list();
    expect_said(&said, "", "slurm_load_jobs error: Invalid job id specified\n");
    assert_int_equal(said.status, 1);
    list_again();
    name_ids("99998,99999");
    JOBS(NULL);
    expect_list("%i", "JOBID\n");
    list_again(); /* one that is over is known */
    name_ids("7");
    JOBS("{'job_id':7,'state':'JOB_COMPLETED'}");
    expect_list("%i", "JOBID\n");
}

/* With --priority a job of several partitions has a line for each that is wanted. */
static void test_partitions(void **state)
{
    (void)state;
    q.noheader = true;
    q.per_partition = true;
    q.sort = "i,P";
    NO_PARTITIONS();
    JOBS("{'job_id':5,'partition':'a,b,c','state':'JOB_PENDING'}",
         "{'job_id':6,'partition':'a,b','state':'JOB_RUNNING'}");
    expect_list("%i %P", "5 a\n5 b\n5 c\n6 a,b\n");
    list_again();
    argwords_add(&q.filter.request.partitions, &q.filter.request.n_partitions, "b");
    JOBS("{'job_id':5,'partition':'a,b,c','state':'JOB_PENDING'}");
    expect_list("%i %P", "5 b\n");
}

static void test_hidden(void **state)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;
    struct job_row r = { .job = &j };

    (void)state;
    argwords_add(&q.hidden, &q.n_hidden, "secret,dark");
    squeue_make_filter(&q);
    j.state = PST__JOB_STATE__JOB_RUNNING;
    j.partition = (char *)"open";
    assert_true(squeue_wanted(&q, &r));
    j.partition = (char *)"open,dark";
    assert_false(squeue_wanted(&q, &r));
    j.partition = (char *)"darker";
    assert_true(squeue_wanted(&q, &r));
    /* copies that another cluster runs are shown with --all */
    j.state_flags = 1u << PST__JOB_FLAG__JOB_FLAG_REVOKED;
    assert_false(squeue_wanted(&q, &r));
    q.all = true;
    assert_true(squeue_wanted(&q, &r));
}

#define NODES(...) PEER_LIST(&ctld, OP_QUERY_NODES, node_record, __VA_ARGS__)

static void ask_nodes(const char *nodes)
{
    free(q.filter.request.nodes);
    q.filter.request.nodes = strdup(nodes);
    set_format("%i");
    list();
}

/* A name that is no node is told, as recorded; what is no list, too. */
static void test_nodes(void **state)
{
    (void)state;
    NO_PARTITIONS();
    NODES("{'node_id':0,'name':'n1'}");
    ask_nodes("n1,node9");
    expect_said(&said, "", "squeue: error: Invalid node name node9\n");
    assert_int_equal(said.status, 1);
}

static void test_no_list(void **state)
{
    (void)state;
    NO_PARTITIONS();
    ask_nodes("n[1-");
    expect_said(&said, "", "squeue: error: 'n[1-' invalid entry for --nodelist\n");
    assert_int_equal(said.status, 1);
}

static void test_unknown_node(void **state)
{
    (void)state;
    NO_PARTITIONS();
    peer_refuse(&ctld, OP_QUERY_NODES, ESLURM_INVALID_NODE_NAME, NULL);
    ask_nodes("localhost");
    expect_said(&said, "", "squeue: error: Invalid node name localhost\n");
}

/* A question that could not be answered says nothing about names. */
static void test_nodes_refused(void **state)
{
    (void)state;
    NO_PARTITIONS();
    peer_refuse(&ctld, OP_QUERY_NODES, ESLURM_ACCESS_DENIED, NULL);
    q.noheader = true;
    ask_nodes("n1");
    expect_said(&said, "", "slurm_load_node error: Access/permission denied\n");
    assert_int_equal(said.status, 1);
}

static void test_refused(void **state)
{
    (void)state;
    peer_refuse(&ctld, OP_QUERY_PARTITIONS, ESLURM_ACCESS_DENIED, NULL);
    set_format("%i");
    list();
    expect_said(&said, "JOBID\n", "slurm_load_partitions error: Access/permission denied\n");
    assert_int_equal(said.status, 1);
}

/* --only-job-state asks for the states of jobs by number alone. */
static void test_only_state(void **state)
{
    (void)state;
    q.only_state = true;
    q.filter.notme = true;
    set_format("%i");
    list();
    expect_said(
        &said, "",
        "squeue: error: --only-job-state goes with --jobs, --states, --clusters and options "
        "of the output, not with other filters\n");
    assert_int_equal(said.status, 1);
    assert_true(peer_is_quiet(&ctld));
}

/* Steps of the jobs that are wanted, by partition and number; those that are over are not there. */
static void test_steps(void **state)
{
    (void)state;
    q.steps = true;
    NO_PARTITIONS();
    JOBS("{'job_id':5,'partition':'b','state':'JOB_RUNNING','user_name':'ann'}",
         "{'job_id':6,'partition':'a','state':'JOB_RUNNING','user_name':'bob'}");
    PEER_LIST(&ctld, OP_QUERY_STEPS, step_record,
              "{'job_id':5,'step_id':1,'name':'x','state':'STEP_RUNNING'}",
              "{'job_id':5,'step_id':0,'name':'y','state':'STEP_RUNNING'}",
              "{'job_id':6,'step_id':2,'name':'z','state':'STEP_RUNNING'}",
              "{'job_id':7,'step_id':0,'name':'no','state':'STEP_RUNNING'}");
    expect_list("%i %j %P %u",
                "STEPID NAME PARTITION USER\n6.2 z a bob\n5.0 y b ann\n5.1 x b ann\n");
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin_list, end_list)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ONE(test_order),      ONE(test_sort),         ONE(test_states),
        ONE(test_arrays),     ONE(test_named_tasks),  ONE(test_unknown_jobs),
        ONE(test_partitions), ONE(test_hidden),       ONE(test_nodes),
        ONE(test_no_list),    ONE(test_unknown_node), ONE(test_nodes_refused),
        ONE(test_refused),    ONE(test_only_state),   ONE(test_steps),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
