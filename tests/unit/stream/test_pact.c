/* test_pact.c - the witness's rules, histories, and what a standby takes, one by one */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "stream/pact.h"

static struct pact_member member_of(const char *host, uint64_t id)
{
    struct pact_member m = { .id = id };

    (void)snprintf(m.host, sizeof(m.host), "%s", host);
    return m;
}

static void test_witness(void **state)
{
    struct pact_member a = member_of("a", 1), b = member_of("b", 2);
    struct pact_record r = { .version = 1, .in_sync = { .n = 1 } }, before;
    struct pact_change c = { .claim = true, .version = 1, .term = 1, .by = b };

    r.in_sync.v[0] = member_of("A", 0); /* as an administrator writes it */
    before = r;
    assert_int_equal(pact_witness_apply(&r, &c), -EPERM);
    assert_memory_equal(&r, &before, sizeof(r));
    c.by = a;
    assert_int_equal(pact_witness_apply(&r, &c), 0);
    assert_int_equal(r.term, 1);
    assert_int_equal(r.version, 2);
    assert_true(pact_set_has(&r.in_sync, &a));
    c.by = member_of("a", 9); /* with another disk now */
    c.version = 2;
    c.term = 2;
    assert_int_equal(pact_witness_apply(&r, &c), -EPERM);
    c = (struct pact_change){ .version = 1, .term = 1, .by = a, .in_sync = { 2, { a, b } } };
    assert_int_equal(pact_witness_apply(&r, &c), -ESTALE);
    c.version = 2;
    assert_int_equal(pact_witness_apply(&r, &c), 0);
    c.version = 3;
    c.in_sync = (struct pact_set){ 1, { b } }; /* its holder must not leave */
    assert_int_equal(pact_witness_apply(&r, &c), -EINVAL);
    c.by = b;
    assert_int_equal(pact_witness_apply(&r, &c), -EPERM);
    c = (struct pact_change){ .claim = true, .version = 3, .term = 1, .by = b };
    assert_int_equal(pact_witness_apply(&r, &c), -EINVAL); /* not a later term */
    c.term = 7;
    assert_int_equal(pact_witness_apply(&r, &c), 0);
    assert_false(pact_set_has(&r.in_sync, &a));
    c.version = 4;
    c.term = 8;
    c.by = a;
    assert_int_equal(pact_witness_apply(&r, &c), -EPERM);
    (void)state;
}

static struct pact_history history_of(const uint64_t *pairs, size_t n)
{
    struct pact_history h = { .n = 0 };

    for (size_t i = 0; i < n; i++)
        assert_int_equal(pact_history_add(&h, (uint32_t)pairs[2 * i], pairs[2 * i + 1]), 0);
    return h;
}

#define RUNS(...)                                                                                  \
    history_of((const uint64_t[]){ __VA_ARGS__ }, sizeof((uint64_t[]){ __VA_ARGS__ }) / 16)

static void check_match(struct pact_history active, struct pact_history ours, uint64_t last,
                        int64_t expected)
{
    uint64_t lsn = 99;
    bool found = pact_history_match(&active, &ours, last, &lsn);

    assert_int_equal(found, expected >= 0);
    if (found)
        assert_int_equal(lsn, expected);
}

static void test_match(void **state)
{
    struct pact_history empty = { .n = 0 }, h = RUNS(3, 1, 4, 6);

    check_match(RUNS(3, 1, 4, 6), RUNS(3, 1), 5, 5);
    check_match(RUNS(3, 1, 4, 6), RUNS(3, 1), 8, 5);       /* it has three of its own */
    check_match(RUNS(3, 1, 6, 8), RUNS(3, 1, 5, 8), 9, 7); /* of a term that nobody else saw */
    check_match(RUNS(4, 1), RUNS(4, 1), 8, 8);             /* the newest run is open */
    check_match(RUNS(4, 1), empty, 0, 0);
    check_match(RUNS(4, 1), RUNS(3, 1), 2, 0);
    check_match(RUNS(4, 5), empty, 0, -1);      /* it has let go of the beginning */
    check_match(RUNS(4, 5), RUNS(3, 1), 9, -1); /* nothing is known to be common */
    check_match(RUNS(4, 5, 6, 20), RUNS(4, 9), 30, 19);
    check_match(RUNS(4, 5, 6, 20), RUNS(4, 2), 3, -1); /* the same term, but before what is kept */
    check_match(RUNS(4, 1), empty, 7, -1);             /* a snapshot whose terms are not known */
    check_match(empty, RUNS(4, 1), 7, -1);
    assert_int_equal(pact_history_term(&h, 5), 3);
    assert_int_equal(pact_history_term(&h, 6), 4);
    assert_int_equal(pact_history_add(&h, 3, 9), -EINVAL);
    assert_int_equal(pact_history_add(&h, 5, 2), -EINVAL);
    assert_int_equal(pact_history_add(&h, 5, 6), 0); /* term 4 had no record */
    assert_int_equal(pact_history_term(&h, 6), 5);
    assert_int_equal(h.n, 2);
    for (uint32_t i = 6; i < 6 + 2 * PACT_HISTORY_MAX; i++)
        assert_int_equal(pact_history_add(&h, i, i + 10), 0);
    assert_int_equal(h.n, PACT_HISTORY_MAX);
    assert_int_equal(pact_history_term(&h, 6), 0); /* forgotten */
    (void)state;
}

static void test_standby(void **state)
{
    struct pact_tail t = { .promised = 3, .last = 8, .committed = 4 };
    struct pact_history active = RUNS(3, 1, 4, 6), ours = RUNS(3, 1), young = RUNS(4, 3);
    uint64_t lsn = 0;

    assert_int_equal(pact_tail_hello(&t, 2, &active, &ours, &lsn), -ESTALE);
    assert_int_equal(pact_tail_append(&t, 4, 9, 9), -ESTALE); /* no hello yet */
    assert_int_equal(pact_tail_hello(&t, 4, &active, &ours, &lsn), 0);
    assert_int_equal(lsn, 5);
    assert_int_equal(pact_tail_append(&t, 4, 7, 7), -EBADMSG);
    assert_int_equal(pact_tail_append(&t, 4, 6, 5), -EBADMSG);
    assert_int_equal(pact_tail_append(&t, 3, 6, 6), -ESTALE);
    assert_int_equal(pact_tail_append(&t, 4, 6, 9), 0);
    pact_tail_synced(&t, 9);
    pact_tail_committed(&t, 100);
    assert_int_equal(t.committed, 9); /* what is not here cannot be shown */
    t.claiming = true;
    assert_int_equal(pact_tail_append(&t, 4, 10, 10), -ESTALE);
    assert_int_equal(pact_tail_hello(&t, 9, &active, &ours, &lsn), -ESTALE);
    t.claiming = false;
    assert_int_equal(pact_tail_hello(&t, 9, &active, &ours, &lsn), -EUCLEAN); /* it lacks 6 to 9 */
    assert_int_equal(pact_tail_hello(&t, 9, &young, &ours, &lsn), -ENODATA);
    assert_int_equal(pact_tail_append(&t, 9, 10, 10), -ESTALE);
    assert_int_equal(pact_tail_copied(&t, 8, 20), -ESTALE);
    assert_int_equal(pact_tail_copied(&t, 9, 20), 0);
    assert_int_equal(pact_tail_copied(&t, 9, 20), -ESTALE); /* once */
    assert_int_equal(pact_tail_append(&t, 9, 21, 22), 0);
    (void)state;
}

static void test_silent_member_leaves(void **state)
{
    struct pact_record r = { .version = 1, .term = 1, .holder = member_of("a", 1) };
    struct pact_member b = member_of("b", 2);
    struct pact p = { .fault = 0 };
    struct pact_change c;

    r.in_sync = (struct pact_set){ 1, { r.holder } };
    pact_begin(&p, &r, 5);
    assert_false(pact_want(&p, 0, 100, &c));
    assert_int_equal(pact_matched(&p, &b, 3, 0), 0);
    assert_false(pact_want(&p, 10, 100, &c)); /* it lacks two */
    pact_acked(&p, 0, 5, 20);
    assert_true(pact_want(&p, 20, 100, &c));
    assert_true(pact_requires(&p, 0)); /* from now on, whatever becomes of the answer */
    pact_synced(&p, 6);
    assert_int_equal(pact_commit(&p), 5);
    assert_int_equal(pact_witness_apply(&r, &c), 0);
    pact_learn(&p, &r);
    assert_int_equal(pact_commit(&p), 5);
    pact_acked(&p, 0, 6, 30);
    assert_int_equal(pact_commit(&p), 6);
    pact_synced(&p, 7);
    pact_acked(&p, 0, 6, 50); /* it answers, and does not write */
    pact_heard(&p, 0, 60);    /* a piece of a long batch */
    pact_lost(&p, 0);
    pact_heard(&p, 0, 150); /* of a connection that has ended */
    assert_false(pact_want(&p, 160, 100, &c));
    assert_true(pact_want(&p, 161, 100, &c));
    assert_int_equal(c.in_sync.n, 1);
    assert_int_equal(pact_commit(&p), 6); /* the witness has not said yes */
    assert_int_equal(pact_witness_apply(&r, &c), 0);
    pact_learn(&p, &r);
    assert_int_equal(pact_commit(&p), 7);
    r.term = 2; /* somebody else's */
    r.version++;
    r.holder = b;
    pact_learn(&p, &r);
    pact_synced(&p, 8);
    assert_int_equal(pact_commit(&p), 7);
    assert_false(pact_want(&p, 500, 100, &c));
    (void)state;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_witness),
        cmocka_unit_test(test_match),
        cmocka_unit_test(test_standby),
        cmocka_unit_test(test_silent_member_leaves),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
