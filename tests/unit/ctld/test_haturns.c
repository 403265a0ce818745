/* test_haturns.c - who leads, by a clock that the test winds */
#include "model_util.h"

#include "ctld/ha/haturns.h"

#define S INT64_C(1000000)
#define LEASE_MS 4000

/* The controller `index`, called ctlINDEX, looks at a record of another at time 0. */
static struct turn_view view_of(uint32_t index, uint32_t of, uint32_t flags)
{
    static const char *const names[] = { "ctl0", "ctl1", "ctl2" };
    struct turn_view v = { .any = true,
                           .readable = true,
                           .host = names[index],
                           .index = index,
                           .lease_ms = LEASE_MS,
                           .record = {
                               .term = 3, .lease_ms = LEASE_MS, .index = of, .flags = flags } };

    (void)snprintf(v.record.host, sizeof(v.record.host), "%s", names[of]);
    lease_watch_see(&v.watch, &v.record, 1);
    return v;
}

static void test_waits_for_the_lease(void **state)
{
    struct turn_view v = view_of(1, 0, 0);

    assert_int_equal(turn_decide(&v, 1), TURN_WAIT);
    assert_int_equal(turn_left_us(&v, 1), 4 * S);
    assert_int_equal(turn_decide(&v, 4 * S), TURN_WAIT);
    assert_int_equal(turn_left_us(&v, 4 * S + 1), 0); /* there the next look is */
    assert_int_equal(turn_decide(&v, 4 * S + 1), TURN_OURS);
    v.record.renewal++;
    lease_watch_see(&v.watch, &v.record, 4 * S + 2);
    assert_int_equal(turn_decide(&v, 4 * S + 3), TURN_WAIT);
    v.lock_free = true; /* of this host's processes: says nothing of the other host's */
    assert_int_equal(turn_decide(&v, 5 * S), TURN_WAIT);
    v.record.lease_ms = 0; /* a single controller's, which never runs out */
    assert_int_equal(turn_decide(&v, 5000 * S), TURN_WAIT);
    (void)state;
}

static void test_order_of_standbys(void **state)
{
    struct turn_view first = view_of(1, 0, 0), second = view_of(2, 0, 0);

    assert_int_equal(turn_decide(&first, 4 * S + 2), TURN_OURS);
    assert_int_equal(turn_decide(&second, 4 * S + 2), TURN_WAIT); /* half a second for the first */
    assert_int_equal(turn_decide(&second, 4 * S + S / 2 + 2), TURN_OURS);
    (void)state;
}

static void test_own_death(void **state)
{
    struct turn_view v = view_of(1, 1, 0);

    assert_int_equal(turn_decide(&v, 2), TURN_WAIT); /* a process of our name holds the lock */
    v.lock_free = true;
    assert_int_equal(turn_decide(&v, 2), TURN_OURS);
    v.barred = true; /* its log may lack something: it never leads */
    assert_int_equal(turn_decide(&v, 2), TURN_WAIT);
    v.barred = false;
    (void)state;
}

static void test_release(void **state)
{
    struct turn_view v = view_of(1, 0, TERM_RELEASED), first = view_of(0, 1, TERM_RELEASED);

    assert_int_equal(turn_decide(&v, 2), TURN_WAIT); /* it may be starting again */
    assert_int_equal(turn_decide(&v, 4 * S + 2), TURN_OURS);
    (void)snprintf(v.record.successor, sizeof(v.record.successor), "CTL1");
    assert_int_equal(turn_decide(&v, 2), TURN_OURS);
    (void)snprintf(v.record.successor, sizeof(v.record.successor), "ctl2");
    assert_int_equal(turn_decide(&v, 2), TURN_WAIT);
    assert_int_equal(turn_decide(&v, 4 * S + 2), TURN_OURS); /* who does not come */
    assert_int_equal(turn_decide(&first, 2), TURN_WAIT);
    first.claims = true; /* the first in the list, started by somebody */
    assert_int_equal(turn_decide(&first, 2), TURN_OURS);
    v = view_of(1, 1, TERM_RELEASED);
    assert_int_equal(turn_decide(&v, 2), TURN_OURS);
    (void)state;
}

static void test_primary_returns(void **state)
{
    struct turn_view v = view_of(0, 1, 0), later = view_of(2, 1, 0);

    assert_int_equal(turn_decide(&v, 2), TURN_WAIT); /* --standby, or deposed */
    v.claims = later.claims = true;
    assert_int_equal(turn_decide(&v, 2), TURN_ASK);
    assert_int_equal(turn_decide(&later, 2), TURN_WAIT);
    (void)state;
}

static void test_odd_records(void **state)
{
    struct turn_view v = { .host = "ctl1", .index = 1, .lease_ms = LEASE_MS };

    assert_int_equal(turn_decide(&v, 9 * S), TURN_WAIT); /* a controller without terms runs here */
    v.lock_free = true;
    assert_int_equal(turn_decide(&v, 2), TURN_OURS);
    v.any = true; /* unreadable: our own lease counts */
    v.record.term = 5;
    lease_watch_see(&v.watch, &v.record, 1);
    assert_int_equal(turn_decide(&v, 3 * S), TURN_WAIT);
    assert_int_equal(turn_decide(&v, 4 * S + 2), TURN_OURS);
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_waits_for_the_lease), cmocka_unit_test(test_order_of_standbys),
        cmocka_unit_test(test_own_death),           cmocka_unit_test(test_release),
        cmocka_unit_test(test_primary_returns),     cmocka_unit_test(test_odd_records),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
