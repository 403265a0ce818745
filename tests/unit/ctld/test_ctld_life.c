/* test_ctld_life.c - lives of jobs in the controller, with nodes played here: starts, ends,
 * requeues, suspended time, arrays that follow each other, lost nodes, restarts in the middle,
 * steps
 *
 * Each test has a slurmctld of its own. */
#include "ctld_util.h"
#include "ctld/node/nodesback.h" /* what test_restart_awaits_nodes() shows */

static const char cluster[] =
    "NodeName=n[0-2] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000 "
    "State=UNKNOWN\n"
    "PartitionName=main Nodes=ALL Default=YES MaxTime=60 DefaultTime=30\n";

static int setup(void **state)
{
    struct daemon *d = malloc(sizeof(*d));

    assert_non_null(d);
    (void)daemon_new(d);
    write_conf(d, "SchedulerParameters=requeue_delay=0\nSlurmdTimeout=600", cluster);
    daemon_start(d, NULL, NULL);
    *state = d;
    return 0;
}

static int teardown(void **state)
{
    struct daemon *d = *state;
    int status = daemon_stop(d, SIGTERM);

    daemon_free(d);
    free(d);
    return status; /* not 0 when it leaked */
}

static void test_run(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{'num_tasks':2}}");
    uint64_t run = node_launched(n, id);

    assert_job(d, id, "'state':'JOB_RUNNING'");
    assert_job(d, id, "'batch_started':true");
    assert_job(d, id, "'batch_host':'n0'");
    assert_job(d, id, "'alloc_tres':'cpu=2,mem=200M,node=1,billing=2'");
    assert_true(node_has(d, "n0", "'alloc_cpus':2"));
    assert_true(node_has(d, "n0", "'jobs_running':1"));
    assert_int_equal(node_ended(n, id, STEP_BATCH, run + 5, 256, true),
                     0); /* of another run: nothing */
    assert_job(d, id, "'state':'JOB_RUNNING'");
    assert_int_equal(node_ended(n, id, STEP_BATCH, run, 256, true), 0);
    assert_job(d, id, "'state':'JOB_FAILED'");
    assert_job(d, id, "'state_flags':0");
    assert_job(d, id, "'exit_status':256");
    assert_job(d, id, "'reason':'REASON_NON_ZERO_EXIT_CODE'");
    assert_job(d, id, "'released':true");
    assert_true(node_has(d, "n0", "'alloc_cpus':0"));
    assert_int_equal(node_ended(n, id, STEP_BATCH, run, 0, true), 0); /* said twice */
    assert_job(d, id, "'exit_status':256");
    node_free(n);
}

/* The end first, the cleaning later: resources are held until then. */
static void test_completing(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{}}");
    uint64_t run = node_launched(n, id);

    assert_int_equal(node_ended(n, id, STEP_BATCH, run, 0, false), 0);
    protobuf_c_message_free_unpacked(node_take(n, OP_TERMINATE_JOB, id), NULL);
    assert_job(d, id, "'state':'JOB_COMPLETED','state_flags':1");
    assert_true(node_has(d, "n0", "'jobs_completing':1"));
    assert_int_equal(node_clean(n, id, run + 1), 0); /* of another run */
    assert_job(d, id, "'state_flags':1");
    assert_int_equal(node_clean(n, id, run), 0);
    assert_job(d, id, "'state_flags':0");
    assert_true(node_has(d, "n0", "'jobs_completing':0"));
    node_free(n);
}

/* A requeue is no end: who waits for success goes on waiting. */
static void test_requeue_and_dependants(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{}}"), ok, any;
    uint64_t run = node_launched(n, id), again;
    char json[128], want[64];

    (void)snprintf(json, sizeof(json),
                   "{'job':{'dependency':'afterok:%u','kill_on_invalid_dep':true}}", id);
    ok = submit(d, json);
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afterany:%u'}}", id);
    any = submit(d, json);
    (void)snprintf(want, sizeof(want), "'dependency':'afterok:%u(unfulfilled)'", id);
    assert_int_equal(act(d, id, "REQUEUE_HOLD"), 0);
    protobuf_c_message_free_unpacked(node_take(n, OP_TERMINATE_JOB, id), NULL);
    assert_job(d, ok, want);
    assert_job(d, ok, "'state':'JOB_PENDING'");
    assert_job(d, any, "'dependency':");
    assert_int_equal(act(d, id, "REQUEUE"), ESLURM_JOB_PENDING);
    assert_int_equal(node_clean(n, id, run), 0);
    assert_job(d, id, "'state':'JOB_PENDING'");
    assert_job(d, id, "'priority':0");
    assert_job(d, id, "'reason':'REASON_JOB_HELD_USER'");
    assert_job(d, id, "'restart_count':1");
    assert_job(d, id, "!'alloc':");
    assert_job(d, id, "!'start_us'");
    assert_job(d, ok, want);
    assert_job(d, any, "'dependency':");
    assert_int_equal(act(d, id, "RELEASE"), 0);
    again = node_launched(n, id);
    assert_int_not_equal(again, run); /* the same job, another run */
    assert_int_equal(node_ended(n, id, STEP_BATCH, run, 0, true), 0); /* late news of the first */
    assert_job(d, id, "'state':'JOB_RUNNING'");
    assert_int_equal(node_ended(n, id, STEP_BATCH, again, 0, true), 0);
    wait_job(d, ok, "!'dependency'");
    wait_job(d, any, "!'dependency'");
    node_free(n);
}

/* The owner of a job may release what a requeue held. */
static void test_users_requeue(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n;
    struct client *user;
    uint32_t id = 0;
    uint64_t run;

    if (geteuid() != 0)
        skip();
    n = node_up(d, "n0", "b1", NULL);
    user = connect_as(d, STRANGER);
    assert_int_equal(submit_as(d, user, "{'job':{}}", &id), 0);
    run = node_launched(n, id);
    assert_int_equal(act_as(d, user, id_text(id), "REQUEUE_HOLD"), 0);
    assert_int_equal(node_clean(n, id, run), 0);
    assert_int_equal(act_as(d, user, id_text(id), "RELEASE"), 0);
    run = node_launched(n, id);
    /* The end of its run is a time limit: nobody is without one by clearing it. */
    assert_int_equal(on_job_as(d, user, OP_JOB_UPDATE, id_text(id), "'clear':[54]"),
                     ESLURM_NOT_SUPPORTED);
    assert_int_equal(
        on_job_as(d, user, OP_JOB_UPDATE, id_text(id), "'set':{'end_us':-9223372036854775807}"),
        ESLURM_INVALID_TIME_VALUE);
    assert_int_equal(
        on_job_as(d, user, OP_JOB_UPDATE, id_text(id), "'set':{'end_us':4000000000000000}"),
        ESLURM_ACCESS_DENIED);
    /* Held by an administrator while it runs: it stays held when it comes back to the queue. */
    assert_int_equal(act(d, id, "HOLD"), 0);
    assert_int_equal(act_as(d, user, id_text(id), "REQUEUE"), 0);
    assert_int_equal(node_clean(n, id, run), 0);
    assert_job(d, id, "'reason':'REASON_JOB_HELD_ADMIN'");
    assert_int_equal(act_as(d, user, id_text(id), "RELEASE"), ESLURM_ACCESS_DENIED);
    client_free(user);
    node_free(n);
}

static void test_requeue_delay(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id;
    uint64_t run;
    Pst__JobRecord *r;

    write_conf(d, "SchedulerParameters=requeue_delay=1000", cluster);
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    id = submit(d, "{'job':{}}");
    run = node_launched(n, id);
    assert_int_equal(act(d, id, "REQUEUE"), 0);
    assert_int_equal(node_clean(n, id, run), 0);
    r = get_job(d, id);
    assert_int_equal(r->state, JOB_STATE(PENDING));
    assert_true(r->has_begin_us && r->begin_us > now_us() + 900 * SEC);
    pst__job_record__free_unpacked(r, NULL);
    node_free(n);
}

/* Time asleep is no time used, also when the job ends in its sleep. */
static void test_suspended_time(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{'num_tasks':8}}");
    uint64_t run = node_launched(n, id);
    Pst__JobRecord *r = get_job(d, id);
    int64_t end = r->end_us, first;
    Pst__SignalSteps *sig;

    pst__job_record__free_unpacked(r, NULL);
    assert_int_equal(act(d, id, "SUSPEND"), 0);
    assert_int_equal(act(d, id, "SUSPEND"), 0); /* once is enough */
    sig = (Pst__SignalSteps *)node_take(n, OP_SIGNAL_STEPS, id);
    assert_true(sig->suspend);
    protobuf_c_message_free_unpacked(&sig->base, NULL);
    assert_job(d, id, "'state':'JOB_SUSPENDED'");
    assert_true(node_has(d, "n0", "'alloc_cpus':0"));
    assert_int_equal(act(d, id, "RESUME"), 0);
    assert_int_equal(act(d, id, "RESUME"), ESLURM_JOB_NOT_SUSPENDED);
    r = get_job(d, id);
    first = r->suspended_us;
    assert_true(first > 0);
    assert_int_equal(r->end_us, end + first);
    pst__job_record__free_unpacked(r, NULL);
    assert_int_equal(act(d, id, "SUSPEND"), 0);
    assert_int_equal(act(d, id, "CANCEL"), 0);
    r = get_job(d, id);
    assert_true(r->suspended_us > first);
    assert_true(r->suspended_us <= r->end_us - r->start_us);
    pst__job_record__free_unpacked(r, NULL);
    assert_int_equal(node_clean(n, id, run), 0);
    node_free(n);
}

/* aftercorr: each task follows its counterpart, for good or ill. */
static void test_aftercorr(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t a = submit(d, "{'job':{},'array':'0-2'}"), b;
    char json[96], want[64];
    uint32_t ids[3];
    uint64_t runs[3];

    for (uint32_t t = 0; t < 3; t++) {
        ids[t] = t == 2 ? a : a + 1 + t; /* the last one takes the record */
        wait_job(d, ids[t], "'state':'JOB_RUNNING'");
        runs[t] = node_launched(n, ids[t]);
    }
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'aftercorr:%u'},'array':'0-4'}", a);
    b = submit(d, json);
    assert_job(d, b, "'array_task_id':4"); /* what it waits for runs: tasks have records */
    for (uint32_t t = 0; t < 4; t++) {
        (void)snprintf(want, sizeof(want), "'array_task_id':%u", t);
        assert_job(d, b + 1 + t, want);
    }
    assert_int_equal(node_ended(n, ids[1], STEP_BATCH, runs[1], 256, true), 0); /* task 1 fails */
    (void)snprintf(want, sizeof(want), "'dependency':'aftercorr:%u", a);
    assert_job(d, b + 2, want);
    assert_job(d, b + 2, "(failed)");
    assert_job(d, b + 1, "'state':'JOB_PENDING'");
    assert_int_equal(node_ended(n, ids[0], STEP_BATCH, runs[0], 0, true), 0); /* task 0 does not */
    wait_job(d, b + 1, "'state':'JOB_RUNNING'");
    assert_job(d, b, "(unfulfilled)"); /* 4 has no counterpart, and task 2 still runs */
    assert_int_equal(node_ended(n, ids[2], STEP_BATCH, runs[2], 0, true), 0);
    wait_job(d, b + 3, "'state':'JOB_RUNNING'");
    wait_job(d, b, "(failed)"); /* 3 and 4 have no counterpart */
    assert_job(d, b + 4, "(failed)");
    /* Submitted when everything is over: the same. */
    b = submit(d, json);
    wait_job(d, b + 1, "'array_task_id':");
    node_free(n);
}

/* afternotok of an array: one failure is enough, and it is not forgotten while others run. */
static void test_afternotok_array(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n;
    uint32_t a, b;
    uint64_t run;
    char json[96];

    write_conf(d, "MinJobAge=2\nSchedulerParameters=requeue_delay=0", cluster);
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    n = node_up(d, "n0", "b1", NULL);
    a = submit(d, "{'job':{},'array':'0-1'}");
    wait_job(d, a + 1, "'array_task_id':0"); /* the ids are given */
    (void)snprintf(json, sizeof(json), "{'job':{'dependency':'afternotok:%u'}}", a);
    b = submit(d, json);
    run = node_launched(n, a + 1);
    assert_int_equal(node_ended(n, a + 1, STEP_BATCH, run, 256, true), 0);
    run = node_launched(n, a);
    /* Others of its age are forgotten; this one is still needed. */
    {
        uint32_t other = submit(d, "{'job':{},'hold':true}");
        int64_t until = now_mono_us() + DEADLINE_US;
        Pst__JobRecord *r;

        assert_int_equal(act(d, other, "CANCEL"), 0);
        while ((r = get_job(d, other)) && now_mono_us() < until) {
            pst__job_record__free_unpacked(r, NULL);
            (void)poll(NULL, 0, 50); /* between two questions */
        }
        assert_null(r);
    }
    assert_job(d, a + 1, "'state':'JOB_FAILED'");
    assert_int_equal(node_ended(n, a, STEP_BATCH, run, 0, true), 0);
    wait_job(d, b, "!'dependency'");
    node_free(n);
}

/* ---- the controller dies --------------------------------------------------------------------- */

static void restart(struct daemon *d)
{
    (void)daemon_stop(d, SIGKILL);
    daemon_start(d, NULL, NULL);
}

static void test_restart_while_it_runs(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{}}"), lost = submit(d, "{'job':{}}");
    uint64_t run = node_launched(n, id);
    char running[128];

    (void)node_launched(n, lost);
    restart(d);
    node_free(n);
    (void)snprintf(running, sizeof(running), "[{'job_id':%u,'step_id':%u,'run_id':%llu}]", id,
                   STEP_BATCH, (unsigned long long)run);
    n = node_up(d, "n0", "b1", running);
    assert_job(d, id, "'state':'JOB_RUNNING'"); /* untouched */
    assert_job(d, lost,
               "'state_flags':5"); /* the node does not know it: requeued, cleaning up first */
    assert_int_equal(node_ended(n, id, STEP_BATCH, run, 0, true), 0);
    assert_job(d, id, "'state':'JOB_COMPLETED'");
    node_free(n);
}

/* Nodes that worked are awaited: no job starts on the one that is back first. */
static void test_restart_awaits_nodes(void **state)
{
    struct daemon *d = *state;
    struct fake_node *a = node_up(d, "n0", "b1", NULL), *b = node_up(d, "n1", "b1", NULL);
    uint32_t id;

    restart(d);
    node_free(a);
    node_free(b);
    a = node_up(d, "n0", "b1", NULL);
    id = submit(d, "{'job':{}}");
    assert_job(d, id, "'state':'JOB_PENDING'");
    b = node_up(d, "n1", "b1", NULL);
    (void)node_launched(a, id);
    assert_job(d, id, "'state':'JOB_RUNNING'");
    node_free(a);
    node_free(b);
}

/* Not confirmed before the crash: launched again, once. */
static void test_restart_before_launch(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{}}");
    Pst__LaunchBatch *first = (Pst__LaunchBatch *)node_take(n, OP_LAUNCH_BATCH, id);
    uint64_t run = first->job->run_id;

    protobuf_c_message_free_unpacked(&first->base, NULL);
    restart(d);
    node_free(n);
    n = node_up(d, "n0", "b1", NULL);
    assert_int_equal(node_launched(n, id), run);
    assert_int_equal(node_ended(n, id, STEP_BATCH, run, 0, true), 0);
    assert_job(d, id, "'state':'JOB_COMPLETED'");
    node_free(n);
}

/* Ended, cleaning, and one of the nodes is down by now: the other's word is enough. */
static void test_restart_while_completing(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n0 = node_up(d, "n0", "b1", NULL), *n1 = node_up(d, "n1", "b1", NULL);
    uint32_t id = submit(d, "{'job':{'min_nodes':2,'requeue':true}}");
    uint64_t run = node_launched(n0, id);

    assert_int_equal(act(d, id, "CANCEL"), 0);
    assert_job(d, id, "'state_flags':1");
    assert_int_equal(
        ask(d, d->client, OP_NODE_UPDATE, "{'nodes':'n1','action':'NODE_ACT_DOWN'}", NULL), 0);
    restart(d);
    node_free(n0);
    node_free(n1);
    n0 = node_up(d, "n0", "b1", NULL);
    protobuf_c_message_free_unpacked(node_take(n0, OP_TERMINATE_JOB, id), NULL); /* told again */
    assert_job(d, id, "'state_flags':1");
    assert_int_equal(node_clean(n0, id, run), 0);
    assert_job(d, id, "'state_flags':0");
    node_free(n0);
}

static void test_restart_while_requeueing(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{}}");
    uint64_t run = node_launched(n, id);

    assert_int_equal(act(d, id, "REQUEUE_HOLD"), 0);
    restart(d);
    node_free(n);
    n = node_up(d, "n0", "b1", NULL);
    assert_int_equal(node_clean(n, id, run), 0);
    assert_job(d, id, "'state':'JOB_PENDING'");
    assert_job(d, id, "'restart_count':1");
    node_free(n);
}

/* ---- nodes go -------------------------------------------------------------------------------- */

static void test_node_down(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t batch = submit(d, "{'job':{'requeue':true}}"),
             keep = submit(d, "{'job':{'requeue':false}}");

    (void)node_launched(n, batch);
    (void)node_launched(n, keep);
    assert_int_equal(
        ask(d, d->client, OP_NODE_UPDATE, "{'nodes':'n0','action':'NODE_ACT_DOWN'}", NULL), 0);
    assert_job(d, batch, "'state':'JOB_PENDING'");
    assert_job(d, batch, "'restart_count':1");
    assert_job(d, keep, "'state':'JOB_NODE_FAIL'");
    assert_job(d, keep, "'state_flags':0");
    assert_job(d, keep, "'failed_node':'n0'");
    assert_true(node_has(d, "n0", "'alloc_cpus':0"));
    node_free(n);
}

static void test_node_reboots(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{'requeue':false}}");

    (void)node_launched(n, id);
    node_free(n);
    n = node_up(d, "n0", "b2", NULL);
    assert_job(d, id, "'state':'JOB_NODE_FAIL'");
    assert_job(d, id, "'state_flags':0");
    node_free(n);
}

/* The configuration drops a node that is connected: its connection goes with it. */
static void test_node_is_configured_away(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n0 = node_up(d, "n0", "b1", NULL), *n2 = node_up(d, "n2", "b1", NULL);
    struct frame f;
    int64_t until = now_mono_us() + DEADLINE_US;
    uint32_t id;
    int r = 0;

    write_conf(
        d, "",
        "NodeName=n[0-1] CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000\n"
        "PartitionName=main Nodes=ALL Default=YES\n");
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    while (r >= 0 && now_mono_us() < until)
        r = client_recv(n2->c, 1000, &f);
    assert_int_equal(r, -EPIPE);
    node_free(n2);
    id = submit(d, "{'job':{}}");
    assert_int_equal(node_ended(n0, id, STEP_BATCH, node_launched(n0, id), 0, true), 0);
    /* It comes back, with another node in its place. */
    write_conf(
        d, "",
        "NodeName=n[0-1],x2,n2 CPUs=8 Sockets=1 CoresPerSocket=8 ThreadsPerCore=1 RealMemory=8000\n"
        "PartitionName=main Nodes=n[0-2] Default=YES\n");
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    assert_true(part_has(d, "main", "'total_nodes':3"));
    n2 = node_up(d, "n2", "b1", NULL);
    id = submit(d, "{'job':{'req_nodes':'n2'}}");
    assert_int_equal(node_ended(n2, id, STEP_BATCH, node_launched(n2, id), 0, true), 0);
    assert_job(d, id, "'state':'JOB_COMPLETED'");
    node_free(n0);
    node_free(n2);
}

static void test_one_connection_two_names(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    ProtobufCMessage *msg = from_json(&pst__node_register__descriptor,
                                      "{'node':{'name':'n1','cpus':8,'real_memory_mib':8000}}");
    uint32_t id;

    assert_int_equal(node_call(n, OP_NODE_REGISTER, msg), ESLURM_INVALID_NODE_NAME);
    protobuf_c_message_free_unpacked(msg, NULL);
    id = submit(d, "{'job':{'min_nodes':1}}");
    wait_job(d, id, "'batch_host':'n0'"); /* it is still the one it was */
    node_free(n);
}

/* One node is broken into: it ends, cleans and fails the jobs of the others, whose runs it
 * guesses. */
static void test_reports_of_others_jobs(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n0 = node_up(d, "n0", "b1", NULL), *n1;
    uint32_t id = submit(d, "{'job':{'req_nodes':'n0'}}");
    uint64_t run = node_launched(n0, id);
    ProtobufCMessage *msg;
    char text[200];

    n1 = node_up(d, "n1", "b1", NULL);
    /* taken, and worth nothing */
    assert_int_equal(node_ended(n1, id, STEP_BATCH, run, 256, true), 0);
    (void)snprintf(text, sizeof(text),
                   "{'prolog_failed_job':%u,'script_told':[{'job_id':%u,'run_id':%llu}]}", id, id,
                   (unsigned long long)run);
    msg = from_json(&pst__node_report__descriptor, text);
    assert_int_equal(node_call(n1, OP_NODE_REPORT, msg), 0);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_job(d, id, "'state':'JOB_RUNNING'");
    assert_int_equal(node_ended(n0, id, STEP_BATCH, run, 0, false), 0);
    assert_int_equal(node_clean(n1, id, run), 0);
    assert_job(d, id, "'state':'JOB_COMPLETED','state_flags':1"); /* its own node still cleans up */
    assert_int_equal(node_clean(n0, id, run), 0);
    assert_job(d, id, "'state_flags':0");
    node_free(n0);
    node_free(n1);
}

/* That a job runs has time until other records go to the disk, or a moment has passed: the node
 * is told no sooner, and it is told.  A tick of the controller's falls into that moment now and
 * then. */
static void test_nobody_waits(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    unsigned late = 0;

    for (unsigned i = 0; i < 5; i++) {
        uint32_t id = submit(d, "{'job':{'req_nodes':'n0'}}");
        ProtobufCMessage *launch = node_take(n, OP_LAUNCH_BATCH, id);
        uint64_t run = ((Pst__LaunchBatch *)launch)->job->run_id;
        int64_t began = now_mono_us();
        char text[100];

        protobuf_c_message_free_unpacked(launch, NULL);
        (void)snprintf(text, sizeof(text),
                       "{'launched':[{'job_id':%u,'step_id':%u,'run_id':%llu}]}", id, STEP_BATCH,
                       (unsigned long long)run);
        assert_int_equal(node_report(n, text), 0);
        late += now_mono_us() - began > 9000;
        assert_int_equal(node_ended(n, id, STEP_BATCH, run, 0, true), 0);
        assert_job(d, id, "'state':'JOB_COMPLETED'");
    }
    assert_true(late >= 3);
    node_free(n);
}

/* What the hardware lacks drains the node, with the reason; when it is back, both go. */
static void test_low_hardware(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    ProtobufCMessage *msg = from_json(&pst__node_register__descriptor,
                                      "{'node':{'name':'n0','cpus':4,'real_memory_mib':8000}}");

    assert_int_equal(
        ask(d, d->client, OP_NODE_UPDATE,
            "{'nodes':'n0','action':'NODE_ACT_DOWN','set':{'reason':'Not responding'}}", NULL),
        0);
    assert_int_equal(node_call(n, OP_NODE_REGISTER, msg), 0);
    protobuf_c_message_free_unpacked(msg, NULL);
    assert_true(node_has(d, "n0", "'reason':'Low CPUs'"));
    node_free(n);
    n = node_up(d, "n0", "b1", NULL);
    assert_true(node_has(d, "n0", "!'reason'"));
    assert_true(node_has(d, "n0", "'state_flags':0"));
    node_free(n);
}

/* ---- allocations and steps ------------------------------------------------------------------- */

#define ALLOC "'job':{'batch':false,'num_tasks':4,'interactive':true},'wait_alloc':true"

static uint32_t allocate(struct waiting *w, struct daemon *d, const char *json)
{
    uint32_t flags, id = 0;

    *w = ask_async(d, OP_JOB_SUBMIT, json);
    for (bool granted = false; !granted;) {
        Pst__JobStatus *s = (Pst__JobStatus *)next_answer(w, &flags);

        assert_int_equal(flags & (FRAME_MORE | FRAME_ERROR), FRAME_MORE);
        id = s->job_id;
        granted = s->job != NULL;
        protobuf_c_message_free_unpacked(&s->base, NULL);
    }
    return id;
}

static void test_steps(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    struct waiting w, queued;
    uint32_t id = allocate(&w, d, "{" ALLOC "}"), flags;
    ProtobufCMessage *reply = NULL;
    char json[256];
    uint64_t run;
    Pst__JobStatus *end;
    Pst__JobRecord *r;

    (void)snprintf(json, sizeof(json), "{'job_id':%u,'spec':{'num_tasks':4}}", id);
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, json, &reply), 0);
    assert_int_equal(((Pst__StepReply *)reply)->step->step_id, 0);
    assert_int_equal(((Pst__StepReply *)reply)->n_nodes, 1);
    protobuf_c_message_free_unpacked(reply, NULL);
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, json, NULL), ESLURM_NODES_BUSY);
    (void)snprintf(json, sizeof(json), "{'job_id':%u,'spec':{'num_tasks':5}}", id);
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, json, NULL), ESLURM_TOO_MANY_REQUESTED_CPUS);
    (void)snprintf(json, sizeof(json), "{'job_id':%u,'spec':{'num_tasks':2},'wait':true}", id);
    queued = ask_async(d, OP_STEP_CREATE, json);
    r = get_job(d, id);
    run = r->db_id;
    pst__job_record__free_unpacked(r, NULL);
    assert_int_equal(node_ended(n, id, 0, run, 3 << 8, false), 0);
    reply = next_answer(&queued, &flags); /* its turn */
    assert_int_equal(((Pst__StepReply *)reply)->step->step_id, 1);
    protobuf_c_message_free_unpacked(reply, NULL);
    client_free(queued.c);
    assert_job(d, id, "'derived_exit_status':768");
    assert_int_equal(act(d, id, "COMPLETE"), 0);
    end = (Pst__JobStatus *)next_answer(&w, &flags);
    assert_int_equal(flags & FRAME_MORE, 0);
    assert_int_equal(end->state, JOB_STATE(COMPLETED));
    protobuf_c_message_free_unpacked(&end->base, NULL);
    (void)snprintf(json, sizeof(json), "{'job_id':%u}", id);
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, json, NULL), ESLURM_JOB_FINISHED);
    assert_int_equal(node_clean(n, id, run), 0);
    assert_job(d, id, "'state_flags':0");
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, "{'job_id':999}", NULL),
                     ESLURM_INVALID_JOB_ID);
    client_free(w.c);
    node_free(n);
}

/* A job that waits has no steps; one that sleeps makes them when it wakes up. */
static void test_step_waits_for_its_job(void **state)
{
    struct daemon *d = *state;
    struct waiting queued;
    uint32_t id = submit(d, "{'job':{}}"), flags;
    struct fake_node *n;
    ProtobufCMessage *reply;
    char json[128];

    (void)snprintf(json, sizeof(json),
                   "{'job_id':%u,'spec':{'num_tasks':1,'overlap':true},'wait':true}", id);
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, json, NULL), ESLURM_JOB_PENDING);
    n = node_up(d, "n0", "b1", NULL);
    (void)node_launched(n, id);
    assert_int_equal(act(d, id, "SUSPEND"), 0);
    queued = ask_async(d, OP_STEP_CREATE, json);
    assert_int_equal(act(d, id, "RESUME"), 0);
    reply = next_answer(&queued, &flags);
    assert_false(flags & FRAME_ERROR);
    assert_int_equal(((Pst__StepReply *)reply)->step->job_id, id);
    protobuf_c_message_free_unpacked(reply, NULL);
    client_free(queued.c);
    node_free(n);
}

/* --no-kill: a node goes, what ran there is over, the rest goes on. */
static void test_no_kill(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n0 = node_up(d, "n0", "b1", NULL), *n1 = node_up(d, "n1", "b1", NULL);
    uint32_t id = submit(d, "{'job':{'min_nodes':2,'no_kill':true}}");
    uint64_t run = node_launched(n0, id);
    struct wanted w = {
        .desc = &pst__step_record__descriptor, .id = id, .step = 0, .has_step = true
    };
    char json[128];

    (void)snprintf(json, sizeof(json), "{'job_id':%u,'spec':{'min_nodes':2,'overlap':true}}", id);
    assert_int_equal(ask(d, d->client, OP_STEP_CREATE, json, NULL), 0);
    assert_int_equal(
        ask(d, d->client, OP_NODE_UPDATE, "{'nodes':'n1','action':'NODE_ACT_DOWN'}", NULL), 0);
    assert_job(d, id, "'state':'JOB_RUNNING'");
    assert_int_equal(node_ended(n0, id, 0, run, 0, false),
                     0); /* on the other node: now it is over */
    (void)query(d, OP_QUERY_STEPS, &w);
    assert_true(json_has(w.found, "'exit_status':9"));
    assert_true(json_has(w.found, "!'state':'STEP_RUNNING'"));
    protobuf_c_message_free_unpacked(w.found, NULL);
    assert_int_equal(node_ended(n0, id, STEP_BATCH, run, 0, false), 0);
    assert_int_equal(node_clean(n0, id, run), 0);
    assert_job(d, id,
               "'state':'JOB_COMPLETED','state_flags':0"); /* the lost one is not waited for */
    node_free(n0);
    node_free(n1);
}

/* A prolog that fails holds a batch job; an allocation ends, and its client hears of it. */
static void test_prolog_fails(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t batch = submit(d, "{'job':{}}"), id, flags;
    uint64_t run = node_launched(n, batch);
    struct waiting w;
    Pst__JobStatus *end;
    char json[128];

    (void)snprintf(json, sizeof(json), "{'prolog_failed_job':%u,'prolog_failed_run':%llu}", batch,
                   (unsigned long long)run + 1); /* another run's: worth nothing */
    assert_int_equal(node_report(n, json), 0);
    assert_job(d, batch, "'state':'JOB_RUNNING'");
    (void)snprintf(json, sizeof(json), "{'prolog_failed_job':%u,'prolog_failed_run':%llu}", batch,
                   (unsigned long long)run);
    assert_int_equal(node_report(n, json), 0);
    assert_int_equal(node_clean(n, batch, run), 0);
    assert_job(d, batch, "'priority':0");
    assert_job(d, batch, "'state':'JOB_PENDING'");
    id = allocate(&w, d, "{" ALLOC "}");
    (void)snprintf(json, sizeof(json), "{'prolog_failed_job':%u,'drain_reason':'Prolog error'}",
                   id);
    assert_int_equal(node_report(n, json), 0);
    end = (Pst__JobStatus *)next_answer(&w, &flags);
    assert_int_equal(flags & FRAME_MORE, 0);
    assert_int_equal(end->state, JOB_STATE(CANCELLED));
    protobuf_c_message_free_unpacked(&end->base, NULL);
    assert_true(node_has(d, "n0", "'reason':'Prolog error'"));
    client_free(w.c);
    node_free(n);
}

/* An allocation whose client is gone before it was granted is not kept for nobody, also over a
 * restart. */
static void test_client_gone(void **state)
{
    struct daemon *d = *state;
    struct waiting w;
    uint32_t flags, id;
    Pst__JobStatus *s;

    write_conf(d, "MessageTimeout=2", cluster);
    assert_int_equal(ask(d, d->client, OP_RECONFIGURE, "{}", NULL), 0);
    w = ask_async(d, OP_JOB_SUBMIT, "{" ALLOC "}");
    s = (Pst__JobStatus *)next_answer(&w, &flags);
    id = s->job_id;
    protobuf_c_message_free_unpacked(&s->base, NULL);
    client_free(w.c);
    restart(d);
    wait_job(d, id, "'state':'JOB_CANCELLED'");
}

static void test_launch_fails(void **state)
{
    struct daemon *d = *state;
    struct fake_node *n = node_up(d, "n0", "b1", NULL);
    uint32_t id = submit(d, "{'job':{}}");
    Pst__LaunchBatch *l = (Pst__LaunchBatch *)node_take(n, OP_LAUNCH_BATCH, id);
    char json[256];

    (void)snprintf(
        json, sizeof(json),
        "{'ended':[{'job_id':%u,'step_id':%u,'run_id':%llu,'launch_failed':true,'node_clean':true,"
        "'error':'no such directory'}]}",
        id, STEP_BATCH, (unsigned long long)l->job->run_id);
    protobuf_c_message_free_unpacked(&l->base, NULL);
    assert_int_equal(node_report(n, json), 0);
    assert_job(d, id, "'state':'JOB_PENDING'");
    assert_job(d, id, "'reason':'REASON_LAUNCH_FAILED_REQUEUED_HELD'");
    assert_job(d, id, "'priority':0");
    assert_int_equal(act(d, id, "RELEASE"), 0);
    (void)node_launched(n, id);
    node_free(n);
}

int main(void)
{
#define T(fn) cmocka_unit_test_setup_teardown(fn, setup, teardown)
    const struct CMUnitTest tests[] = {
        T(test_run),
        T(test_completing),
        T(test_requeue_and_dependants),
        T(test_users_requeue),
        T(test_requeue_delay),
        T(test_suspended_time),
        T(test_aftercorr),
        T(test_afternotok_array),
        T(test_restart_awaits_nodes),
        T(test_restart_while_it_runs),
        T(test_restart_before_launch),
        T(test_restart_while_completing),
        T(test_restart_while_requeueing),
        T(test_node_down),
        T(test_node_reboots),
        T(test_node_is_configured_away),
        T(test_one_connection_two_names),
        T(test_reports_of_others_jobs),
        T(test_low_hardware),
        T(test_nobody_waits),
        T(test_steps),
        T(test_step_waits_for_its_job),
        T(test_no_kill),
        T(test_prolog_fails),
        T(test_client_gone),
        T(test_launch_fails),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
