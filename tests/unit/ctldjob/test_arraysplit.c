/* test_arraysplit.c - tasks leave the record of their array */
#include "core_util.h"

#include "ctld/job/arraysplit.h"
#include "ctld/job/jobfacts.h"

static void with_tasks(Pst__JobRecord *r)
{
    SET(r, array_job_id, r->job_id);
    assert_int_equal(pb_set_str(&r->array_tasks, "0-9%3"), 0);
    assert_int_equal(pb_set_str(&r->comment, "kept"), 0);
    SET(r, cur_priority, 77);
}

static struct job *begin(struct core *c)
{
    Pst__Transaction *tx = tx_new(T0);

    core_begin(c, "", NULL);
    core_nodes(c, 1, 4);
    SET(tx_cluster(tx), next_job_id, 11);
    SET(tx_cluster(tx), next_db_id, 50);
    apply_ok(c->ctld.cluster, tx);
    return core_job(c, 10, with_tasks);
}

static void test_one(void **state)
{
    struct core c;
    struct job *array = begin(&c), *j = arraysplit_task(&c.ctld, array, 4);

    (void)state;
    assert_non_null(j);
    assert_int_equal(j->rec->job_id, 11); /* a job with a number of its own */
    assert_int_equal(j->rec->array_job_id, 10);
    assert_true(j->rec->has_array_task_id);
    assert_int_equal(j->rec->array_task_id, 4);
    assert_null(j->rec->array_tasks);
    assert_string_equal(j->rec->comment, "kept");
    assert_int_equal(j->rec->db_id, 50);
    assert_true(job_is_pending(j->rec));
    assert_string_equal(array->rec->array_tasks, "0-3,5-9%3");
    assert_int_equal(c.ctld.cluster->rec->next_job_id, 12);
    assert_null(arraysplit_task(&c.ctld, array, 4)); /* it has left */
    assert_null(arraysplit_task(&c.ctld, array, 10));
    core_end(&c);
}

/* Several become an array with the throttle of theirs. */
static void test_several(void **state)
{
    struct core c;
    struct job *array = begin(&c), *rest = arraysplit_tasks(&c.ctld, array, "7-9");

    (void)state;
    assert_non_null(rest);
    assert_int_not_equal(rest->rec->job_id, 10);
    assert_int_equal(rest->rec->array_job_id, 10);
    assert_string_equal(rest->rec->array_tasks, "7-9%3");
    assert_string_equal(array->rec->array_tasks, "0-6%3");
    core_end(&c);
}

/* All of them: it is that record already.  The last one keeps the array's number. */
static void test_all(void **state)
{
    struct core c;
    struct job *array = begin(&c);

    (void)state;
    assert_ptr_equal(arraysplit_tasks(&c.ctld, array, "0-9"), array);
    assert_string_equal(array->rec->array_tasks, "0-9%3");
    (void)arraysplit_tasks(&c.ctld, array, "1-9");
    assert_string_equal(array->rec->array_tasks, "0%3");
    assert_ptr_equal(arraysplit_tasks(&c.ctld, array, "0"), array);
    assert_int_equal(array->rec->job_id, 10);
    assert_null(array->rec->array_tasks);
    assert_int_equal(array->rec->array_task_id, 0);
    core_end(&c);
}

static void test_drop(void **state)
{
    struct core c;
    struct job *array = begin(&c);

    (void)state;
    assert_true(arraysplit_drop(&c.ctld, array, "2,4-5") > 0);
    assert_string_equal(array->rec->array_tasks, "0-1,3,6-9%3");
    assert_int_equal(array->rec->array_dropped, 3);
    assert_int_equal(c.ctld.cluster->rec->jobs_cancelled, 3);
    assert_true(arraysplit_drop(&c.ctld, array, "9") > 0);
    assert_int_equal(array->rec->array_dropped, 4);
    assert_int_equal(c.ctld.cluster->jobs.count, 1); /* none became a job */
    core_end(&c);
}

static void test_ref(void **state)
{
    struct core c;
    struct job *array = begin(&c);
    struct job_ref all = { .job = array }, some = { .job = array, .tasks = "3" };

    (void)state;
    assert_ptr_equal(job_ref_own(&c.ctld, &all), array);
    assert_int_equal(job_ref_own(&c.ctld, &some)->rec->array_task_id, 3);
    core_end(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one),  cmocka_unit_test(test_several), cmocka_unit_test(test_all),
        cmocka_unit_test(test_drop), cmocka_unit_test(test_ref),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
