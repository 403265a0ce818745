/* test_async.c - queued steps that have their resources: which node is told what, and until when;
 * steps that end without having run */
#include "stepcore_util.h"

#include <signal.h>

#define STEP(state) PST__STEP_STATE__STEP_##state

/* A step of srun --async that runs, with so many tasks on each of three nodes. */
static struct step *async_step(struct job *j, uint32_t id, const uint32_t tasks[3])
{
    Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
    char *argv[] = { (char *)"true" };
    struct step *s = stepcore_step(j, id, 3, 0);
    Pst__Transaction *tx = tx_new(T0);
    Pst__StepRecord *set = tx_step_patch(tx, EV(UNSPECIFIED), j->rec->job_id, id);

    launch.argv = argv;
    launch.n_argv = 1;
    SET(set, num_tasks, tasks[0] + tasks[1] + tasks[2]);
    SET(set, async, true);
    set->has_async_launch = true;
    set->async_launch.len = pst__launch_step__get_packed_size(&launch);
    set->async_launch.data = malloc(set->async_launch.len + 1);
    pst__launch_step__pack(&launch, set->async_launch.data);
    set->alloc = make_alloc(0, 3, 4, 0);
    set->alloc->groups = realloc(set->alloc->groups, 3 * sizeof(*set->alloc->groups));
    set->alloc->n_groups = 3;
    for (size_t i = 0; i < 3; i++) {
        if (i) {
            set->alloc->groups[i] = malloc(sizeof(Pst__AllocGroup));
            pst__alloc_group__init(set->alloc->groups[i]);
        }
        SET(set->alloc->groups[i], nodes, 1);
        SET(set->alloc->groups[i], cpus, 4);
        SET(set->alloc->groups[i], tasks, tasks[i]);
    }
    apply_ok(core.ctld.cluster, tx);
    s = cluster_step(j, id);
    steps_await(s);
    return s;
}

static Pst__LaunchStep *next_launch(const struct conn *node)
{
    coreask_settle(&core);
    return (Pst__LaunchStep *)coreask_take(node, OP_LAUNCH_ASYNC).msg;
}

static const uint32_t two_none_one[] = { 2, 0, 1 };

/* Each node with tasks gets its ranks, its place in the step, and a credential; a node without
 * tasks nothing. */
static void test_launch(void **state)
{
    struct conn *nodes[3];
    Pst__LaunchStep *msg;
    struct step *s;
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    for (uint32_t i = 0; i < 3; i++)
        nodes[i] = coreask_link(&core, i);
    j = stepcore_job(7, 3, by_stepmgr);
    s = async_step(j, 0, two_none_one);
    async_launch(&core.ctld, j, s, 0);
    msg = next_launch(nodes[0]);
    assert_non_null(msg);
    assert_string_equal(msg->node_name, "n0");
    assert_int_equal(msg->node_index, 0);
    assert_int_equal(msg->n_task_ids, 2);
    assert_int_equal(msg->task_ids[0], 0);
    assert_int_equal(msg->task_ids[1], 1);
    assert_string_equal(msg->argv[0], "true");
    assert_non_null(msg->credential);
    pst__launch_step__free_unpacked(msg, NULL);
    assert_null(next_launch(nodes[1]));
    msg = next_launch(nodes[2]);
    assert_non_null(msg);
    assert_int_equal(msg->node_index, 2);
    assert_int_equal(msg->n_task_ids, 1);
    assert_int_equal(msg->task_ids[0], 2);
    pst__launch_step__free_unpacked(msg, NULL);
    coreask_end(&core);
}

/* Ranks go round the nodes where the step is distributed so. */
static void test_cyclic(void **state)
{
    static const uint32_t tasks[] = { 2, 1, 2 };
    static const uint32_t third[] = { 2, 4 }; /* 0 1 2, then 3 and 4 on those with room */
    struct conn *n2;
    Pst__LaunchStep *msg;
    Pst__Transaction *tx;
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    n2 = coreask_link(&core, 2);
    j = stepcore_job(7, 3, by_stepmgr);
    (void)async_step(j, 0, tasks);
    tx = tx_new(T0);
    assert_int_equal(pb_set_str(&tx_step_patch(tx, EV(UNSPECIFIED), 7, 0)->distribution, "cyclic"),
                     0);
    apply_ok(core.ctld.cluster, tx);
    async_launch(&core.ctld, j, cluster_step(j, 0), 0);
    msg = next_launch(n2);
    assert_non_null(msg);
    assert_int_equal(msg->n_task_ids, 2);
    assert_memory_equal(msg->task_ids, third, sizeof(third));
    pst__launch_step__free_unpacked(msg, NULL);
    coreask_end(&core);
}

static void confirm(uint32_t node, uint32_t step, uint64_t run)
{
    Pst__RunningStep r = PST__RUNNING_STEP__INIT;

    SET(&r, job_id, 7);
    SET(&r, step_id, step);
    SET(&r, run_id, run);
    async_launched(&core.ctld, core.ctld.cluster->nodes[node], &r);
}

/* The request is kept until every node that has tasks has said that it launched them. */
static void test_confirmed(void **state)
{
    struct step *s;
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    j = stepcore_job(7, 3, by_stepmgr);
    s = async_step(j, 0, two_none_one);
    assert_true(async_awaits(s, 0) && async_awaits(s, 2));
    assert_false(async_awaits(s, 1)); /* it has no task */
    assert_false(async_awaits(s, 5));
    confirm(0, 0, 6); /* another run of the job */
    confirm(0, 3, 7); /* no such step */
    assert_true(async_awaits(s, 0));
    confirm(0, 0, 7);
    assert_false(async_awaits(s, 0));
    assert_true(async_awaits(s, 2));
    assert_true(s->rec->has_async_launch);
    confirm(0, 0, 7); /* said again */
    confirm(2, 0, 7);
    assert_false(s->rec->has_async_launch);
    assert_null(s->rec->async_confirmed);
    assert_false(async_awaits(s, 2));
    coreask_end(&core);
}

/* What a damaged text says of confirmations is asked again, and no more than that happens. */
static void test_damaged(void **state)
{
    struct conn *n0;
    struct step *s;
    Pst__Transaction *tx;
    Pst__StepRecord *set;
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    n0 = coreask_link(&core, 0);
    j = stepcore_job(7, 3, by_stepmgr);
    (void)async_step(j, 0, two_none_one);
    tx = tx_new(T0);
    set = tx_step_patch(tx, EV(UNSPECIFIED), 7, 0);
    assert_int_equal(pb_set_str(&set->async_confirmed, "x-9"), 0);
    set->has_async_launch = true;
    set->async_launch.data = malloc(3);
    memcpy(set->async_launch.data, "\xff\xff\xff", 3);
    set->async_launch.len = 3;
    apply_ok(core.ctld.cluster, tx);
    s = cluster_step(j, 0);
    assert_true(async_awaits(s, 0) && async_awaits(s, 2));
    async_launch(&core.ctld, j, s, 0);
    assert_null(next_launch(n0));
    coreask_end(&core);
}

/* What waits ends as cancelled without ever having run; who cancelled it is kept. */
static void test_pending(void **state)
{
    const uid_t ann = 1000;
    const Pst__StepRecord *r;
    Pst__Transaction *tx;
    struct job *j;

    (void)state;
    stepcore_begin("", 3);
    j = stepcore_job(7, 3, by_stepmgr);
    for (uint32_t i = 0; i < 2; i++) {
        Pst__StepRecord *set;

        (void)async_step(j, i, two_none_one);
        tx = tx_new(T0);
        set = tx_step_patch(tx, EV(UNSPECIFIED), 7, i);
        SET(set, state, STEP(PENDING));
        apply_ok(core.ctld.cluster, tx);
    }
    assert_true(async_end_pending(&core.ctld, j, 0, &ann));
    r = stepcore_record(j, 0);
    assert_int_equal(r->state, STEP(CANCELLED));
    assert_int_equal(r->exit_status, SIGKILL);
    assert_int_equal(r->cancel_uid, 1000);
    assert_true(r->end_us >= r->start_us && r->end_us > T0);
    assert_false(r->has_async_launch || r->has_async_spec);
    assert_int_equal(stepcore_record(j, 1)->state, STEP(PENDING));
    assert_true(async_end_pending(&core.ctld, j, 1, NULL));
    assert_false(stepcore_record(j, 1)->has_cancel_uid);
    coreask_end(&core);
}

/* The record of the step that started keeps where its srun was, and the request. */
static void test_keep(void **state)
{
    Pst__StepRecord queued = PST__STEP_RECORD__INIT, *rec;
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    queued.client_host = (char *)"login1";
    SET(&queued, client_pid, 4711);
    queued.has_async_launch = true;
    queued.async_launch = (ProtobufCBinaryData){ 3, (uint8_t *)"abc" };
    rec = tx_step_put(tx, EV(STEP_START), 7, 0);
    async_keep(rec, &queued);
    assert_true(rec->async);
    assert_string_equal(rec->client_host, "login1");
    assert_int_equal(rec->client_pid, 4711);
    assert_int_equal(rec->async_launch.len, 3);
    assert_memory_equal(rec->async_launch.data, "abc", 3);
    assert_ptr_not_equal(rec->async_launch.data, queued.async_launch.data);
    tx_free(tx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_launch),    cmocka_unit_test(test_cyclic),
        cmocka_unit_test(test_confirmed), cmocka_unit_test(test_damaged),
        cmocka_unit_test(test_pending),   cmocka_unit_test(test_keep),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
