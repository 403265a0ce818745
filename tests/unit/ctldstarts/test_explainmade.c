/* test_explainmade.c - memory and names of the answer to "why does it wait" */
#include "core_util.h"

#include "ctld/starts/explainmade.h"

static struct core core;

static int set_up(void **state)
{
    (void)state;
    core_begin(&core, "", NULL);
    core_nodes(&core, 1, 4);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    core_end(&core);
    return 0;
}

static struct explain_made *new_answer(struct explain_text *t)
{
    *t = (struct explain_text){ .ctld = &core.ctld,
                                .job = core_job(&core, 7, NULL),
                                .now_us = T0 + 3600 * SEC };
    return explain_make(t);
}

/* However often the array has moved. */
static void test_push(void **state)
{
    struct explain_text t;
    struct explain_made *m = new_answer(&t);
    char **list = NULL, want[16];
    size_t n = 0;

    (void)state;
    assert_non_null(m);
    made_push(m, (void ***)&list, &n, NULL);
    assert_int_equal(n, 0);
    for (unsigned i = 0; i < 100; i++)
        made_push(m, (void ***)&list, &n, made_text(m, "item %u", i));
    assert_int_equal(n, 100);
    for (unsigned i = 0; i < 100; i++) {
        (void)snprintf(want, sizeof(want), "item %u", i);
        assert_string_equal(list[i], want);
    }
    assert_false(m->failed);
    explain_done(m);
}

/* Longer than any buffer. */
static void test_text(void **state)
{
    struct explain_text t;
    struct explain_made *m = new_answer(&t);
    const char *text;

    (void)state;
    assert_non_null(m);
    text = made_text(m, "%9000s|", "x");
    assert_int_equal(strlen(text), 9001);
    assert_string_equal(text + 8999, "x|");
    assert_string_equal(made_stamp(m, 0), "Unknown");
    for (const char *p = made_piece(m, 500), *end = p + 500; p < end; p++)
        assert_int_equal(*p, 0);
    explain_done(m);
}

static void test_job_id(void **state)
{
    struct explain_text t;
    struct explain_made *m = new_answer(&t);
    Pst__JobRecord r = PST__JOB_RECORD__INIT;

    (void)state;
    assert_non_null(m);
    SET(&r, job_id, 12);
    assert_string_equal(made_job_id(m, &r), "12");
    r.array_tasks = "4-9";
    assert_string_equal(made_job_id(m, &r), "12_[4-9]");
    SET(&r, array_job_id, 11);
    assert_string_equal(made_job_id(m, &r), "11_[4-9]");
    r.array_tasks = NULL;
    SET(&r, array_task_id, 3);
    assert_string_equal(made_job_id(m, &r), "11_3");
    explain_done(m);
}

/* Nobody asks: nothing is hidden.  A job that is gone has its number and no owner. */
static void test_names(void **state)
{
    struct explain_text t;
    struct explain_made *m = new_answer(&t);

    (void)state;
    assert_non_null(m);
    assert_false(made_hides(m, t.job));
    assert_false(made_hides(m, NULL));
    assert_string_equal(made_job_name(m, 7), "7");
    assert_string_equal(made_job_name(m, 4711), "4711");
    assert_null(made_owner(m, NULL));
    assert_null(made_owner(m, t.job)); /* nobody knows */
    t.job->rec->user_name = (char *)"kim";
    assert_string_equal(made_owner(m, t.job), "kim");
    t.job->rec->user_name = NULL; /* texts of records are the cluster's to free */
    explain_done(m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_push, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_text, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_job_id, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_names, set_up, tear_down),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
