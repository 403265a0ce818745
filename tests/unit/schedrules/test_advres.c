/* test_advres.c - advance reservations: who may have which nodes when */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define NOW INT64_C(1700000000000000)
#define MINUTE INT64_C(60000000)

#include "limits_util.h"
#include "base/bitmap.h"
#include "sched/rules/adv_data.h"
#include "sched/rules/advres.h"
#include "sched/rules/advset.h"
#include "sched/rules/advtime.h"
#include "sched/select/nodeview.h"
#include "sched/state/question.h"

enum { IN = 7, OTHER = 8 };

/* Two nodes; node 1 is reserved from 60 to 120 minutes on. */
struct yard {
    struct sched *s;
    struct sched_resv r;
    struct sched_resv_window window;
    uint32_t node;
    struct bitmap *mask;
};

static void put_resv(struct yard *y)
{
    y->r.node_ids = &y->node;
    y->r.windows = &y->window;
    assert_int_equal(sched_resv_put(y->s, &y->r), 0);
    assert_int_equal(advs_refresh(y->s, NOW), 0);
}

static int make_yard(void **state)
{
    struct yard *y = calloc(1, sizeof(*y));

    assert_non_null(y);
    y->s = limits_cluster(false);
    y->node = 1;
    y->window = (struct sched_resv_window){ NOW + 60 * MINUTE, NOW + 120 * MINUTE };
    y->r = (struct sched_resv){ .id = IN, .nnodes = 1, .nwindows = 1 };
    assert_int_equal(bitmap_new(y->s->nbits, &y->mask), 0);
    *state = y;
    return 0;
}

static int free_yard(void **state)
{
    struct yard *y = *state;

    bitmap_free(y->mask);
    sched_free(y->s);
    free(y);
    return 0;
}

/* The question about a job of one node in that reservation (0: in none), so long from then on. */
static struct pick ask(struct yard *y, uint32_t resv, int64_t from_us, uint32_t minutes)
{
    struct sched_job in = util_job(100 + resv);
    const struct sched_job_resv inside = { .id = resv };
    struct job *j;
    struct pick p;

    in.resvs = &inside;
    in.nresvs = resv != 0;
    in.resv_only = resv != 0;
    j = job_find(y->s, in.id);
    if (!j)
        j = limits_waits(y->s, in);
    p = (struct pick){ .s = y->s, .cls = j->entries[0]->cls, .part = y->s->parts[0] };
    pick_init(&p);
    adv_span(&p, from_us, minutes);
    return p;
}

/* Which of the two nodes are left: "01", "0", "1", "" or none at all "-". */
static void expect_nodes(struct yard *y, const struct pick *p, const char *want)
{
    char got[4] = "";

    bitmap_set(y->mask, 0);
    bitmap_set(y->mask, 1);
    if (!adv_keep(p, y->mask))
        (void)snprintf(got, sizeof(got), "-");
    else
        (void)snprintf(got, sizeof(got), "%s%s", bitmap_test(y->mask, 0) ? "0" : "",
                       bitmap_test(y->mask, 1) ? "1" : "");
    assert_string_equal(got, want);
}

static void expect_span(struct yard *y, uint32_t resv, uint32_t from_min, uint32_t minutes,
                        const char *want)
{
    struct pick p = ask(y, resv, NOW + from_min * MINUTE, minutes);

    expect_nodes(y, &p, want);
}

static void test_outside(void **state)
{
    struct yard *y = *state;

    expect_span(y, 0, 0, 60, "01"); /* there is no reservation */
    put_resv(y);
    expect_span(y, 0, 0, 60, "01"); /* it ends when the window begins */
    expect_span(y, 0, 0, 61, "0");
    expect_span(y, 0, 90, 10, "0");
    expect_span(y, 0, 120, 10, "01");
    expect_span(y, 0, 0, SCHED_UNLIMITED, "0");
    sched_resv_remove(y->s, IN);
    assert_int_equal(advs_refresh(y->s, NOW), 0);
    expect_span(y, 0, 90, 10, "01");
}

static void test_inside(void **state)
{
    struct yard *y = *state;

    put_resv(y);
    expect_span(y, IN, 60, 10, "1");  /* its nodes alone */
    expect_span(y, IN, 0, 10, "-");   /* not yet */
    expect_span(y, IN, 115, 60, "1"); /* it is ended with the window */
    expect_span(y, IN, 120, 10, "-");
    expect_span(y, OTHER, 60, 10, "-"); /* of a reservation that is not there */
    y->r.flex = true;
    put_resv(y);
    expect_span(y, IN, 0, 10, "01");
    expect_span(y, IN, 0, 300, "01");
}

/* MaxStartDelay, maintenance, jobs that heed no other reservation. */
static void test_excused(void **state)
{
    struct yard *y = *state;
    struct pick p;

    y->r.max_delay_us = 10 * MINUTE;
    put_resv(y);
    expect_span(y, 0, 90, 10, "01");
    expect_span(y, 0, 90, 11, "0");
    y->r.max_delay_us = 0;
    y->r.maint = true;
    put_resv(y);
    p = ask(y, 0, NOW + 90 * MINUTE, 10);
    expect_nodes(y, &p, "0");
    p.no_maint = true;
    expect_nodes(y, &p, "01");

    y->r = (struct sched_resv){ .id = OTHER, .nnodes = 1, .nwindows = 1, .beside = true };
    put_resv(y);
    expect_span(y, OTHER, 60, 10, "1"); /* though IN has it too */
    y->r.beside = false;
    put_resv(y);
    expect_span(y, OTHER, 60, 10, "");
}

/* One that floats begins always 30 minutes from now: only what ends before has its nodes. */
static void test_floating(void **state)
{
    struct yard *y = *state;

    y->r.floats = true;
    y->r.float_us = 30 * MINUTE;
    y->r.nwindows = 0;
    put_resv(y);
    expect_span(y, 0, 0, 30, "01");
    expect_span(y, 0, 0, 31, "0");
    expect_span(y, 0, 500, 31, "0"); /* whenever it begins */
    expect_span(y, 0, 0, SCHED_UNLIMITED, "0");
    {
        struct sched_alloc_node node = { .node_id = 1 };
        const struct sched_alloc alloc = { .nodes = &node, .nnodes = 1 };

        assert_true(adv_limit(y->s, 0, &alloc, NOW, NOW + 90 * MINUTE) == NOW + 30 * MINUTE);
        node.node_id = 0;
        assert_true(adv_limit(y->s, 0, &alloc, NOW, NOW + 90 * MINUTE) == NOW + 90 * MINUTE);
    }
}

/* Cores of a node: the others are free for all. */
static void test_cores(void **state)
{
    struct yard *y = *state;
    const uint64_t half = 0x0f;
    const struct sched_resv_cpus cpus = { .node_id = 1, .bits = &half, .nwords = 1 };
    const uint64_t *blocked;
    struct pick p;

    y->r.cpus = &cpus;
    y->r.ncpus = 1;
    put_resv(y);
    assert_true(adv_cored(y->s, 1));
    assert_false(adv_cored(y->s, 0));
    assert_false(adv_cored(y->s, 5000));
    p = ask(y, 0, NOW + 90 * MINUTE, 10);
    expect_nodes(y, &p, "01");
    assert_null(adv_blocked(&p, 0));
    blocked = adv_blocked(&p, 1);
    assert_non_null(blocked);
    assert_true((blocked[0] & 0xff) == 0x0f);
    p = ask(y, 0, NOW, 10); /* before the window */
    assert_null(adv_blocked(&p, 1));
    p = ask(y, IN, NOW + 60 * MINUTE, 10); /* inside: these alone */
    blocked = adv_blocked(&p, 1);
    assert_non_null(blocked);
    assert_true((blocked[0] & 0xff) == 0xf0);
}

/* How long a job may be made where its nodes are reserved later. */
static void test_limit(void **state)
{
    struct yard *y = *state;
    struct sched_alloc_node node = { .node_id = 1 };
    const struct sched_alloc alloc = { .nodes = &node, .nnodes = 1 };
    const int64_t day = NOW + 24 * 60 * MINUTE;

    assert_true(adv_limit(y->s, 0, &alloc, NOW, day) == day);
    put_resv(y);
    assert_true(adv_limit(y->s, 0, &alloc, NOW, day) == NOW + 60 * MINUTE);
    assert_true(adv_limit(y->s, 0, &alloc, NOW, NOW + MINUTE) == NOW + MINUTE);
    assert_true(adv_limit(y->s, 0, &alloc, NOW + 120 * MINUTE, day) == day);
    assert_true(adv_limit(y->s, IN, &alloc, NOW + 60 * MINUTE, day) == NOW + 120 * MINUTE);
    node.node_id = 0;
    assert_true(adv_limit(y->s, 0, &alloc, NOW, day) == day);
}

static void test_level(void **state)
{
    struct yard *y = *state;
    struct pick p;

    put_resv(y);
    y->r.id = OTHER;
    y->window = (struct sched_resv_window){ NOW + 90 * MINUTE, NOW + 95 * MINUTE };
    put_resv(y);
    p = ask(y, 0, NOW, 60);
    assert_int_equal(adv_level(&p), 0);
    p = ask(y, 0, NOW, 61);
    assert_int_equal(adv_level(&p), 1);
    p = ask(y, 0, NOW, 200);
    assert_int_equal(adv_level(&p), 2);
    p.to_us = 0; /* reservations are not heeded */
    assert_int_equal(adv_level(&p), 0);
}

static void test_set(void **state)
{
    struct yard *y = *state;
    static const uint32_t ids[] = { 9, 3, 7, 1, 5 };

    assert_null(adv_find(y->s, 7));
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
        y->r.id = ids[i];
        put_resv(y);
    }
    put_resv(y); /* a put of a known one replaces it */
    assert_int_equal(y->s->advs->n, 5);
    for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
        assert_int_equal(adv_find(y->s, ids[i])->id, ids[i]);
    assert_null(adv_find(y->s, 0));
    assert_null(adv_find(y->s, 2));
    assert_null(adv_find(y->s, 10));
    sched_resv_remove(y->s, 3);
    sched_resv_remove(y->s, 4);
    assert_int_equal(y->s->advs->n, 4);
    assert_null(adv_find(y->s, 3));
    assert_non_null(adv_find(y->s, 5));
    y->r.id = 0;
    assert_int_equal(sched_resv_put(y->s, &y->r), -EINVAL);
    assert_true(adv_is_why(SCHED_WHY_RESV) && adv_is_why(SCHED_WHY_RESERVED) &&
                adv_is_why(SCHED_WHY_RESV_MAINT));
    assert_false(adv_is_why(SCHED_WHY_RESOURCES) || adv_is_why(SCHED_WHY_NONE));
}

/* In one walk over the queue the first that waits holds up the others of its reservation. */
static void test_walk(void **state)
{
    struct yard *y = *state;
    const struct entry *in, *out;

    put_resv(y);
    (void)ask(y, IN, NOW, 1);
    (void)ask(y, 0, NOW, 1);
    in = job_find(y->s, 100 + IN)->entries[0];
    out = job_find(y->s, 100)->entries[0];
    y->s->walk_run = 5;
    assert_false(adv_blocked_walk(y->s, in));
    adv_block_walk(y->s, in);
    adv_block_walk(y->s, out); /* of none: nothing */
    assert_true(adv_blocked_walk(y->s, in));
    assert_false(adv_blocked_walk(y->s, out));
    y->s->walk_run = 6;
    assert_false(adv_blocked_walk(y->s, in));
}

int main(void)
{
#define IN_YARD(f) cmocka_unit_test_setup_teardown(f, make_yard, free_yard)
    const struct CMUnitTest tests[] = {
        IN_YARD(test_outside),  IN_YARD(test_inside), IN_YARD(test_excused),
        IN_YARD(test_floating), IN_YARD(test_cores),  IN_YARD(test_limit),
        IN_YARD(test_level),    IN_YARD(test_set),    IN_YARD(test_walk),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("advres", tests, NULL, NULL);
}
