/* test_books.c - accounting records for a workload that comes with none */
#include "model_util.h"

#include "sched/sched.h"
#include "sim/books.h"

static void add_row(struct workload *w, const char *user, const char *account, const char *qos)
{
    struct sim_job j = {
        .id = (uint32_t)w->n + 1, .part = WORKLOAD_NO_PART, .tasks = 1, .cpus_per_task = 1
    };
    uint32_t at;

    assert_int_equal(name_index(&w->users, user, strlen(user), &j.user), 0);
    if (account) {
        assert_int_equal(name_index(&w->accounts, account, strlen(account), &at), 0);
        j.account = at + 1;
    }
    if (qos) {
        assert_int_equal(name_index(&w->qos, qos, strlen(qos), &at), 0);
        j.qos = at + 1;
    }
    assert_int_equal(workload_add(w, &j), 0);
}

/* ACCOUNT/USER of a job, below root; its QOS. */
static void expect_job(struct cluster *books, const struct workload *w, size_t i,
                       const char *account, const char *user, const char *qos)
{
    const struct assoc *a = am_assoc(books->am, w->jobs[i].assoc_id);
    const Pst__QosRecord *q = am_qos(books->am, w->jobs[i].qos_id);

    assert_non_null(a);
    assert_string_equal(a->rec->cluster, BOOKS_CLUSTER);
    assert_string_equal(a->rec->account, account);
    assert_string_equal(a->rec->user, user);
    assert_false(a->parent->user);
    assert_string_equal(a->parent->rec->account, account);
    assert_string_equal(a->parent->parent->rec->account, "root");
    assert_null(a->parent->parent->parent);
    assert_string_equal(q->name, qos);
}

static void test_records(void **state)
{
    struct workload *w = NULL;
    struct cluster *books = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    add_row(w, "ann", NULL, NULL);
    add_row(w, "bob", "chem", "high");
    add_row(w, "ann", "chem", NULL);
    add_row(w, "ann", NULL, "high"); /* an association is made once */
    add_row(w, "ann", "phys", "low");
    assert_int_equal(books_make(w, &books, &err), 0);
    expect_job(books, w, 0, "default", "ann", "normal");
    expect_job(books, w, 1, "chem", "bob", "high");
    expect_job(books, w, 2, "chem", "ann", "normal");
    expect_job(books, w, 3, "default", "ann", "high");
    expect_job(books, w, 4, "phys", "ann", "low");
    assert_int_equal(w->jobs[0].assoc_id, w->jobs[3].assoc_id);
    assert_true(w->jobs[0].assoc_id != w->jobs[2].assoc_id);
    /* root, three accounts, four users in them */
    assert_int_equal(am_count(books->am, AM_ASSOC), 8);
    assert_int_equal(am_count(books->am, AM_QOS), 3);
    assert_true(am_tres_id(books->am, "gres/gpu") > 0);
    cluster_free(books);
    workload_free(w);
}

static void test_empty(void **state)
{
    struct workload *w = NULL;
    struct cluster *books = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    assert_int_equal(books_make(w, &books, &err), 0);
    assert_int_equal(am_count(books->am, AM_ASSOC), 2); /* root and default */
    cluster_free(books);
    workload_free(w);
}

/* Limits that are put on the records hold in the scheduler. */
static void test_prime(void **state)
{
    const struct sched_params params = { .backfill = true };
    Pst__AcctChange change = PST__ACCT_CHANGE__INIT;
    Pst__QosRecord q = PST__QOS_RECORD__INIT;
    Pst__Limits l = PST__LIMITS__INIT;
    struct sched_limit_use use;
    struct workload *w = NULL;
    struct cluster *books = NULL;
    struct sched *s = NULL;
    struct err err = { .text = "" };

    (void)state;
    assert_int_equal(workload_new(&w), 0);
    add_row(w, "bob", "chem", "high");
    assert_int_equal(books_make(w, &books, &err), 0);
    SET(&q, qos_id, w->jobs[0].qos_id);
    q.name = (char *)"high";
    SET(&l, max_jobs_per_user, 0); /* nobody may run a job of it */
    q.limits = &l;
    change.body_case = PST__ACCT_CHANGE__BODY_QOS;
    change.qos = &q;
    assert_int_equal(am_apply(books->am, &change, &err), 0);

    assert_int_equal(sched_new(&params, &s), 0);
    assert_int_equal(books_prime(books, s), 0);
    assert_int_equal(sched_limit_use(s, false, w->jobs[0].assoc_id, 0, &use), 0);
    assert_int_equal(sched_limit_use(s, true, w->jobs[0].qos_id, 0, &use), 0);
    {
        static const char *const parts[] = { "main" };
        const struct sched_partition part = { .name = "main", .tier = 1, .up = true };
        const struct sched_job in = { .id = 1,
                                      .partitions = parts,
                                      .npartitions = 1,
                                      .min_nodes = 1,
                                      .cpus_per_task = 1,
                                      .assoc_id = w->jobs[0].assoc_id,
                                      .qos_id = w->jobs[0].qos_id };
        struct sched_limit_hit hit;

        assert_int_equal(sched_partition_put(s, &part), 0);
        assert_int_equal(sched_job_put(s, &in), 0);
        assert_int_equal(sched_limit_why(s, 1, NULL, 0, &hit), 1);
        assert_int_equal(hit.limit, SCHED_LIMIT_QOS_USER_JOBS);
    }
    sched_free(s);
    cluster_free(books);
    workload_free(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_empty),
        cmocka_unit_test(test_prime),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("books", tests, NULL, NULL);
}
