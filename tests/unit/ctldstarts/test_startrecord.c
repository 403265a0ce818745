/* test_startrecord.c - what a start changes in the records, and what a proposal needs to hold */
#include "core_util.h"

#include "ctld/starts/start.h"
#include "ctld/starts/startrecord.h"
#include "sched/sched.h"

#define MINUTE (60 * SEC)

static uint64_t four = 0xf;

struct proposal {
    struct sched_alloc_node nodes[4];
    struct sched_decision d;
};

/* The scheduler proposes that the job starts on the first n nodes, with four CPUs on each. */
static struct proposal *propose(uint32_t id, uint32_t n)
{
    static struct proposal p;

    p = (struct proposal){
        .d = { .kind = SCHED_START, .job_id = id, .partition = "p", .priority = 4711 }
    };
    for (uint32_t i = 0; i < n; i++)
        p.nodes[i] = (struct sched_alloc_node){
            .node_id = i, .cpus = 4, .cpu_bits = &four, .ncpu_words = 1, .mem_mib = 100, .tasks = 2
        };
    p.d.alloc.nodes = p.nodes;
    p.d.alloc.nnodes = n;
    return &p;
}

static struct started start(struct core *c, const struct proposal *p, bool backfill)
{
    const struct start_pass pass = { .number = 9, .backfill = backfill };
    Pst__Transaction *tx = tx_new(T0);
    struct started st = startrecord_put(&c->ctld, tx, &pass, &p->d, T0 + SEC);

    apply_ok(c->ctld.cluster, tx);
    return st;
}

static const Pst__JobRecord *record(const struct core *c, uint32_t id)
{
    return cluster_job(c->ctld.cluster, id)->rec;
}

/* ---- one job --------------------------------------------------------------------------------- */

static void for_an_hour(Pst__JobRecord *r)
{
    SET(r, time_limit_min, 60);
    SET(r, batch, true);
}

static void test_job(void **state)
{
    const Pst__JobRecord *r;
    struct started st;
    struct step *batch;
    struct core c;

    (void)state;
    core_begin(&c, "SelectTypeParameters=CR_Core,CR_NO_DIST_TOPO_BLOCK\n", NULL);
    core_nodes(&c, 2, 4);
    core_job(&c, 7, for_an_hour);
    st = start(&c, propose(7, 2), false);
    assert_int_equal(st.proposed, 7);
    assert_int_equal(st.id, 7);
    r = record(&c, 7);
    assert_int_equal(r->state, JOB_STATE(RUNNING));
    assert_true(r->start_us == T0 + SEC);
    assert_true(r->end_us == T0 + SEC + 60 * MINUTE);
    assert_int_equal(r->start_priority, 4711);
    assert_string_equal(r->alloc->nodes, "n[0-1]");
    assert_int_equal(r->alloc->total_cpus, 8);
    assert_string_equal(r->batch_host, "n0");
    assert_int_equal(r->started_on, PST__JOB_STARTED_ON__STARTED_ON_SUBMIT);
    assert_false(r->has_resv_id);
    batch = cluster_step(cluster_job(c.ctld.cluster, 7), STEP_BATCH);
    assert_non_null(batch); /* the script runs on the first node, with all CPUs there */
    assert_string_equal(batch->rec->alloc->nodes, "n0");
    assert_int_equal(batch->rec->alloc->total_cpus, 4);
    assert_int_equal(batch->rec->num_tasks, 1);
    core_end(&c);
}

static void no_limit(Pst__JobRecord *r)
{
    SET(r, time_unlimited, true);
    SET(r, time_limit_min, 60);
}

/* Without an end; an allocation has no batch step. */
static void test_unlimited(void **state)
{
    struct core c;

    (void)state;
    core_begin(&c, "", NULL);
    core_nodes(&c, 1, 4);
    core_job(&c, 7, no_limit);
    (void)start(&c, propose(7, 1), false);
    assert_false(record(&c, 7)->has_end_us);
    assert_null(cluster_step(cluster_job(c.ctld.cluster, 7), STEP_BATCH));
    core_end(&c);
}

/* Backfill cuts the limit short, and says so. */
static void test_shortened(void **state)
{
    struct proposal *p = propose(7, 1);
    struct core c;

    (void)state;
    core_begin(&c, "", NULL);
    core_nodes(&c, 1, 4);
    core_job(&c, 7, for_an_hour);
    p->d.time_limit_min = 20;
    (void)start(&c, p, true);
    assert_int_equal(record(&c, 7)->time_limit_min, 20);
    assert_true(record(&c, 7)->end_us == T0 + SEC + 20 * MINUTE);
    assert_int_equal(record(&c, 7)->started_on, PST__JOB_STARTED_ON__STARTED_ON_BACKFILL);
    core_end(&c);
}

static void seen_before(Pst__JobRecord *r)
{
    SET(r, restart_count, 1);
}

/* It had to wait, or runs again: not the pass of its submission started it. */
static void test_scheduled(void **state)
{
    struct core c;

    (void)state;
    core_begin(&c, "", NULL);
    core_nodes(&c, 1, 4);
    core_job(&c, 7, seen_before);
    (void)start(&c, propose(7, 1), false);
    assert_int_equal(record(&c, 7)->started_on, PST__JOB_STARTED_ON__STARTED_ON_SCHEDULE);
    core_end(&c);
}

/* What partitions make of nodes is the job's: shared by force, or whole. */
static void test_partition(void **state)
{
    Pst__PartitionRecord *set;
    Pst__Transaction *tx;
    struct core c;

    (void)state;
    core_begin(
        &c,
        "Prolog=/bin/true\nPrologFlags=Alloc\nPreemptExemptTime=2:00\nPreemptType=preempt/qos\n",
        NULL);
    core_nodes(&c, 1, 4);
    tx = tx_new(T0);
    set = tx_part_patch(tx, EV(PART_UPDATE), "p");
    assert_int_equal(pb_set_str(&set->oversubscribe, "FORCE:4"), 0);
    assert_int_equal(pb_set_str(&set->exclusive, "NODE"), 0);
    apply_ok(c.ctld.cluster, tx);
    core_job(&c, 7, for_an_hour);
    (void)start(&c, propose(7, 1), false);
    assert_true(record(&c, 7)->oversubscribe);
    assert_true(record(&c, 7)->whole_nodes);
    assert_true(record(&c, 7)->node_prologs); /* PrologFlags=Alloc */
    assert_true(record(&c, 7)->preemptable_us == T0 + SEC + 2 * MINUTE);
    core_end(&c);
}

/* The reservation it starts in, and what it had asked for when that is another. */
static void test_reservation(void **state)
{
    struct proposal *p;
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;
    Pst__Transaction *tx = tx_new(T0);
    struct core c;

    (void)state;
    core_begin(&c, "", NULL);
    core_nodes(&c, 1, 4);
    SET(&r, resv_id, 3);
    r.name = (char *)"magnet";
    tx_resv_put(tx, EV(RESV_CREATE), &r);
    apply_ok(c.ctld.cluster, tx);
    core_job(&c, 7, NULL);
    p = propose(7, 1);
    p->d.resv_id = 3;
    (void)start(&c, p, false);
    assert_int_equal(record(&c, 7)->resv_id, 3);
    assert_string_equal(record(&c, 7)->reservation, "magnet");
    assert_string_equal(record(&c, 7)->req_reservation, "");
    core_end(&c);
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static void five_tasks(Pst__JobRecord *r)
{
    SET(r, array_job_id, r->job_id);
    SET(r, batch, true);
    SET(r, time_limit_min, 60);
    assert_int_equal(pb_set_str(&r->array_tasks, "3-4"), 0);
}

/* The first task leaves the record; the last one keeps its number. */
static void test_array(void **state)
{
    Pst__Transaction *tx = tx_new(T0);
    struct started st;
    struct core c;

    (void)state;
    core_begin(&c, "", NULL);
    core_nodes(&c, 1, 4);
    SET(tx_cluster(tx), next_job_id, 8);
    SET(tx_cluster(tx), next_db_id, 50);
    apply_ok(c.ctld.cluster, tx);
    core_job(&c, 7, five_tasks);
    st = start(&c, propose(7, 1), false);
    assert_int_equal(st.proposed, 7);
    assert_int_equal(st.id, 8);
    assert_int_equal(record(&c, 8)->array_task_id, 3);
    assert_int_equal(record(&c, 8)->array_job_id, 7);
    assert_int_equal(record(&c, 8)->db_id, 50);
    assert_int_equal(record(&c, 8)->state, JOB_STATE(RUNNING));
    assert_int_equal(record(&c, 7)->state, JOB_STATE(PENDING));
    assert_string_equal(record(&c, 7)->array_tasks, "4");
    st = start(&c, propose(7, 1), false);
    assert_int_equal(st.id, 7);
    assert_int_equal(record(&c, 7)->array_task_id, 4);
    assert_null(record(&c, 7)->array_tasks);
    assert_int_equal(record(&c, 7)->state, JOB_STATE(RUNNING));
    core_end(&c);
}

/* ---- does it hold? --------------------------------------------------------------------------- */

static void held(Pst__JobRecord *r)
{
    SET(r, priority, 0);
}

static void test_holds(void **state)
{
    struct proposal *p = propose(7, 1);
    struct core c;
    struct job *j;

    (void)state;
    core_begin(&c, "", NULL);
    core_nodes(&c, 1, 4);
    j = core_job(&c, 7, NULL);
    assert_false(start_holds(&c.ctld, NULL, &p->d)); /* the job has gone */
    p->d.partition = "q";
    assert_false(start_holds(&c.ctld, j, &p->d)); /* it is for another partition now */
    p->d.partition = "p";
    p->d.alloc.nnodes = 0;
    assert_false(start_holds(&c.ctld, j, &p->d));
    p->d.alloc.nnodes = 1;
    p->nodes[0].node_id = 5;
    assert_false(start_holds(&c.ctld, j, &p->d)); /* no such node */
    p->nodes[0].node_id = 0;
    assert_false(start_holds(&c.ctld, j, &p->d)); /* its slurmd is not connected */
    (void)start(&c, p, false);
    assert_false(start_holds(&c.ctld, j, &p->d)); /* it runs already */
    j = core_job(&c, 8, held);
    assert_false(start_holds(&c.ctld, j, &p->d));
    core_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_job),       cmocka_unit_test(test_unlimited),
        cmocka_unit_test(test_shortened), cmocka_unit_test(test_scheduled),
        cmocka_unit_test(test_partition), cmocka_unit_test(test_reservation),
        cmocka_unit_test(test_array),     cmocka_unit_test(test_holds),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
