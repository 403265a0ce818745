/* test_charge.c - how many jobs count under each association and QOS: over their lives, for arrays,
 * and when the tree of accounts changes */
#include "model_util.h"
#include "records_util.h"

enum { ROOT = 1, CHEM, PHYS, ANN, BOB, NORMAL = 1, HIGH = 2, PART = 3 };

static struct cluster *accounts(void)
{
    static const char *const records[] = {
        "{'assoc':{'assoc_id':1,'cluster':'demo','account':'root'}}",
        "{'assoc':{'assoc_id':2,'parent_id':1,'cluster':'demo','account':'chem'}}",
        "{'assoc':{'assoc_id':3,'parent_id':1,'cluster':'demo','account':'phys'}}",
        "{'assoc':{'assoc_id':4,'parent_id':2,'cluster':'demo','account':'chem','user':'ann'}}",
        "{'assoc':{'assoc_id':5,'parent_id':3,'cluster':'demo','account':'phys','user':'bob'}}",
    };
    struct cluster *c = new_cluster();

    records_put(c->am, records, ARRAY_SIZE(records));
    return c;
}

static void charge_job(struct cluster *c, uint32_t id, uint32_t assoc, uint32_t qos,
                       uint32_t part_qos, uint32_t uid, const char *account)
{
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, id);

    SET(r, uid, uid);
    if (assoc)
        SET(r, assoc_id, assoc);
    if (qos)
        SET(r, qos_id, qos);
    if (part_qos)
        SET(r, part_qos_id, part_qos);
    assert_int_equal(pb_set_str(&r->account, account), 0);
    apply_ok(c, tx);
}

static void expect_assoc(struct cluster *c, uint32_t id, uint32_t own, uint32_t below)
{
    assert_int_equal(cluster_charged_assoc(c, id), own);
    assert_int_equal(cluster_charged_below(c, id), below);
}

/* From its submission to its end a job counts once, whatever it does. */
static void test_life(void **state)
{
    struct cluster *c = accounts();

    (void)state;
    add_nodes(c, 2, 4);
    charge_job(c, 7, ANN, NORMAL, PART, 1001, "chem");
    charge_job(c, 8, 0, 0, 0, 1001, NULL); /* counts nowhere */
    for (int turn = 0; turn < 3; turn++) {
        expect_assoc(c, ANN, 1, 1);
        expect_assoc(c, CHEM, 0, 1);
        expect_assoc(c, ROOT, 0, 1);
        expect_assoc(c, PHYS, 0, 0);
        assert_int_equal(cluster_charged_qos(c, NORMAL), 1);
        assert_int_equal(cluster_charged_qos(c, PART), 1);
        assert_int_equal(cluster_charged_qos(c, 0), 0);
        assert_int_equal(cluster_charged_qos_user(c, NORMAL, 1001), 1);
        assert_int_equal(cluster_charged_qos_user(c, NORMAL, 1002), 0);
        assert_int_equal(cluster_charged_qos_account(c, NORMAL, "chem"), 1);
        assert_int_equal(cluster_charged_qos_account(c, NORMAL, "phys"), 0);
        if (turn == 0)
            start_job(c, 7, make_alloc(0, 1, 2, 100), T0);
        else if (turn == 1)
            set_state(c, 7, JOB_STATE(SUSPENDED), 0);
    }
    end_job(c, 7, JOB_STATE(COMPLETED), T0 + SEC, false); /* nodes are still being cleaned */
    expect_assoc(c, ANN, 0, 0);
    assert_int_equal(cluster_charged_qos(c, NORMAL), 0);
    assert_int_equal(cluster_charged_qos_user(c, NORMAL, 1001), 0);
    assert_int_equal(cluster_charged_qos_account(c, NORMAL, "chem"), 0);
    requeue_job(c, 7);
    expect_assoc(c, ANN, 1, 1);
    assert_int_equal(cluster_charged_qos_account(c, PART, "chem"), 1);
    set_state(c, 7, JOB_STATE(CANCELLED), 0);
    purge_job(c, 7);
    expect_assoc(c, ROOT, 0, 0);
    assert_int_equal(cluster_charged_qos(c, PART), 0);
    cluster_free(c);
}

/* The tasks that wait in an array's record count one by one. */
static void test_arrays(void **state)
{
    struct cluster *c = accounts();
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *r = put_job(tx, 7);

    (void)state;
    SET(r, assoc_id, BOB);
    SET(r, qos_id, HIGH);
    SET(r, uid, 1002);
    SET(r, array_job_id, 7);
    (void)pb_set_str(&r->account, "phys");
    (void)pb_set_str(&r->array_tasks, "0-9");
    apply_ok(c, tx);
    expect_assoc(c, BOB, 10, 10);
    expect_assoc(c, ROOT, 0, 10);
    assert_int_equal(cluster_charged_qos_user(c, HIGH, 1002), 10);

    tx = tx_new(T0); /* three tasks are cancelled */
    (void)tx_job_patch(tx, EV(JOB_UPDATE), 7);
    tx_take_tasks(tx, "1-3");
    apply_ok(c, tx);
    expect_assoc(c, BOB, 7, 7);
    assert_int_equal(cluster_charged_qos(c, HIGH), 7);
    assert_int_equal(cluster_charged_qos_account(c, HIGH, "phys"), 7);
    set_state(c, 7, JOB_STATE(CANCELLED), 0);
    expect_assoc(c, BOB, 0, 0);
    assert_int_equal(cluster_charged_qos(c, HIGH), 0);
    cluster_free(c);
}

/* scontrol update account=, qos=: the count goes with the job. */
static void test_change(void **state)
{
    struct cluster *c = accounts();
    Pst__Transaction *tx = tx_new(T0);
    Pst__JobRecord *set;

    (void)state;
    charge_job(c, 7, ANN, NORMAL, 0, 1001, "chem");
    set = tx_job_patch(tx, EV(JOB_UPDATE), 7);
    SET(set, assoc_id, BOB);
    SET(set, qos_id, HIGH);
    (void)pb_set_str(&set->account, "phys");
    apply_ok(c, tx);
    expect_assoc(c, ANN, 0, 0);
    expect_assoc(c, CHEM, 0, 0);
    expect_assoc(c, BOB, 1, 1);
    expect_assoc(c, PHYS, 0, 1);
    assert_int_equal(cluster_charged_qos(c, NORMAL), 0);
    assert_int_equal(cluster_charged_qos_account(c, NORMAL, "chem"), 0);
    assert_int_equal(cluster_charged_qos_account(c, HIGH, "phys"), 1);
    cluster_free(c);
}

/* The partition's QOS when it is the job's own is one, not two. */
static void test_same_qos(void **state)
{
    struct cluster *c = accounts();

    (void)state;
    charge_job(c, 7, ANN, HIGH, HIGH, 1001, "chem");
    assert_int_equal(cluster_charged_qos(c, HIGH), 1);
    charge_job(c, 8, 0, 0, HIGH, 1001, NULL); /* the partition's alone is enough */
    assert_int_equal(cluster_charged_qos(c, HIGH), 2);
    assert_int_equal(cluster_charged_qos_user(c, HIGH, 1001), 2);
    cluster_free(c);
}

/* An account moves: what runs below it counts above its new place. */
static void test_tree(void **state)
{
    struct cluster *c = accounts();

    (void)state;
    charge_job(c, 7, ANN, 0, 0, 1001, "chem");
    charge_job(c, 8, BOB, 0, 0, 1002, "phys");
    expect_assoc(c, PHYS, 0, 1);
    records_put_one(c->am,
                    "{'assoc':{'assoc_id':2,'parent_id':3,'cluster':'demo','account':'chem'}}");
    expect_assoc(c, PHYS, 0, 2);
    expect_assoc(c, CHEM, 0, 1);
    expect_assoc(c, ROOT, 0, 2);
    charge_job(c, 9, ANN, 0, 0, 1001, "chem");
    expect_assoc(c, PHYS, 0, 3);
    set_state(c, 7, JOB_STATE(FAILED), 0);
    expect_assoc(c, PHYS, 0, 2);
    expect_assoc(c, 77, 0, 0);
    cluster_free(c);
}

struct parts {
    uint32_t users, accounts, first_user;
    char account[16];
};

static void note_part(void *ctx, uint32_t uid, const char *account, uint32_t n)
{
    struct parts *p = ctx;

    if (account) {
        p->accounts += n;
        (void)snprintf(p->account, sizeof(p->account), "%s", account);
    } else {
        p->users += n;
        p->first_user = uid;
    }
}

static void test_parts(void **state)
{
    struct cluster *c = accounts();
    struct parts p = { 0 };

    (void)state;
    charge_job(c, 7, ANN, HIGH, 0, 1001, "chem");
    charge_job(c, 8, ANN, HIGH, 0, 1001, "chem");
    charge_job(c, 9, 0, HIGH, 0, 1001, NULL); /* of no account */
    charge_job(c, 10, BOB, NORMAL, 0, 1002, "phys");
    cluster_charged_parts(c, HIGH, note_part, &p);
    assert_int_equal(p.users, 3);
    assert_int_equal(p.first_user, 1001);
    assert_int_equal(p.accounts, 2);
    assert_string_equal(p.account, "chem");
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life),   cmocka_unit_test(test_arrays),
        cmocka_unit_test(test_change), cmocka_unit_test(test_same_qos),
        cmocka_unit_test(test_tree),   cmocka_unit_test(test_parts),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("charge", tests, NULL, NULL);
}
