/* test_asyncsubmit.c - srun --async: what may be queued, what its record keeps, and the queue after
 * a restart */
#include "stepcore_util.h"

#define STEP(state) PST__STEP_STATE__STEP_##state
#define ASYNC ",'async':{'argv':['true']}}"

static struct conn *ann;

static void begin(const char *lines)
{
    stepcore_begin(lines, 1);
    ann = coreask_connect(1000);
}

static void end(void)
{
    ann = coreask_part(&core, ann);
    coreask_end(&core);
}

static int queue_step(const char *json)
{
    return coreask(&core, ann, "ann", OP_STEP_CREATE, json, NULL);
}

/* One that has room runs at once; the next ones wait, in order, with what they need to start. */
static void test_queue(void **state)
{
    const Pst__StepRecord *r;
    struct conn *n0;
    struct job *j;
    Pst__StepSpec *spec;

    (void)state;
    begin("");
    n0 = coreask_link(&core, 0);
    j = stepcore_job(7, 1, by_stepmgr);
    assert_int_equal(queue_step("{'job_id':7,'spec':{'name':'a','num_tasks':4,'exact':true}" ASYNC),
                     0);
    assert_int_equal(stepcore_record(j, 0)->state, STEP(RUNNING));
    assert_int_equal(coreask_count(n0, OP_LAUNCH_ASYNC), 1);
    assert_int_equal(queue_step("{'job_id':7,'spec':{'name':'b','num_tasks':3,'exact':true}" ASYNC),
                     0);
    assert_int_equal(queue_step("{'job_id':7,'spec':{'name':'c','num_tasks':1,'exact':true}" ASYNC),
                     0);
    r = stepcore_record(j, 1);
    assert_int_equal(r->state, STEP(PENDING));
    assert_true(r->async);
    assert_string_equal(r->name, "b");
    assert_string_equal(r->client_host, "login1");
    assert_int_equal(r->num_tasks, 3);
    assert_false(r->has_start_us);
    assert_null(r->alloc);
    spec = pst__step_spec__unpack(NULL, r->async_spec.len, r->async_spec.data);
    assert_int_equal(spec->num_tasks, 3);
    pst__step_spec__free_unpacked(spec, NULL);
    assert_int_equal(j->rec->next_step_id, 3);
    (void)steps_unlaunched(&core.ctld, j, 0, 0);
    coreask_settle(&core);
    assert_int_equal(stepcore_record(j, 1)->state, STEP(RUNNING));
    assert_int_equal(stepcore_record(j, 2)->state, STEP(RUNNING)); /* both have room */
    assert_true(stepcore_record(j, 1)->has_start_us);
    assert_int_equal(coreask_count(n0, OP_LAUNCH_ASYNC), 3);
    end();
}

static void test_refused(void **state)
{
    char *large;
    struct job *j;

    (void)state;
    begin("MaxStepCount=1\nMaxTasksPerNode=3\n");
    (void)stepcore_job(6, 1, NULL);
    assert_int_equal(queue_step("{'job_id':6,'spec':{}" ASYNC), ESLURM_NOT_SUPPORTED);
    assert_non_null(strstr(coreask_text, "--stepmgr"));
    j = stepcore_job(7, 1, by_stepmgr);
    assert_int_equal(queue_step("{'job_id':7" ASYNC), EPST_BAD_REQUEST);
    assert_int_equal(queue_step("{'job_id':7,'spec':{'num_tasks':9}" ASYNC),
                     ESLURM_TOO_MANY_REQUESTED_CPUS);
    assert_int_equal(queue_step("{'job_id':7,'spec':{'num_tasks':4}" ASYNC), ESLURM_BAD_TASK_COUNT);
    /* a launch request that would fill the journal */
    assert_true(asprintf(&large, "{'job_id':7,'spec':{},'async':{'argv':['%*s']}}", 3 << 20, "x") >
                0);
    assert_int_equal(queue_step(large), ESLURM_PATHNAME_TOO_LONG);
    free(large);
    assert_null(j->steps);
    assert_int_equal(queue_step("{'job_id':7,'spec':{}" ASYNC), 0);
    assert_int_equal(queue_step("{'job_id':7,'spec':{}" ASYNC), ESLURM_STEP_LIMIT);
    end();
}

/* After a restart they queue in the order of their numbers; a request that cannot be read is left
 * to the job's end. */
static void test_recover(void **state)
{
    struct conn *n0;
    struct job *j;

    (void)state;
    begin("");
    n0 = coreask_link(&core, 0);
    j = stepcore_job(7, 1, by_stepmgr);
    for (uint32_t i = 1; i <= 3; i++) {
        Pst__StepSpec spec = PST__STEP_SPEC__INIT;
        Pst__LaunchStep launch = PST__LAUNCH_STEP__INIT;
        Pst__Transaction *tx = tx_new(T0);
        Pst__StepRecord *r = tx_step_put(tx, EV(UNSPECIFIED), 7, i);

        SET(&spec, num_tasks, i == 3 ? 1u : 4u);
        SET(&spec, exact, true);
        SET(&launch, umask, 022);
        SET(r, state, STEP(PENDING));
        r->has_async_spec = r->has_async_launch = true;
        r->async_spec.len = pst__step_spec__get_packed_size(&spec);
        r->async_spec.data = malloc(r->async_spec.len + 1);
        pst__step_spec__pack(&spec, r->async_spec.data);
        if (i == 2)
            memset(r->async_spec.data, 0xff, r->async_spec.len);
        r->async_launch.len = pst__launch_step__get_packed_size(&launch);
        r->async_launch.data = malloc(r->async_launch.len + 1);
        pst__launch_step__pack(&launch, r->async_launch.data);
        apply_ok(core.ctld.cluster, tx);
    }
    steps_recover(&core.ctld, j);
    steps_retry(&core.ctld, j);
    coreask_settle(&core);
    assert_int_equal(stepcore_record(j, 1)->state, STEP(RUNNING));
    assert_int_equal(stepcore_record(j, 2)->state, STEP(PENDING)); /* damaged */
    assert_int_equal(stepcore_record(j, 3)->state, STEP(PENDING)); /* behind 1 */
    assert_int_equal(coreask_count(n0, OP_LAUNCH_ASYNC), 1);
    (void)steps_unlaunched(&core.ctld, j, 1, 0);
    coreask_settle(&core);
    assert_int_equal(stepcore_record(j, 3)->state, STEP(RUNNING));
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_queue),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_recover),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
