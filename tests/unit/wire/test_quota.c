/* test_quota.c - who gives way, who is let in, and what bytes count for */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "wire/server/quota.h"

#define SOMEBODY ((uid_t)70001)
#define ANOTHER ((uid_t)70002)

static const struct quota_limits limits = { .waiting = 8,
                                            .waiting_each = 4,
                                            .users = 6,
                                            .user_each = 3,
                                            .bytes = 4000,
                                            .bytes_each = 1000,
                                            .exempt = 70100 };

static unsigned held;

static void hold_seat(struct quota_seat *seat)
{
    (void)seat;
    held++;
}

static struct quota_key at_address(uint8_t last)
{
    struct quota_key key = { .is_uid = false };

    key.addr[15] = last;
    return key;
}

/* The seat that had to go, or NULL. */
static struct quota_seat *enter(struct quota *q, struct quota_seat *seat, uint8_t address)
{
    struct quota_key key = at_address(address);
    struct quota_seat *out;

    assert_int_equal(quota_enter(q, seat, &key, 0, hold_seat, &out), 0);
    return out;
}

/* An address with too many that wait loses its oldest, whoever else there is. */
static void test_oldest_gives_way(void **state)
{
    struct quota *q = quota_new(&limits);
    struct quota_seat seats[6] = { 0 }, other = { 0 };

    (void)state;
    held = 0;
    assert_null(enter(q, &other, 2));
    for (size_t i = 0; i < 4; i++)
        assert_null(enter(q, &seats[i], 1));
    quota_steady(q, &seats[0], true); /* its identity is being checked */
    assert_ptr_equal(enter(q, &seats[4], 1), &seats[1]);
    assert_ptr_equal(enter(q, &seats[5], 1), &seats[2]);
    assert_int_equal(held, 2);
    assert_false(quota_login(q, &seats[1], SOMEBODY)); /* too late */
    assert_true(quota_login(q, &seats[5], SOMEBODY));
    for (size_t i = 0; i < 6; i++)
        quota_leave(q, &seats[i]);
    quota_leave(q, &other);
    quota_free(q);
}

/* When all places are taken, the address with the most gives one up: a single peer is never shut
 * out. */
static void test_most_give_way(void **state)
{
    struct quota *q = quota_new(&limits);
    struct quota_seat many[4] = { 0 }, some[3] = { 0 }, one = { 0 }, late = { 0 };

    (void)state;
    assert_null(enter(q, &one, 3));
    for (size_t i = 0; i < 3; i++)
        assert_null(enter(q, &some[i], 2));
    for (size_t i = 0; i < 4; i++)
        assert_null(enter(q, &many[i], 1));
    assert_ptr_equal(enter(q, &late, 4), &many[0]);
    for (size_t i = 0; i < 4; i++)
        quota_steady(q, &many[i], true);
    for (size_t i = 0; i < 3; i++)
        quota_steady(q, &some[i], true);
    quota_steady(q, &one, true);
    quota_leave(q, &late);
    assert_null(enter(q, &late, 1));
    quota_steady(q, &late, true);
    {
        struct quota_key key = at_address(5);
        struct quota_seat refused = { 0 }, *out;

        /* all are at work */
        assert_int_equal(quota_enter(q, &refused, &key, 0, hold_seat, &out), -EBUSY);
        assert_null(out);
        quota_leave(q, &refused);
    }
    for (size_t i = 0; i < 4; i++)
        quota_leave(q, &many[i]);
    for (size_t i = 0; i < 3; i++)
        quota_leave(q, &some[i]);
    quota_leave(q, &one);
    quota_leave(q, &late);
    quota_free(q);
}

/* On the local socket a user's storm is turned away, until his oldest has had a second. */
static void test_storm(void **state)
{
    struct quota *q = quota_new(&limits);
    struct quota_key key = { .is_uid = true, .uid = SOMEBODY };
    struct quota_seat seats[5] = { 0 }, *out;

    (void)state;
    for (size_t i = 0; i < 4; i++)
        assert_int_equal(quota_enter(q, &seats[i], &key, 1000, hold_seat, &out), 0);
    assert_int_equal(quota_enter(q, &seats[4], &key, 2000, hold_seat, &out), -EBUSY);
    assert_null(out);
    quota_leave(q, &seats[4]); /* it never entered */
    assert_int_equal(quota_enter(q, &seats[4], &key, 1000 + QUOTA_YOUNG_US, hold_seat, &out), 0);
    assert_ptr_equal(out, &seats[0]);
    for (size_t i = 0; i < 5; i++)
        quota_leave(q, &seats[i]);
    quota_free(q);
}

static bool let_in(struct quota *q, struct quota_seat *seat, uid_t uid)
{
    assert_null(enter(q, seat, 9));
    return quota_login(q, seat, uid);
}

/* A user has his share, all users have theirs; root and SlurmUser come in whatever they do. */
static void test_users(void **state)
{
    struct quota *q = quota_new(&limits);
    struct quota_seat mine[5] = { 0 }, his[4] = { 0 }, root[20] = { 0 }, slurm = { 0 };

    (void)state;
    assert_true(let_in(q, &mine[0], SOMEBODY));
    assert_false(quota_crowded(q, &mine[0]));
    assert_true(let_in(q, &mine[1], SOMEBODY));
    assert_true(quota_crowded(q, &mine[0]));
    assert_true(let_in(q, &mine[2], SOMEBODY));
    assert_false(let_in(q, &mine[3], SOMEBODY));
    quota_leave(q, &mine[0]);
    quota_leave(q, &mine[3]);
    assert_true(let_in(q, &mine[4], SOMEBODY)); /* one has gone */
    for (size_t i = 0; i < 3; i++)
        assert_true(let_in(q, &his[i], ANOTHER));
    assert_false(let_in(q, &his[3], 70003)); /* six users' connections are all there are */
    for (size_t i = 0; i < ARRAY_SIZE(root); i++) {
        assert_true(let_in(q, &root[i], 0));
        assert_true(quota_exempt(q, &root[i]));
    }
    assert_true(let_in(q, &slurm, limits.exempt));
    assert_true(quota_exempt(q, &slurm));
    assert_false(quota_exempt(q, &mine[1]));
    for (size_t i = 0; i < ARRAY_SIZE(root); i++)
        quota_leave(q, &root[i]);
    for (size_t i = 0; i < 4; i++)
        quota_leave(q, &his[i]);
    quota_leave(q, &mine[1]);
    quota_leave(q, &mine[2]);
    quota_leave(q, &mine[4]);
    quota_leave(q, &slurm);
    quota_free(q);
}

/* Bytes count for their user, wherever they are held, and are given back with the connection. */
static void test_bytes(void **state)
{
    struct quota *q = quota_new(&limits);
    struct quota_seat a = { 0 }, b = { 0 }, other = { 0 }, root = { 0 };

    (void)state;
    assert_true(let_in(q, &a, SOMEBODY) && let_in(q, &b, SOMEBODY) && let_in(q, &other, ANOTHER));
    quota_hold(q, &a, 600);
    assert_false(quota_over(q, &b, 400));
    assert_true(quota_over(q, &b, 401));
    assert_false(quota_over(q, &other, 1000));
    quota_hold(q, &b, 600);
    assert_true(quota_over(q, &a, 0));
    quota_hold(q, &b, 100);
    assert_false(quota_over(q, &a, 0));
    quota_leave(q, &a);
    assert_false(quota_over(q, &b, 900));
    assert_true(let_in(q, &root, 0));
    quota_hold(q, &root, 1000000);
    assert_false(quota_over(q, &root, 1000000));
    assert_false(quota_over(q, &b, 900)); /* what root holds is nobody else's trouble */
    quota_hold(q, &other, 5000);
    assert_true(quota_over(q, &b, 200)); /* all hold too much: a quarter is left to each */
    assert_false(quota_over(q, &b, 100));
    quota_leave(q, &b);
    quota_leave(q, &other);
    quota_leave(q, &root);
    quota_free(q);
}

/* Half frames of those who have not said who they are: the oldest that holds some goes. */
static void test_waiting_bytes(void **state)
{
    struct quota *q = quota_new(&limits);
    struct quota_seat seats[3] = { 0 };

    (void)state;
    for (size_t i = 0; i < 3; i++)
        assert_null(enter(q, &seats[i], 1));
    quota_hold(q, &seats[1], 600);
    quota_hold(q, &seats[2], 600);
    assert_true(quota_over(q, &seats[2], 0));
    assert_ptr_equal(quota_oldest_with_bytes(q, &seats[2], hold_seat), &seats[1]);
    assert_false(quota_over(q, &seats[2], 0));
    quota_hold(q, &seats[1], 0); /* its connection closes later */
    assert_ptr_equal(quota_oldest_with_bytes(q, &seats[2], hold_seat), &seats[2]);
    assert_null(quota_oldest_with_bytes(q, &seats[0], hold_seat));
    for (size_t i = 0; i < 3; i++)
        quota_leave(q, &seats[i]);
    quota_free(q);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_oldest_gives_way),
        cmocka_unit_test(test_most_give_way),
        cmocka_unit_test(test_users),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_waiting_bytes),
        cmocka_unit_test(test_storm),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
