/* test_victims.c - which running jobs a job may send away, which of them are chosen, and how it
 * holds what they leave */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/cleanup.h"
#include "sched/plan/claims.h"
#include "sched/plan/preempt.h"
#include "sched/plan/preempt_cands.h"
#include "sched/plan/preempt_data.h"
#include "sched/plan/preempt_feed.h"
#include "sched/plan/preempt_try.h"
#include "sched/state/holders.h"
#include "sched/state/lics.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"

#define NOW INT64_C(1700000000000000)
#define SECOND INT64_C(1000000)
#define CPUS 8u
#define ALL UINT64_C(0xff)
#include "sched_inner.h"

static struct sched *cluster(struct sched_preempt pre, uint32_t nodes)
{
    return inner_cluster((struct sched_params){ .preempt = pre }, nodes, CPUS);
}

static const struct sched_preempt by_part = { .type = SCHED_PREEMPT_PART,
                                              .mode = SCHED_MODE_CANCEL },
                                  by_qos = { .type = SCHED_PREEMPT_QOS, .mode = SCHED_MODE_CANCEL };

static struct psearch search_for(struct sched *s, struct job *j)
{
    struct entry *e = j->entries[0];

    return (struct psearch){ .s = s,
                             .e = e,
                             .p = { .s = s, .cls = e->cls, .part = s->parts[e->part] },
                             .now_us = NOW,
                             .retry_us = INT64_MAX };
}

/* ---- who may be sent away -------------------------------------------------------------------- */

static void test_rank_by_part(void **state)
{
    struct sched *s = cluster(by_part, 3);
    struct job *low = inner_run(s, 1, LOW, 0, ALL, 0, 60),
               *mid = inner_run(s, 2, MID, 1, ALL, 0, 60),
               *high = inner_run(s, 3, HIGH, 2, ALL, 0, 60);
    struct psearch x = search_for(s, inner_put(s, inner_job(10, MID, 1)));

    (void)state;
    assert_true(ranks_above(&x, low));
    assert_false(ranks_above(&x, mid)); /* of its own tier */
    assert_false(ranks_above(&x, high));
    s->params.preempt.by_priority = true;
    low->run_priority = x.e->priority;
    assert_false(ranks_above(&x, low)); /* as urgent */
    low->run_priority = x.e->priority - 1;
    assert_true(ranks_above(&x, low));
    sched_free(s);
}

static void test_rank_by_qos(void **state)
{
    static const char *const scavengers[] = { "scavenger", "test" };
    const struct sched_qos_preempt urgent = { .may = scavengers, .nmay = 2 },
                                   within = { .within = true },
                                   lower = { .may = scavengers, .nmay = 2, .by_priority = true };
    struct sched *s = cluster(by_qos, 3);
    struct sched_job put = inner_job(10, LOW, 1);
    struct job *k = inner_run(s, 1, HIGH, 0, ALL, 0, 60); /* tiers are of no account here */
    struct psearch x;

    (void)state;
    assert_int_equal(sched_qos_preempt_put(s, "urgent", &urgent), 0);
    put.qos = "urgent";
    x = search_for(s, inner_put(s, put));
    assert_false(ranks_above(&x, k)); /* it has no QOS */
    assert_int_equal(sched_job_rank(s, 1, 5, "test", false), 0);
    assert_true(ranks_above(&x, k));
    assert_int_equal(sched_job_rank(s, 1, 5, "normal", false), 0);
    assert_false(ranks_above(&x, k));
    assert_int_equal(sched_job_rank(s, 1, 0, "urgent", false), 0);
    assert_false(ranks_above(&x, k)); /* its own QOS */
    assert_int_equal(sched_qos_preempt_put(s, "urgent", &within), 0);
    assert_true(ranks_above(&x, k));
    k->run_priority = x.e->priority;
    assert_false(ranks_above(&x, k)); /* and as urgent */
    assert_int_equal(sched_qos_preempt_put(s, "urgent", &lower), 0);
    assert_int_equal(sched_job_rank(s, 1, UINT32_MAX, "scavenger", false), 0);
    assert_false(ranks_above(&x, k)); /* only those of lower priority */
    assert_int_equal(sched_job_rank(s, 1, 0, "scavenger", false), 0);
    assert_true(ranks_above(&x, k));
    sched_free(s);
}

static void test_label(void **state)
{
    struct sched *s = cluster(by_part, 2);
    struct sched_job red = inner_job(11, HIGH, 1);
    struct job *k = inner_run(s, 1, LOW, 0, ALL, 0, 60);
    struct psearch plain = search_for(s, inner_put(s, inner_job(10, HIGH, 1))), x;

    (void)state;
    red.label = "red";
    x = search_for(s, inner_put(s, red));
    assert_true(may_preempt(&plain, k));
    assert_false(may_preempt(&x, k));
    assert_int_equal(sched_job_owner(s, 1, 7, false, "red"), 0);
    assert_false(may_preempt(&plain, k));
    assert_true(may_preempt(&x, k));
    assert_int_equal(sched_job_owner(s, 1, 7, false, "blue"), 0);
    assert_false(may_preempt(&x, k));
    sched_free(s);
}

/* PreemptMode: of the partition or the QOS, by what preemption goes; else the cluster's. */
static void test_mode(void **state)
{
    const struct sched_qos_preempt requeue = { .mode = SCHED_MODE_REQUEUE };
    struct sched *s = cluster(by_part, 1);
    struct job *k = inner_run(s, 1, LOW, 0, ALL, 0, 60);

    (void)state;
    assert_int_equal(mode_of(s, k), SCHED_MODE_CANCEL);
    s->parts[k->part]->preempt_mode = SCHED_MODE_OFF;
    assert_int_equal(mode_of(s, k), SCHED_MODE_OFF);
    assert_int_equal(sched_qos_preempt_put(s, "test", &requeue), 0);
    assert_int_equal(sched_job_rank(s, 1, 5, "test", false), 0);
    assert_int_equal(mode_of(s, k), SCHED_MODE_OFF);
    s->params.preempt.type = SCHED_PREEMPT_QOS;
    assert_int_equal(mode_of(s, k), SCHED_MODE_REQUEUE);
    assert_int_equal(sched_job_rank(s, 1, 5, NULL, false), 0);
    assert_int_equal(mode_of(s, k), SCHED_MODE_CANCEL);
    sched_free(s);
}

static void test_exempt(void **state)
{
    const struct sched_qos_preempt slow = { .has_exempt = true, .exempt_s = 100 };
    struct sched_preempt pre = by_part;
    struct psearch x;
    struct sched *s;
    struct job *k;

    (void)state;
    pre.exempt_s = 60;
    s = cluster(pre, 2);
    k = inner_run(s, 1, LOW, 0, ALL, 59, 60);
    x = search_for(s, inner_put(s, inner_job(10, HIGH, 1)));
    assert_true(is_exempt(&x, k));
    assert_int_equal(x.retry_us, NOW + SECOND); /* a second more, and it is not */
    x.now_us = NOW + SECOND;
    assert_false(is_exempt(&x, k));
    s->params.preempt.has_min_exempt_priority = true;
    s->params.preempt.min_exempt_priority = 7;
    k->run_priority = 6;
    assert_false(is_exempt(&x, k));
    k->run_priority = 7;
    x.retry_us = INT64_MAX;
    assert_true(is_exempt(&x, k));
    assert_true(x.retry_us == INT64_MAX); /* for ever */
    s->params.preempt.has_min_exempt_priority = false;
    s->params.preempt.type = SCHED_PREEMPT_QOS;
    assert_int_equal(sched_qos_preempt_put(s, "slow", &slow), 0);
    assert_int_equal(sched_job_rank(s, 1, 5, "slow", false), 0);
    assert_true(is_exempt(&x, k)); /* the QOS has a time of its own */
    assert_int_equal(x.retry_us, NOW + 41 * SECOND);
    sched_free(s);
}

static void test_useful(void **state)
{
    const uint32_t first[] = { 0 };
    const struct sched_lic_req matlab = { .name = "matlab", .count = 1 };
    struct sched_partition high = { .name = "high",
                                    .node_ids = first,
                                    .nnodes = 1,
                                    .tier = 3,
                                    .up = true,
                                    .max_time_min = SCHED_UNLIMITED,
                                    .max_nodes = SCHED_UNLIMITED };
    struct sched *s = cluster(by_part, 2);
    struct sched_job put = inner_job(10, HIGH, 1);
    struct job *here = inner_run(s, 1, LOW, 0, 1, 0, 60),
               *there = inner_run(s, 2, LOW, 1, ALL, 0, 60);
    struct psearch x;

    (void)state;
    assert_int_equal(sched_partition_put(s, &high), 0);
    assert_int_equal(sched_license_put(s, "matlab", 1), 0);
    assert_int_equal(sched_job_licenses(s, 2, &matlab, 1), 0);
    put.licenses = &matlab;
    put.nlicenses = 1;
    x = search_for(s, inner_put(s, put));
    assert_true(holds_useful(&x, here));
    assert_false(holds_useful(&x, there)); /* a node that is not the partition's */
    s->params.preempt.reclaim_licenses = true;
    assert_true(holds_useful(&x, there));
    sched_free(s);
}

/* Jobs of lower rank that run, or are suspended and would be ended for their memory; neither those
 * that leave or are exempt, nor such whose partition keeps them. */
static void test_gather(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;
    struct psearch x;

    (void)state;
    pre.exempt_s = 60;
    s = cluster(pre, 8);
    (void)inner_run(s, 1, LOW, 0, ALL, 100, 60);
    (void)inner_run(s, 2, LOW, 1, ALL, 30, 60); /* exempt */
    (void)inner_run(s, 3, LOW, 2, ALL, 100, 60);
    sched_job_suspend(s, 3, true);
    (void)inner_run(s, 4, LOW, 3, ALL, 100, 60);
    sched_job_leaving(s, 4);
    (void)inner_run(s, 5, MID, 4, ALL, 100, 60);
    (void)inner_run(s, 6, HIGH, 5, ALL, 100, 60);
    x = search_for(s, inner_put(s, inner_job(10, HIGH, 1)));
    assert_int_equal(gather_cands(&x), 0);
    assert_int_equal(x.n, 3);
    assert_int_equal(x.v[0].j->id + x.v[1].j->id + x.v[2].j->id, 1 + 3 + 5);
    assert_int_equal(x.v[0].size, CPUS);
    assert_int_equal(x.ngoing, 1);
    assert_int_equal(x.going[0]->id, 4);
    assert_int_equal(x.retry_us, NOW + 30 * SECOND);
    psearch_done(&x);
    s->parts[job_find(s, 5)->part]->preempt_mode = SCHED_MODE_OFF;
    x = search_for(s, job_find(s, 10));
    assert_int_equal(gather_cands(&x), 0);
    assert_int_equal(x.n, 2);
    assert_int_equal(x.v[0].j->id + x.v[1].j->id, 1 + 3);
    assert_int_equal(x.v[0].mode, SCHED_MODE_CANCEL);
    assert_int_equal(x.v[0].tier, 1);
    psearch_done(&x);
    sched_free(s);
}

/* ---- who is chosen --------------------------------------------------------------------------- */

/* The victims of a job of so many tasks, as digits in order; 0: none would help, or none is
 * needed. */
static uint32_t victims_of(struct sched *s, uint32_t tasks)
{
    const uint64_t busy = s->free_cpus;
    struct psearch x = search_for(s, inner_put(s, inner_job(10, HIGH, tasks)));
    struct choice c = { 0 };
    uint32_t digits = 0;
    int r;

    assert_int_equal(gather_cands(&x), 0);
    s->travelling = true;
    r = search_victims(&x, &c);
    s->travelling = false;
    for (uint32_t i = 0; i < c.n; i++)
        digits = digits * 10 + c.victims[i].job_id;
    assert_int_equal(r, digits != 0);
    assert_int_equal(c.harm.n, c.n);
    if (r == 1) {
        assert_int_equal(c.alloc.nnodes, 1);
        assert_int_equal(c.alloc.nodes[0].cpus, tasks);
    }
    assert_int_equal(s->free_cpus, busy); /* what was moved about is as it was */
    choice_done(&c);
    assert_null(c.victims);
    psearch_done(&x);
    sched_job_remove(s, 10);
    return digits;
}

static void test_fewest(void **state)
{
    struct sched *s = cluster(by_part, 2);

    (void)state;
    (void)inner_run(s, 1, LOW, 0, 0x0f, 10, 60);
    (void)inner_run(s, 2, LOW, 0, 0x30, 20, 60);
    (void)inner_run(s, 3, LOW, 1, 0x7f, 30, 60);
    assert_int_equal(victims_of(s, 1), 0); /* a CPU is free */
    assert_int_equal(victims_of(s, 2), 0);
    assert_int_equal(victims_of(s, 3), 2); /* the smaller one is enough */
    assert_int_equal(victims_of(s, 5), 1); /* job 2 in addition would be one too many */
    assert_int_equal(victims_of(s, 9), 0); /* no node has so many */
    sched_free(s);
}

/* Another order finds one victim where the first found two. */
static void test_reorder(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;

    (void)state;
    for (uint32_t reorder = 0; reorder < 2; reorder++) {
        pre.reorder_count = reorder;
        s = cluster(pre, 2);
        (void)inner_run(s, 1, LOW, 0, 0x0f, 10, 60);
        (void)inner_run(s, 2, LOW, 0, 0xf0, 10, 60);
        (void)inner_run(s, 3, LOW, 1, ALL, 10, 60);
        assert_int_equal(victims_of(s, 8), reorder ? 3 : 12);
        s->params.preempt.strict_order = true;
        assert_int_equal(victims_of(s, 8), 12);
        sched_free(s);
    }
}

static void test_youngest(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;

    (void)state;
    pre.youngest_first = true;
    s = cluster(pre, 3);
    (void)inner_run(s, 1, LOW, 0, 0x01, 30, 60);
    (void)inner_run(s, 2, LOW, 1, ALL, 10, 60);
    (void)inner_run(s, 3, MID, 2, ALL, 1, 60); /* a higher tier is spared longer */
    assert_int_equal(victims_of(s, 8), 2);
    s->params.preempt.youngest_first = false;
    assert_int_equal(victims_of(s, 8), 1);
    sched_free(s);
}

/* ---- what it claims -------------------------------------------------------------------------- */

static void claim(struct sched *s, struct job *j, struct sched_decisions *d)
{
    assert_int_equal(preempt_try(s, j->entries[0], NULL, NOW, d), 1);
}

static void test_claim_holds(void **state)
{
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct sched *s = cluster(by_part, 1);
    struct job *k = inner_run(s, 1, LOW, 0, ALL, 10, 60), *j = inner_put(s, inner_job(10, HIGH, 6));

    (void)state;
    claim(s, j, &d);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].kind, SCHED_PREEMPT);
    assert_int_equal(d.items[0].nvictims, 1);
    assert_int_equal(d.items[0].victims[0].job_id, 1);
    assert_int_equal(d.items[0].candidates, 1);
    assert_string_equal(d.items[0].partition, "high");
    assert_int_equal(j->state, JOB_PROPOSED);
    assert_int_equal(k->claimed_by, 10);
    assert_true(goes_anyway(k));
    sched_decisions_done(&d);
    assert_int_equal(claims_settle(s, NOW + SECOND, &d), 0);
    assert_int_equal(d.n, 0); /* it runs on */
    sched_job_remove(s, 1);
    assert_int_equal(s->free_cpus, 2); /* others get what the job leaves */
    assert_int_equal(claims_settle(s, NOW + 2 * SECOND, &d), 0);
    assert_int_equal(d.n, 1);
    assert_int_equal(d.items[0].kind, SCHED_START);
    assert_int_equal(d.items[0].job_id, 10);
    assert_int_equal(j->start_us, NOW + 2 * SECOND);
    assert_true(j->end_us == NOW + 602 * SECOND);
    assert_null(j->waits);
    sched_free(s);
}

/* Another run of the victim is not the one that was to go; a suspended one has made room. */
static void test_claim_gone(void **state)
{
    struct sched *s = cluster(by_part, 1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };

    (void)state;
    (void)inner_run(s, 1, LOW, 0, ALL, 10, 60);
    claim(s, inner_put(s, inner_job(10, HIGH, 8)), &d);
    sched_job_yield(s, 1, true);
    assert_int_equal(claims_settle(s, NOW, &d), 0);
    assert_non_null(inner_decided(&d, SCHED_START, 10));
    sched_free(s);
}

/* A node that fails takes the claim with it: the job is in the queue again. */
static void test_claim_lost(void **state)
{
    struct sched_node down = { .id = 0,
                               .name = "n",
                               .cpus = CPUS,
                               .sockets = 1,
                               .cores_per_socket = CPUS,
                               .threads_per_core = 1,
                               .mem_mib = 4000,
                               .weight = 1 };
    struct sched *s = cluster(by_part, 1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct job *k = inner_run(s, 1, LOW, 0, ALL, 10, 60), *j = inner_put(s, inner_job(10, HIGH, 8));

    (void)state;
    claim(s, j, &d);
    assert_int_equal(sched_node_put(s, &down), 0);
    assert_int_equal(claims_settle(s, NOW, &d), 0);
    assert_int_equal(j->state, JOB_QUEUED);
    assert_int_equal(j->alloc.nnodes, 0);
    assert_int_equal(s->nclaims, 0);
    assert_int_equal(k->claimed_by, 0);
    sched_free(s);
}

/* What no search helps is not searched again until something changes; then it is. */
static void test_retry(void **state)
{
    struct sched_preempt pre = by_part;
    struct sched *s;
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    struct entry *e;

    (void)state;
    pre.exempt_s = 60;
    s = cluster(pre, 1);
    (void)inner_run(s, 1, LOW, 0, ALL, 10, 60);
    e = inner_put(s, inner_job(10, HIGH, 8))->entries[0];
    s->preempt_wake_us = INT64_MAX;
    assert_int_equal(preempt_try(s, e, NULL, NOW, &d), 0);
    assert_true(s->preempt_wake_us == NOW + 50 * SECOND); /* when job 1 is not safe any more */
    s->preempt_wake_us = INT64_MAX;
    assert_int_equal(preempt_try(s, e, NULL, NOW + SECOND, &d), 0);
    assert_true(s->preempt_wake_us == NOW + 50 * SECOND);
    assert_int_equal(preempt_try(s, e, NULL, NOW + 50 * SECOND, &d), 1);
    sched_free(s);
}

/* It starts in the reservation that it asked for. */
static void test_claim_resv(void **state)
{
    const uint32_t first[] = { 0 };
    const struct sched_resv_window day = { NOW - 60 * SECOND, NOW + 86400 * SECOND };
    const struct sched_resv resv = {
        .id = 4, .node_ids = first, .nnodes = 1, .windows = &day, .nwindows = 1
    };
    const struct sched_job_resv asked = { .id = 4 };
    struct sched *s = cluster(by_part, 1);
    struct sched_job put = inner_job(10, HIGH, 8);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    (void)state;
    assert_int_equal(sched_resv_put(s, &resv), 0);
    (void)inner_run(s, 1, LOW, 0, ALL, 10, 60);
    sched_job_resv(s, 1, 4);
    put.resvs = &asked;
    put.nresvs = 1;
    put.resv_only = true;
    (void)inner_put(s, put);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_non_null(inner_decided(&d, SCHED_PREEMPT, 10));
    assert_int_equal(job_find(s, 10)->resv, 4);
    sched_job_remove(s, 1);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_non_null(inner_decided(&d, SCHED_START, 10));
    assert_int_equal(inner_decided(&d, SCHED_START, 10)->resv_id, 4);
    sched_free(s);
}

/* A job that names the least time it needs gets what the partition grants, and is told so. */
static void test_claim_minutes(void **state)
{
    const uint32_t first[] = { 0 };
    const struct sched_partition high = { .name = "high",
                                          .node_ids = first,
                                          .nnodes = 1,
                                          .tier = 3,
                                          .up = true,
                                          .max_time_min = 30,
                                          .max_nodes = SCHED_UNLIMITED };
    struct sched *s = cluster(by_part, 1);
    struct sched_job put = inner_job(10, HIGH, 8);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    (void)state;
    assert_int_equal(sched_partition_put(s, &high), 0);
    (void)inner_run(s, 1, LOW, 0, ALL, 10, 60);
    put.time_limit_min = 60;
    put.time_min_min = 10;
    (void)inner_put(s, put);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_non_null(inner_decided(&d, SCHED_PREEMPT, 10));
    assert_true(job_find(s, 10)->end_us == NOW + 1800 * SECOND);
    sched_job_remove(s, 1);
    assert_int_equal(sched_pass(s, NOW + SECOND, &d, &wake), 0);
    assert_int_equal(inner_decided(&d, SCHED_START, 10)->time_limit_min, 30);
    assert_true(job_find(s, 10)->end_us == NOW + 1801 * SECOND);
    sched_free(s);
}

/* No job of association 1 may hold more than four CPUs. */
static void limit_to_four(struct sched *s)
{
    const struct sched_tres_limit four = { .tres_id = 1, .count = 4 };
    struct sched_limits l;

    sched_limits_init(&l);
    l.lists[SCHED_MAX_TRES_JOB].v = &four;
    l.lists[SCHED_MAX_TRES_JOB].n = 1;
    assert_int_equal(sched_tres_put(s, 1, "cpu"), 0);
    assert_int_equal(sched_limit_assoc_put(s, 1, 0, "root", &l), 0);
    sched_limit_enforce(s, true, false);
}

/* Nobody is sent away for a job that may not hold what it would get. */
static void test_claim_limit(void **state)
{
    struct sched *s = cluster(by_part, 1);
    struct sched_job put = inner_job(10, HIGH, 1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    (void)state;
    limit_to_four(s);
    (void)inner_run(s, 1, LOW, 0, ALL, 10, 60);
    put.assoc_id = 1;
    put.exclusive = true; /* one task, and all eight CPUs of the node */
    (void)inner_put(s, put);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_null(inner_decided(&d, SCHED_PREEMPT, 10));
    assert_int_equal(job_find(s, 1)->claimed_by, 0);
    assert_non_null(inner_decided(&d, SCHED_EXPECT, 10));
    assert_int_equal(inner_decided(&d, SCHED_EXPECT, 10)->why, SCHED_WHY_LIMIT);
    assert_int_equal(inner_decided(&d, SCHED_EXPECT, 10)->limit,
                     SCHED_LIMIT(SCHED_LIMIT_ASSOC_MAX_JOB, SCHED_TRES_CPU));
    sched_free(s);
}

/* The same while backfill plans, behind a job that waits for another node. */
static void test_plan_limit(void **state)
{
    const uint32_t first[] = { 0 };
    struct sched *s =
        inner_cluster((struct sched_params){ .preempt = by_part, .conservative = true }, 2, CPUS);
    struct sched_job head = inner_job(9, HIGH, 8), put = inner_job(10, HIGH, 1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    (void)state;
    limit_to_four(s);
    (void)inner_run(s, 1, HIGH, 0, ALL, 10, 60);
    (void)inner_run(s, 2, LOW, 1, ALL, 10, 60);
    head.req_nodes = first;
    head.nreq = 1;
    (void)inner_put(s, head);
    put.assoc_id = 1;
    put.exclusive = true;
    (void)inner_put(s, put);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(sched_backfill(s, NOW, &d), 0);
    assert_null(inner_decided(&d, SCHED_PREEMPT, 10));
    assert_int_equal(job_find(s, 10)->told, SCHED_WHY_LIMIT);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rank_by_part), cmocka_unit_test(test_rank_by_qos),
        cmocka_unit_test(test_label),        cmocka_unit_test(test_mode),
        cmocka_unit_test(test_exempt),       cmocka_unit_test(test_useful),
        cmocka_unit_test(test_gather),       cmocka_unit_test(test_fewest),
        cmocka_unit_test(test_reorder),      cmocka_unit_test(test_youngest),
        cmocka_unit_test(test_claim_holds),  cmocka_unit_test(test_claim_gone),
        cmocka_unit_test(test_claim_lost),   cmocka_unit_test(test_retry),
        cmocka_unit_test(test_claim_resv),   cmocka_unit_test(test_claim_minutes),
        cmocka_unit_test(test_claim_limit),  cmocka_unit_test(test_plan_limit),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
