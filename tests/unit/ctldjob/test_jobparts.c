/* test_jobparts.c - the controller's small parts of jobs: ids, sizes, components, times of
 * crontabs, prologs that are awaited, and notes of passes */
#include "model_util.h"
#include "conf_util.h"

#include "base/bitmap.h"
#include "base/timefmt.h"
#include "ctld/job/crontimes.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/prologs.h"
#include "ctld/schedlink/passnotes.h"
#include "ctld/schedlink/schedthread.h"
#include "wire/errors.h"

static void begin(struct ctld *ctld, const char *lines)
{
    *ctld = (struct ctld){ .conf = conf_with_lines(lines), .cluster = new_cluster() };
}

static void end(struct ctld *ctld)
{
    cluster_free(ctld->cluster);
    conf_free(ctld->conf);
}

/* ---- ids ------------------------------------------------------------------------------------- */

/* Ids go around at MaxJobId and leave out those in use. */
static void test_next_id(void **state)
{
    struct ctld ctld;

    (void)state;
    begin(&ctld, "FirstJobId=10\nMaxJobId=15\n");
    assert_int_equal(jobs_next_id(&ctld, 10), 11);
    assert_int_equal(jobs_next_id(&ctld, 15), 10);
    assert_int_equal(jobs_next_id(&ctld, 99), 10); /* MaxJobId was larger */
    add_job(ctld.cluster, 10);
    add_job(ctld.cluster, 12);
    assert_int_equal(jobs_next_id(&ctld, 15), 11);
    assert_int_equal(jobs_next_id(&ctld, 11), 13);
    end(&ctld);
}

/* An id that was used up without a job is not given; the next update of the record makes it so. */
static void test_used_up(void **state)
{
    Pst__Transaction *tx = tx_new(T0);
    struct ctld ctld;

    (void)state;
    begin(&ctld, "FirstJobId=10\nMaxJobId=15\n");
    SET(tx_cluster(tx), next_job_id, 14);
    apply_ok(ctld.cluster, tx);
    assert_int_equal(jobs_fresh_id(&ctld), 14);
    jobs_use_up_id(&ctld);
    assert_int_equal(jobs_fresh_id(&ctld), 15);
    jobs_use_up_id(&ctld);
    assert_int_equal(jobs_fresh_id(&ctld), 10);
    add_job(ctld.cluster, 10); /* somebody took it */
    assert_int_equal(jobs_fresh_id(&ctld), 14);
    tx = tx_new(T0);
    SET(tx_cluster(tx), next_job_id, 12);
    apply_ok(ctld.cluster, tx);
    assert_int_equal(jobs_fresh_id(&ctld), 12);
    jobs_use_up_id(&ctld);
    tx = tx_new(T0);
    SET(tx_cluster(tx), next_job_id, 11); /* not the one after which an id was used up */
    apply_ok(ctld.cluster, tx);
    assert_int_equal(jobs_fresh_id(&ctld), 11);
    end(&ctld);
}

/* n ids in a row, also behind the first that there are when MaxJobId is too near. */
static void test_het_ids(void **state)
{
    struct ctld ctld;

    (void)state;
    begin(&ctld, "FirstJobId=10\nMaxJobId=20\n");
    assert_int_equal(het_ids(&ctld, 12, 3), 12);
    add_job(ctld.cluster, 13);
    assert_int_equal(het_ids(&ctld, 12, 1), 12);
    assert_int_equal(het_ids(&ctld, 12, 3), 14);
    assert_int_equal(het_ids(&ctld, 18, 3), 18);
    assert_int_equal(het_ids(&ctld, 19, 3), 10);
    add_job(ctld.cluster, 17);
    assert_int_equal(het_ids(&ctld, 19, 3), 10);
    assert_int_equal(het_ids(&ctld, 19, 4), 0); /* no such row is left */
    end(&ctld);
}

static void test_components(void **state)
{
    Pst__Transaction *tx = tx_new(T0);
    struct ctld ctld;
    Pst__JobRecord *r;

    (void)state;
    begin(&ctld, "");
    for (uint32_t k = 0; k < 3; k++)
        het_fill(put_job(tx, 10 + k), 10, k, 3);
    apply_ok(ctld.cluster, tx);
    r = cluster_job(ctld.cluster, 11)->rec;
    assert_string_equal(r->het_id_set, "10-12");
    assert_int_equal(r->het_offset, 1);
    assert_int_equal(r->het_count, 3);
    assert_false(het_all_ended(&ctld, r));
    for (uint32_t id = 10; id <= 12; id++) {
        assert_false(het_all_ended(&ctld, r));
        tx = tx_new(T0);
        SET(tx_job_patch(tx, EV(JOB_END), id), state, JOB_STATE(CANCELLED));
        apply_ok(ctld.cluster, tx);
    }
    assert_true(het_all_ended(&ctld, r));
    end(&ctld);
}

/* ---- what a job asks for --------------------------------------------------------------------- */

/* Sizes of a job with two nodes, eight CPUs at most and an hour, on two nodes of eight CPUs. */
static int size_code(void (*change)(Pst__JobRecord *set))
{
    struct cluster *c = new_cluster();
    Pst__JobRecord r = PST__JOB_RECORD__INIT, set = PST__JOB_RECORD__INIT;
    int code;

    add_nodes(c, 2, 8);
    SET(&r, min_nodes, 2);
    SET(&r, max_cpus, 8);
    SET(&r, time_limit_min, 60);
    change(&set);
    code = jobs_check_sizes(c, &r, &set);
    cluster_free(c);
    return code;
}

static void set_nothing(Pst__JobRecord *set)
{
    (void)set;
}

static void set_no_nodes(Pst__JobRecord *set)
{
    SET(set, min_nodes, 0);
}

static void set_nodes_crossed(Pst__JobRecord *set)
{
    SET(set, min_nodes, 3);
    SET(set, max_nodes, 2);
}

static void set_few_tasks(Pst__JobRecord *set)
{
    SET(set, num_tasks, 1); /* of two nodes */
}

static void set_no_tasks(Pst__JobRecord *set)
{
    SET(set, num_tasks, 0);
}

static void set_tasks(Pst__JobRecord *set)
{
    SET(set, num_tasks, 2);
}

static void set_cpus_over_own(Pst__JobRecord *set)
{
    SET(set, min_cpus, 9);
}

static void set_cpus_over_all(Pst__JobRecord *set)
{
    SET(set, min_cpus, 17);
    SET(set, max_cpus, 20);
}

static void set_cpus_of_all(Pst__JobRecord *set)
{
    SET(set, min_cpus, 16);
    SET(set, max_cpus, 20);
}

static void set_pn_cpus(Pst__JobRecord *set)
{
    SET(set, pn_min_cpus, 5); /* on two nodes: ten */
}

static void set_long_minimum(Pst__JobRecord *set)
{
    SET(set, time_min_min, 61);
}

static void set_minimum(Pst__JobRecord *set)
{
    SET(set, time_min_min, 60);
}

static void test_sizes(void **state)
{
    static const struct {
        void (*change)(Pst__JobRecord *set);
        int code;
    } rows[] = {
        { set_nothing, 0 },
        { set_no_nodes, ESLURM_INVALID_NODE_COUNT },
        { set_nodes_crossed, ESLURM_INVALID_NODE_COUNT },
        { set_few_tasks, ESLURM_BAD_TASK_COUNT },
        { set_no_tasks, ESLURM_INVALID_CPU_COUNT },
        { set_tasks, 0 },
        { set_cpus_over_own, ESLURM_INVALID_CPU_COUNT },
        { set_cpus_over_all, ESLURM_REQUESTED_PART_CONFIG_UNAVAILABLE },
        { set_cpus_of_all, 0 },
        { set_pn_cpus, ESLURM_INVALID_CPU_COUNT },
        { set_long_minimum, ESLURM_INVALID_TIME_MIN_LIMIT },
        { set_minimum, 0 },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
        assert_int_equal(size_code(rows[i].change), rows[i].code);
}

static void test_nodes_named(void **state)
{
    struct cluster *c = new_cluster();
    struct bitmap *set = NULL;

    (void)state;
    add_nodes(c, 4, 8);
    assert_int_equal(jobs_nodes_named(c, "n[1-2],n9", true, &set), ESLURM_INVALID_NODE_NAME);
    assert_null(set);
    assert_int_equal(jobs_nodes_named(c, "n[1-2],n9", false, &set), 0);
    assert_int_equal(bitmap_count(set), 2);
    assert_true(bitmap_test(set, 1) && bitmap_test(set, 2));
    bitmap_free(set);
    set = NULL;
    assert_int_equal(jobs_nodes_named(c, "n[1-", false, &set), ESLURM_INVALID_NODE_NAME);
    assert_int_equal(jobs_nodes_named(c, "n[1-999999999]", false, &set),
                     ESLURM_INVALID_NODE_NAME); /* more than a cluster has */
    assert_null(set);
    cluster_free(c);
}

/* What a job waited for is kept, but not that its turn had not come. */
static void test_waiting(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    struct job j = { .rec = &r };

    (void)state;
    SET(&r, priority, 5);
    SET(&r, pend_reason, PST__JOB_REASON__REASON_DEPENDENCY);
    jobfacts_note_waiting(&j);
    assert_int_equal(j.waited_for, PST__JOB_REASON__REASON_DEPENDENCY);
    r.pend_reason = PST__JOB_REASON__REASON_PRIORITY;
    jobfacts_note_waiting(&j);
    r.pend_reason = PST__JOB_REASON__REASON_RESOURCES;
    jobfacts_note_waiting(&j);
    assert_int_equal(j.waited_for, PST__JOB_REASON__REASON_DEPENDENCY);
    assert_true(jobs_in_partition(&(Pst__JobRecord){ .partition = (char *)"a,bc" }, "bc"));
    assert_false(jobs_in_partition(&(Pst__JobRecord){ .partition = (char *)"a,bc" }, "b"));
    assert_false(jobs_in_partition(&r, "b"));
}

/* ---- crontabs -------------------------------------------------------------------------------- */

static void test_cron(void **state)
{
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    int64_t now = now_us(), next;

    (void)state;
    assert_false(cron_is(&r));
    r.cron_spec = (char *)"* * * * *";
    assert_true(cron_is(&r));
    next = cron_next_us(&r);
    assert_in_range(next, now - SEC, now_us() + 60 * SEC);
    assert_int_equal(next % (60 * SEC), 0);
    r.cron_spec = (char *)"damaged";
    assert_in_range(cron_next_us(&r), now + 60 * SEC, now_us() + 61 * SEC);
}

/* ---- prologs --------------------------------------------------------------------------------- */

static void test_flags(void **state)
{
    static const struct {
        const char *lines;
        bool prepares, contains, x11, deferred, wanted;
    } rows[] = {
        { "Prolog=/bin/true\n", false, false, false, false, false },
        { "Prolog=/bin/true\nPrologFlags=Alloc\n", true, false, false, false, true },
        { "PrologFlags=Contain\n", true, true, false, false, false },
        { "PrologFlags=X11\n", true, true, true, false, false },
        { "Prolog=/bin/true\nPrologFlags=DeferBatch\n", true, false, false, true, true },
        { "Prolog=/bin/true\nPrologFlags=Serial\n", false, false, false, false, false },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
        struct ctld ctld;

        begin(&ctld, rows[i].lines);
        assert_int_equal(launch_prepares(&ctld), rows[i].prepares);
        assert_int_equal(launch_contains(&ctld), rows[i].contains);
        assert_int_equal(launch_forwards_x11(&ctld), rows[i].x11);
        assert_int_equal(prologs_defer_batch(&ctld), rows[i].deferred);
        assert_int_equal(prologs_wanted(&ctld), rows[i].wanted);
        end(&ctld);
    }
}

/* Each node of an allocation is awaited until it has answered, and anew after a restart. */
static void test_awaited(void **state)
{
    uint32_t ids[3] = { 4, 5, 6 };
    Pst__Alloc alloc = PST__ALLOC__INIT;
    Pst__JobRecord r = PST__JOB_RECORD__INIT;
    struct job j = { .rec = &r };
    struct ctld ctld;

    (void)state;
    alloc.node_ids = ids;
    alloc.n_node_ids = 3;
    r.alloc = &alloc;
    SET(&r, job_id, 7);
    begin(&ctld, "Prolog=/bin/true\nPrologFlags=DeferBatch\n");
    assert_int_equal(prologs_new(&ctld.prologs), 0);
    assert_false(prologs_await(&ctld, &j, 0)); /* the record does not say so */
    assert_false(prologs_hold_batch(&ctld, &j));
    SET(&r, node_prologs, true);
    assert_true(prologs_hold_batch(&ctld, &j));
    assert_true(prologs_hold_ready(&ctld, &j));
    assert_true(prologs_await(&ctld, &j, 2));
    assert_false(prologs_over(&ctld, &j));
    assert_false(prologs_note_passed(&ctld, &j, 0));
    assert_false(prologs_await(&ctld, &j, 0));
    assert_true(prologs_await(&ctld, &j, 2));
    assert_false(prologs_note_passed(&ctld, &j, 0)); /* it says so again */
    assert_false(prologs_note_passed(&ctld, &j, 1));
    assert_true(prologs_note_passed(&ctld, &j, 2));
    assert_true(prologs_over(&ctld, &j));
    prologs_forget(&ctld, &j); /* another run */
    assert_false(prologs_over(&ctld, &j));
    assert_true(prologs_await(&ctld, &j, 2));
    ctld.prologs = prologs_free(ctld.prologs);
    assert_null(ctld.prologs);
    end(&ctld);
}

/* ---- notes of passes ------------------------------------------------------------------------- */

/* Notes wait for the next start and go with it, once; of too many the first are forgotten. */
static void test_passnotes(void **state)
{
    struct pass_note *notes = calloc(PASS_NOTES_MAX, sizeof(*notes));
    struct decisions_msg m = { .notes = notes, .nnotes = 2 };
    struct ctld ctld = { 0 };
    Pst__Transaction *tx;

    (void)state;
    assert_non_null(notes);
    for (uint32_t i = 0; i < PASS_NOTES_MAX; i++)
        notes[i] = (struct pass_note){ .number = i + 1, .pieces = i, .now_us = T0 };
    assert_int_equal(passnotes_new(&ctld.passnotes), 0);
    passnotes_keep(&ctld, &(struct decisions_msg){ .nnotes = 0 });
    passnotes_keep(&ctld, &m);
    tx = tx_new(T0);
    passnotes_put(&ctld, tx, 9);
    assert_int_equal(tx->sched_pass, 9);
    assert_int_equal(tx->n_passes, 2);
    assert_int_equal(tx->passes[1]->number, 2);
    assert_false(tx->passes[0]->has_pieces);
    assert_int_equal(tx->passes[1]->pieces, 1);
    assert_false(tx->passes[0]->has_usage_us);
    tx_free(tx);
    tx = tx_new(T0);
    passnotes_put(&ctld, tx, 10);
    assert_int_equal(tx->n_passes, 0);
    tx_free(tx);
    passnotes_keep(&ctld, &m);
    m.notes = notes + 2;
    m.nnotes = PASS_NOTES_MAX - 2;
    passnotes_keep(&ctld, &m);
    m.nnotes = 3;
    passnotes_keep(&ctld, &m);
    tx = tx_new(T0);
    passnotes_put(&ctld, tx, 11);
    assert_int_equal(tx->n_passes, PASS_NOTES_MAX);
    assert_int_equal(tx->passes[0]->number, 4);
    tx_free(tx);
    assert_null(passnotes_free(ctld.passnotes));
    free(notes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_next_id),   cmocka_unit_test(test_used_up),
        cmocka_unit_test(test_het_ids),   cmocka_unit_test(test_components),
        cmocka_unit_test(test_sizes),     cmocka_unit_test(test_nodes_named),
        cmocka_unit_test(test_waiting),   cmocka_unit_test(test_cron),
        cmocka_unit_test(test_flags),     cmocka_unit_test(test_awaited),
        cmocka_unit_test(test_passnotes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
