/* test_stepcreate.c - a step gets its part of the job, and its record: all parts or none */
#include "stepcore_util.h"

#include "ctld/job/hetgroup.h"

#define STEP(state) PST__STEP_STATE__STEP_##state

static int make_step(struct job *j, const Pst__StepSpec *spec, struct step **ret)
{
    struct err err = { .text = "" };
    uint64_t lsn = 0;

    return steps_create_one(&core.ctld, j, spec, NULL, NULL, ret, &lsn, &err);
}

static int make_id(struct job *j, const Pst__StepSpec *spec, uint32_t *ret_id)
{
    struct step *s = NULL;
    int code = make_step(j, spec, &s);

    if (code == 0)
        *ret_id = s->rec->step_id;
    return code;
}

/* Numbers go up, and are never given again; salloc's shell has one of its own. */
static void test_numbers(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT, shell = PST__STEP_SPEC__INIT;
    uint32_t id = 99;
    struct step *s;
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, NULL);
    assert_int_equal(make_step(j, &spec, &s), 0);
    assert_int_equal(s->rec->step_id, 0);
    assert_int_equal(s->rec->state, STEP(RUNNING));
    assert_int_equal(s->rec->num_tasks, 1);
    assert_non_null(s->waiting); /* for each of its nodes */
    (void)steps_unlaunched(&core.ctld, j, 0, 0);
    SET(&shell, interactive, true);
    SET(&shell, overlap, true);
    assert_int_equal(make_id(j, &shell, &id), 0);
    assert_int_equal(id, STEP_INTERACTIVE);
    SET(&spec, overlap, true);
    assert_int_equal(make_id(j, &spec, &id), 0);
    assert_int_equal(id, 1);
    assert_int_equal(j->rec->next_step_id, 2);
    coreask_end(&core);
}

/* MaxStepCount is how many steps a job may have had. */
static void test_limit(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    uint32_t id;
    struct job *j;

    (void)state;
    stepcore_begin("MaxStepCount=2\n", 1);
    j = stepcore_job(7, 1, NULL);
    SET(&spec, overlap, true);
    assert_int_equal(make_id(j, &spec, &id), 0);
    assert_int_equal(make_id(j, &spec, &id), 0);
    (void)steps_unlaunched(&core.ctld, j, 0, 0);
    assert_int_equal(make_id(j, &spec, &id), ESLURM_STEP_LIMIT);
    coreask_end(&core);
}

static void is_external(Pst__JobRecord *r)
{
    SET(r, external, true);
}

static void waits_for_prolog(Pst__JobRecord *r)
{
    SET(r, prolog_pending, true);
}

/* Jobs in which no step can begin, each with its word; nothing is written. */
static void test_not_now(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    struct job *waits, *ended, *outside, *begins;
    uint32_t id;
    uint64_t lsn;

    (void)state;
    stepcore_begin("", 4);
    waits = core_job(&core, 1, NULL);
    ended = stepcore_job(2, 1, NULL);
    end_job(core.ctld.cluster, 2, JOB_STATE(COMPLETED), T0 + SEC, true);
    outside = stepcore_job(3, 1, is_external);
    begins = stepcore_job(4, 1, waits_for_prolog);
    lsn = core.ctld.applied_lsn;
    assert_int_equal(make_id(begins, &spec, &id), ESLURM_JOB_PENDING);
    assert_int_equal(make_id(waits, &spec, &id), ESLURM_JOB_PENDING);
    assert_int_equal(make_id(ended, &spec, &id), ESLURM_ALREADY_DONE);
    assert_int_equal(make_id(outside, &spec, &id), ESLURM_NOT_SUPPORTED);
    assert_int_equal(make_id(NULL, &spec, &id), ESLURM_INVALID_JOB_ID);
    assert_int_equal(core.ctld.applied_lsn, lsn);
    coreask_end(&core);
}

/* What srun was told stands in the record; what it was not told is the job's. */
static void test_record(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    const struct peer peer = { .host = "login1", .pid = 4711 };
    struct err err = { .text = "" };
    const Pst__StepRecord *r;
    struct step *s;
    uint64_t lsn;
    struct job *j;

    (void)state;
    stepcore_begin("", 1);
    j = stepcore_job(7, 1, NULL);
    spec.name = (char *)"solve";
    spec.work_dir = (char *)"/work";
    spec.std_out = (char *)"o.%t";
    SET(&spec, num_tasks, 2);
    SET(&spec, cpus_per_task, 2);
    SET(&spec, time_limit_min, 5);
    SET(&spec, mem_per_node_mib, 50);
    assert_int_equal(steps_create_one(&core.ctld, j, &spec, &peer, NULL, &s, &lsn, &err), 0);
    r = s->rec;
    assert_string_equal(r->name, "solve");
    assert_string_equal(r->work_dir, "/work");
    assert_string_equal(r->std_out, "o.%t");
    assert_string_equal(r->partition, "p");
    assert_string_equal(r->client_host, "login1");
    assert_int_equal(r->client_pid, 4711);
    assert_int_equal(r->uid, 1000);
    assert_int_equal(r->job_db_id, 7);
    assert_int_equal(r->num_tasks, 2);
    assert_int_equal(r->cpus_per_task, 2);
    assert_int_equal(r->time_limit_min, 5);
    assert_true(r->own_mem);
    assert_false(r->own_gres || r->overlap);
    assert_string_equal(r->alloc->nodes, "n0");
    assert_int_equal(r->alloc->total_cpus, 4);
    assert_non_null(strstr(r->alloc_tres, "cpu=4"));
    assert_non_null(strstr(r->alloc_tres, "node=1"));
    coreask_end(&core);

    stepcore_begin("", 1);
    j = stepcore_job(7, 1, NULL);
    spec = (Pst__StepSpec)PST__STEP_SPEC__INIT;
    SET(&spec, zero_resource, true); /* --external-launcher takes nothing */
    assert_int_equal(steps_create_one(&core.ctld, j, &spec, NULL, NULL, &s, &lsn, &err), 0);
    assert_string_equal(s->rec->name, "job");
    assert_true(s->rec->overlap);
    assert_null(s->rec->client_host);
    coreask_end(&core);
}

/* A step waits for others; one that can never be is told so. */
static void test_busy(void **state)
{
    Pst__StepSpec three = PST__STEP_SPEC__INIT, five = PST__STEP_SPEC__INIT;
    uint32_t id;
    struct job *j;

    (void)state;
    stepcore_begin("MaxTasksPerNode=3\n", 1);
    j = stepcore_job(7, 1, NULL);
    SET(&three, num_tasks, 3);
    SET(&three, exact, true);
    assert_int_equal(make_id(j, &three, &id), 0);
    assert_int_equal(make_id(j, &three, &id), ESLURM_NODES_BUSY);
    SET(&five, num_tasks, 5);
    assert_int_equal(make_id(j, &five, &id), ESLURM_TOO_MANY_REQUESTED_CPUS);
    SET(&five, num_tasks, 4);
    SET(&five, overlap, true);
    assert_int_equal(make_id(j, &five, &id), ESLURM_BAD_TASK_COUNT); /* MaxTasksPerNode */
    coreask_end(&core);
}

/* --resv-ports: ports of MpiParams that no other step of the node has. */
static void test_ports(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT;
    struct step *first, *second, *third;
    struct job *j;

    (void)state;
    stepcore_begin("MpiParams=ports=12000-12002\n", 1);
    j = stepcore_job(7, 1, NULL);
    SET(&spec, overlap, true);
    SET(&spec, resv_ports, 2);
    assert_int_equal(make_step(j, &spec, &first), 0);
    assert_string_equal(first->rec->resv_ports, "12000-12001");
    assert_int_equal(make_step(j, &spec, &second), ESLURM_NODES_BUSY);
    SET(&spec, resv_ports, 4);
    assert_int_equal(make_step(j, &spec, &second), ESLURM_PORTS_INVALID);
    SET(&spec, resv_ports, 1);
    assert_int_equal(make_step(j, &spec, &third), 0);
    assert_string_equal(third->rec->resv_ports, "12002");
    coreask_end(&core);

    stepcore_begin("", 1); /* no ports are configured */
    j = stepcore_job(7, 1, NULL);
    assert_int_equal(make_step(j, &spec, &first), ESLURM_PORTS_INVALID);
    coreask_end(&core);
}

/* Over two components: one number, the leader's, in both or in none. */
static void test_components(void **state)
{
    Pst__StepSpec spec = PST__STEP_SPEC__INIT, large = PST__STEP_SPEC__INIT;
    struct step_part parts[2];
    struct job *lead, *other;
    uint64_t lsn;

    (void)state;
    stepcore_begin("", 1);
    lead = stepcore_job(7, 1, core_component);
    other = stepcore_job(8, 1, core_component);
    SET(&large, num_tasks, 99);
    parts[0] = (struct step_part){ .job = lead, .spec = &spec };
    parts[1] = (struct step_part){ .job = other, .spec = &large };
    assert_int_equal(steps_create_parts(&core.ctld, parts, 2, NULL, NULL, &lsn),
                     ESLURM_TOO_MANY_REQUESTED_CPUS);
    assert_null(lead->steps);
    assert_null(other->steps);
    parts[0] = (struct step_part){ .job = lead, .spec = &spec };
    parts[1] = (struct step_part){ .job = other, .spec = &spec };
    assert_int_equal(steps_create_parts(&core.ctld, parts, 2, NULL, NULL, &lsn), 0);
    assert_int_equal(stepcore_record(lead, 0)->het_offset, 0);
    assert_int_equal(stepcore_record(other, 0)->het_offset, 1);
    assert_int_equal(stepcore_record(other, 0)->het_job_id, 7);
    parts[0] = (struct step_part){ .job = other, .spec = &spec };
    SET(&spec, overlap, true);
    assert_int_equal(steps_create_parts(&core.ctld, parts, 1, NULL, NULL, &lsn), 0);
    assert_int_equal(parts[0].step->rec->step_id, 1); /* a component has no numbers of its own */
    assert_int_equal(lead->rec->next_step_id, 2);
    assert_false(other->rec->has_next_step_id);
    coreask_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_numbers),    cmocka_unit_test(test_limit),
        cmocka_unit_test(test_not_now),    cmocka_unit_test(test_record),
        cmocka_unit_test(test_busy),       cmocka_unit_test(test_ports),
        cmocka_unit_test(test_components),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
