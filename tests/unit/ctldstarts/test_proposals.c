/* test_proposals.c - the scheduler's proposals are taken or dropped, and what jobs that wait are
 * told */
#include "coreask_util.h"

#include "ctld/core/asking.h"
#include "ctld/core/observe.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/starts/proposals.h"
#include "ctld/starts/wait.h"

extern const struct ctld_service completewait_service, feedlimits_service, gang_service,
    jobtimes_service, licenses_service, passnotes_service, plannednodes_service, shares_service,
    steps_service;

static const struct ctld_service *const services[] = {
    &topology_service,     &asking_service,   &feedlimits_service, &completewait_service,
    &schedfeed_service,    &licenses_service, &feasible_service,   &passnotes_service,
    &views_service,        &hooks_service,    &prologs_service,    &owners_service,
    &cleaning_service,     &imex_service,     &stepvnis_service,   &wait_service,
    &plannednodes_service, &gang_service,     &steps_service,      NULL
};

#define WHY(reason) PST__JOB_REASON__REASON_##reason

static struct core core;
static uint64_t all_cpus = 0xf;

/* Three nodes of four CPUs, which are connected. */
static void begin(const char *lines)
{
    coreask_begin(&core, lines, services);
    observe_init(&core.ctld);
    core_nodes(&core, 3, 4);
    for (uint32_t i = 0; i < 3; i++)
        (void)coreask_link(&core, i);
}

static void end(void)
{
    coreask_end(&core);
}

static struct decisions_msg *message(size_t n)
{
    struct decisions_msg *m = calloc(1, sizeof(*m));

    assert_non_null(m);
    m->ctld = &core.ctld;
    m->seen_batch = 1000; /* the pass knew all that was told */
    m->d.items = calloc(n, sizeof(*m->d.items));
    assert_non_null(m->d.items);
    m->d.n = m->d.cap = n;
    return m;
}

/* The job is to start on one node, with all its CPUs. */
static void propose(struct sched_decision *d, uint32_t id, uint32_t node)
{
    *d = (struct sched_decision){
        .kind = SCHED_START, .job_id = id, .partition = "p", .priority = 4711
    };
    d->alloc.nnodes = 1;
    d->alloc.nodes = calloc(1, sizeof(*d->alloc.nodes) + sizeof(all_cpus)); /* freed as one */
    assert_non_null(d->alloc.nodes);
    d->alloc.nodes[0] = (struct sched_alloc_node){
        .node_id = node, .cpus = 4, .ncpu_words = 1, .mem_mib = 100, .tasks = 1
    };
    d->alloc.nodes[0].cpu_bits = (uint64_t *)(void *)(d->alloc.nodes + 1);
    *d->alloc.nodes[0].cpu_bits = all_cpus;
}

static void start_one(uint32_t id, uint32_t node)
{
    struct decisions_msg *m = message(1);

    propose(&m->d.items[0], id, node);
    lifecycle_decisions(&core.ctld, m);
}

static const Pst__JobRecord *record(uint32_t id)
{
    return cluster_job(core.ctld.cluster, id)->rec;
}

/* ---- starts ---------------------------------------------------------------------------------- */

static void test_start(void **state)
{
    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    start_one(7, 1);
    assert_int_equal(record(7)->state, JOB_STATE(RUNNING));
    assert_string_equal(record(7)->alloc->nodes, "n1");
    assert_int_equal(record(7)->start_priority, 4711);
    start_one(7, 2); /* proposed twice: it runs where it runs */
    assert_string_equal(record(7)->alloc->nodes, "n1");
    start_one(99, 1); /* the job has gone */
    end();
}

static void held(Pst__JobRecord *r)
{
    SET(r, priority, 0);
}

/* What changed since the pass drops the proposal: the job waits. */
static void test_dropped(void **state)
{
    struct decisions_msg *m;
    struct node *n2;

    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    (void)core_job(&core, 8, held);
    start_one(8, 0);
    assert_int_equal(record(8)->state, JOB_STATE(PENDING));
    m = message(1);
    m->seen_batch = 0; /* a change of the job was told behind it */
    propose(&m->d.items[0], 7, 0);
    lifecycle_decisions(&core.ctld, m);
    assert_int_equal(record(7)->state, JOB_STATE(PENDING));
    n2 = core.ctld.cluster->nodes[2];
    node_link_drop(&core.ctld, n2);
    start_one(7, 2);
    assert_int_equal(record(7)->state, JOB_STATE(PENDING));
    atomic_store(&core.ctld.disk_full, true);
    start_one(7, 0);
    assert_int_equal(record(7)->state, JOB_STATE(PENDING));
    atomic_store(&core.ctld.disk_full, false);
    start_one(7, 0);
    assert_int_equal(record(7)->state, JOB_STATE(RUNNING));
    end();
}

/* All components of a heterogeneous job start, or none; who comes behind them is his own. */
static void test_components(void **state)
{
    struct decisions_msg *m;

    (void)state;
    begin("");
    (void)core_job(&core, 7, core_component);
    (void)core_job(&core, 8, core_component);
    (void)core_job(&core, 9, NULL);
    start_one(7, 0); /* without the other */
    assert_int_equal(record(7)->state, JOB_STATE(PENDING));
    m = message(3);
    propose(&m->d.items[0], 7, 0);
    propose(&m->d.items[1], 8, 5); /* there is no such node */
    propose(&m->d.items[2], 9, 2);
    lifecycle_decisions(&core.ctld, m);
    assert_int_equal(record(7)->state, JOB_STATE(PENDING));
    assert_int_equal(record(8)->state, JOB_STATE(PENDING));
    assert_int_equal(record(9)->state, JOB_STATE(RUNNING));
    m = message(2);
    propose(&m->d.items[0], 7, 0);
    propose(&m->d.items[1], 8, 1);
    lifecycle_decisions(&core.ctld, m);
    assert_int_equal(record(7)->state, JOB_STATE(RUNNING));
    assert_int_equal(record(8)->state, JOB_STATE(RUNNING));
    end();
}

/* ---- why jobs wait --------------------------------------------------------------------------- */

static void expect_of(uint32_t id, struct sched_decision d)
{
    struct decisions_msg *m = message(1);

    d.kind = SCHED_EXPECT;
    d.job_id = id;
    m->d.items[0] = d;
    lifecycle_decisions(&core.ctld, m);
}

static const struct {
    enum sched_why why;
    Pst__JobReason reason;
} reasons[] = {
    { SCHED_WHY_NONE, WHY(NONE) },
    { SCHED_WHY_PRIORITY, WHY(PRIORITY) },
    { SCHED_WHY_RESOURCES, WHY(RESOURCES) },
    { SCHED_WHY_PART_DOWN, WHY(PARTITION_DOWN) },
    { SCHED_WHY_PART_INACTIVE, WHY(PARTITION_INACTIVE) },
    { SCHED_WHY_PART_NODE_LIMIT, WHY(PARTITION_NODE_LIMIT) },
    { SCHED_WHY_PART_TIME_LIMIT, WHY(PARTITION_TIME_LIMIT) },
    { SCHED_WHY_PART_MEM, WHY(MAX_MEM) },
    { SCHED_WHY_LICENSES, WHY(LICENSES) },
    { SCHED_WHY_CHANNELS, WHY(NVIDIA_IMEX_CHANNELS) },
    { SCHED_WHY_RESV, WHY(RESERVATION) },
    { SCHED_WHY_RESERVED, WHY(REQ_NODE_NOT_AVAIL) },
    { SCHED_WHY_RESV_MAINT, WHY(RESERVED_MAINT) },
    { SCHED_WHY_BEGIN_TIME, WHY(BEGIN_TIME) },
    { SCHED_WHY_NODES_UNAVAILABLE, WHY(NODES_UNAVAILABLE) }, /* no node is down */
};

static void test_reasons(void **state)
{
    struct job *j;

    (void)state;
    begin("");
    j = core_job(&core, 7, NULL);
    for (size_t i = 0; i < ARRAY_SIZE(reasons); i++) {
        expect_of(7, (struct sched_decision){ .why = reasons[i].why });
        if (j->rec->pend_reason != reasons[i].reason)
            fail_msg("row %zu: %d", i, (int)j->rec->pend_reason);
    }
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_LIMIT, .limit = 0 });
    assert_int_equal(j->rec->pend_reason, WHY(ASSOC_GRP_CPU));
    end();
}

/* When and where a job is planned; the next pass may know nothing of that. */
static void test_planned(void **state)
{
    const int64_t then = now_us() + 3600 * SEC;
    uint32_t *nodes = malloc(2 * sizeof(*nodes));
    struct job *j;

    (void)state;
    begin("");
    j = core_job(&core, 7, NULL);
    assert_non_null(nodes);
    nodes[0] = 1;
    nodes[1] = 2;
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_RESOURCES,
                                          .expected_us = then,
                                          .expected_nodes = nodes,
                                          .nexpected = 2,
                                          .priority = 99 });
    assert_true(j->rec->expected_start_us == then);
    assert_string_equal(j->rec->sched_nodes, "n[1-2]");
    assert_int_equal(j->rec->cur_priority, 99);
    assert_true(j->rec->has_last_sched_eval_us);
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_PRIORITY });
    assert_false(j->rec->has_expected_start_us);
    assert_null(j->rec->sched_nodes);
    assert_int_equal(j->rec->cur_priority, 99); /* it was not looked at: as it was */
    end();
}

static void set_node(uint32_t id, Pst__NodeState node_state)
{
    Pst__Transaction *tx = tx_new(T0);

    SET(tx_node_patch(tx, EV(NODE_UPDATE), id), state, node_state);
    apply_ok(core.ctld.cluster, tx);
}

static void wants_n1(Pst__JobRecord *r)
{
    assert_int_equal(pb_set_str(&r->req_nodes, "n[0-1]"), 0);
}

/* Which of the nodes that it may have are down; of those that it names, if it names some. */
static void test_unavailable(void **state)
{
    struct job *any, *named;

    (void)state;
    begin("");
    any = core_job(&core, 7, NULL);
    named = core_job(&core, 8, wants_n1);
    set_node(1, PST__NODE_STATE__NODE_DOWN);
    node_link_drop(&core.ctld, core.ctld.cluster->nodes[2]); /* away */
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_NODES_UNAVAILABLE });
    assert_int_equal(any->rec->pend_reason, WHY(REQ_NODE_NOT_AVAIL));
    assert_string_equal(any->rec->pend_text, "ReqNodeNotAvail, UnavailableNodes:n[1-2]");
    expect_of(8, (struct sched_decision){ .why = SCHED_WHY_NODE_NOT_AVAIL });
    assert_string_equal(named->rec->pend_text, "ReqNodeNotAvail, UnavailableNodes:n1");
    expect_of(8, (struct sched_decision){ .why = SCHED_WHY_RESOURCES });
    assert_null(named->rec->pend_text);
    end();
}

static void nine_cpus(Pst__JobRecord *r)
{
    SET(r, num_tasks, 13); /* the partition has 12 */
}

static void four_nodes(Pst__JobRecord *r)
{
    SET(r, min_nodes, 4);
}

/* More than the whole partition has is told as such. */
static void test_exceeds(void **state)
{
    struct job *cpus, *nodes, *fits;

    (void)state;
    begin("");
    cpus = core_job(&core, 7, nine_cpus);
    nodes = core_job(&core, 8, four_nodes);
    fits = core_job(&core, 9, NULL);
    for (uint32_t id = 7; id <= 9; id++)
        expect_of(id, (struct sched_decision){ .why = SCHED_WHY_BAD_CONSTRAINTS });
    assert_int_equal(cpus->rec->pend_reason, WHY(PARTITION_CONFIG));
    assert_int_equal(nodes->rec->pend_reason, WHY(PARTITION_NODE_LIMIT));
    assert_int_equal(fits->rec->pend_reason, WHY(BAD_CONSTRAINTS));
    bitmap_zero(cluster_partition(core.ctld.cluster, "p")->nodes); /* as 22.05 has it */
    expect_of(9, (struct sched_decision){ .why = SCHED_WHY_BAD_CONSTRAINTS });
    assert_int_equal(fits->rec->pend_reason, WHY(PARTITION_CONFIG));
    end();
}

/* Priorities of jobs that wait for others; a held one has none. */
static void test_price(void **state)
{
    struct decisions_msg *m;
    struct job *waits, *stays;

    (void)state;
    begin("");
    waits = core_job(&core, 7, NULL);
    stays = core_job(&core, 8, held);
    m = message(3);
    for (uint32_t i = 0; i < 3; i++)
        m->d.items[i] =
            (struct sched_decision){ .kind = SCHED_PRICE, .job_id = 7 + i, .priority = 50 };
    lifecycle_decisions(&core.ctld, m);
    assert_int_equal(waits->rec->cur_priority, 50);
    assert_false(stays->rec->has_cur_priority && stays->rec->cur_priority);
    end();
}

/* Since when its age counts is journaled: the next controller goes on with it. */
static void test_age(void **state)
{
    uint64_t lsn;

    (void)state;
    begin("");
    (void)core_job(&core, 7, NULL);
    lsn = core.ctld.applied_lsn;
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_PRIORITY, .accrue_us = T0 + SEC });
    assert_true(record(7)->accrue_us == T0 + SEC);
    assert_true(core.ctld.applied_lsn > lsn);
    lsn = core.ctld.applied_lsn;
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_PRIORITY, .accrue_us = INT64_MAX });
    assert_true(record(7)->has_accrue_us && record(7)->accrue_us == 0); /* it does not count */
    expect_of(7, (struct sched_decision){ .why = SCHED_WHY_PRIORITY });
    assert_true(core.ctld.applied_lsn == lsn + 1); /* as before: nothing to write */
    end();
}

/* ---- questions ------------------------------------------------------------------------------- */

/* --test-only: when and where it would start; a job that never would is refused. */
static void test_when(void **state)
{
    struct conn *ann;
    struct decisions_msg *m;
    ProtobufCMessage *reply;
    const int64_t then = now_us() + 60 * SEC;

    (void)state;
    begin("");
    ann = coreask_connect(1000);
    for (int well = 0; well < 2; well++) {
        const struct cmd cmd = { .conn = ann, .op = OP_JOB_SUBMIT, .id = 1, .lane = 1000 };
        uint64_t ticket;

        assert_true(asking_begin(core.ctld.asking, 1000));
        ticket = wait_add_test(&core.ctld, &cmd, NULL);
        wait_find(&core.ctld, ticket)->test_id = 12;
        m = message(1);
        propose(&m->d.items[0], 0, 2);
        m->d.items[0].expected_us = then;
        m->when = true;
        m->when_result = well ? 0 : -1;
        m->ticket = ticket;
        lifecycle_decisions(&core.ctld, m);
        coreask_settle(&core);
        assert_null(wait_find(&core.ctld, ticket));
        reply = NULL;
        assert_int_equal(coreask_answer(ann, OP_JOB_SUBMIT, &reply),
                         well ? 0 : ESLURM_REQUESTED_NODE_CONFIG_UNAVAILABLE);
        if (well) {
            const Pst__SubmitReply *r = (const Pst__SubmitReply *)reply;

            assert_int_equal(r->job_id, 12);
            assert_true(r->start_us == then);
            assert_int_equal(r->cpus, 4);
            assert_int_equal(r->node_count, 1);
            assert_string_equal(r->nodes, "n2");
            assert_string_equal(r->partition, "p");
            protobuf_c_message_free_unpacked(reply, NULL);
        }
    }
    for (unsigned i = 0; i < ASKING_MAX; i++) /* both questions are over */
        assert_true(asking_begin(core.ctld.asking, 1000));
    assert_false(asking_begin(core.ctld.asking, 1000));
    coreask_forget();
    conn_unref(ann);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_start),      cmocka_unit_test(test_dropped),
        cmocka_unit_test(test_components), cmocka_unit_test(test_reasons),
        cmocka_unit_test(test_planned),    cmocka_unit_test(test_unavailable),
        cmocka_unit_test(test_exceeds),    cmocka_unit_test(test_price),
        cmocka_unit_test(test_age),        cmocka_unit_test(test_when),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
