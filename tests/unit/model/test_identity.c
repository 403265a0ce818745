/* test_identity.c - names of equal 64-bit hashes are not the same (docs/design/0002-identity.md)
 *
 * XXH3 adds, for each word of a stripe of 64 bytes, the product of the halves of word ^ secret,
 * and the word itself. Where the low half of a word is the secret's, the product is 0 whatever
 * the high half is: the high halves of two such words, one in each of two stripes, may change
 * places and the sum stays.  So anybody makes two names of one hash. */
#include "model_util.h"

#include <xxhash.h>

#define NAME_BYTES 256

/* The low halves of the first word of the secret as the first and the second stripe see it. */
static const unsigned char low[2][4] = { { 0xb8, 0xfe, 0x6c, 0x39 }, { 0x7c, 0x01, 0x81, 0x2c } };

static void collide(char one[NAME_BYTES + 1], char two[NAME_BYTES + 1])
{
    memset(one, 'x', NAME_BYTES);
    one[NAME_BYTES] = '\0';
    memcpy(one, low[0], 4);
    memcpy(one + 64, low[1], 4);
    memcpy(two, one, NAME_BYTES + 1);
    memcpy(one + 4, "mine", 4);
    memcpy(one + 68, "your", 4);
    memcpy(two + 4, "your", 4);
    memcpy(two + 68, "mine", 4);
    assert_string_not_equal(one, two);
    assert_true(XXH3_64bits(one, NAME_BYTES) == XXH3_64bits(two, NAME_BYTES));
}

static void add_named(struct cluster *c, uint32_t id, const char *name, const char *account)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);

    SET(r, uid, 0); /* the hash of a user's names begins with his number */
    SET(r, qos_id, 3);
    SET(r, part_qos_id, 4);
    assert_int_equal(pb_set_str(&r->name, name), 0);
    assert_int_equal(pb_set_str(&r->account, account), 0);
    apply_ok(c, tx);
}

/* --dependency=singleton: a job waits for those of its name, not for those of another. */
static void test_jobs_by_name(void **state)
{
    char one[NAME_BYTES + 1], two[NAME_BYTES + 1];
    struct cluster *c = new_cluster();
    uint32_t active;

    (void)state;
    collide(one, two);
    add_named(c, 1, one, "a");
    add_named(c, 2, two, "a");
    add_named(c, 3, two, "a");
    assert_int_equal(cluster_named_first(c, 0, one, &active)->rec->job_id, 1);
    assert_int_equal(cluster_named_first(c, 0, two, &active)->rec->job_id, 2);
    assert_null(cluster_named_first(c, 1, two, &active));
    set_state(c, 1, JOB_STATE(RUNNING), 0);
    (void)cluster_named_first(c, 0, two, &active);
    assert_int_equal(active, 0);
    assert_null(cluster_named_first(c, 0, one, &active));
    assert_int_equal(active, 1);
    assert_int_equal(cluster_named_active(c, 0, one), 1);
    assert_int_equal(cluster_named_active(c, 0, two), 0);
    assert_int_equal(cluster_named_active(c, 1, one), 0);
    purge_job(c, 2);
    assert_int_equal(cluster_named_first(c, 0, two, &active)->rec->job_id, 3);
    purge_job(c, 1);
    purge_job(c, 3);
    assert_int_equal(c->named.count, 0);
    add_named(c, 4, one, "a"); /* left for the cluster's end */
    add_named(c, 5, two, "a");
    cluster_free(c);
}

/* The first is the one with the smallest id, in whatever order jobs come, start and wait again. */
static void test_first_of_a_name(void **state)
{
    static const uint32_t order[] = { 5, 9, 2, 7, 8, 1, 3, 6, 4 };
    struct cluster *c = new_cluster();
    uint32_t active, seed = 1, first;
    bool waits[10] = { false };

    (void)state;
    for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
        add_named(c, order[i], "name", "a");
        waits[order[i]] = true;
    }
    for (unsigned i = 0; i < 2000; i++) {
        uint32_t id = 1 + (seed = seed * 1103515245u + 12345u) / 65536u % 9;

        waits[id] = !waits[id];
        set_state(c, id, waits[id] ? JOB_STATE(PENDING) : JOB_STATE(RUNNING), 0);
        if (i % 97 < 50) /* many changes between two questions */
            continue;
        for (first = 1; first < 10 && !waits[first];)
            first++;
        if (first == 10)
            assert_null(cluster_named_first(c, 0, "name", &active));
        else
            assert_int_equal(cluster_named_first(c, 0, "name", &active)->rec->job_id, first);
    }
    cluster_free(c);
}

/* Jobs of a snapshot come in any order.  The run ends soon: a place sought among all before it, for
 * each of these, takes minutes. */
static void test_many_of_a_name(void **state)
{
    enum { MANY = 60000 };
    struct cluster *c = new_cluster();
    uint32_t active;

    (void)state;
    for (uint32_t i = 0; i < MANY; i++)
        add_named(c, 1 + (uint32_t)((uint64_t)i * 48271 % MANY), "name", "a");
    for (uint32_t id = 1; id <= 100; id++) {
        assert_int_equal(cluster_named_first(c, 0, "name", &active)->rec->job_id, id);
        set_state(c, id, JOB_STATE(RUNNING), 0);
    }
    for (uint32_t id = 101; id <= MANY; id++)
        purge_job(c, id);
    assert_null(cluster_named_first(c, 0, "name", &active));
    assert_int_equal(active, 100);
    cluster_free(c);
}

/* Limits of an account in a QOS are not used up by another account's jobs. */
static void test_accounts_in_qos(void **state)
{
    char one[NAME_BYTES + 1], two[NAME_BYTES + 1];
    struct cluster *c = new_cluster();

    (void)state;
    collide(one, two);
    for (uint32_t id = 1; id <= 5; id++)
        add_named(c, id, "job", id <= 3 ? one : two);
    for (uint32_t qos = 3; qos <= 4; qos++) {
        assert_int_equal(cluster_charged_qos(c, qos), 5);
        assert_int_equal(cluster_charged_qos_user(c, qos, 0), 5);
        assert_int_equal(cluster_charged_qos_user(c, qos, 1), 0);
        assert_int_equal(cluster_charged_qos_account(c, qos, one), 3);
        assert_int_equal(cluster_charged_qos_account(c, qos, two), 2);
        assert_int_equal(cluster_charged_qos_account(c, qos, NULL), 0);
    }
    for (uint32_t id = 4; id <= 5; id++) { /* the first of the chain goes */
        purge_job(c, id);
        assert_int_equal(cluster_charged_qos_account(c, 3, two), 5 - id);
    }
    assert_int_equal(cluster_charged_qos_account(c, 3, one), 3);
    add_named(c, 6, "job", two);
    for (uint32_t id = 1; id <= 3; id++) /* the last goes */
        purge_job(c, id);
    assert_int_equal(cluster_charged_qos_account(c, 3, one), 0);
    assert_int_equal(cluster_charged_qos_account(c, 3, two), 1);
    cluster_free(c);
}

static void test_words(void **state)
{
    char one[NAME_BYTES + 1], two[NAME_BYTES + 1];
    struct wordset s = { 0 };

    (void)state;
    collide(one, two);
    assert_false(wordset_has(&s, "a", 1));
    assert_int_equal(wordset_add(&s, one), 0);
    assert_true(wordset_has(&s, one, NAME_BYTES));
    assert_false(wordset_has(&s, two, NAME_BYTES));
    assert_false(wordset_has(&s, one, NAME_BYTES - 1));
    for (int i = 0; i < 100; i++) {
        char word[16];

        (void)snprintf(word, sizeof(word), "w%d,", i % 50);
        word[strlen(word) - 1] = '\0';
        assert_int_equal(wordset_add(&s, word), 0);
        assert_true(wordset_has(&s, word, strlen(word)));
    }
    assert_int_equal(s.map.count, 51);
    assert_true(wordset_has(&s, "w7,w8", 2));
    assert_false(wordset_has(&s, "w7,w8", 5));
    assert_false(wordset_has(&s, "w7\0", 3));
    wordset_done(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_jobs_by_name),   cmocka_unit_test(test_first_of_a_name),
        cmocka_unit_test(test_many_of_a_name), cmocka_unit_test(test_accounts_in_qos),
        cmocka_unit_test(test_words),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
