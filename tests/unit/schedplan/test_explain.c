/* test_explain.c - the parts of an explanation: nodes, holders, licences, and changes that help */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/explain/explain_change.h"
#include "sched/explain/explain_lic.h"
#include "sched/explain/explain_nodes.h"
#include "sched/explain/explain_try.h"
#include "sched/explain/sched_explain.h"
#include "sched/plan/bfshare.h"
#include "sched/state/alloc.h"
#include "sched/state/line.h"
#include "sched/state/nodes.h"
#include "sched/state/parts.h"
#include "sched/state/resvs.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#define CPUS 8u
#include "sched_inner.h"

static struct sched *cluster(uint32_t nodes)
{
    return inner_cluster((struct sched_params){ 0 }, nodes, CPUS);
}

/* ---- what a change makes of a request -------------------------------------------------------- */

static bool applied(const struct sched_job *j, struct explain_change c, struct explain_trial *t)
{
    return sched_explain_apply(j, &c, t);
}

static void test_apply_sizes(void **state)
{
    struct sched_job j = inner_job(1, LOW, 12);
    struct explain_trial t;

    (void)state;
    j.min_nodes = 4;
    j.max_nodes = 6;
    j.time_min_min = 5;
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_TIME, .value = 7 }, &t));
    assert_int_equal(t.job.time_limit_min, 7);
    assert_int_equal(t.job.time_min_min, 5);
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_TIME, .value = 4 }, &t));
    assert_int_equal(t.job.time_min_min, 0); /* more than the limit */
    assert_false(applied(&j, (struct explain_change){ .kind = CHANGE_TIME, .value = 0 }, &t));
    /* Fewer nodes: as many tasks on each as before. */
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_NODES, .value = 2 }, &t));
    assert_int_equal(t.job.min_nodes, 2);
    assert_int_equal(t.job.max_nodes, 2);
    assert_int_equal(t.job.num_tasks, 6);
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_TASKS, .value = 4 }, &t));
    assert_int_equal(t.job.num_tasks, 4);
    assert_false(applied(&j, (struct explain_change){ .kind = CHANGE_TASKS, .value = 3 }, &t));
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_MEM_CPU, .value = 9 }, &t));
    assert_int_equal(t.job.mem_per_cpu_mib, 9);
    assert_false(applied(&j, (struct explain_change){ .kind = CHANGE_MEM_NODE, .value = 0 }, &t));
    assert_int_equal(j.num_tasks, 12); /* the job itself stays as it is */
}

static void test_apply_words(void **state)
{
    const struct sched_gres_req gres[] = { { .name = "gpu", .per_node = 4 },
                                           { .name = "nic", .per_job = 3 },
                                           { .name = "tape", .per_task = 2 } };
    struct sched_job j = inner_job(1, LOW, 1);
    struct explain_trial t;

    (void)state;
    j.features = "intel&ssd&big";
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_FEATURES, .index = 0 }, &t));
    assert_string_equal(t.job.features, "ssd&big");
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_FEATURES, .index = 1 }, &t));
    assert_string_equal(t.job.features, "intel&big");
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_FEATURES, .index = 2 }, &t));
    assert_string_equal(t.job.features, "intel&ssd");
    assert_true(
        applied(&j, (struct explain_change){ .kind = CHANGE_FEATURES, .index = UINT32_MAX }, &t));
    assert_null(t.job.features);
    j.gres = gres;
    j.ngres = 3;
    assert_true(
        applied(&j, (struct explain_change){ .kind = CHANGE_GRES, .index = 0, .value = 2 }, &t));
    assert_int_equal(t.job.gres[0].per_node, 2);
    assert_true(
        applied(&j, (struct explain_change){ .kind = CHANGE_GRES, .index = 1, .value = 2 }, &t));
    assert_int_equal(t.job.gres[1].per_job, 2);
    assert_true(
        applied(&j, (struct explain_change){ .kind = CHANGE_GRES, .index = 2, .value = 1 }, &t));
    assert_int_equal(t.job.gres[2].per_task, 1);
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_GRES, .index = 1 }, &t));
    assert_int_equal(t.job.ngres, 2); /* without it */
    assert_string_equal(t.job.gres[1].name, "tape");
    assert_false(applied(&j, (struct explain_change){ .kind = CHANGE_GRES, .index = 3 }, &t));
    assert_true(
        applied(&j, (struct explain_change){ .kind = CHANGE_PARTITION, .text = "high" }, &t));
    assert_int_equal(t.job.npartitions, 1);
    assert_string_equal(t.job.partitions[0], "high");
}

static void test_apply_drop(void **state)
{
    const uint32_t first[] = { 0 };
    struct sched_job j = inner_job(1, LOW, 1);
    struct explain_trial t;

    (void)state;
    j.req_nodes = j.exc_nodes = first;
    j.nreq = j.nexc = 1;
    j.exclusive = j.contiguous = true;
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_NODELIST }, &t));
    assert_true(t.job.nreq == 0 && t.job.nexc == 1 && t.job.exclusive && t.job.contiguous);
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_EXCLUDE }, &t));
    assert_true(t.job.nreq == 1 && t.job.nexc == 0 && t.job.exclusive && t.job.contiguous);
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_EXCLUSIVE }, &t));
    assert_true(t.job.nreq == 1 && t.job.nexc == 1 && !t.job.exclusive && t.job.contiguous);
    assert_true(applied(&j, (struct explain_change){ .kind = CHANGE_CONTIGUOUS }, &t));
    assert_true(t.job.nreq == 1 && t.job.nexc == 1 && t.job.exclusive && !t.job.contiguous);
}

/* ---- who holds ------------------------------------------------------------------------------- */

/* The list keeps the eight that end first, and counts all. */
static void test_holders(void **state)
{
    struct explain_holder list[EXPLAIN_HOLDERS] = { 0 };
    uint32_t n = 0, all = 0;

    (void)state;
    for (uint32_t id = 1; id <= 12; id++) {
        struct explain_holder h = { .job_id = id, .end_us = (id * 7) % 12 };

        ex_add_holder(list, &n, &all, &h);
    }
    assert_int_equal(all, 12);
    assert_int_equal(n, EXPLAIN_HOLDERS);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(list[i].end_us, i); /* 0 to 11 came, in disorder */
}

static void test_licences(void **state)
{
    const struct sched_lic_req two = { .name = "matlab", .count = 2 },
                               want[] = { { .name = "matlab", .count = 3 },
                                          { .name = "fluent", .count = 1 } };
    struct sched *s = cluster(1);
    struct sched_explanation out = { 0 };
    struct sched_job j = inner_job(9, LOW, 1);
    struct ex x = { .s = s, .job_id = 9, .now_us = NOW };

    (void)state;
    assert_int_equal(sched_license_put(s, "matlab", 4), 0);
    assert_int_equal(sched_license_put(s, "fluent", 7), 0);
    (void)inner_run(s, 100, LOW, 0, 1, 0, 60);
    (void)inner_run(s, 101, LOW, 0, 2, 0, 30);
    (void)inner_run(s, 102, LOW, 0, 4, 0, 10); /* holds none */
    assert_int_equal(sched_job_licenses(s, 100, &two, 1), 0);
    assert_int_equal(sched_job_licenses(s, 101, &two, 1), 0);
    j.licenses = want;
    j.nlicenses = 2;
    ex_licenses(&x, inner_put(s, j), &out);
    assert_int_equal(out.nlicenses, 2);
    assert_false(out.licenses_any);
    assert_string_equal(out.licenses[0].name, "matlab");
    assert_int_equal(out.licenses[0].wanted, 3);
    assert_int_equal(out.licenses[0].total, 4);
    assert_int_equal(out.licenses[0].used, 4);
    assert_int_equal(out.licenses[0].nholders, 2);
    assert_int_equal(out.licenses[0].holders[0].job_id, 101); /* ends first */
    assert_int_equal(out.licenses[0].holders[0].nodes, 2);
    assert_int_equal(out.licenses[1].used, 0);
    assert_int_equal(out.licenses[1].nholders, 0);
    sched_explanation_done(&out);
    sched_free(s);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_node(struct sched *s, struct sched_node n)
{
    n.name = "n";
    n.cpus = n.cpus ? n.cpus : CPUS;
    n.sockets = n.threads_per_core = 1;
    n.cores_per_socket = n.cpus;
    n.mem_mib = n.mem_mib ? n.mem_mib : 4000;
    n.weight = 1;
    assert_int_equal(sched_node_put(s, &n), 0);
}

/* A node for each cause, and the first cause that holds counts. */
static void test_causes(void **state)
{
    const struct sched_gres_spec gpu = { .name = "gpu", .count = 2 };
    const struct sched_gres_req one = { .name = "gpu", .per_node = 1 };
    const uint32_t not_wanted[] = { 0 };
    struct sched *s = cluster(9);
    struct sched_job j = inner_job(9, LOW, 1);
    struct ex x = { .s = s, .job_id = 9, .now_us = NOW };
    struct explain_part out = { 0 };

    (void)state;
    for (uint32_t id = 0; id < 9; id++) {
        struct sched_node n = { .id = id,
                                .features = id == 1 ? "amd" : "intel",
                                .schedulable = id != 5,
                                .gres = &gpu,
                                .ngres = id != 4 };

        n.cpus = id == 2 ? 3 : 0;
        n.mem_mib = id == 3 ? 399 : 0;
        put_node(s, n);
    }
    (void)inner_run(s, 100, LOW, 6, 0x1f, 0, 60);
    j.cpus_per_task = 4;
    j.features = "intel";
    j.gres = &one;
    j.ngres = 1;
    j.mem_per_cpu_mib = 100;
    j.exc_nodes = not_wanted;
    j.nexc = 1;
    j.time_limit_min = 100;
    assert_int_equal(line_make(s), 0);
    assert_int_equal(ex_look_at_nodes(&x, inner_put(s, j)->entries[0], &out), 0);
    assert_int_equal(out.causes[EXPLAIN_EXCLUDED], 1);
    assert_int_equal(out.causes[EXPLAIN_FEATURES], 1);
    assert_int_equal(out.causes[EXPLAIN_CPUS], 1);
    assert_int_equal(out.causes[EXPLAIN_MEMORY], 1);
    assert_int_equal(out.causes[EXPLAIN_GRES], 1);
    assert_int_equal(out.causes[EXPLAIN_NOT_UP], 1);
    assert_int_equal(out.not_up[0], 5);
    assert_int_equal(out.causes[EXPLAIN_HELD], 1);
    assert_int_equal(out.causes[EXPLAIN_FREE], 2);
    assert_int_equal(out.total, 9);
    assert_int_equal(out.suitable, 4);
    assert_int_equal(out.nholders, 1);
    assert_int_equal(out.holders[0].job_id, 100);
    assert_true(out.holders[0].end_us == NOW + 60 * MINUTE);
    free(out.not_up);
    line_drop(s);
    sched_free(s);
}

/* ---- tries ----------------------------------------------------------------------------------- */

/* Job 1, first in the queue of all, waits for node 0 to be free at minute 60. */
static struct sched *with_head(void)
{
    struct sched *s = cluster(1);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    (void)inner_run(s, 100, LOW, 0, 0x0f, 0, 60);
    (void)inner_put(s, inner_job(1, HIGH, 8));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(line_make(s), 0);
    return s;
}

static void test_tries(void **state)
{
    struct sched *s = with_head();
    struct entry *heads[8] = { 0 };
    uint32_t holds[8] = { 0 };
    struct ex x = {
        .s = s, .job_id = 9, .now_us = NOW, .settled = true, .heads = heads, .holds = holds
    };
    struct sched_job j = inner_job(9, MID, 4);
    struct sched_alloc a = { 0 };
    struct entry *e = inner_put(s, j)->entries[0];

    (void)state;
    assert_int_equal(ex_reserve(&x, e), 0);
    assert_int_equal(x.nheads, 1);
    assert_int_equal(x.nholds, 1);
    assert_int_equal(holds[0], 1);
    assert_true(x.settled);
    assert_int_equal(s->nresvs, 1);
    assert_int_equal(ex_fits(&x, e, NOW + 60 * MINUTE, &a), 1);
    assert_int_equal(a.nodes[0].cpus, 4);
    alloc_done(&a);
    assert_int_equal(ex_fits(&x, e, NOW + 61 * MINUTE, &a), 0); /* it would delay job 1 */
    j.time_limit_min = 61;
    assert_int_equal(ex_starts(&x, &j), 0);
    j.time_limit_min = 60;
    assert_int_equal(ex_starts(&x, &j), 1);
    j.num_tasks = 5; /* four CPUs are free */
    assert_int_equal(ex_starts(&x, &j), 0);
    j.cpus_per_task = 0; /* nonsense starts no more than others */
    assert_int_equal(ex_starts(&x, &j), 0);
    backfill_drop(s);
    sched_free(s);
}

static const struct explain_change *change_of(const struct sched_explanation *x,
                                              enum explain_change_kind kind)
{
    for (size_t i = 0; i < x->nchanges; i++)
        if (x->changes[i].kind == kind)
            return &x->changes[i];
    return NULL;
}

/* The smallest change of each kind with which it would start. */
static void test_explained(void **state)
{
    struct sched *s = with_head();
    struct sched_job j = inner_job(9, MID, 4);
    struct sched_explanation x;

    (void)state;
    j.time_limit_min = 100;
    (void)inner_put(s, j);
    assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), 0);
    assert_true(x.settled);
    assert_false(x.starts_now);
    assert_int_equal(x.nparts, 1);
    assert_string_equal(x.parts[0].name, "mid");
    assert_int_equal(x.parts[0].why, SCHED_WHY_RESOURCES);
    assert_int_equal(x.parts[0].place, 1); /* of its partition's queue */
    assert_int_equal(x.parts[0].queued, 1);
    assert_int_equal(x.parts[0].causes[EXPLAIN_KEPT], 1);
    assert_int_equal(x.parts[0].kept_for, 1);
    assert_true(x.parts[0].kept_us == NOW + 60 * MINUTE);
    assert_true(x.parts[0].expected_us == 0); /* behind job 1: that cannot be told */
    assert_int_equal(x.parts[0].nexpected, 0);
    assert_non_null(change_of(&x, CHANGE_TIME));
    assert_int_equal(change_of(&x, CHANGE_TIME)->value, 60);
    assert_int_equal(change_of(&x, CHANGE_TIME)->before_job, 1);
    assert_null(change_of(&x, CHANGE_TASKS)); /* no size does */
    sched_explanation_done(&x);
    j.num_tasks = 7;
    j.time_limit_min = 10;
    (void)inner_put(s, j);
    assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), 0);
    assert_int_equal(change_of(&x, CHANGE_TASKS)->value, 4);
    assert_null(change_of(&x, CHANGE_TIME));
    sched_explanation_done(&x);
    sched_free(s);
}

/* Another partition that it might use, with nodes of its own. */
static void test_other_partition(void **state)
{
    static const char *const others[] = { "low", "mid", "high", "nowhere" };
    const uint32_t second[] = { 1 };
    const struct sched_partition high = { .name = "high",
                                          .node_ids = second,
                                          .nnodes = 1,
                                          .tier = 3,
                                          .up = true,
                                          .max_time_min = SCHED_UNLIMITED,
                                          .max_nodes = SCHED_UNLIMITED };
    const uint32_t first[] = { 0 };
    struct sched_partition mid = high;
    struct sched *s = cluster(2);
    struct sched_job j = inner_job(9, MID, 8);
    struct sched_explanation x;

    (void)state;
    mid.name = "mid";
    mid.node_ids = first;
    mid.tier = 2;
    assert_int_equal(sched_partition_put(s, &high), 0);
    assert_int_equal(sched_partition_put(s, &mid), 0);
    (void)inner_run(s, 100, MID, 0, 0xff, 0, 60);
    (void)inner_put(s, j);
    assert_int_equal(sched_explain(s, &j, others, 4, NOW, &x), 0);
    assert_non_null(change_of(&x, CHANGE_PARTITION));
    assert_string_equal(change_of(&x, CHANGE_PARTITION)->text, "low"); /* node 1 is free */
    sched_explanation_done(&x);
    j.num_tasks = 0;
    j.cpus_per_task = 0;
    assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), -EINVAL);
    sched_free(s);
}

/* Of a job that the next pass takes nothing is to change. */
static void test_starts_now(void **state)
{
    struct sched *s = cluster(1);
    struct sched_job j = inner_job(9, MID, 8);
    struct sched_explanation x;

    (void)state;
    assert_int_equal(sched_explain(s, &j, NULL, 0, NOW, &x), 0); /* not even known */
    assert_true(x.starts_now);
    assert_int_equal(x.nchanges, 0);
    assert_true(x.parts[0].expected_us == NOW);
    assert_null(job_find(s, 9));
    sched_explanation_done(&x);
    sched_free(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_apply_sizes),     cmocka_unit_test(test_apply_words),
        cmocka_unit_test(test_apply_drop),      cmocka_unit_test(test_holders),
        cmocka_unit_test(test_licences),        cmocka_unit_test(test_causes),
        cmocka_unit_test(test_tries),           cmocka_unit_test(test_explained),
        cmocka_unit_test(test_other_partition), cmocka_unit_test(test_starts_now),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
