/* test_resv_use.c - who may use a reservation, and which ones a pending job is tried in */
#include "model_util.h"

#include "model/use/resv_use.h"

#define ADMIN 77u

static Pst__ReservationRecord make_resv(uint32_t id, const char *name)
{
    Pst__ReservationRecord r = PST__RESERVATION_RECORD__INIT;

    SET(&r, resv_id, id);
    r.name = (char *)name;
    return r;
}

static Pst__JobRecord job_of(uint32_t uid)
{
    Pst__JobRecord j = PST__JOB_RECORD__INIT;

    SET(&j, job_id, 5);
    SET(&j, uid, uid);
    return j;
}

static void put_resv(struct cluster *c, const Pst__ReservationRecord *r)
{
    Pst__Transaction *tx = tx_new(T0);

    tx_resv_put(tx, EV(RESV_CREATE), r);
    apply_ok(c, tx);
}

/* ---- who ------------------------------------------------------------------------------------- */

static void test_users(void **state)
{
    struct cluster *c = new_cluster();
    Pst__ReservationRecord r = make_resv(1, "r");
    Pst__JobRecord mine = job_of(1000), other = job_of(1001), root = job_of(0),
                   admin = job_of(ADMIN);
    uint32_t uids[] = { 1000 };

    (void)state;
    assert_true(resv_lets_in(c, &r, &other, ADMIN, true)); /* no list: everybody */
    r.users = (char *)"alice";
    r.uids = uids;
    r.n_uids = 1;
    assert_true(resv_lets_in(c, &r, &mine, ADMIN, true));
    assert_false(resv_lets_in(c, &r, &other, ADMIN, true));
    assert_true(resv_lets_in(c, &r, &root, ADMIN, true));
    assert_true(resv_lets_in(c, &r, &admin, ADMIN, true));
    r.users = (char *)"-alice"; /* everybody but these */
    assert_false(resv_lets_in(c, &r, &mine, ADMIN, true));
    assert_true(resv_lets_in(c, &r, &other, ADMIN, true));
    r.users = NULL;
    r.groups = (char *)"wheel";
    assert_false(resv_lets_in(c, &r, &other, ADMIN, true));
    SET(&r, flags, RESV_FLAG(TIME_FLOAT)); /* it never begins: nobody's */
    assert_false(resv_lets_in(c, &r, &root, ADMIN, true));
    cluster_free(c);
}

static void test_accounts(void **state)
{
    struct cluster *c = new_cluster();
    Pst__ReservationRecord r = make_resv(1, "r");
    Pst__JobRecord j = job_of(1000);

    (void)state;
    r.accounts = (char *)"physics,chem";
    assert_false(resv_lets_in(c, &r, &j, ADMIN, true)); /* of no account */
    j.account = (char *)"chem";
    assert_true(resv_lets_in(c, &r, &j, ADMIN, true));
    j.account = (char *)"che";
    assert_false(resv_lets_in(c, &r, &j, ADMIN, true));
    r.accounts = (char *)"-chem,-bio";
    assert_true(resv_lets_in(c, &r, &j, ADMIN, true));
    j.account = (char *)"bio";
    assert_false(resv_lets_in(c, &r, &j, ADMIN, true));
    cluster_free(c);
}

/* QOS and partitions matter when the job is to start, not when its request is taken. */
static void test_scheduling(void **state)
{
    struct cluster *c = new_cluster();
    Pst__ReservationRecord r = make_resv(1, "r");
    Pst__JobRecord j = job_of(1000);

    (void)state;
    r.qos = (char *)"high";
    j.qos = (char *)"low";
    assert_true(resv_lets_in(c, &r, &j, ADMIN, false));
    assert_false(resv_lets_in(c, &r, &j, ADMIN, true));
    j.qos = (char *)"high";
    assert_true(resv_lets_in(c, &r, &j, ADMIN, true));
    r.allowed_partitions = (char *)"gpu";
    j.partition = (char *)"cpu,gpu"; /* one of them is enough */
    assert_true(resv_lets_in(c, &r, &j, ADMIN, true));
    j.partition = (char *)"cpu,gpus";
    assert_false(resv_lets_in(c, &r, &j, ADMIN, true));
    assert_true(resv_lets_in(c, &r, &j, ADMIN, false));
    cluster_free(c);
}

/* ---- which ----------------------------------------------------------------------------------- */

static void test_names(void **state)
{
    struct cluster *c = new_cluster();
    Pst__ReservationRecord a = make_resv(1, "a"), b = make_resv(2, "b");
    const char *p = "b,,x,a";
    bool unknown = false;
    Pst__JobRecord j = job_of(1000);

    (void)state;
    put_resv(c, &a);
    put_resv(c, &b);
    assert_int_equal(resv_next_named(c, &p, &unknown)->resv_id, 2);
    assert_false(unknown);
    assert_int_equal(resv_next_named(c, &p, &unknown)->resv_id, 1);
    assert_true(unknown); /* x */
    assert_null(resv_next_named(c, &p, &unknown));
    assert_null(resv_asked(&j));
    j.reservation = (char *)"";
    assert_null(resv_asked(&j));
    j.reservation = (char *)"got";
    j.req_reservation = (char *)"a,b";
    assert_string_equal(resv_asked(&j), "a,b");
    assert_true(resv_is_named(&j, "B"));
    assert_false(resv_is_named(&j, "a,b"));
    assert_false(resv_is_named(&j, "got"));
    cluster_free(c);
}

/* A job that names reservations is tried in those alone, in its order; one that names none in all
 * that attract it, by number. */
static void test_refs(void **state)
{
    struct cluster *c = new_cluster();
    Pst__ReservationRecord a = make_resv(3, "a"), b = make_resv(2, "b"), other = make_resv(1, "o"),
                           plain = make_resv(4, "p");
    Pst__JobRecord j = job_of(1000), root = job_of(0);
    uint32_t uids[] = { 1001 };
    struct resv_ref refs[RESV_REFS_MAX];
    bool only = true;

    (void)state;
    assert_int_equal(resv_refs(c, &j, ADMIN, refs, &only), 0);
    assert_false(only);
    SET(&a, flags, RESV_FLAG(MAGNETIC));
    SET(&b, flags, RESV_FLAG(MAGNETIC));
    SET(&other, flags, RESV_FLAG(MAGNETIC));
    other.users = (char *)"bob";
    other.uids = uids;
    other.n_uids = 1;
    put_resv(c, &a);
    put_resv(c, &b);
    put_resv(c, &other);
    put_resv(c, &plain);
    assert_int_equal(resv_refs(c, &j, ADMIN, refs, &only), 2);
    assert_false(only);
    assert_int_equal(refs[0].id, 2);
    assert_int_equal(refs[1].id, 3);
    assert_true(refs[0].magnetic);
    assert_int_equal(resv_refs(c, &root, ADMIN, refs, &only), 2); /* not o, whose list has others */
    j.req_reservation = (char *)"p,a,o";
    assert_int_equal(resv_refs(c, &j, ADMIN, refs, &only), 2);
    assert_true(only);
    assert_int_equal(refs[0].id, 4);
    assert_int_equal(refs[1].id, 3);
    assert_false(refs[0].magnetic);
    j.req_reservation = NULL;
    SET(&j, het_job_id, 5); /* components must ask */
    assert_int_equal(resv_refs(c, &j, ADMIN, refs, &only), 0);
    cluster_free(c);
}

/* Those that attract a job are tried by number, however the table has them. */
static void test_many(void **state)
{
    struct cluster *c = new_cluster();
    Pst__JobRecord j = job_of(1000);
    struct resv_ref refs[RESV_REFS_MAX];
    bool only;

    (void)state;
    for (uint32_t i = 0; i < 2 * RESV_REFS_MAX; i++) {
        char name[16];
        Pst__ReservationRecord r = make_resv(1 + i * 37 % 1009, name);

        (void)snprintf(name, sizeof(name), "r%u", i);
        SET(&r, flags, RESV_FLAG(MAGNETIC));
        put_resv(c, &r);
    }
    assert_int_equal(resv_refs(c, &j, ADMIN, refs, &only), RESV_REFS_MAX); /* and no more */
    for (uint32_t i = 1; i < RESV_REFS_MAX; i++)
        assert_true(refs[i - 1].id < refs[i].id);
    cluster_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_users),      cmocka_unit_test(test_accounts),
        cmocka_unit_test(test_scheduling), cmocka_unit_test(test_names),
        cmocka_unit_test(test_refs),       cmocka_unit_test(test_many)
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
