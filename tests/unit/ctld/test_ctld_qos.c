/* test_ctld_qos.c - preemption by QOS in the controller, with a node played here
 *
 * The QOS come as accounting records, change while jobs run, and are known to the next
 * controller. */
#include "ctld_util.h"

static const char cluster[] =
    "NodeName=n0 CPUs=4 Sockets=1 CoresPerSocket=4 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

struct fixture {
    struct daemon d;
    struct fake_node *n;
};

/* QosPreemptMode as bits. */
#define OFF "1"
#define SUSPEND "2"
#define REQUEUE "4"
#define CANCEL "8"
#define WITHIN_CANCEL "40"

static struct fixture start(const char *mode)
{
    struct fixture x;
    char extra[256];

    (void)daemon_new(&x.d);
    (void)snprintf(
        extra, sizeof(extra),
        "SchedulerParameters=requeue_delay=60\nSlurmdTimeout=600\nPreemptType=preempt/qos\n"
        "PreemptMode=%s",
        mode);
    write_conf(&x.d, extra, cluster);
    daemon_start(&x.d, NULL, NULL);
    x.n = node_up(&x.d, "n0", "b1", NULL);
    return x;
}

static void stop(struct fixture *x)
{
    node_free(x->n);
    assert_int_equal(daemon_stop(&x->d, SIGTERM), 0);
    daemon_free(&x->d);
}

/* high may preempt low; low has `rest` besides. */
static void put_qos(struct fixture *x, const char *rest)
{
    char json[1024];

    (void)snprintf(json, sizeof(json),
                   "{'changes':[{'qos':{'qos_id':1,'name':'normal'}},"
                   "{'qos':{'qos_id':2,'name':'low','priority':1%s}},"
                   "{'qos':{'qos_id':3,'name':'high','priority':100,'preempt_ids':[2]}}]}",
                   rest);
    assert_int_equal(ask(&x->d, x->d.client, OP_ACCT_CHANGES, json, NULL), 0);
}

static uint32_t submit_qos(struct fixture *x, const char *qos, const char *rest)
{
    char json[256];

    (void)snprintf(json, sizeof(json), "{'job':{'num_tasks':4,'qos':'%s'%s}}", qos, rest);
    return submit(&x->d, json);
}

static void test_modes(void **state)
{
    static const struct {
        const char *mode, *rest, *low; /* what becomes of low; NULL = it stays */
    } cases[] = {
        { "REQUEUE", "", "'state':'JOB_PENDING'" },
        { "CANCEL", "", "'state':'JOB_PREEMPTED'" },
        { "REQUEUE", ",'preempt_mode':" CANCEL, "'state':'JOB_PREEMPTED'" },
        { "CANCEL", ",'preempt_mode':" REQUEUE, "'state':'JOB_PENDING'" },
        { "SUSPEND,GANG", "", "'state':'JOB_SUSPENDED'" },
        { "CANCEL", ",'preempt_mode':" SUSPEND, "'state':'JOB_SUSPENDED'" },
        { "CANCEL", ",'preempt_mode':" OFF, NULL },
        { "CANCEL", ",'preempt_exempt_s':3600", NULL },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct fixture x = start(cases[i].mode);
        uint32_t low, high;
        uint64_t run;

        put_qos(&x, cases[i].rest);
        low = submit_qos(&x, "low", ",'requeue':true");
        run = node_launched(x.n, low);
        high = submit_qos(&x, "high", "");
        if (!cases[i].low) {
            wait_job(&x.d, high, "'pend_reason':'REASON_RESOURCES'");
            wait_job(&x.d, low, "'state':'JOB_RUNNING'");
        } else {
            if (!strstr(cases[i].low, "SUSPENDED")) {
                wait_job(&x.d, low, "'state':'JOB_PREEMPTED'");
                assert_int_equal(node_ended(x.n, low, STEP_BATCH, run, 15, true), 0);
                assert_int_equal(node_clean(x.n, low, run), 0);
            }
            wait_job(&x.d, low, cases[i].low);
            (void)node_launched(x.n, high);
            wait_job(&x.d, high, "'state':'JOB_RUNNING'");
        }
        stop(&x);
    }
}

/* Not the other way round, and not those of the same QOS unless it says so; then by priority. */
static void test_whom(void **state)
{
    struct fixture x = start("CANCEL");
    uint32_t high, low, more, most;
    uint64_t run;

    (void)state;
    put_qos(&x, "");
    high = submit_qos(&x, "high", ",'priority':500");
    run = node_launched(x.n, high);
    low = submit_qos(&x, "low", "");
    more = submit_qos(&x, "high", ",'priority':900");
    wait_job(&x.d, more, "'pend_reason':'REASON_RESOURCES'");
    wait_job(&x.d, low, "'pend_reason':'REASON_PRIORITY'");
    wait_job(&x.d, high, "'state':'JOB_RUNNING'");
    assert_int_equal(act(&x.d, more, "CANCEL"), 0);
    assert_int_equal(act(&x.d, low, "CANCEL"), 0);
    assert_int_equal(ask(&x.d, x.d.client, OP_ACCT_CHANGES,
                         "{'changes':[{'qos':{'qos_id':3,'name':'high','preempt_ids':[2],"
                         "'preempt_mode':" WITHIN_CANCEL "}}]}",
                         NULL),
                     0);
    most = submit_qos(&x, "high", ",'priority':400");
    wait_job(&x.d, most, "'pend_reason':'REASON_RESOURCES'"); /* less than what runs has */
    wait_job(&x.d, high, "'state':'JOB_RUNNING'");
    assert_int_equal(update(&x.d, most, "'set':{'priority':600}"), 0);
    wait_job(&x.d, high, "'state':'JOB_PREEMPTED'");
    assert_int_equal(node_ended(x.n, high, STEP_BATCH, run, 15, true), 0);
    assert_int_equal(node_clean(x.n, high, run), 0);
    (void)node_launched(x.n, most);
    stop(&x);
}

/* The grace is the QOS's, and another controller knows whom it may send away. */
static void test_grace_and_restart(void **state)
{
    struct fixture x = start("CANCEL");
    uint32_t low, high;
    char running[128];
    uint64_t run;

    (void)state;
    put_qos(&x, ",'grace_s':600");
    low = submit_qos(&x, "low", "");
    run = node_launched(x.n, low);
    node_free(x.n);
    assert_int_equal(daemon_stop(&x.d, SIGTERM), 0);
    daemon_start(&x.d, NULL, NULL);
    (void)snprintf(running, sizeof(running), "[{'job_id':%u,'step_id':%u,'run_id':%llu}]", low,
                   (unsigned)STEP_BATCH, (unsigned long long)run);
    x.n = node_up(&x.d, "n0", "b1", running);
    high = submit_qos(&x, "high", "");
    wait_job(&x.d, low, "'preempt_us':");
    wait_job(&x.d, low, "'state':'JOB_RUNNING'");
    wait_job(&x.d, high, "'state':'JOB_PENDING'");
    stop(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_modes), cmocka_unit_test(test_whom),
                                        cmocka_unit_test(test_grace_and_restart) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
