/* test_explain_text.c - why a job waits, in sentences */
#include "core_util.h"

#include "ctld/starts/explain_text.h"
#include "ctld/starts/saychange.h"
#include "ctld/starts/saylimit.h"
#include "ctld/starts/saypart.h"
#include "sched/explain/sched_explain.h"

#define NOW (T0 + 3600 * SEC)

static struct core core;
static struct explain_part part;
static struct sched_explanation found;

/* Job 7 and what the scheduler found: one partition, in which everything is held. */
static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "", NULL);
    core_nodes(&core, 4, 4);
    part = (struct explain_part){ .name = "p",
                                  .why = SCHED_WHY_RESOURCES,
                                  .place = 1,
                                  .queued = 3,
                                  .total = 4,
                                  .suitable = 4,
                                  .wanted = 2,
                                  .causes = { [EXPLAIN_HELD] = 3, [EXPLAIN_FREE] = 1 } };
    found = (struct sched_explanation){ .parts = &part, .nparts = 1, .settled = true };
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

/* All sentences, a line each. */
static char *told(struct job *j, const struct sched_explanation *x, char *ret_summary)
{
    const struct explain_text t = { .ctld = &core.ctld, .job = j, .x = x, .now_us = NOW };
    struct explain_made *m = explain_make(&t);
    const Pst__ExplainReply *r;
    static char text[4096];
    size_t len = 0;

    assert_non_null(m);
    r = explain_reply(m);
    text[0] = '\0';
    for (size_t i = 0; i < r->n_sentences; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "%s\n", r->sentences[i]);
    assert_true(len < sizeof(text));
    assert_string_equal(r->summary, r->sentences[0]);
    if (ret_summary)
        (void)snprintf(ret_summary, 256, "%s", r->summary);
    explain_done(m);
    return text;
}

/* ---- beside the scheduler -------------------------------------------------------------------- */

static void held_by_owner(Pst__JobRecord *r)
{
    SET(r, priority, 0);
    SET(r, held_by_user, true);
}

static void held_by_root(Pst__JobRecord *r)
{
    SET(r, priority, 0);
}

static void depends(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->dependency, "afterok:5"), 0);
}

static void never(Pst__JobRecord *r)
{
    depends(r);
    SET(r, pend_reason, PST__JOB_REASON__REASON_DEPENDENCY_NEVER_SATISFIED);
}

static void begins_later(Pst__JobRecord *r)
{
    SET(r, begin_us, NOW + 60 * SEC);
}

static void throttled(Pst__JobRecord *r)
{
    SET(r, array_job_id, r->job_id);
    assert_int_equal(pb_set_str(&r->array_tasks, "3-9%2"), 0);
}

static void summary_is(void (*with)(Pst__JobRecord *r), const char *begin, const char *release)
{
    static uint32_t id = 100;
    char summary[256], want[256];
    struct job *j = core_job(&core, ++id, with);
    const char *all = told(j, &found, summary);

    (void)snprintf(want, sizeof(want), begin, id);
    assert_true(strncmp(summary, want, strlen(want)) == 0);
    assert_non_null(strstr(all, release));
}

static void test_kept_back(void **state)
{
    (void)state;
    summary_is(held_by_owner, "Job %u is held by its owner.", "scontrol release");
    summary_is(held_by_root, "Job %u is held by an administrator.", "scontrol release");
    summary_is(depends, "Job %u waits for other jobs: afterok:5.", "Dependency=");
    summary_is(never, "Job %u waits for afterok:5, which can never come true.", "Dependency=");
    summary_is(begins_later, "Job %u is not to begin before ", "StartTime=now");
}

/* What keeps it is told, and where it stands all the same; no change is named. */
static void test_starts_when_let_go(void **state)
{
    struct job *j = core_job(&core, 7, held_by_owner);
    const char *all;

    (void)state;
    found.starts_now = true;
    found.changes[0] = (struct explain_change){ .kind = CHANGE_TIME, .value = 5 };
    found.nchanges = 1;
    all = told(j, &found, NULL);
    assert_non_null(strstr(all, "Let go now, it would start at once.\n"));
    assert_null(strstr(all, "--time"));
}

static void test_not_asked(void **state)
{
    struct job *j = core_job(&core, 7, NULL);
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set;

    (void)state;
    assert_string_equal(told(j, NULL, NULL), "Job 7 waits, and the scheduler cannot say why.\n");
    set = tx_job_patch(tx, EV(JOB_END), 7);
    SET(set, state, JOB_STATE(TIMEOUT));
    SET(set, end_us, T0);
    apply_ok(core.ctld.cluster, tx);
    assert_string_equal(told(j, NULL, NULL), "Job 7 does not wait: it is TIMEOUT.\n");
    assert_string_equal(told(core_job(&core, 8, throttled), NULL, NULL),
                        "Job 8_[3-9%2] waits, and the scheduler cannot say why.\n");
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void named(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->user_name, "ann"), 0);
}

static void test_nodes(void **state)
{
    struct job *j = core_job(&core, 7, NULL);
    uint32_t expected[] = { 1, 2 };
    const char *all;

    (void)state;
    core_job(&core, 5, named);
    core_job(&core, 6, NULL);
    part.holders[0] = (struct explain_holder){ .job_id = 5, .nodes = 2, .end_us = INT64_MAX };
    part.nholders = 1;
    part.nholding = 2;
    part.expected_us = NOW + SEC;
    part.expected_nodes = expected;
    part.nexpected = 2;
    all = told(j, &found, NULL);
    assert_non_null(strstr(all, "Job 7 waits for nodes.\n"));
    assert_non_null(strstr(all, "Partition p: it needs 2 nodes; of 4, 4 could hold a part of it: 3 "
                                "held by running jobs, 1 free.\n"));
    assert_non_null(strstr(all, "It is 1st of 3 in the queue of p.\n"));
    assert_non_null(strstr(all, "Job 5 of ann holds 2 of these nodes, without a time limit.\n"));
    assert_non_null(strstr(all, "So does 1 other job, which ends later.\n"));
    assert_non_null(strstr(all, " on n[1-2], if running jobs use up their time limits.\n"));
    assert_non_null(strstr(all, "No single change to the request would start it now.\n"));
    part.nholding = 3;
    part.place = 12;
    all = told(j, &found, NULL);
    assert_non_null(strstr(all, "Job 7 waits for jobs that go before it.\n"));
    assert_non_null(strstr(all, "It is 12th of 3"));
    assert_non_null(strstr(all, "So do 2 other jobs, which end later.\n"));
}

/* The summary names no nodes where it waits for something else. */
static void test_other_reasons(void **state)
{
    struct job *j = core_job(&core, 7, NULL);
    const char *all;

    (void)state;
    part.why = SCHED_WHY_LICENSES;
    found.licenses[0] =
        (struct explain_license){ .name = "matlab", .wanted = 3, .total = 4, .used = 2 };
    found.nlicenses = 1;
    all = told(j, &found, NULL);
    assert_true(strncmp(all, "Job 7 waits (Licenses).\n", 24) == 0);
    assert_non_null(strstr(all,
                           "Partition p has to wait with it until the licenses it asks for are "
                           "free.\n"));
    assert_non_null(strstr(all, "License matlab: it asks for 3; of 4, 2 are free.\n"));
    found.nlicenses = 0;
    part.why = SCHED_WHY_PART_DOWN;
    all = told(j, &found, NULL);
    assert_true(strncmp(all, "Job 7 waits (PartitionDown).\n", 29) == 0);
    assert_non_null(strstr(all, "Partition p starts no jobs now: it is down.\n"));
}

static void test_limits(void **state)
{
    struct job *j = core_job(&core, 7, NULL);
    const char *all;

    (void)state;
    part.why = SCHED_WHY_LIMIT;
    part.limit = (struct sched_limit_hit){
        .limit = SCHED_LIMIT_ASSOC_MAX_JOBS, .id = 3, .value = 2, .used = 2, .asked = 1
    };
    all = told(j, &found, NULL);
    assert_non_null(strstr(all, "A limit holds it, AssocMaxJobsLimit: an association may have at "
                                "most 2 running jobs; 2 are used, and it asks for 1.\n"));
    assert_non_null(strstr(all, "Else it goes on when others of the same limit have ended"));
    part.limit = (struct sched_limit_hit){
        .limit = SCHED_LIMIT_ASSOC_MAX_WALL, .id = 3, .value = 60, .asked = UINT64_MAX
    };
    all = told(j, &found, NULL);
    assert_non_null(strstr(all,
                           "may have at most 60 minutes; 0 are used, and it asks for no end of "
                           "them.\n"));
    assert_non_null(strstr(all, "Asking for at most 60 would let it go on.\n"));
}

static void test_preempt(void **state)
{
    struct job *j = core_job(&core, 7, NULL);
    const char *all;

    (void)state;
    core_job(&core, 5, NULL);
    part.preempt = (struct explain_preempt){ .asked = true,
                                             .jobs = 3,
                                             .equal = 2,
                                             .candidates = 1,
                                             .safe_until_us = INT64_MAX,
                                             .victims = { { 5, SCHED_MODE_REQUEUE } },
                                             .nvictims = 1 };
    all = told(j, &found, NULL);
    assert_non_null(strstr(all, "It may preempt 1 of the 3 jobs there; when it is its turn job 5 "
                                "(requeued) will go"));
    part.preempt.waiting = true;
    all = told(j, &found, NULL);
    assert_non_null(strstr(all, "It preempts job 5 (requeued) and starts when it has gone.\n"));
    part.preempt = (struct explain_preempt){
        .asked = true, .jobs = 2, .equal = 2, .safe_until_us = INT64_MAX
    };
    all = told(j, &found, NULL);
    assert_non_null(
        strstr(all, "It may preempt none of the 2 jobs there: 2 does not rank below it.\n"));
}

/* ---- changes --------------------------------------------------------------------------------- */

static void much(Pst__JobRecord *r)
{
    SET(r, min_nodes, 4);
    SET(r, num_tasks, 16);
    SET(r, cpus_per_task, 2);
    assert_int_equal(pb_set_str(&r->features, "intel&ssd"), 0);
    assert_int_equal(pb_set_str(&r->tres_per_node, "gres/gpu:4"), 0);
}

static void test_changes(void **state)
{
    static const struct {
        struct explain_change change;
        const char *sentence;
    } rows[] = {
        { { .kind = CHANGE_TIME, .value = 1, .before_job = 5 },
          "With a time limit of 1 minute it would start now, before job 5 (--time=1).\n" },
        { { .kind = CHANGE_NODES, .value = 2 },
          "With 2 nodes instead of 4 it would start now (--nodes=2).\n" },
        { { .kind = CHANGE_TASKS, .value = 1 },
          "With 1 task instead of 16 it would start now (--ntasks=1).\n" },
        { { .kind = CHANGE_CPUS, .value = 1 },
          "With 1 CPU for each task instead of 2 it would start now (--cpus-per-task=1).\n" },
        { { .kind = CHANGE_MEM_NODE, .value = 512 },
          "With 512M of memory on each node it would start now (--mem=512M).\n" },
        { { .kind = CHANGE_GRES, .index = 0, .value = 2 },
          "With 2 instead of gpu:4 it would start now (fewer GRES).\n" },
        { { .kind = CHANGE_FEATURES, .index = 1 },
          "With feature ssd not asked for it would start now (--constraint without it).\n" },
        { { .kind = CHANGE_FEATURES, .index = UINT32_MAX },
          "With no constraint on features it would start now (no --constraint).\n" },
        { { .kind = CHANGE_PARTITION, .text = "q" },
          "With partition q it would start now (--partition=q).\n" },
        { { .kind = CHANGE_EXCLUSIVE },
          "With nodes that it shares with others it would start now (no --exclusive).\n" },
    };
    struct job *j = core_job(&core, 7, much);

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        found.changes[0] = rows[i].change;
        found.nchanges = 1;
        assert_non_null(strstr(told(j, &found, NULL), rows[i].sentence));
    }
}

int main(void)
{
#define ROW(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        ROW(test_kept_back),     ROW(test_starts_when_let_go),
        ROW(test_not_asked),     ROW(test_nodes),
        ROW(test_other_reasons), ROW(test_limits),
        ROW(test_preempt),       ROW(test_changes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
