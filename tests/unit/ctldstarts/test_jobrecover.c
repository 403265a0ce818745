/* test_jobrecover.c - after a restart: what each job waits for, and jobs that were starting or
 * ending */
#include "stepcore_util.h"

#include "ctld/starts/jobrecover.h"

extern const struct ctld_service completewait_service, depends_service, feedlimits_service,
    gang_service, jobtimes_service, licenses_service, mail_service, passnotes_service,
    plannednodes_service, programs_service;

static const struct ctld_service *const services[] = {
    &topology_service,  &asking_service,    &feedlimits_service, &completewait_service,
    &schedfeed_service, &licenses_service,  &feasible_service,   &passnotes_service,
    &views_service,     &programs_service,  &hooks_service,      &prologs_service,
    &owners_service,    &cleaning_service,  &imex_service,       &stepvnis_service,
    &mail_service,      &wait_service,      &gang_service,       &steps_service,
    &stepends_service,  &lifecycle_service, &depends_service,    NULL
};

static void begin(const char *lines)
{
    coreask_begin(&core, lines, services);
    core_nodes(&core, 3, 4);
}

static Pst__JobState state_of(uint32_t id)
{
    return job_state(cluster_job(core.ctld.cluster, id)->rec);
}

/* Jobs that run have their priority again, and their steps wait for each of their nodes. */
static void test_running(void **state)
{
    Pst__Transaction *tx;
    struct job *j;

    (void)state;
    begin("");
    j = stepcore_job(7, 2, NULL);
    tx = tx_new(T0);
    SET(tx_job_patch(tx, EV(JOB_UPDATE), 7), start_priority, 4711);
    apply_ok(core.ctld.cluster, tx);
    (void)stepcore_step(j, 0, 2, 1);
    cluster_step(j, 0)->waiting = bitmap_free(cluster_step(j, 0)->waiting);
    jobrecover_all(&core.ctld);
    assert_int_equal(j->rec->cur_priority, 4711);
    assert_true(j->rec->last_sched_eval_us == T0);
    assert_int_equal(bitmap_count(cluster_step(j, 0)->waiting), 2);
    assert_int_equal(state_of(7), JOB_STATE(RUNNING));
    coreask_end(&core);
}

/* Of a job that had ended, the nodes that are connected are awaited again; it holds them till
 * then. */
static void test_cleaning(void **state)
{
    struct job *j;

    (void)state;
    begin("");
    (void)coreask_link(&core, 0);
    j = stepcore_job(7, 1, NULL);
    end_job(core.ctld.cluster, 7, JOB_STATE(FAILED), T0 + SEC, false);
    jobrecover_all(&core.ctld);
    assert_true(cleaning_awaits_any(&core.ctld, j));
    assert_true(job_has_flag(j->rec, JOB_FLAG(COMPLETING)));
    assert_true(job_holds_resources(j->rec));
    coreask_end(&core);
}

static void may_requeue(Pst__JobRecord *r)
{
    SET(r, batch, true);
    SET(r, requeue, true);
}

/* A job that was clean, and about to be queued again, is queued again. */
static void test_requeued(void **state)
{
    Pst__Transaction *tx;
    Pst__JobRecord *set;
    struct job *j;

    (void)state;
    begin("");
    j = stepcore_job(7, 1, may_requeue);
    tx = tx_new(T0);
    set = tx_job_patch(tx, EV(JOB_END), 7);
    SET(set, state, JOB_STATE(CANCELLED));
    SET(set, state_flags, JOB_FLAG(REQUEUED));
    SET(set, end_us, T0 + SEC);
    SET(set, released, true);
    apply_ok(core.ctld.cluster, tx);
    jobrecover_all(&core.ctld);
    assert_true(job_is_pending(j->rec));
    assert_null(j->rec->alloc);
    assert_int_equal(j->rec->restart_count, 1);
    coreask_end(&core);
}

/* The components of a job whose leader has ended end as it did; those of one that goes on stay. */
static const struct {
    bool gone; /* the leader's record is no more */
    Pst__JobState leader, want;
} leaders[] = {
    { false, JOB_STATE(FAILED), JOB_STATE(FAILED) },
    { false, JOB_STATE(TIMEOUT), JOB_STATE(TIMEOUT) },
    { false, JOB_STATE(RUNNING), JOB_STATE(RUNNING) },
    { true, JOB_STATE(FAILED), JOB_STATE(CANCELLED) },
};

static void test_components(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(leaders); i++) {
        begin("");
        (void)stepcore_job(7, 1, core_component);
        (void)stepcore_job(8, 1, core_component);
        if (leaders[i].leader != JOB_STATE(RUNNING))
            end_job(core.ctld.cluster, 7, leaders[i].leader, T0 + SEC, true);
        if (leaders[i].gone)
            purge_job(core.ctld.cluster, 7);
        jobrecover_all(&core.ctld);
        if (state_of(8) != leaders[i].want ||
            job_has_flag(cluster_job(core.ctld.cluster, 8)->rec, JOB_FLAG(COMPLETING)) !=
                (leaders[i].want != JOB_STATE(RUNNING)))
            fail_msg("row %zu: %d", i, (int)state_of(8));
        coreask_end(&core);
    }
}

static void after_6(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->dependency, "afterok:6"), 0);
}

/* What a job waits for may have happened just before the end: it goes on without being told. */
static void test_dependency(void **state)
{
    struct job *j;

    (void)state;
    begin("");
    (void)stepcore_job(6, 1, NULL);
    end_job(core.ctld.cluster, 6, JOB_STATE(COMPLETED), T0 + SEC, true);
    j = core_job(&core, 7, after_6);
    jobrecover_all(&core.ctld);
    depends_service.tick_slow(&core.ctld, now_us() + SEC);
    assert_true(!j->rec->dependency || !*j->rec->dependency);
    assert_true(job_is_pending(j->rec));
    coreask_end(&core);
}

/* A client that owned an allocation has MessageTimeout to come back. */
static void owned(Pst__JobRecord *r)
{
    SET(r, kill_on_client_loss, true);
}

static void test_owner(void **state)
{
    (void)state;
    begin("MessageTimeout=20\n");
    (void)stepcore_job(7, 1, owned);
    (void)stepcore_job(8, 1, NULL);
    jobrecover_all(&core.ctld);
    owners_service.tick_writing(&core.ctld, now_us() + 10 * SEC);
    assert_int_equal(state_of(7), JOB_STATE(RUNNING));
    owners_service.tick_writing(&core.ctld, now_us() + 30 * SEC);
    assert_int_not_equal(state_of(7), JOB_STATE(RUNNING));
    assert_int_equal(state_of(8), JOB_STATE(RUNNING)); /* salloc --no-shell */
    coreask_end(&core);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_running),    cmocka_unit_test(test_cleaning),
        cmocka_unit_test(test_requeued),   cmocka_unit_test(test_components),
        cmocka_unit_test(test_dependency), cmocka_unit_test(test_owner),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
