/* test_payers.c - who pays for large records, and until when.  Scripts and environments:
 * test_attack_conn.py. */
#include "model_util.h"

#include "model/payers.h"

static void put_large(struct cluster *c, uint32_t id, uint32_t uid, size_t comment)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);

    SET(r, uid, uid);
    r->comment = malloc(comment + 1);
    assert_non_null(r->comment);
    memset(r->comment, 'x', comment);
    r->comment[comment] = '\0';
    apply_ok(c, tx);
}

static void test_records(void **state)
{
    struct cluster *c = new_cluster();
    size_t one;

    (void)state;
    put_large(c, 1, 1001, 100);
    assert_int_equal(payers_bytes(c, 1001), 0); /* small ones are free */
    put_large(c, 2, 1001, 50000);
    one = payers_bytes(c, 1001);
    assert_in_range(one, 50000, 51000);
    put_large(c, 3, 1001, 50000);
    put_large(c, 4, 1002, 50000);
    assert_int_equal(payers_bytes(c, 1001), 2 * one);
    assert_int_equal(payers_bytes(c, 1002), one);
    purge_job(c, 2);
    purge_job(c, 1);
    assert_int_equal(payers_bytes(c, 1001), one);
    purge_job(c, 3);
    assert_int_equal(payers_bytes(c, 1001), 0);
    assert_int_equal(c->paid.count, 1);
    cluster_free(c);
}

static void test_sums(void **state)
{
    struct cluster *c = new_cluster();

    (void)state;
    payers_add(c, 0, 5); /* root's number is a key like others */
    payers_add(c, UINT32_MAX, 7);
    assert_int_equal(payers_bytes(c, 0), 5);
    assert_int_equal(payers_bytes(c, UINT32_MAX), 7);
    payers_sub(c, 0, 100); /* never below nothing */
    assert_int_equal(payers_bytes(c, 0), 0);
    assert_int_equal(payers_cost(PAYERS_FREE), 0);
    assert_int_equal(payers_cost(PAYERS_FREE + 1), PAYERS_FREE + 1);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(test_records),
                                        cmocka_unit_test(test_sums) };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
