/* test_backfill.c - one backfill in pieces, its limits, and when it has nothing to do */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)
#include "sched_inner.h"

/* Node 0 is held for an hour but for a CPU; job 1 waits for all of it, and five short ones behind
 * it fit beside what it waits for one after the other. */
static struct sched *blocked(struct sched_params p)
{
    struct sched *s = inner_cluster(p, 1, 8);
    _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
    int64_t wake;

    (void)inner_run(s, 100, HIGH, 0, 0x0f, 0, 60);
    (void)inner_put(s, inner_job(1, HIGH, 8));
    for (uint32_t id = 2; id <= 6; id++)
        (void)inner_put(s, inner_job(id, HIGH, 1));
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.started, 0);
    return s;
}

static uint32_t starts_of(const struct sched_decisions *d)
{
    uint32_t bits = 0;

    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].kind == SCHED_START)
            bits |= 1u << d->items[i].job_id;
    return bits;
}

static const struct sched_params engines[] = { { .bf_resolution_s = 60 },
                                               { .bf_resolution_s = 60, .conservative = true } };

static void test_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = blocked(engines[i]);
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 }, again = { 0 },
                                                                   late = { 0 };

        assert_int_equal(sched_backfill(s, NOW, &d), 0);
        assert_true(d.backfilled && d.planned_anew);
        assert_int_equal(starts_of(&d), 0x3c); /* jobs 2 to 5: four CPUs are free */
        assert_int_equal(d.bf_started, 4);
        assert_int_equal(d.queue_len, 6);
        assert_in_range(inner_decided(&d, SCHED_EXPECT, 1)->expected_us, NOW + 60 * MINUTE,
                        NOW + 61 * MINUTE);
        assert_int_equal(sched_backfill(s, NOW, &again), 0);
        assert_int_equal(sched_backfill(s, NOW, &late), 0); /* nothing has changed */
        assert_false(late.backfilled);
        assert_int_equal(late.n, 0);
        sched_free(s);
    }
}

/* All pieces together decide what one call would have. */
static void test_pieces(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        for (uint32_t jobs = 1; jobs <= 6; jobs++) {
            struct sched *s = blocked(engines[i]);
            _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
            uint32_t calls = 0;
            bool more = true;

            for (; more && calls < 9; calls++) {
                assert_false(d.backfilled);
                assert_int_equal(sched_backfill_some(s, NOW + calls, jobs, &d, &more), 0);
            }
            assert_true(d.backfilled);
            assert_int_equal(calls, (6 + jobs - 1) / jobs);
            assert_int_equal(starts_of(&d), 0x3c);
            for (size_t k = 0; k < d.n; k++) /* with the time of the first */
                if (d.items[k].kind == SCHED_START)
                    assert_true(job_find(s, d.items[k].job_id)->start_us == NOW);
            sched_free(s);
        }
    }
}

/* What is fed in between makes the next piece begin anew: the job that came first is looked at. */
static void test_fed_between(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = blocked(engines[i]);
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
        struct sched_job urgent = inner_job(7, HIGH, 4);
        bool more = false;

        assert_int_equal(sched_backfill_some(s, NOW, 2, &d, &more), 0);
        assert_true(more);
        assert_int_equal(starts_of(&d), 1u << 2);
        sched_job_refused(s, 2);
        urgent.priority = UINT32_MAX;
        (void)inner_put(s, urgent);
        sched_decisions_done(&d);
        assert_int_equal(sched_backfill(s, NOW, &d), 0);
        assert_int_equal(starts_of(&d), 1u << 7);
        sched_free(s);
    }
}

static void test_limits(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        _cleanup_val_(sched_decisions_done) struct sched_decisions tested = { 0 }, started = { 0 },
                                                                   off = { 0 };
        struct sched_params p = engines[i];
        struct sched *s;

        p.bf_max_job_test = 3;
        s = blocked(p);
        assert_int_equal(sched_backfill(s, NOW, &tested), 0);
        assert_int_equal(starts_of(&tested), 0x0c);
        assert_int_equal(tested.exit, SCHED_EXIT_DEPTH);
        sched_free(s);
        p.bf_max_job_test = 0;
        p.bf_max_job_start = 1;
        s = blocked(p);
        assert_int_equal(sched_backfill(s, NOW, &started), 0);
        assert_int_equal(starts_of(&started), 0x04);
        assert_int_equal(started.exit, SCHED_EXIT_STARTS);
        sched_free(s);
        s = blocked(engines[i]);
        s->params.backfill = false;
        assert_int_equal(sched_backfill(s, NOW, &off), 0);
        assert_false(off.backfilled);
        assert_int_equal(off.n, 0);
        sched_free(s);
    }
}

/* Limits over the jobs looked at of a user, a partition, both, an association. */
static void test_shares(void **state)
{
    static const struct {
        struct sched_params p;
        uint32_t starts;
    } cases[] = {
        { { .bf_max_job_part = 2 }, 0x04 }, /* job 1 counts */
        { { .bf_max_job_user = 2 }, 0x0c }, /* it is another user's */
        { { .bf_max_job_user_part = 1 }, 0x04 },
        { { .bf_max_job_assoc = 3 }, 0x1c },
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
        struct sched_params p = cases[i].p;
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
        struct sched *s;

        p.bf_resolution_s = 60;
        s = inner_cluster(p, 1, 8);
        (void)inner_run(s, 100, HIGH, 0, 0x0f, 0, 60);
        for (uint32_t id = 1; id <= 6; id++) {
            struct sched_job j = inner_job(id, HIGH, id == 1 ? 8 : 1);

            j.uid = id == 1 ? 1000 : 2000;
            j.assoc_id = id == 1 ? 5 : 6;
            (void)inner_put(s, j);
        }
        assert_int_equal(sched_backfill(s, NOW, &d), 0);
        assert_int_equal(starts_of(&d), cases[i].starts);
        sched_free(s);
    }
}

/* No job starts that would delay the first; one that ends in time does. */
static void test_no_delay(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(engines); i++) {
        struct sched *s = inner_cluster(engines[i], 1, 8);
        _cleanup_val_(sched_decisions_done) struct sched_decisions d = { 0 };
        struct sched_job j = inner_job(2, HIGH, 4);

        (void)inner_run(s, 100, HIGH, 0, 0x0f, 0, 60);
        (void)inner_put(s, inner_job(1, HIGH, 8));
        j.time_limit_min = 70;
        (void)inner_put(s, j);
        j.id = 3;
        j.time_limit_min = 100;
        j.time_min_min = 20; /* it may be cut short */
        (void)inner_put(s, j);
        assert_int_equal(sched_backfill(s, NOW, &d), 0);
        assert_int_equal(starts_of(&d), 1u << 3);
        assert_in_range(inner_decided(&d, SCHED_START, 3)->time_limit_min, 58, 61);
        sched_free(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),        cmocka_unit_test(test_pieces),
        cmocka_unit_test(test_fed_between), cmocka_unit_test(test_limits),
        cmocka_unit_test(test_shares),      cmocka_unit_test(test_no_delay),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
