/* test_kept.c - triggers and crontabs in the model: put, replaced, removed, dumped, hashed */
#include "model_util.h"

#include "model/kept.h"

static void put_trigger(struct cluster *c, uint32_t id, const char *program)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__TriggerRecord t = PST__TRIGGER_RECORD__INIT;

    SET(&t, trigger_id, id);
    t.program = (char *)program;
    tx_trigger_put(tx, EV(TRIGGER_SET), &t);
    apply_ok(c, tx);
}

static void put_crontab(struct cluster *c, uint32_t uid, const char *text, uint32_t job_id)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__CrontabRecord r = PST__CRONTAB_RECORD__INIT;
    Pst__CrontabEntry e = PST__CRONTAB_ENTRY__INIT, *list = &e;

    SET(&e, job_id, job_id);
    SET(&r, uid, uid);
    r.text = (char *)text;
    r.entries = &list;
    r.n_entries = 1;
    tx_crontab_put(tx, EV(CRONTAB_SET), &r);
    apply_ok(c, tx);
}

static void put_key(struct cluster *c, uint32_t number, size_t key_len)
{
    static const uint8_t digest[DIGEST_SIZE] = { 1, 2 };
    Pst__Transaction *tx = tx_new(T0);
    Pst__SubmitKeyRecord r = PST__SUBMIT_KEY_RECORD__INIT;

    SET(&r, number, number);
    SET(&r, uid, 0);
    SET(&r, job_id, 5);
    SET(&r, key, ((ProtobufCBinaryData){ key_len, (uint8_t *)(uintptr_t)digest }));
    SET(&r, content, ((ProtobufCBinaryData){ DIGEST_SIZE, (uint8_t *)(uintptr_t)digest }));
    tx_submit_key_put(tx, &r);
    if (number && key_len == DIGEST_SIZE)
        apply_ok(c, tx);
    else
        apply_bad(c, tx, "lacks something");
}

static int replay(void *ctx, const Pst__Transaction *tx)
{
    struct err err = { .text = "" };

    return cluster_apply(ctx, tx, &err);
}

static void test_put_and_remove(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx;

    (void)state;
    put_trigger(c, 1, "/a");
    put_trigger(c, 2, "/b");
    put_trigger(c, 1, "/c");
    assert_string_equal(cluster_trigger(c, 1)->program, "/c");
    assert_null(cluster_trigger(c, 3));
    put_crontab(c, 0, "root's\n", 7); /* user ids begin at 0 */
    put_crontab(c, 1000, "x\n", 8);
    assert_string_equal(cluster_crontab(c, 0)->text, "root's\n");
    assert_non_null(crontab_entry(cluster_crontab(c, 0), 7));
    assert_null(crontab_entry(cluster_crontab(c, 0), 8));
    tx = tx_new(T0);
    tx_trigger_remove(tx, EV(TRIGGER_CLEARED), 1);
    tx_crontab_remove(tx, EV(CRONTAB_SET), 0);
    apply_ok(c, tx);
    assert_null(cluster_trigger(c, 1));
    assert_null(cluster_crontab(c, 0));
    assert_non_null(cluster_trigger(c, 2));
    assert_non_null(cluster_crontab(c, 1000));
    cluster_free(c);
}

static size_t end_entry(struct cluster *c, uint32_t uid, uint32_t job_id)
{
    Pst__Transaction *tx = tx_new(T0);
    size_t size;

    tx_crontab_end(tx, uid, job_id);
    size = pst__transaction__get_packed_size(tx);
    apply_ok(c, tx);
    return size;
}

/* What a log holds of the end of an entry does not depend on the length of the crontab. */
static void test_crontab_entry_ends(void **state)
{
    static char text[60000];
    struct cluster *c = new_cluster();
    Pst__CrontabEntry e[3], *list[3] = { &e[0], &e[1], &e[2] };
    Pst__CrontabRecord r = PST__CRONTAB_RECORD__INIT;
    Pst__Transaction *tx = tx_new(T0);

    (void)state;
    (void)snprintf(text, sizeof(text),
                   "@hourly a\n#SCRON -t 5\n@daily b\n#DISABLED: x\n@weekly c\n#%*s", 50000, "");
    for (uint32_t i = 0; i < 3; i++) {
        pst__crontab_entry__init(&e[i]);
        SET(&e[i], job_id, 11 + i);
        SET(&e[i], first_line, i == 0 ? 1 : i == 1 ? 2 : 4);
        SET(&e[i], last_line, i == 0 ? 1 : i == 1 ? 3 : 5);
    }
    SET(&r, uid, 1000);
    r.text = text;
    r.entries = list;
    r.n_entries = 3;
    tx_crontab_put(tx, EV(CRONTAB_SET), &r);
    apply_ok(c, tx);
    assert_in_range(end_entry(c, 1000, 12), 1, 64);
    assert_memory_equal(cluster_crontab(c, 1000)->text,
                        "@hourly a\n#DISABLED: #SCRON -t 5\n#DISABLED: @daily b\n#DISABLED: x\n",
                        sizeof("@hourly a\n#DISABLED: #SCRON -t 5\n#DISABLED: @daily b\n"
                               "#DISABLED: x\n") -
                            1);
    assert_int_equal(strlen(cluster_crontab(c, 1000)->text), strlen(text) + 2 * 11);
    assert_null(crontab_entry(cluster_crontab(c, 1000), 12));
    assert_non_null(crontab_entry(cluster_crontab(c, 1000), 11));

    /* two in one transaction, one of lines that are out already */
    tx = tx_new(T0);
    tx_crontab_end(tx, 1000, 13);
    tx_crontab_end(tx, 1000, 11);
    apply_ok(c, tx);
    assert_int_equal(cluster_crontab(c, 1000)->n_entries, 0);
    assert_int_equal(strlen(cluster_crontab(c, 1000)->text), strlen(text) + 4 * 11);

    tx = tx_new(T0);
    tx_crontab_end(tx, 1000, 13);
    apply_bad(c, tx, "no entry has the job 13");
    tx = tx_new(T0);
    tx_crontab_end(tx, 7, 13);
    apply_bad(c, tx, "crontab of user 7");
    cluster_free(c);
}

static void test_dump_and_hash(void **state)
{
    struct cluster *a = new_cluster(), *b = new_cluster();
    uint64_t empty = cluster_hash(a), one;

    (void)state;
    put_trigger(a, 1, "/a");
    one = cluster_hash(a);
    assert_int_not_equal(one, empty);
    put_crontab(a, 0, "t\n", 3);
    put_key(a, 4, DIGEST_SIZE);
    assert_int_not_equal(cluster_hash(a), one);
    assert_int_equal(cluster_dump(a, replay, b), 0);
    assert_int_equal(cluster_hash(a), cluster_hash(b));
    assert_int_equal(cluster_submit_key(b, 4)->job_id, 5);
    assert_null(cluster_submit_key(b, 5));
    put_crontab(b, 0, "u\n", 3);
    assert_int_not_equal(cluster_hash(a), cluster_hash(b));
    cluster_free(a);
    cluster_free(b);
}

static void test_bad(void **state)
{
    struct cluster *c = new_cluster();
    Pst__Transaction *tx = tx_new(T0);
    Pst__TriggerRecord t = PST__TRIGGER_RECORD__INIT;

    (void)state;
    tx_trigger_remove(tx, EV(TRIGGER_CLEARED), 9);
    apply_bad(c, tx, "trigger 9: removed but unknown");
    tx = tx_new(T0);
    tx_crontab_remove(tx, EV(CRONTAB_SET), 9);
    apply_bad(c, tx, "crontab of user 9: removed but unknown");
    tx = tx_new(T0);
    tx_trigger_put(tx, EV(TRIGGER_SET), &t);
    apply_bad(c, tx, "without an id");
    put_key(c, 0, DIGEST_SIZE);
    put_key(c, 1, DIGEST_SIZE - 1);
    tx = tx_new(T0);
    tx_submit_key_remove(tx, 9);
    apply_bad(c, tx, "key of a submission 9: removed but unknown");
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_put_and_remove),
        cmocka_unit_test(test_crontab_entry_ends),
        cmocka_unit_test(test_dump_and_hash),
        cmocka_unit_test(test_bad),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
