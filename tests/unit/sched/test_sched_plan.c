/* test_sched_plan.c - licences, the limits of passes and of backfill, and what must hold in every
 * random case
 *
 *     test_sched_plan [CASES]       of the random ones, 300 without */
#include <errno.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "sched/plan/gallop.h"
#include "sched/sched.h"

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)

#include "sched_util.h"

static uint32_t cases = 300;

/* Run a pass or backfill; the started ids as a bit set (ids < 64). */
static uint64_t run(struct sched *s, int64_t now, bool backfill, struct sched_decisions *d)
{
    uint64_t started = 0;
    int64_t wake;

    sched_decisions_done(d);
    assert_int_equal(backfill ? sched_backfill(s, now, d) : sched_pass(s, now, d, &wake), 0);
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].kind == SCHED_START)
            started |= UINT64_C(1) << d->items[i].job_id;
    return started;
}

static const struct sched_decision *told(const struct sched_decisions *d, uint32_t id)
{
    for (size_t i = d->n; i-- > 0;)
        if (d->items[i].job_id == id)
            return &d->items[i];
    return NULL;
}

/* The first yes of groups of places that are alike, found with few questions. */
struct stairs {
    uint32_t first, width, asked;
};

static int stair(void *ctx, uint32_t at, uint32_t *lo, uint32_t *hi)
{
    struct stairs *st = ctx;

    st->asked++;
    *lo = (at - 1) / st->width * st->width;
    *hi = *lo + st->width;
    return *lo + 1 >= st->first;
}

static void test_gallop(void **state)
{
    (void)state;
    for (uint32_t width = 1; width <= 5; width++) {
        for (uint32_t groups = 0; groups <= 20; groups++) {
            for (uint32_t g = 0; g <= groups; g++) {
                struct stairs st = { .first = g * width + 1, .width = width };
                uint32_t at = UINT32_MAX;

                assert_int_equal(gallop(groups * width, stair, &st, &at), 0);
                assert_int_equal(at, g < groups ? g * width + 1 : 0);
                assert_in_range(st.asked, groups > 0, 12);
            }
        }
    }
}

#define BIT(n) (UINT64_C(1) << (n))

static void test_licenses(void **state)
{
    const struct sched_lic_req three[] = { { "m", 3 } }, two[] = { { "m", 2 } },
                               either[] = { { "m", 2 }, { "a", 1 } };
    struct sched *s = util_cluster((struct sched_params){ 0 }, 2, 4, 0);
    struct sched_decisions d = { 0 };
    struct sched_job j = util_job(1);

    (void)state;
    assert_int_equal(sched_license_put(s, "m", 4), 0);
    assert_int_equal(sched_license_put(s, "a", 1), 0);
    j.licenses = three;
    j.nlicenses = 1;
    put(s, j);
    j = util_job(2);
    j.licenses = two;
    j.nlicenses = 1;
    put(s, j);
    j = util_job(3);
    j.licenses = either;
    j.nlicenses = 2;
    j.licenses_any = true;
    put(s, j);
    j = util_job(4);
    j.licenses = either;
    j.nlicenses = 2;
    put(s, j);
    put(s, util_job(5));
    assert_int_equal(run(s, NOW + MINUTE, false, &d), BIT(1) | BIT(3) | BIT(5));
    assert_int_equal(told(&d, 2)->why, SCHED_WHY_LICENSES);
    assert_int_equal(told(&d, 4)->why, SCHED_WHY_LICENSES);
    assert_int_equal(told(&d, 3)->nlicenses, 1);
    assert_string_equal(told(&d, 3)->licenses[0].name, "a");
    assert_int_equal(sched_license_used(s, "m"), 3);
    sched_job_refused(s, 1);
    assert_int_equal(sched_license_used(s, "m"), 0);
    sched_job_remove(s, 1);
    assert_int_equal(run(s, NOW + MINUTE, false, &d), BIT(2));
    sched_job_remove(s, 2);
    sched_job_remove(s, 3);
    assert_int_equal(run(s, NOW + MINUTE, false, &d), BIT(4));
    assert_int_equal(sched_job_licenses(s, 77, two, 1), -ENOENT);
    assert_int_equal(sched_job_licenses(s, 4, three, 1), 0); /* as recovery tells it */
    assert_int_equal(sched_license_used(s, "m"), 3);
    assert_int_equal(sched_license_used(s, "a"), 0);
    sched_decisions_done(&d);
    sched_free(s);
}

/* With bf_licenses those that come free are kept for the first that waits. */
static void test_reserved_licenses(void **state)
{
    const struct sched_lic_req three[] = { { "m", 3 } }, one[] = { { "m", 1 } };

    (void)state;
    for (int on = 0; on < 2; on++) {
        struct sched *s = util_cluster((struct sched_params){ .bf_licenses = on }, 2, 4, 0);
        struct sched_decisions d = { 0 };
        struct sched_job j = util_job(1);

        assert_int_equal(sched_license_put(s, "m", 4), 0);
        j.licenses = three;
        j.nlicenses = 1;
        put(s, j);
        assert_int_equal(run(s, NOW, false, &d), BIT(1));
        j.id = 2;
        j.priority = UINT32_MAX - 1;
        put(s, j);
        assert_int_equal(run(s, NOW, false, &d), 0);
        assert_int_equal(run(s, NOW, true, &d), 0);
        if (on) {
            assert_int_equal(told(&d, 2)->expected_us, NOW + 10 * MINUTE);
            assert_int_equal(told(&d, 2)->why, SCHED_WHY_LICENSES);
        }
        j = util_job(3); /* beside both: one is left over */
        j.licenses = one;
        j.nlicenses = 1;
        j.time_limit_min = 60;
        put(s, j);
        assert_int_equal(run(s, NOW + MINUTE, true, &d), BIT(3));
        sched_decisions_done(&d);
        sched_free(s);
    }
}

/* A pass gives none of them to a job behind the one that waits: backfill does, when that job ends
 * in time. */
static void test_awaited_licenses(void **state)
{
    const struct sched_lic_req two[] = { { "m", 2 } }, one[] = { { "m", 1 } };

    (void)state;
    for (int on = 0; on < 2; on++) {
        struct sched *s = util_cluster(
            (struct sched_params){ .backfill = true, .conservative = true, .bf_licenses = on }, 2,
            4, 0);
        struct sched_decisions d = { 0 };
        struct sched_job j = util_job(1);

        assert_int_equal(sched_license_put(s, "m", 2), 0);
        j.licenses = one;
        j.nlicenses = 1;
        put(s, j);
        assert_int_equal(run(s, NOW, false, &d), BIT(1)); /* for ten minutes */
        j.id = 2;
        j.priority = UINT32_MAX - 1;
        j.licenses = two;
        put(s, j);
        j.id = 3;
        j.priority = UINT32_MAX - 2;
        j.licenses = one;
        j.time_limit_min = j.time_min_min = 60;
        put(s, j);
        assert_int_equal(run(s, NOW, false, &d), on ? 0 : BIT(3));
        if (on) {
            assert_int_equal(told(&d, 2)->why, SCHED_WHY_LICENSES);
            assert_int_equal(told(&d, 3)->why, SCHED_WHY_PRIORITY);
            assert_int_equal(run(s, NOW, true, &d), 0);
            j.id = 4;
            j.priority = UINT32_MAX - 3;
            j.time_limit_min = j.time_min_min = 5;
            put(s, j);
            assert_int_equal(run(s, NOW, false, &d), 0);
            assert_int_equal(run(s, NOW, true, &d), BIT(4));
        }
        sched_decisions_done(&d);
        sched_free(s);
    }
}

static void test_pass_limits(void **state)
{
    struct sched *s = util_cluster((struct sched_params){ .sched_max_job_start = 3 }, 4, 4, 0);
    struct sched_decisions d = { 0 };
    int64_t wake;

    (void)state;
    for (uint32_t i = 1; i <= 8; i++)
        put(s, util_job(i));
    assert_int_equal(run(s, NOW, false, &d), BIT(1) | BIT(2) | BIT(3));
    sched_decisions_done(&d);
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.started, 3);
    assert_int_equal(d.exit, SCHED_EXIT_STARTS);
    assert_int_equal(d.queue_len, 5); /* as the pass found it */
    assert_true(wake == NOW);         /* the rest at once */
    sched_decisions_done(&d);
    sched_free(s);
    s = util_cluster((struct sched_params){ .default_queue_depth = 3 }, 4, 4, 0);
    for (uint32_t i = 1; i <= 4; i++)
        put(s, util_job(i));
    d = (struct sched_decisions){ 0 };
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.exit, SCHED_EXIT_DEPTH);
    sched_decisions_done(&d);
    d = (struct sched_decisions){ 0 };
    assert_int_equal(sched_pass(s, NOW, &d, &wake), 0);
    assert_int_equal(d.exit, SCHED_EXIT_QUEUE);
    assert_int_equal(d.queue_len, 1);
    sched_decisions_done(&d);
    sched_free(s);
}

/* One wide job blocks; of what could run beside it, backfill takes what the limits let through. */
static uint64_t backfilled_until(struct sched_params p, enum sched_exit exit)
{
    struct sched *s = util_cluster(p, 2, 4, 0);
    struct sched_decisions d = { 0 };
    struct sched_job j = util_job(1);
    uint64_t started;

    j.num_tasks = 4;
    put(s, j);
    assert_int_equal(run(s, NOW, false, &d), BIT(1));
    j = util_job(2);
    j.min_nodes = 2;
    j.num_tasks = 8;
    put(s, j);
    for (uint32_t i = 3; i <= 6; i++) {
        j = util_job(i);
        j.uid = i % 2;
        put(s, j);
    }
    assert_int_equal(run(s, NOW, false, &d), 0);
    started = run(s, NOW, true, &d);
    assert_int_equal(d.exit, exit);
    sched_decisions_done(&d);
    sched_free(s);
    return started;
}

static uint64_t backfilled(struct sched_params p)
{
    return backfilled_until(p, SCHED_EXIT_QUEUE);
}

static void test_backfill_limits(void **state)
{
    (void)state;
    assert_int_equal(backfilled((struct sched_params){ 0 }), BIT(3) | BIT(4) | BIT(5) | BIT(6));
    assert_int_equal(
        backfilled_until((struct sched_params){ .bf_max_job_start = 2 }, SCHED_EXIT_STARTS),
        BIT(3) | BIT(4));
    assert_int_equal(
        backfilled_until((struct sched_params){ .bf_max_job_test = 2 }, SCHED_EXIT_DEPTH), BIT(3));
    assert_int_equal(backfilled((struct sched_params){ .bf_max_job_user = 1 }), BIT(3));
    assert_int_equal(backfilled((struct sched_params){ .bf_max_job_user = 2 }),
                     BIT(3) | BIT(4) | BIT(5));
    assert_int_equal(backfilled((struct sched_params){ .bf_max_job_user_part = 2 }),
                     BIT(3) | BIT(4) | BIT(5));
    assert_int_equal(backfilled((struct sched_params){ .bf_max_job_part = 3 }), BIT(3) | BIT(4));
    assert_int_equal(backfilled((struct sched_params){ .bf_max_job_assoc = 2 }), BIT(3));
}

/* Who must not reserve is not waited for. */
static void test_reserve_limits(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct sched *s =
            util_cluster((struct sched_params){ .bf_min_age_reserve_s = on ? 3600 : 0 }, 2, 4, 0);
        struct sched_decisions d = { 0 };
        struct sched_job j = util_job(1);

        j.num_tasks = 4;
        put(s, j);
        assert_int_equal(run(s, NOW, false, &d), BIT(1));
        j = util_job(2);
        j.min_nodes = 2;
        j.num_tasks = 8;
        put(s, j);
        j = util_job(3);
        j.time_limit_min = 600; /* later than the wide job could start */
        put(s, j);
        assert_int_equal(run(s, NOW, false, &d), 0);
        assert_int_equal(run(s, NOW, true, &d), on ? BIT(3) : 0);
        sched_decisions_done(&d);
        sched_free(s);
    }
}

/* ---- random cases ---------------------------------------------------------------------------- */

struct world {
    struct sched *s;
    uint64_t total[2];
    struct {
        int64_t end_us;
        uint64_t held[2];
    } jobs[64];     /* running: end != 0 */
    uint64_t trace; /* hash of every decision */
};

static void note(struct world *w, uint64_t v)
{
    w->trace = (w->trace ^ v) * UINT64_C(0x100000001b3);
}

static void take(struct world *w, const struct sched_decisions *d, const uint32_t *limits,
                 int64_t now)
{
    uint64_t used[2] = { 0, 0 };

    for (size_t i = 0; i < d->n; i++) {
        const struct sched_decision *x = &d->items[i];

        note(w, (uint64_t)x->kind << 56 ^ x->job_id ^ (uint64_t)x->why << 40);
        note(w, (uint64_t)x->expected_us);
        if (x->kind != SCHED_START)
            continue;
        w->jobs[x->job_id].end_us =
            now + (x->time_limit_min ? x->time_limit_min : limits[x->job_id]) * MINUTE;
        for (size_t k = 0; k < x->nlicenses; k++)
            w->jobs[x->job_id].held[x->licenses[k].name[0] - 'a'] += x->licenses[k].count;
    }
    for (uint32_t j = 0; j < 64; j++)
        for (int l = 0; w->jobs[j].end_us && l < 2; l++)
            used[l] += w->jobs[j].held[l];
    for (int l = 0; l < 2; l++) {
        assert_true(used[l] <= w->total[l]); /* no licence twice */
        assert_int_equal(sched_license_used(w->s, l ? "b" : "a"), used[l]);
    }
}

/* Backfill in pieces of a few jobs. */
static uint64_t run_pieces(struct sched *s, int64_t now, uint64_t *x, struct sched_decisions *d)
{
    uint64_t started = 0;
    bool more = true;

    sched_decisions_done(d);
    for (int64_t later = 0; more; later += MINUTE) /* the clock goes on, the plan keeps its own */
        assert_int_equal(sched_backfill_some(s, now + later, 1 + draw(x, 3), d, &more), 0);
    for (size_t i = 0; i < d->n; i++)
        if (d->items[i].kind == SCHED_START)
            started |= UINT64_C(1) << d->items[i].job_id;
    return started;
}

/* pieces: backfill is interrupted again and again. */
static uint64_t play(uint64_t seed, bool pieces)
{
    static const char *const names[] = { "a", "b" };
    struct world w = { .trace = 1 };
    struct sched_params p = { .bf_licenses = seed & 1 };
    struct sched_decisions d = { 0 };
    uint32_t limits[64], pending = 40;
    uint64_t x = seed * UINT64_C(0x9e3779b97f4a7c15) + 1, y = x, started = 0;
    int64_t now = NOW;

    w.s = util_cluster(p, 1 + draw(&x, 4), 4, 0);
    for (int l = 0; l < 2; l++) {
        w.total[l] = 1 + draw(&x, 6);
        assert_int_equal(sched_license_put(w.s, names[l], w.total[l]), 0);
    }
    for (uint32_t i = 1; i <= pending; i++) {
        struct sched_lic_req req[2];
        struct sched_job j = util_job(i);

        for (uint32_t l = 0; l < 2; l++)
            req[l] = (struct sched_lic_req){ names[l], 1 + draw(&x, (uint32_t)w.total[l]) };
        j.licenses = req;
        j.nlicenses = draw(&x, 3);
        j.licenses_any = j.nlicenses == 2 && draw(&x, 2);
        j.num_tasks = 1 + draw(&x, 4);
        j.time_limit_min = limits[i] = 1 + draw(&x, 50);
        j.time_min_min = draw(&x, 4) ? 0 : 1 + draw(&x, limits[i]);
        put(w.s, j);
    }
    for (int round = 0; round < 400 && sched_pending(w.s); round++) {
        started |= run(w.s, now, false, &d);
        take(&w, &d, limits, now);
        started |= pieces ? run_pieces(w.s, now, &y, &d) : run(w.s, now, true, &d);
        take(&w, &d, limits, now);
        now += MINUTE * (1 + draw(&x, 10));
        for (uint32_t i = 1; i <= pending; i++) {
            if (!w.jobs[i].end_us || w.jobs[i].end_us > now)
                continue;
            w.jobs[i].end_us = 0;
            w.jobs[i].held[0] = w.jobs[i].held[1] = 0;
            sched_job_remove(w.s, i);
        }
    }
    assert_int_equal(sched_pending(w.s), 0); /* everything had its turn */
    assert_int_equal(started, (BIT(41) - 1) & ~BIT(0));
    sched_decisions_done(&d);
    sched_free(w.s);
    return w.trace;
}

static void test_random(void **state)
{
    (void)state;
    for (uint32_t i = 1; i <= cases; i++) {
        uint64_t trace = play(i, false);

        assert_true(play(i, false) == trace); /* the same again, decision by decision */
        assert_true(play(i, true) == trace);  /* and in pieces */
    }
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gallop),
        cmocka_unit_test(test_licenses),
        cmocka_unit_test(test_reserved_licenses),
        cmocka_unit_test(test_awaited_licenses),
        cmocka_unit_test(test_pass_limits),
        cmocka_unit_test(test_backfill_limits),
        cmocka_unit_test(test_reserve_limits),
        cmocka_unit_test(test_random),
    };

    if (argc > 1)
        cases = (uint32_t)strtoul(argv[1], NULL, 10);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
